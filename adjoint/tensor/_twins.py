"""Methods in place: a new value for a tensor and its views.

Written by `make docs` from the records: change those, or docs/build_methods.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, Unpack

from adjoint.tensor._methods import Methods
from adjoint.tensor.aliases import Aliases
from adjoint.tensor.in_place import InPlace
from adjoint.tensor.lift import checked_methods, lift
from adjoint.tensor.protocols import Protocols
from adjoint.tensor.views import writing

if TYPE_CHECKING:
    from adjoint.tensor._methods import (
        ByAxis,
        ByAxisDimsAxes,
        ByDim,
        ByDimAxisAxes,
        ByDimDimsAxes,
        ByMinMax,
    )
    from adjoint.tensor.tensor import Tensor
    from adjoint.tensor.types import Axis, DTypeLike, Number, Operand, Sizes


@checked_methods
class Twins(Methods, InPlace, Aliases, Protocols):
    """`x += y`, and `name_` for methods whose result fits the tensor."""

    __slots__ = ()

    def __iadd__(self, other: Operand) -> Tensor:
        with writing:
            return self._update(lift.two("add", self, other))

    def __isub__(self, other: Operand) -> Tensor:
        with writing:
            return self._update(lift.two("sub", self, other))

    def __imul__(self, other: Operand) -> Tensor:
        with writing:
            return self._update(lift.two("mul", self, other))

    def __itruediv__(self, other: Operand) -> Tensor:
        with writing:
            return self._update(lift.two("div", self, other))

    def __ifloordiv__(self, other: Operand) -> Tensor:
        with writing:
            return self._update(lift.two("floordiv", self, other))

    def __imod__(self, other: Operand) -> Tensor:
        with writing:
            return self._update(lift.two("mod", self, other))

    def __ipow__(self, other: Operand) -> Tensor:
        with writing:
            return self._update(lift.two("pow", self, other))

    def __imatmul__(self, other: Operand) -> Tensor:
        with writing:
            return self._update(lift.two("matmul", self, other))

    def __iand__(self, other: Operand) -> Tensor:
        with writing:
            return self._update(lift.two("bitwise_and", self, other))

    def __ior__(self, other: Operand) -> Tensor:
        with writing:
            return self._update(lift.two("bitwise_or", self, other))

    def __ixor__(self, other: Operand) -> Tensor:
        with writing:
            return self._update(lift.two("bitwise_xor", self, other))

    def __ilshift__(self, other: Operand) -> Tensor:
        with writing:
            return self._update(lift.two("lshift", self, other))

    def __irshift__(self, other: Operand) -> Tensor:
        with writing:
            return self._update(lift.two("rshift", self, other))

    def abs_(self) -> Self:
        """In place: Absolute value; the gradient at 0 is 0."""
        with writing:
            return self._update(self.abs(), "abs_")

    def absolute_(self) -> Self:
        """In place: Absolute value; the gradient at 0 is 0."""
        with writing:
            return self._update(self.absolute(), "absolute_")

    def acos_(self) -> Self:
        """In place: Arc cosine."""
        with writing:
            return self._update(self.acos(), "acos_")

    def acosh_(self) -> Self:
        """In place: Inverse of cosh."""
        with writing:
            return self._update(self.acosh(), "acosh_")

    def add_(self, other: Operand) -> Self:
        """In place: Sum `x + y`."""
        with writing:
            return self._update(self.add(other), "add_")

    def addcdiv_(self, tensor1: Operand, tensor2: Operand, value: float = 1) -> Self:
        """In place: `x + value * tensor1 / tensor2`.

        addcdiv(f32[2, 3], f32[3], f32[2, 1]) → f32[2, 3]
        addcdiv(f32[2, 3], f32[3], f32[], value=0.5) → f32[2, 3]
        """
        with writing:
            return self._update(self.addcdiv(tensor1, tensor2, value), "addcdiv_")

    def addcmul_(self, tensor1: Operand, tensor2: Operand, value: float = 1) -> Self:
        """In place: `x + value * tensor1 * tensor2`.

        addcmul(f32[2, 3], f32[3], f32[2, 1]) → f32[2, 3]
        addcmul(f32[2, 3], f32[3], f32[], value=0.5) → f32[2, 3]
        """
        with writing:
            return self._update(self.addcmul(tensor1, tensor2, value), "addcmul_")

    def addmm_(self, a: Operand, b: Operand, beta: float = 1, alpha: float = 1) -> Self:
        """In place: `beta * x + alpha * (a @ b)` for two matrices; x is broadcast to their product.

        addmm(f32[2, 4], f32[2, 3], f32[3, 4]) → f32[2, 4]
        addmm(f32[4], f32[2, 3], f32[3, 4], 0.5, 2.0) → f32[2, 4]
        """
        with writing:
            return self._update(self.addmm(a, b, beta, alpha), "addmm_")

    def adjugate_(self) -> Self:
        """In place: `det(x) * inv(x)`, which exists for a singular matrix too. Its derivative
        needs the inverse."""
        with writing:
            return self._update(self.adjugate(), "adjugate_")

    def asin_(self) -> Self:
        """In place: Arc sine."""
        with writing:
            return self._update(self.asin(), "asin_")

    def asinh_(self) -> Self:
        """In place: Inverse of sinh."""
        with writing:
            return self._update(self.asinh(), "asinh_")

    def atan_(self) -> Self:
        """In place: Arc tangent."""
        with writing:
            return self._update(self.atan(), "atan_")

    def atan2_(self, other: Operand) -> Self:
        """In place: The angle of the point (y, x): `x.atan2(y)` reads x as the ordinate, as
        NumPy does."""
        with writing:
            return self._update(self.atan2(other), "atan2_")

    def atanh_(self) -> Self:
        """In place: Inverse of tanh."""
        with writing:
            return self._update(self.atanh(), "atanh_")

    def batchnorm_(
        self,
        weight: Operand | None = None,
        bias: Operand | None = None,
        mean: Operand | None = None,
        invstd: Operand | None = None,
        axis: Axis = 1,
        **names: Unpack[ByDimDimsAxes],
    ) -> Self:
        """In place: (x - mean) * weight * invstd + bias, each with one value per element of `axis`.

        batchnorm(f32[2, 3, 4], f32[3], f32[3], f32[3], f32[3]) → f32[2, 3, 4]
        batchnorm(f32[2, 3], None, None, f32[3], f32[3]) → f32[2, 3]
        """
        with writing:
            return self._update(
                self.batchnorm(weight, bias, mean, invstd, axis, **names), "batchnorm_"
            )

    def bitwise_and_(self, other: Operand) -> Self:
        """In place: Bits set in both."""
        with writing:
            return self._update(self.bitwise_and(other), "bitwise_and_")

    def bitwise_not_(self) -> Self:
        """In place: Bits inverted; for bool, logical not."""
        with writing:
            return self._update(self.bitwise_not(), "bitwise_not_")

    def bitwise_or_(self, other: Operand) -> Self:
        """In place: Bits set in either."""
        with writing:
            return self._update(self.bitwise_or(other), "bitwise_or_")

    def bitwise_xor_(self, other: Operand) -> Self:
        """In place: Bits set in exactly one."""
        with writing:
            return self._update(self.bitwise_xor(other), "bitwise_xor_")

    def ceil_(self) -> Self:
        """In place: The least integer ≥ x."""
        with writing:
            return self._update(self.ceil(), "ceil_")

    def celu_(self, alpha: float = 1.0) -> Self:
        """In place: x where it is positive, else `alpha * (exp(x / alpha) - 1)`.

        celu(f32[2, 3]) → f32[2, 3]
        celu(f32[]) → f32[]
        """
        with writing:
            return self._update(self.celu(alpha), "celu_")

    def checkpoint_name_(self, name: str) -> Self:
        """In place: The same values with a name, by which a policy of `checkpoint` can save them.

        checkpoint_name(f32[2, 3], "hidden") → f32[2, 3]
        checkpoint_name(f32[], "scale") → f32[]
        """
        with writing:
            return self._update(self.checkpoint_name(name), "checkpoint_name_")

    def cholesky_(self, upper: bool = False) -> Self:
        """In place: The lower triangular L with `L @ L.mH` equal to the symmetric (Hermitian) part
        of a positive definite matrix, or with upper=True its adjoint.

        cholesky(f32[3, 3]) → f32[3, 3]
        cholesky(f32[2, 3, 3], True) → f32[2, 3, 3]
        """
        with writing:
            return self._update(self.cholesky(upper), "cholesky_")

    def clamp_(
        self,
        min_: Operand | None = None,
        max_: Operand | None = None,
        **names: Unpack[ByMinMax],
    ) -> Self:
        """In place: x limited to [min_, max_]; NaN stays NaN, and at a bound the gradient goes to
        x.

        clamp(f32[2, 3], -1.03, 1.02) → f32[2, 3]
        clamp(f32[2, 3], None, 0.51) → f32[2, 3]
        """
        with writing:
            return self._update(self.clamp(min_, max_, **names), "clamp_")

    def clip_(
        self,
        min_: Operand | None = None,
        max_: Operand | None = None,
        **names: Unpack[ByMinMax],
    ) -> Self:
        """In place: x limited to [min_, max_]; NaN stays NaN, and at a bound the gradient goes to
        x.

        clamp(f32[2, 3], -1.03, 1.02) → f32[2, 3]
        clamp(f32[2, 3], None, 0.51) → f32[2, 3]
        """
        with writing:
            return self._update(self.clip(min_, max_, **names), "clip_")

    def conj_(self) -> Self:
        """In place: The complex conjugate; a real tensor is its own."""
        with writing:
            return self._update(self.conj(), "conj_")

    def copysign_(self, other: Operand) -> Self:
        """In place: The magnitude of x with the sign of y (the sign of -0.0 counts)."""
        with writing:
            return self._update(self.copysign(other), "copysign_")

    def cos_(self) -> Self:
        """In place: Cosine."""
        with writing:
            return self._update(self.cos(), "cos_")

    def cosh_(self) -> Self:
        """In place: Hyperbolic cosine."""
        with writing:
            return self._update(self.cosh(), "cosh_")

    def cross_(self, other: Operand, dim: int = -1, **names: Unpack[ByAxis]) -> Self:
        """In place: The vector product along an axis of size 3.

        dim: the axis, counted from the end if it is negative

        cross(f32[3], f32[3]) → f32[3]
        cross(f32[2, 3], f32[2, 3]) → f32[2, 3]
        """
        with writing:
            return self._update(self.cross(other, dim, **names), "cross_")

    def cumprod_(self, axis: int, dtype: DTypeLike | None = None, **names: Unpack[ByDim]) -> Self:
        """In place: Running product along an axis, in `dtype` if given; else integers have 64 bits.

        cumprod(f32[2, 3], 1) → f32[2, 3]
        cumprod(f32[2, 3], 0) → f32[2, 3]
        """
        with writing:
            return self._update(self.cumprod(axis, dtype, **names), "cumprod_")

    def cumprod_cotangent_(self, g: Operand, axis: int = 0, **names: Unpack[ByDim]) -> Self:
        """In place: The gradient of ⟨g, x.cumprod(axis)⟩, right where x has zeros.

        cumprod_cotangent(f32[2, 3], f32[2, 3], 1) → f32[2, 3]
        cumprod_cotangent(f32[4], f32[4], 0) → f32[4]
        """
        with writing:
            return self._update(self.cumprod_cotangent(g, axis, **names), "cumprod_cotangent_")

    def cumprod_tangent_(self, t: Operand, axis: int = 0, **names: Unpack[ByDim]) -> Self:
        """In place: The change of `x.cumprod(axis)` along t, right where x has zeros.

        cumprod_tangent(f32[2, 3], f32[2, 3], 1) → f32[2, 3]
        cumprod_tangent(f32[4], f32[4], 0) → f32[4]
        """
        with writing:
            return self._update(self.cumprod_tangent(t, axis, **names), "cumprod_tangent_")

    def cumsum_(
        self,
        axis: int = 0,
        dtype: DTypeLike | None = None,
        **names: Unpack[ByDim],
    ) -> Self:
        """In place: Running sum along an axis, in `dtype` if given; else integers are summed in 64
        bits.

        cumsum(f32[2, 3], 1) → f32[2, 3]
        cumsum(f32[2, 3], 0) → f32[2, 3]
        """
        with writing:
            return self._update(self.cumsum(axis, dtype, **names), "cumsum_")

    def deg2rad_(self) -> Self:
        """In place: Degrees as radians."""
        with writing:
            return self._update(self.deg2rad(), "deg2rad_")

    def dft_(
        self,
        axis: Axis = -1,
        inverse: bool = False,
        norm: str | None = "backward",
        **names: Unpack[ByDimDimsAxes],
    ) -> Self:
        """In place: The discrete Fourier transform along axes, or its inverse.

        axis: the axis or axes, counted from the end if negative
        norm: "backward", "ortho" or "forward": where the factor 1/n goes

        dft(c64[2, 3]) → c64[2, 3]
        dft(c64[2, 3], (0, 1), True) → c64[2, 3]
        """
        with writing:
            return self._update(self.dft(axis, inverse, norm, **names), "dft_")

    def digamma_(self) -> Self:
        """In place: The derivative of lgamma: `polygamma(0)`."""
        with writing:
            return self._update(self.digamma(), "digamma_")

    def div_(self, other: Operand, rounding_mode: str | None = None) -> Self:
        """In place: Quotient `x / y`, rounded as `rounding_mode` says: None, "floor" or "trunc".

        div(f32[2, 3], f32[3]) → f32[2, 3]
        div(f32[2, 3], f32[3], rounding_mode="floor") → f32[2, 3]
        """
        with writing:
            return self._update(self.div(other, rounding_mode), "div_")

    def elu_(self, alpha: float = 1.0) -> Self:
        """In place: x where it is positive, else `alpha * (exp(x) - 1)`.

        elu(f32[2, 3]) → f32[2, 3]
        elu(f32[]) → f32[]
        """
        with writing:
            return self._update(self.elu(alpha), "elu_")

    def eq_(self, other: Operand) -> Self:
        """In place: Whether `x == y`."""
        with writing:
            return self._update(self.eq(other), "eq_")

    def erf_(self) -> Self:
        """In place: Error function."""
        with writing:
            return self._update(self.erf(), "erf_")

    def erfinv_(self) -> Self:
        """In place: Inverse of the error function on (-1, 1)."""
        with writing:
            return self._update(self.erfinv(), "erfinv_")

    def exp_(self) -> Self:
        """In place: Exponential."""
        with writing:
            return self._update(self.exp(), "exp_")

    def exp2_(self) -> Self:
        """In place: Power of two."""
        with writing:
            return self._update(self.exp2(), "exp2_")

    def expm1_(self) -> Self:
        """In place: `exp(x) - 1`, exact near 0."""
        with writing:
            return self._update(self.expm1(), "expm1_")

    def fft_(
        self,
        n: int | None = None,
        dim: int = -1,
        norm: str | None = None,
        **names: Unpack[ByAxis],
    ) -> Self:
        """In place: The discrete Fourier transform along `dim`, cut or zero-filled to length n
        first.

        norm: "backward", "ortho" or "forward": where the factor 1/n goes

        fft(c64[2, 3]) → c64[2, 3]
        fft(f32[2, 4]) → c64[2, 4]
        """
        with writing:
            return self._update(self.fft(n, dim, norm, **names), "fft_")

    def fftshift_(self, dim: Axis = None, **names: Unpack[ByAxisDimsAxes]) -> Self:
        """In place: Frequency 0 moved to the middle of the axes, or of all.

        dim: the axis or axes, counted from the end if negative; None means all

        fftshift(f32[2, 5]) → f32[2, 5]
        fftshift(f32[2, 5], 1) → f32[2, 5]
        """
        with writing:
            return self._update(self.fftshift(dim, **names), "fftshift_")

    def fix_(self) -> Self:
        """In place: x without its fraction."""
        with writing:
            return self._update(self.fix(), "fix_")

    def floor_(self) -> Self:
        """In place: The greatest integer ≤ x."""
        with writing:
            return self._update(self.floor(), "floor_")

    def floordiv_(self, other: Operand) -> Self:
        """In place: Quotient rounded down, `x // y`. An integer divided by zero gives 0."""
        with writing:
            return self._update(self.floordiv(other), "floordiv_")

    def fmax_(self, other: Operand) -> Self:
        """In place: The larger of two elements; where one is NaN the other, which gets the
        gradient."""
        with writing:
            return self._update(self.fmax(other), "fmax_")

    def fmin_(self, other: Operand) -> Self:
        """In place: The smaller of two elements; where one is NaN the other, which gets the
        gradient."""
        with writing:
            return self._update(self.fmin(other), "fmin_")

    def fmod_(self, other: Operand) -> Self:
        """In place: Remainder with the sign of the dividend. An integer modulo zero gives 0."""
        with writing:
            return self._update(self.fmod(other), "fmod_")

    def frac_(self) -> Self:
        """In place: The fraction of x, with its sign."""
        with writing:
            return self._update(self.frac(), "frac_")

    def ge_(self, other: Operand) -> Self:
        """In place: Whether `x >= y`."""
        with writing:
            return self._update(self.ge(other), "ge_")

    def gelu_(self, approximate: str = "tanh") -> Self:
        """In place: `x * P(X <= x)` for a normal X: by tanh, or exactly with `approximate="none"`;
        0 at -inf.

        gelu(f32[2, 3]) → f32[2, 3]
        gelu(f32[]) → f32[]
        """
        with writing:
            return self._update(self.gelu(approximate), "gelu_")

    def group_norm_(
        self,
        num_groups: int,
        weight: Operand | None = None,
        bias: Operand | None = None,
        eps: float = 1e-05,
    ) -> Self:
        """In place: (N, C, *) normalised within each of `num_groups` groups of channels, then
        weight and bias.

        group_norm(f32[2, 4, 3], 2) → f32[2, 4, 3]
        group_norm(f32[2, 4], 2, f32[4], f32[4]) → f32[2, 4]
        """
        with writing:
            return self._update(self.group_norm(num_groups, weight, bias, eps), "group_norm_")

    def gt_(self, other: Operand) -> Self:
        """In place: Whether `x > y`."""
        with writing:
            return self._update(self.gt(other), "gt_")

    def hardshrink_(self, lambd: float = 0.5) -> Self:
        """In place: x, or 0 where `|x| <= lambd`.

        hardshrink(f32[2, 3]) → f32[2, 3]
        hardshrink(f32[]) → f32[]
        """
        with writing:
            return self._update(self.hardshrink(lambd), "hardshrink_")

    def hardsigmoid_(self, alpha: float = 0.16666666666666666, beta: float = 0.5) -> Self:
        """In place: `alpha * x + beta` limited to [0, 1].

        hardsigmoid(f32[2, 3]) → f32[2, 3]
        hardsigmoid(f32[]) → f32[]
        """
        with writing:
            return self._update(self.hardsigmoid(alpha, beta), "hardsigmoid_")

    def hardswish_(self) -> Self:
        """In place: `x * hardsigmoid(x)`; 0 at -inf."""
        with writing:
            return self._update(self.hardswish(), "hardswish_")

    def hardtanh_(self, min_val: float = -1, max_val: float = 1) -> Self:
        """In place: x limited to [min_val, max_val].

        hardtanh(f32[2, 3]) → f32[2, 3]
        hardtanh(f32[]) → f32[]
        """
        with writing:
            return self._update(self.hardtanh(min_val, max_val), "hardtanh_")

    def heaviside_(self, values: Operand) -> Self:
        """In place: 0 below zero, 1 above, `values` at zero; NaN stays."""
        with writing:
            return self._update(self.heaviside(values), "heaviside_")

    def hypot_(self, other: Operand) -> Self:
        """In place: `sqrt(x² + y²)` without overflow."""
        with writing:
            return self._update(self.hypot(other), "hypot_")

    def idiv_(self, other: Operand) -> Self:
        """In place: Quotient rounded towards zero. An integer divided by zero gives 0."""
        with writing:
            return self._update(self.idiv(other), "idiv_")

    def ifft_(
        self,
        n: int | None = None,
        dim: int = -1,
        norm: str | None = None,
        **names: Unpack[ByAxis],
    ) -> Self:
        """In place: The inverse of `fft`.

        dim: the axis, counted from the end if it is negative
        norm: "backward", "ortho" or "forward": where the factor 1/n goes

        ifft(c64[2, 3]) → c64[2, 3]
        ifft(f32[2, 4]) → c64[2, 4]
        """
        with writing:
            return self._update(self.ifft(n, dim, norm, **names), "ifft_")

    def ifftshift_(self, dim: Axis = None, **names: Unpack[ByAxisDimsAxes]) -> Self:
        """In place: The inverse of `fftshift`.

        dim: the axis or axes, counted from the end if negative; None means all

        ifftshift(f32[2, 5]) → f32[2, 5]
        ifftshift(f32[2, 5], 1) → f32[2, 5]
        """
        with writing:
            return self._update(self.ifftshift(dim, **names), "ifftshift_")

    def index_add_(
        self,
        dim: int,
        index: Operand,
        source: Operand,
        alpha: Number = 1,
        **names: Unpack[ByAxis],
    ) -> Self:
        """In place: `alpha * source` added to the slices along `dim` that `index` names; repeats
        accumulate.

        index_add(f32[4, 3], 0, i32[3], f32[3, 3]) → f32[4, 3]
        index_add(f32[2, 3, 2], 1, i32[2], f32[2, 2, 2]) → f32[2, 3, 2]
        """
        with writing:
            return self._update(self.index_add(dim, index, source, alpha, **names), "index_add_")

    def index_copy_(
        self,
        dim: int,
        index: Operand,
        source: Operand,
        **names: Unpack[ByAxis],
    ) -> Self:
        """In place: The slices along `dim` that `index` names, replaced; of equal indices the last
        write wins.

        index_copy(f32[4, 3], 0, i32[3], f32[3, 3]) → f32[4, 3]
        index_copy(f32[2, 3, 2], 1, i32[2], f32[2, 2, 2]) → f32[2, 3, 2]
        """
        with writing:
            return self._update(self.index_copy(dim, index, source, **names), "index_copy_")

    def index_fill_(
        self,
        dim: int,
        index: Operand,
        value: Operand,
        **names: Unpack[ByAxis],
    ) -> Self:
        """In place: The slices along `dim` that `index` names, filled with one value.

        index_fill(f32[4, 3], 0, i32[2], 1) → f32[4, 3]
        index_fill(f32[4, 3], -1, i32[2], f32[]) → f32[4, 3]
        """
        with writing:
            return self._update(self.index_fill(dim, index, value, **names), "index_fill_")

    def instance_norm_(
        self, weight: Operand | None = None, bias: Operand | None = None, eps: float = 1e-05
    ) -> Self:
        """In place: (N, C, *) normalised within each channel of each sample, then weight and bias.

        instance_norm(f32[2, 2, 3]) → f32[2, 2, 3]
        instance_norm(f32[1, 2, 2, 3], f32[2], f32[2]) → f32[1, 2, 2, 3]
        """
        with writing:
            return self._update(self.instance_norm(weight, bias, eps), "instance_norm_")

    def inv_(self) -> Self:
        """In place: The inverse of a square matrix."""
        with writing:
            return self._update(self.inv(), "inv_")

    def isclose_(
        self, other: Operand, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
    ) -> Self:
        """In place: Whether `|x - other| <= atol + rtol * |other|`; equal infinities are close.

        equal_nan: whether NaN equals NaN

        isclose(f32[2, 3], f32[2, 3]) → bool[2, 3]
        isclose(f32[2, 3], f32[3]) → bool[2, 3]
        """
        with writing:
            return self._update(self.isclose(other, rtol, atol, equal_nan), "isclose_")

    def isfinite_(self) -> Self:
        """In place: Whether x is neither NaN nor an infinity."""
        with writing:
            return self._update(self.isfinite(), "isfinite_")

    def isinf_(self, detect_positive: bool = True, detect_negative: bool = True) -> Self:
        """In place: Whether elements are infinite: of either sign, or of one alone.

        isinf(f32[2, 3]) → bool[2, 3]
        isinf(f32[]) → bool[]
        """
        with writing:
            return self._update(self.isinf(detect_positive, detect_negative), "isinf_")

    def isnan_(self) -> Self:
        """In place: Whether x is NaN."""
        with writing:
            return self._update(self.isnan(), "isnan_")

    def layernorm_(
        self,
        axis: Axis = -1,
        eps: float = 1e-05,
        **names: Unpack[ByDimDimsAxes],
    ) -> Self:
        """In place: x with mean 0 and variance 1 along `axis` (an int or a tuple): (x - mean) /
        √(var + eps).

        layernorm(f32[2, 3]) → f32[2, 3]
        layernorm(f32[2, 3, 4], -1) → f32[2, 3, 4]
        """
        with writing:
            return self._update(self.layernorm(axis, eps, **names), "layernorm_")

    def ldexp_(self, other: Operand) -> Self:
        """In place: `x * 2 ** other`, in two steps so that the power alone does not overflow."""
        with writing:
            return self._update(self.ldexp(other), "ldexp_")

    def le_(self, other: Operand) -> Self:
        """In place: Whether `x <= y`."""
        with writing:
            return self._update(self.le(other), "le_")

    def leaky_relu_(self, neg_slope: float = 0.01) -> Self:
        """In place: x where it is positive, else `neg_slope * x`; the gradient at 0 is neg_slope.

        leaky_relu(f32[2, 3]) → f32[2, 3]
        leaky_relu(f32[]) → f32[]
        """
        with writing:
            return self._update(self.leaky_relu(neg_slope), "leaky_relu_")

    def lerp_(self, end: Operand, weight: Operand) -> Self:
        """In place: `x + weight * (end - x)`, exact at both ends."""
        with writing:
            return self._update(self.lerp(end, weight), "lerp_")

    def lgamma_(self) -> Self:
        """In place: Logarithm of |Γ(x)|."""
        with writing:
            return self._update(self.lgamma(), "lgamma_")

    def log_(self) -> Self:
        """In place: Natural logarithm."""
        with writing:
            return self._update(self.log(), "log_")

    def log10_(self) -> Self:
        """In place: Base-10 logarithm."""
        with writing:
            return self._update(self.log10(), "log10_")

    def log1p_(self) -> Self:
        """In place: `log(1 + x)`, exact near 0."""
        with writing:
            return self._update(self.log1p(), "log1p_")

    def log2_(self) -> Self:
        """In place: Base-2 logarithm."""
        with writing:
            return self._update(self.log2(), "log2_")

    def log_softmax_(
        self,
        axis: Axis = -1,
        dtype: DTypeLike | None = None,
        **names: Unpack[ByDimDimsAxes],
    ) -> Self:
        """In place: The logarithm of softmax, exact where softmax would be 0.

        axis: the axis or axes, counted from the end if negative

        log_softmax(f32[2, 3]) → f32[2, 3]
        log_softmax(f32[2, 3], 0) → f32[2, 3]
        """
        with writing:
            return self._update(self.log_softmax(axis, dtype, **names), "log_softmax_")

    def logaddexp_(self, other: Operand) -> Self:
        """In place: `log(exp(x) + exp(y))` without overflow."""
        with writing:
            return self._update(self.logaddexp(other), "logaddexp_")

    def logcumsumexp_(self, axis: int = 0, **names: Unpack[ByDim]) -> Self:
        """In place: The logarithm of the running sum of `exp(x)`, without overflow.

        Sums over 2, 4, 8 … neighbours are joined, so log2(n) steps do it.

        axis: the axis, counted from the end if it is negative

        logcumsumexp(f32[2, 5], 1) → f32[2, 5]
        logcumsumexp(f32[4, 2]) → f32[4, 2]
        """
        with writing:
            return self._update(self.logcumsumexp(axis, **names), "logcumsumexp_")

    def logical_and_(self, other: Operand) -> Self:
        """In place: Whether both are nonzero."""
        with writing:
            return self._update(self.logical_and(other), "logical_and_")

    def logical_not_(self) -> Self:
        """In place: Whether x is zero."""
        with writing:
            return self._update(self.logical_not(), "logical_not_")

    def logical_or_(self, other: Operand) -> Self:
        """In place: Whether either is nonzero."""
        with writing:
            return self._update(self.logical_or(other), "logical_or_")

    def logical_xor_(self, other: Operand) -> Self:
        """In place: Whether exactly one is nonzero."""
        with writing:
            return self._update(self.logical_xor(other), "logical_xor_")

    def logit_(self, eps: float | None = None) -> Self:
        """In place: `log(x / (1 - x))`, the inverse of sigmoid; x is first limited to [eps, 1 -
        eps] if given.

        logit(f32[2, 3]) → f32[2, 3]
        logit(f32[]) → f32[]
        """
        with writing:
            return self._update(self.logit(eps), "logit_")

    def logsigmoid_(self) -> Self:
        """In place: `log(sigmoid(x))`, without overflow."""
        with writing:
            return self._update(self.logsigmoid(), "logsigmoid_")

    def lshift_(self, other: Operand) -> Self:
        """In place: `x << y`."""
        with writing:
            return self._update(self.lshift(other), "lshift_")

    def lt_(self, other: Operand) -> Self:
        """In place: Whether `x < y`."""
        with writing:
            return self._update(self.lt(other), "lt_")

    def masked_fill_(self, mask: Operand, value: Operand) -> Self:
        """In place: `value` where the mask holds, x elsewhere."""
        with writing:
            return self._update(self.masked_fill(mask, value), "masked_fill_")

    def masked_scatter_(self, mask: Operand, source: Operand) -> Self:
        """In place: The elements of `source`, in order, where the mask holds; x elsewhere."""
        with writing:
            return self._update(self.masked_scatter(mask, source), "masked_scatter_")

    def matrix_power_(self, n: int) -> Self:
        """In place: The product of n copies of a square matrix; of its inverse if n is negative.

        matrix_power(f32[3, 3], 2) → f32[3, 3]
        matrix_power(f32[2, 3, 3], 5) → f32[2, 3, 3]
        """
        with writing:
            return self._update(self.matrix_power(n), "matrix_power_")

    def maximum_(self, other: Operand) -> Self:
        """In place: The larger of two elements; NaN if either is. At a tie the gradient is
        halved."""
        with writing:
            return self._update(self.maximum(other), "maximum_")

    def minimum_(self, other: Operand) -> Self:
        """In place: The smaller of two elements; NaN if either is. At a tie the gradient is
        halved."""
        with writing:
            return self._update(self.minimum(other), "minimum_")

    def mish_(self) -> Self:
        """In place: `x * tanh(softplus(x))`; 0 at -inf."""
        with writing:
            return self._update(self.mish(), "mish_")

    def mod_(self, other: Operand) -> Self:
        """In place: Remainder with the sign of the divisor, `x % y`. An integer modulo zero
        gives 0."""
        with writing:
            return self._update(self.mod(other), "mod_")

    def msort_(self) -> Self:
        """In place: The values in order along the first axis."""
        with writing:
            return self._update(self.msort(), "msort_")

    def mul_(self, other: Operand) -> Self:
        """In place: Product `x * y`."""
        with writing:
            return self._update(self.mul(other), "mul_")

    def nan_to_num_(
        self, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
    ) -> Self:
        """In place: NaN and infinities replaced; an infinity becomes by default the largest finite
        number.

        nan_to_num(f32[2, 3]) → f32[2, 3]
        nan_to_num(f32[3]) → f32[3]
        """
        with writing:
            return self._update(self.nan_to_num(nan, posinf, neginf), "nan_to_num_")

    def ne_(self, other: Operand) -> Self:
        """In place: Whether `x != y`."""
        with writing:
            return self._update(self.ne(other), "ne_")

    def neg_(self) -> Self:
        """In place: Negation `-x`."""
        with writing:
            return self._update(self.neg(), "neg_")

    def negative_(self) -> Self:
        """In place: Negation `-x`."""
        with writing:
            return self._update(self.negative(), "negative_")

    def nextafter_(self, other: Operand) -> Self:
        """In place: The next float after x towards y."""
        with writing:
            return self._update(self.nextafter(other), "nextafter_")

    def normalize_(
        self,
        p: float = 2.0,
        dim: int = 1,
        eps: float = 1e-12,
        **names: Unpack[ByAxis],
    ) -> Self:
        """In place: x divided by its norm of order p along `dim`, or by eps where that is larger.

        normalize(f32[2, 3]) → f32[2, 3]
        normalize(f32[2, 3], 1, 0) → f32[2, 3]
        """
        with writing:
            return self._update(self.normalize(p, dim, eps, **names), "normalize_")

    def partition_(self, kth: int | Sequence[int], dim: int = -1, **names: Unpack[ByAxis]) -> Self:
        """In place: The values along `dim` with the kth (or several) in its place of the order:
        none larger comes before it, none smaller behind. Here all values are sorted.

        partition(f32[2, 5], 2) → f32[2, 5]
        partition(f32[2, 5], -1, 0) → f32[2, 5]
        """
        with writing:
            return self._update(self.partition(kth, dim, **names), "partition_")

    def pinv_(self, rcond: float | None = None) -> Self:
        """In place: The Moore-Penrose inverse; singular values up to `rcond` times the largest
        count as zero (None: the longer side times the dtype's epsilon).

        pinv(f32[3, 3]) → f32[3, 3]
        pinv(f32[4, 2]) → f32[2, 4]
        """
        with writing:
            return self._update(self.pinv(rcond), "pinv_")

    def polygamma_(self, n: int) -> Self:
        """In place: The n-th derivative of the digamma function.

        polygamma(f32[2, 3], 0) → f32[2, 3]
        polygamma(f32[3], 1) → f32[3]
        """
        with writing:
            return self._update(self.polygamma(n), "polygamma_")

    def positive_(self) -> Self:
        """In place: `+x`: the tensor itself."""
        with writing:
            return self._update(self.positive(), "positive_")

    def pow_(self, other: Operand) -> Self:
        """In place: Power `x ** y`. A negative integer power of an integer is truncated towards
        zero."""
        with writing:
            return self._update(self.pow(other), "pow_")

    def prelu_(self, weight: Operand) -> Self:
        """In place: x where it is positive, else `weight * x`, with one weight for all or one
        per channel."""
        with writing:
            return self._update(self.prelu(weight), "prelu_")

    def quick_gelu_(self) -> Self:
        """In place: `x * sigmoid(1.702 * x)`; 0 at -inf."""
        with writing:
            return self._update(self.quick_gelu(), "quick_gelu_")

    def rad2deg_(self) -> Self:
        """In place: Radians as degrees."""
        with writing:
            return self._update(self.rad2deg(), "rad2deg_")

    def reciprocal_(self) -> Self:
        """In place: Reciprocal `1 / x`."""
        with writing:
            return self._update(self.reciprocal(), "reciprocal_")

    def reciprocal_or_zero_(self) -> Self:
        """In place: 1 / x, and 0 where x is 0."""
        with writing:
            return self._update(self.reciprocal_or_zero(), "reciprocal_or_zero_")

    def relu_(self) -> Self:
        """In place: `max(x, 0)` as its own op: the gradient at 0 is 0."""
        with writing:
            return self._update(self.relu(), "relu_")

    def relu6_(self) -> Self:
        """In place: x limited to [0, 6]."""
        with writing:
            return self._update(self.relu6(), "relu6_")

    def rmsnorm_(self, axis: Axis = -1, eps: float = 1e-06, **names: Unpack[ByDimDimsAxes]) -> Self:
        """In place: x divided by its root mean square along `axis`: x / √(mean(x²) + eps).

        rmsnorm(f32[2, 3]) → f32[2, 3]
        rmsnorm(f32[2, 3, 4], -1) → f32[2, 3, 4]
        """
        with writing:
            return self._update(self.rmsnorm(axis, eps, **names), "rmsnorm_")

    def roll_(self, shifts: Sizes, dims: Axis = None, **names: Unpack[ByDimAxisAxes]) -> Self:
        """In place: Shifts elements along axes; elements that leave at one end come in at the
        other.

        Without `dims` the flattened tensor is rolled.

        roll(f32[2, 3], 1) → f32[2, 3]
        roll(f32[2, 3], -1, 1) → f32[2, 3]
        """
        with writing:
            return self._update(self.roll(shifts, dims, **names), "roll_")

    def round_(self, decimals: int = 0, out: Any | None = None) -> Self:
        """In place: The nearest whole number, halves to even; with `decimals` the nearest such
        fraction.

        round(f32[2, 3]) → f32[2, 3]
        round(f32[]) → f32[]
        """
        with writing:
            return self._update(self.round(decimals, out), "round_")

    def rshift_(self, other: Operand) -> Self:
        """In place: `x >> y`, keeping the sign."""
        with writing:
            return self._update(self.rshift(other), "rshift_")

    def rsqrt_(self) -> Self:
        """In place: `1 / sqrt(x)`."""
        with writing:
            return self._update(self.rsqrt(), "rsqrt_")

    def scan_max_(self, axis: int = 0, reverse: bool = False, **names: Unpack[ByDim]) -> Self:
        """In place: Running maximum along an axis; the gradient goes to the latest of equal
        elements.

        scan_max(f32[2, 3], 1) → f32[2, 3]
        scan_max(f32[2, 3], 0) → f32[2, 3]
        """
        with writing:
            return self._update(self.scan_max(axis, reverse, **names), "scan_max_")

    def scan_min_(self, axis: int = 0, reverse: bool = False, **names: Unpack[ByDim]) -> Self:
        """In place: Running minimum along an axis; the gradient goes to the latest of equal
        elements.

        scan_min(f32[2, 3], 1) → f32[2, 3]
        scan_min(f32[2, 3], 0) → f32[2, 3]
        """
        with writing:
            return self._update(self.scan_min(axis, reverse, **names), "scan_min_")

    def scan_prod_(self, axis: int = 0, reverse: bool = False, **names: Unpack[ByDim]) -> Self:
        """In place: Running product along an axis; the gradient is right with zeros.

        scan_prod(f32[2, 3], 1) → f32[2, 3]
        scan_prod(f32[2, 3], 0) → f32[2, 3]
        """
        with writing:
            return self._update(self.scan_prod(axis, reverse, **names), "scan_prod_")

    def scan_sum_(self, axis: int = 0, reverse: bool = False, **names: Unpack[ByDim]) -> Self:
        """In place: Running sum along an axis.

        scan_sum(f32[2, 3], 1) → f32[2, 3]
        scan_sum(f32[2, 3], 0) → f32[2, 3]
        """
        with writing:
            return self._update(self.scan_sum(axis, reverse, **names), "scan_sum_")

    def scatter_(
        self,
        dim: int,
        index: Operand,
        src: Operand,
        reduce: str | None = None,
        **names: Unpack[ByAxis],
    ) -> Self:
        """In place: x with `src` written (or added, multiplied) at `index` along `dim`; of equal
        indices the last stays.

        scatter(f32[4, 3], 0, i32[2, 3], f32[2, 3]) → f32[4, 3]
        scatter(f32[4, 3], 1, i32[2, 3], f32[4, 3], reduce="add") → f32[4, 3]
        """
        with writing:
            return self._update(self.scatter(dim, index, src, reduce, **names), "scatter_")

    def scatter_add_(self, dim: int, index: Operand, src: Operand, **names: Unpack[ByAxis]) -> Self:
        """In place: x with `src` added at `index` along `dim`; repeated indices accumulate.

        scatter_add(f32[4, 3], 1, i32[2, 3], f32[4, 3]) → f32[4, 3]
        scatter_add(f32[4], 0, i32[6], f32[6]) → f32[4]
        """
        with writing:
            return self._update(self.scatter_add(dim, index, src, **names), "scatter_add_")

    def scatter_reduce_(
        self,
        dim: int,
        index: Operand,
        src: Operand,
        reduce: str,
        include_self: bool = True,
        **names: Unpack[ByAxis],
    ) -> Self:
        """In place: Each place of x with the values of `src` sent there reduced: sum, prod, mean,
        amax, amin.

        Without `include_self` the old value takes no part; places that get nothing keep it. A mean
        of integers is rounded down.

        dim: the axis, counted from the end if it is negative

        scatter_reduce(f32[4, 3], 0, i32[3, 3], f32[3, 3], "sum", True) → f32[4, 3]
        scatter_reduce(f32[4, 3], 0, i32[3, 3], f32[3, 3], "sum", False) → f32[4, 3]
        """
        with writing:
            return self._update(
                self.scatter_reduce(dim, index, src, reduce, include_self, **names),
                "scatter_reduce_",
            )

    def selu_(self, alpha: float = 1.67326, gamma: float = 1.0507) -> Self:
        """In place: `gamma * elu(x, alpha)`.

        selu(f32[2, 3]) → f32[2, 3]
        selu(f32[]) → f32[]
        """
        with writing:
            return self._update(self.selu(alpha, gamma), "selu_")

    def sigmoid_(self) -> Self:
        """In place: Logistic function `1 / (1 + exp(-x))`."""
        with writing:
            return self._update(self.sigmoid(), "sigmoid_")

    def sign_(self) -> Self:
        """In place: -1, 0 or 1 by the sign of x; NaN stays NaN."""
        with writing:
            return self._update(self.sign(), "sign_")

    def signbit_(self) -> Self:
        """In place: Whether the sign is negative; that of -0.0 is."""
        with writing:
            return self._update(self.signbit(), "signbit_")

    def silu_(self) -> Self:
        """In place: `x * sigmoid(x)`; 0 at -inf."""
        with writing:
            return self._update(self.silu(), "silu_")

    def sin_(self) -> Self:
        """In place: Sine."""
        with writing:
            return self._update(self.sin(), "sin_")

    def sinc_(self) -> Self:
        """In place: `sin(πx) / (πx)`, 1 at 0."""
        with writing:
            return self._update(self.sinc(), "sinc_")

    def sinh_(self) -> Self:
        """In place: Hyperbolic sine."""
        with writing:
            return self._update(self.sinh(), "sinh_")

    def smooth_root_(self, p: float = 2.0) -> Self:
        """In place: The p-th root, with derivative 0 at 0, where the true derivative is infinite.

        smooth_root(f32[2, 3]) → f32[2, 3]
        smooth_root(f32[]) → f32[]
        """
        with writing:
            return self._update(self.smooth_root(p), "smooth_root_")

    def softmax_(
        self,
        axis: Axis = -1,
        dtype: DTypeLike | None = None,
        **names: Unpack[ByDimDimsAxes],
    ) -> Self:
        """In place: `exp(x)` divided by its sum along `axis`, without overflow.

        softmax(f32[2, 3]) → f32[2, 3]
        softmax(f32[2, 3], 0) → f32[2, 3]
        """
        with writing:
            return self._update(self.softmax(axis, dtype, **names), "softmax_")

    def softmin_(
        self,
        axis: Axis = -1,
        dtype: DTypeLike | None = None,
        **names: Unpack[ByDimDimsAxes],
    ) -> Self:
        """In place: The softmax of -x.

        axis: the axis or axes, counted from the end if negative

        softmin(f32[2, 3]) → f32[2, 3]
        softmin(f32[2, 3], 0) → f32[2, 3]
        """
        with writing:
            return self._update(self.softmin(axis, dtype, **names), "softmin_")

    def softplus_(self, beta: float = 1.0) -> Self:
        """In place: `log(1 + exp(beta * x)) / beta`, without overflow.

        softplus(f32[2, 3]) → f32[2, 3]
        softplus(f32[]) → f32[]
        """
        with writing:
            return self._update(self.softplus(beta), "softplus_")

    def softshrink_(self, lambd: float = 0.5) -> Self:
        """In place: x moved towards 0 by `lambd`, and 0 where it would cross it.

        softshrink(f32[2, 3]) → f32[2, 3]
        softshrink(f32[]) → f32[]
        """
        with writing:
            return self._update(self.softshrink(lambd), "softshrink_")

    def softsign_(self) -> Self:
        """In place: `x / (1 + |x|)`; ±1 at ±inf."""
        with writing:
            return self._update(self.softsign(), "softsign_")

    def sqrt_(self) -> Self:
        """In place: Square root; √'(0) = inf."""
        with writing:
            return self._update(self.sqrt(), "sqrt_")

    def square_(self) -> Self:
        """In place: `x * x`."""
        with writing:
            return self._update(self.square(), "square_")

    def sub_(self, other: Operand) -> Self:
        """In place: Difference `x - y`."""
        with writing:
            return self._update(self.sub(other), "sub_")

    def swish_(self) -> Self:
        """In place: `x * sigmoid(x)`; 0 at -inf."""
        with writing:
            return self._update(self.swish(), "swish_")

    def tan_(self) -> Self:
        """In place: Tangent."""
        with writing:
            return self._update(self.tan(), "tan_")

    def tanh_(self) -> Self:
        """In place: Hyperbolic tangent."""
        with writing:
            return self._update(self.tanh(), "tanh_")

    def tanhshrink_(self) -> Self:
        """In place: `x - tanh(x)`."""
        with writing:
            return self._update(self.tanhshrink(), "tanhshrink_")

    def threefry_(self, other: Operand) -> Self:
        """In place: Threefry-2x32-20 of 64-bit counters under 64-bit keys."""
        with writing:
            return self._update(self.threefry(other), "threefry_")

    def threshold_(self, threshold: float, value: float) -> Self:
        """In place: x where it is above `threshold`, else `value`.

        threshold(f32[2, 3], 0.5, -2.0) → f32[2, 3]
        threshold(f32[], 0.1, 1.5) → f32[]
        """
        with writing:
            return self._update(self.threshold(threshold, value), "threshold_")

    def tril_(self, diagonal: int = 0) -> Self:
        """In place: The lower triangle of the matrices in the last two axes, zero above the
        diagonal.

        tril(f32[3, 3]) → f32[3, 3]
        tril(f32[3, 4], 1) → f32[3, 4]
        """
        with writing:
            return self._update(self.tril(diagonal), "tril_")

    def triu_(self, diagonal: int = 0) -> Self:
        """In place: The upper triangle of the matrices in the last two axes, zero below the
        diagonal.

        triu(f32[3, 3]) → f32[3, 3]
        triu(f32[3, 4], 1) → f32[3, 4]
        """
        with writing:
            return self._update(self.triu(diagonal), "triu_")

    def true_div_(self, other: Operand) -> Self:
        """In place: Quotient `x / y`; integers are divided as floats."""
        with writing:
            return self._update(self.true_div(other), "true_div_")

    def trunc_(self) -> Self:
        """In place: x without its fraction."""
        with writing:
            return self._update(self.trunc(), "trunc_")

    def xlogy_(self, other: Operand) -> Self:
        """In place: `x * log(other)`, 0 where x is 0 unless the other is NaN."""
        with writing:
            return self._update(self.xlogy(other), "xlogy_")
