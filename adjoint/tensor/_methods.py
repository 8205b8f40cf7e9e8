"""The methods that the records give `Tensor`.

Written by `make docs` from the records: change those, or docs/build_methods.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

from adjoint.ir.dtype import dtypes
from adjoint.runtime.device import Device
from adjoint.tensor.lift import checked_methods, lift

if TYPE_CHECKING:
    from adjoint.ops.composite.sort_select import Picked
    from adjoint.tensor.tensor import Tensor
    from adjoint.tensor.types import (
        Axes,
        Axis,
        Bounds,
        DTypeLike,
        Extents,
        Number,
        Operand,
        Padding,
        Sizes,
    )


class ByAxesOfRot90(TypedDict, total=False):
    axes: Sequence[int]


class ByAxesOfTensordot(TypedDict, total=False):
    axes: int | Sequence[int] | Sequence[Sequence[int]]


class ByAxis(TypedDict, total=False):
    axis: int


class ByAxis0Axis1(TypedDict, total=False):
    axis0: int
    axis1: int


class ByAxis1Axis2(TypedDict, total=False):
    axis1: int
    axis2: int


class ByAxisDimDimsAxes(TypedDict, total=False):
    axis: Axes
    dim: Axis
    dims: Axis
    axes: Axis


class ByAxisDimsAxes(TypedDict, total=False):
    axis: Axis
    dims: Axis
    axes: Axis


class ByAxisDimsAxesKeepdims(TypedDict, total=False):
    axis: Axis
    dims: Axis
    axes: Axis
    keepdims: bool


class ByAxisKeepdims(TypedDict, total=False):
    axis: int
    keepdims: bool


class ByAxisKeepdimsOrNone(TypedDict, total=False):
    axis: int | None
    keepdims: bool


class ByAxisOrNone(TypedDict, total=False):
    axis: int | None


class ByDdof(TypedDict, total=False):
    ddof: float


class ByDim(TypedDict, total=False):
    dim: int


class ByDim0Dim1(TypedDict, total=False):
    dim0: int
    dim1: int


class ByDimAxisAxes(TypedDict, total=False):
    dim: Axis
    axis: Axis
    axes: Axis


class ByDimDimsAxes(TypedDict, total=False):
    dim: Axis
    dims: Axis
    axes: Axis


class ByDimDimsAxesKeepdims(TypedDict, total=False):
    dim: Axis
    dims: Axis
    axes: Axis
    keepdims: bool


class ByDimDimsAxesKeepdimsDdof(TypedDict, total=False):
    dim: Axis
    dims: Axis
    axes: Axis
    keepdims: bool
    ddof: float


class ByDims(TypedDict, total=False):
    dims: Sizes


class ByKeepdims(TypedDict, total=False):
    keepdims: bool


class ByMinMax(TypedDict, total=False):
    min: Operand | None
    max: Operand | None


class ByOrderDimsAxes(TypedDict, total=False):
    order: Axes
    dims: Axis
    axes: Axis


class ByRepeats(TypedDict, total=False):
    repeats: Sizes


class ByShape(TypedDict, total=False):
    shape: Extents


@checked_methods
class Conversions:
    """Methods with the names of types, which annotations nearby could not name."""

    __slots__ = ()

    def bfloat16(self) -> Tensor:
        """The values as bfloat16."""
        return lift.one("bfloat16", self)

    def bool(self) -> Tensor:
        """The values as bool."""
        return lift.one("bool", self)

    def char(self) -> Tensor:
        """The values as int8."""
        return lift.one("char", self)

    def complex(self, other: Operand) -> Tensor:
        """The complex number with these two parts: `re.complex(im)`."""
        return lift.two("complex", self, other)

    def double(self) -> Tensor:
        """The values as float64."""
        return lift.one("double", self)

    def float(self) -> Tensor:
        """The values as float32."""
        return lift.one("float", self)

    def half(self) -> Tensor:
        """The values as float16."""
        return lift.one("half", self)

    def int(self) -> Tensor:
        """The values as int32."""
        return lift.one("int", self)

    def long(self) -> Tensor:
        """The values as int64."""
        return lift.one("long", self)

    def short(self) -> Tensor:
        """The values as int16."""
        return lift.one("short", self)

    def uchar(self) -> Tensor:
        """The values as uint8."""
        return lift.one("uchar", self)


@checked_methods
class Methods(Conversions):
    """Operators, and a method for every name of a record."""

    __slots__ = ()

    def __add__(self, other: Operand) -> Tensor:
        return lift.two("add", self, other)

    def __radd__(self, other: Operand) -> Tensor:
        return lift.two("add", other, self)

    def __sub__(self, other: Operand) -> Tensor:
        return lift.two("sub", self, other)

    def __rsub__(self, other: Operand) -> Tensor:
        return lift.two("sub", other, self)

    def __mul__(self, other: Operand) -> Tensor:
        return lift.two("mul", self, other)

    def __rmul__(self, other: Operand) -> Tensor:
        return lift.two("mul", other, self)

    def __truediv__(self, other: Operand) -> Tensor:
        return lift.two("div", self, other)

    def __rtruediv__(self, other: Operand) -> Tensor:
        return lift.two("div", other, self)

    def __floordiv__(self, other: Operand) -> Tensor:
        return lift.two("floordiv", self, other)

    def __rfloordiv__(self, other: Operand) -> Tensor:
        return lift.two("floordiv", other, self)

    def __mod__(self, other: Operand) -> Tensor:
        return lift.two("mod", self, other)

    def __rmod__(self, other: Operand) -> Tensor:
        return lift.two("mod", other, self)

    def __pow__(self, other: Operand) -> Tensor:
        return lift.two("pow", self, other)

    def __rpow__(self, other: Operand) -> Tensor:
        return lift.two("pow", other, self)

    def __matmul__(self, other: Operand) -> Tensor:
        return lift.two("matmul", self, other)

    def __rmatmul__(self, other: Operand) -> Tensor:
        return lift.two("matmul", other, self)

    def __and__(self, other: Operand) -> Tensor:
        return lift.two("bitwise_and", self, other)

    def __rand__(self, other: Operand) -> Tensor:
        return lift.two("bitwise_and", other, self)

    def __or__(self, other: Operand) -> Tensor:
        return lift.two("bitwise_or", self, other)

    def __ror__(self, other: Operand) -> Tensor:
        return lift.two("bitwise_or", other, self)

    def __xor__(self, other: Operand) -> Tensor:
        return lift.two("bitwise_xor", self, other)

    def __rxor__(self, other: Operand) -> Tensor:
        return lift.two("bitwise_xor", other, self)

    def __lshift__(self, other: Operand) -> Tensor:
        return lift.two("lshift", self, other)

    def __rlshift__(self, other: Operand) -> Tensor:
        return lift.two("lshift", other, self)

    def __rshift__(self, other: Operand) -> Tensor:
        return lift.two("rshift", self, other)

    def __rrshift__(self, other: Operand) -> Tensor:
        return lift.two("rshift", other, self)

    def __lt__(self, other: Operand) -> Tensor:
        return lift.two("lt", self, other)

    def __le__(self, other: Operand) -> Tensor:
        return lift.two("le", self, other)

    def __gt__(self, other: Operand) -> Tensor:
        return lift.two("lt", other, self)

    def __ge__(self, other: Operand) -> Tensor:
        return lift.two("le", other, self)

    def __neg__(self) -> Tensor:
        return lift.one("neg", self)

    def __invert__(self) -> Tensor:
        return lift.one("bitwise_not", self)

    def __abs__(self) -> Tensor:
        return lift.one("abs", self)

    def abs(self) -> Tensor:
        """Absolute value; the gradient at 0 is 0."""
        return lift.one("abs", self)

    def absolute(self) -> Tensor:
        """Absolute value; the gradient at 0 is 0."""
        return lift.one("abs", self)

    def acos(self) -> Tensor:
        """Arc cosine."""
        return lift.one("acos", self)

    def acosh(self) -> Tensor:
        """Inverse of cosh."""
        return lift.one("acosh", self)

    def adaptive_avg_pool1d(self, output_size: Extents) -> Tensor:
        """The mean of each of `output_size` parts of nearly equal size along the last axis; None
        keeps an axis.

        adaptive_avg_pool1d(f32[2, 5], (3,)) → f32[2, 3]
        adaptive_avg_pool1d(f32[1, 2, 5], 1) → f32[1, 2, 1]
        """
        return lift.op("adaptive_avg_pool1d", self, output_size)

    def adaptive_avg_pool2d(self, output_size: Extents) -> Tensor:
        """The mean of each of `output_size` parts of nearly equal size along the last 2 axes; None
        keeps an axis.

        adaptive_avg_pool2d(f32[2, 5, 4], (3, 2)) → f32[2, 3, 2]
        adaptive_avg_pool2d(f32[1, 2, 5, 4], 1) → f32[1, 2, 1, 1]
        """
        return lift.op("adaptive_avg_pool2d", self, output_size)

    def adaptive_avg_pool3d(self, output_size: Extents) -> Tensor:
        """The mean of each of `output_size` parts of nearly equal size along the last 3 axes; None
        keeps an axis.

        adaptive_avg_pool3d(f32[2, 5, 4, 3], (3, 2, 2)) → f32[2, 3, 2, 2]
        adaptive_avg_pool3d(f32[1, 2, 5, 4, 3], 1) → f32[1, 2, 1, 1, 1]
        """
        return lift.op("adaptive_avg_pool3d", self, output_size)

    def adaptive_max_pool1d(self, output_size: Extents) -> Tensor:
        """The largest element of each of `output_size` parts of nearly equal size along the last
        axis; None keeps an axis.

        adaptive_max_pool1d(f32[2, 5], (3,)) → f32[2, 3]
        adaptive_max_pool1d(f32[1, 2, 5], 1) → f32[1, 2, 1]
        """
        return lift.op("adaptive_max_pool1d", self, output_size)

    def adaptive_max_pool2d(self, output_size: Extents) -> Tensor:
        """The largest element of each of `output_size` parts of nearly equal size along the last 2
        axes; None keeps an axis.

        adaptive_max_pool2d(f32[2, 5, 4], (3, 2)) → f32[2, 3, 2]
        adaptive_max_pool2d(f32[1, 2, 5, 4], 1) → f32[1, 2, 1, 1]
        """
        return lift.op("adaptive_max_pool2d", self, output_size)

    def adaptive_max_pool3d(self, output_size: Extents) -> Tensor:
        """The largest element of each of `output_size` parts of nearly equal size along the last 3
        axes; None keeps an axis.

        adaptive_max_pool3d(f32[2, 5, 4, 3], (3, 2, 2)) → f32[2, 3, 2, 2]
        adaptive_max_pool3d(f32[1, 2, 5, 4, 3], 1) → f32[1, 2, 1, 1, 1]
        """
        return lift.op("adaptive_max_pool3d", self, output_size)

    def add(self, other: Operand) -> Tensor:
        """Sum `x + y`."""
        return lift.two("add", self, other)

    def addcdiv(self, tensor1: Operand, tensor2: Operand, value: float = 1) -> Tensor:
        """`x + value * tensor1 / tensor2`.

        addcdiv(f32[2, 3], f32[3], f32[2, 1]) → f32[2, 3]
        addcdiv(f32[2, 3], f32[3], f32[], value=0.5) → f32[2, 3]
        """
        return lift.op("addcdiv", self, tensor1, tensor2, value)

    def addcmul(self, tensor1: Operand, tensor2: Operand, value: float = 1) -> Tensor:
        """`x + value * tensor1 * tensor2`.

        addcmul(f32[2, 3], f32[3], f32[2, 1]) → f32[2, 3]
        addcmul(f32[2, 3], f32[3], f32[], value=0.5) → f32[2, 3]
        """
        return lift.op("addcmul", self, tensor1, tensor2, value)

    def addmm(self, a: Operand, b: Operand, beta: float = 1, alpha: float = 1) -> Tensor:
        """`beta * x + alpha * (a @ b)` for two matrices; x is broadcast to their product.

        addmm(f32[2, 4], f32[2, 3], f32[3, 4]) → f32[2, 4]
        addmm(f32[4], f32[2, 3], f32[3, 4], 0.5, 2.0) → f32[2, 4]
        """
        return lift.op("addmm", self, a, b, beta, alpha)

    def adjugate(self) -> Tensor:
        """`det(x) * inv(x)`, which exists for a singular matrix too. Its derivative needs the
        inverse."""
        return lift.one("adjugate", self)

    def all(
        self,
        axis: Axis = None,
        keepdim: bool = False,
        **names: Unpack[ByDimDimsAxesKeepdims],
    ) -> Tensor:
        """Whether every element along axes is nonzero.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1

        all(f32[2, 3]) → bool[]
        all(f32[2, 3], 1) → bool[2]
        """
        return lift.op("all", self, axis, keepdim, **names)

    def amax(
        self,
        axis: Axis = None,
        keepdim: bool = False,
        **names: Unpack[ByDimDimsAxesKeepdims],
    ) -> Tensor:
        """The largest element along axes; NaN if there is one. Ties share the gradient equally.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1

        max(f32[2, 3]) → f32[]
        max(f32[2, 3], 1) → f32[2]
        """
        return lift.op("max", self, axis, keepdim, **names)

    def amin(
        self,
        axis: Axis = None,
        keepdim: bool = False,
        **names: Unpack[ByDimDimsAxesKeepdims],
    ) -> Tensor:
        """The smallest element along axes; NaN if there is one. Ties share the gradient equally.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1

        min(f32[2, 3]) → f32[]
        min(f32[2, 3], 1) → f32[2]
        """
        return lift.op("min", self, axis, keepdim, **names)

    def aminmax(
        self,
        axis: Axis = None,
        keepdim: bool = False,
        **names: Unpack[ByDimDimsAxesKeepdims],
    ) -> tuple[Tensor, Tensor]:
        """The smallest and the largest element over axes, as a pair.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1

        aminmax(f32[2, 3]) → f32[], f32[]
        aminmax(f32[2, 3], 1) → f32[2], f32[2]
        """
        return lift.op("aminmax", self, axis, keepdim, **names)

    def any(
        self,
        axis: Axis = None,
        keepdim: bool = False,
        **names: Unpack[ByDimDimsAxesKeepdims],
    ) -> Tensor:
        """Whether some element along axes is nonzero.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1

        any(f32[2, 3]) → bool[]
        any(f32[2, 3], 1) → bool[2]
        """
        return lift.op("any", self, axis, keepdim, **names)

    def argmax(
        self,
        axis: Axis = None,
        keepdim: bool = False,
        **names: Unpack[ByDimDimsAxesKeepdims],
    ) -> Tensor:
        """Index of the first largest element; NaN counts as the largest.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1

        argmax(f32[2, 3]) → i64[]
        argmax(f32[2, 3], 1) → i64[2]
        """
        return lift.op("argmax", self, axis, keepdim, **names)

    def argmin(
        self,
        axis: Axis = None,
        keepdim: bool = False,
        **names: Unpack[ByDimDimsAxesKeepdims],
    ) -> Tensor:
        """Index of the first smallest element; NaN counts as the smallest.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1

        argmin(f32[2, 3]) → i64[]
        argmin(f32[2, 3], 1) → i64[2]
        """
        return lift.op("argmin", self, axis, keepdim, **names)

    def argpartition(
        self,
        kth: int | Sequence[int],
        dim: int = -1,
        **names: Unpack[ByAxis],
    ) -> Tensor:
        """The indices that `partition` takes the values from.

        dim: the axis, counted from the end if it is negative

        argpartition(f32[2, 5], 2) → i64[2, 5]
        argpartition(f32[2, 5], -1, 0) → i64[2, 5]
        """
        return lift.op("argpartition", self, kth, dim, **names)

    def argsort(self, dim: int = -1, descending: bool = False, **names: Unpack[ByAxis]) -> Tensor:
        """The indices that sort along `dim`, stable; NaN counts as the largest.

        descending: whether the largest comes first

        argsort(f32[2, 5]) → i64[2, 5]
        argsort(f32[2, 5], 0, True) → i64[2, 5]
        """
        return lift.op("argsort", self, dim, descending, **names)

    def asin(self) -> Tensor:
        """Arc sine."""
        return lift.one("asin", self)

    def asinh(self) -> Tensor:
        """Inverse of sinh."""
        return lift.one("asinh", self)

    def atan(self) -> Tensor:
        """Arc tangent."""
        return lift.one("atan", self)

    def atan2(self, other: Operand) -> Tensor:
        """The angle of the point (y, x): `x.atan2(y)` reads x as the ordinate, as NumPy does."""
        return lift.two("atan2", self, other)

    def atanh(self) -> Tensor:
        """Inverse of tanh."""
        return lift.one("atanh", self)

    def atleast_1d(self) -> Tensor:
        """A scalar becomes a vector of one element; other tensors stay as they are."""
        return lift.view("atleast_1d", self)

    def atleast_2d(self) -> Tensor:
        """A scalar or a vector becomes a matrix of one row; other tensors stay as they are."""
        return lift.view("atleast_2d", self)

    def atleast_3d(self) -> Tensor:
        """A vector becomes (1, n, 1), a matrix (m, n, 1); other tensors stay as they are."""
        return lift.view("atleast_3d", self)

    def attention(
        self,
        key: Operand,
        value: Operand,
        mask: Operand | None = None,
        is_causal: bool = False,
        enable_gqa: bool = False,
    ) -> Tensor:
        """Scaled dot-product attention: softmax(q keyᵀ / √E + mask) value.

        A bool mask keeps where it is true, a float mask is added; a row with nothing kept gives
        zeros. `is_causal` keeps keys up to the query's position. `enable_gqa` lets a head of key
        and value serve several of q. Scores are kept in float32 or wider.

        attention(f32[1, 2, 3, 2], f32[1, 2, 4, 2], f32[1, 2, 4, 3]) → f32[1, 2, 3, 3]
        attention(f32[3, 2], f32[4, 2], f32[4, 3]) → f32[3, 3]
        """
        return lift.op("attention", self, key, value, mask, is_causal, enable_gqa)

    def avg_pool2d(
        self,
        kernel_size: Sizes = (2, 2),
        stride: Sizes | None = None,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Tensor:
        """The mean of each window; `stride` defaults to the kernel.

        `ceil_mode` keeps a last, partial window; without `count_include_pad` only real elements
        count.

        kernel_size: the size of the window, for all axes or for each
        dilation: the distance between neighbours inside a window, for all axes or for each
        padding: what is added around each axis: for all, for each, or before and after each

        avg_pool2d(f32[1, 2, 5, 4]) → f32[1, 2, 2, 2]
        avg_pool2d(f32[1, 2, 5, 4], 2) → f32[1, 2, 2, 2]
        """
        return lift.op(
            "avg_pool2d", self, kernel_size, stride, dilation, padding, ceil_mode, count_include_pad
        )

    def batchnorm(
        self,
        weight: Operand | None = None,
        bias: Operand | None = None,
        mean: Operand | None = None,
        invstd: Operand | None = None,
        axis: Axis = 1,
        **names: Unpack[ByDimDimsAxes],
    ) -> Tensor:
        """(x - mean) * weight * invstd + bias, each with one value per element of `axis`.

        batchnorm(f32[2, 3, 4], f32[3], f32[3], f32[3], f32[3]) → f32[2, 3, 4]
        batchnorm(f32[2, 3], None, None, f32[3], f32[3]) → f32[2, 3]
        """
        return lift.op("batchnorm", self, weight, bias, mean, invstd, axis, **names)

    def binary_crossentropy(self, Y: Operand, reduction: str = "mean") -> Tensor:
        """-(Y log x + (1 - Y) log(1 - x)) for probabilities x; logarithms are cut off at -100.

        reduction: "mean", "sum" or "none"

        binary_crossentropy(f32[2, 3], f32[2, 3]) → f32[]
        binary_crossentropy(f32[2, 3], f32[2, 3], reduction="sum") → f32[]
        """
        return lift.op("binary_crossentropy", self, Y, reduction)

    def binary_crossentropy_logits(
        self, Y: Operand, reduction: str = "mean", pos_weight: Operand | None = None
    ) -> Tensor:
        """Binary cross-entropy between logits x and targets Y; `pos_weight` multiplies positives.

        reduction: "mean", "sum" or "none"

        binary_crossentropy_logits(f32[2, 3], f32[2, 3]) → f32[]
        binary_crossentropy_logits(f32[2, 3], f32[2, 3], reduction="sum") → f32[]
        """
        return lift.op("binary_crossentropy_logits", self, Y, reduction, pos_weight)

    def bincount_static(self, length: int, weights: Operand | None = None) -> Tensor:
        """How often each of 0 … length - 1 occurs in an integer vector, or the sum of its weights.

        bincount_static(u64[6], 5) → i64[5]
        bincount_static(i32[6], 7, f32[6]) → f32[7]
        """
        return lift.op("bincount_static", self, length, weights)

    def bitcast(self, dtype: DTypeLike) -> Tensor:
        """The same bytes read as another dtype; a different width changes the last axis.

        bitcast(i32[2, 4], "uint8") → u8[2, 16]
        bitcast(i32[2, 8], "float64") → f64[2, 4]
        """
        return lift.view("bitcast", self, dtype)

    def bitwise_and(self, other: Operand) -> Tensor:
        """Bits set in both."""
        return lift.two("bitwise_and", self, other)

    def bitwise_not(self) -> Tensor:
        """Bits inverted; for bool, logical not."""
        return lift.one("bitwise_not", self)

    def bitwise_or(self, other: Operand) -> Tensor:
        """Bits set in either."""
        return lift.two("bitwise_or", self, other)

    def bitwise_xor(self, other: Operand) -> Tensor:
        """Bits set in exactly one."""
        return lift.two("bitwise_xor", self, other)

    def bmm(self, other: Operand) -> Tensor:
        """The products of two batches of matrices, one by one."""
        return lift.two("bmm", self, other)

    def broadcast_to(self, *sizes: Extents, **names: Unpack[ByShape]) -> Tensor:
        """Repeats axes of size 1, and adds leading axes.

        expand(f32[2, 1], (2, 3)) → f32[2, 3]
        expand(f32[3], (2, 3)) → f32[2, 3]
        """
        return lift.view("expand", self, *sizes, **names)

    def bucketize(self, boundaries: Operand, right: bool = False) -> Tensor:
        """The index of the interval between boundaries that contains each element.

        Intervals include their upper boundary, or with `right` their lower one.

        bucketize(f32[2, 3], f32[7], False) → i64[2, 3]
        bucketize(f32[2, 3], f32[7], True) → i64[2, 3]
        """
        return lift.op("bucketize", self, boundaries, right)

    def cast(self, dtype: DTypeLike) -> Tensor:
        """The same values as another dtype. A float saturates into an integer, NaN becomes 0;
        integers wrap. A complex number is no real one: take its parts.

        cast(f32[2, 3], "float64") → f64[2, 3]
        cast(f32[2, 3], "float32") → f32[2, 3]
        """
        return lift.op("cast", self, dtype)

    def cat(self: Any, *others: Operand, dim: int = 0, **names: Unpack[ByAxis]) -> Tensor:
        """Tensors joined along an axis: `x.cat(y, z, dim=0)` or `cat([x, y, z], 0)`.

        cat(f32[2, 3], f32[1, 3]) → f32[3, 3]
        cat(f32[2, 3], f32[2, 1], f32[2, 0], dim=-1) → f32[2, 4]
        """
        return lift.op("cat", self, *others, dim=dim, **names)

    def cdist(self, other: Operand, p: float = 2.0) -> Tensor:
        """Distances in the p-norm between all rows of x and all rows of other.

        The gradient of a distance that is 0 is 0.

        cdist(f32[2, 3], f32[4, 3]) → f32[2, 4]
        cdist(f32[2, 2, 3], f32[4, 3], 1.0) → f32[2, 2, 4]
        """
        return lift.op("cdist", self, other, p)

    def ceil(self) -> Tensor:
        """The least integer ≥ x."""
        return lift.one("ceil", self)

    def celu(self, alpha: float = 1.0) -> Tensor:
        """x where it is positive, else `alpha * (exp(x / alpha) - 1)`.

        celu(f32[2, 3]) → f32[2, 3]
        celu(f32[]) → f32[]
        """
        return lift.op("celu", self, alpha)

    def checkpoint_name(self, name: str) -> Tensor:
        """The same values with a name, by which a policy of `checkpoint` can save them.

        checkpoint_name(f32[2, 3], "hidden") → f32[2, 3]
        checkpoint_name(f32[], "scale") → f32[]
        """
        return lift.op("checkpoint_name", self, name)

    def cholesky(self, upper: bool = False) -> Tensor:
        """The lower triangular L with `L @ L.mH` equal to the symmetric (Hermitian) part of a
        positive definite matrix, or with upper=True its adjoint.

        cholesky(f32[3, 3]) → f32[3, 3]
        cholesky(f32[2, 3, 3], True) → f32[2, 3, 3]
        """
        return lift.op("cholesky", self, upper)

    def chunk(self, chunks: int, dim: int = 0, **names: Unpack[ByAxis]) -> list[Tensor]:
        """At most `chunks` parts of equal size along `dim`; the last may be smaller.

        chunk(f32[11], 6) → f32[2], f32[2], f32[2], f32[2], f32[2], f32[1]
        chunk(f32[2, 6], 3, 1) → f32[2, 2], f32[2, 2], f32[2, 2]
        """
        return lift.view("chunk", self, chunks, dim, **names)

    def clamp(
        self,
        min_: Operand | None = None,
        max_: Operand | None = None,
        **names: Unpack[ByMinMax],
    ) -> Tensor:
        """x limited to [min_, max_]; NaN stays NaN, and at a bound the gradient goes to x.

        clamp(f32[2, 3], -1.03, 1.02) → f32[2, 3]
        clamp(f32[2, 3], None, 0.51) → f32[2, 3]
        """
        return lift.op("clamp", self, min_, max_, **names)

    def clip(
        self,
        min_: Operand | None = None,
        max_: Operand | None = None,
        **names: Unpack[ByMinMax],
    ) -> Tensor:
        """x limited to [min_, max_]; NaN stays NaN, and at a bound the gradient goes to x.

        clamp(f32[2, 3], -1.03, 1.02) → f32[2, 3]
        clamp(f32[2, 3], None, 0.51) → f32[2, 3]
        """
        return lift.op("clamp", self, min_, max_, **names)

    def col2im(
        self,
        output_size: Extents,
        kernel_size: Sizes,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        stride: Sizes = 1,
    ) -> Tensor:
        """Columns of patches added back into an image: the adjoint of `im2col`.

        kernel_size: the size of the window, for all axes or for each
        dilation: the distance between neighbours inside a window, for all axes or for each
        padding: what is added around each axis: for all, for each, or before and after each
        stride: the distance between neighbouring windows, for all axes or for each

        col2im(f32[1, 8, 6], (3, 4), 2) → f32[1, 2, 3, 4]
        col2im(f32[1, 6, 4], (3, 4), (2, 3)) → f32[1, 1, 3, 4]
        """
        return lift.op("col2im", self, output_size, kernel_size, dilation, padding, stride)

    def column_stack(self: Any, *others: Operand) -> Tensor:
        """Tensors joined along the second axis; a vector counts as one column."""
        return lift.op("column_stack", self, *others)

    def conj(self) -> Tensor:
        """The complex conjugate; a real tensor is its own."""
        return lift.one("conj", self)

    def contiguous(self) -> Tensor:
        """The same values in a buffer of their own."""
        return lift.one("contiguous", self)

    def contiguous_backward(self) -> Tensor:
        """The same values; the gradient gets a buffer of its own."""
        return lift.one("contiguous_backward", self)

    def contract(self, b: Operand, spec: str) -> Tensor:
        """Sum of products over named axes: `a.contract(b, 'mk,kn->mn')`.

        contract(f32[2, 3], f32[3, 4], "mk,kn->mn") → f32[2, 4]
        contract(f32[5, 2, 3], f32[5, 3, 4], "bmk,bkn->bnm") → f32[5, 4, 2]
        """
        return lift.op("contract", self, b, spec)

    def conv2d(
        self,
        weight: Operand,
        bias: Operand | None = None,
        groups: int = 1,
        stride: Sizes = 1,
        dilation: Sizes = 1,
        padding: Padding | str = 0,
        dtype: DTypeLike | None = None,
    ) -> Tensor:
        """Convolution of (N, C, *spatial) with (O, C / groups, *kernel), in 1 to 6 spatial
        dimensions.

        `padding` is an int, one per axis, (before, after) per axis from the last, "same" or
        "valid"; negative amounts crop. `dtype` is what the operands are cast to first.

        bias: one value per output channel or feature, added to the result
        stride: the distance between neighbouring windows, for all axes or for each
        dilation: the distance between neighbours inside a window, for all axes or for each

        conv2d(f32[1, 2, 4, 5], f32[3, 2, 2, 3]) → f32[1, 3, 3, 3]
        conv2d(f32[1, 2, 4, 5], f32[3, 2, 2, 3], f32[3]) → f32[1, 3, 3, 3]
        """
        return lift.op("conv2d", self, weight, bias, groups, stride, dilation, padding, dtype)

    def conv_transpose2d(
        self,
        weight: Operand,
        bias: Operand | None = None,
        groups: int = 1,
        stride: Sizes = 1,
        dilation: Sizes = 1,
        padding: Padding | str = 0,
        output_padding: Sizes = 0,
    ) -> Tensor:
        """The adjoint of convolution: (N, C, *spatial) with (C, O / groups, *kernel).

        `padding` is removed from the result's sides, `output_padding` added after it.

        bias: one value per output channel or feature, added to the result
        stride: the distance between neighbouring windows, for all axes or for each
        dilation: the distance between neighbours inside a window, for all axes or for each

        conv_transpose2d(f32[1, 2, 2, 3], f32[2, 3, 2, 3]) → f32[1, 3, 3, 5]
        conv_transpose2d(f32[1, 2, 2, 3], f32[2, 3, 2, 3], f32[3]) → f32[1, 3, 3, 5]
        """
        return lift.op(
            "conv_transpose2d",
            self,
            weight,
            bias,
            groups,
            stride,
            dilation,
            padding,
            output_padding,
        )

    def copysign(self, other: Operand) -> Tensor:
        """The magnitude of x with the sign of y (the sign of -0.0 counts)."""
        return lift.two("copysign", self, other)

    def corrcoef(self) -> Tensor:
        """Correlations of the rows of a matrix, in [-1, 1]."""
        return lift.one("corrcoef", self)

    def cos(self) -> Tensor:
        """Cosine."""
        return lift.one("cos", self)

    def cosh(self) -> Tensor:
        """Hyperbolic cosine."""
        return lift.one("cosh", self)

    def cosine_similarity(
        self,
        other: Operand,
        dim: int = 1,
        eps: float = 1e-08,
        **names: Unpack[ByAxis],
    ) -> Tensor:
        """x·y / (max(|x|, eps) max(|y|, eps)) along `dim`.

        cosine_similarity(f32[2, 3], f32[2, 3]) → f32[2]
        cosine_similarity(f32[2, 3], f32[3]) → f32[2]
        """
        return lift.op("cosine_similarity", self, other, dim, eps, **names)

    def count_nonzero(
        self,
        axis: Axis = None,
        keepdim: bool = False,
        **names: Unpack[ByDimDimsAxesKeepdims],
    ) -> Tensor:
        """The number of nonzero elements over axes; NaN is nonzero.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1

        count_nonzero(f32[2, 3]) → i64[]
        count_nonzero(f32[2, 3], 1) → i64[2]
        """
        return lift.op("count_nonzero", self, axis, keepdim, **names)

    def cov(self, correction: float = 1, **names: Unpack[ByDdof]) -> Tensor:
        """Covariances of the rows of a matrix; of a vector, its variance.

        correction: is subtracted from the count that is divided by

        cov(f32[3, 5]) → f32[3, 3]
        cov(f32[3, 5], 0) → f32[3, 3]
        """
        return lift.op("cov", self, correction, **names)

    def cross(self, other: Operand, dim: int = -1, **names: Unpack[ByAxis]) -> Tensor:
        """The vector product along an axis of size 3.

        dim: the axis, counted from the end if it is negative

        cross(f32[3], f32[3]) → f32[3]
        cross(f32[2, 3], f32[2, 3]) → f32[2, 3]
        """
        return lift.op("cross", self, other, dim, **names)

    def cross_entropy(
        self, Y: Operand, reduction: str = "mean", label_smoothing: float = 0.0
    ) -> Tensor:
        """Cross-entropy of logits x, classes on axis 1 (0 for a vector).

        Y holds class indices, in x's shape without the class axis, or probabilities, in x's shape.

        reduction: "mean", "sum" or "none"

        cross_entropy(f32[4, 3], i32[4]) → f32[]
        cross_entropy(f32[4, 3], i32[4], "sum") → f32[]
        """
        return lift.op("cross_entropy", self, Y, reduction, label_smoothing)

    def cummax(self, axis: int = 0, **names: Unpack[ByDim]) -> tuple[Tensor, Tensor]:
        """The running maximum along an axis, and the index that first reached it.

        cummax(f32[2, 3], 1) → f32[2, 3], i64[2, 3]
        cummax(f32[2, 3], 0) → f32[2, 3], i64[2, 3]
        """
        return lift.op("cummax", self, axis, **names)

    def cummin(self, axis: int = 0, **names: Unpack[ByDim]) -> tuple[Tensor, Tensor]:
        """The running minimum along an axis, and the index that first reached it.

        cummin(f32[2, 3], 1) → f32[2, 3], i64[2, 3]
        cummin(f32[2, 3], 0) → f32[2, 3], i64[2, 3]
        """
        return lift.op("cummin", self, axis, **names)

    def cumprod(self, axis: int, dtype: DTypeLike | None = None, **names: Unpack[ByDim]) -> Tensor:
        """Running product along an axis, in `dtype` if given; else integers have 64 bits.

        cumprod(f32[2, 3], 1) → f32[2, 3]
        cumprod(f32[2, 3], 0) → f32[2, 3]
        """
        return lift.op("cumprod", self, axis, dtype, **names)

    def cumprod_cotangent(self, g: Operand, axis: int = 0, **names: Unpack[ByDim]) -> Tensor:
        """The gradient of ⟨g, x.cumprod(axis)⟩, right where x has zeros.

        cumprod_cotangent(f32[2, 3], f32[2, 3], 1) → f32[2, 3]
        cumprod_cotangent(f32[4], f32[4], 0) → f32[4]
        """
        return lift.op("cumprod_cotangent", self, g, axis, **names)

    def cumprod_tangent(self, t: Operand, axis: int = 0, **names: Unpack[ByDim]) -> Tensor:
        """The change of `x.cumprod(axis)` along t, right where x has zeros.

        cumprod_tangent(f32[2, 3], f32[2, 3], 1) → f32[2, 3]
        cumprod_tangent(f32[4], f32[4], 0) → f32[4]
        """
        return lift.op("cumprod_tangent", self, t, axis, **names)

    def cumsum(
        self,
        axis: int = 0,
        dtype: DTypeLike | None = None,
        **names: Unpack[ByDim],
    ) -> Tensor:
        """Running sum along an axis, in `dtype` if given; else integers are summed in 64 bits.

        cumsum(f32[2, 3], 1) → f32[2, 3]
        cumsum(f32[2, 3], 0) → f32[2, 3]
        """
        return lift.op("cumsum", self, axis, dtype, **names)

    def deg2rad(self) -> Tensor:
        """Degrees as radians."""
        return lift.one("deg2rad", self)

    def det(self) -> Tensor:
        """The determinant of a square matrix; its gradient is right for a singular one too."""
        return lift.one("det", self)

    def detach(self) -> Tensor:
        """The same values; stops gradients."""
        return lift.view("detach", self)

    def dft(
        self,
        axis: Axis = -1,
        inverse: bool = False,
        norm: str | None = "backward",
        **names: Unpack[ByDimDimsAxes],
    ) -> Tensor:
        """The discrete Fourier transform along axes, or its inverse.

        axis: the axis or axes, counted from the end if negative
        norm: "backward", "ortho" or "forward": where the factor 1/n goes

        dft(c64[2, 3]) → c64[2, 3]
        dft(c64[2, 3], (0, 1), True) → c64[2, 3]
        """
        return lift.op("dft", self, axis, inverse, norm, **names)

    def diag(self, diagonal: int = 0) -> Tensor:
        """The matrix with this vector as its diagonal, zero elsewhere; of a matrix, its diagonal.

        diag(f32[3]) → f32[3, 3]
        diag(f32[2], 2) → f32[4, 4]
        """
        return lift.op("diag", self, diagonal)

    def diagonal(
        self,
        offset: int = 0,
        dim1: int = 0,
        dim2: int = 1,
        **names: Unpack[ByAxis1Axis2],
    ) -> Tensor:
        """The diagonal of the matrices in two axes, as a new last axis; a positive offset is above.

        diagonal(f32[3, 3]) → f32[3]
        diagonal(f32[3, 4], 1) → f32[3]
        """
        return lift.view("diagonal", self, offset, dim1, dim2, **names)

    def diff(
        self,
        n: int = 1,
        dim: int = -1,
        prepend: Operand | None = None,
        append: Operand | None = None,
        **names: Unpack[ByAxis],
    ) -> Tensor:
        """Differences of neighbours along `dim`, n times; of bools, whether they differ.

        diff(f32[2, 4]) → f32[2, 3]
        diff(f32[3, 2], 2, 0) → f32[1, 2]
        """
        return lift.op("diff", self, n, dim, prepend, append, **names)

    def digamma(self) -> Tensor:
        """The derivative of lgamma: `polygamma(0)`."""
        return lift.one("digamma", self)

    def dist(self, other: Operand, p: float = 2) -> Tensor:
        """The norm of order p of `x - other`.

        dist(f32[2, 3], f32[3]) → f32[]
        dist(f32[4], 0.5, 1) → f32[]
        """
        return lift.op("dist", self, other, p)

    def div(self, other: Operand, rounding_mode: str | None = None) -> Tensor:
        """Quotient `x / y`, rounded as `rounding_mode` says: None, "floor" or "trunc".

        div(f32[2, 3], f32[3]) → f32[2, 3]
        div(f32[2, 3], f32[3], rounding_mode="floor") → f32[2, 3]
        """
        return lift.op("div", self, other, rounding_mode)

    def dot(self, w: Operand, dtype: DTypeLike | None = None) -> Tensor:
        """The matrix product, as matmul; with `dtype`, computed at least in it and returned in it.

        dot(f32[2, 3], f32[3, 4]) → f32[2, 4]
        dot(f32[3], f32[3]) → f32[]
        """
        return lift.op("dot", self, w, dtype)

    def dsplit(self, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
        """Equal parts, or parts split at listed indices, along axis 2.

        dsplit(f32[2, 1, 6], 3) → f32[2, 1, 2], f32[2, 1, 2], f32[2, 1, 2]
        dsplit(f32[2, 2, 5], [1, 3]) → f32[2, 2, 1], f32[2, 2, 2], f32[2, 2, 2]
        """
        return lift.op("dsplit", self, indices_or_sections)

    def dstack(self: Any, *others: Operand) -> Tensor:
        """Tensors joined along the third axis."""
        return lift.op("dstack", self, *others)

    def eig(self) -> tuple[Tensor, Tensor]:
        """Eigenvalues and eigenvectors, as columns, of a square matrix; complex, in LAPACK's
        order."""
        return lift.op("eig", self)

    def eigh(self) -> tuple[Tensor, Tensor]:
        """Eigenvalues, rising, and eigenvectors, as columns, of the symmetric (Hermitian) part
        of a matrix. The values are real."""
        return lift.op("eigh", self)

    def eigvals(self) -> Tensor:
        """Eigenvalues of a square matrix; complex, in LAPACK's order."""
        return lift.one("eigvals", self)

    def eigvalsh(self) -> Tensor:
        """Eigenvalues, rising, of the symmetric part of a matrix."""
        return lift.one("eigvalsh", self)

    def elu(self, alpha: float = 1.0) -> Tensor:
        """x where it is positive, else `alpha * (exp(x) - 1)`.

        elu(f32[2, 3]) → f32[2, 3]
        elu(f32[]) → f32[]
        """
        return lift.op("elu", self, alpha)

    def embedding(self, idx: Operand, padding_idx: int | None = None) -> Tensor:
        """The rows of `weight` at the indices `idx`; the row `padding_idx` gets no gradient.

        embedding(f32[5, 3], i32[2, 4]) → f32[2, 4, 3]
        embedding(f32[5, 3], i32[]) → f32[3]
        """
        return lift.op("embedding", self, idx, padding_idx)

    def eq(self, other: Operand) -> Tensor:
        """Whether `x == y`."""
        return lift.two("eq", self, other)

    def erf(self) -> Tensor:
        """Error function."""
        return lift.one("erf", self)

    def erfinv(self) -> Tensor:
        """Inverse of the error function on (-1, 1)."""
        return lift.one("erfinv", self)

    def exp(self) -> Tensor:
        """Exponential."""
        return lift.one("exp", self)

    def exp2(self) -> Tensor:
        """Power of two."""
        return lift.one("exp2", self)

    def expand(self, *sizes: Extents, **names: Unpack[ByShape]) -> Tensor:
        """Repeats axes of size 1, and adds leading axes.

        expand(f32[2, 1], (2, 3)) → f32[2, 3]
        expand(f32[3], (2, 3)) → f32[2, 3]
        """
        return lift.view("expand", self, *sizes, **names)

    def expand_as(self, other: Operand) -> Tensor:
        """Expanded to the shape of another tensor."""
        return lift.view("expand_as", self, other)

    def expm1(self) -> Tensor:
        """`exp(x) - 1`, exact near 0."""
        return lift.one("expm1", self)

    def fft(
        self,
        n: int | None = None,
        dim: int = -1,
        norm: str | None = None,
        **names: Unpack[ByAxis],
    ) -> Tensor:
        """The discrete Fourier transform along `dim`, cut or zero-filled to length n first.

        norm: "backward", "ortho" or "forward": where the factor 1/n goes

        fft(c64[2, 3]) → c64[2, 3]
        fft(f32[2, 4]) → c64[2, 4]
        """
        return lift.op("fft", self, n, dim, norm, **names)

    def fft2(
        self,
        s: Sizes | None = None,
        dim: Axis = (-2, -1),
        norm: str | None = None,
        **names: Unpack[ByAxisDimsAxes],
    ) -> Tensor:
        """The transform over two axes.

        dim: the axis or axes, counted from the end if negative
        norm: "backward", "ortho" or "forward": where the factor 1/n goes

        fft2(f32[2, 3]) → c64[2, 3]
        fft2(f32[2, 2, 4]) → c64[2, 2, 4]
        """
        return lift.op("fft2", self, s, dim, norm, **names)

    @staticmethod
    def fftfreq(
        n: int,
        d: float = 1.0,
        dtype: DTypeLike | None = None,
        device: str | tuple[str, ...] | None = None,
    ) -> Tensor:
        """The frequencies of `fft` of n samples at distance d.

        fftfreq(5) → f32[5]
        fftfreq(6, 0.25) → f32[6]
        """
        return lift.op("fftfreq", n, d, dtype, Device.canonicalize(device))

    def fftn(
        self,
        s: Sizes | None = None,
        dim: Axis = None,
        norm: str | None = None,
        **names: Unpack[ByAxisDimsAxes],
    ) -> Tensor:
        """The transform over several axes, or all.

        dim: the axis or axes, counted from the end if negative; None means all
        norm: "backward", "ortho" or "forward": where the factor 1/n goes

        fftn(f32[2, 3]) → c64[2, 3]
        fftn(f32[2, 2, 4]) → c64[2, 2, 4]
        """
        return lift.op("fftn", self, s, dim, norm, **names)

    def fftshift(self, dim: Axis = None, **names: Unpack[ByAxisDimsAxes]) -> Tensor:
        """Frequency 0 moved to the middle of the axes, or of all.

        dim: the axis or axes, counted from the end if negative; None means all

        fftshift(f32[2, 5]) → f32[2, 5]
        fftshift(f32[2, 5], 1) → f32[2, 5]
        """
        return lift.op("fftshift", self, dim, **names)

    def fix(self) -> Tensor:
        """x without its fraction."""
        return lift.one("trunc", self)

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """Merges the axes from `start_dim` to `end_dim`, inclusive; a scalar becomes a vector.

        flatten(f32[2, 3, 2]) → f32[12]
        flatten(f32[2, 3, 2], 1) → f32[2, 6]
        """
        return lift.view("flatten", self, start_dim, end_dim)

    def flip(self, *which: Axes, **names: Unpack[ByAxisDimDimsAxes]) -> Tensor:
        """Elements in reverse order along axes.

        flip(f32[2, 3], (0,)) → f32[2, 3]
        flip(f32[2, 3], (0, 1)) → f32[2, 3]
        """
        return lift.view("flip", self, *which, **names)

    def fliplr(self) -> Tensor:
        """Reversed along the second axis."""
        return lift.view("fliplr", self)

    def flipud(self) -> Tensor:
        """Reversed along the first axis."""
        return lift.view("flipud", self)

    def float_power(self, other: Operand) -> Tensor:
        """`x ** other` in float64."""
        return lift.two("float_power", self, other)

    def floor(self) -> Tensor:
        """The greatest integer ≤ x."""
        return lift.one("floor", self)

    def floordiv(self, other: Operand) -> Tensor:
        """Quotient rounded down, `x // y`. An integer divided by zero gives 0."""
        return lift.two("floordiv", self, other)

    def fmax(self, other: Operand) -> Tensor:
        """The larger of two elements; where one is NaN the other, which gets the gradient."""
        return lift.two("fmax", self, other)

    def fmin(self, other: Operand) -> Tensor:
        """The smaller of two elements; where one is NaN the other, which gets the gradient."""
        return lift.two("fmin", self, other)

    def fmod(self, other: Operand) -> Tensor:
        """Remainder with the sign of the dividend. An integer modulo zero gives 0."""
        return lift.two("fmod", self, other)

    def fold(
        self,
        shape: Sizes,
        axis: Axes,
        size: Sizes,
        stride: Sizes = 1,
        dilation: Sizes = 1,
        **names: Unpack[ByDimDimsAxes],
    ) -> Tensor:
        """The adjoint of WINDOW: adds the windows up at their positions.

        axis: the axis, counted from the end if it is negative
        stride: the distance between neighbouring windows, for all axes or for each
        dilation: the distance between neighbours inside a window, for all axes or for each

        fold(f32[2, 5, 3], (2, 7), (1,), 3) → f32[2, 7]
        fold(f32[3, 3, 2, 3], (6, 7), (0, 1), (2, 3), (2, 1), (1, 2)) → f32[6, 7]
        """
        return lift.op("fold", self, shape, axis, size, stride, dilation, **names)

    def frac(self) -> Tensor:
        """The fraction of x, with its sign."""
        return lift.one("frac", self)

    def gather(self, dim: int, index: Operand, **names: Unpack[ByAxis]) -> Tensor:
        """Elements of x at `index` along `dim`: `x.gather(dim, index)`.

        gather(f32[4, 3], 0, i32[2, 3]) → f32[2, 3]
        gather(f32[4, 3], 1, i32[2, 2]) → f32[2, 2]
        """
        return lift.op("gather", self, dim, index, **names)

    def gaussian_nll_loss(
        self,
        target: Operand,
        var: Operand,
        full: bool = False,
        eps: float = 1e-06,
        reduction: str = "mean",
    ) -> Tensor:
        """½ (log var + (x - target)² / var), with var at least `eps`; `full` adds ½ log 2π.

        A variance below `eps` has the gradient at `eps`, or it would stay there.

        reduction: "mean", "sum" or "none"

        gaussian_nll_loss(f32[2, 3], f32[2, 3], f32[2, 3]) → f32[]
        gaussian_nll_loss(f32[2, 3], f32[3], f32[2, 1], True, 0.1, "none") → f32[2, 3]
        """
        return lift.op("gaussian_nll_loss", self, target, var, full, eps, reduction)

    def ge(self, other: Operand) -> Tensor:
        """Whether `x >= y`."""
        return lift.two("ge", self, other)

    def gelu(self, approximate: str = "tanh") -> Tensor:
        """`x * P(X <= x)` for a normal X: by tanh, or exactly with `approximate="none"`; 0 at -inf.

        gelu(f32[2, 3]) → f32[2, 3]
        gelu(f32[]) → f32[]
        """
        return lift.op("gelu", self, approximate)

    def glu(self, dim: int = -1, **names: Unpack[ByAxis]) -> Tensor:
        """`a * sigmoid(b)` for the halves a and b of x along `dim`.

        glu(f32[2, 4]) → f32[2, 2]
        glu(f32[4, 3], 0) → f32[2, 3]
        """
        return lift.op("glu", self, dim, **names)

    def group_norm(
        self,
        num_groups: int,
        weight: Operand | None = None,
        bias: Operand | None = None,
        eps: float = 1e-05,
    ) -> Tensor:
        """(N, C, *) normalised within each of `num_groups` groups of channels, then weight and
        bias.

        group_norm(f32[2, 4, 3], 2) → f32[2, 4, 3]
        group_norm(f32[2, 4], 2, f32[4], f32[4]) → f32[2, 4]
        """
        return lift.op("group_norm", self, num_groups, weight, bias, eps)

    def gt(self, other: Operand) -> Tensor:
        """Whether `x > y`."""
        return lift.two("gt", self, other)

    def hardshrink(self, lambd: float = 0.5) -> Tensor:
        """x, or 0 where `|x| <= lambd`.

        hardshrink(f32[2, 3]) → f32[2, 3]
        hardshrink(f32[]) → f32[]
        """
        return lift.op("hardshrink", self, lambd)

    def hardsigmoid(self, alpha: float = 0.16666666666666666, beta: float = 0.5) -> Tensor:
        """`alpha * x + beta` limited to [0, 1].

        hardsigmoid(f32[2, 3]) → f32[2, 3]
        hardsigmoid(f32[]) → f32[]
        """
        return lift.op("hardsigmoid", self, alpha, beta)

    def hardswish(self) -> Tensor:
        """`x * hardsigmoid(x)`; 0 at -inf."""
        return lift.one("hardswish", self)

    def hardtanh(self, min_val: float = -1, max_val: float = 1) -> Tensor:
        """x limited to [min_val, max_val].

        hardtanh(f32[2, 3]) → f32[2, 3]
        hardtanh(f32[]) → f32[]
        """
        return lift.op("hardtanh", self, min_val, max_val)

    def heaviside(self, values: Operand) -> Tensor:
        """0 below zero, 1 above, `values` at zero; NaN stays."""
        return lift.two("heaviside", self, values)

    def hfft(
        self,
        n: int | None = None,
        dim: int = -1,
        norm: str | None = None,
        **names: Unpack[ByAxis],
    ) -> Tensor:
        """The real transform of a signal of which one half is given, the other its conjugate.

        dim: the axis, counted from the end if it is negative
        norm: "backward", "ortho" or "forward": where the factor 1/n goes

        hfft(c64[2, 3]) → f32[2, 4]
        hfft(c64[2, 4]) → f32[2, 6]
        """
        return lift.op("hfft", self, n, dim, norm, **names)

    def hinge_embedding_loss(
        self, target: Operand, margin: float = 1.0, reduction: str = "mean"
    ) -> Tensor:
        """x where the target is 1, max(0, margin - x) where it is -1.

        reduction: "mean", "sum" or "none"

        hinge_embedding_loss(f32[2, 3], i32[3]) → f32[]
        hinge_embedding_loss(f32[2, 3], i32[3], 0.3, "none") → f32[2, 3]
        """
        return lift.op("hinge_embedding_loss", self, target, margin, reduction)

    def histc(self, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
        """How many elements fall into each of `bins` equal bins of [min, max].

        With min equal to max the bins span the data. Elements outside and NaN are not counted.

        histc(f32[4, 5], 4) → f32[4]
        histc(f32[30], 5, -1.99, 1.52) → f32[5]
        """
        return lift.op("histc", self, bins, min, max)

    def hsplit(self, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
        """Equal parts, or parts split at listed indices, along axis 1 (of a vector, along axis 0).

        hsplit(f32[2, 6], 3) → f32[2, 2], f32[2, 2], f32[2, 2]
        hsplit(f32[6], 2) → f32[3], f32[3]
        """
        return lift.op("hsplit", self, indices_or_sections)

    def hstack(self: Any, *others: Operand) -> Tensor:
        """Tensors joined along the second axis, vectors along their only one."""
        return lift.op("hstack", self, *others)

    def huber_loss(self, target: Operand, reduction: str = "mean", delta: float = 1.0) -> Tensor:
        """½(x - target)² up to a distance of `delta`, from there on linear with that slope.

        reduction: "mean", "sum" or "none"

        huber_loss(f32[2, 3], f32[2, 3]) → f32[]
        huber_loss(f32[2, 3], f32[2, 3], reduction="sum") → f32[]
        """
        return lift.op("huber_loss", self, target, reduction, delta)

    def hypot(self, other: Operand) -> Tensor:
        """`sqrt(x² + y²)` without overflow."""
        return lift.two("hypot", self, other)

    def idiv(self, other: Operand) -> Tensor:
        """Quotient rounded towards zero. An integer divided by zero gives 0."""
        return lift.two("idiv", self, other)

    def ifft(
        self,
        n: int | None = None,
        dim: int = -1,
        norm: str | None = None,
        **names: Unpack[ByAxis],
    ) -> Tensor:
        """The inverse of `fft`.

        dim: the axis, counted from the end if it is negative
        norm: "backward", "ortho" or "forward": where the factor 1/n goes

        ifft(c64[2, 3]) → c64[2, 3]
        ifft(f32[2, 4]) → c64[2, 4]
        """
        return lift.op("ifft", self, n, dim, norm, **names)

    def ifft2(
        self,
        s: Sizes | None = None,
        dim: Axis = (-2, -1),
        norm: str | None = None,
        **names: Unpack[ByAxisDimsAxes],
    ) -> Tensor:
        """The inverse of `fft2`.

        dim: the axis or axes, counted from the end if negative
        norm: "backward", "ortho" or "forward": where the factor 1/n goes

        ifft2(f32[2, 3]) → c64[2, 3]
        ifft2(f32[2, 2, 4]) → c64[2, 2, 4]
        """
        return lift.op("ifft2", self, s, dim, norm, **names)

    def ifftn(
        self,
        s: Sizes | None = None,
        dim: Axis = None,
        norm: str | None = None,
        **names: Unpack[ByAxisDimsAxes],
    ) -> Tensor:
        """The inverse of `fftn`.

        dim: the axis or axes, counted from the end if negative; None means all
        norm: "backward", "ortho" or "forward": where the factor 1/n goes

        ifftn(f32[2, 3]) → c64[2, 3]
        ifftn(f32[2, 2, 4]) → c64[2, 2, 4]
        """
        return lift.op("ifftn", self, s, dim, norm, **names)

    def ifftshift(self, dim: Axis = None, **names: Unpack[ByAxisDimsAxes]) -> Tensor:
        """The inverse of `fftshift`.

        dim: the axis or axes, counted from the end if negative; None means all

        ifftshift(f32[2, 5]) → f32[2, 5]
        ifftshift(f32[2, 5], 1) → f32[2, 5]
        """
        return lift.op("ifftshift", self, dim, **names)

    def ihfft(
        self,
        n: int | None = None,
        dim: int = -1,
        norm: str | None = None,
        **names: Unpack[ByAxis],
    ) -> Tensor:
        """The inverse of `hfft`.

        dim: the axis, counted from the end if it is negative
        norm: "backward", "ortho" or "forward": where the factor 1/n goes

        ihfft(f32[2, 4]) → c64[2, 3]
        ihfft(f32[2, 5]) → c64[2, 3]
        """
        return lift.op("ihfft", self, n, dim, norm, **names)

    def im2col(
        self, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
    ) -> Tensor:
        """Patches of (N, C, *spatial) as columns: (N, C * kernel, windows).

        kernel_size: the size of the window, for all axes or for each
        dilation: the distance between neighbours inside a window, for all axes or for each
        padding: what is added around each axis: for all, for each, or before and after each
        stride: the distance between neighbouring windows, for all axes or for each

        im2col(f32[1, 2, 3, 4], 2) → f32[1, 8, 6]
        im2col(f32[1, 2, 3, 4], (2, 3)) → f32[1, 12, 4]
        """
        return lift.op("im2col", self, kernel_size, dilation, padding, stride)

    def imag(self) -> Tensor:
        """The imaginary part; zero of a real tensor."""
        return lift.view("imag", self)

    def index_add(
        self,
        dim: int,
        index: Operand,
        source: Operand,
        alpha: Number = 1,
        **names: Unpack[ByAxis],
    ) -> Tensor:
        """`alpha * source` added to the slices along `dim` that `index` names; repeats accumulate.

        index_add(f32[4, 3], 0, i32[3], f32[3, 3]) → f32[4, 3]
        index_add(f32[2, 3, 2], 1, i32[2], f32[2, 2, 2]) → f32[2, 3, 2]
        """
        return lift.op("index_add", self, dim, index, source, alpha, **names)

    def index_copy(
        self,
        dim: int,
        index: Operand,
        source: Operand,
        **names: Unpack[ByAxis],
    ) -> Tensor:
        """The slices along `dim` that `index` names, replaced; of equal indices the last write
        wins.

        index_copy(f32[4, 3], 0, i32[3], f32[3, 3]) → f32[4, 3]
        index_copy(f32[2, 3, 2], 1, i32[2], f32[2, 2, 2]) → f32[2, 3, 2]
        """
        return lift.op("index_copy", self, dim, index, source, **names)

    def index_fill(
        self,
        dim: int,
        index: Operand,
        value: Operand,
        **names: Unpack[ByAxis],
    ) -> Tensor:
        """The slices along `dim` that `index` names, filled with one value.

        index_fill(f32[4, 3], 0, i32[2], 1) → f32[4, 3]
        index_fill(f32[4, 3], -1, i32[2], f32[]) → f32[4, 3]
        """
        return lift.op("index_fill", self, dim, index, value, **names)

    def index_select(self, dim: int, index: Operand, **names: Unpack[ByAxis]) -> Tensor:
        """The slices along `dim` at a vector of indices.

        index_select(f32[4, 3], 0, i32[3]) → f32[3, 3]
        index_select(f32[2, 3, 2], 1, i32[2]) → f32[2, 2, 2]
        """
        return lift.op("index_select", self, dim, index, **names)

    def inner(self, other: Operand) -> Tensor:
        """The sum of products over the last axis of both; a scalar scales."""
        return lift.two("inner", self, other)

    def instance_norm(
        self, weight: Operand | None = None, bias: Operand | None = None, eps: float = 1e-05
    ) -> Tensor:
        """(N, C, *) normalised within each channel of each sample, then weight and bias.

        instance_norm(f32[2, 2, 3]) → f32[2, 2, 3]
        instance_norm(f32[1, 2, 2, 3], f32[2], f32[2]) → f32[1, 2, 2, 3]
        """
        return lift.op("instance_norm", self, weight, bias, eps)

    def interpolate(self, size: Sizes, mode: str = "linear", align_corners: bool = False) -> Tensor:
        """The last axes resized to `size`; linear in n axes is bilinear, trilinear and so on.

        `mode` is "linear", "nearest" or "nearest-exact"; with `align_corners` the outermost
        elements keep their place. Integers are rounded to the nearest.

        interpolate(f32[2, 5], (3,)) → f32[2, 3]
        interpolate(f32[2, 3], (7,)) → f32[2, 7]
        """
        return lift.op("interpolate", self, size, mode, align_corners)

    def inv(self) -> Tensor:
        """The inverse of a square matrix."""
        return lift.one("inv", self)

    def irdft(
        self,
        n: int,
        axis: int = -1,
        norm: str | None = "backward",
        **names: Unpack[ByDim],
    ) -> Tensor:
        """The real tensor of length n whose frequencies 0 to n/2 along one axis are given; the
        imaginary parts of the first, and of n/2, are not read.

        norm: "backward", "ortho" or "forward": where the factor 1/n goes

        irdft(c64[2, 3], 5) → f32[2, 5]
        irdft(c64[2, 3], 4, -1, "ortho") → f32[2, 4]
        """
        return lift.op("irdft", self, n, axis, norm, **names)

    def irfft(
        self,
        n: int | None = None,
        dim: int = -1,
        norm: str | None = None,
        **names: Unpack[ByAxis],
    ) -> Tensor:
        """The inverse of `rfft`; n is the length of the result, even if not given.

        dim: the axis, counted from the end if it is negative
        norm: "backward", "ortho" or "forward": where the factor 1/n goes

        irfft(c64[2, 3]) → f32[2, 4]
        irfft(c64[2, 4]) → f32[2, 6]
        """
        return lift.op("irfft", self, n, dim, norm, **names)

    def irfft2(
        self,
        s: Sizes | None = None,
        dim: Axis = (-2, -1),
        norm: str | None = None,
        **names: Unpack[ByAxisDimsAxes],
    ) -> Tensor:
        """The inverse of `rfft2`; the last length is even if not given.

        dim: the axis or axes, counted from the end if negative
        norm: "backward", "ortho" or "forward": where the factor 1/n goes

        irfft2(f32[2, 3]) → f32[2, 4]
        irfft2(f32[2, 2, 4]) → f32[2, 2, 6]
        """
        return lift.op("irfft2", self, s, dim, norm, **names)

    def irfftn(
        self,
        s: Sizes | None = None,
        dim: Axis = None,
        norm: str | None = None,
        **names: Unpack[ByAxisDimsAxes],
    ) -> Tensor:
        """The inverse of `rfftn`; the last length is even if not given.

        dim: the axis or axes, counted from the end if negative; None means all
        norm: "backward", "ortho" or "forward": where the factor 1/n goes

        irfftn(f32[2, 3]) → f32[2, 4]
        irfftn(f32[2, 2, 4]) → f32[2, 2, 6]
        """
        return lift.op("irfftn", self, s, dim, norm, **names)

    def isclose(
        self, other: Operand, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
    ) -> Tensor:
        """Whether `|x - other| <= atol + rtol * |other|`; equal infinities are close.

        equal_nan: whether NaN equals NaN

        isclose(f32[2, 3], f32[2, 3]) → bool[2, 3]
        isclose(f32[2, 3], f32[3]) → bool[2, 3]
        """
        return lift.op("isclose", self, other, rtol, atol, equal_nan)

    def isfinite(self) -> Tensor:
        """Whether x is neither NaN nor an infinity."""
        return lift.one("isfinite", self)

    def isnan(self) -> Tensor:
        """Whether x is NaN."""
        return lift.one("isnan", self)

    def kl_div(self, target: Operand, reduction: str = "mean", log_target: bool = False) -> Tensor:
        """target (log target - x), where x are log-probabilities; 0 log 0 is 0, with gradient 0.

        With `log_target` the target is a log-probability too. "batchmean" divides the sum by the
        first size, which is the divergence of the distributions.

        reduction: "mean", "sum" or "none"

        kl_div(f32[2, 3], f32[2, 3]) → f32[]
        kl_div(f32[2, 3], f32[2, 3], reduction="sum") → f32[]
        """
        return lift.op("kl_div", self, target, reduction, log_target)

    def kron(self, other: Operand) -> Tensor:
        """The Kronecker product: every element of x times the whole of other, in blocks."""
        return lift.two("kron", self, other)

    def kthvalue(
        self,
        k: int,
        dim: int = -1,
        keepdim: bool = False,
        **names: Unpack[ByAxisKeepdims],
    ) -> Picked[Tensor]:
        """The k-th smallest value along `dim`, counted from 1, and its index.

        keepdim: whether the reduced axes stay, with size 1

        kthvalue(f32[2, 5], 2) → f32[2], i64[2]
        kthvalue(f32[2, 5], 1, 0, True) → f32[1, 5], i64[1, 5]
        """
        return lift.op("kthvalue", self, k, dim, keepdim, **names)

    def l1_loss(self, target: Operand, reduction: str = "mean") -> Tensor:
        """Absolute error |x - target|; the gradient at 0 is 0.

        reduction: "mean", "sum" or "none"

        l1_loss(f32[2, 3], f32[2, 3]) → f32[]
        l1_loss(f32[2, 3], f32[2, 3], reduction="sum") → f32[]
        """
        return lift.op("l1_loss", self, target, reduction)

    def layernorm(
        self,
        axis: Axis = -1,
        eps: float = 1e-05,
        **names: Unpack[ByDimDimsAxes],
    ) -> Tensor:
        """x with mean 0 and variance 1 along `axis` (an int or a tuple): (x - mean) / √(var + eps).

        layernorm(f32[2, 3]) → f32[2, 3]
        layernorm(f32[2, 3, 4], -1) → f32[2, 3, 4]
        """
        return lift.op("layernorm", self, axis, eps, **names)

    def ldexp(self, other: Operand) -> Tensor:
        """`x * 2 ** other`, in two steps so that the power alone does not overflow."""
        return lift.two("ldexp", self, other)

    def le(self, other: Operand) -> Tensor:
        """Whether `x <= y`."""
        return lift.two("le", self, other)

    def leaky_relu(self, neg_slope: float = 0.01) -> Tensor:
        """x where it is positive, else `neg_slope * x`; the gradient at 0 is neg_slope.

        leaky_relu(f32[2, 3]) → f32[2, 3]
        leaky_relu(f32[]) → f32[]
        """
        return lift.op("leaky_relu", self, neg_slope)

    def lerp(self, end: Operand, weight: Operand) -> Tensor:
        """`x + weight * (end - x)`, exact at both ends."""
        return lift.op("lerp", self, end, weight)

    def lgamma(self) -> Tensor:
        """Logarithm of |Γ(x)|."""
        return lift.one("lgamma", self)

    def linear(
        self, weight: Operand, bias: Operand | None = None, dtype: DTypeLike | None = None
    ) -> Tensor:
        """`x @ weight + bias` with a weight of shape (in, out); a 1-d weight scales elementwise.

        `dtype` is what the operands are cast to first.

        linear(f32[4, 3], f32[3, 2]) → f32[4, 2]
        linear(f32[4, 3], f32[3, 2], f32[2]) → f32[4, 2]
        """
        return lift.op("linear", self, weight, bias, dtype)

    def log(self) -> Tensor:
        """Natural logarithm."""
        return lift.one("log", self)

    def log10(self) -> Tensor:
        """Base-10 logarithm."""
        return lift.one("log10", self)

    def log1p(self) -> Tensor:
        """`log(1 + x)`, exact near 0."""
        return lift.one("log1p", self)

    def log2(self) -> Tensor:
        """Base-2 logarithm."""
        return lift.one("log2", self)

    def log_softmax(
        self,
        axis: Axis = -1,
        dtype: DTypeLike | None = None,
        **names: Unpack[ByDimDimsAxes],
    ) -> Tensor:
        """The logarithm of softmax, exact where softmax would be 0.

        axis: the axis or axes, counted from the end if negative

        log_softmax(f32[2, 3]) → f32[2, 3]
        log_softmax(f32[2, 3], 0) → f32[2, 3]
        """
        return lift.op("log_softmax", self, axis, dtype, **names)

    def logaddexp(self, other: Operand) -> Tensor:
        """`log(exp(x) + exp(y))` without overflow."""
        return lift.two("logaddexp", self, other)

    def logcumsumexp(self, axis: int = 0, **names: Unpack[ByDim]) -> Tensor:
        """The logarithm of the running sum of `exp(x)`, without overflow.

        Sums over 2, 4, 8 … neighbours are joined, so log2(n) steps do it.

        axis: the axis, counted from the end if it is negative

        logcumsumexp(f32[2, 5], 1) → f32[2, 5]
        logcumsumexp(f32[4, 2]) → f32[4, 2]
        """
        return lift.op("logcumsumexp", self, axis, **names)

    def logical_and(self, other: Operand) -> Tensor:
        """Whether both are nonzero."""
        return lift.two("logical_and", self, other)

    def logical_not(self) -> Tensor:
        """Whether x is zero."""
        return lift.one("logical_not", self)

    def logical_or(self, other: Operand) -> Tensor:
        """Whether either is nonzero."""
        return lift.two("logical_or", self, other)

    def logical_xor(self, other: Operand) -> Tensor:
        """Whether exactly one is nonzero."""
        return lift.two("logical_xor", self, other)

    def logistic_loss(
        self, Y: Operand, pos_weight: Operand | None = None, reduction: str = "mean"
    ) -> Tensor:
        """Binary cross-entropy of logits, without overflow: (1 - Y) x + log(1 + exp(-x)).

        `pos_weight` multiplies the loss of the positive targets.

        reduction: "mean", "sum" or "none"

        logistic_loss(f32[2, 3], f32[2, 3]) → f32[]
        logistic_loss(f32[2, 3], f32[2, 3], reduction="sum") → f32[]
        """
        return lift.op("logistic_loss", self, Y, pos_weight, reduction)

    def logit(self, eps: float | None = None) -> Tensor:
        """`log(x / (1 - x))`, the inverse of sigmoid; x is first limited to [eps, 1 - eps] if
        given.

        logit(f32[2, 3]) → f32[2, 3]
        logit(f32[]) → f32[]
        """
        return lift.op("logit", self, eps)

    def logsigmoid(self) -> Tensor:
        """`log(sigmoid(x))`, without overflow."""
        return lift.one("logsigmoid", self)

    def logsumexp(
        self,
        axis: Axis = None,
        keepdim: bool = False,
        **names: Unpack[ByDimDimsAxesKeepdims],
    ) -> Tensor:
        """`log(Σ exp(x))` over axes, without overflow; -inf for no elements.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1

        logsumexp(f32[2, 3]) → f32[]
        logsumexp(f32[2, 3], 1) → f32[2]
        """
        return lift.op("logsumexp", self, axis, keepdim, **names)

    def lshift(self, other: Operand) -> Tensor:
        """`x << y`."""
        return lift.two("lshift", self, other)

    def lstsq(self, b: Operand, rcond: float | None = None) -> Tensor:
        """The y that minimises `|x @ y - b|`, of several that of least norm; b is as for solve.

        lstsq(f32[4, 2], f32[4]) → f32[2]
        lstsq(f32[4, 2], f32[4, 3]) → f32[2, 3]
        """
        return lift.op("lstsq", self, b, rcond)

    def lt(self, other: Operand) -> Tensor:
        """Whether `x < y`."""
        return lift.two("lt", self, other)

    def margin_ranking_loss(
        self, other: Operand, target: Operand, margin: float = 0.0, reduction: str = "mean"
    ) -> Tensor:
        """max(0, -target (x - other) + margin): x should be larger for 1, smaller for -1.

        reduction: "mean", "sum" or "none"

        margin_ranking_loss(f32[2, 3], f32[2, 3], i32[3]) → f32[]
        margin_ranking_loss(f32[2, 3], f32[3], i32[3], 0.3, "none") → f32[2, 3]
        """
        return lift.op("margin_ranking_loss", self, other, target, margin, reduction)

    def masked_fill(self, mask: Operand, value: Operand) -> Tensor:
        """`value` where the mask holds, x elsewhere."""
        return lift.op("masked_fill", self, mask, value)

    def masked_scatter(self, mask: Operand, source: Operand) -> Tensor:
        """The elements of `source`, in order, where the mask holds; x elsewhere."""
        return lift.op("masked_scatter", self, mask, source)

    def matmul(self, other: Operand) -> Tensor:
        """Matrix product with broadcast batch axes; a vector counts as a row or a column."""
        return lift.two("matmul", self, other)

    def matrix_power(self, n: int) -> Tensor:
        """The product of n copies of a square matrix; of its inverse if n is negative.

        matrix_power(f32[3, 3], 2) → f32[3, 3]
        matrix_power(f32[2, 3, 3], 5) → f32[2, 3, 3]
        """
        return lift.op("matrix_power", self, n)

    def matrix_rank(self, tol: float | None = None) -> Tensor:
        """How many singular values are above `tol` (None: the largest times the longer side times
        the dtype's epsilon).

        matrix_rank(f32[3, 3]) → i64[]
        matrix_rank(f32[2, 4, 3]) → i64[2]
        """
        return lift.op("matrix_rank", self, tol)

    def max(
        self,
        axis: Axis = None,
        keepdim: bool = False,
        **names: Unpack[ByDimDimsAxesKeepdims],
    ) -> Tensor:
        """The largest element along axes; NaN if there is one. Ties share the gradient equally.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1

        max(f32[2, 3]) → f32[]
        max(f32[2, 3], 1) → f32[2]
        """
        return lift.op("max", self, axis, keepdim, **names)

    def max_pool(
        self,
        kernel_size: Sizes = (2, 2),
        stride: Sizes | None = None,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        ceil_mode: bool = False,
    ) -> Tensor:
        """The largest element of each window; NaN if there is one. Ties share the gradient equally.

        kernel_size: the size of the window, for all axes or for each
        stride: the distance between neighbouring windows, for all axes or for each
        dilation: the distance between neighbours inside a window, for all axes or for each
        padding: what is added around each axis: for all, for each, or before and after each

        max_pool(f32[1, 2, 5, 4]) → f32[1, 2, 2, 2]
        max_pool(f32[1, 2, 5, 4], 2) → f32[1, 2, 2, 2]
        """
        return lift.op("max_pool", self, kernel_size, stride, dilation, padding, ceil_mode)

    @overload
    def max_pool2d(
        self,
        kernel_size: Sizes = (2, 2),
        stride: Sizes | None = None,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        return_indices: Literal[False] = False,
    ) -> Tensor: ...
    @overload
    def max_pool2d(
        self,
        kernel_size: Sizes = (2, 2),
        stride: Sizes | None = None,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        *,
        return_indices: Literal[True],
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def max_pool2d(
        self,
        kernel_size: Sizes = (2, 2),
        stride: Sizes | None = None,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]: ...
    def max_pool2d(
        self,
        kernel_size: Sizes = (2, 2),
        stride: Sizes | None = None,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """The largest element of each window; with `return_indices` also where it is.

        An index counts through the spatial axes in row-major order; of equal elements, and of NaNs,
        it is the first.

        kernel_size: the size of the window, for all axes or for each
        stride: the distance between neighbouring windows, for all axes or for each
        dilation: the distance between neighbours inside a window, for all axes or for each
        padding: what is added around each axis: for all, for each, or before and after each

        max_pool2d(f32[1, 2, 4, 4], (2, 2)) → f32[1, 2, 2, 2]
        max_pool2d(f32[1, 2, 5, 4], return_indices=True) → f32[1, 2, 2, 2], i64[1, 2, 2, 2]
        """
        return lift.op(
            "max_pool2d", self, kernel_size, stride, dilation, padding, ceil_mode, return_indices
        )

    def max_unpool2d(
        self,
        indices: Operand,
        kernel_size: Sizes = (2, 2),
        stride: Sizes | None = None,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        output_size: Extents = None,
    ) -> Tensor:
        """Elements put back where `max_pool2d(return_indices=True)` found them, zeros elsewhere.

        The spatial size is worked out from the pool's options, or is the last entries of
        `output_size`. Of elements with one index the last stays.

        kernel_size: the size of the window, for all axes or for each
        stride: the distance between neighbouring windows, for all axes or for each
        dilation: the distance between neighbours inside a window, for all axes or for each
        padding: what is added around each axis: for all, for each, or before and after each

        max_unpool2d(f32[1, 1, 2, 2], i32[1, 1, 2, 2]) → f32[1, 1, 4, 4]
        max_unpool2d(f32[2, 1, 2], i32[2, 1, 2], (2,), output_size=(7,)) → f32[2, 1, 7]
        """
        return lift.op(
            "max_unpool2d", self, indices, kernel_size, stride, dilation, padding, output_size
        )

    def maximum(self, other: Operand) -> Tensor:
        """The larger of two elements; NaN if either is. At a tie the gradient is halved."""
        return lift.two("maximum", self, other)

    @overload
    def median(
        self,
        dim: None = None,
        keepdim: bool = False,
        **names: Unpack[ByAxisKeepdimsOrNone],
    ) -> Tensor: ...
    @overload
    def median(
        self,
        dim: int,
        keepdim: bool = False,
        **names: Unpack[ByAxisKeepdimsOrNone],
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def median(
        self,
        dim: int | None = None,
        keepdim: bool = False,
        **names: Unpack[ByAxisKeepdimsOrNone],
    ) -> Tensor | tuple[Tensor, Tensor]: ...
    def median(
        self,
        dim: int | None = None,
        keepdim: bool = False,
        **names: Unpack[ByAxisKeepdimsOrNone],
    ) -> Tensor | tuple[Tensor, Tensor]:
        """The lower median: of all elements, or with `dim` (values, indices) along it. NaN wins.

        keepdim: whether the reduced axes stay, with size 1

        median(f32[2, 5]) → f32[]
        median(f32[2, 4], 1) → f32[2], i64[2]
        """
        return lift.op("median", self, dim, keepdim, **names)

    def meshgrid(self: Any, *others: Operand, indexing: str = "ij") -> tuple[Tensor, ...]:
        """Coordinate grids from coordinate vectors, with matrix ("ij") or Cartesian ("xy")
        indexing.

        meshgrid(f32[2], f32[3]) → f32[2, 3], f32[2, 3]
        meshgrid(f32[2], f32[3], indexing="xy") → f32[3, 2], f32[3, 2]
        """
        return lift.op("meshgrid", self, *others, indexing=indexing)

    def min(
        self,
        axis: Axis = None,
        keepdim: bool = False,
        **names: Unpack[ByDimDimsAxesKeepdims],
    ) -> Tensor:
        """The smallest element along axes; NaN if there is one. Ties share the gradient equally.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1

        min(f32[2, 3]) → f32[]
        min(f32[2, 3], 1) → f32[2]
        """
        return lift.op("min", self, axis, keepdim, **names)

    def minimum(self, other: Operand) -> Tensor:
        """The smaller of two elements; NaN if either is. At a tie the gradient is halved."""
        return lift.two("minimum", self, other)

    def mish(self) -> Tensor:
        """`x * tanh(softplus(x))`; 0 at -inf."""
        return lift.one("mish", self)

    def mm(self, other: Operand) -> Tensor:
        """The product of two matrices."""
        return lift.two("mm", self, other)

    def mod(self, other: Operand) -> Tensor:
        """Remainder with the sign of the divisor, `x % y`. An integer modulo zero gives 0."""
        return lift.two("mod", self, other)

    def mode(
        self,
        dim: int = -1,
        keepdim: bool = False,
        **names: Unpack[ByAxisKeepdims],
    ) -> tuple[Tensor, Tensor]:
        """The most frequent value along `dim` (of several the smallest) and its last index.

        keepdim: whether the reduced axes stay, with size 1

        mode(f32[2, 3]) → f32[2], i64[2]
        mode(f32[]) → f32[], i64[]
        """
        return lift.op("mode", self, dim, keepdim, **names)

    def movedim(self, source: Axes, destination: Axes) -> Tensor:
        """Axes moved to other positions; the others keep their order.

        movedim(f32[2, 3, 4], 0, -1) → f32[3, 4, 2]
        movedim(f32[2, 3, 4], (0, 1), (-1, 0)) → f32[3, 4, 2]
        """
        return lift.view("movedim", self, source, destination)

    def mse_loss(self, target: Operand, reduction: str = "mean") -> Tensor:
        """Squared error (x - target)².

        reduction: "mean", "sum" or "none"

        mse_loss(f32[2, 3], f32[2, 3]) → f32[]
        mse_loss(f32[2, 3], f32[2, 3], reduction="sum") → f32[]
        """
        return lift.op("mse_loss", self, target, reduction)

    def msort(self) -> Tensor:
        """The values in order along the first axis."""
        return lift.one("msort", self)

    def mul(self, other: Operand) -> Tensor:
        """Product `x * y`."""
        return lift.two("mul", self, other)

    def mv(self, vec: Operand) -> Tensor:
        """The product of a matrix and a vector."""
        return lift.two("mv", self, vec)

    def nan_to_num(
        self, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
    ) -> Tensor:
        """NaN and infinities replaced; an infinity becomes by default the largest finite number.

        nan_to_num(f32[2, 3]) → f32[2, 3]
        nan_to_num(f32[3]) → f32[3]
        """
        return lift.op("nan_to_num", self, nan, posinf, neginf)

    @overload
    def nanmedian(
        self,
        dim: None = None,
        keepdim: bool = False,
        **names: Unpack[ByAxisKeepdimsOrNone],
    ) -> Tensor: ...
    @overload
    def nanmedian(
        self,
        dim: int,
        keepdim: bool = False,
        **names: Unpack[ByAxisKeepdimsOrNone],
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def nanmedian(
        self,
        dim: int | None = None,
        keepdim: bool = False,
        **names: Unpack[ByAxisKeepdimsOrNone],
    ) -> Tensor | tuple[Tensor, Tensor]: ...
    def nanmedian(
        self,
        dim: int | None = None,
        keepdim: bool = False,
        **names: Unpack[ByAxisKeepdimsOrNone],
    ) -> Tensor | tuple[Tensor, Tensor]:
        """The lower median of the elements that are not NaN, as `median` gives it.

        dim: the axis, counted from the end if it is negative
        keepdim: whether the reduced axes stay, with size 1

        nanmedian(f32[2, 5]) → f32[]
        nanmedian(f32[2, 4], 1) → f32[2], i64[2]
        """
        return lift.op("nanmedian", self, dim, keepdim, **names)

    def narrow(self, dim: int, start: int, length: int, **names: Unpack[ByAxis]) -> Tensor:
        """`length` elements from `start` on along `dim`; a negative start counts from the end.

        narrow(f32[4, 3], 0, 1, 2) → f32[2, 3]
        narrow(f32[4, 3], -1, -2, 2) → f32[4, 2]
        """
        return lift.view("narrow", self, dim, start, length, **names)

    def ne(self, other: Operand) -> Tensor:
        """Whether `x != y`."""
        return lift.two("ne", self, other)

    def neg(self) -> Tensor:
        """Negation `-x`."""
        return lift.one("neg", self)

    def negative(self) -> Tensor:
        """Negation `-x`."""
        return lift.one("neg", self)

    def nextafter(self, other: Operand) -> Tensor:
        """The next float after x towards y."""
        return lift.two("nextafter", self, other)

    def nll_loss(
        self,
        Y: Operand,
        weight: Operand | None = None,
        ignore_index: int | None = None,
        reduction: str = "mean",
    ) -> Tensor:
        """-x at the class indices Y, for log-probabilities x with classes on axis 1 (0 for a
        vector).

        `weight` multiplies each class; the mean divides by the weights that count. Targets equal to
        `ignore_index` do not count.

        reduction: "mean", "sum" or "none"

        nll_loss(f32[4, 3], i32[4]) → f32[]
        nll_loss(f32[4, 3], i32[4], reduction="sum") → f32[]
        """
        return lift.op("nll_loss", self, Y, weight, ignore_index, reduction)

    def norm(
        self,
        p: float | str = "fro",
        dim: Axis = None,
        keepdim: bool = False,
        **names: Unpack[ByAxisDimsAxesKeepdims],
    ) -> Tensor:
        """The vector norm of order p over axes; "fro" is 2.

        dim: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1

        norm(f32[2, 3]) → f32[]
        norm(f32[2, 3], "fro", 1, True) → f32[2, 1]
        """
        return lift.op("norm", self, p, dim, keepdim, **names)

    def normalize(
        self,
        p: float = 2.0,
        dim: int = 1,
        eps: float = 1e-12,
        **names: Unpack[ByAxis],
    ) -> Tensor:
        """x divided by its norm of order p along `dim`, or by eps where that is larger.

        normalize(f32[2, 3]) → f32[2, 3]
        normalize(f32[2, 3], 1, 0) → f32[2, 3]
        """
        return lift.op("normalize", self, p, dim, eps, **names)

    def outer(self, other: Operand) -> Tensor:
        """Every element of one vector times every element of another."""
        return lift.two("outer", self, other)

    def pad(self, padding: Padding, mode: str = "constant", value: Operand = 0.0) -> Tensor:
        """Elements added around the tensor, by one (before, after) or None per axis.

        A flat tuple is read as PyTorch does, last axis first. Negative amounts remove elements.
        Modes: constant, reflect, replicate, circular.

        padding: what is added around each axis: for all, for each, or before and after each

        pad(f32[3, 4], ((1, 2), (2, 0)), "constant") → f32[6, 6]
        pad(f32[3, 4], ((1, 2), (2, 0)), "reflect") → f32[6, 6]
        """
        return lift.op("pad", self, padding, mode, value)

    def pad_constant(
        self,
        before: Sequence[int],
        after: Sequence[int],
        interior: Sequence[int] | None = None,
        value: Operand = 0,
    ) -> Tensor:
        """Adds elements equal to `value` around the tensor, and between its elements (`interior`).

        pad_constant(f32[2, 3], (1, 0), (0, 2)) → f32[3, 5]
        pad_constant(f32[3], (1,), (1,), (2,), 1) → f32[9]
        """
        return lift.op("pad_constant", self, before, after, interior, value)

    def pad_to(self, *sizes: Extents, value: Operand = 0, **names: Unpack[ByShape]) -> Tensor:
        """The tensor filled up at the end of each axis to this shape; None keeps an axis.

        pad_to(f32[2, 3], 4, None) → f32[4, 3]
        pad_to(f32[2, 3], (2, 5), value=1) → f32[2, 5]
        """
        return lift.op("pad_to", self, *sizes, value=value, **names)

    def pairwise_distance(
        self,
        other: Operand,
        p: float = 2.0,
        eps: float = 1e-06,
        keepdim: bool = False,
        **names: Unpack[ByKeepdims],
    ) -> Tensor:
        """The p-norm of x - y + eps along the last axis.

        keepdim: whether the reduced axes stay, with size 1

        pairwise_distance(f32[2, 3], f32[2, 3]) → f32[2]
        pairwise_distance(f32[2, 3], f32[3], 1.0) → f32[2]
        """
        return lift.op("pairwise_distance", self, other, p, eps, keepdim, **names)

    def partition(self, kth: int | Sequence[int], dim: int = -1, **names: Unpack[ByAxis]) -> Tensor:
        """The values along `dim` with the kth (or several) in its place of the order: none larger
        comes before it, none smaller behind. Here all values are sorted.

        partition(f32[2, 5], 2) → f32[2, 5]
        partition(f32[2, 5], -1, 0) → f32[2, 5]
        """
        return lift.op("partition", self, kth, dim, **names)

    def permute(self, *which: Axes, **names: Unpack[ByOrderDimsAxes]) -> Tensor:
        """Axes in another order.

        permute(f32[2, 3], (1, 0)) → f32[3, 2]
        permute(f32[2, 3, 4], (2, 0, 1)) → f32[4, 2, 3]
        """
        return lift.view("permute", self, *which, **names)

    def pinv(self, rcond: float | None = None) -> Tensor:
        """The Moore-Penrose inverse; singular values up to `rcond` times the largest count as zero
        (None: the longer side times the dtype's epsilon).

        pinv(f32[3, 3]) → f32[3, 3]
        pinv(f32[4, 2]) → f32[2, 4]
        """
        return lift.op("pinv", self, rcond)

    def pixel_shuffle(self, upscale_factor: int) -> Tensor:
        """(..., C r², H, W) as (..., C, H r, W r): channels become pixels.

        pixel_shuffle(f32[1, 4, 2, 3], 2) → f32[1, 1, 4, 6]
        pixel_shuffle(f32[8, 1, 2], 2) → f32[2, 2, 4]
        """
        return lift.op("pixel_shuffle", self, upscale_factor)

    def pixel_unshuffle(self, downscale_factor: int) -> Tensor:
        """(..., C, H r, W r) as (..., C r², H, W): the inverse of `pixel_shuffle`.

        pixel_unshuffle(f32[1, 1, 4, 6], 2) → f32[1, 4, 2, 3]
        pixel_unshuffle(f32[2, 2, 4], 2) → f32[8, 1, 2]
        """
        return lift.op("pixel_unshuffle", self, downscale_factor)

    def poisson_nll_loss(
        self,
        target: Operand,
        log_input: bool = True,
        full: bool = False,
        eps: float = 1e-08,
        reduction: str = "mean",
    ) -> Tensor:
        """exp(x) - target x, for the logarithm x of a Poisson rate (`log_input`), else of the rate.

        `full` adds Stirling's approximation of log(target!) where target > 1.

        reduction: "mean", "sum" or "none"

        poisson_nll_loss(f32[2, 3], f32[2, 3]) → f32[]
        poisson_nll_loss(f32[2, 3], f32[2, 3], reduction="sum") → f32[]
        """
        return lift.op("poisson_nll_loss", self, target, log_input, full, eps, reduction)

    def polygamma(self, n: int) -> Tensor:
        """The n-th derivative of the digamma function.

        polygamma(f32[2, 3], 0) → f32[2, 3]
        polygamma(f32[3], 1) → f32[3]
        """
        return lift.op("polygamma", self, n)

    def positive(self) -> Tensor:
        """`+x`: the tensor itself."""
        return lift.one("positive", self)

    def pow(self, other: Operand) -> Tensor:
        """Power `x ** y`. A negative integer power of an integer is truncated towards zero."""
        return lift.two("pow", self, other)

    def prelu(self, weight: Operand) -> Tensor:
        """x where it is positive, else `weight * x`, with one weight for all or one per channel."""
        return lift.two("prelu", self, weight)

    def prod(
        self,
        axis: Axis = None,
        keepdim: bool = False,
        dtype: DTypeLike | None = None,
        **names: Unpack[ByDimDimsAxesKeepdims],
    ) -> Tensor:
        """Product over axes, in `dtype` if given; else integers are multiplied in 64 bits.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1

        prod(f32[2, 3]) → f32[]
        prod(f32[2, 3], 1) → f32[2]
        """
        return lift.op("prod", self, axis, keepdim, dtype, **names)

    def qr(self) -> tuple[Tensor, Tensor]:
        """Q with orthonormal columns and upper triangular R, `q @ r = x`. A matrix of m × n
        gives m × k and k × n, where k is the shorter side."""
        return lift.op("qr", self)

    def quantile(
        self,
        q: Operand | Sequence[float],
        dim: int | None = None,
        keepdim: bool = False,
        interpolation: str = "linear",
        **names: Unpack[ByAxisKeepdimsOrNone],
    ) -> Tensor:
        """The value below which a fraction q of the elements lies; several q give a leading axis.

        dim: the axis, counted from the end if it is negative
        keepdim: whether the reduced axes stay, with size 1

        quantile(f32[4, 5], 0.37, 1, interpolation="linear") → f32[4]
        quantile(f32[4, 5], 0.37, 1, interpolation="lower") → f32[4]
        """
        return lift.op("quantile", self, q, dim, keepdim, interpolation, **names)

    def quick_gelu(self) -> Tensor:
        """`x * sigmoid(1.702 * x)`; 0 at -inf."""
        return lift.one("quick_gelu", self)

    def rad2deg(self) -> Tensor:
        """Radians as degrees."""
        return lift.one("rad2deg", self)

    def random_bits(self, shape: tuple[int, ...]) -> Tensor:
        """64 random bits per element, by position under the key.

        random_bits(u64[], (2, 3)) → u64[2, 3]
        random_bits(u64[], (0,)) → u64[0]
        """
        return lift.op("random_bits", self, shape)

    def random_normal(self, shape: tuple[int, ...], dtype: DTypeLike = dtypes.float32) -> Tensor:
        """Standard normal by Box and Muller, a word of the element's bits for each of its two
        draws.

        random_normal(u64[], (2, 3)) → f32[2, 3]
        random_normal(u64[], (0,)) → f32[0]
        """
        return lift.op("random_normal", self, shape, dtype)

    def random_uniform(self, shape: tuple[int, ...], dtype: DTypeLike = dtypes.float32) -> Tensor:
        """Uniform in [0, 1): the leading bits of each element's 64, scaled.

        random_uniform(u64[], (2, 3)) → f32[2, 3]
        random_uniform(u64[], (0,)) → f32[0]
        """
        return lift.op("random_uniform", self, shape, dtype)

    def rdft(self, axis: int = -1, norm: str | None = "backward", **names: Unpack[ByDim]) -> Tensor:
        """The discrete Fourier transform of a real tensor along one axis: frequencies 0 to n/2.

        norm: "backward", "ortho" or "forward": where the factor 1/n goes

        rdft(f32[2, 5]) → c64[2, 3]
        rdft(f32[4, 2], 0, "ortho") → c64[3, 2]
        """
        return lift.op("rdft", self, axis, norm, **names)

    def real(self) -> Tensor:
        """The real part."""
        return lift.view("real", self)

    def rearrange(self, formula: str, **sizes: int) -> Tensor:
        """Axes divided, reordered and merged as an einops formula says: "b (h w) c -> b c h w".

        rearrange(f32[2, 3], "b c -> c b") → f32[3, 2]
        rearrange(f32[2, 3, 4], "a b c -> (c a) b") → f32[8, 3]
        """
        return lift.view("rearrange", self, formula, **sizes)

    def reciprocal(self) -> Tensor:
        """Reciprocal `1 / x`."""
        return lift.one("reciprocal", self)

    def reciprocal_or_zero(self) -> Tensor:
        """1 / x, and 0 where x is 0."""
        return lift.one("reciprocal_or_zero", self)

    def reduce_prod(
        self,
        axis: Axis = None,
        keepdim: bool = False,
        **names: Unpack[ByDimDimsAxesKeepdims],
    ) -> Tensor:
        """Product over axes. Small integers are multiplied in 32 bits.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1

        reduce_prod(f32[2, 3]) → f32[]
        reduce_prod(f32[2, 3], 1) → f32[2]
        """
        return lift.op("reduce_prod", self, axis, keepdim, **names)

    def reduce_sum(
        self,
        axis: Axis = None,
        keepdim: bool = False,
        **names: Unpack[ByDimDimsAxesKeepdims],
    ) -> Tensor:
        """Sum over axes. Small integers are summed in 32 bits.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1

        reduce_sum(f32[2, 3]) → f32[]
        reduce_sum(f32[2, 3], 1) → f32[2]
        """
        return lift.op("reduce_sum", self, axis, keepdim, **names)

    def relu(self) -> Tensor:
        """`max(x, 0)` as its own op: the gradient at 0 is 0."""
        return lift.one("relu", self)

    def relu6(self) -> Tensor:
        """x limited to [0, 6]."""
        return lift.one("relu6", self)

    def repeat(self, *counts: Sizes, **names: Unpack[ByRepeats]) -> Tensor:
        """Repeats the tensor along each axis; more counts than axes add leading axes.

        repeat(f32[2, 3], 2, 1) → f32[4, 3]
        repeat(f32[3], (4, 2)) → f32[4, 6]
        """
        return lift.op("repeat", self, *counts, **names)

    def reshape(self, *sizes: Extents, **names: Unpack[ByShape]) -> Tensor:
        """The same elements in row-major order with another shape; one size may be -1.

        reshape(f32[2, 3], (3, 2)) → f32[3, 2]
        reshape(f32[2, 3], (-1,)) → f32[6]
        """
        return lift.view("reshape", self, *sizes, **names)

    def reshape_as(self, other: Operand) -> Tensor:
        """Reshaped to the shape of another tensor."""
        return lift.view("reshape_as", self, other)

    def rfft(
        self,
        n: int | None = None,
        dim: int = -1,
        norm: str | None = None,
        **names: Unpack[ByAxis],
    ) -> Tensor:
        """The transform of a real tensor along `dim`: frequencies 0 to n/2.

        norm: "backward", "ortho" or "forward": where the factor 1/n goes

        rfft(f32[2, 4]) → c64[2, 3]
        rfft(f32[2, 5]) → c64[2, 3]
        """
        return lift.op("rfft", self, n, dim, norm, **names)

    def rfft2(
        self,
        s: Sizes | None = None,
        dim: Axis = (-2, -1),
        norm: str | None = None,
        **names: Unpack[ByAxisDimsAxes],
    ) -> Tensor:
        """The transform of a real tensor over two axes; the last has frequencies 0 to n/2.

        dim: the axis or axes, counted from the end if negative
        norm: "backward", "ortho" or "forward": where the factor 1/n goes

        rfft2(f32[2, 3]) → c64[2, 2]
        rfft2(f32[2, 2, 4]) → c64[2, 2, 3]
        """
        return lift.op("rfft2", self, s, dim, norm, **names)

    @staticmethod
    def rfftfreq(
        n: int,
        d: float = 1.0,
        dtype: DTypeLike | None = None,
        device: str | tuple[str, ...] | None = None,
    ) -> Tensor:
        """The frequencies of `rfft` of n samples at distance d.

        rfftfreq(5) → f32[3]
        rfftfreq(6, 0.25) → f32[4]
        """
        return lift.op("rfftfreq", n, d, dtype, Device.canonicalize(device))

    def rfftn(
        self,
        s: Sizes | None = None,
        dim: Axis = None,
        norm: str | None = None,
        **names: Unpack[ByAxisDimsAxes],
    ) -> Tensor:
        """The transform of a real tensor over several axes, or all; the last has frequencies 0 to
        n/2.

        dim: the axis or axes, counted from the end if negative; None means all
        norm: "backward", "ortho" or "forward": where the factor 1/n goes

        rfftn(f32[2, 3]) → c64[2, 2]
        rfftn(f32[2, 2, 4]) → c64[2, 2, 3]
        """
        return lift.op("rfftn", self, s, dim, norm, **names)

    def rmsnorm(
        self,
        axis: Axis = -1,
        eps: float = 1e-06,
        **names: Unpack[ByDimDimsAxes],
    ) -> Tensor:
        """x divided by its root mean square along `axis`: x / √(mean(x²) + eps).

        rmsnorm(f32[2, 3]) → f32[2, 3]
        rmsnorm(f32[2, 3, 4], -1) → f32[2, 3, 4]
        """
        return lift.op("rmsnorm", self, axis, eps, **names)

    def roll(self, shifts: Sizes, dims: Axis = None, **names: Unpack[ByDimAxisAxes]) -> Tensor:
        """Shifts elements along axes; elements that leave at one end come in at the other.

        Without `dims` the flattened tensor is rolled.

        roll(f32[2, 3], 1) → f32[2, 3]
        roll(f32[2, 3], -1, 1) → f32[2, 3]
        """
        return lift.op("roll", self, shifts, dims, **names)

    def rot90(
        self,
        k: int = 1,
        dims: Sequence[int] = (0, 1),
        **names: Unpack[ByAxesOfRot90],
    ) -> Tensor:
        """Rotated by k · 90 degrees in the plane of two axes, from the first towards the second.

        rot90(f32[2, 3]) → f32[3, 2]
        rot90(f32[2, 3], 2) → f32[2, 3]
        """
        return lift.view("rot90", self, k, dims, **names)

    def rshift(self, other: Operand) -> Tensor:
        """`x >> y`, keeping the sign."""
        return lift.two("rshift", self, other)

    def rsqrt(self) -> Tensor:
        """`1 / sqrt(x)`."""
        return lift.one("rsqrt", self)

    def scan_max(self, axis: int = 0, reverse: bool = False, **names: Unpack[ByDim]) -> Tensor:
        """Running maximum along an axis; the gradient goes to the latest of equal elements.

        scan_max(f32[2, 3], 1) → f32[2, 3]
        scan_max(f32[2, 3], 0) → f32[2, 3]
        """
        return lift.op("scan_max", self, axis, reverse, **names)

    def scan_min(self, axis: int = 0, reverse: bool = False, **names: Unpack[ByDim]) -> Tensor:
        """Running minimum along an axis; the gradient goes to the latest of equal elements.

        scan_min(f32[2, 3], 1) → f32[2, 3]
        scan_min(f32[2, 3], 0) → f32[2, 3]
        """
        return lift.op("scan_min", self, axis, reverse, **names)

    def scan_prod(self, axis: int = 0, reverse: bool = False, **names: Unpack[ByDim]) -> Tensor:
        """Running product along an axis; the gradient is right with zeros.

        scan_prod(f32[2, 3], 1) → f32[2, 3]
        scan_prod(f32[2, 3], 0) → f32[2, 3]
        """
        return lift.op("scan_prod", self, axis, reverse, **names)

    def scan_sum(self, axis: int = 0, reverse: bool = False, **names: Unpack[ByDim]) -> Tensor:
        """Running sum along an axis.

        scan_sum(f32[2, 3], 1) → f32[2, 3]
        scan_sum(f32[2, 3], 0) → f32[2, 3]
        """
        return lift.op("scan_sum", self, axis, reverse, **names)

    def scatter(
        self,
        dim: int,
        index: Operand,
        src: Operand,
        reduce: str | None = None,
        **names: Unpack[ByAxis],
    ) -> Tensor:
        """x with `src` written (or added, multiplied) at `index` along `dim`; of equal indices the
        last stays.

        scatter(f32[4, 3], 0, i32[2, 3], f32[2, 3]) → f32[4, 3]
        scatter(f32[4, 3], 1, i32[2, 3], f32[4, 3], reduce="add") → f32[4, 3]
        """
        return lift.op("scatter", self, dim, index, src, reduce, **names)

    def scatter_add(
        self,
        dim: int,
        index: Operand,
        src: Operand,
        **names: Unpack[ByAxis],
    ) -> Tensor:
        """x with `src` added at `index` along `dim`; repeated indices accumulate.

        scatter_add(f32[4, 3], 1, i32[2, 3], f32[4, 3]) → f32[4, 3]
        scatter_add(f32[4], 0, i32[6], f32[6]) → f32[4]
        """
        return lift.op("scatter_add", self, dim, index, src, **names)

    def scatter_reduce(
        self,
        dim: int,
        index: Operand,
        src: Operand,
        reduce: str,
        include_self: bool = True,
        **names: Unpack[ByAxis],
    ) -> Tensor:
        """Each place of x with the values of `src` sent there reduced: sum, prod, mean, amax, amin.

        Without `include_self` the old value takes no part; places that get nothing keep it. A mean
        of integers is rounded down.

        dim: the axis, counted from the end if it is negative

        scatter_reduce(f32[4, 3], 0, i32[3, 3], f32[3, 3], "sum", True) → f32[4, 3]
        scatter_reduce(f32[4, 3], 0, i32[3, 3], f32[3, 3], "sum", False) → f32[4, 3]
        """
        return lift.op("scatter_reduce", self, dim, index, src, reduce, include_self, **names)

    def searchsorted(self, values: Operand, right: bool = False) -> Tensor:
        """The index at which each value keeps the last axis sorted: before its equals, or after.

        A vector serves all values; a sequence of higher rank has the leading axes of the values.
        NaN counts as the largest.

        searchsorted(f32[7], f32[2, 3], False) → i64[2, 3]
        searchsorted(f32[7], f32[2, 3], True) → i64[2, 3]
        """
        return lift.op("searchsorted", self, values, right)

    def selu(self, alpha: float = 1.67326, gamma: float = 1.0507) -> Tensor:
        """`gamma * elu(x, alpha)`.

        selu(f32[2, 3]) → f32[2, 3]
        selu(f32[]) → f32[]
        """
        return lift.op("selu", self, alpha, gamma)

    def shard(self, devices: Any, axis: Axis = None, **names: Unpack[ByDimDimsAxes]) -> Tensor:
        """The same values spread over a mesh: `x.shard(mesh, P('dp', None))` splits every dimension
        along the axes named for it; `x.shard(devices, axis)` along one dimension, or whole on
        each.

        shard(f32[4, 3], ("REF", "REF:1"), 0) → f32[4, 3]
        shard(f32[3], ("CPU:0", "CPU:1"), None) → f32[3]
        """
        return lift.op("shard", self, devices, axis, **names)

    def shrink(self, *bounds: Bounds) -> Tensor:
        """A slice with start, stop and step ≥ 1 per axis.

        shrink(f32[4, 5], ((1, 3), (0, 5))) → f32[2, 5]
        shrink(f32[4, 5], ((0, 4, 2), (1, 5, 3))) → f32[2, 2]
        """
        return lift.view("shrink", self, *bounds)

    def shrink_to(self, *sizes: Extents, **names: Unpack[ByShape]) -> Tensor:
        """The leading part of this shape; None keeps an axis.

        shrink_to(f32[4, 3], 2, None) → f32[2, 3]
        shrink_to(f32[4, 3], (4, 0)) → f32[4, 0]
        """
        return lift.op("shrink_to", self, *sizes, **names)

    def sigmoid(self) -> Tensor:
        """Logistic function `1 / (1 + exp(-x))`."""
        return lift.one("sigmoid", self)

    def sign(self) -> Tensor:
        """-1, 0 or 1 by the sign of x; NaN stays NaN."""
        return lift.one("sign", self)

    def signbit(self) -> Tensor:
        """Whether the sign is negative; that of -0.0 is."""
        return lift.one("signbit", self)

    def silu(self) -> Tensor:
        """`x * sigmoid(x)`; 0 at -inf."""
        return lift.one("silu", self)

    def sin(self) -> Tensor:
        """Sine."""
        return lift.one("sin", self)

    def sinc(self) -> Tensor:
        """`sin(πx) / (πx)`, 1 at 0."""
        return lift.one("sinc", self)

    def sinh(self) -> Tensor:
        """Hyperbolic sine."""
        return lift.one("sinh", self)

    def slogdet(self) -> tuple[Tensor, Tensor]:
        """The sign of the determinant and the logarithm of its absolute value, as two tensors."""
        return lift.op("slogdet", self)

    def smooth_l1_loss(self, target: Operand, reduction: str = "mean", beta: float = 1.0) -> Tensor:
        """(x - target)² / (2 beta) up to a distance of `beta`, from there on linear with slope 1.

        reduction: "mean", "sum" or "none"

        smooth_l1_loss(f32[2, 3], f32[2, 3]) → f32[]
        smooth_l1_loss(f32[2, 3], f32[2, 3], reduction="sum") → f32[]
        """
        return lift.op("smooth_l1_loss", self, target, reduction, beta)

    def smooth_root(self, p: float = 2.0) -> Tensor:
        """The p-th root, with derivative 0 at 0, where the true derivative is infinite.

        smooth_root(f32[2, 3]) → f32[2, 3]
        smooth_root(f32[]) → f32[]
        """
        return lift.op("smooth_root", self, p)

    def soft_margin_loss(self, target: Operand, reduction: str = "mean") -> Tensor:
        """log(1 + exp(-target x)) for targets 1 and -1.

        reduction: "mean", "sum" or "none"

        soft_margin_loss(f32[2, 3], i32[3]) → f32[]
        soft_margin_loss(f32[2, 3], f32[2, 3], "none") → f32[2, 3]
        """
        return lift.op("soft_margin_loss", self, target, reduction)

    def softmax(
        self,
        axis: Axis = -1,
        dtype: DTypeLike | None = None,
        **names: Unpack[ByDimDimsAxes],
    ) -> Tensor:
        """`exp(x)` divided by its sum along `axis`, without overflow.

        softmax(f32[2, 3]) → f32[2, 3]
        softmax(f32[2, 3], 0) → f32[2, 3]
        """
        return lift.op("softmax", self, axis, dtype, **names)

    def softmin(
        self,
        axis: Axis = -1,
        dtype: DTypeLike | None = None,
        **names: Unpack[ByDimDimsAxes],
    ) -> Tensor:
        """The softmax of -x.

        axis: the axis or axes, counted from the end if negative

        softmin(f32[2, 3]) → f32[2, 3]
        softmin(f32[2, 3], 0) → f32[2, 3]
        """
        return lift.op("softmin", self, axis, dtype, **names)

    def softplus(self, beta: float = 1.0) -> Tensor:
        """`log(1 + exp(beta * x)) / beta`, without overflow.

        softplus(f32[2, 3]) → f32[2, 3]
        softplus(f32[]) → f32[]
        """
        return lift.op("softplus", self, beta)

    def softshrink(self, lambd: float = 0.5) -> Tensor:
        """x moved towards 0 by `lambd`, and 0 where it would cross it.

        softshrink(f32[2, 3]) → f32[2, 3]
        softshrink(f32[]) → f32[]
        """
        return lift.op("softshrink", self, lambd)

    def softsign(self) -> Tensor:
        """`x / (1 + |x|)`; ±1 at ±inf."""
        return lift.one("softsign", self)

    def solve(self, b: Operand) -> Tensor:
        """The x with `a @ x = b`: `a.solve(b)`. b is a vector if it has one axis, else matrices."""
        return lift.two("solve", self, b)

    def solve_triangular(
        self, b: Operand, upper: bool, left: bool = True, unitriangular: bool = False
    ) -> Tensor:
        """The x with `a @ x = b` (or `x @ a = b` with left=False) for a triangular a, of which only
        that triangle is read. A zero on its diagonal is a division by zero.

        solve_triangular(f32[3, 3], f32[3, 2], True) → f32[3, 2]
        solve_triangular(f32[3, 3], f32[3, 2], False) → f32[3, 2]
        """
        return lift.op("solve_triangular", self, b, upper, left, unitriangular)

    def sort(
        self,
        dim: int = -1,
        descending: bool = False,
        **names: Unpack[ByAxis],
    ) -> Picked[Tensor]:
        """The values in order along `dim`, and their indices. Stable; NaN counts as the largest.

        descending: whether the largest comes first

        sort(f32[2, 5]) → f32[2, 5], i64[2, 5]
        sort(f32[2, 5], 0, True) → f32[2, 5], i64[2, 5]
        """
        return lift.op("sort", self, dim, descending, **names)

    def sparse_categorical_crossentropy(
        self,
        Y: Operand,
        ignore_index: int = -1,
        label_smoothing: float = 0.0,
        reduction: str = "mean",
    ) -> Tensor:
        """Cross-entropy of logits x, classes on the last axis, with class indices Y.

        Targets equal to `ignore_index` count neither in the loss nor in the mean.

        reduction: "mean", "sum" or "none"

        sparse_categorical_crossentropy(f32[4, 3], i32[4]) → f32[]
        sparse_categorical_crossentropy(f32[4, 3], i32[4], reduction="sum") → f32[]
        """
        return lift.op(
            "sparse_categorical_crossentropy", self, Y, ignore_index, label_smoothing, reduction
        )

    def split(
        self,
        sizes: int | Sequence[int],
        dim: int = 0,
        **names: Unpack[ByAxis],
    ) -> tuple[Tensor, ...]:
        """Parts along `dim`: of one size (the last may be smaller), or of the sizes listed.

        split(f32[5, 2], 2) → f32[2, 2], f32[2, 2], f32[1, 2]
        split(f32[5, 2], [1, 4]) → f32[1, 2], f32[4, 2]
        """
        return lift.view("split", self, sizes, dim, **names)

    def sqrt(self) -> Tensor:
        """Square root; √'(0) = inf."""
        return lift.one("sqrt", self)

    def square(self) -> Tensor:
        """`x * x`."""
        return lift.one("square", self)

    def squeeze(self, dim: Axis = None, **names: Unpack[ByAxisDimsAxes]) -> Tensor:
        """Without its axes of size 1, or without those of `dim` that have size 1.

        squeeze(f32[1, 2, 1]) → f32[2]
        squeeze(f32[1, 2, 1], 0) → f32[2, 1]
        """
        return lift.view("squeeze", self, dim, **names)

    def stack(self: Any, *others: Operand, dim: int = 0, **names: Unpack[ByAxis]) -> Tensor:
        """Tensors of one shape joined along a new axis.

        dim: the axis, counted from the end if it is negative

        stack(f32[2, 3], f32[2, 3]) → f32[2, 2, 3]
        stack(f32[2, 3], [f32[2, 3], f32[2, 3]], dim=-1) → f32[2, 3, 3]
        """
        return lift.op("stack", self, *others, dim=dim, **names)

    def std(
        self,
        axis: Axis = None,
        keepdim: bool = False,
        correction: float = 1,
        **names: Unpack[ByDimDimsAxesKeepdimsDdof],
    ) -> Tensor:
        """Standard deviation over axes, the root of `var`; its gradient at 0 is 0.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1
        correction: is subtracted from the count that is divided by

        std(f32[2, 3]) → f32[]
        std(f32[2, 3], 1) → f32[2]
        """
        return lift.op("std", self, axis, keepdim, correction, **names)

    def std_mean(
        self,
        axis: Axis = None,
        keepdim: bool = False,
        correction: float = 1,
        **names: Unpack[ByDimDimsAxesKeepdimsDdof],
    ) -> tuple[Tensor, Tensor]:
        """`std` and `mean` over axes, as a pair.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1
        correction: is subtracted from the count that is divided by

        std_mean(f32[2, 3]) → f32[], f32[]
        std_mean(f32[2, 3], 1) → f32[2], f32[2]
        """
        return lift.op("std_mean", self, axis, keepdim, correction, **names)

    def sub(self, other: Operand) -> Tensor:
        """Difference `x - y`."""
        return lift.two("sub", self, other)

    def sum(
        self,
        axis: Axis = None,
        keepdim: bool = False,
        dtype: DTypeLike | None = None,
        **names: Unpack[ByDimDimsAxesKeepdims],
    ) -> Tensor:
        """Sum over axes, in `dtype` if given; else integers are summed in 64 bits.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1

        sum(f32[2, 3]) → f32[]
        sum(f32[2, 3], 1) → f32[2]
        """
        return lift.op("sum", self, axis, keepdim, dtype, **names)

    def svd(self, full_matrices: bool = True) -> tuple[Tensor, Tensor, Tensor]:
        """Singular values S, falling, with the vectors U and Vᵀ: `(u * s) @ vt = x`.

        With full_matrices U and Vᵀ are square; of a matrix that is not, these have no derivative.

        svd(f32[3, 3]) → f32[3, 3], f32[3], f32[3, 3]
        svd(f32[4, 2], False) → f32[4, 2], f32[2], f32[2, 2]
        """
        return lift.op("svd", self, full_matrices)

    def svd_full(self) -> tuple[Tensor, Tensor]:
        """All left and all right singular vectors, as columns and as rows."""
        return lift.op("svd_full", self)

    def svd_reduced(self) -> tuple[Tensor, Tensor, Tensor]:
        """U, S and Vᵀ with `(u * s) @ vt = x`: as many vectors as the shorter side is long."""
        return lift.op("svd_reduced", self)

    def svdvals(self) -> Tensor:
        """Singular values, falling."""
        return lift.one("svdvals", self)

    def swapaxes(self, axis0: int, axis1: int, **names: Unpack[ByDim0Dim1]) -> Tensor:
        """Two axes exchanged.

        swapaxes(f32[2, 3, 4], 0, 2) → f32[4, 3, 2]
        swapaxes(f32[2, 3], -1, 0) → f32[3, 2]
        """
        return lift.view("swapaxes", self, axis0, axis1, **names)

    def swapdims(self, axis0: int, axis1: int, **names: Unpack[ByDim0Dim1]) -> Tensor:
        """Two axes exchanged.

        swapaxes(f32[2, 3, 4], 0, 2) → f32[4, 3, 2]
        swapaxes(f32[2, 3], -1, 0) → f32[3, 2]
        """
        return lift.view("swapaxes", self, axis0, axis1, **names)

    def swish(self) -> Tensor:
        """`x * sigmoid(x)`; 0 at -inf."""
        return lift.one("silu", self)

    def take(self, index: Operand) -> Tensor:
        """Elements of the flattened tensor, in the shape of the index."""
        return lift.two("take", self, index)

    def take_along_dim(
        self,
        indices: Operand,
        dim: int | None = None,
        **names: Unpack[ByAxisOrNone],
    ) -> Tensor:
        """Elements at `indices` along `dim`, the other axes broadcast; without `dim`, of the flat
        x.

        take_along_dim(f32[4, 3], i32[2, 3], 0) → f32[2, 3]
        take_along_dim(f32[4, 3], i32[4, 2], -1) → f32[4, 2]
        """
        return lift.op("take_along_dim", self, indices, dim, **names)

    def tan(self) -> Tensor:
        """Tangent."""
        return lift.one("tan", self)

    def tanh(self) -> Tensor:
        """Hyperbolic tangent."""
        return lift.one("tanh", self)

    def tanhshrink(self) -> Tensor:
        """`x - tanh(x)`."""
        return lift.one("tanhshrink", self)

    def tensor_split(
        self,
        indices_or_sections: int | Sequence[int],
        dim: int = 0,
        **names: Unpack[ByAxis],
    ) -> tuple[Tensor, ...]:
        """A number of parts whose sizes differ by at most one, or parts split at the listed
        indices.

        dim: the axis, counted from the end if it is negative

        tensor_split(f32[7], 3) → f32[3], f32[2], f32[2]
        tensor_split(f32[2, 7], [2, 5], 1) → f32[2, 2], f32[2, 3], f32[2, 2]
        """
        return lift.view("tensor_split", self, indices_or_sections, dim, **names)

    def tensordot(
        self,
        other: Operand,
        dims: int | Sequence[int] | Sequence[Sequence[int]] = 2,
        **names: Unpack[ByAxesOfTensordot],
    ) -> Tensor:
        """The sum of products over axes: the last `dims` of x and the first of other, or two lists.

        tensordot(f32[2, 3, 4], f32[3, 4, 2]) → f32[2, 2]
        tensordot(f32[2, 3], f32[3, 2], 1) → f32[2, 2]
        """
        return lift.op("tensordot", self, other, dims, **names)

    def threefry(self, other: Operand) -> Tensor:
        """Threefry-2x32-20 of 64-bit counters under 64-bit keys."""
        return lift.two("threefry", self, other)

    def threshold(self, threshold: float, value: float) -> Tensor:
        """x where it is above `threshold`, else `value`.

        threshold(f32[2, 3], 0.5, -2.0) → f32[2, 3]
        threshold(f32[], 0.1, 1.5) → f32[]
        """
        return lift.op("threshold", self, threshold, value)

    def tile(self, *counts: Sizes, **names: Unpack[ByDims]) -> Tensor:
        """As `repeat`, with counts for the last axes only if there are fewer than axes.

        tile(f32[2, 3], 2) → f32[2, 6]
        tile(f32[2, 3], (2, 1, 2)) → f32[2, 2, 6]
        """
        return lift.op("tile", self, *counts, **names)

    def topk(
        self,
        k: int,
        dim: int = -1,
        largest: bool = True,
        sorted_: bool = True,
        **names: Unpack[ByAxis],
    ) -> Picked[Tensor]:
        """The k largest (or smallest) values along `dim` in order, and their indices.

        Ties come in the order of their indices; NaN counts as the largest. The result is sorted
        whatever `sorted_` says.

        topk(f32[2, 5], 2) → f32[2, 2], i64[2, 2]
        topk(f32[5, 2], 3, 0, False) → f32[3, 2], i64[3, 2]
        """
        return lift.op("topk", self, k, dim, largest, sorted_, **names)

    def trace(
        self,
        offset: int = 0,
        dim1: int = 0,
        dim2: int = 1,
        **names: Unpack[ByAxis1Axis2],
    ) -> Tensor:
        """The sum of a diagonal of the matrices in two axes.

        trace(f32[3, 3]) → f32[]
        trace(f32[2, 3], 1) → f32[]
        """
        return lift.op("trace", self, offset, dim1, dim2, **names)

    def transpose(self, dim0: int = 1, dim1: int = 0, **names: Unpack[ByAxis0Axis1]) -> Tensor:
        """Two axes exchanged, by default the first two.

        transpose(f32[2, 3]) → f32[3, 2]
        transpose(f32[2, 3, 4], 0, 2) → f32[4, 3, 2]
        """
        return lift.view("transpose", self, dim0, dim1, **names)

    def trapezoid(
        self,
        x: Operand | None = None,
        dx: float = 1.0,
        dim: int = -1,
        **names: Unpack[ByAxis],
    ) -> Tensor:
        """The integral of y along `dim` by the trapezoidal rule, at the points x or at steps of dx.

        trapezoid(f32[2, 5]) → f32[2]
        trapezoid(f32[2, 5], None, 0.5) → f32[2]
        """
        return lift.op("trapezoid", self, x, dx, dim, **names)

    def tril(self, diagonal: int = 0) -> Tensor:
        """The lower triangle of the matrices in the last two axes, zero above the diagonal.

        tril(f32[3, 3]) → f32[3, 3]
        tril(f32[3, 4], 1) → f32[3, 4]
        """
        return lift.op("tril", self, diagonal)

    def triplet_margin_loss(
        self,
        positive: Operand,
        negative: Operand,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-06,
        swap: bool = False,
        reduction: str = "mean",
    ) -> Tensor:
        """max(0, |x - positive| - |x - negative| + margin) with p-norms along the last axis.

        `swap` takes the smaller of the negative's distances from x and from the positive.

        reduction: "mean", "sum" or "none"

        triplet_margin_loss(f32[2, 3], f32[2, 3], f32[2, 3]) → f32[]
        triplet_margin_loss(f32[2, 3], f32[2, 3], f32[2, 3], 4.0, 1.0) → f32[]
        """
        return lift.op(
            "triplet_margin_loss", self, positive, negative, margin, p, eps, swap, reduction
        )

    def triu(self, diagonal: int = 0) -> Tensor:
        """The upper triangle of the matrices in the last two axes, zero below the diagonal.

        triu(f32[3, 3]) → f32[3, 3]
        triu(f32[3, 4], 1) → f32[3, 4]
        """
        return lift.op("triu", self, diagonal)

    def true_div(self, other: Operand) -> Tensor:
        """Quotient `x / y`; integers are divided as floats."""
        return lift.two("true_div", self, other)

    def trunc(self) -> Tensor:
        """x without its fraction."""
        return lift.one("trunc", self)

    def type_as(self, other: Operand) -> Tensor:
        """The values in the dtype of another tensor."""
        return lift.two("type_as", self, other)

    def unbind(self, dim: int = 0, **names: Unpack[ByAxis]) -> tuple[Tensor, ...]:
        """Every slice along `dim`, without that axis.

        unbind(f32[3, 2]) → f32[2], f32[2], f32[2]
        unbind(f32[3, 2], -1) → f32[3], f32[3]
        """
        return lift.view("unbind", self, dim, **names)

    def unflatten(self, dim: int, sizes: Sequence[int], **names: Unpack[ByAxis]) -> Tensor:
        """The axis `dim` divided into axes of these sizes, one of which may be -1.

        unflatten(f32[3, 4], 1, (2, 2)) → f32[3, 2, 2]
        unflatten(f32[3, 4], 1, (-1, 2)) → f32[3, 2, 2]
        """
        return lift.view("unflatten", self, dim, sizes, **names)

    def unfold(self, dim: int, size: int, step: int, **names: Unpack[ByAxis]) -> Tensor:
        """Windows of `size` elements every `step` along `dim`; a new last axis runs inside a
        window.

        unfold(f32[7], 0, 3, 2) → f32[3, 3]
        unfold(f32[4, 3], 0, 2, 1) → f32[3, 3, 2]
        """
        return lift.view("unfold", self, dim, size, step, **names)

    def unique_identity(self) -> Tensor:
        """The same values as a node of their own: two parameters that start equal stay two."""
        return lift.one("unique_identity", self)

    def unsqueeze(self, dim: int, **names: Unpack[ByAxis]) -> Tensor:
        """Adds an axis of size 1 at `dim`.

        unsqueeze(f32[2, 3], 0) → f32[1, 2, 3]
        unsqueeze(f32[2, 3], -1) → f32[2, 3, 1]
        """
        return lift.view("unsqueeze", self, dim, **names)

    def var(
        self,
        axis: Axis = None,
        keepdim: bool = False,
        correction: float = 1,
        **names: Unpack[ByDimDimsAxesKeepdimsDdof],
    ) -> Tensor:
        """Variance over axes: squared distances from the mean, summed and divided by n -
        correction.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1

        var(f32[2, 3]) → f32[]
        var(f32[2, 3], 1) → f32[2]
        """
        return lift.op("var", self, axis, keepdim, correction, **names)

    def var_mean(
        self,
        axis: Axis = None,
        keepdim: bool = False,
        correction: float = 1,
        **names: Unpack[ByDimDimsAxesKeepdimsDdof],
    ) -> tuple[Tensor, Tensor]:
        """`var` and `mean` over axes, as a pair.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1
        correction: is subtracted from the count that is divided by

        var_mean(f32[2, 3]) → f32[], f32[]
        var_mean(f32[2, 3], 1) → f32[2], f32[2]
        """
        return lift.op("var_mean", self, axis, keepdim, correction, **names)

    def vdot(self, other: Operand) -> Tensor:
        """The scalar product of two vectors; the first is conjugated."""
        return lift.two("vdot", self, other)

    def vecdot(self, other: Operand, dim: int = -1, **names: Unpack[ByAxis]) -> Tensor:
        """The scalar products of vectors along an axis; the first operand is conjugated.

        dim: the axis, counted from the end if it is negative

        vecdot(f32[2, 3], f32[2, 3]) → f32[2]
        vecdot(f32[3, 2], f32[3, 1], 0) → f32[2]
        """
        return lift.op("vecdot", self, other, dim, **names)

    def vector_norm(
        self,
        ord: float = 2,
        axis: Axis = None,
        keepdim: bool = False,
        **names: Unpack[ByDimDimsAxesKeepdims],
    ) -> Tensor:
        """`(Σ |x| ** ord) ** (1 / ord)` over axes; inf, -inf and 0 are the max, the min and a
        count.

        axis: the axis or axes, counted from the end if negative; None means all
        keepdim: whether the reduced axes stay, with size 1

        vector_norm(f32[2, 3], 2, 1) → f32[2]
        vector_norm(f32[2, 3], 1, 1) → f32[2]
        """
        return lift.op("vector_norm", self, ord, axis, keepdim, **names)

    def view(self, *sizes: Extents, **names: Unpack[ByShape]) -> Tensor:
        """The same elements in row-major order with another shape; one size may be -1.

        reshape(f32[2, 3], (3, 2)) → f32[3, 2]
        reshape(f32[2, 3], (-1,)) → f32[6]
        """
        return lift.view("reshape", self, *sizes, **names)

    def view_as(self, other: Operand) -> Tensor:
        """Reshaped to the shape of another tensor."""
        return lift.view("reshape_as", self, other)

    def vsplit(self, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
        """Equal parts, or parts split at listed indices, along axis 0 of a matrix or more.

        vsplit(f32[6, 2], 3) → f32[2, 2], f32[2, 2], f32[2, 2]
        vsplit(f32[5, 2, 2], [1, 3]) → f32[1, 2, 2], f32[2, 2, 2], f32[2, 2, 2]
        """
        return lift.op("vsplit", self, indices_or_sections)

    def vstack(self: Any, *others: Operand) -> Tensor:
        """Tensors joined along the first axis; a vector counts as one row."""
        return lift.op("vstack", self, *others)

    def where(self, x: Operand, other: Operand) -> Tensor:
        """`x` where the condition holds, else `other`: `cond.where(x, other)`."""
        return lift.op("where", self, x, other)

    def window(
        self,
        axis: Axes,
        size: Sizes,
        stride: Sizes = 1,
        dilation: Sizes = 1,
        **names: Unpack[ByDimDimsAxes],
    ) -> Tensor:
        """Sliding windows: the axes index the windows, new last axes the elements inside one.

        axis: the axis, counted from the end if it is negative
        stride: the distance between neighbouring windows, for all axes or for each
        dilation: the distance between neighbours inside a window, for all axes or for each

        window(f32[2, 7], (1,), 3) → f32[2, 5, 3]
        window(f32[6, 7], (0, 1), (2, 3), (2, 1), (1, 2)) → f32[3, 3, 2, 3]
        """
        return lift.op("window", self, axis, size, stride, dilation, **names)

    def xlogy(self, other: Operand) -> Tensor:
        """`x * log(other)`, 0 where x is 0 unless the other is NaN."""
        return lift.two("xlogy", self, other)
