"""A program of Tensor calls as data: run on a device, printed as text, taken apart by the shrinker.

What may live here: programs, the numbers they run on, and how the results of two devices are
compared. What may not: how programs are made up (see graphs.py) or made smaller (see shrink.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import ml_dtypes
import numpy as np

from adjoint import Tensor

Array = np.ndarray[Any, Any]
FLOATS = ("bfloat16", "float16", "float32", "float64")  # least exact first
EPS = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24, "float64": 2.0**-53}
REAL = {"complex64": "float32", "complex128": "float64"}
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan)


@dataclass(frozen=True)
class Ref:
    """The value of that name, among the arguments of a step."""

    name: str


@dataclass(frozen=True)
class Input:
    """Numbers by description: `data(kind, shape, dtype, seed, limit)`."""

    kind: str
    shape: tuple[int, ...]
    dtype: str
    seed: int
    limit: int = 0

    @property
    def is_float(self) -> bool:
        return self.dtype in EPS


@dataclass(frozen=True)
class Step:
    """`name = Tensor.op(*args, **kwargs)`, or one of its results."""

    name: str
    op: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    part: int | None = None


@dataclass(frozen=True)
class Program:
    """Inputs, steps in order, the values that are asked for, and whether gradients are."""

    inputs: dict[str, Input]
    steps: tuple[Step, ...]
    outputs: tuple[str, ...]
    grads: tuple[str, ...] = ()
    narrowest: str = "float64"  # of all float dtypes in it

    def __str__(self) -> str:
        return text(self)


def number_type(dtype: str) -> Any:
    """NumPy's dtype of that name."""
    return np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def data(kind: str, shape: tuple[int, ...], dtype: str, seed: int, limit: int = 0) -> Array:
    """The numbers of an input.

    unit: in (-1, 1) on a grid of 1/64, which every float dtype holds; special: the same with NaN,
    infinities and zeros of both signs; small: integers in [-9, 9], or [0, 9]; whole: any integer of
    the dtype; flags: truth values; below: integers in [0, limit).
    """
    rng = np.random.default_rng(seed)
    if kind == "flags":
        return rng.random(shape) > 0.5
    if kind == "below":
        return rng.integers(0, max(limit, 1), shape).astype(dtype)
    if kind == "small":
        low = 0 if dtype.startswith("u") else -9
        return rng.integers(low, 10, shape).astype(dtype)
    if kind == "whole":
        bounds = np.iinfo(dtype)
        return rng.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)
    numbers = rng.integers(-63, 64, shape) / 64
    if kind == "special":
        numbers = np.where(rng.random(shape) < 0.1, rng.choice(SPECIAL, shape), numbers)
    return np.asarray(numbers).astype(number_type(dtype))


def refs(value: Any) -> Iterator[str]:
    """The names of the values in arguments."""
    if isinstance(value, Ref):
        yield value.name
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from refs(item)
    elif isinstance(value, dict):
        yield from refs(list(value.values()))


def mapped(value: Any, change: Any) -> Any:
    """Arguments with every leaf changed."""
    if isinstance(value, (tuple, list)):
        return type(value)(mapped(v, change) for v in value)
    if isinstance(value, dict):
        return {k: mapped(v, change) for k, v in value.items()}
    if isinstance(value, slice):
        return slice(*(change(v) for v in (value.start, value.stop, value.step)))
    return change(value)


def alive(program: Program) -> Program:
    """Without the steps and inputs that no output needs."""
    needed = set(program.outputs)
    for step in reversed(program.steps):
        if step.name in needed:
            needed |= set(refs((step.args, step.kwargs)))
    steps = tuple(s for s in program.steps if s.name in needed)
    inputs = {n: i for n, i in program.inputs.items() if n in needed}
    grads = tuple(n for n in program.grads if n in inputs)
    return replace(program, inputs=inputs, steps=steps, grads=grads)


# ---- run


