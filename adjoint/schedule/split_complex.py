"""Complex arithmetic as arithmetic of real parts, so that kernels can compute it.

Before: c = mul(a, b) of complex64.
After: re = ar*br - ai*bi and im = ar*bi + ai*br of float32, read from and written to the memory of
complex numbers, which has both parts adjacent.

The host computes what has no rule here (functions of complex numbers, products over an axis, linear
algebra). A division is scaled (Smith's algorithm), as NumPy's is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.ir.arg import thawed
from adjoint.ir.dtype import DType, dtypes, real_of
from adjoint.ir.kernel_kind import CONSTANT
from adjoint.ir.opdef import OPS
from adjoint.ir.origin import origin_scope
from adjoint.ir.uop import UOp, rebuild, toposort
from adjoint.ops.movement import sliced

Pair = tuple[UOp, UOp]


def split_complex(roots: Sequence[UOp]) -> list[UOp]:
    """The roots over a graph in which complex arithmetic is real."""
    order = toposort(roots)
    if not any(_is_complex(node) for node in order):
        return list(roots)
    parts = _Parts()
    for node in order:
        with origin_scope(node.raw_origin):
            parts.visit(node)
    return [parts.whole(root) for root in roots]


def _is_complex(node: UOp) -> bool:
    return isinstance(node.dtype, DType) and node.dtype.is_complex


class _Parts:
    """What became of each node: a node, or for complex values the two parts, or both."""

    def __init__(self) -> None:
        self._whole: dict[UOp, UOp] = {}
        self._pair: dict[UOp, Pair] = {}
        self._packed: dict[Pair, UOp] = {}

    def visit(self, node: UOp) -> None:
        involved = _is_complex(node) or any(map(_is_complex, node.src))
        rule = _RULES.get(node.op.name) if involved else None
        found = None if rule is None else rule(self, node)
        if found is None:
            src = tuple(self.whole(s) for s in node.src)
            self._whole[node] = node if src == node.src else rebuild(node, src)
        elif isinstance(found, tuple):
            self._pair[node] = found
        else:
            self._whole[node] = found

    def is_stored(self, node: UOp) -> bool:
        """Whether the node is a value in memory, given or made by the host."""
        return node in self._whole and node.op.kernel is not CONSTANT

    def pair(self, node: UOp) -> Pair:
        """The real and the imaginary part."""
        if node not in self._pair:
            pair = self._pair[node] = _unpacked(self._whole[node])
            self._packed[pair] = self._whole[node]
        return self._pair[node]

    def whole(self, node: UOp) -> UOp:
        """The node as one."""
        if node not in self._whole:
            pair = self._pair[node]
            if pair not in self._packed:
                self._packed[pair] = _pack(*pair)
            self._whole[node] = self._packed[pair]
        return self._whole[node]


def _unpacked(x: UOp) -> Pair:
    """The memory of complex numbers as that of floats, every other one."""
    floats = x.reshape(x.size).bitcast(real_of(x.dtype)).reshape(*x.shape, 2)
    starts, steps = [0] * len(x.shape), [1] * (len(x.shape) + 1)
    re, im = (
        sliced(floats, (*starts, i), (*x.shape, i + 1), steps).reshape(x.shape) for i in (0, 1)
    )
    return re, im


def _pack(re: UOp, im: UOp) -> UOp:
    beside = [part.reshape(*part.shape, 1) for part in (re, im)]
    floats = OPS["cat"](*beside, dim=len(re.shape))
    kind = dtypes.complex64 if re.dtype is dtypes.float32 else dtypes.complex128
    return floats.reshape(floats.size).bitcast(kind).reshape(re.shape)


# ---- rules: a pair for a complex result, a node for a real one, None to leave it whole

Rule = Callable[[_Parts, UOp], Any]


def _of_pairs(combine: Callable[..., Any]) -> Rule:
    """A rule that needs only the parts of the operands."""
    return lambda p, node: combine(*(p.pair(s) for s in node.src))


def _on_parts(p: _Parts, node: UOp) -> Pair:
    """A linear op: each part by itself. Operands that are not complex are indices or tokens."""
    sides = [[p.pair(s)[i] if _is_complex(s) else p.whole(s) for s in node.src] for i in (0, 1)]
    re, im = (UOp(node.op, tuple(side), node.arg) for side in sides)
    return re, im


def _same_memory(p: _Parts, node: UOp) -> Any:
    """Contiguous memory need not be copied to be reinterpreted."""
    return None if p.is_stored(node.src[0]) else _on_parts(p, node)


def _constant(p: _Parts, node: UOp) -> Pair:
    value = complex(thawed(node.arg.value))
    kind = real_of(node.dtype)
    p._whole[node] = node
    re, im = (OPS["const"](v, kind, node.shape, node.device) for v in (value.real, value.imag))
    return re, im


def _product(a: Pair, b: Pair) -> Pair:
    (ar, ai), (br, bi) = a, b
    return ar * br - ai * bi, ar * bi + ai * br


def _quotient(a: Pair, b: Pair) -> Pair:
    """Divided by the larger part of b first, so that no intermediate value overflows."""
    (ar, ai), (br, bi) = a, b
    wide = br.abs() >= bi.abs()
    large, small = wide.where(br, bi), wide.where(bi, br)
    ratio = small / large
    scale = large + small * ratio
    re = wide.where(ar + ai * ratio, ar * ratio + ai) / scale
    im = wide.where(ai - ar * ratio, ai * ratio - ar) / scale
    zero = br.eq(0).logical_and(bi.eq(0))  # of either sign: infinite or NaN, by its absolute value
    return zero.where(ar / br.abs(), re), zero.where(ai / br.abs(), im)


def _reciprocal(p: _Parts, node: UOp) -> Pair:
    re, im = p.pair(node.src[0])
    one = OPS["const"](1.0, re.dtype, re.shape, re.device)
    zero = OPS["const"](0.0, re.dtype, re.shape, re.device)
    return _quotient((one, zero), (re, im))


def _contraction(p: _Parts, node: UOp) -> Pair:
    (ar, ai), (br, bi) = (p.pair(s) for s in node.src)
    spec = node.arg.spec
    re = ar.contract(br, spec) - ai.contract(bi, spec)
    return re, ar.contract(bi, spec) + ai.contract(br, spec)


def _cast(p: _Parts, node: UOp) -> Any:
    (x,) = node.src
    if not _is_complex(x):
        re = p.whole(x).cast(real_of(node.dtype))
        return re, OPS["const"](0.0, re.dtype, re.shape, re.device)
    re, im = p.pair(x)
    if _is_complex(node):
        return re.cast(real_of(node.dtype)), im.cast(real_of(node.dtype))
    return _is_true(p.pair(x)) if node.dtype.is_bool else None


def _is_true(x: Pair) -> UOp:
    return x[0].ne(0).logical_or(x[1].ne(0))


def _truth(p: _Parts, node: UOp) -> UOp:
    """ANY and ALL."""
    return UOp(node.op, (_is_true(p.pair(node.src[0])),), node.arg)


def _chosen(p: _Parts, node: UOp) -> Any:
    condition, a, b = node.src
    if _is_complex(condition) or not _is_complex(node):
        return None
    where = p.whole(condition)
    (ar, ai), (br, bi) = p.pair(a), p.pair(b)
    return where.where(ar, br), where.where(ai, bi)


def _padded(p: _Parts, node: UOp) -> Pair:
    value = complex(thawed(node.arg.value))
    re, im = p.pair(node.src[0])
    return (
        UOp(node.op, (re,), node.arg.replace(value=value.real)),
        UOp(node.op, (im,), node.arg.replace(value=value.imag)),
    )


def _scattered(p: _Parts, node: UOp) -> Any:
    return _on_parts(p, node) if node.arg.mode == "set" else None


_LINEAR = (
    "permute expand flip shrink window cat wait assign fold gather scatter_add scan_sum reduce_sum"
)
_SAME = "reshape detach contiguous contiguous_backward unique_identity copy shard"
_RULES: dict[str, Rule] = {
    **dict.fromkeys(_LINEAR.split(), _on_parts),
    **dict.fromkeys(_SAME.split(), _same_memory),
    "const": _constant,
    "complex": lambda p, node: tuple(p.whole(s) for s in node.src),
    "real": _of_pairs(lambda x: x[0]),
    "imag": _of_pairs(lambda x: x[1]),
    "conj": _of_pairs(lambda x: (x[0], -x[1])),
    "neg": _of_pairs(lambda x: (-x[0], -x[1])),
    "add": _of_pairs(lambda a, b: (a[0] + b[0], a[1] + b[1])),
    "sub": _of_pairs(lambda a, b: (a[0] - b[0], a[1] - b[1])),
    "mul": _of_pairs(_product),
    "true_div": _of_pairs(_quotient),
    "reciprocal": _reciprocal,
    "abs": _of_pairs(lambda x: OPS["hypot"](*x)),
    "eq": _of_pairs(lambda a, b: a[0].eq(b[0]).logical_and(a[1].eq(b[1]))),
    "ne": _of_pairs(lambda a, b: a[0].ne(b[0]).logical_or(a[1].ne(b[1]))),
    "isnan": _of_pairs(lambda x: x[0].isnan().logical_or(x[1].isnan())),
    "isinf": _of_pairs(lambda x: x[0].isinf().logical_or(x[1].isinf())),
    "isfinite": _of_pairs(lambda x: x[0].isfinite().logical_and(x[1].isfinite())),
    "logical_not": _of_pairs(lambda x: _is_true(x).logical_not()),
    "any": _truth,
    "all": _truth,
    "where": _chosen,
    "cast": _cast,
    "contract": _contraction,
    "pad_constant": _padded,
    "scatter": _scattered,
}
