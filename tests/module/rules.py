"""A module for every gradient rule, in every broadcasting pattern, each ending in a scalar.

The values are f64, so that finite differences tell right from wrong.
"""

import numpy as np

from adjoint.module import parse

_rng = np.random.default_rng(3)
PATTERNS = [
    ((), ()),
    ((2, 3), (2, 3)),
    ((), (2, 3)),
    ((3,), (2, 3)),
    ((2, 1), (2, 3)),
    ((1, 3), (2, 1)),
    ((1, 1), (3,)),
    ((2, 1, 3), (4, 1)),
    ((1,), ()),
]


def _kind(shape, dtype="f64"):
    return f"Tensor<{dtype}, {list(shape)}>"


def module(inputs, *lines, weighted=True):
    """Inputs, then lines `(body, shape)`; `{k}` in a body is the k-th value. The last value, times
    weights that differ, is summed."""
    rows = [
        f'%{i} = Input() {{name: "x{i}"}} : {_kind(shape, dtype)}'
        for i, (shape, dtype) in enumerate(inputs)
    ]
    for body, shape in lines:
        rows.append(f"%{len(rows)} = {body} : {_kind(shape)}")
    last, shape = len(rows) - 1, lines[-1][1]
    if weighted:
        rows.append(f"%{last + 1} = ConstTensor({_weights(shape)}) : {_kind(shape)}")
        rows.append(f"%{last + 2} = BinOp(Mul, %{last}, %{last + 1}) : {_kind(shape)}")
        last += 2
    if shape:
        rows.append(f"%{last + 1} = Sum(%{last}, [], false) : {_kind(())}")
        last += 1
    return parse("\n".join([*rows, f"outputs: %{last}"]))


def _weights(shape):
    values = np.linspace(0.5, 1.5, int(np.prod(shape))) if shape else np.array([0.75])
    return str(values.reshape(shape).tolist())


def real(*shape):
    return np.asarray(_rng.uniform(0.4, 1.6, shape) * _rng.choice([-1, 1], shape))


def positive(*shape):
    return np.asarray(_rng.uniform(0.4, 1.6, shape))


def _f64(*shapes):
    return [(shape, "f64") for shape in shapes]


def _binary():
    for op in ("Add", "Sub", "Mul", "Div"):
        for a, b in PATTERNS:
            shape = np.broadcast_shapes(a, b)
            made = module(_f64(a, b), (f"BinOp({op}, %0, %1)", shape))
            yield f"{op} {list(a)} {list(b)}", made, [real(*a), positive(*b)]
        yield (
            f"{op} of one value",
            module(_f64((2, 3)), (f"BinOp({op}, %0, %0)", (2, 3))),
            [positive(2, 3)],
        )


def _unary():
    for op in ("Neg", "Exp", "Log", "Relu"):
        value = positive(2, 3) if op == "Log" else real(2, 3)
        yield op, module(_f64((2, 3)), (f"{op}(%0)", (2, 3))), [value]
        scalar = positive() if op == "Log" else real()
        yield f"{op} of a scalar", module(_f64(()), (f"{op}(%0)", ())), [scalar]


def _reductions():
    shape = (2, 3, 4)
    for op in ("Sum", "Mean"):
        for axes in ((), (0,), (1,), (-1,), (0, 2), (1, 2), (0, 1, 2)):
            for kept in ("false", "true"):
                taken = {a % 3 for a in axes}
                rest = tuple(n for i, n in enumerate(shape) if i not in taken)
                out = tuple(1 if i in taken else n for i, n in enumerate(shape))
                out = () if not axes else out if kept == "true" else rest
                body = f"{op}(%0, {list(axes)}, {kept})"
                yield body, module(_f64(shape), (body, out)), [real(*shape)]
        yield f"{op} of a scalar", module(_f64(()), (f"{op}(%0, [], false)", ())), [real()]
        one = module(_f64((1, 3)), (f"{op}(%0, [0], false)", (3,)))
        yield f"{op} over an extent of 1", one, [real(1, 3)]