def apply(step: Step, values: dict[str, Tensor]) -> Tensor:
    """One step on values by name."""
    known = lambda v: values[v.name] if isinstance(v, Ref) else v  # noqa: E731
    result = getattr(Tensor, step.op)(*mapped(step.args, known), **mapped(step.kwargs, known))
    return result if step.part is None else result[step.part]


def tensor_of(source: Input, device: str, wants: bool, dtype: str | None = None) -> Tensor:
    """An input on a device, perhaps in another float dtype."""
    array = data(source.kind, source.shape, source.dtype, source.seed, source.limit)
    if dtype is not None and source.is_float:
        array = array.astype(dtype)
    return Tensor(array, device=device, requires_grad=wants or None)


def build(program: Program, device: str, floats: str | None = None) -> dict[str, Tensor]:
    """All values, nothing computed yet; `floats` takes the place of every float dtype."""
    values = {
        name: tensor_of(source, device, name in program.grads, floats)
        for name, source in program.inputs.items()
    }
    other = lambda v: floats if isinstance(v, str) and v in EPS else v  # noqa: E731
    for step in program.steps:
        if floats is not None:
            step = replace(step, args=mapped(step.args, other), kwargs=mapped(step.kwargs, other))
        values[step.name] = apply(step, values)
    return values


def results(program: Program, values: dict[str, Tensor]) -> dict[str, Array]:
    """The outputs and the gradients of their weighted sum, computed together."""
    wanted = {name: values[name] for name in program.outputs}
    terms = [_weighed(t, i) for i, t in enumerate(wanted.values()) if t.requires_grad]
    if terms and program.grads:
        sum(terms[1:], terms[0]).backward()
        given = {f"{n}.grad": values[n].grad for n in program.grads}
        wanted |= {name: t for name, t in given.items() if t is not None}
    tensors = list(wanted.values())
    with np.errstate(all="ignore"):
        tensors[0].realize(*tensors[1:])
    return {name: t.numpy() for name, t in wanted.items()}


def _weighed(output: Tensor, number: int) -> Tensor:
    real = output.real() if output.dtype.is_complex else output
    weights = data("unit", real.shape, real.dtype.name, number)
    return (real * Tensor(weights, device=real.device)).sum().cast("float32")


def run(program: Program, device: str, floats: str | None = None) -> dict[str, Array]:
    """The outputs and gradients on a device."""
    return results(program, build(program, device, floats))


# ---- compare

SLACK = 64  # roundings that a value may have collected before anything is amplified
AMPLIFIED = 16  # how much further from the truth than the reference is still rounding


def differences(program: Program, ref: dict[str, Array], cpu: dict[str, Array]) -> list[str]:
    """What is not equal, in words.

    Integers and truth values are equal. A float may differ by SLACK roundings of the narrowest
    float dtype of the program, relative to itself or to the largest value of its array (or 1: the
    inputs are of that size). Where it differs by more, the program may have amplified the error:
    then it runs on REF once more with every float in float64 (in float32, if it has only float64),
    which tells how far off REF's own result is; CPU may be AMPLIFIED times as far off.
    """
    found = []
    wider: dict[str, Array] = {}
    for name, wanted in ref.items():
        got = cpu[name]
        if got.shape != wanted.shape or got.dtype != wanted.dtype:
            found.append(f"{name}: {got.dtype}{got.shape}, wanted {wanted.dtype}{wanted.shape}")
            continue
        if wanted.dtype.kind in "biu":
            bad = got != wanted
        else:
            eps = EPS[program.narrowest]
            got, wanted = _wide(got), _wide(wanted)
            bad = _apart(got, wanted, SLACK * eps * _size(wanted))
            if bad.any():
                wider = wider or run(program, "REF", _other(program))
                bad = _apart(got, wanted, _amplified(program, wanted, _wide(wider[name])))
        if bad.any():
            found.append(_words(name, got, wanted, bad))
    return found


