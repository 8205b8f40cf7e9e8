"""Elementwise comparisons, logic, bits and WHERE."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, DTypeError, ShapeError
from adjoint.ir.axes import same_axes
from adjoint.ir.batch import same_op
from adjoint.ir.broadcast import align, broadcast_shapes, common_dtype, elementwise
from adjoint.ir.derivative import Diagonal, ZeroGradient
from adjoint.ir.dtype import DType, dtype_of_scalar, dtypes, promote
from adjoint.ir.kernel_kind import BASIC, Pointwise
from adjoint.ir.opdef import Bad, OpDef, define, derived
from adjoint.ir.precision import widest
from adjoint.ir.uop import UOp
from adjoint.ops.mathematics import exact
from adjoint.ops.mathematics.nodes import apply, both, either, negated, test
from adjoint.ops.samples import SPECIAL, binary, given, real, rough, unary, whole

_TRUTH = ZeroGradient("a truth value is piecewise constant")
_BITS = ZeroGradient("integers and booleans have no derivative")


def _to_bool(dtype: DType) -> DType:
    return dtypes.bool_


def _compare(name: str, doc: str, reference: Any, bounds: Any, **rest: Any) -> OpDef:
    return elementwise(
        name,
        doc,
        result=_to_bool,
        ad=_TRUTH,
        reference=reference,
        samples=binary(),
        bounds=bounds,
        body=BASIC,
        **rest,
    )


def _differ(a: UOp, b: UOp) -> UOp:
    """Whether one of two truth values holds and the other does not."""
    return apply("logical_xor", a, b)


def _decide(true: bool, false: bool) -> tuple[int, int]:
    return (1, 1) if true else (0, 0) if false else (0, 1)


lt = _compare(
    "lt",
    "Whether `x < y`.",
    np.less,
    lambda a, b: _decide(a[1] < b[0], a[0] >= b[1]),
    kinds="biuf",
    on_bool=lambda a, b: both(negated(a), b),
)
le = _compare(
    "le",
    "Whether `x <= y`.",
    np.less_equal,
    lambda a, b: _decide(a[1] <= b[0], a[0] > b[1]),
    kinds="biuf",
    on_bool=lambda a, b: either(negated(a), b),
)
eq = _compare(
    "eq",
    "Whether `x == y`.",
    np.equal,
    lambda a, b: _decide(a[0] == a[1] == b[0] == b[1], a[1] < b[0] or b[1] < a[0]),
    commutative=True,
    on_bool=lambda a, b: negated(_differ(a, b)),
)
ne = _compare(
    "ne",
    "Whether `x != y`.",
    np.not_equal,
    lambda a, b: _decide(a[1] < b[0] or b[1] < a[0], a[0] == a[1] == b[0] == b[1]),
    commutative=True,
    on_bool=_differ,
)


@derived(reference=np.greater, samples=binary(), kinds="biuf")
def gt(x: UOp, other: Any) -> UOp:
    """Whether `x > y`."""
    return x > other


@derived(reference=np.greater_equal, samples=binary(), kinds="biuf")
def ge(x: UOp, other: Any) -> UOp:
    """Whether `x >= y`."""
    return x >= other


def _is_zero(x: UOp) -> UOp:
    return test("eq", x, 0)


def _test(name: str, doc: str, reference: Any, body: Any) -> OpDef:
    return elementwise(
        name,
        doc,
        arity=1,
        result=_to_bool,
        ad=_TRUTH,
        body=body,
        on_bool=negated if body is _is_zero else None,
        exact=True,
        reference=reference,
        samples=unary(),
    )


isnan = _test("isnan", "Whether x is NaN.", np.isnan, exact.isnan)
isinf = _test("isinf", "Whether x is an infinity.", np.isinf, exact.isinf)
isfinite = _test(
    "isfinite", "Whether x is neither NaN nor an infinity.", np.isfinite, exact.isfinite
)
logical_not = _test("logical_not", "Whether x is zero.", np.logical_not, _is_zero)


def _logical(name: str, doc: str, reference: Any) -> OpDef:
    return elementwise(
        name,
        doc,
        cast=_to_bool,
        kinds="b",
        ad=_TRUTH,
        body=BASIC,
        reference=reference,
        samples=binary(),
        commutative=True,
    )


logical_and = _logical("logical_and", "Whether both are nonzero.", np.logical_and)
logical_or = _logical("logical_or", "Whether either is nonzero.", np.logical_or)
logical_xor = _logical("logical_xor", "Whether exactly one is nonzero.", np.logical_xor)


def _bitwise(
    name: str, doc: str, reference: Any, body: Any = BASIC, on_bool: Any = None, **rest: Any
) -> OpDef:
    options: dict[str, Any] = {"kinds": "biu", "commutative": True} | rest
    return elementwise(
        name,
        doc,
        ad=_BITS,
        body=body,
        on_bool=on_bool,
        reference=reference,
        samples=given(
            (whole(2, 3), whole(3, seed=1)),
            (whole(0, 3), whole(3, seed=1)),
            (whole(), 2),
        ),
        errors=(Bad("E2005", (real(2), real(2)), match="float"),),
        **options,
    )


def _and_bounds(a: tuple[int, int], b: tuple[int, int]) -> tuple[Any, Any]:
    if a[0] >= 0 and b[0] >= 0:
        return 0, min(a[1], b[1])
    return (-max(abs(v) for v in (*a, *b)) - 1) * 2, max(abs(v) for v in (*a, *b)) * 2 + 1


bitwise_and = _bitwise(
    "bitwise_and", "Bits set in both.", np.bitwise_and, on_bool=both, bounds=_and_bounds
)


def _or_bounds(a: tuple[int, int], b: tuple[int, int]) -> tuple[Any, Any]:
    width = max(v.bit_length() for v in (*a, *b))
    return (0 if a[0] >= 0 and b[0] >= 0 else -(1 << width)), (1 << width) - 1


bitwise_or = _bitwise(
    "bitwise_or", "Bits set in either.", np.bitwise_or, on_bool=either, bounds=_or_bounds
)
bitwise_xor = _bitwise(
    "bitwise_xor", "Bits set in exactly one.", np.bitwise_xor, on_bool=_differ, bounds=_or_bounds
)
bitwise_not = elementwise(
    "bitwise_not",
    "Bits inverted; for bool, logical not.",
    arity=1,
    kinds="biu",
    ad=_BITS,
    body=BASIC,
    on_bool=negated,
    reference=np.invert,
    samples=given((whole(2, 3),), (whole(),), (whole(0),)),
    errors=(Bad("E2005", (real(2),), match="float"),),
)


def _shift(left: bool) -> Any:
    """Shifts by the width or more give what shifting one bit at a time would."""

    def reference(x: Any, n: Any) -> Any:
        x, n = np.broadcast_arrays(x, n)
        width = x.dtype.itemsize * 8
        over = (n.astype(np.int64) >= width) | (n.astype(np.int64) < 0)
        safe = np.where(over, 0, n).astype(x.dtype)
        beyond = np.where((x < 0) & (not left), -1, 0).astype(x.dtype)
        return np.where(over, beyond, (np.left_shift if left else np.right_shift)(x, safe))

    return reference


_WIDEST = 64  # no dtype has more bits; shifting by more leaves the range of all of them anyway


def _lshift_bounds(a: tuple[int, int], n: tuple[int, int]) -> tuple[Any, Any]:
    if n[0] < 0 or n[1] > _WIDEST:
        return -(1 << _WIDEST), 1 << _WIDEST  # outside every dtype: anything
    values = [v << by for v in a for by in n]
    return min(values), max(values)


def _rshift_bounds(a: tuple[int, int], n: tuple[int, int]) -> tuple[Any, Any]:
    least = 0 if n[0] < 0 else min(n[0], _WIDEST)  # a negative amount shifts everything out
    most = _WIDEST if n[0] < 0 else min(n[1], _WIDEST)
    values = [v >> by for v in a for by in (least, most)]
    return min(values), max(values)


_ONE_WAY: dict[str, Any] = {"kinds": "iu", "commutative": False, "exact": True}
lshift = _bitwise(
    "lshift", "`x << y`.", _shift(True), exact.lshift, bounds=_lshift_bounds, **_ONE_WAY
)
rshift = _bitwise(
    "rshift",
    "`x >> y`, keeping the sign.",
    _shift(False),
    exact.rshift,
    bounds=_rshift_bounds,
    **_ONE_WAY,
)


def _where(cond: UOp, x: Any, other: Any) -> UOp:
    if not isinstance(cond, UOp):
        raise ArgumentError("E2001", "the condition is a tensor", op="where")
    dtype = _choice_dtype(x, other)
    if _is_torch_order(cond, x, dtype):
        problem = f"the condition is {cond.dtype.name} and a choice is bool"
        fix = "torch's x.where(condition, other) is condition.where(x, other)"
        raise DTypeError("E2005", problem, op="where", cond=cond, x=x, help=fix)
    a, b = (v if isinstance(v, UOp) else _plain(v, dtype, cond.device) for v in (x, other))
    test = cond if cond.dtype is dtypes.bool_ else cond.ne(0)
    shape = broadcast_shapes("where", test, a, b)
    if test.shape != shape:
        test = test.expand(shape)
    a, b = (v if v.shape == shape else v.expand(shape) for v in align_dtype(dtype, a, b))
    return UOp(where, (test, a, b))


def _is_torch_order(cond: UOp, x: Any, dtype: DType) -> bool:
    """Whether a condition stands where a choice between numbers should, and the other way round."""
    swapped = isinstance(x, UOp) and x.dtype is dtypes.bool_ and cond.dtype is not dtypes.bool_
    return swapped and dtype is not dtypes.bool_


def _choice_dtype(x: Any, other: Any) -> DType:
    if isinstance(x, UOp) or isinstance(other, UOp):
        return common_dtype("where", (x, other))
    return promote(dtype_of_scalar(x), dtype_of_scalar(other))


def _plain(value: Any, dtype: DType, device: Any) -> UOp:
    return UOp._apply("const", value, dtype, (), device)


def align_dtype(dtype: DType, *nodes: UOp) -> tuple[UOp, ...]:
    """The nodes cast to one dtype."""
    return tuple(n if n.dtype is dtype else n.cast(dtype) for n in nodes)


def _where_type(src: tuple[UOp, ...], arg: Any) -> tuple[Any, DType]:
    if len(src) != 3:
        raise ArgumentError("E2007", f"takes 3 operands, got {len(src)}", op="where")
    cond, a, b = src
    if cond.dtype is not dtypes.bool_ or a.dtype is not b.dtype:
        problem = "the condition is bool and both choices have one dtype"
        raise DTypeError("E2004", problem, op="where", cond=cond, x=a, other=b)
    align("where", (cond,), dtypes.bool_)
    if not cond.shape == a.shape == b.shape:
        broadcast_shapes("where", cond, a, b)
        raise ShapeError("E3003", "operands must have one shape here", op="where")
    return a.shape, a.dtype


def _where_bounds(c: tuple[int, int], a: tuple[int, int], b: tuple[int, int]) -> tuple[Any, Any]:
    if c[0] == c[1]:
        return a if c[0] else b
    return min(a[0], b[0]), max(a[1], b[1])


where = define(
    "where",
    "`x` where the condition holds, else `other`: `cond.where(x, other)`.",
    call=_where,
    infer=_where_type,
    ad=Diagonal(lambda d, y, c, a, b: (None, c.where(d, 0), c.where(0, d))),
    reference=lambda c, a, b: np.where(np.asarray(c) != 0, a, b),
    samples=given(
        (real(2, 3) > 0, real(2, 3, seed=1), real(2, 3, seed=2)),
        (real(3) > 0, real(2, 1, seed=1), real(seed=2)),
        (real(2, 3) > 0, real(2, 3, seed=1), 0),
        (real(0, 3) > 0, real(3), 1.5),
        rough(np.isnan(SPECIAL), 0.0, SPECIAL),
    ),
    errors=(
        Bad("E3001", (real(2) > 0, real(3), real(3)), match="dimension 0"),
        Bad("E2005", (real(3), real(3) > 0, 0.0), match="condition.where(x, other)"),
    ),
    bounds=_where_bounds,
    level="both",
    batch=same_op,
    kernel=Pointwise(body=BASIC, rounds=False),
    axes=same_axes,
    precision=widest,
)


def copied(node: UOp) -> UOp:
    """The same values in other memory, for every dtype."""
    always = UOp._apply("const", True, dtypes.bool_, node.shape, node.device)
    return UOp(where, (always, node, node))


def is_copy(node: UOp) -> bool:
    """Whether a node is such a copy."""
    return node.op is where and node.src[1] is node.src[2] and not node.src[0].src


def with_question(node: UOp, question: UOp) -> UOp:
    """The same values, for a kernel that may look at the answer to a question too: one bool."""
    spread = question.reshape((1,) * len(node.shape)).expand(node.shape)
    return UOp(where, (spread, node, node))


def question_of(node: UOp) -> UOp | None:
    """The question that comes with a node; None for all others."""
    if node.op is not where or node.src[1] is not node.src[2]:
        return None
    asked = node.src[0]
    while asked.op.name in ("expand", "reshape"):
        asked = asked.src[0]
    return asked if asked.size == 1 and asked.src else None