def _layout():
    x = _f64((2, 3, 4))
    for body, shape in [
        ("Reshape(%0, [4, 6])", (4, 6)),
        ("Reshape(%0, [-1])", (24,)),
        ("Transpose(%0, [2, 0, 1])", (4, 2, 3)),
        ("ExpandDims(%0, [0, 2])", (1, 2, 1, 3, 4)),
        ("ExpandDims(%0, [-1])", (2, 3, 4, 1)),
        ("Index(%0, [1, 0, 3])", ()),
        ("Slice(%0, [0:2, 1:3, 0:4:3])", (2, 2, 2)),
        ("Slice(%0, [1:-1:-1, 0:3:2, 3:0:-2])", (2, 2, 2)),
        ("Broadcast(%0, [2, 2, 3, 4])", (2, 2, 3, 4)),
        ("ScatterSlice(%0, [5, 3, 9], [1:5:3, 0:3, 8:0:-2])", (5, 3, 9)),
    ]:
        yield body, module(x, (body, shape)), [real(2, 3, 4)]
    squeezed = module(_f64((1, 3, 1)), ("Squeeze(%0, [0, 2])", (3,)))
    yield "Squeeze", squeezed, [real(1, 3, 1)]
    spread = module(_f64((3, 1)), ("Broadcast(%0, [2, 3, 4])", (2, 3, 4)))
    yield "Broadcast of a column", spread, [real(3, 1)]
    placed = module(_f64(()), ("ScatterIndex(%0, [2, 3], [1, 2])", (2, 3)))
    yield "ScatterIndex", placed, [real()]


def _rows():
    for shape in ((2,), (2, 2), ()):
        index = np.array([1, 3, 1, 1][: int(np.prod(shape))]).reshape(shape)
        inputs = [((4, 3), "f64"), (shape, "i64")]
        made = module(inputs, ("Gather(%0, %1)", (*shape, 3)))
        yield f"Gather {list(shape)}", made, [real(4, 3), index]
    inputs = [((4, 3), "f64"), ((5,), "i64"), ((5, 3), "f64")]
    made = module(inputs, ("ScatterAdd(%0, %1, %2)", (4, 3)))
    yield "ScatterAdd", made, [real(4, 3), np.array([0, 2, 2, 3, 2]), real(5, 3)]
    both = module(_f64((2, 3), (2, 3)), ("ReluGrad(%0, %1)", (2, 3)))
    yield "ReluGrad", both, [real(2, 3), real(2, 3)]


def _products():
    for a, b, out in [((3,), (3,), ()), ((2, 3), (3,), (2,)), ((3,), (3, 4), (4,)),
                      ((2, 3), (3, 4), (2, 4))]:  # fmt: skip
        yield f"Dot {a} {b}", module(_f64(a, b), ("Dot(%0, %1)", out)), [real(*a), real(*b)]
    for a, b in [((2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((5, 2, 3), (3, 4)),
                 ((2, 3), (5, 3, 4)), ((5, 1, 2, 3), (2, 3, 4)),
                 ((1, 2, 3), (1, 3, 4))]:  # fmt: skip
        out = np.matmul(np.zeros(a), np.zeros(b)).shape
        yield f"MatMul {a} {b}", module(_f64(a, b), ("MatMul(%0, %1)", out)), [real(*a), real(*b)]


CONVOLUTIONS = [
    ("[1, 1], Same", (5, 4)),
    ("[2, 1], Same", (3, 4)),
    ("[1, 1], Valid", (3, 3)),
    ("[2, 3], Valid", (2, 1)),
    ("[2, 2], Custom([[2, 1], [0, 3]])", (3, 3)),
]


def _convolutions():
    x, w = (2, 5, 4, 2), (3, 2, 2, 3)
    for attributes, (height, width) in CONVOLUTIONS:
        out = (2, height, width, 3)
        body = f"Conv2d(%0, %1, {attributes})"
        yield body, module(_f64(x, w), (body, out)), [real(*x), real(*w)]
        body = f"Conv2dBackwardInput(%0, %1, {list(x)}, {attributes})"
        yield body, module(_f64(out, w), (body, x)), [real(*out), real(*w)]
        body = f"Conv2dBackwardFilter(%0, %1, {list(w)}, {attributes})"
        yield body, module(_f64(x, out), (body, w)), [real(*x), real(*out)]


def _networks():
    lines = [
        ("MatMul(%0, %1)", (4, 5)),
        ("BinOp(Add, %3, %2)", (4, 5)),
        ("Exp(%4)", (4, 5)),
        ("Sum(%5, [1], true)", (4, 1)),
        ("BinOp(Div, %5, %6)", (4, 5)),
        ("Log(%7)", (4, 5)),
        ("BinOp(Mul, %7, %8)", (4, 5)),
    ]
    yield "entropy", module(_f64((4, 3), (3, 5), (5,)), *lines), [real(4, 3), real(3, 5), real(5)]


_GROUPS = (_binary, _unary, _reductions, _layout, _rows, _products, _convolutions, _networks)
RULES = {name: (made, values) for group in _GROUPS for name, made, values in group()}