def _wide(array: Array) -> Array:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _size(array: Array) -> float:
    finite = np.abs(array[np.isfinite(array)])
    return float(max(1.0, finite.max(initial=0.0)))


def _other(program: Program) -> str:
    return "float32" if program.narrowest == "float64" else "float64"


def _amplified(program: Program, wanted: Array, wider: Array) -> float:
    with np.errstate(all="ignore"):
        off = np.abs(wider - wanted)
    worst = float(off[np.isfinite(off)].max(initial=0.0))
    if program.narrowest == "float64":
        worst *= EPS["float64"] / EPS["float32"]
    return AMPLIFIED * worst + SLACK * EPS[program.narrowest] * _size(wanted)


def _apart(got: Array, wanted: Array, tolerance: float) -> Array:
    with np.errstate(all="ignore"):
        near = np.abs(got - wanted) <= tolerance
    same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    return np.asarray(~(near | same))


def _words(name: str, got: Array, wanted: Array, bad: Array) -> str:
    place = tuple(int(i) for i in np.argwhere(bad)[0])
    return (
        f"{name}{list(place)}: {got[place]!r}, wanted {wanted[place]!r}"
        f" ({int(bad.sum())} of {bad.size} differ)"
    )


# ---- text

HEAD = """import sys
from adjoint import Tensor
from tests.fuzz.program import data

device = sys.argv[1] if len(sys.argv) > 1 else "CPU"  # or REF, which is right
"""


def text(program: Program) -> str:
    """The program as Python that runs by itself."""
    lines = [HEAD]
    for name, source in program.inputs.items():
        call = f"data({source.kind!r}, {source.shape}, {source.dtype!r}, {source.seed}"
        call += f", {source.limit})" if source.limit else ")"
        wants = ", requires_grad=True" if name in program.grads else ""
        lines.append(f"{name} = Tensor({call}, device=device{wants})")
    lines += [_line(step) for step in program.steps]
    if program.grads:
        lines.append("loss = 0.0")
        for i, name in enumerate(program.outputs):
            real = f"({name}.real() if {name}.dtype.is_complex else {name})"
            weights = f'Tensor(data("unit", y.shape, y.dtype.name, {i}), device=device)'
            total = f'loss += (y * {weights}).sum().cast("float32")'
            lines.append(f"if {name}.requires_grad:\n    y = {real}\n    {total}")
        lines.append("loss.backward()")
    shown = [*program.outputs, *(f"{n}.grad" for n in program.grads)]
    lines.append(f"shown = [{', '.join(shown)}]")
    lines.append("shown = [t for t in shown if t is not None]")
    lines.append("shown[0].realize(*shown[1:])\nfor t in shown:\n    print(t.numpy())")
    return "\n".join(lines) + "\n"


def _line(step: Step) -> str:
    first, *rest = step.args
    if step.op == "__getitem__":
        call = f"{_shown(first)}[{_key(rest[0])}]"
    else:
        own = _shown(first) if isinstance(first, Ref) else "Tensor"
        given = [_shown(v) for v in (rest if isinstance(first, Ref) else step.args)]
        given += [f"{k}={_shown(v)}" for k, v in step.kwargs.items()]
        call = f"{own}.{step.op}({', '.join(given)})"
    return f"{step.name} = {call}" + ("" if step.part is None else f"[{step.part}]")


def _shown(value: Any) -> str:
    if isinstance(value, Ref):
        return value.name
    if isinstance(value, (tuple, list)):
        inner = ", ".join(map(_shown, value))
        comma = "," if isinstance(value, tuple) and len(value) == 1 else ""
        return f"({inner}{comma})" if isinstance(value, tuple) else f"[{inner}]"
    return repr(value)


def _key(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_key, value)) + ("," if len(value) == 1 else "")
    if isinstance(value, slice):
        parts = ["" if v is None else repr(v) for v in (value.start, value.stop, value.step)]
        return ":".join(parts)
    return "..." if value is Ellipsis else _shown(value)
