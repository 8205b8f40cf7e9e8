"""The records as functions: `adjoint.softmax(x)`.

Written by `make docs` from the records: change those, or docs/build_methods.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from adjoint.ir.dtype import dtypes
from adjoint.runtime.device import Device
from adjoint.tensor.lift import checked_functions, lift
from adjoint.tensor.tensor import Tensor

if TYPE_CHECKING:
    from adjoint.ops.composite.sort_select import Picked
    from adjoint.tensor._methods import (
        ByAxesOfRot90,
        ByAxis,
        ByAxis0Axis1,
        ByAxis1Axis2,
        ByAxisDimsAxes,
        ByAxisDimsAxesKeepdims,
        ByAxisKeepdims,
        ByAxisKeepdimsOrNone,
        ByAxisOrNone,
        ByDdof,
        ByDim,
        ByDim0Dim1,
        ByDimDimsAxes,
        ByDimDimsAxesKeepdims,
        ByDimDimsAxesKeepdimsDdof,
        ByKeepdims,
        ByMinMax,
        ByOrderDimsAxes,
        ByShape,
    )
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

__all__ = [
    "absolute",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "addcdiv",
    "addcmul",
    "addmm",
    "adjugate",
    "allclose",
    "amax",
    "amin",
    "aminmax",
    "argpartition",
    "assign",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "attention",
    "avg_pool2d",
    "batchnorm",
    "binary_crossentropy",
    "binary_crossentropy_logits",
    "bincount_static",
    "bitcast",
    "bitwise_not",
    "bmm",
    "bucketize",
    "cast",
    "cat",
    "cdist",
    "celu",
    "checkpoint_name",
    "cholesky",
    "chunk",
    "clamp",
    "col2im",
    "column_stack",
    "complex",
    "contiguous",
    "contiguous_backward",
    "contract",
    "conv2d",
    "conv_transpose2d",
    "corrcoef",
    "cosine_similarity",
    "cov",
    "cross",
    "cross_entropy",
    "cummax",
    "cummin",
    "cumprod",
    "cumprod_cotangent",
    "cumprod_tangent",
    "cumsum",
    "deg2rad",
    "det",
    "detach",
    "dft",
    "diag",
    "diagonal",
    "digamma",
    "dist",
    "div",
    "dot",
    "dsplit",
    "dstack",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "einsum",
    "elu",
    "embedding",
    "eq",
    "erf",
    "erfinv",
    "exp2",
    "expand",
    "expand_as",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "fix",
    "flatten",
    "fliplr",
    "flipud",
    "float_power",
    "floordiv",
    "fmax",
    "fmin",
    "fmod",
    "fold",
    "frac",
    "gather",
    "gaussian_nll_loss",
    "ge",
    "gelu",
    "glu",
    "group_norm",
    "gt",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "heaviside",
    "hfft",
    "hinge_embedding_loss",
    "histc",
    "hsplit",
    "hstack",
    "huber_loss",
    "idiv",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "im2col",
    "index_add",
    "index_copy",
    "index_fill",
    "index_select",
    "inner",
    "instance_norm",
    "interpolate",
    "inv",
    "irdft",
    "irfft",
    "irfft2",
    "irfftn",
    "isclose",
    "kl_div",
    "kron",
    "kthvalue",
    "l1_loss",
    "layernorm",
    "ldexp",
    "le",
    "leaky_relu",
    "lerp",
    "lgamma",
    "linear",
    "log_softmax",
    "logcumsumexp",
    "logistic_loss",
    "logit",
    "logsigmoid",
    "logsumexp",
    "lshift",
    "lstsq",
    "lt",
    "margin_ranking_loss",
    "masked_fill",
    "masked_scatter",
    "matrix_power",
    "matrix_rank",
    "max_pool",
    "max_pool2d",
    "max_unpool2d",
    "mish",
    "mm",
    "mod",
    "mode",
    "movedim",
    "mse_loss",
    "msort",
    "mul",
    "mv",
    "nan_to_num",
    "nanmean",
    "nanmedian",
    "nansum",
    "narrow",
    "ne",
    "neg",
    "nll_loss",
    "norm",
    "normalize",
    "one_hot",
    "outer",
    "pad",
    "pad_constant",
    "pad_to",
    "pairwise_distance",
    "partition",
    "permute",
    "pinv",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "polygamma",
    "prelu",
    "qr",
    "quantile",
    "quick_gelu",
    "rad2deg",
    "random_bits",
    "random_normal",
    "random_uniform",
    "rdft",
    "rearrange",
    "reciprocal_or_zero",
    "reduce_prod",
    "reduce_sum",
    "relu",
    "relu6",
    "repeat_interleave",
    "reshape_as",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
    "rmsnorm",
    "rot90",
    "rshift",
    "rsqrt",
    "scan_max",
    "scan_min",
    "scan_prod",
    "scan_sum",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "selu",
    "shard",
    "shrink",
    "shrink_to",
    "sigmoid",
    "silu",
    "sinc",
    "slogdet",
    "smooth_l1_loss",
    "smooth_root",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "solve",
    "solve_triangular",
    "sparse_categorical_crossentropy",
    "split",
    "std_mean",
    "sub",
    "svd",
    "svd_full",
    "svd_reduced",
    "svdvals",
    "swapaxes",
    "swapdims",
    "swish",
    "take_along_dim",
    "tanhshrink",
    "tensor_split",
    "threefry",
    "threshold",
    "topk",
    "trace",
    "transpose",
    "trapezoid",
    "triplet_margin_loss",
    "true_div",
    "type_as",
    "unbind",
    "unflatten",
    "unfold",
    "unique_identity",
    "unsqueeze",
    "var_mean",
    "vdot",
    "vector_norm",
    "view",
    "view_as",
    "vsplit",
    "vstack",
    "window",
    "xlogy",
]


def absolute(x: Operand) -> Tensor:
    """Absolute value; the gradient at 0 is 0."""
    return lift.one("abs", x)


def adaptive_avg_pool1d(x: Operand, output_size: Extents) -> Tensor:
    """The mean of each of `output_size` parts of nearly equal size along the last axis; None keeps
    an axis.

    adaptive_avg_pool1d(f32[2, 5], (3,)) → f32[2, 3]
    adaptive_avg_pool1d(f32[1, 2, 5], 1) → f32[1, 2, 1]
    """
    return lift.op("adaptive_avg_pool1d", x, output_size)


def adaptive_avg_pool2d(x: Operand, output_size: Extents) -> Tensor:
    """The mean of each of `output_size` parts of nearly equal size along the last 2 axes; None
    keeps an axis.

    adaptive_avg_pool2d(f32[2, 5, 4], (3, 2)) → f32[2, 3, 2]
    adaptive_avg_pool2d(f32[1, 2, 5, 4], 1) → f32[1, 2, 1, 1]
    """
    return lift.op("adaptive_avg_pool2d", x, output_size)


def adaptive_avg_pool3d(x: Operand, output_size: Extents) -> Tensor:
    """The mean of each of `output_size` parts of nearly equal size along the last 3 axes; None
    keeps an axis.

    adaptive_avg_pool3d(f32[2, 5, 4, 3], (3, 2, 2)) → f32[2, 3, 2, 2]
    adaptive_avg_pool3d(f32[1, 2, 5, 4, 3], 1) → f32[1, 2, 1, 1, 1]
    """
    return lift.op("adaptive_avg_pool3d", x, output_size)


def adaptive_max_pool1d(x: Operand, output_size: Extents) -> Tensor:
    """The largest element of each of `output_size` parts of nearly equal size along the last axis;
    None keeps an axis.

    adaptive_max_pool1d(f32[2, 5], (3,)) → f32[2, 3]
    adaptive_max_pool1d(f32[1, 2, 5], 1) → f32[1, 2, 1]
    """
    return lift.op("adaptive_max_pool1d", x, output_size)


def adaptive_max_pool2d(x: Operand, output_size: Extents) -> Tensor:
    """The largest element of each of `output_size` parts of nearly equal size along the last 2
    axes; None keeps an axis.

    adaptive_max_pool2d(f32[2, 5, 4], (3, 2)) → f32[2, 3, 2]
    adaptive_max_pool2d(f32[1, 2, 5, 4], 1) → f32[1, 2, 1, 1]
    """
    return lift.op("adaptive_max_pool2d", x, output_size)


def adaptive_max_pool3d(x: Operand, output_size: Extents) -> Tensor:
    """The largest element of each of `output_size` parts of nearly equal size along the last 3
    axes; None keeps an axis.

    adaptive_max_pool3d(f32[2, 5, 4, 3], (3, 2, 2)) → f32[2, 3, 2, 2]
    adaptive_max_pool3d(f32[1, 2, 5, 4, 3], 1) → f32[1, 2, 1, 1, 1]
    """
    return lift.op("adaptive_max_pool3d", x, output_size)


def addcdiv(x: Operand, tensor1: Operand, tensor2: Operand, value: float = 1) -> Tensor:
    """`x + value * tensor1 / tensor2`.

    addcdiv(f32[2, 3], f32[3], f32[2, 1]) → f32[2, 3]
    addcdiv(f32[2, 3], f32[3], f32[], value=0.5) → f32[2, 3]
    """
    return lift.op("addcdiv", x, tensor1, tensor2, value)


def addcmul(x: Operand, tensor1: Operand, tensor2: Operand, value: float = 1) -> Tensor:
    """`x + value * tensor1 * tensor2`.

    addcmul(f32[2, 3], f32[3], f32[2, 1]) → f32[2, 3]
    addcmul(f32[2, 3], f32[3], f32[], value=0.5) → f32[2, 3]
    """
    return lift.op("addcmul", x, tensor1, tensor2, value)


def addmm(x: Operand, a: Operand, b: Operand, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * x + alpha * (a @ b)` for two matrices; x is broadcast to their product.

    addmm(f32[2, 4], f32[2, 3], f32[3, 4]) → f32[2, 4]
    addmm(f32[4], f32[2, 3], f32[3, 4], 0.5, 2.0) → f32[2, 4]
    """
    return lift.op("addmm", x, a, b, beta, alpha)


def adjugate(x: Operand) -> Tensor:
    """`det(x) * inv(x)`, which exists for a singular matrix too. Its derivative needs the
    inverse."""
    return lift.one("adjugate", x)


