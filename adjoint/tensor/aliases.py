"""Methods that users of torch and NumPy know by another name.

Each is one of ours under a second name, with the same meaning. Names whose meaning would differ are
not here: the guides `from_*.md` tell what to write instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from adjoint.errors import ArgumentError, DTypeError
from adjoint.ir.dtype import DType, as_dtype, is_dtype
from adjoint.ir.spelling import spelled
from adjoint.runtime.device import Device as Devices
from adjoint.tensor.lift import lift

if TYPE_CHECKING:
    from adjoint.tensor._methods import ByDimDimsAxesKeepdims
    from adjoint.tensor.tensor import Tensor
    from adjoint.tensor.types import Axis, Device, DeviceLike, DTypeLike


def _in_dtype(
    op: str, x: Any, axis: Axis, keepdim: bool, dtype: DTypeLike | None, out: Any, kinds: str = "fc"
) -> Tensor:
    """A reduction that can be asked for in a dtype, for which its record has no option."""
    if out is not None:
        fix = "results are new tensors"
        raise ArgumentError("E2007", "out is None here", op=op, help=fix)
    if dtype is None:
        return lift.op(op, x, axis, keepdim)
    kind = _of_kind(op, dtype, kinds)
    return lift.op(op, x.cast(kind), axis, keepdim).cast(kind)


def _of_kind(op: str, dtype: DTypeLike | None, kinds: str) -> DType:
    kind = as_dtype(dtype)
    if kind.kind not in kinds:
        raise DTypeError("E2005", f"takes no result of dtype {kind.name}", op=op)
    return kind


class Hints(TypedDict, total=False):
    """Options of `to` beside the target; all but `copy` are for torch's users, and mean nothing."""

    copy: bool
    non_blocking: bool
    memory_format: Any


class Aliases:
    """Mixed into Tensor."""

    __slots__ = ()

    @spelled
    def mean(
        self,
        axis: Axis = None,
        keepdim: bool = False,
        dtype: DTypeLike | None = None,
        out: Any = None,
        **names: Unpack[ByDimDimsAxesKeepdims],
    ) -> Tensor:
        """Mean over axes; integers as floats. The mean of nothing is NaN. In `dtype` if given.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1
        """
        return _in_dtype("mean", self, axis, keepdim, dtype, out)

    @spelled
    def nanmean(
        self,
        axis: Axis = None,
        keepdim: bool = False,
        dtype: DTypeLike | None = None,
        out: Any = None,
        **names: Unpack[ByDimDimsAxesKeepdims],
    ) -> Tensor:
        """Mean over axes of the elements that are not NaN. In `dtype` if given.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1
        """
        return _in_dtype("nanmean", self, axis, keepdim, dtype, out)

    @spelled
    def nansum(
        self,
        axis: Axis = None,
        keepdim: bool = False,
        dtype: DTypeLike | None = None,
        out: Any = None,
        **names: Unpack[ByDimDimsAxesKeepdims],
    ) -> Tensor:
        """Sum over axes with NaN counted as 0. In `dtype` if given.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1
        """
        return _in_dtype("nansum", self, axis, keepdim, dtype, out, "iufc")

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

    def astype(self: Any, dtype: DTypeLike, copy: bool = True) -> Tensor:
        """The values as another dtype; a tensor of its own unless `copy` is False."""
        kind = as_dtype(dtype)
        if kind is self.dtype:
            return self.clone() if copy else self
        return self.cast(kind)

    @overload
    def type(self) -> str: ...
    @overload
    def type(self, dtype: DTypeLike) -> Tensor: ...
    def type(self: Any, dtype: DTypeLike | None = None) -> Any:
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
        both: Tensor = lift.one("isinf", self)
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

    def to(
        self: Any,
        *target: Tensor | DTypeLike | Device | None,
        device: Device | None = None,
        dtype: DTypeLike | None = None,
        **named: Unpack[Hints],
    ) -> Tensor:
        """The same values on a device, as a dtype, or both as another tensor's.

        `x.to("CPU")`, `x.to("float16")`, `x.to(dtypes.float16)`, `x.to(other)`. `copy=True` makes
        a tensor of its own; `non_blocking` needs no word, since everything is lazy.
        """
        place, kind = _targets(target, device, dtype)
        for name in named:
            if name not in Hints.__annotations__:
                raise ArgumentError("E2007", f"there is no option {name!r}", op="to")
        moved = self if place is None else self._copied_to(place)
        moved = moved if kind is None else moved.cast(kind)
        return moved.clone() if named.get("copy") else moved


def _targets(
    target: tuple[Any, ...], device: DeviceLike, dtype: DTypeLike | None
) -> tuple[Any, DType | None]:
    """Where to, and as what: each said once."""
    places = [] if device is None else [device]
    kinds = [] if dtype is None else [as_dtype(dtype)]
    for value in target:
        if isinstance(value, lift.cls):
            places.append(value.device)
            kinds.append(value.dtype)
        elif is_dtype(value):
            kinds.append(as_dtype(value))
        else:
            places.append(Devices.canonicalize(value))
    if len(places) > 1 or len(kinds) > 1:
        raise ArgumentError("E2007", "takes one device and one dtype", op="to")
    if not places and not kinds:
        raise ArgumentError("E2007", "needs a device, a dtype or a tensor", op="to")
    return places[0] if places else None, kinds[0] if kinds else None
