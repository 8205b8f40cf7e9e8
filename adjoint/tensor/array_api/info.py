"""`__array_namespace_info__`: what the library can do, for code that must know."""

from __future__ import annotations

from typing import Any

from adjoint.ir.dtype import ALL, DType, dtypes
from adjoint.runtime.device import Device
from adjoint.tensor.array_api.dtypes import kind_letters

__all__ = ["__array_namespace_info__"]

_STANDARD = tuple(d for d in ALL if d.name not in ("float16", "bfloat16"))


class Info:
    """The inspection functions of the standard."""

    def capabilities(self) -> dict[str, Any]:
        """Whether shapes may depend on values, and how many axes a tensor may have."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """Where tensors go unless told otherwise."""
        return Device.DEFAULT

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """The dtypes of Python numbers, and of indices."""
        return {
            "real floating": dtypes.default_float,
            "complex floating": dtypes.default_complex,
            "integral": dtypes.default_int,
            "indexing": dtypes.index,
        }

    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """The standard's dtypes by name, all or those of one kind or of several."""
        if kind is None:
            return {d.name: d for d in _STANDARD}
        kinds = (kind,) if isinstance(kind, str) else kind
        letters = "".join(kind_letters("dtypes", k) for k in kinds)
        return {d.name: d for d in _STANDARD if d.kind in letters}

    def devices(self) -> list[str]:
        """The devices that can run here."""
        return [name for name in Device.available() if name != "DISK"]


def __array_namespace_info__() -> Info:  # noqa: N807
    """The inspection functions of the standard."""
    return Info()
