"""Methods that users of torch and NumPy know by another name.

Each is one of ours under a second name, with the same meaning. Names whose meaning would differ are
not here: the guides `from_*.md` tell what to write instead. Installed as `methods.py` is.
"""

from __future__ import annotations

from typing import Any

from adjoint.errors import ArgumentError, DTypeError
from adjoint.ir.dtype import DType, as_dtype, is_dtype
from adjoint.ir.opdef import OPS
from adjoint.ir.spelling import spelled
from adjoint.runtime.device import Device
from adjoint.tensor.tensor import Tensor, lift


def _in_dtype(name: str, kinds: str = "fc") -> Any:
    """A reduction that can be asked for in a dtype, for which its record has no option."""

    def method(
        self: Any, axis: Any = None, keepdim: bool = False, dtype: Any = None, out: Any = None
    ) -> Any:
        if out is not None:
            fix = "results are new tensors"
            raise ArgumentError("E2007", "out is None here", op=name, help=fix)
        if dtype is None:
            return lift(OPS[name], (self, axis, keepdim), None)
        kind = _of_kind(name, dtype, kinds)
        return lift(OPS[name], (self.cast(kind), axis, keepdim), None).cast(kind)

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = f"{OPS[name].doc} In `dtype` if given."
    return spelled(method)


def _of_kind(op: str, dtype: Any, kinds: str) -> DType:
    kind = as_dtype(dtype)
    if kind.kind not in kinds:
        raise DTypeError("E2005", f"takes no result of dtype {kind.name}", op=op)
    return kind


class Familiar:
    """Installed on Tensor."""

    mean, nanmean = _in_dtype("mean"), _in_dtype("nanmean")
    nansum = _in_dtype("nansum", "iufc")

    def dim(self: Any) -> int:
        """The number of axes."""
        return self.ndim

    ndimension = dim

    def nelement(self: Any) -> int:
        """The number of elements."""
        return self.numel()

    def ravel(self: Any) -> Tensor:
        """The elements as a vector, row by row."""
        return self.reshape(-1)

    def t(self: Any) -> Tensor:
        """The transpose of a matrix; vectors and scalars stay."""
        if self.ndim > 2:
            problem = f"takes two axes at most, not {self.ndim}"
            fix = ".mT swaps the last two, .permute any"
            raise ArgumentError("E3002", problem, op="t", operands=[("x", self)], help=fix)
        return self.permute(1, 0) if self.ndim == 2 else self[...]

    def astype(self: Any, dtype: Any, copy: bool = True) -> Tensor:
        """The values as another dtype; a tensor of its own unless `copy` is False."""
        kind = as_dtype(dtype)
        if kind is self.dtype:
            return self.clone() if copy else self
        return self.cast(kind)

    def type(self: Any, dtype: Any = None) -> Any:
        """The values as another dtype; without one, the name of this one."""
        return self.dtype.name if dtype is None else self.cast(as_dtype(dtype))

    def cpu(self: Any) -> Tensor:
        """The same values on the CPU."""
        return self.to("CPU")

    def cuda(self: Any, device: int | None = None) -> Tensor:
        """The same values on an NVIDIA GPU."""
        return self.to("CUDA" if device is None else f"CUDA:{device}")

    def isinf(self: Any, detect_positive: bool = True, detect_negative: bool = True) -> Tensor:
        """Whether elements are infinite: of either sign, or of one alone."""
        both = self._apply("isinf", self)
        if detect_positive and detect_negative:
            return both
        if not detect_positive and not detect_negative:
            return both & False
        return both & ((self > 0) if detect_positive else (self < 0))

    def is_complex(self: Any) -> bool:
        """Whether the elements are complex."""
        return self.dtype.is_complex

    def is_contiguous(self: Any) -> bool:
        """True: a value has no strides, and is stored row by row where it is stored."""
        return True

    def to(self: Any, *target: Any, device: Any = None, dtype: Any = None, **named: Any) -> Tensor:
        """The same values on a device, as a dtype, or both as another tensor's.

        `x.to("CPU")`, `x.to("float16")`, `x.to(dtypes.float16)`, `x.to(other)`. `copy=True` makes
        a tensor of its own; `non_blocking` needs no word, since everything is lazy.
        """
        place, kind = _targets(target, device, dtype)
        copy = bool(named.pop("copy", False))
        _only_hints(named)
        moved = self if place is None else self._copied_to(place)
        moved = moved if kind is None else moved.cast(kind)
        return moved.clone() if copy else moved


def _targets(target: tuple[Any, ...], device: Any, dtype: Any) -> tuple[Any, DType | None]:
    """Where to, and as what: each said once."""
    places = [] if device is None else [device]
    kinds = [] if dtype is None else [as_dtype(dtype)]
    for value in target:
        if isinstance(value, Tensor):
            places.append(value.device)
            kinds.append(value.dtype)
        elif is_dtype(value):
            kinds.append(as_dtype(value))
        else:
            places.append(Device.canonicalize(value))
    if len(places) > 1 or len(kinds) > 1:
        raise ArgumentError("E2007", "takes one device and one dtype", op="to")
    if not places and not kinds:
        raise ArgumentError("E2007", "needs a device, a dtype or a tensor", op="to")
    return places[0] if places else None, kinds[0] if kinds else None


def _only_hints(named: dict[str, Any]) -> None:
    for name in named:
        if name not in ("non_blocking", "memory_format"):
            raise ArgumentError("E2007", f"there is no option {name!r}", op="to")
