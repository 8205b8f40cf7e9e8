"""Which variables a graph has bound, and to what.

What may live here: collecting them. What may not: variables themselves (`sizes.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from adjoint.ir import sizes
from adjoint.ir.arg import Varying
from adjoint.ir.uop import UOp, toposort
from adjoint.ir.values import is_known


def bindings_of(roots: Iterable[UOp]) -> dict[str, int]:
    """The value of every variable in what is still to be computed; each has one, or E3003."""
    return sizes.merged(_sizes(roots)) if sizes.living else {}


def _sizes(roots: Iterable[UOp]) -> Iterator[sizes.Size]:
    for node in toposort(roots, stop=is_known):
        if isinstance(node.arg, Varying) and not is_known(node):
            yield from sizes.sizes_in(node.arg)


def by_name(given: Any) -> dict[str, int]:
    """Bindings as a user gives them: by name, or by variable."""
    return {str(getattr(key, "name", key)): int(value) for key, value in dict(given).items()}
