"""Methods that users of torch and NumPy know by another name.

Each is one of ours under a second name, with the same meaning. Names whose meaning would differ are
not here: the guides `from_*.md` tell what to write instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from adjoint.errors import ArgumentError, DTypeError
from adjoint.ir.dtype import DType, as_dtype, is_dtype
from adjoint.ir.spelling import spelled
from adjoint.ops.movement import checked_axis
from adjoint.runtime.device import Device as Devices
from adjoint.tensor.lift import lift

if TYPE_CHECKING:
    from adjoint.tensor._methods import ByAxis, ByDimDimsAxesKeepdims
    from adjoint.tensor.tensor import Tensor
    from adjoint.tensor.types import Axes, Axis, Device, DeviceLike, DTypeLike, Operand, Sizes


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


class Like(TypedDict, total=False):
    """Options of a new tensor."""

    dtype: DTypeLike
    device: DeviceLike
    requires_grad: bool


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

    @property
    def is_cuda(self: Any) -> bool:
        """Whether the tensor is on one NVIDIA GPU."""
        return isinstance(self.device, str) and self.device.partition(":")[0] == "GPU"

    def byte(self: Any) -> Tensor:
        """The values as uint8."""
        return self.uchar()

    def clamp_min(self: Any, min: Operand) -> Tensor:
        """`clamp` with a lower bound alone."""
        return self.clamp(min)

    def clamp_max(self: Any, max: Operand) -> Tensor:
        """`clamp` with an upper bound alone."""
        return self.clamp(None, max)

    def floor_divide(self: Any, other: Operand) -> Tensor:
        """`x // y`: the quotient rounded down."""
        return self // other

    def remainder(self: Any, other: Operand) -> Tensor:
        """`x % y`: the remainder with the sign of the divisor."""
        return self % other

    def inverse(self: Any) -> Tensor:
        """The inverse of a square matrix."""
        return self.inv()

    def moveaxis(self: Any, source: Axes, destination: Axes) -> Tensor:
        """Axes moved to other positions; the others keep their order."""
        return self.movedim(source, destination)

    @spelled
    def select(self: Any, dim: int, index: int, **names: Unpack[ByAxis]) -> Tensor:
        """The slice at one index of an axis, without that axis; writes go to this tensor."""
        axis = checked_axis("select", dim, self.ndim, self.uop)
        return self[(slice(None),) * axis + (index,)]

    # ---- other tensors of this dtype, on this device

    def new_full(self: Any, size: Sizes, fill_value: Operand, **like: Unpack[Like]) -> Tensor:
        """A tensor of this dtype and on this device, unless others are named: one value."""
        return lift.cls.full(size, fill_value, **self._new(like))

    def new_zeros(self: Any, *size: Sizes, **like: Unpack[Like]) -> Tensor:
        """Zeros of this dtype and on this device, unless others are named."""
        return lift.cls.zeros(*size, **self._new(like))

    def new_ones(self: Any, *size: Sizes, **like: Unpack[Like]) -> Tensor:
        """Ones of this dtype and on this device, unless others are named."""
        return lift.cls.ones(*size, **self._new(like))

    def new_empty(self: Any, *size: Sizes, **like: Unpack[Like]) -> Tensor:
        """As `new_zeros`: memory without values does not exist here."""
        return lift.cls.empty(*size, **self._new(like))

    def new_tensor(self: Any, data: Any, **like: Unpack[Like]) -> Tensor:
        """A copy of data, of this dtype and on this device, unless others are named."""
        options = self._new(like)
        if not isinstance(data, lift.cls):
            return lift.cls(data, **options)
        copy = data.detach().to(options["device"]).cast(options["dtype"]).clone()
        return copy.requires_grad_(options.get("requires_grad", False))

    def _new(self: Any, like: Like) -> dict[str, Any]:
        """The options of a new tensor that is like this one in what they do not say."""
        for name in like:
            if name not in Like.__annotations__:
                raise ArgumentError("E2007", f"there is no option {name!r}", op="new")
        return {"dtype": self.dtype, "device": self.device, **like}

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
