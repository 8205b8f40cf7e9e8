"""An evaluator of scalar kernel nodes made of basic ops, on NumPy vectors, exact to the bit.

FMA rounds once: of float32 through float64 with rounding to odd, of float64 by the sum of an exact
product (Boldo and Melquiond), or by libm's `fma` where that might over- or underflow.
"""

import ctypes
import ctypes.util

import numpy as np

from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import toposort

_LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
_LIBM.fma.restype = ctypes.c_double
_LIBM.fma.argtypes = [ctypes.c_double] * 3
_libm_fma = np.frompyfunc(_LIBM.fma, 3, 1)


def leaf(position, dtype):
    """A kernel node that stands for one element of an operand."""
    return OPS["load"](OPS["define_global"](position, f"x{position}", False, dtype), 0)


def evaluate(node, values):
    """The value of a node, given NumPy vectors for leaves."""
    known = dict(values)
    with np.errstate(all="ignore"):
        for n in toposort([node], stop=known.__contains__):
            if n not in known:
                known[n] = _value(n, [known[s] for s in n.src])
                kind = known[n].dtype
                assert kind == n.dtype.np, f"{n.op.name}: {kind} is not {n.dtype.np}"
    return known[node]


def count(node, leaves):
    """How many nodes compute it: constants and leaves are free."""
    nodes = toposort([node], stop=set(leaves).__contains__)
    return sum(n.op.name != "const" and n not in leaves for n in nodes)


def _value(node, operands):
    name, kind = node.op.name, node.dtype
    if name == "const":
        return np.array([node.arg.value]).astype(kind.np)
    assert name in _BASIC, f"{name} is no basic op"
    assert name in _CASTS or not any(s.dtype in _NARROW for s in node.src)
    _check(name, node.src[0].dtype)
    if name in _CASTS:
        return _CASTS[name](operands[0], node.src[0].dtype, kind)
    return np.asarray(_BASIC[name](*operands))


_NARROW = (dtypes.float16, dtypes.bfloat16)
_ONLY = {  # the kinds of operands that renderers know beside those that every op has
    **dict.fromkeys(("idiv", "fmod", "lshift", "rshift"), "iu"),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"), "iu"),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor", "logical_not"), "b"),
    **dict.fromkeys(("fma", "true_div", "inverse", "sqrt", "floor", "ceil", "trunc", "round"), "f"),
    "copysign": "f",
}


def _check(name, kind):
    allowed = _ONLY.get(name, "b" if name == "where" else "iuf")
    assert name in _CASTS or kind.kind in allowed, f"{name} of {kind.name}"


def _cast(x, source, target):
    if target in _NARROW or source in _NARROW:
        assert dtypes.float32 in (source, target), "narrow floats are cast from and to float32"
    if source.is_float and target.is_int:
        inner = np.trunc(x.astype(np.longdouble))
        assert np.all((inner >= target.min) & (inner <= target.max)), "outside the integers"
    return x != 0 if target.is_bool else x.astype(target.np)


def _bitcast(x, source, target):
    assert source.itemsize == target.itemsize
    return x.view(target.np)


def _idiv(a, b):
    assert np.all(b != 0)
    assert a.dtype.kind == "u" or np.all((b != -1) | (a != np.iinfo(a.dtype).min))
    quotient = a // b
    return quotient + ((quotient < 0) & (quotient * b != a)).astype(a.dtype)


def _shift(function):
    def shift(x, n):
        assert np.all((n >= 0) & (n < x.dtype.itemsize * 8))
        return function(x, n)

    return shift


def _toward_odd(total, lost):
    """A rounded float64 sum as rounding to odd would have it, given what was rounded away."""
    raw = total.view(np.int64)
    away = (lost > 0) == (total > 0)
    moved = np.where(away, raw + 1, raw - 1).view(np.float64)
    change = (lost != 0) & (raw & 1 == 0) & np.isfinite(total)
    moved = np.where(total == 0, total, moved)
    return np.where(change, moved, total)


def _two_sum(a, b):
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _two_product(a, b):
    ah, bh = ((134217729.0 * v) - ((134217729.0 * v) - v) for v in (a, b))
    al, bl = a - ah, b - bh
    product = a * b
    return product, ((ah * bh - product) + ah * bl + al * bh) + al * bl


def _fma(a, b, c):
    a, b, c = np.broadcast_arrays(a, b, c)
    if a.dtype == np.float32:
        wide = a.astype(np.float64) * b.astype(np.float64)
        total, lost = _two_sum(wide, c.astype(np.float64))
        return _toward_odd(total, np.where(np.isfinite(total), lost, 0)).astype(np.float32)
    product, product_low = _two_product(a, b)
    u, u_low = _two_sum(c, product_low)
    t, t_low = _two_sum(product, u)
    value = t + _toward_odd(*_two_sum(t_low, u_low))
    risky = ~_moderate(a) | ~_moderate(b) | ~_moderate(c) | ~_moderate(value)
    if risky.any():
        value[risky] = _libm_fma(a[risky], b[risky], c[risky]).astype(np.float64)
    return value


def _moderate(x):
    return (np.abs(x) > 1e-120) & (np.abs(x) < 1e120)


def _inverse(x):
    assert np.all(np.isnan(x) | ((np.abs(x) >= 2.0**-60) & (np.abs(x) <= 2.0**60)))
    return np.true_divide(x.dtype.type(1), x)


_CASTS = {"cast": _cast, "bitcast": _bitcast}
_BASIC = _CASTS | {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": np.negative,
    "fma": _fma,
    "true_div": np.true_divide,
    "inverse": _inverse,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
    "copysign": np.copysign,
    "idiv": _idiv,
    "fmod": np.fmod,
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "logical_not": np.logical_not,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "bitwise_not": np.invert,
    "lshift": _shift(np.left_shift),
    "rshift": _shift(np.right_shift),
    "where": np.where,
}
