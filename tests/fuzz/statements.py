"""Statements over handles: constants, writes of every form, control flow, draws, layers, records.

A family adds a statement or a few to a growing program; where nothing fits it adds none. What may
live here: the families that families.py, which has calls only, lacks.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from adjoint import Device, Tensor
from adjoint.ir.dtype import DType
from adjoint.ir.opdef import OPS
from tests.fuzz.families import (
    FAMILIES,
    _meet,
    _range,
    _slice_of,
    exponential,
    move,
    normal,
    total,
    unary,
)
from tests.fuzz.growing import INTS, Value
from tests.fuzz.numbers import arrays, samples
from tests.fuzz.program import EPS, REAL, _key, _shown
from tests.fuzz.writer import Writer

UPDATES = ("+=", "-=", "*=", "+=", "*=")
SMOOTH = ("sin", "cos", "tanh", "sigmoid", "exp", "square", "softplus", "erf", "atan")
BROADCAST = ("lerp", "addcmul", "hypot", "atan2", "logaddexp", "maximum", "minimum", "where")
NUMBERS = (0.5, 2.0, -1.0, 0.25, 3.0, -1.5, 0.1)
RECORDS = sorted(
    r.name
    for r in OPS.values()
    if r.level != "kernel"
    and r.public
    and hasattr(Tensor, r.name)
    and r.name not in ("shard", "assign", "unique_identity", "random_bits", "threefry", "bitcast")
    and r.name not in ("bfloat16", "float", "half", "double")  # words that programs are widened by
)


def number(g: Writer, dtype: str) -> Any:
    """A number that the dtype holds."""
    if dtype == "bool":
        return g.chance(0.5)
    return g.pick(NUMBERS) if dtype in EPS else g.pick((0, 1, 2, 5))


def plain(v: Value) -> bool:
    """Of a dtype that writes are tried with."""
    return v.dtype not in REAL


def fitting(g: Writer, shape: tuple[int, ...], dtype: str, but: str = "") -> Value | None:
    """A value that broadcasts to the shape; a new input where there is none."""
    fits = lambda v: (  # noqa: E731
        v.dtype == dtype
        and v.name != but
        and len(v.shape) <= len(shape)
        and _meet(v.shape, shape)
        and np.broadcast_shapes(v.shape, shape) == shape
    )
    if g.chance(0.8) and (found := g.value(fits)):
        return found
    own = tuple(1 if g.chance(0.2) else n for n in shape)[g.random.randint(0, len(shape)) // 2 :]
    kind = "unit" if dtype in EPS else "flags" if dtype == "bool" else "small"
    return g.new_input(kind, own, dtype) or g.value(fits)


# ---- constants


def constant(g: Writer) -> None:
    """A tensor of one number, counted up, or the identity."""
    dtype = g.base if g.chance(0.8) else g.pick((*INTS, "float32", "float64", "bool"))
    shape, name = g.shape(), g.name()
    form = g.random.random()
    if form < 0.5:
        text = f"Tensor.full({shape}, {number(g, dtype)}, dtype={dtype!r})"
    elif form < 0.65:
        text = f"Tensor.{g.pick(('zeros', 'ones'))}({_sizes(shape)}dtype={dtype!r})"
    elif form < 0.8 and dtype != "bool":
        text = f"Tensor.arange({g.random.randint(1, 8)}, dtype={dtype!r})"
    elif form < 0.86:
        text = f"Tensor.eye({g.random.randint(1, 4)}, dtype={dtype!r})"
    else:
        x = g.value(plain)
        if x is None:
            return
        filled = f"full_like({number(g, x.dtype)})"
        text = f"{x.name}.{g.pick(('zeros_like()', 'ones_like()', filled))}"
    g.write(f"{name} = {text}", exact=True, bound=8.0)


def _sizes(shape: tuple[int, ...]) -> str:
    return "".join(f"{n}, " for n in shape) if shape else "(), "


# ---- writes


WHOLE = ":"


def key_of(g: Writer, x: Value) -> tuple[str, tuple[int, ...]] | None:
    """An index of a value as text, and the shape of what it names."""
    form = g.random.random()
    n = x.shape[0]
    if form < 0.05:
        return WHOLE, x.shape
    if form < 0.65:
        key = tuple(_cut(g, n) for n in x.shape[: g.random.randint(1, x.rank)])
        key = (*key, Ellipsis) if g.chance(0.1) else key if len(key) > 1 else key[0]
        return _key(key), np.empty(x.shape, np.bool_)[key].shape
    if form < 0.78 and n:
        places = g.random.sample(range(-n, n), g.random.randint(1, min(3, n)))
        return _shown(places), (len(places), *x.shape[1:])
    if form < 0.9:
        return _mask(g, x)
    places_of = g.indices((g.random.randint(1, 3),), n)
    return (places_of.name, (*places_of.shape, *x.shape[1:])) if places_of else None


def _cut(g: Writer, n: int) -> Any:
    """An int or a slice; most are of neighbours."""
    if g.chance(0.5):
        return _slice_of(g, n)
    start, stop = _range(g, n)
    return slice(start or None, stop)


def _mask(g: Writer, x: Value) -> tuple[str, tuple[int, ...]] | None:
    mask = g.value(lambda v: v.dtype == "bool" and v.rank > 0 and v.shape == x.shape[: v.rank])
    if mask is not None and g.chance(0.6):
        return mask.name, (1, *x.shape[mask.rank :])
    if x.exact and x.dtype != "bool":
        return f"{x.name} > {g.pick((0, 0.25, 1))}", (1,)
    return None


def target(g: Writer) -> Value | None:
    """A value to write into."""
    return g.value(lambda v: v.rank > 0 and plain(v) and prod(v.shape) > 0)


def written(g: Writer, x: Value | None = None) -> None:
    """`x[k] = w`, `x[k] += w` and the like; w is a number, a value, or made of that same part."""
    x = x or target(g)
    found = x and key_of(g, x)
    if x is None or found is None:
        return
    key, shape = found
    sign = "=" if g.chance(0.5) or x.dtype == "bool" else g.pick(UPDATES)
    text, exact, bound = _operand(g, x, key, shape)
    if not text:
        return
    bound = max(x.bound, {"=": bound, "*=": x.bound * bound}.get(sign, x.bound + bound))
    place = f"{x.name}[{key}]"
    if sign == "=" and g.chance(0.12):
        g.write(f"{place}.assign({text})", exact and x.exact, bound, x)
    else:
        g.write(f"{place} {sign} {text}", exact and x.exact, bound, x)


def _operand(g: Writer, x: Value, key: str, shape: tuple[int, ...]) -> tuple[str, bool, float]:
    """What is written: its text, whether it is exact, and its bound."""
    form = g.random.random()
    if form < 0.3 or (shape[:1] == (1,) and " > " in key and g.chance(0.9)):
        value = number(g, x.dtype)
        return repr(value), True, abs(value)
    if form < 0.55 and x.dtype in EPS:
        op = g.pick((*SMOOTH, "neg", "abs"))
        if op == "abs" and not x.exact:
            return "", False, 0.0
        bound = {"exp": 2.7 ** min(x.bound, 9), "square": x.bound**2}.get(op, x.bound + 1)
        return f"{x.name}[{key}].{op}()", x.exact and op in ("neg", "abs"), bound
    if form < 0.7 and x.dtype != "bool":
        value = number(g, x.dtype)
        return f"{x.name}[{key}] * {value}", x.exact, x.bound * abs(value)
    y = g.value(lambda v: v.shape == x.shape and v.dtype == x.dtype)
    if form < 0.85 and y is not None:
        return f"{y.name}[{key}]", y.exact, y.bound
    w = fitting(g, shape, x.dtype)
    return (w.name, w.exact, w.bound) if w else ("", False, 0.0)


def updated(g: Writer) -> None:
    """`x += y`."""
    x = g.value(lambda v: plain(v) and v.dtype != "bool")
    if x is None:
        return
    sign = g.pick(UPDATES)
    if g.chance(0.3):
        value = number(g, x.dtype)
        text, exact, bound = repr(value), True, abs(value)
    elif y := fitting(g, x.shape, x.dtype):
        text, exact, bound = y.name, y.exact, y.bound
    else:
        return
    bound = x.bound * bound if sign == "*=" else x.bound + bound
    g.write(f"{x.name} {sign} {text}", exact and x.exact, bound, x)


def assigned(g: Writer) -> None:
    """`x.assign(y)`."""
    x = g.value(plain)
    y = x and g.value(lambda v: v.shape == x.shape and v.dtype == x.dtype and v is not x)
    if x is not None and y is not None:
        g.write(f"{x.name}.assign({y.name})", y.exact, y.bound, x)


VIEW_CALLS = ("reshape(-1)", "T", "flip(0)", "unsqueeze(0)", "squeeze()", "transpose(0, -1)")
VIEW_CALLS += (
    "swapaxes(0, -1)",
    "movedim(0, -1)",
    "narrow(0, 0, 1)",
    "chunk(2, 0)[0]",
    "unbind(0)[0]",
)
VIEW_CALLS += ("unbind(0)[0]", "split(1, 0)[0]", "diagonal()", "detach()", "rot90()", "fliplr()")
VIEW_CALLS += ("flatten()", "[1:]", "[::2]", "[0]", "[-1]", "[...]", "[:, 0]", "[::-1]", "mT")


def through(g: Writer) -> None:
    """A view of a value, and a write to it."""
    x = target(g)
    if x is None:
        return
    view, name = g.pick(VIEW_CALLS), g.name()
    dot = "" if view.startswith("[") else "."
    v = g.write(f"{name} = {x.name}{dot}{view}", x.exact, x.bound)
    if v is None:
        return
    g.group[v.name] = g.group[x.name]
    if v.rank and prod(v.shape) and g.chance(0.8):
        written(g, v)
    elif v.dtype != "bool":
        value = number(g, v.dtype)
        g.write(f"{v.name} *= {value}", v.exact, v.bound * abs(value), v)


def alias(g: Writer) -> None:
    """An argument that is another input, or a view of one."""
    base = g.value(lambda v: v.name in g.sources and v.name[0] in "as" and prod(v.shape) > 0)
    if base is not None and len(g.sources) < 6:
        view = g.pick(("", "", "[:1]", ".T", ".reshape(-1)") if base.rank else ("", ".reshape(1)"))
        g.source(f"{base.name}{view}", captured=False, bound=base.bound)


def realized(g: Writer) -> None:
    """A value is computed in the middle."""
    x = g.value()
    if x is not None:
        g.write(f"{x.name}.realize()", x.exact, x.bound, x)


# ---- values used twice


def centred(g: Writer) -> None:
    """A value and a reduction of it in one expression."""
    x = g.value(lambda v: v.dtype in EPS and v.bound <= 9 and prod(v.shape) > 0)
    if x is None:
        return
    axis = "" if not x.rank or g.chance(0.4) else f"{g.axis(x)}, keepdim=True"
    form = g.pick(("{x} - {x}.mean({a})", "{x} * {x}.sum({a})", "{x} + {x}.square().mean({a})"))
    count = prod(x.shape)
    g.write(f"{g.name()} = {form.format(x=x.name, a=axis)}", bound=x.bound**2 * count + 2 * x.bound)


def rounded(g: Writer) -> None:
    """A float that becomes an integer or a truth value, and a float again."""
    x = g.value(lambda v: v.dtype in EPS and v.exact and v.bound <= 100)
    if x is not None and not g.special:
        to = g.pick(("int32", "int64", "int8", "bool"))
        factor = g.pick(("", " * 2.5", " * 4"))
        back = f"({x.name}{factor}).cast({to!r}).cast({x.dtype!r})"
        more = f" * {x.name}" if to != "bool" and g.chance(0.4) else ""
        g.write(f"{g.name()} = {back}{more}", True, bound=4 * x.bound**2 + 1)


def scanned(g: Writer) -> None:
    """A running sum or product of a value (often an input, zeros and all), or of a constant."""
    fits = lambda v: v.dtype in EPS and v.bound <= 2 and v.rank > 0 and max(v.shape) <= 9  # noqa: E731
    x = g.value(lambda v: fits(v) and v.name in g.sources) if g.chance(0.4) else None
    x = x or g.value(fits)
    op = g.pick(("cumsum", "cumprod", "cumsum", "cumprod", "logcumsumexp"))
    if g.chance(0.25):
        shape = g.shape(1)
        made = f"Tensor.full({shape}, {g.pick((1.5, 0.25, 2.0, 1.0))}, dtype={g.base!r})"
        g.write(f"{g.name()} = {made}.{op}({g.random.randrange(len(shape))})", bound=20.0)
    elif x is not None:
        axis = g.axis(x)
        bound = max(x.shape[axis] * x.bound, x.bound ** x.shape[axis])
        g.write(f"{g.name()} = {x.name}.{op}({axis})", bound=bound)


# ---- loops and branches


def body(g: Writer, name: str, x: Value, depth: int = 2) -> str:
    """An expression of one variable, of its shape and dtype, that may use other values."""
    text = name
    for _ in range(g.random.randint(1, depth)):
        form = g.random.random()
        y = (
            g.value(
                lambda v: (
                    v.dtype == x.dtype
                    and _meet(v.shape, x.shape)
                    and np.broadcast_shapes(v.shape, x.shape) == x.shape
                )
            )
            if form < 0.45
            else None
        )
        if y is not None:
            text = f"({text} {g.pick('*+-*')} {y.name})"
        elif form < 0.8:
            text = f"{text}.{g.pick(('sin', 'tanh', 'sigmoid', 'cos', 'atan'))}()"
        elif form < 0.9 and x.rank:
            text = f"{text}.softmax(-1)"
        else:
            text = f"({text} {g.pick('*+')} {g.pick((0.5, 0.25, -1.0))})"
    return f"{text}.tanh()"


def small(g: Writer) -> Value | None:
    """A float value that is not large or empty."""
    return g.value(lambda v: v.dtype in EPS and v.bound <= 4 and prod(v.shape) > 0)


def looped(g: Writer) -> None:
    """A Python loop, with a branch in it or without."""
    x = small(g)
    if x is None:
        return
    name, count = g.name(), g.random.randint(1, 3)
    if g.chance(0.5) or not x.rank:
        text = f"{name} = {x.name} * 1\nfor i in range({count}):\n    {name} = {body(g, name, x)}"
        g.write(text, bound=1.0)
        return
    rows = min(x.shape[0], 3)
    first, other = f"{x.name}[i] *= {g.pick(NUMBERS)}", f"{x.name}[i] += {g.pick(NUMBERS)}"
    text = f"for i in range({rows}):\n    {first}"
    if g.chance(0.5):
        text = (
            f"for i in range({rows}):\n    if i % 2:\n        {first}\n    else:\n        {other}"
        )
    g.write(text, x.exact, 3 * x.bound + 3, x)


def decided(g: Writer) -> None:
    """A Python branch on a value."""
    x, y = small(g), g.value(lambda v: v.exact and v.dtype in EPS and v.bound <= 4)
    if x is not None and y is not None:
        test = f"float({y.name}.max() if {y.name}.numel() else 0.) > 0.25"
        g.write(f"{g.name()} = {body(g, x.name, x)} if {test} else {body(g, x.name, x)}")


def controlled(g: Writer) -> None:
    """cond, fori_loop, scan or checkpoint; their functions use values from outside."""
    x = small(g)
    if x is None:
        return
    name, form = g.name(), g.random.random()
    if form < 0.4:
        g.write(f"{name} = checkpoint(lambda z: {body(g, 'z', x, 3)})({x.name})")
    elif form < 0.6:
        y = g.value(lambda v: v.exact and v.dtype in EPS and prod(v.shape) > 0)
        test = f"{y.name}.max() > 0.25" if y else f"Tensor({g.chance(0.5)})"
        pair = f"lambda z: {body(g, 'z', x)}, lambda z: {body(g, 'z', x)}"
        g.write(f"{name} = cond({test}, {pair}, {x.name})")
    elif form < 0.8:
        turns = f"0, {g.random.randint(1, 3)}, lambda i, z: {body(g, 'z', x)}"
        g.write(f"{name} = fori_loop({turns}, {x.name})")
    elif x.rank:
        c = g.value(lambda v: v.shape == x.shape[1:] and v.dtype == x.dtype and v.bound <= 4)
        init = c.name if c else f"{x.name}[0]"
        step = g.pick(("(c * z).sin()", "(c + z).tanh()", "(c * 0.5 - z).tanh()"))
        part = g.pick((0, 1))
        g.write(f"{name} = scan(lambda c, z: ({step}, c * z), {init}, {x.name})[{part}]", bound=4.0)


# ---- draws, layers, records


def drawn(g: Writer) -> None:
    """Random numbers."""
    shape = _sizes(g.shape())
    form = g.pick(
        (
            "rand({})",
            "rand({}dtype='float64')",
            "randn({})",
            "uniform({}low=-2., high=2.)",
            "randint({}low=-3, high=4)",
            "rand({}dtype='float16')",
        )
    )
    text = f"Tensor.{form.format(shape)}".replace(", )", ")")
    g.write(f"{g.name()} = {text}", exact="randn" not in form and "uniform" not in form, bound=6.0)


LAYERS: dict[str, tuple[str, int]] = {
    "Linear": ("nn.Linear({n}, 3)", 1),
    "LayerNorm": ("nn.LayerNorm({n})", 2),
    "RMSNorm": ("nn.RMSNorm({n})", 2),
    "GRUCell": ("nn.GRUCell({n}, 2)", 2),
    "Conv1d": ("nn.Conv1d({m}, 2, 1)", 3),
    "BatchNorm1d": ("nn.BatchNorm1d({n})", 2),
    "PReLU": ("nn.PReLU()", 1),
    "MLP": ("nn.Sequential(nn.Linear({n}, 4), nn.Tanh(), nn.Linear(4, 2))", 1),
}


def layered(g: Writer) -> None:
    """A layer, captured, on a value."""
    kind = g.pick(sorted(LAYERS))
    text, rank = LAYERS[kind]
    fits = lambda v: v.dtype == "float32" and v.rank >= rank and prod(v.shape) > 1 and v.bound <= 9  # noqa: E731
    exactly = kind in ("GRUCell", "Conv1d", "BatchNorm1d")
    x = g.value(lambda v: fits(v) and (not exactly or v.rank == rank))
    if x is None or len(g.sources) >= 6 or (kind == "BatchNorm1d" and x.shape[0] < 2):
        return
    if kind == "PReLU" and not x.exact:
        return
    name = f"l{g.number()}"
    g.source(
        text.format(n=x.shape[-1], m=x.shape[1] if x.rank > 1 else 1), name=name, captured=True
    )
    if name in g.sources:
        g.write(f"{g.name()} = {name}({x.name})", bound=max(9.0, x.bound))


def recorded(g: Writer) -> None:
    """A call as one of a record's samples has it; values of the program in place of its arrays
    where they fit."""
    op = g.pick(RECORDS)
    record = OPS[op]
    dtype = (
        g.base
        if "f" in record.kinds
        else g.pick(("int32", "bool" if "b" in record.kinds else "int64"))
    )
    found = samples(op, dtype)
    which = g.random.randrange(len(found))
    if sum(a.size for a in arrays(found[which])) > 200:
        return
    given = _Arguments(g, op, which, dtype)
    args = [given.text(a) for a in found[which].args]
    args += [f"{k}={given.text(v)}" for k, v in found[which].kwargs.items()]
    if given.failed or not args:
        return
    name = g.name()
    call = f"Tensor.{op}({', '.join(args)})"
    with_value = _sized(g, call)
    if with_value is not None:
        shown, bound = with_value
        g.write(f"{name} = {shown}", bound=bound)


def _sized(g: Writer, call: str) -> tuple[str, float] | None:
    """The call, one of its results if it has several, and how large its numbers are."""
    before, Device.DEFAULT = Device.DEFAULT, "REF"
    try:
        with np.errstate(all="ignore"):
            value = eval(call, g.space)
            several = isinstance(value, (tuple, list))
            if several and not value:
                return None
            which = g.random.randrange(len(value)) if several else 0
            one = value[which] if several else value
            if not isinstance(one, Tensor):
                return None
            size = (
                np.abs(one.numpy().astype(np.float64)) if not one.dtype.is_complex else np.ones(1)
            )
            finite = size[np.isfinite(size)]
            return (f"{call}[{which}]" if several else call), 2 * float(finite.max(initial=1.0))
    except Exception:  # a sample with other values in it may be no call any more
        return None
    finally:
        Device.DEFAULT = before


class _Arguments:
    """The arguments of a sample as text: arrays become inputs or values that are known."""

    def __init__(self, g: Writer, op: str, which: int, dtype: str):
        self.g, self.op, self.which, self.dtype = g, op, which, dtype
        self.place, self.failed = 0, False

    def text(self, value: Any) -> str:
        if isinstance(value, np.ndarray):
            self.place += 1
            return self._array(value)
        if isinstance(value, (tuple, list)):
            inner = ", ".join(map(self.text, value)) + ("," if len(value) == 1 else "")
            return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
        if isinstance(value, slice):
            return repr(value)
        if isinstance(value, DType):
            return repr(value.name)
        self.failed |= not isinstance(value, (bool, int, float, str, type(None), type(...)))
        return repr(value)

    def _array(self, array: Any) -> str:
        kind = array.dtype.name
        fits = lambda v: v.exact and v.dtype == kind and v.shape == array.shape and v.bound <= 4  # noqa: E731
        if self.g.chance(0.5) and kind in EPS and (found := self.g.value(fits)):
            return found.name
        text = f"Tensor(sample({self.op!r}, {self.which}, {self.place - 1}, {self.dtype!r}))"
        made = self.g.source(text) if len(self.g.sources) < 6 else None
        self.failed |= made is None
        return made.name if made else ""


def broadcast(g: Writer) -> None:
    """An op of two or three operands that broadcast, one of them of lower rank or a scalar."""
    x = small(g)
    if x is None:
        return
    op = g.pick(BROADCAST)
    y, z = (_lower(g, x) for _ in range(2))
    if y is None or z is None or (op in ("maximum", "minimum") and not (x.exact and y.exact)):
        return
    given = [x.name, y.name]
    g.random.shuffle(given)
    text = {
        "lerp": f"{given[0]}.lerp({given[1]}, {g.pick((0.3, z.name))})",
        "addcmul": f"{given[0]}.addcmul({given[1]}, {z.name})",
        "where": f"({z.name} > 0.1).where({given[0]}, {given[1]})" if z.exact else "",
    }.get(op, f"{given[0]}.{op}({given[1]})")
    if text:
        g.write(
            f"{g.name()} = {text}", bound=x.bound + y.bound * (1 + z.bound) + x.bound * z.bound + 4
        )


def _lower(g: Writer, x: Value) -> Value | None:
    fits = lambda v: v.dtype == x.dtype and _meet(v.shape, x.shape) and v.bound <= 4  # noqa: E731
    if g.chance(0.5):
        return g.value(fits)
    shape = x.shape[g.random.randint(0, x.rank) :] if g.chance(0.6) else ()
    return g.new_input("unit", shape, x.dtype) or g.value(fits)


def chain(g: Writer) -> None:
    """A few statements on one value, each on what the one before left."""
    before, g.focus = g.focus, 1.0
    for _ in range(g.random.randint(2, 4)):
        g.random.choices(LINKS, LIKELY)[0](g)
    g.focus = before


LINKS: tuple[Callable[[Any], None], ...] = (unary, exponential, normal, move, total)
LINKS += (written, centred, updated, scanned, controlled, rounded, through)
LIKELY = (5, 3, 2, 2, 2, 6, 6, 2, 4, 4, 1, 1)


STATEMENTS: dict[str, tuple[int, Callable[[Writer], None]]] = {
    "chain": (40, chain),
    "constant": (11, constant),
    "twice": (14, centred),
    "round": (3, rounded),
    "scan": (14, scanned),
    "write": (26, written),
    "update": (9, updated),
    "assign": (3, assigned),
    "through a view": (5, through),
    "alias": (2, alias),
    "realize": (4, realized),
    "loop": (3, looped),
    "decide": (1, decided),
    "control": (8, controlled),
    "draw": (2, drawn),
    "layer": (2, layered),
    "record": (8, recorded),
    "broadcast": (9, broadcast),
}
ALL: dict[str, tuple[int, Callable[..., None]]] = {**FAMILIES, **STATEMENTS}
