"""The calls that random programs are made of, by family, with how often each is drawn.

A family is a function that adds one call, or a few, to a growing program; where nothing fits it
adds none. What may live here: the families.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, prod
from typing import Any

from tests.fuzz.growing import INTS, Graph, Value
from tests.fuzz.program import EPS, FLOATS, REAL

EXACT_UNARY = ("neg", "abs", "relu", "square", "relu6", "leaky_relu", "hardtanh", "sign", "floor")
EXACT_UNARY += ("ceil", "round", "trunc", "softsign")
SMOOTH = ("sin", "cos", "tanh", "sigmoid", "erf", "atan", "asinh", "silu", "gelu", "softplus")
SMOOTH += ("logsigmoid", "mish", "quick_gelu", "elu", "celu", "swish", "tanhshrink")
KINKED = ("abs", "relu", "relu6", "leaky_relu", "hardtanh", "sign", "floor", "ceil", "round")
KINKED += ("trunc", "softsign")
POSITIVE = ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "lgamma", "digamma")
COMPARE = ("lt", "le", "gt", "ge", "eq", "ne")
MOVES = ("reshape", "permute", "expand", "flip", "shrink", "pad", "cat", "stack", "slice")
MOVES += ("transpose", "unsqueeze", "squeeze", "flatten", "roll", "repeat", "triangle", "split")


# ---- elementwise


def unary(g: Graph) -> None:
    """A function of one float value, smooth or exact."""
    x = g.real()
    if x is None:
        return
    if g.chance(0.45):
        op = g.pick(EXACT_UNARY)
        if op in KINKED and not x.exact:
            return
        bound = x.bound**2 if op == "square" else x.bound + (op in ("ceil", "floor"))
        g.add(op, x, exact=x.exact, bound=max(bound, 1.0))
    else:
        g.add(g.pick(SMOOTH), x, bound=max(1.6, x.bound + 1))


def exponential(g: Graph) -> None:
    """exp and its relatives, of what is small enough."""
    x = g.real()
    x = x and g.tame(x, 3.0)
    if x is not None:
        op = g.pick(("exp", "exp2", "expm1", "sinh", "cosh"))
        g.add(op, x, bound=exp(x.bound))


def positive(g: Graph) -> None:
    """A function whose domain is above zero: of a square and a bit."""
    x = g.real()
    square = x and g.add("square", x, exact=x.exact, bound=x.bound**2)
    above = square and g.add("add", square, 0.5, exact=square.exact, bound=square.bound + 0.5)
    if above is None:
        return
    if g.chance(0.2):
        power = g.pick((0.5, 1.5, 2, 3, -1, -0.5, 2.5))
        g.add("pow", above, power, bound=max(above.bound**power, 2.0**-power, 1.0))
        return
    op = g.pick(POSITIVE)
    exact = op in ("sqrt", "reciprocal") and above.exact
    g.add(op, above, exact=exact, bound=max(4.0, above.bound * (6 if op == "lgamma" else 1)))


def whole_unary(g: Graph) -> None:
    """A function of one integer or truth value."""
    x = g.value(lambda v: v.dtype in INTS or v.dtype == "bool") or g.whole_input(g.shape())
    if x is None:
        return
    if x.dtype == "bool":
        g.add(g.pick(("logical_not", "bitwise_not")), x)
    else:
        op = g.pick(("neg", "abs", "bitwise_not", "sign", "square", "relu", "logical_not"))
        g.add(op, x, bound=x.bound**2 + 1)


def partner(g: Graph, x: Value, exact: bool = False) -> Value | None:
    """Another value that broadcasts with it."""
    fits = lambda v: (  # noqa: E731
        v.dtype == x.dtype and _meet(v.shape, x.shape) and (v.exact or not exact)
    )
    if g.chance(0.75) and (found := g.value(lambda v: fits(v) and v is not x)):
        return found
    shape = tuple(1 if g.chance(0.25) else n for n in x.shape)
    shape = shape[g.random.randint(0, len(shape)) :] if g.chance(0.2) else shape
    if x.dtype in EPS:
        made = g.real_input(shape, x.dtype)
    elif x.dtype == "bool":
        made = g.new_input("flags", shape, "bool")
    else:
        made = g.new_input("small", shape, x.dtype) if x.dtype in INTS else None
    return made or g.value(fits)


def _meet(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    pairs = zip(a[::-1], b[::-1], strict=False)
    return all(m == n or 1 in (m, n) for m, n in pairs)


def binary(g: Graph) -> None:
    """Arithmetic of two floats, or of one and a number."""
    x = g.real()
    if x is None:
        return
    if g.chance(0.2):
        number = g.pick((0.5, 2, -1, 0.25, 3, -1.5, 0.1))
        op = g.pick(("add", "sub", "mul", "div"))
        bound = {"mul": x.bound * 3, "div": x.bound * 10}.get(op, x.bound + 3)
        g.add(op, x, number, exact=x.exact, bound=bound)
        return
    y = partner(g, x)
    if y is None:
        return
    both = x.exact and y.exact
    op = g.pick(("add", "sub", "mul", "mul", "add", *(("maximum", "minimum") if both else ())))
    bound = x.bound * y.bound if op == "mul" else x.bound + y.bound
    g.add(op, x, y, exact=both, bound=bound)


def division(g: Graph) -> None:
    """A quotient, a remainder, or two arguments of a smooth function."""
    x = g.real()
    y = x and partner(g, x)
    if x is None or y is None:
        return
    if x.exact and y.exact and g.chance(0.3):
        op = g.pick(("fmod", "mod", "floordiv", "copysign"))
        if op == "copysign" or g.special:
            g.add("copysign", x, y, exact=True, bound=x.bound)
        elif (square := g.add("square", y, exact=True, bound=y.bound**2)) is not None:
            above = g.add("add", square, 0.5, exact=True, bound=square.bound + 0.5)
            above and g.add(op, x, above, exact=True, bound=2 * x.bound + above.bound)
        return
    if g.chance(0.2):
        g.add("logaddexp", x, y, bound=x.bound + y.bound + 1)
        return
    square = g.add("square", y, exact=y.exact, bound=y.bound**2)
    above = square and g.add("add", square, 0.5, exact=square.exact, bound=square.bound + 0.5)
    above and g.add("div", x, above, exact=x.exact and above.exact, bound=2 * x.bound)


def whole_binary(g: Graph) -> None:
    """Arithmetic of integers, which wraps around, and logic."""
    x = g.value(lambda v: v.dtype in INTS or v.dtype == "bool") or g.whole_input(g.shape())
    y = x and partner(g, x)
    if x is None or y is None:
        return
    if x.dtype == "bool":
        ops = ("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_xor", "add")
        g.add(g.pick((*ops, "mul", "maximum", "minimum", "eq", "lt")), x, y)
        return
    op = g.pick(("add", "sub", "mul", "maximum", "minimum", "bitwise_and", "bitwise_or"))
    bound = x.bound * y.bound + x.bound + y.bound
    if g.chance(0.3):
        op = g.pick(("floordiv", "mod", "idiv", "fmod"))
        odd = g.add("bitwise_or", y, 1, bound=y.bound + 1)
        odd and g.add(op, x, odd, bound=x.bound + odd.bound)
    elif g.chance(0.15):
        g.add(g.pick(("lshift", "rshift")), x, g.pick((0, 1, 3)), bound=x.bound * 8)
    else:
        g.add(op, x, y, bound=bound)


def compare(g: Graph) -> None:
    """A truth value from exact values, and often a choice by it."""
    x = g.any(exact=True)
    y = x and (partner(g, x, exact=True) if g.chance(0.7) else 0)
    if x is None or y is None or (x.dtype == "bool" and y == 0):
        return
    found = g.add(g.pick(COMPARE), x, y)
    if found is not None and g.chance(0.5):
        choose(g, found)


def choose(g: Graph, cond: Value | None = None) -> None:
    """where, or masked_fill."""
    cond = cond or g.value(lambda v: v.dtype == "bool")
    x = cond and g.value(lambda v: v.dtype not in REAL and _meet(v.shape, cond.shape))
    if cond is None or x is None:
        return
    if g.chance(0.3) and x.dtype != "bool":
        g.add("masked_fill", x, cond, g.pick((0, 1, -2)), exact=x.exact, bound=x.bound + 2)
        return
    y = partner(g, x)
    if y is not None:
        bound = max(x.bound, y.bound)
        g.add("where", cond, x, y, exact=x.exact and y.exact, bound=bound)


def cast(g: Graph) -> None:
    """To another dtype; to integers only from exact values."""
    x = g.any()
    if x is None:
        return
    wide = [d for d in FLOATS if d != x.dtype]
    to = g.pick((*wide, *INTS, "bool", g.base, "float32"))
    if to not in EPS and not (x.exact and x.bound < 1e6):
        return
    wraps = to not in EPS and x.dtype in EPS and x.bound > 100
    if to == x.dtype or wraps or (g.special and to not in EPS):
        return
    if to.startswith("u") and x.dtype in EPS:  # what a negative float becomes is not in question
        x = g.add("square", x, exact=True, bound=x.bound**2)
    x is not None and g.add("cast", x, to, exact=x.exact, bound=max(x.bound, 1.0))


def clamp(g: Graph) -> None:
    """Between two numbers."""
    x = g.any(exact=True)
    if x is not None and x.dtype != "bool":
        low, high = (0, 5) if x.dtype in INTS else (-0.5, 0.75)
        g.add("clamp", x, low, high, exact=True, bound=max(x.bound, 5.0))


# ---- movement


def move(g: Graph) -> None:
    """One movement op on any value."""
    x = g.value()
    if x is not None:
        MOVEMENT[g.pick(MOVES)](g, x)


def _same(g: Graph, x: Value, op: str, *args: Any, **kwargs: Any) -> None:
    g.add(op, x, *args, exact=x.exact, bound=x.bound, **kwargs)


def _reshape(g: Graph, x: Value) -> None:
    sizes = [f for n in x.shape for f in _factors(g, n)]
    g.random.shuffle(sizes)
    while len(sizes) > 4 or (len(sizes) > 1 and g.chance(0.4)):
        i = g.random.randrange(len(sizes) - 1)
        sizes[i : i + 2] = [sizes[i] * sizes[i + 1]]
    _same(g, x, "reshape", tuple(sizes))


def _factors(g: Graph, n: int) -> list[int]:
    for f in (2, 3, 5):
        if n > f and n % f == 0 and g.chance(0.7):
            return [f, n // f]
    return [n]


def _permute(g: Graph, x: Value) -> None:
    order = list(range(x.rank))
    g.random.shuffle(order)
    _same(g, x, "permute", tuple(order))


def _expand(g: Graph, x: Value) -> None:
    sizes = [g.pick((2, 3, 5, 8)) if n == 1 and g.chance(0.7) else n for n in x.shape]
    lead = (g.pick((2, 3, 4)),) if x.rank < 4 and g.chance(0.4) else ()
    _same(g, x, "expand", (*lead, *sizes))


def _flip(g: Graph, x: Value) -> None:
    if x.rank:
        _same(g, x, "flip", g.axis(x) if g.chance(0.6) else tuple(range(x.rank)))


def _shrink(g: Graph, x: Value) -> None:
    bounds = tuple(_range(g, n) for n in x.shape)
    _same(g, x, "shrink", bounds)


def _range(g: Graph, n: int) -> tuple[int, int]:
    start = g.random.randint(0, max(0, n - 1)) if g.chance(0.5) else 0
    return start, g.random.randint(min(start + 1, n), n)


def _pad(g: Graph, x: Value) -> None:
    widths = tuple((g.random.randint(0, 2), g.random.randint(0, 2)) for _ in x.shape)
    _same(g, x, "pad", widths, value=g.pick((0, 0, 1)))


def _cat(g: Graph, x: Value) -> None:
    if x.rank:
        axis = g.random.randrange(x.rank)
        alike = lambda v: (  # noqa: E731
            v.dtype == x.dtype and v.rank == x.rank and _but(v.shape, axis) == _but(x.shape, axis)
        )
        y = g.value(alike) or x
        bound = max(x.bound, y.bound)
        g.add("cat", x, y, exact=x.exact and y.exact, bound=bound, dim=axis)


def _but(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def _stack(g: Graph, x: Value) -> None:
    y = g.value(lambda v: v.dtype == x.dtype and v.shape == x.shape) or x
    axis = g.random.randint(0, x.rank)
    exact, bound = x.exact and y.exact, max(x.bound, y.bound)
    if x.rank < 4:
        g.add("stack", x, y, exact=exact, bound=bound, dim=axis)


def _slice(g: Graph, x: Value) -> None:
    key = tuple(_slice_of(g, n) for n in x.shape[: g.random.randint(0, x.rank)])
    if g.chance(0.2):
        key = (*key, None)
    _same(g, x, "__getitem__", (*key, Ellipsis) if g.chance(0.3) else key)


def _slice_of(g: Graph, n: int) -> Any:
    if n and g.chance(0.2):
        return g.random.randrange(-n, n)
    start, stop = _range(g, n)
    step = g.pick((1, 1, 2, 3, -1, -2))
    if step > 0:
        return slice(start or None, stop, step)
    return slice(stop - 1 if stop else None, start - 1 if start else None, step)


def _transpose(g: Graph, x: Value) -> None:
    if x.rank > 1:
        _same(g, x, "transpose", *g.random.sample(range(x.rank), 2))


def _unsqueeze(g: Graph, x: Value) -> None:
    if x.rank < 4:
        _same(g, x, "unsqueeze", g.random.randint(0, x.rank))


def _squeeze(g: Graph, x: Value) -> None:
    _same(g, x, "squeeze")


def _flatten(g: Graph, x: Value) -> None:
    _same(g, x, "flatten", g.random.randint(0, max(0, x.rank - 1)))


def _roll(g: Graph, x: Value) -> None:
    if x.rank:
        _same(g, x, "roll", g.pick((1, -1, 2)), g.axis(x))


def _repeat(g: Graph, x: Value) -> None:
    _same(g, x, "repeat", tuple(g.pick((1, 1, 2)) for _ in x.shape))


def _triangle(g: Graph, x: Value) -> None:
    if x.rank > 1:
        _same(g, x, g.pick(("triu", "tril")), g.pick((-1, 0, 1)))


def _split(g: Graph, x: Value) -> None:
    axis = g.axis(x) if x.rank else 0
    if x.rank and x.shape[axis] > 1:
        _same(g, x, "chunk", 2, axis, part=g.pick((0, 1, -1)))


MOVEMENT: dict[str, Callable[[Graph, Value], None]] = {
    "reshape": _reshape,
    "permute": _permute,
    "expand": _expand,
    "flip": _flip,
    "shrink": _shrink,
    "pad": _pad,
    "cat": _cat,
    "stack": _stack,
    "slice": _slice,
    "transpose": _transpose,
    "unsqueeze": _unsqueeze,
    "squeeze": _squeeze,
    "flatten": _flatten,
    "roll": _roll,
    "repeat": _repeat,
    "triangle": _triangle,
    "split": _split,
}


# ---- reductions


def _count(x: Value, axes: Any) -> int:
    if axes is None:
        return prod(x.shape)
    return prod(x.shape[a] for a in (axes if isinstance(axes, tuple) else (axes,)))


def total(g: Graph) -> None:
    """Sums, means, variances, products and exponentials summed, over some axes."""
    x = g.real()
    if x is None:
        return
    axes, keep = g.axes(x), g.chance(0.4)
    n = _count(x, axes)
    op = g.pick(("sum", "sum", "sum", "mean", "var", "logsumexp", "prod"))
    if (op == "var" and n < 2) or (op == "logsumexp" and n == 0) or (op == "mean" and n == 0):
        return
    if op == "prod" and (n > 9 or x.bound > 1.5):
        return
    bounds = {"sum": n * x.bound, "mean": x.bound, "var": 2 * x.bound**2, "prod": 40.0}
    g.add(op, x, axes, keep, bound=max(1.0, bounds.get(op, x.bound + 7)))


def extreme(g: Graph) -> None:
    """max and min, where they are, and their running forms."""
    x = g.any(exact=True)
    if x is None or 0 in x.shape:
        return
    if g.chance(0.3) and x.rank:
        g.add(g.pick(("argmax", "argmin")), x, g.axis(x), g.chance(0.4), bound=100)
    elif g.chance(0.2) and x.rank and x.dtype != "bool":
        part = g.pick((0, 0, 1))
        g.add(g.pick(("cummax", "cummin")), x, g.axis(x), part=part, exact=True, bound=x.bound)
    else:
        g.add(g.pick(("max", "min")), x, g.axes(x), g.chance(0.4), exact=True, bound=x.bound)


def whole_total(g: Graph) -> None:
    """Sums of integers, truth values of many."""
    x = g.value(lambda v: v.dtype in INTS or v.dtype == "bool") or g.whole_input(g.shape())
    if x is None:
        return
    if x.dtype == "bool" or g.chance(0.3):
        op = g.pick(("any", "all", "sum"))
    else:
        op = g.pick(("sum", "prod", "sum", "mean"))
    axes = g.axes(x)
    if op == "mean" and (x.bound > 100 or not _count(x, axes)):
        return
    g.add(op, x, axes, g.chance(0.4), bound=1e30 if op == "prod" else x.bound * _count(x, axes))


def normal(g: Graph) -> None:
    """softmax and the norms."""
    x = g.real(1)
    if x is None or 0 in x.shape:
        return
    axis = g.axis(x)
    op = g.pick(("softmax", "log_softmax", "layernorm", "rmsnorm", "softmin"))
    bound = 2 * x.bound + 6 if op == "log_softmax" else 1.0 if "soft" in op else 6.0
    if "norm" in op and not x.exact:  # a rounding where zero is meant would grow a thousandfold
        g.add(op, x, axis, bound=bound, eps=0.1)
    else:
        g.add(op, x, axis, bound=bound)


def running(g: Graph) -> None:
    """Scans."""
    x = g.any(1)
    if x is None or x.dtype == "bool":
        return
    axis = g.axis(x)
    n = max(1, x.shape[axis])
    if g.chance(0.6) or x.bound > 1.5 or n > 9:
        g.add("cumsum", x, axis, bound=n * x.bound)
    elif g.chance(0.6):
        g.add("cumprod", x, axis, bound=x.bound**n)
    elif x.dtype in EPS:
        g.add("logcumsumexp", x, axis, bound=x.bound + 7)


def order(g: Graph) -> None:
    """Sorting, ranks, the largest few."""
    x = g.any(1, exact=True)
    if x is None or 0 in x.shape:
        return
    axis, down = g.axis(x), g.chance(0.5)
    kind = g.random.random()
    if kind < 0.3:
        g.add("sort", x, axis, down, part=0, exact=True, bound=x.bound)
    elif kind < 0.5:
        g.add("argsort", x, axis, down, bound=100)
    elif kind < 0.75:
        k = g.random.randint(1, x.shape[axis])
        g.add("topk", x, k, axis, down, part=g.pick((0, 1)), exact=True, bound=x.bound)
    elif (ranks := g.add("argsort", x, axis, down, bound=100)) is not None:
        y = g.value(lambda v: v.shape == x.shape) or x
        g.add("gather", y, axis, ranks, exact=y.exact, bound=y.bound)


# ---- products


def product(g: Graph) -> None:
    """Matrix products, outer products, sums of products by formula."""
    x = g.real(1)
    if x is None:
        return
    k = x.shape[-1]
    fits = lambda v: v.dtype == x.dtype and v.rank == 2 and v.shape[0] == k  # noqa: E731
    y = (g.value(fits) if g.chance(0.4) else None) or g.real_input(
        (k, g.pick((1, 2, 3, 5, 8, 17))), x.dtype
    )
    if y is None:
        return
    bound = max(1, k) * x.bound * y.bound
    if x.rank == 2 and g.chance(0.4):
        formula = g.pick(("ij,jk->ik", "ij,jk->ki", "ij,jk->i", "ij,jk->", "ij,jk->j", "ij,jk->jk"))
        lost = prod(x.shape) * y.shape[1]
        g.add("einsum", formula, x, y, bound=lost * x.bound * y.bound)
    else:
        g.add("matmul", x, y, bound=bound)


def whole_product(g: Graph) -> None:
    """Matrix products of integers."""
    x = g.value(lambda v: v.dtype in INTS and v.rank >= 2)
    y = x and g.new_input("small", (x.shape[-1], g.pick((1, 2, 3, 5))), x.dtype)
    if x is not None and y is not None:
        g.add("matmul", x, y, bound=max(1, x.shape[-1]) * x.bound * y.bound)


def convolution(g: Graph) -> None:
    """conv2d or a pool, on what has four axes or is given them."""
    image = lambda v: v.dtype in EPS and v.rank == 4 and min(v.shape) > 0  # noqa: E731
    x = g.value(image) or g.real_input(
        (g.pick((1, 2)), g.pick((1, 2, 3)), g.pick((3, 5, 7)), g.pick((3, 5, 8)))
    )
    if x is None or min(x.shape) == 0 or max(x.shape[2:]) > 17:
        return
    kind = g.random.random()
    padding, stride = g.pick((0, 1)), g.pick((1, 1, 2))
    size = (min(g.pick((1, 2, 3)), x.shape[2]), min(g.pick((1, 2, 3)), x.shape[3]))
    if kind < 0.5:
        weight = g.real_input((g.pick((1, 2, 3)), x.shape[1], *size), x.dtype)
        if weight is not None:
            bound = prod(weight.shape[1:]) * x.bound * weight.bound
            g.add("conv2d", x, weight, bound=bound, stride=stride, padding=padding)
    elif kind < 0.75:
        g.add("avg_pool2d", x, size, bound=x.bound, stride=stride)
    elif x.exact:
        g.add("max_pool2d", x, size, exact=True, bound=x.bound, stride=stride)


# ---- indexing


def indexed(g: Graph) -> None:
    """gather, indexing by a tensor, embedding."""
    x = g.value(lambda v: v.rank >= 1 and v.dtype not in REAL)
    if x is None or 0 in x.shape:
        return
    kind = g.random.random()
    axis = g.random.randrange(x.rank)
    n = x.shape[axis]
    if kind < 0.4:
        shape = (*x.shape[:axis], g.pick((1, 2, 3, 5)), *x.shape[axis + 1 :])
        places = g.indices(shape, n)
        places and g.add("gather", x, axis, places, exact=x.exact, bound=x.bound)
    elif kind < 0.6:
        places = g.indices((g.pick((1, 3, 5)),), n)
        places and g.add("index_select", x, axis, places, exact=x.exact, bound=x.bound)
    elif kind < 0.8 and x.rank == 2:
        places = g.indices((2, g.pick((1, 3))), x.shape[0])
        places and g.add("embedding", x, places, exact=x.exact, bound=x.bound)
    else:
        places = g.indices((g.pick((1, 2, 5)),), x.shape[0])
        places and g.add("__getitem__", x, places, exact=x.exact, bound=x.bound)


def placed(g: Graph) -> None:
    """scatter_add, index_add, one_hot."""
    x = g.value(lambda v: v.rank >= 1 and v.dtype not in (*REAL, "bool"))
    if x is None or 0 in x.shape:
        return
    axis = g.random.randrange(x.rank)
    n = x.shape[axis]
    if g.chance(0.25):
        places = g.indices(g.shape(0, 2), 5)
        places and g.add("one_hot", places, 5)
    elif g.chance(0.6):
        source = g.value(lambda v: v.dtype == x.dtype and v.shape == x.shape) or x
        places = g.indices(x.shape, n)
        bound = x.bound + n * source.bound
        places and g.add("scatter_add", x, axis, places, source, bound=bound)
    else:
        places = g.indices((n,), n)
        places and g.add("index_add", x, axis, places, x, bound=x.bound * (n + 1))


def complex_(g: Graph) -> None:
    """Complex numbers made, used and taken apart."""
    z = g.value(lambda v: v.dtype in REAL)
    if z is None or g.chance(0.3):
        x = g.real()
        y = x and g.value(lambda v: v.dtype == x.dtype and v.shape == x.shape)
        if x and y and x.dtype in ("float32", "float64") and max(x.bound, y.bound) < 10:
            g.add("complex", x, y, exact=x.exact and y.exact, bound=x.bound + y.bound)
        return
    op = g.pick(("real", "imag", "conj", "neg", "mul", "add", "exp", "sum"))
    if op in ("mul", "add"):
        g.add(op, z, z, bound=z.bound**2 + 2 * z.bound)
    elif op == "exp":
        z.bound < 3 and g.add("exp", z, bound=exp(z.bound))
    elif op == "sum":
        g.add("sum", z, g.axes(z), bound=z.bound * prod(z.shape))
    else:
        g.add(op, z, exact=z.exact, bound=z.bound)


def tame(g: Graph) -> None:
    """What grew large is made small again, so that programs can go on."""
    x = g.value(lambda v: v.dtype in EPS and v.bound > 4)
    if x is not None:
        g.add(g.pick(("tanh", "sigmoid", "sin", "atan")), x, bound=1.6)


FAMILIES: dict[str, tuple[int, Callable[[Graph], None]]] = {
    "unary": (10, unary),
    "exponential": (4, exponential),
    "positive": (4, positive),
    "whole unary": (3, whole_unary),
    "binary": (16, binary),
    "division": (4, division),
    "whole binary": (6, whole_binary),
    "compare": (5, compare),
    "choose": (4, choose),
    "cast": (5, cast),
    "clamp": (2, clamp),
    "move": (22, move),
    "total": (10, total),
    "extreme": (5, extreme),
    "whole total": (3, whole_total),
    "normal": (5, normal),
    "running": (4, running),
    "order": (4, order),
    "product": (5, product),
    "whole product": (1, whole_product),
    "convolution": (2, convolution),
    "indexed": (5, indexed),
    "placed": (3, placed),
    "complex": (2, complex_),
    "tame": (6, tame),
}
