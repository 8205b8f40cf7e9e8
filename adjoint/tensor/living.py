"""Every tensor that exists.

What may live here: finding them. What may not: what is done with them.
"""

from __future__ import annotations

import gc
from itertools import chain

from adjoint.ir.collector import collector_paused
from adjoint.tensor.tensor import Tensor

_is_tensor = Tensor.__instancecheck__


def living() -> list[Tensor]:
    """All tensors: what refers to their class, and is one.

    A list of all objects would also have tuples in it that other threads are only making, and they
    cannot finish one that somebody else holds. Hence the question for referrers, and one call into
    C for all of it, during which no other thread runs.
    """
    with collector_paused():
        found = list(filter(_is_tensor, chain.from_iterable(map(gc.get_referrers, (Tensor,)))))
    return [t for t in found if hasattr(t, "uop") and hasattr(t, "_grad")]  # others are half made
