"""Every tensor that exists, by weak reference.

What may live here: noting and finding them. What may not: what is done with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import ref

from adjoint.ir.collector import collector_paused

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


class Living(ref["Tensor"]):
    """A weak reference that knows its place: a tensor's hash and `==` are not for tables."""

    __slots__ = ("key",)
    key: int


def noted(tensor: Tensor) -> Living:
    """A weak reference to a new tensor, which `living` finds from now on."""
    reference = Living(tensor, _forget)
    reference.key = key = id(tensor)
    _LIVING[key] = reference
    return reference


def living() -> list[Tensor]:
    """All tensors, in the order in which they were made."""
    with collector_paused():  # a collection would remove some while the table is copied
        references = list(_LIVING.values())
    found = [tensor for reference in references if (tensor := reference()) is not None]
    return [t for t in found if hasattr(t, "uop") and hasattr(t, "_grad")]  # others are half made


_LIVING: dict[int, Living] = {}


def _forget(reference: Living) -> None:
    _LIVING.pop(reference.key, None)
