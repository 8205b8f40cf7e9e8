"""The standard's elementwise functions, each a record under the standard's name.

One of the two operands of a binary function may be a Python number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.errors import DTypeError
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.tensor.array_api.calls import Number, named, tensor_of
from adjoint.tensor.tensor import Tensor, lift

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]

Operand = Tensor | Number
Unary = Callable[[Tensor], Tensor]
Binary = Callable[[Operand, Operand], Tensor]


def _unary(name: str, op: str = "") -> Unary:
    record = OPS[op or name]

    def function(x: Tensor, /) -> Tensor:
        return lift(record, (tensor_of(name, x),), None)

    return named(function, name, record.doc, __name__)


def _binary(name: str, op: str = "") -> Binary:
    record = OPS[op or name]

    def function(x1: Operand, x2: Operand, /) -> Tensor:
        if type(x1) is not Tensor and type(x2) is not Tensor:
            x1, x2 = _one_tensor(name, x1, x2)
        return lift(record, (x1, x2), None)

    return named(function, name, record.doc, __name__)


def _one_tensor(op: str, x1: Any, x2: Any) -> tuple[Any, Any]:
    """Neither is a Tensor: a NumPy array will do for one of them, two numbers will not."""
    if isinstance(x1, (bool, int, float, complex)):
        return x1, tensor_of(op, x2)
    return tensor_of(op, x1), x2


abs = _unary("abs")
acos = _unary("acos")
acosh = _unary("acosh")
add = _binary("add")
asin = _unary("asin")
asinh = _unary("asinh")
atan = _unary("atan")
atan2 = _binary("atan2")
atanh = _unary("atanh")
bitwise_and = _binary("bitwise_and")
bitwise_invert = _unary("bitwise_invert", "bitwise_not")
bitwise_left_shift = _binary("bitwise_left_shift", "lshift")
bitwise_or = _binary("bitwise_or")
bitwise_right_shift = _binary("bitwise_right_shift", "rshift")
bitwise_xor = _binary("bitwise_xor")
ceil = _unary("ceil")
conj = _unary("conj")
copysign = _binary("copysign")
cos = _unary("cos")
cosh = _unary("cosh")
divide = _binary("divide", "true_div")
equal = _binary("equal", "eq")
exp = _unary("exp")
expm1 = _unary("expm1")
floor = _unary("floor")
floor_divide = _binary("floor_divide", "floordiv")
hypot = _binary("hypot")
imag = _unary("imag")
isfinite = _unary("isfinite")
isinf = _unary("isinf")
isnan = _unary("isnan")
less = _binary("less", "lt")
less_equal = _binary("less_equal", "le")
log = _unary("log")
log1p = _unary("log1p")
log2 = _unary("log2")
log10 = _unary("log10")
logaddexp = _binary("logaddexp")
logical_and = _binary("logical_and")
logical_not = _unary("logical_not")
logical_or = _binary("logical_or")
logical_xor = _binary("logical_xor")
maximum = _binary("maximum")
minimum = _binary("minimum")
multiply = _binary("multiply", "mul")
negative = _unary("negative", "neg")
nextafter = _binary("nextafter")
not_equal = _binary("not_equal", "ne")
positive = _unary("positive")
pow = _binary("pow")
real = _unary("real")
reciprocal = _unary("reciprocal")
remainder = _binary("remainder", "mod")
round = _unary("round")
signbit = _unary("signbit")
sin = _unary("sin")
sinh = _unary("sinh")
sqrt = _unary("sqrt")
square = _unary("square")
subtract = _binary("subtract", "sub")
tan = _unary("tan")
tanh = _unary("tanh")
trunc = _unary("trunc")


def greater(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether `x1 > x2`."""
    return less(x2, x1)


def greater_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether `x1 >= x2`."""
    return less_equal(x2, x1)


def sign(x: Tensor, /) -> Tensor:
    """-1, 0 or 1 by the sign of x; of a complex number, the number of size 1 in its direction."""
    x = tensor_of("sign", x)
    if not x.dtype.is_complex:
        return lift(OPS["sign"], (x,), None)
    return lift(_direction, (x,), None)


def _direction(x: UOp) -> UOp:
    size = x.abs()
    zero = size.eq(0)
    return zero.where(0, x / zero.where(1, size))


def clip(x: Tensor, /, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """The values, none below `min` or above `max`; dtype as x, NaN stays NaN."""
    x = tensor_of("clip", x)
    low, high = (_bound(x, b) for b in (min, max))
    if low is None and high is None:
        return positive(x)
    return lift(OPS["clamp"], (x, low, high), None)


def _bound(x: Tensor, bound: Any) -> Any:
    """A bound in the dtype of x, whatever it was given in."""
    if bound is None or isinstance(bound, (bool, int)):
        return bound
    if isinstance(bound, (float, complex)):
        if not x.dtype.is_inexact:
            problem = f"a bound of {x.dtype.name} values is an integer, got {bound!r}"
            raise DTypeError("E2001", problem, op="clip", operands=[("x", x)])
        return bound
    return lift(OPS["cast"], (tensor_of("clip", bound), x.dtype), None)
