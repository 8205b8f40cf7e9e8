"""Every tensor that exists, by weak reference.

What may live here: noting and finding them. What may not: what is done with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import ref

from adjoint.ir.collector import collector_paused

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def noted(tensor: Tensor) -> ref[Tensor]:
    """A weak reference to a new tensor, which `living` finds from now on."""
    reference = ref(tensor, _forget)
    _LIVING[reference] = None
    return reference


def living() -> list[Tensor]:
    """All tensors, in the order in which they were made."""
    with collector_paused():  # a collection would remove some while the table is copied
        references = list(_LIVING)
    found = [tensor for reference in references if (tensor := reference()) is not None]
    return [t for t in found if hasattr(t, "uop") and hasattr(t, "_grad")]  # others are half made


_LIVING: dict[ref[Tensor], None] = {}  # the hash of a reference is that of its tensor, by identity
_forget = _LIVING.__delitem__  # a C function, see `ir/weak.py`