def allclose(
    x: Tensor, other: Operand, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether all elements are close: `|x - other| <= atol + rtol * |other|`.

    equal_nan: whether NaN equals NaN

    allclose(f32[2, 3], f32[2, 3]) → bool[]
    allclose(f32[2, 3], f32[3]) → bool[]
    """
    return Tensor.allclose(x, other, rtol, atol, equal_nan)


def amax(
    x: Operand,
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
    return lift.op("max", x, axis, keepdim, **names)


def amin(
    x: Operand,
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
    return lift.op("min", x, axis, keepdim, **names)


def aminmax(
    x: Operand,
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
    return lift.op("aminmax", x, axis, keepdim, **names)


def argpartition(
    x: Operand,
    kth: int | Sequence[int],
    dim: int = -1,
    **names: Unpack[ByAxis],
) -> Tensor:
    """The indices that `partition` takes the values from.

    dim: the axis, counted from the end if it is negative

    argpartition(f32[2, 5], 2) → i64[2, 5]
    argpartition(f32[2, 5], -1, 0) → i64[2, 5]
    """
    return lift.op("argpartition", x, kth, dim, **names)


def assign(x: Tensor, value: Operand) -> Tensor:
    """Give this tensor, and those it is a view of or that are views of it, a new value; what was
    computed from the old one keeps it."""
    return Tensor.assign(x, value)


def atleast_1d(x: Operand) -> Tensor:
    """A scalar becomes a vector of one element; other tensors stay as they are."""
    return lift.view("atleast_1d", x)


def atleast_2d(x: Operand) -> Tensor:
    """A scalar or a vector becomes a matrix of one row; other tensors stay as they are."""
    return lift.view("atleast_2d", x)


def atleast_3d(x: Operand) -> Tensor:
    """A vector becomes (1, n, 1), a matrix (m, n, 1); other tensors stay as they are."""
    return lift.view("atleast_3d", x)


def attention(
    q: Operand,
    key: Operand,
    value: Operand,
    mask: Operand | None = None,
    is_causal: bool = False,
    enable_gqa: bool = False,
) -> Tensor:
    """Scaled dot-product attention: softmax(q keyᵀ / √E + mask) value.

    A bool mask keeps where it is true, a float mask is added; a row with nothing kept gives zeros.
    `is_causal` keeps keys up to the query's position. `enable_gqa` lets a head of key and value
    serve several of q. Scores are kept in float32 or wider.

    attention(f32[1, 2, 3, 2], f32[1, 2, 4, 2], f32[1, 2, 4, 3]) → f32[1, 2, 3, 3]
    attention(f32[3, 2], f32[4, 2], f32[4, 3]) → f32[3, 3]
    """
    return lift.op("attention", q, key, value, mask, is_causal, enable_gqa)


def avg_pool2d(
    x: Operand,
    kernel_size: Sizes = (2, 2),
    stride: Sizes | None = None,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window; `stride` defaults to the kernel.

    `ceil_mode` keeps a last, partial window; without `count_include_pad` only real elements count.

    kernel_size: the size of the window, for all axes or for each
    dilation: the distance between neighbours inside a window, for all axes or for each
    padding: what is added around each axis: for all, for each, or before and after each

    avg_pool2d(f32[1, 2, 5, 4]) → f32[1, 2, 2, 2]
    avg_pool2d(f32[1, 2, 5, 4], 2) → f32[1, 2, 2, 2]
    """
    return lift.op(
        "avg_pool2d", x, kernel_size, stride, dilation, padding, ceil_mode, count_include_pad
    )


def batchnorm(
    x: Operand,
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
    return lift.op("batchnorm", x, weight, bias, mean, invstd, axis, **names)


def binary_crossentropy(x: Operand, Y: Operand, reduction: str = "mean") -> Tensor:
    """-(Y log x + (1 - Y) log(1 - x)) for probabilities x; logarithms are cut off at -100.

    reduction: "mean", "sum" or "none"

    binary_crossentropy(f32[2, 3], f32[2, 3]) → f32[]
    binary_crossentropy(f32[2, 3], f32[2, 3], reduction="sum") → f32[]
    """
    return lift.op("binary_crossentropy", x, Y, reduction)


def binary_crossentropy_logits(
    x: Operand, Y: Operand, reduction: str = "mean", pos_weight: Operand | None = None
) -> Tensor:
    """Binary cross-entropy between logits x and targets Y; `pos_weight` multiplies positives.

    reduction: "mean", "sum" or "none"

    binary_crossentropy_logits(f32[2, 3], f32[2, 3]) → f32[]
    binary_crossentropy_logits(f32[2, 3], f32[2, 3], reduction="sum") → f32[]
    """
    return lift.op("binary_crossentropy_logits", x, Y, reduction, pos_weight)


def bincount_static(x: Operand, length: int, weights: Operand | None = None) -> Tensor:
    """How often each of 0 … length - 1 occurs in an integer vector, or the sum of its weights.

    bincount_static(u64[6], 5) → i64[5]
    bincount_static(i32[6], 7, f32[6]) → f32[7]
    """
    return lift.op("bincount_static", x, length, weights)


def bitcast(x: Operand, dtype: DTypeLike) -> Tensor:
    """The same bytes read as another dtype; a different width changes the last axis.

    bitcast(i32[2, 4], "uint8") → u8[2, 16]
    bitcast(i32[2, 8], "float64") → f64[2, 4]
    """
    return lift.view("bitcast", x, dtype)


def bitwise_not(x: Operand) -> Tensor:
    """Bits inverted; for bool, logical not."""
    return lift.one("bitwise_not", x)


def bmm(x: Operand, other: Operand) -> Tensor:
    """The products of two batches of matrices, one by one."""
    return lift.two("bmm", x, other)


def bucketize(x: Operand, boundaries: Operand, right: bool = False) -> Tensor:
    """The index of the interval between boundaries that contains each element.

    Intervals include their upper boundary, or with `right` their lower one.

    bucketize(f32[2, 3], f32[7], False) → i64[2, 3]
    bucketize(f32[2, 3], f32[7], True) → i64[2, 3]
    """
    return lift.op("bucketize", x, boundaries, right)


def cast(x: Operand, dtype: DTypeLike) -> Tensor:
    """The same values as another dtype. A float saturates into an integer, NaN becomes 0; integers
    wrap. A complex number is no real one: take its parts.

    cast(f32[2, 3], "float64") → f64[2, 3]
    cast(f32[2, 3], "float32") → f32[2, 3]
    """
    return lift.op("cast", x, dtype)


def cat(
    x: Operand | Sequence[Operand],
    *others: Operand,
    dim: int = 0,
    **names: Unpack[ByAxis],
) -> Tensor:
    """Tensors joined along an axis: `x.cat(y, z, dim=0)` or `cat([x, y, z], 0)`.

    cat(f32[2, 3], f32[1, 3]) → f32[3, 3]
    cat(f32[2, 3], f32[2, 1], f32[2, 0], dim=-1) → f32[2, 4]
    """
    return lift.op("cat", x, *others, dim=dim, **names)


def cdist(x: Operand, other: Operand, p: float = 2.0) -> Tensor:
    """Distances in the p-norm between all rows of x and all rows of other.

    The gradient of a distance that is 0 is 0.

    cdist(f32[2, 3], f32[4, 3]) → f32[2, 4]
    cdist(f32[2, 2, 3], f32[4, 3], 1.0) → f32[2, 2, 4]
    """
    return lift.op("cdist", x, other, p)


def celu(x: Operand, alpha: float = 1.0) -> Tensor:
    """x where it is positive, else `alpha * (exp(x / alpha) - 1)`.

    celu(f32[2, 3]) → f32[2, 3]
    celu(f32[]) → f32[]
    """
    return lift.op("celu", x, alpha)


def checkpoint_name(x: Operand, name: str) -> Tensor:
    """The same values with a name, by which a policy of `checkpoint` can save them.

    checkpoint_name(f32[2, 3], "hidden") → f32[2, 3]
    checkpoint_name(f32[], "scale") → f32[]
    """
    return lift.op("checkpoint_name", x, name)


def cholesky(x: Operand, upper: bool = False) -> Tensor:
    """The lower triangular L with `L @ L.mH` equal to the symmetric (Hermitian) part of a positive
    definite matrix, or with upper=True its adjoint.

    cholesky(f32[3, 3]) → f32[3, 3]
    cholesky(f32[2, 3, 3], True) → f32[2, 3, 3]
    """
    return lift.op("cholesky", x, upper)


def chunk(x: Operand, chunks: int, dim: int = 0, **names: Unpack[ByAxis]) -> list[Tensor]:
    """At most `chunks` parts of equal size along `dim`; the last may be smaller.

    chunk(f32[11], 6) → f32[2], f32[2], f32[2], f32[2], f32[2], f32[1]
    chunk(f32[2, 6], 3, 1) → f32[2, 2], f32[2, 2], f32[2, 2]
    """
    return lift.view("chunk", x, chunks, dim, **names)


def clamp(
    x: Operand,
    min_: Operand | None = None,
    max_: Operand | None = None,
    **names: Unpack[ByMinMax],
) -> Tensor:
    """x limited to [min_, max_]; NaN stays NaN, and at a bound the gradient goes to x.

    clamp(f32[2, 3], -1.03, 1.02) → f32[2, 3]
    clamp(f32[2, 3], None, 0.51) → f32[2, 3]
    """
    return lift.op("clamp", x, min_, max_, **names)


def col2im(
    x: Operand,
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
    return lift.op("col2im", x, output_size, kernel_size, dilation, padding, stride)


def column_stack(x: Operand | Sequence[Operand], *others: Operand) -> Tensor:
    """Tensors joined along the second axis; a vector counts as one column."""
    return lift.op("column_stack", x, *others)


def complex(x: Operand, other: Operand) -> Tensor:
    """The complex number with these two parts: `re.complex(im)`."""
    return lift.two("complex", x, other)


def contiguous(x: Operand) -> Tensor:
    """The same values in a buffer of their own."""
    return lift.one("contiguous", x)


def contiguous_backward(x: Operand) -> Tensor:
    """The same values; the gradient gets a buffer of its own."""
    return lift.one("contiguous_backward", x)


def contract(a: Operand, b: Operand, spec: str) -> Tensor:
    """Sum of products over named axes: `a.contract(b, 'mk,kn->mn')`.

    contract(f32[2, 3], f32[3, 4], "mk,kn->mn") → f32[2, 4]
    contract(f32[5, 2, 3], f32[5, 3, 4], "bmk,bkn->bnm") → f32[5, 4, 2]
    """
    return lift.op("contract", a, b, spec)


def conv2d(
    x: Operand,
    weight: Operand,
    bias: Operand | None = None,
    groups: int = 1,
    stride: Sizes = 1,
    dilation: Sizes = 1,
    padding: Padding | str = 0,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Convolution of (N, C, *spatial) with (O, C / groups, *kernel), in 1 to 6 spatial dimensions.

    `padding` is an int, one per axis, (before, after) per axis from the last, "same" or "valid";
    negative amounts crop. `dtype` is what the operands are cast to first.

    bias: one value per output channel or feature, added to the result
    stride: the distance between neighbouring windows, for all axes or for each
    dilation: the distance between neighbours inside a window, for all axes or for each

    conv2d(f32[1, 2, 4, 5], f32[3, 2, 2, 3]) → f32[1, 3, 3, 3]
    conv2d(f32[1, 2, 4, 5], f32[3, 2, 2, 3], f32[3]) → f32[1, 3, 3, 3]
    """
    return lift.op("conv2d", x, weight, bias, groups, stride, dilation, padding, dtype)


def conv_transpose2d(
    x: Operand,
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
        "conv_transpose2d", x, weight, bias, groups, stride, dilation, padding, output_padding
    )


def corrcoef(x: Operand) -> Tensor:
    """Correlations of the rows of a matrix, in [-1, 1]."""
    return lift.one("corrcoef", x)


def cosine_similarity(
    x: Operand,
    other: Operand,
    dim: int = 1,
    eps: float = 1e-08,
    **names: Unpack[ByAxis],
) -> Tensor:
    """x·y / (max(|x|, eps) max(|y|, eps)) along `dim`.

    cosine_similarity(f32[2, 3], f32[2, 3]) → f32[2]
    cosine_similarity(f32[2, 3], f32[3]) → f32[2]
    """
    return lift.op("cosine_similarity", x, other, dim, eps, **names)


def cov(x: Operand, correction: float = 1, **names: Unpack[ByDdof]) -> Tensor:
    """Covariances of the rows of a matrix; of a vector, its variance.

    correction: is subtracted from the count that is divided by

    cov(f32[3, 5]) → f32[3, 3]
    cov(f32[3, 5], 0) → f32[3, 3]
    """
    return lift.op("cov", x, correction, **names)


def cross(x: Operand, other: Operand, dim: int = -1, **names: Unpack[ByAxis]) -> Tensor:
    """The vector product along an axis of size 3.

    dim: the axis, counted from the end if it is negative

    cross(f32[3], f32[3]) → f32[3]
    cross(f32[2, 3], f32[2, 3]) → f32[2, 3]
    """
    return lift.op("cross", x, other, dim, **names)


def cross_entropy(
    x: Operand, Y: Operand, reduction: str = "mean", label_smoothing: float = 0.0
) -> Tensor:
    """Cross-entropy of logits x, classes on axis 1 (0 for a vector).

    Y holds class indices, in x's shape without the class axis, or probabilities, in x's shape.

    reduction: "mean", "sum" or "none"

    cross_entropy(f32[4, 3], i32[4]) → f32[]
    cross_entropy(f32[4, 3], i32[4], "sum") → f32[]
    """
    return lift.op("cross_entropy", x, Y, reduction, label_smoothing)


def cummax(x: Operand, axis: int = 0, **names: Unpack[ByDim]) -> tuple[Tensor, Tensor]:
    """The running maximum along an axis, and the index that first reached it.

    cummax(f32[2, 3], 1) → f32[2, 3], i64[2, 3]
    cummax(f32[2, 3], 0) → f32[2, 3], i64[2, 3]
    """
    return lift.op("cummax", x, axis, **names)


def cummin(x: Operand, axis: int = 0, **names: Unpack[ByDim]) -> tuple[Tensor, Tensor]:
    """The running minimum along an axis, and the index that first reached it.

    cummin(f32[2, 3], 1) → f32[2, 3], i64[2, 3]
    cummin(f32[2, 3], 0) → f32[2, 3], i64[2, 3]
    """
    return lift.op("cummin", x, axis, **names)


def cumprod(
    x: Operand,
    axis: int,
    dtype: DTypeLike | None = None,
    **names: Unpack[ByDim],
) -> Tensor:
    """Running product along an axis, in `dtype` if given; else integers have 64 bits.

    cumprod(f32[2, 3], 1) → f32[2, 3]
    cumprod(f32[2, 3], 0) → f32[2, 3]
    """
    return lift.op("cumprod", x, axis, dtype, **names)


def cumprod_cotangent(x: Operand, g: Operand, axis: int = 0, **names: Unpack[ByDim]) -> Tensor:
    """The gradient of ⟨g, x.cumprod(axis)⟩, right where x has zeros.

    cumprod_cotangent(f32[2, 3], f32[2, 3], 1) → f32[2, 3]
    cumprod_cotangent(f32[4], f32[4], 0) → f32[4]
    """
    return lift.op("cumprod_cotangent", x, g, axis, **names)


def cumprod_tangent(x: Operand, t: Operand, axis: int = 0, **names: Unpack[ByDim]) -> Tensor:
    """The change of `x.cumprod(axis)` along t, right where x has zeros.

    cumprod_tangent(f32[2, 3], f32[2, 3], 1) → f32[2, 3]
    cumprod_tangent(f32[4], f32[4], 0) → f32[4]
    """
    return lift.op("cumprod_tangent", x, t, axis, **names)


def cumsum(
    x: Operand,
    axis: int = 0,
    dtype: DTypeLike | None = None,
    **names: Unpack[ByDim],
) -> Tensor:
    """Running sum along an axis, in `dtype` if given; else integers are summed in 64 bits.

    cumsum(f32[2, 3], 1) → f32[2, 3]
    cumsum(f32[2, 3], 0) → f32[2, 3]
    """
    return lift.op("cumsum", x, axis, dtype, **names)


def deg2rad(x: Operand) -> Tensor:
    """Degrees as radians."""
    return lift.one("deg2rad", x)


def det(x: Operand) -> Tensor:
    """The determinant of a square matrix; its gradient is right for a singular one too."""
    return lift.one("det", x)


def detach(x: Operand) -> Tensor:
    """The same values; stops gradients."""
    return lift.view("detach", x)


def dft(
    x: Operand,
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
    return lift.op("dft", x, axis, inverse, norm, **names)


def diag(x: Operand, diagonal: int = 0) -> Tensor:
    """The matrix with this vector as its diagonal, zero elsewhere; of a matrix, its diagonal.

    diag(f32[3]) → f32[3, 3]
    diag(f32[2], 2) → f32[4, 4]
    """
    return lift.op("diag", x, diagonal)


def diagonal(
    x: Operand,
    offset: int = 0,
    dim1: int = 0,
    dim2: int = 1,
    **names: Unpack[ByAxis1Axis2],
) -> Tensor:
    """The diagonal of the matrices in two axes, as a new last axis; a positive offset is above.

    diagonal(f32[3, 3]) → f32[3]
    diagonal(f32[3, 4], 1) → f32[3]
    """
    return lift.view("diagonal", x, offset, dim1, dim2, **names)


def digamma(x: Operand) -> Tensor:
    """The derivative of lgamma: `polygamma(0)`."""
    return lift.one("digamma", x)


def dist(x: Operand, other: Operand, p: float = 2) -> Tensor:
    """The norm of order p of `x - other`.

    dist(f32[2, 3], f32[3]) → f32[]
    dist(f32[4], 0.5, 1) → f32[]
    """
    return lift.op("dist", x, other, p)


def div(x: Operand, other: Operand, rounding_mode: str | None = None) -> Tensor:
    """Quotient `x / y`, rounded as `rounding_mode` says: None, "floor" or "trunc".

    div(f32[2, 3], f32[3]) → f32[2, 3]
    div(f32[2, 3], f32[3], rounding_mode="floor") → f32[2, 3]
    """
    return lift.op("div", x, other, rounding_mode)


def dot(x: Operand, w: Operand, dtype: DTypeLike | None = None) -> Tensor:
    """The matrix product, as matmul; with `dtype`, computed at least in it and returned in it.

    dot(f32[2, 3], f32[3, 4]) → f32[2, 4]
    dot(f32[3], f32[3]) → f32[]
    """
    return lift.op("dot", x, w, dtype)


def dsplit(x: Operand, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Equal parts, or parts split at listed indices, along axis 2.

    dsplit(f32[2, 1, 6], 3) → f32[2, 1, 2], f32[2, 1, 2], f32[2, 1, 2]
    dsplit(f32[2, 2, 5], [1, 3]) → f32[2, 2, 1], f32[2, 2, 2], f32[2, 2, 2]
    """
    return lift.op("dsplit", x, indices_or_sections)


def dstack(x: Operand | Sequence[Operand], *others: Operand) -> Tensor:
    """Tensors joined along the third axis."""
    return lift.op("dstack", x, *others)


def eig(x: Operand) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors, as columns, of a square matrix; complex, in LAPACK's order."""
    return lift.op("eig", x)


def eigh(x: Operand) -> tuple[Tensor, Tensor]:
    """Eigenvalues, rising, and eigenvectors, as columns, of the symmetric (Hermitian) part of a
    matrix. The values are real."""
    return lift.op("eigh", x)


def eigvals(x: Operand) -> Tensor:
    """Eigenvalues of a square matrix; complex, in LAPACK's order."""
    return lift.one("eigvals", x)


def eigvalsh(x: Operand) -> Tensor:
    """Eigenvalues, rising, of the symmetric part of a matrix."""
    return lift.one("eigvalsh", x)


def einsum(
    formula: str, *operands: Operand | Sequence[Operand], dtype: DTypeLike | None = None
) -> Tensor:
    """Sums of products by Einstein's convention: `Tensor.einsum("ij,jk->ik", a, b)`.

    einsum("ij,jk->ik", f32[2, 3], f32[3, 4]) → f32[2, 4]
    einsum("ij,jk", f32[2, 3], f32[3, 4]) → f32[2, 4]
    """
    return Tensor.einsum(formula, *operands, dtype=dtype)


def elu(x: Operand, alpha: float = 1.0) -> Tensor:
    """x where it is positive, else `alpha * (exp(x) - 1)`.

    elu(f32[2, 3]) → f32[2, 3]
    elu(f32[]) → f32[]
    """
    return lift.op("elu", x, alpha)


def embedding(weight: Operand, idx: Operand, padding_idx: int | None = None) -> Tensor:
    """The rows of `weight` at the indices `idx`; the row `padding_idx` gets no gradient.

    embedding(f32[5, 3], i32[2, 4]) → f32[2, 4, 3]
    embedding(f32[5, 3], i32[]) → f32[3]
    """
    return lift.op("embedding", weight, idx, padding_idx)


def eq(x: Operand, other: Operand) -> Tensor:
    """Whether `x == y`."""
    return lift.two("eq", x, other)


def erf(x: Operand) -> Tensor:
    """Error function."""
    return lift.one("erf", x)


def erfinv(x: Operand) -> Tensor:
    """Inverse of the error function on (-1, 1)."""
    return lift.one("erfinv", x)


def exp2(x: Operand) -> Tensor:
    """Power of two."""
    return lift.one("exp2", x)


def expand(x: Operand, *sizes: Extents, **names: Unpack[ByShape]) -> Tensor:
    """Repeats axes of size 1, and adds leading axes.

    expand(f32[2, 1], (2, 3)) → f32[2, 3]
    expand(f32[3], (2, 3)) → f32[2, 3]
    """
    return lift.view("expand", x, *sizes, **names)


def expand_as(x: Operand, other: Operand) -> Tensor:
    """Expanded to the shape of another tensor."""
    return lift.view("expand_as", x, other)


def fft2(
    x: Operand,
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
    return lift.op("fft2", x, s, dim, norm, **names)


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
    x: Operand,
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
    return lift.op("fftn", x, s, dim, norm, **names)


def fftshift(x: Operand, dim: Axis = None, **names: Unpack[ByAxisDimsAxes]) -> Tensor:
    """Frequency 0 moved to the middle of the axes, or of all.

    dim: the axis or axes, counted from the end if negative; None means all

    fftshift(f32[2, 5]) → f32[2, 5]
    fftshift(f32[2, 5], 1) → f32[2, 5]
    """
    return lift.op("fftshift", x, dim, **names)


def fix(x: Operand) -> Tensor:
    """x without its fraction."""
    return lift.one("trunc", x)


def flatten(x: Operand, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merges the axes from `start_dim` to `end_dim`, inclusive; a scalar becomes a vector.

    flatten(f32[2, 3, 2]) → f32[12]
    flatten(f32[2, 3, 2], 1) → f32[2, 6]
    """
    return lift.view("flatten", x, start_dim, end_dim)


def fliplr(x: Operand) -> Tensor:
    """Reversed along the second axis."""
    return lift.view("fliplr", x)


def flipud(x: Operand) -> Tensor:
    """Reversed along the first axis."""
    return lift.view("flipud", x)


def float_power(x: Operand, other: Operand) -> Tensor:
    """`x ** other` in float64."""
    return lift.two("float_power", x, other)


def floordiv(x: Operand, other: Operand) -> Tensor:
    """Quotient rounded down, `x // y`. An integer divided by zero gives 0."""
    return lift.two("floordiv", x, other)


def fmax(x: Operand, other: Operand) -> Tensor:
    """The larger of two elements; where one is NaN the other, which gets the gradient."""
    return lift.two("fmax", x, other)


def fmin(x: Operand, other: Operand) -> Tensor:
    """The smaller of two elements; where one is NaN the other, which gets the gradient."""
    return lift.two("fmin", x, other)


def fmod(x: Operand, other: Operand) -> Tensor:
    """Remainder with the sign of the dividend. An integer modulo zero gives 0."""
    return lift.two("fmod", x, other)


def fold(
    x: Operand,
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
    return lift.op("fold", x, shape, axis, size, stride, dilation, **names)


def frac(x: Operand) -> Tensor:
    """The fraction of x, with its sign."""
    return lift.one("frac", x)


def gather(x: Operand, dim: int, index: Operand, **names: Unpack[ByAxis]) -> Tensor:
    """Elements of x at `index` along `dim`: `x.gather(dim, index)`.

    gather(f32[4, 3], 0, i32[2, 3]) → f32[2, 3]
    gather(f32[4, 3], 1, i32[2, 2]) → f32[2, 2]
    """
    return lift.op("gather", x, dim, index, **names)


def gaussian_nll_loss(
    x: Operand,
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
    return lift.op("gaussian_nll_loss", x, target, var, full, eps, reduction)


def ge(x: Operand, other: Operand) -> Tensor:
    """Whether `x >= y`."""
    return lift.two("ge", x, other)


def gelu(x: Operand, approximate: str = "tanh") -> Tensor:
    """`x * P(X <= x)` for a normal X: by tanh, or exactly with `approximate="none"`; 0 at -inf.

    gelu(f32[2, 3]) → f32[2, 3]
    gelu(f32[]) → f32[]
    """
    return lift.op("gelu", x, approximate)


def glu(x: Operand, dim: int = -1, **names: Unpack[ByAxis]) -> Tensor:
    """`a * sigmoid(b)` for the halves a and b of x along `dim`.

    glu(f32[2, 4]) → f32[2, 2]
    glu(f32[4, 3], 0) → f32[2, 3]
    """
    return lift.op("glu", x, dim, **names)


def group_norm(
    x: Operand,
    num_groups: int,
    weight: Operand | None = None,
    bias: Operand | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """(N, C, *) normalised within each of `num_groups` groups of channels, then weight and bias.

    group_norm(f32[2, 4, 3], 2) → f32[2, 4, 3]
    group_norm(f32[2, 4], 2, f32[4], f32[4]) → f32[2, 4]
    """
    return lift.op("group_norm", x, num_groups, weight, bias, eps)


def gt(x: Operand, other: Operand) -> Tensor:
    """Whether `x > y`."""
    return lift.two("gt", x, other)


def hardshrink(x: Operand, lambd: float = 0.5) -> Tensor:
    """x, or 0 where `|x| <= lambd`.

    hardshrink(f32[2, 3]) → f32[2, 3]
    hardshrink(f32[]) → f32[]
    """
    return lift.op("hardshrink", x, lambd)


def hardsigmoid(x: Operand, alpha: float = 0.16666666666666666, beta: float = 0.5) -> Tensor:
    """`alpha * x + beta` limited to [0, 1].

    hardsigmoid(f32[2, 3]) → f32[2, 3]
    hardsigmoid(f32[]) → f32[]
    """
    return lift.op("hardsigmoid", x, alpha, beta)


def hardswish(x: Operand) -> Tensor:
    """`x * hardsigmoid(x)`; 0 at -inf."""
    return lift.one("hardswish", x)


def hardtanh(x: Operand, min_val: float = -1, max_val: float = 1) -> Tensor:
    """x limited to [min_val, max_val].

    hardtanh(f32[2, 3]) → f32[2, 3]
    hardtanh(f32[]) → f32[]
    """
    return lift.op("hardtanh", x, min_val, max_val)


def heaviside(x: Operand, values: Operand) -> Tensor:
    """0 below zero, 1 above, `values` at zero; NaN stays."""
    return lift.two("heaviside", x, values)


def hfft(
    x: Operand,
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
    return lift.op("hfft", x, n, dim, norm, **names)


def hinge_embedding_loss(
    x: Operand, target: Operand, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """x where the target is 1, max(0, margin - x) where it is -1.

    reduction: "mean", "sum" or "none"

    hinge_embedding_loss(f32[2, 3], i32[3]) → f32[]
    hinge_embedding_loss(f32[2, 3], i32[3], 0.3, "none") → f32[2, 3]
    """
    return lift.op("hinge_embedding_loss", x, target, margin, reduction)


def histc(x: Operand, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements fall into each of `bins` equal bins of [min, max].

    With min equal to max the bins span the data. Elements outside and NaN are not counted.

    histc(f32[4, 5], 4) → f32[4]
    histc(f32[30], 5, -1.99, 1.52) → f32[5]
    """
    return lift.op("histc", x, bins, min, max)


def hsplit(x: Operand, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Equal parts, or parts split at listed indices, along axis 1 (of a vector, along axis 0).

    hsplit(f32[2, 6], 3) → f32[2, 2], f32[2, 2], f32[2, 2]
    hsplit(f32[6], 2) → f32[3], f32[3]
    """
    return lift.op("hsplit", x, indices_or_sections)


def hstack(x: Operand | Sequence[Operand], *others: Operand) -> Tensor:
    """Tensors joined along the second axis, vectors along their only one."""
    return lift.op("hstack", x, *others)


def huber_loss(x: Operand, target: Operand, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """½(x - target)² up to a distance of `delta`, from there on linear with that slope.

    reduction: "mean", "sum" or "none"

    huber_loss(f32[2, 3], f32[2, 3]) → f32[]
    huber_loss(f32[2, 3], f32[2, 3], reduction="sum") → f32[]
    """
    return lift.op("huber_loss", x, target, reduction, delta)


def idiv(x: Operand, other: Operand) -> Tensor:
    """Quotient rounded towards zero. An integer divided by zero gives 0."""
    return lift.two("idiv", x, other)


def ifft(
    x: Operand,
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
    return lift.op("ifft", x, n, dim, norm, **names)


def ifft2(
    x: Operand,
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
    return lift.op("ifft2", x, s, dim, norm, **names)


def ifftn(
    x: Operand,
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
    return lift.op("ifftn", x, s, dim, norm, **names)


def ifftshift(x: Operand, dim: Axis = None, **names: Unpack[ByAxisDimsAxes]) -> Tensor:
    """The inverse of `fftshift`.

    dim: the axis or axes, counted from the end if negative; None means all

    ifftshift(f32[2, 5]) → f32[2, 5]
    ifftshift(f32[2, 5], 1) → f32[2, 5]
    """
    return lift.op("ifftshift", x, dim, **names)


def ihfft(
    x: Operand,
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
    return lift.op("ihfft", x, n, dim, norm, **names)


def im2col(
    x: Operand, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Tensor:
    """Patches of (N, C, *spatial) as columns: (N, C * kernel, windows).

    kernel_size: the size of the window, for all axes or for each
    dilation: the distance between neighbours inside a window, for all axes or for each
    padding: what is added around each axis: for all, for each, or before and after each
    stride: the distance between neighbouring windows, for all axes or for each

    im2col(f32[1, 2, 3, 4], 2) → f32[1, 8, 6]
    im2col(f32[1, 2, 3, 4], (2, 3)) → f32[1, 12, 4]
    """
    return lift.op("im2col", x, kernel_size, dilation, padding, stride)


def index_add(
    x: Operand,
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
    return lift.op("index_add", x, dim, index, source, alpha, **names)


def index_copy(
    x: Operand,
    dim: int,
    index: Operand,
    source: Operand,
    **names: Unpack[ByAxis],
) -> Tensor:
    """The slices along `dim` that `index` names, replaced; of equal indices the last write wins.

    index_copy(f32[4, 3], 0, i32[3], f32[3, 3]) → f32[4, 3]
    index_copy(f32[2, 3, 2], 1, i32[2], f32[2, 2, 2]) → f32[2, 3, 2]
    """
    return lift.op("index_copy", x, dim, index, source, **names)


def index_fill(
    x: Operand,
    dim: int,
    index: Operand,
    value: Operand,
    **names: Unpack[ByAxis],
) -> Tensor:
    """The slices along `dim` that `index` names, filled with one value.

    index_fill(f32[4, 3], 0, i32[2], 1) → f32[4, 3]
    index_fill(f32[4, 3], -1, i32[2], f32[]) → f32[4, 3]
    """
    return lift.op("index_fill", x, dim, index, value, **names)


def index_select(x: Operand, dim: int, index: Operand, **names: Unpack[ByAxis]) -> Tensor:
    """The slices along `dim` at a vector of indices.

    index_select(f32[4, 3], 0, i32[3]) → f32[3, 3]
    index_select(f32[2, 3, 2], 1, i32[2]) → f32[2, 2, 2]
    """
    return lift.op("index_select", x, dim, index, **names)


def inner(x: Operand, other: Operand) -> Tensor:
    """The sum of products over the last axis of both; a scalar scales."""
    return lift.two("inner", x, other)


def instance_norm(
    x: Operand, weight: Operand | None = None, bias: Operand | None = None, eps: float = 1e-05
) -> Tensor:
    """(N, C, *) normalised within each channel of each sample, then weight and bias.

    instance_norm(f32[2, 2, 3]) → f32[2, 2, 3]
    instance_norm(f32[1, 2, 2, 3], f32[2], f32[2]) → f32[1, 2, 2, 3]
    """
    return lift.op("instance_norm", x, weight, bias, eps)


def interpolate(
    x: Operand, size: Sizes, mode: str = "linear", align_corners: bool = False
) -> Tensor:
    """The last axes resized to `size`; linear in n axes is bilinear, trilinear and so on.

    `mode` is "linear", "nearest" or "nearest-exact"; with `align_corners` the outermost elements
    keep their place. Integers are rounded to the nearest.

    interpolate(f32[2, 5], (3,)) → f32[2, 3]
    interpolate(f32[2, 3], (7,)) → f32[2, 7]
    """
    return lift.op("interpolate", x, size, mode, align_corners)


def inv(x: Operand) -> Tensor:
    """The inverse of a square matrix."""
    return lift.one("inv", x)


def irdft(
    x: Operand,
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
    return lift.op("irdft", x, n, axis, norm, **names)


def irfft(
    x: Operand,
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
    return lift.op("irfft", x, n, dim, norm, **names)


def irfft2(
    x: Operand,
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
    return lift.op("irfft2", x, s, dim, norm, **names)


def irfftn(
    x: Operand,
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
    return lift.op("irfftn", x, s, dim, norm, **names)


def isclose(
    x: Operand, other: Operand, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether `|x - other| <= atol + rtol * |other|`; equal infinities are close.

    equal_nan: whether NaN equals NaN

    isclose(f32[2, 3], f32[2, 3]) → bool[2, 3]
    isclose(f32[2, 3], f32[3]) → bool[2, 3]
    """
    return lift.op("isclose", x, other, rtol, atol, equal_nan)


def kl_div(
    x: Operand, target: Operand, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """target (log target - x), where x are log-probabilities; 0 log 0 is 0, with gradient 0.

    With `log_target` the target is a log-probability too. "batchmean" divides the sum by the first
    size, which is the divergence of the distributions.

    reduction: "mean", "sum" or "none"

    kl_div(f32[2, 3], f32[2, 3]) → f32[]
    kl_div(f32[2, 3], f32[2, 3], reduction="sum") → f32[]
    """
    return lift.op("kl_div", x, target, reduction, log_target)


def kron(x: Operand, other: Operand) -> Tensor:
    """The Kronecker product: every element of x times the whole of other, in blocks."""
    return lift.two("kron", x, other)


def kthvalue(
    x: Operand,
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
    return lift.op("kthvalue", x, k, dim, keepdim, **names)


def l1_loss(x: Operand, target: Operand, reduction: str = "mean") -> Tensor:
    """Absolute error |x - target|; the gradient at 0 is 0.

    reduction: "mean", "sum" or "none"

    l1_loss(f32[2, 3], f32[2, 3]) → f32[]
    l1_loss(f32[2, 3], f32[2, 3], reduction="sum") → f32[]
    """
    return lift.op("l1_loss", x, target, reduction)


def layernorm(
    x: Operand,
    axis: Axis = -1,
    eps: float = 1e-05,
    **names: Unpack[ByDimDimsAxes],
) -> Tensor:
    """x with mean 0 and variance 1 along `axis` (an int or a tuple): (x - mean) / √(var + eps).

    layernorm(f32[2, 3]) → f32[2, 3]
    layernorm(f32[2, 3, 4], -1) → f32[2, 3, 4]
    """
    return lift.op("layernorm", x, axis, eps, **names)


def ldexp(x: Operand, other: Operand) -> Tensor:
    """`x * 2 ** other`, in two steps so that the power alone does not overflow."""
    return lift.two("ldexp", x, other)


def le(x: Operand, other: Operand) -> Tensor:
    """Whether `x <= y`."""
    return lift.two("le", x, other)


def leaky_relu(x: Operand, neg_slope: float = 0.01) -> Tensor:
    """x where it is positive, else `neg_slope * x`; the gradient at 0 is neg_slope.

    leaky_relu(f32[2, 3]) → f32[2, 3]
    leaky_relu(f32[]) → f32[]
    """
    return lift.op("leaky_relu", x, neg_slope)


def lerp(x: Operand, end: Operand, weight: Operand) -> Tensor:
    """`x + weight * (end - x)`, exact at both ends."""
    return lift.op("lerp", x, end, weight)


def lgamma(x: Operand) -> Tensor:
    """Logarithm of |Γ(x)|."""
    return lift.one("lgamma", x)


def linear(
    x: Operand, weight: Operand, bias: Operand | None = None, dtype: DTypeLike | None = None
) -> Tensor:
    """`x @ weight + bias` with a weight of shape (in, out); a 1-d weight scales elementwise.

    `dtype` is what the operands are cast to first.

    linear(f32[4, 3], f32[3, 2]) → f32[4, 2]
    linear(f32[4, 3], f32[3, 2], f32[2]) → f32[4, 2]
    """
    return lift.op("linear", x, weight, bias, dtype)


def log_softmax(
    x: Operand,
    axis: Axis = -1,
    dtype: DTypeLike | None = None,
    **names: Unpack[ByDimDimsAxes],
) -> Tensor:
    """The logarithm of softmax, exact where softmax would be 0.

    axis: the axis or axes, counted from the end if negative

    log_softmax(f32[2, 3]) → f32[2, 3]
    log_softmax(f32[2, 3], 0) → f32[2, 3]
    """
    return lift.op("log_softmax", x, axis, dtype, **names)


def logcumsumexp(x: Operand, axis: int = 0, **names: Unpack[ByDim]) -> Tensor:
    """The logarithm of the running sum of `exp(x)`, without overflow.

    Sums over 2, 4, 8 … neighbours are joined, so log2(n) steps do it.

    axis: the axis, counted from the end if it is negative

    logcumsumexp(f32[2, 5], 1) → f32[2, 5]
    logcumsumexp(f32[4, 2]) → f32[4, 2]
    """
    return lift.op("logcumsumexp", x, axis, **names)


def logistic_loss(
    x: Operand, Y: Operand, pos_weight: Operand | None = None, reduction: str = "mean"
) -> Tensor:
    """Binary cross-entropy of logits, without overflow: (1 - Y) x + log(1 + exp(-x)).

    `pos_weight` multiplies the loss of the positive targets.

    reduction: "mean", "sum" or "none"

    logistic_loss(f32[2, 3], f32[2, 3]) → f32[]
    logistic_loss(f32[2, 3], f32[2, 3], reduction="sum") → f32[]
    """
    return lift.op("logistic_loss", x, Y, pos_weight, reduction)


def logit(x: Operand, eps: float | None = None) -> Tensor:
    """`log(x / (1 - x))`, the inverse of sigmoid; x is first limited to [eps, 1 - eps] if given.

    logit(f32[2, 3]) → f32[2, 3]
    logit(f32[]) → f32[]
    """
    return lift.op("logit", x, eps)


def logsigmoid(x: Operand) -> Tensor:
    """`log(sigmoid(x))`, without overflow."""
    return lift.one("logsigmoid", x)


def logsumexp(
    x: Operand,
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
    return lift.op("logsumexp", x, axis, keepdim, **names)


def lshift(x: Operand, other: Operand) -> Tensor:
    """`x << y`."""
    return lift.two("lshift", x, other)


def lstsq(x: Operand, b: Operand, rcond: float | None = None) -> Tensor:
    """The y that minimises `|x @ y - b|`, of several that of least norm; b is as for solve.

    lstsq(f32[4, 2], f32[4]) → f32[2]
    lstsq(f32[4, 2], f32[4, 3]) → f32[2, 3]
    """
    return lift.op("lstsq", x, b, rcond)


def lt(x: Operand, other: Operand) -> Tensor:
    """Whether `x < y`."""
    return lift.two("lt", x, other)


def margin_ranking_loss(
    x: Operand, other: Operand, target: Operand, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """max(0, -target (x - other) + margin): x should be larger for 1, smaller for -1.

    reduction: "mean", "sum" or "none"

    margin_ranking_loss(f32[2, 3], f32[2, 3], i32[3]) → f32[]
    margin_ranking_loss(f32[2, 3], f32[3], i32[3], 0.3, "none") → f32[2, 3]
    """
    return lift.op("margin_ranking_loss", x, other, target, margin, reduction)


def masked_fill(x: Operand, mask: Operand, value: Operand) -> Tensor:
    """`value` where the mask holds, x elsewhere."""
    return lift.op("masked_fill", x, mask, value)


def masked_scatter(x: Operand, mask: Operand, source: Operand) -> Tensor:
    """The elements of `source`, in order, where the mask holds; x elsewhere."""
    return lift.op("masked_scatter", x, mask, source)


def matrix_power(x: Operand, n: int) -> Tensor:
    """The product of n copies of a square matrix; of its inverse if n is negative.

    matrix_power(f32[3, 3], 2) → f32[3, 3]
    matrix_power(f32[2, 3, 3], 5) → f32[2, 3, 3]
    """
    return lift.op("matrix_power", x, n)


def matrix_rank(x: Operand, tol: float | None = None) -> Tensor:
    """How many singular values are above `tol` (None: the largest times the longer side times the
    dtype's epsilon).

    matrix_rank(f32[3, 3]) → i64[]
    matrix_rank(f32[2, 4, 3]) → i64[2]
    """
    return lift.op("matrix_rank", x, tol)


def max_pool(
    x: Operand,
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
    return lift.op("max_pool", x, kernel_size, stride, dilation, padding, ceil_mode)


@overload
def max_pool2d(
    x: Operand,
    kernel_size: Sizes = (2, 2),
    stride: Sizes | None = None,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...
@overload
def max_pool2d(
    x: Operand,
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
    x: Operand,
    kernel_size: Sizes = (2, 2),
    stride: Sizes | None = None,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]: ...
def max_pool2d(
    x: Operand,
    kernel_size: Sizes = (2, 2),
    stride: Sizes | None = None,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest element of each window; with `return_indices` also where it is.

    An index counts through the spatial axes in row-major order; of equal elements, and of NaNs, it
    is the first.

    kernel_size: the size of the window, for all axes or for each
    stride: the distance between neighbouring windows, for all axes or for each
    dilation: the distance between neighbours inside a window, for all axes or for each
    padding: what is added around each axis: for all, for each, or before and after each

    max_pool2d(f32[1, 2, 4, 4], (2, 2)) → f32[1, 2, 2, 2]
    max_pool2d(f32[1, 2, 5, 4], return_indices=True) → f32[1, 2, 2, 2], i64[1, 2, 2, 2]
    """
    return lift.op(
        "max_pool2d", x, kernel_size, stride, dilation, padding, ceil_mode, return_indices
    )


def max_unpool2d(
    x: Operand,
    indices: Operand,
    kernel_size: Sizes = (2, 2),
    stride: Sizes | None = None,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    output_size: Extents = None,
) -> Tensor:
    """Elements put back where `max_pool2d(return_indices=True)` found them, zeros elsewhere.

    The spatial size is worked out from the pool's options, or is the last entries of `output_size`.
    Of elements with one index the last stays.

    kernel_size: the size of the window, for all axes or for each
    stride: the distance between neighbouring windows, for all axes or for each
    dilation: the distance between neighbours inside a window, for all axes or for each
    padding: what is added around each axis: for all, for each, or before and after each

    max_unpool2d(f32[1, 1, 2, 2], i32[1, 1, 2, 2]) → f32[1, 1, 4, 4]
    max_unpool2d(f32[2, 1, 2], i32[2, 1, 2], (2,), output_size=(7,)) → f32[2, 1, 7]
    """
    return lift.op("max_unpool2d", x, indices, kernel_size, stride, dilation, padding, output_size)


def mish(x: Operand) -> Tensor:
    """`x * tanh(softplus(x))`; 0 at -inf."""
    return lift.one("mish", x)


def mm(x: Operand, other: Operand) -> Tensor:
    """The product of two matrices."""
    return lift.two("mm", x, other)


def mod(x: Operand, other: Operand) -> Tensor:
    """Remainder with the sign of the divisor, `x % y`. An integer modulo zero gives 0."""
    return lift.two("mod", x, other)


def mode(
    x: Operand,
    dim: int = -1,
    keepdim: bool = False,
    **names: Unpack[ByAxisKeepdims],
) -> tuple[Tensor, Tensor]:
    """The most frequent value along `dim` (of several the smallest) and its last index.

    keepdim: whether the reduced axes stay, with size 1

    mode(f32[2, 3]) → f32[2], i64[2]
    mode(f32[]) → f32[], i64[]
    """
    return lift.op("mode", x, dim, keepdim, **names)


def movedim(x: Operand, source: Axes, destination: Axes) -> Tensor:
    """Axes moved to other positions; the others keep their order.

    movedim(f32[2, 3, 4], 0, -1) → f32[3, 4, 2]
    movedim(f32[2, 3, 4], (0, 1), (-1, 0)) → f32[3, 4, 2]
    """
    return lift.view("movedim", x, source, destination)


def mse_loss(x: Operand, target: Operand, reduction: str = "mean") -> Tensor:
    """Squared error (x - target)².

    reduction: "mean", "sum" or "none"

    mse_loss(f32[2, 3], f32[2, 3]) → f32[]
    mse_loss(f32[2, 3], f32[2, 3], reduction="sum") → f32[]
    """
    return lift.op("mse_loss", x, target, reduction)


def msort(x: Operand) -> Tensor:
    """The values in order along the first axis."""
    return lift.one("msort", x)


def mul(x: Operand, other: Operand) -> Tensor:
    """Product `x * y`."""
    return lift.two("mul", x, other)


def mv(x: Operand, vec: Operand) -> Tensor:
    """The product of a matrix and a vector."""
    return lift.two("mv", x, vec)


def nan_to_num(
    x: Operand, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """NaN and infinities replaced; an infinity becomes by default the largest finite number.

    nan_to_num(f32[2, 3]) → f32[2, 3]
    nan_to_num(f32[3]) → f32[3]
    """
    return lift.op("nan_to_num", x, nan, posinf, neginf)


def nanmean(
    x: Tensor,
    axis: Axis = None,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
    out: Any | None = None,
    **names: Unpack[ByDimDimsAxesKeepdims],
) -> Tensor:
    """Mean over axes of the elements that are not NaN. In `dtype` if given.

    axis: the axis or axes, counted from the end if negative; None means all
    keepdim: whether the reduced axes stay, with size 1

    nanmean(f32[2, 3]) → f32[]
    nanmean(f32[2, 3], 1) → f32[2]
    """
    return Tensor.nanmean(x, axis, keepdim, dtype, out, **names)


@overload
def nanmedian(
    x: Operand,
    dim: None = None,
    keepdim: bool = False,
    **names: Unpack[ByAxisKeepdimsOrNone],
) -> Tensor: ...
@overload
def nanmedian(
    x: Operand,
    dim: int,
    keepdim: bool = False,
    **names: Unpack[ByAxisKeepdimsOrNone],
) -> tuple[Tensor, Tensor]: ...
@overload
def nanmedian(
    x: Operand,
    dim: int | None = None,
    keepdim: bool = False,
    **names: Unpack[ByAxisKeepdimsOrNone],
) -> Tensor | tuple[Tensor, Tensor]: ...
def nanmedian(
    x: Operand,
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
    return lift.op("nanmedian", x, dim, keepdim, **names)


def nansum(
    x: Tensor,
    axis: Axis = None,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
    out: Any | None = None,
    **names: Unpack[ByDimDimsAxesKeepdims],
) -> Tensor:
    """Sum over axes with NaN counted as 0. In `dtype` if given.

    axis: the axis or axes, counted from the end if negative; None means all
    keepdim: whether the reduced axes stay, with size 1

    nansum(f32[2, 3]) → f32[]
    nansum(f32[2, 3], 1) → f32[2]
    """
    return Tensor.nansum(x, axis, keepdim, dtype, out, **names)


def narrow(x: Operand, dim: int, start: int, length: int, **names: Unpack[ByAxis]) -> Tensor:
    """`length` elements from `start` on along `dim`; a negative start counts from the end.

    narrow(f32[4, 3], 0, 1, 2) → f32[2, 3]
    narrow(f32[4, 3], -1, -2, 2) → f32[4, 2]
    """
    return lift.view("narrow", x, dim, start, length, **names)


def ne(x: Operand, other: Operand) -> Tensor:
    """Whether `x != y`."""
    return lift.two("ne", x, other)


def neg(x: Operand) -> Tensor:
    """Negation `-x`."""
    return lift.one("neg", x)


def nll_loss(
    x: Operand,
    Y: Operand,
    weight: Operand | None = None,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-x at the class indices Y, for log-probabilities x with classes on axis 1 (0 for a vector).

    `weight` multiplies each class; the mean divides by the weights that count. Targets equal to
    `ignore_index` do not count.

    reduction: "mean", "sum" or "none"

    nll_loss(f32[4, 3], i32[4]) → f32[]
    nll_loss(f32[4, 3], i32[4], reduction="sum") → f32[]
    """
    return lift.op("nll_loss", x, Y, weight, ignore_index, reduction)


def norm(
    x: Operand,
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
    return lift.op("norm", x, p, dim, keepdim, **names)


def normalize(
    x: Operand,
    p: float = 2.0,
    dim: int = 1,
    eps: float = 1e-12,
    **names: Unpack[ByAxis],
) -> Tensor:
    """x divided by its norm of order p along `dim`, or by eps where that is larger.

    normalize(f32[2, 3]) → f32[2, 3]
    normalize(f32[2, 3], 1, 0) → f32[2, 3]
    """
    return lift.op("normalize", x, p, dim, eps, **names)


def one_hot(x: Tensor, num_classes: int = -1) -> Tensor:
    """A last axis of `num_classes` that is 1 at the element's value and 0 elsewhere; -1 counts the
    classes from the largest value.

    one_hot(i32[2, 3], 5) → i32[2, 3, 5]
    one_hot(i32[], 3) → i32[3]
    """
    return Tensor.one_hot(x, num_classes)


def outer(x: Operand, other: Operand) -> Tensor:
    """Every element of one vector times every element of another."""
    return lift.two("outer", x, other)


def pad(x: Operand, padding: Padding, mode: str = "constant", value: Operand = 0.0) -> Tensor:
    """Elements added around the tensor, by one (before, after) or None per axis.

    A flat tuple is read as PyTorch does, last axis first. Negative amounts remove elements. Modes:
    constant, reflect, replicate, circular.

    padding: what is added around each axis: for all, for each, or before and after each

    pad(f32[3, 4], ((1, 2), (2, 0)), "constant") → f32[6, 6]
    pad(f32[3, 4], ((1, 2), (2, 0)), "reflect") → f32[6, 6]
    """
    return lift.op("pad", x, padding, mode, value)


def pad_constant(
    x: Operand,
    before: Sequence[int],
    after: Sequence[int],
    interior: Sequence[int] | None = None,
    value: Operand = 0,
) -> Tensor:
    """Adds elements equal to `value` around the tensor, and between its elements (`interior`).

    pad_constant(f32[2, 3], (1, 0), (0, 2)) → f32[3, 5]
    pad_constant(f32[3], (1,), (1,), (2,), 1) → f32[9]
    """
    return lift.op("pad_constant", x, before, after, interior, value)


def pad_to(x: Operand, *sizes: Extents, value: Operand = 0, **names: Unpack[ByShape]) -> Tensor:
    """The tensor filled up at the end of each axis to this shape; None keeps an axis.

    pad_to(f32[2, 3], 4, None) → f32[4, 3]
    pad_to(f32[2, 3], (2, 5), value=1) → f32[2, 5]
    """
    return lift.op("pad_to", x, *sizes, value=value, **names)


def pairwise_distance(
    x: Operand,
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
    return lift.op("pairwise_distance", x, other, p, eps, keepdim, **names)


def partition(
    x: Operand,
    kth: int | Sequence[int],
    dim: int = -1,
    **names: Unpack[ByAxis],
) -> Tensor:
    """The values along `dim` with the kth (or several) in its place of the order: none larger comes
    before it, none smaller behind. Here all values are sorted.

    partition(f32[2, 5], 2) → f32[2, 5]
    partition(f32[2, 5], -1, 0) → f32[2, 5]
    """
    return lift.op("partition", x, kth, dim, **names)


def permute(x: Operand, *which: Axes, **names: Unpack[ByOrderDimsAxes]) -> Tensor:
    """Axes in another order.

    permute(f32[2, 3], (1, 0)) → f32[3, 2]
    permute(f32[2, 3, 4], (2, 0, 1)) → f32[4, 2, 3]
    """
    return lift.view("permute", x, *which, **names)


def pinv(x: Operand, rcond: float | None = None) -> Tensor:
    """The Moore-Penrose inverse; singular values up to `rcond` times the largest count as zero
    (None: the longer side times the dtype's epsilon).

    pinv(f32[3, 3]) → f32[3, 3]
    pinv(f32[4, 2]) → f32[2, 4]
    """
    return lift.op("pinv", x, rcond)


def pixel_shuffle(x: Operand, upscale_factor: int) -> Tensor:
    """(..., C r², H, W) as (..., C, H r, W r): channels become pixels.

    pixel_shuffle(f32[1, 4, 2, 3], 2) → f32[1, 1, 4, 6]
    pixel_shuffle(f32[8, 1, 2], 2) → f32[2, 2, 4]
    """
    return lift.op("pixel_shuffle", x, upscale_factor)


def pixel_unshuffle(x: Operand, downscale_factor: int) -> Tensor:
    """(..., C, H r, W r) as (..., C r², H, W): the inverse of `pixel_shuffle`.

    pixel_unshuffle(f32[1, 1, 4, 6], 2) → f32[1, 4, 2, 3]
    pixel_unshuffle(f32[2, 2, 4], 2) → f32[8, 1, 2]
    """
    return lift.op("pixel_unshuffle", x, downscale_factor)


def poisson_nll_loss(
    x: Operand,
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
    return lift.op("poisson_nll_loss", x, target, log_input, full, eps, reduction)


def polygamma(x: Operand, n: int) -> Tensor:
    """The n-th derivative of the digamma function.

    polygamma(f32[2, 3], 0) → f32[2, 3]
    polygamma(f32[3], 1) → f32[3]
    """
    return lift.op("polygamma", x, n)


def prelu(x: Operand, weight: Operand) -> Tensor:
    """x where it is positive, else `weight * x`, with one weight for all or one per channel."""
    return lift.two("prelu", x, weight)


def qr(x: Operand) -> tuple[Tensor, Tensor]:
    """Q with orthonormal columns and upper triangular R, `q @ r = x`. A matrix of m × n gives m
    × k and k × n, where k is the shorter side."""
    return lift.op("qr", x)


def quantile(
    x: Operand,
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
    return lift.op("quantile", x, q, dim, keepdim, interpolation, **names)


def quick_gelu(x: Operand) -> Tensor:
    """`x * sigmoid(1.702 * x)`; 0 at -inf."""
    return lift.one("quick_gelu", x)


def rad2deg(x: Operand) -> Tensor:
    """Radians as degrees."""
    return lift.one("rad2deg", x)


def random_bits(key: Operand, shape: tuple[int, ...]) -> Tensor:
    """64 random bits per element, by position under the key.

    random_bits(u64[], (2, 3)) → u64[2, 3]
    random_bits(u64[], (0,)) → u64[0]
    """
    return lift.op("random_bits", key, shape)


def random_normal(
    key: Operand, shape: tuple[int, ...], dtype: DTypeLike = dtypes.float32
) -> Tensor:
    """Standard normal by Box and Muller, a word of the element's bits for each of its two draws.

    random_normal(u64[], (2, 3)) → f32[2, 3]
    random_normal(u64[], (0,)) → f32[0]
    """
    return lift.op("random_normal", key, shape, dtype)


def random_uniform(
    key: Operand, shape: tuple[int, ...], dtype: DTypeLike = dtypes.float32
) -> Tensor:
    """Uniform in [0, 1): the leading bits of each element's 64, scaled.

    random_uniform(u64[], (2, 3)) → f32[2, 3]
    random_uniform(u64[], (0,)) → f32[0]
    """
    return lift.op("random_uniform", key, shape, dtype)


def rdft(
    x: Operand,
    axis: int = -1,
    norm: str | None = "backward",
    **names: Unpack[ByDim],
) -> Tensor:
    """The discrete Fourier transform of a real tensor along one axis: frequencies 0 to n/2.

    norm: "backward", "ortho" or "forward": where the factor 1/n goes

    rdft(f32[2, 5]) → c64[2, 3]
    rdft(f32[4, 2], 0, "ortho") → c64[3, 2]
    """
    return lift.op("rdft", x, axis, norm, **names)


def rearrange(x: Operand, formula: str, **sizes: int) -> Tensor:
    """Axes divided, reordered and merged as an einops formula says: "b (h w) c -> b c h w".

    rearrange(f32[2, 3], "b c -> c b") → f32[3, 2]
    rearrange(f32[2, 3, 4], "a b c -> (c a) b") → f32[8, 3]
    """
    return lift.view("rearrange", x, formula, **sizes)


def reciprocal_or_zero(x: Operand) -> Tensor:
    """1 / x, and 0 where x is 0."""
    return lift.one("reciprocal_or_zero", x)


def reduce_prod(
    x: Operand,
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
    return lift.op("reduce_prod", x, axis, keepdim, **names)


def reduce_sum(
    x: Operand,
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
    return lift.op("reduce_sum", x, axis, keepdim, **names)


def relu(x: Operand) -> Tensor:
    """`max(x, 0)` as its own op: the gradient at 0 is 0."""
    return lift.one("relu", x)


def relu6(x: Operand) -> Tensor:
    """x limited to [0, 6]."""
    return lift.one("relu6", x)


def repeat_interleave(
    x: Tensor,
    repeats: Operand | Sequence[int],
    dim: int | None = None,
    **names: Unpack[ByAxisOrNone],
) -> Tensor:
    """Each element (or slice along `dim`) repeated; a tensor gives a number for each.

    repeat_interleave(f32[2, 3], 2) → f32[12]
    repeat_interleave(f32[2, 3], 2, 1) → f32[2, 6]
    """
    return Tensor.repeat_interleave(x, repeats, dim, **names)


def reshape_as(x: Operand, other: Operand) -> Tensor:
    """Reshaped to the shape of another tensor."""
    return lift.view("reshape_as", x, other)


def rfft(
    x: Operand,
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
    return lift.op("rfft", x, n, dim, norm, **names)


def rfft2(
    x: Operand,
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
    return lift.op("rfft2", x, s, dim, norm, **names)


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
    x: Operand,
    s: Sizes | None = None,
    dim: Axis = None,
    norm: str | None = None,
    **names: Unpack[ByAxisDimsAxes],
) -> Tensor:
    """The transform of a real tensor over several axes, or all; the last has frequencies 0 to n/2.

    dim: the axis or axes, counted from the end if negative; None means all
    norm: "backward", "ortho" or "forward": where the factor 1/n goes

    rfftn(f32[2, 3]) → c64[2, 2]
    rfftn(f32[2, 2, 4]) → c64[2, 2, 3]
    """
    return lift.op("rfftn", x, s, dim, norm, **names)


def rmsnorm(
    x: Operand,
    axis: Axis = -1,
    eps: float = 1e-06,
    **names: Unpack[ByDimDimsAxes],
) -> Tensor:
    """x divided by its root mean square along `axis`: x / √(mean(x²) + eps).

    rmsnorm(f32[2, 3]) → f32[2, 3]
    rmsnorm(f32[2, 3, 4], -1) → f32[2, 3, 4]
    """
    return lift.op("rmsnorm", x, axis, eps, **names)


def rot90(
    x: Operand,
    k: int = 1,
    dims: Sequence[int] = (0, 1),
    **names: Unpack[ByAxesOfRot90],
) -> Tensor:
    """Rotated by k · 90 degrees in the plane of two axes, from the first towards the second.

    rot90(f32[2, 3]) → f32[3, 2]
    rot90(f32[2, 3], 2) → f32[2, 3]
    """
    return lift.view("rot90", x, k, dims, **names)


def rshift(x: Operand, other: Operand) -> Tensor:
    """`x >> y`, keeping the sign."""
    return lift.two("rshift", x, other)


def rsqrt(x: Operand) -> Tensor:
    """`1 / sqrt(x)`."""
    return lift.one("rsqrt", x)


def scan_max(x: Operand, axis: int = 0, reverse: bool = False, **names: Unpack[ByDim]) -> Tensor:
    """Running maximum along an axis; the gradient goes to the latest of equal elements.

    scan_max(f32[2, 3], 1) → f32[2, 3]
    scan_max(f32[2, 3], 0) → f32[2, 3]
    """
    return lift.op("scan_max", x, axis, reverse, **names)


def scan_min(x: Operand, axis: int = 0, reverse: bool = False, **names: Unpack[ByDim]) -> Tensor:
    """Running minimum along an axis; the gradient goes to the latest of equal elements.

    scan_min(f32[2, 3], 1) → f32[2, 3]
    scan_min(f32[2, 3], 0) → f32[2, 3]
    """
    return lift.op("scan_min", x, axis, reverse, **names)


def scan_prod(x: Operand, axis: int = 0, reverse: bool = False, **names: Unpack[ByDim]) -> Tensor:
    """Running product along an axis; the gradient is right with zeros.

    scan_prod(f32[2, 3], 1) → f32[2, 3]
    scan_prod(f32[2, 3], 0) → f32[2, 3]
    """
    return lift.op("scan_prod", x, axis, reverse, **names)


def scan_sum(x: Operand, axis: int = 0, reverse: bool = False, **names: Unpack[ByDim]) -> Tensor:
    """Running sum along an axis.

    scan_sum(f32[2, 3], 1) → f32[2, 3]
    scan_sum(f32[2, 3], 0) → f32[2, 3]
    """
    return lift.op("scan_sum", x, axis, reverse, **names)


def scatter(
    x: Operand,
    dim: int,
    index: Operand,
    src: Operand,
    reduce: str | None = None,
    **names: Unpack[ByAxis],
) -> Tensor:
    """x with `src` written (or added, multiplied) at `index` along `dim`; of equal indices the last
    stays.

    scatter(f32[4, 3], 0, i32[2, 3], f32[2, 3]) → f32[4, 3]
    scatter(f32[4, 3], 1, i32[2, 3], f32[4, 3], reduce="add") → f32[4, 3]
    """
    return lift.op("scatter", x, dim, index, src, reduce, **names)


def scatter_add(
    x: Operand,
    dim: int,
    index: Operand,
    src: Operand,
    **names: Unpack[ByAxis],
) -> Tensor:
    """x with `src` added at `index` along `dim`; repeated indices accumulate.

    scatter_add(f32[4, 3], 1, i32[2, 3], f32[4, 3]) → f32[4, 3]
    scatter_add(f32[4], 0, i32[6], f32[6]) → f32[4]
    """
    return lift.op("scatter_add", x, dim, index, src, **names)


def scatter_reduce(
    x: Operand,
    dim: int,
    index: Operand,
    src: Operand,
    reduce: str,
    include_self: bool = True,
    **names: Unpack[ByAxis],
) -> Tensor:
    """Each place of x with the values of `src` sent there reduced: sum, prod, mean, amax, amin.

    Without `include_self` the old value takes no part; places that get nothing keep it. A mean of
    integers is rounded down.

    dim: the axis, counted from the end if it is negative

    scatter_reduce(f32[4, 3], 0, i32[3, 3], f32[3, 3], "sum", True) → f32[4, 3]
    scatter_reduce(f32[4, 3], 0, i32[3, 3], f32[3, 3], "sum", False) → f32[4, 3]
    """
    return lift.op("scatter_reduce", x, dim, index, src, reduce, include_self, **names)


def selu(x: Operand, alpha: float = 1.67326, gamma: float = 1.0507) -> Tensor:
    """`gamma * elu(x, alpha)`.

    selu(f32[2, 3]) → f32[2, 3]
    selu(f32[]) → f32[]
    """
    return lift.op("selu", x, alpha, gamma)


def shard(x: Operand, devices: Any, axis: Axis = None, **names: Unpack[ByDimDimsAxes]) -> Tensor:
    """The same values spread over a mesh: `x.shard(mesh, P('dp', None))` splits every dimension
    along the axes named for it; `x.shard(devices, axis)` along one dimension, or whole on each.

    shard(f32[4, 3], ("REF", "REF:1"), 0) → f32[4, 3]
    shard(f32[3], ("CPU:0", "CPU:1"), None) → f32[3]
    """
    return lift.op("shard", x, devices, axis, **names)


def shrink(x: Operand, *bounds: Bounds) -> Tensor:
    """A slice with start, stop and step ≥ 1 per axis.

    shrink(f32[4, 5], ((1, 3), (0, 5))) → f32[2, 5]
    shrink(f32[4, 5], ((0, 4, 2), (1, 5, 3))) → f32[2, 2]
    """
    return lift.view("shrink", x, *bounds)


def shrink_to(x: Operand, *sizes: Extents, **names: Unpack[ByShape]) -> Tensor:
    """The leading part of this shape; None keeps an axis.

    shrink_to(f32[4, 3], 2, None) → f32[2, 3]
    shrink_to(f32[4, 3], (4, 0)) → f32[4, 0]
    """
    return lift.op("shrink_to", x, *sizes, **names)


def sigmoid(x: Operand) -> Tensor:
    """Logistic function `1 / (1 + exp(-x))`."""
    return lift.one("sigmoid", x)


def silu(x: Operand) -> Tensor:
    """`x * sigmoid(x)`; 0 at -inf."""
    return lift.one("silu", x)


def sinc(x: Operand) -> Tensor:
    """`sin(πx) / (πx)`, 1 at 0."""
    return lift.one("sinc", x)


def slogdet(x: Operand) -> tuple[Tensor, Tensor]:
    """The sign of the determinant and the logarithm of its absolute value, as two tensors."""
    return lift.op("slogdet", x)


def smooth_l1_loss(
    x: Operand, target: Operand, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """(x - target)² / (2 beta) up to a distance of `beta`, from there on linear with slope 1.

    reduction: "mean", "sum" or "none"

    smooth_l1_loss(f32[2, 3], f32[2, 3]) → f32[]
    smooth_l1_loss(f32[2, 3], f32[2, 3], reduction="sum") → f32[]
    """
    return lift.op("smooth_l1_loss", x, target, reduction, beta)


def smooth_root(x: Operand, p: float = 2.0) -> Tensor:
    """The p-th root, with derivative 0 at 0, where the true derivative is infinite.

    smooth_root(f32[2, 3]) → f32[2, 3]
    smooth_root(f32[]) → f32[]
    """
    return lift.op("smooth_root", x, p)


def soft_margin_loss(x: Operand, target: Operand, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target x)) for targets 1 and -1.

    reduction: "mean", "sum" or "none"

    soft_margin_loss(f32[2, 3], i32[3]) → f32[]
    soft_margin_loss(f32[2, 3], f32[2, 3], "none") → f32[2, 3]
    """
    return lift.op("soft_margin_loss", x, target, reduction)


def softmax(
    x: Operand,
    axis: Axis = -1,
    dtype: DTypeLike | None = None,
    **names: Unpack[ByDimDimsAxes],
) -> Tensor:
    """`exp(x)` divided by its sum along `axis`, without overflow.

    softmax(f32[2, 3]) → f32[2, 3]
    softmax(f32[2, 3], 0) → f32[2, 3]
    """
    return lift.op("softmax", x, axis, dtype, **names)


def softmin(
    x: Operand,
    axis: Axis = -1,
    dtype: DTypeLike | None = None,
    **names: Unpack[ByDimDimsAxes],
) -> Tensor:
    """The softmax of -x.

    axis: the axis or axes, counted from the end if negative

    softmin(f32[2, 3]) → f32[2, 3]
    softmin(f32[2, 3], 0) → f32[2, 3]
    """
    return lift.op("softmin", x, axis, dtype, **names)


def softplus(x: Operand, beta: float = 1.0) -> Tensor:
    """`log(1 + exp(beta * x)) / beta`, without overflow.

    softplus(f32[2, 3]) → f32[2, 3]
    softplus(f32[]) → f32[]
    """
    return lift.op("softplus", x, beta)


def softshrink(x: Operand, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by `lambd`, and 0 where it would cross it.

    softshrink(f32[2, 3]) → f32[2, 3]
    softshrink(f32[]) → f32[]
    """
    return lift.op("softshrink", x, lambd)


def softsign(x: Operand) -> Tensor:
    """`x / (1 + |x|)`; ±1 at ±inf."""
    return lift.one("softsign", x)


def solve(x: Operand, b: Operand) -> Tensor:
    """The x with `a @ x = b`: `a.solve(b)`. b is a vector if it has one axis, else matrices."""
    return lift.two("solve", x, b)


def solve_triangular(
    x: Operand, b: Operand, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """The x with `a @ x = b` (or `x @ a = b` with left=False) for a triangular a, of which only
    that triangle is read. A zero on its diagonal is a division by zero.

    solve_triangular(f32[3, 3], f32[3, 2], True) → f32[3, 2]
    solve_triangular(f32[3, 3], f32[3, 2], False) → f32[3, 2]
    """
    return lift.op("solve_triangular", x, b, upper, left, unitriangular)


def sparse_categorical_crossentropy(
    x: Operand,
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
        "sparse_categorical_crossentropy", x, Y, ignore_index, label_smoothing, reduction
    )


def split(
    x: Operand,
    sizes: int | Sequence[int],
    dim: int = 0,
    **names: Unpack[ByAxis],
) -> tuple[Tensor, ...]:
    """Parts along `dim`: of one size (the last may be smaller), or of the sizes listed.

    split(f32[5, 2], 2) → f32[2, 2], f32[2, 2], f32[1, 2]
    split(f32[5, 2], [1, 4]) → f32[1, 2], f32[4, 2]
    """
    return lift.view("split", x, sizes, dim, **names)


def std_mean(
    x: Operand,
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
    return lift.op("std_mean", x, axis, keepdim, correction, **names)


def sub(x: Operand, other: Operand) -> Tensor:
    """Difference `x - y`."""
    return lift.two("sub", x, other)


def svd(x: Operand, full_matrices: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """Singular values S, falling, with the vectors U and Vᵀ: `(u * s) @ vt = x`.

    With full_matrices U and Vᵀ are square; of a matrix that is not, these have no derivative.

    svd(f32[3, 3]) → f32[3, 3], f32[3], f32[3, 3]
    svd(f32[4, 2], False) → f32[4, 2], f32[2], f32[2, 2]
    """
    return lift.op("svd", x, full_matrices)


def svd_full(x: Operand) -> tuple[Tensor, Tensor]:
    """All left and all right singular vectors, as columns and as rows."""
    return lift.op("svd_full", x)


def svd_reduced(x: Operand) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and Vᵀ with `(u * s) @ vt = x`: as many vectors as the shorter side is long."""
    return lift.op("svd_reduced", x)


def svdvals(x: Operand) -> Tensor:
    """Singular values, falling."""
    return lift.one("svdvals", x)


def swapaxes(x: Operand, axis0: int, axis1: int, **names: Unpack[ByDim0Dim1]) -> Tensor:
    """Two axes exchanged.

    swapaxes(f32[2, 3, 4], 0, 2) → f32[4, 3, 2]
    swapaxes(f32[2, 3], -1, 0) → f32[3, 2]
    """
    return lift.view("swapaxes", x, axis0, axis1, **names)


def swapdims(x: Operand, axis0: int, axis1: int, **names: Unpack[ByDim0Dim1]) -> Tensor:
    """Two axes exchanged.

    swapaxes(f32[2, 3, 4], 0, 2) → f32[4, 3, 2]
    swapaxes(f32[2, 3], -1, 0) → f32[3, 2]
    """
    return lift.view("swapaxes", x, axis0, axis1, **names)


def swish(x: Operand) -> Tensor:
    """`x * sigmoid(x)`; 0 at -inf."""
    return lift.one("silu", x)


def take_along_dim(
    x: Operand,
    indices: Operand,
    dim: int | None = None,
    **names: Unpack[ByAxisOrNone],
) -> Tensor:
    """Elements at `indices` along `dim`, the other axes broadcast; without `dim`, of the flat x.

    take_along_dim(f32[4, 3], i32[2, 3], 0) → f32[2, 3]
    take_along_dim(f32[4, 3], i32[4, 2], -1) → f32[4, 2]
    """
    return lift.op("take_along_dim", x, indices, dim, **names)


def tanhshrink(x: Operand) -> Tensor:
    """`x - tanh(x)`."""
    return lift.one("tanhshrink", x)


def tensor_split(
    x: Operand,
    indices_or_sections: int | Sequence[int],
    dim: int = 0,
    **names: Unpack[ByAxis],
) -> tuple[Tensor, ...]:
    """A number of parts whose sizes differ by at most one, or parts split at the listed indices.

    dim: the axis, counted from the end if it is negative

    tensor_split(f32[7], 3) → f32[3], f32[2], f32[2]
    tensor_split(f32[2, 7], [2, 5], 1) → f32[2, 2], f32[2, 3], f32[2, 2]
    """
    return lift.view("tensor_split", x, indices_or_sections, dim, **names)


def threefry(x: Operand, other: Operand) -> Tensor:
    """Threefry-2x32-20 of 64-bit counters under 64-bit keys."""
    return lift.two("threefry", x, other)


def threshold(x: Operand, threshold: float, value: float) -> Tensor:
    """x where it is above `threshold`, else `value`.

    threshold(f32[2, 3], 0.5, -2.0) → f32[2, 3]
    threshold(f32[], 0.1, 1.5) → f32[]
    """
    return lift.op("threshold", x, threshold, value)


def topk(
    x: Operand,
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
    return lift.op("topk", x, k, dim, largest, sorted_, **names)


def trace(
    x: Operand,
    offset: int = 0,
    dim1: int = 0,
    dim2: int = 1,
    **names: Unpack[ByAxis1Axis2],
) -> Tensor:
    """The sum of a diagonal of the matrices in two axes.

    trace(f32[3, 3]) → f32[]
    trace(f32[2, 3], 1) → f32[]
    """
    return lift.op("trace", x, offset, dim1, dim2, **names)


def transpose(x: Operand, dim0: int = 1, dim1: int = 0, **names: Unpack[ByAxis0Axis1]) -> Tensor:
    """Two axes exchanged, by default the first two.

    transpose(f32[2, 3]) → f32[3, 2]
    transpose(f32[2, 3, 4], 0, 2) → f32[4, 3, 2]
    """
    return lift.view("transpose", x, dim0, dim1, **names)


def trapezoid(
    y: Operand,
    x: Operand | None = None,
    dx: float = 1.0,
    dim: int = -1,
    **names: Unpack[ByAxis],
) -> Tensor:
    """The integral of y along `dim` by the trapezoidal rule, at the points x or at steps of dx.

    trapezoid(f32[2, 5]) → f32[2]
    trapezoid(f32[2, 5], None, 0.5) → f32[2]
    """
    return lift.op("trapezoid", y, x, dx, dim, **names)


def triplet_margin_loss(
    x: Operand,
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
    return lift.op("triplet_margin_loss", x, positive, negative, margin, p, eps, swap, reduction)


def true_div(x: Operand, other: Operand) -> Tensor:
    """Quotient `x / y`; integers are divided as floats."""
    return lift.two("true_div", x, other)


def type_as(x: Operand, other: Operand) -> Tensor:
    """The values in the dtype of another tensor."""
    return lift.two("type_as", x, other)


def unbind(x: Operand, dim: int = 0, **names: Unpack[ByAxis]) -> tuple[Tensor, ...]:
    """Every slice along `dim`, without that axis.

    unbind(f32[3, 2]) → f32[2], f32[2], f32[2]
    unbind(f32[3, 2], -1) → f32[3], f32[3]
    """
    return lift.view("unbind", x, dim, **names)


def unflatten(x: Operand, dim: int, sizes: Sequence[int], **names: Unpack[ByAxis]) -> Tensor:
    """The axis `dim` divided into axes of these sizes, one of which may be -1.

    unflatten(f32[3, 4], 1, (2, 2)) → f32[3, 2, 2]
    unflatten(f32[3, 4], 1, (-1, 2)) → f32[3, 2, 2]
    """
    return lift.view("unflatten", x, dim, sizes, **names)


def unfold(x: Operand, dim: int, size: int, step: int, **names: Unpack[ByAxis]) -> Tensor:
    """Windows of `size` elements every `step` along `dim`; a new last axis runs inside a window.

    unfold(f32[7], 0, 3, 2) → f32[3, 3]
    unfold(f32[4, 3], 0, 2, 1) → f32[3, 3, 2]
    """
    return lift.view("unfold", x, dim, size, step, **names)


def unique_identity(x: Operand) -> Tensor:
    """The same values as a node of their own: two parameters that start equal stay two."""
    return lift.one("unique_identity", x)


def unsqueeze(x: Operand, dim: int, **names: Unpack[ByAxis]) -> Tensor:
    """Adds an axis of size 1 at `dim`.

    unsqueeze(f32[2, 3], 0) → f32[1, 2, 3]
    unsqueeze(f32[2, 3], -1) → f32[2, 3, 1]
    """
    return lift.view("unsqueeze", x, dim, **names)


def var_mean(
    x: Operand,
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
    return lift.op("var_mean", x, axis, keepdim, correction, **names)


def vdot(x: Operand, other: Operand) -> Tensor:
    """The scalar product of two vectors; the first is conjugated."""
    return lift.two("vdot", x, other)


def vector_norm(
    x: Operand,
    ord: float = 2,
    axis: Axis = None,
    keepdim: bool = False,
    **names: Unpack[ByDimDimsAxesKeepdims],
) -> Tensor:
    """`(Σ |x| ** ord) ** (1 / ord)` over axes; inf, -inf and 0 are the max, the min and a count.

    axis: the axis or axes, counted from the end if negative; None means all
    keepdim: whether the reduced axes stay, with size 1

    vector_norm(f32[2, 3], 2, 1) → f32[2]
    vector_norm(f32[2, 3], 1, 1) → f32[2]
    """
    return lift.op("vector_norm", x, ord, axis, keepdim, **names)


def view(x: Operand, *sizes: Extents, **names: Unpack[ByShape]) -> Tensor:
    """The same elements in row-major order with another shape; one size may be -1.

    reshape(f32[2, 3], (3, 2)) → f32[3, 2]
    reshape(f32[2, 3], (-1,)) → f32[6]
    """
    return lift.view("reshape", x, *sizes, **names)


def view_as(x: Operand, other: Operand) -> Tensor:
    """Reshaped to the shape of another tensor."""
    return lift.view("reshape_as", x, other)


def vsplit(x: Operand, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Equal parts, or parts split at listed indices, along axis 0 of a matrix or more.

    vsplit(f32[6, 2], 3) → f32[2, 2], f32[2, 2], f32[2, 2]
    vsplit(f32[5, 2, 2], [1, 3]) → f32[1, 2, 2], f32[2, 2, 2], f32[2, 2, 2]
    """
    return lift.op("vsplit", x, indices_or_sections)


def vstack(x: Operand | Sequence[Operand], *others: Operand) -> Tensor:
    """Tensors joined along the first axis; a vector counts as one row."""
    return lift.op("vstack", x, *others)


def window(
    x: Operand,
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
    return lift.op("window", x, axis, size, stride, dilation, **names)


def xlogy(x: Operand, other: Operand) -> Tensor:
    """`x * log(other)`, 0 where x is 0 unless the other is NaN."""
    return lift.two("xlogy", x, other)


checked_functions(globals(), __all__)
