"""A random program as it grows: its values, and what is known of them.

Every value carries a bound on its size, so that nothing overflows, and whether it is *exact*: the
same bits on every device, as inputs, what moves them, integers, and IEEE arithmetic on them are.
Sums of floats and functions such as exp are not exact; ops that jump (comparisons, rounding,
argmax, sort, max with its gradient) only take exact values. What may live here: the program and
what is known of it. What calls there are says families.py; how results are compared, program.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from random import Random
from typing import Any

from adjoint import AdjointError, Tensor
from tests.fuzz.program import (
    EPS,
    FLOATS,
    REAL,
    Input,
    Program,
    Ref,
    Step,
    alive,
    apply,
    tensor_of,
)

SIZES = (1, 2, 3, 5, 7, 8, 9, 16, 17, 31, 33)
LIKELY = (6, 10, 10, 8, 6, 6, 4, 3, 3, 2, 2)
LIMIT = {"bfloat16": 30.0, "float16": 30.0, "float32": 300.0, "float64": 300.0}
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
LONG = (40, 64, 65, 100, 127, 130)  # of a few programs: vectors and tiles with rests
MOST = 1100  # elements of a value; of those programs, LONG_MOST
LONG_MOST = 20_000
INPUTS = 7
LEAST = 5  # steps


@dataclass(frozen=True)
class Value:
    """What is known of a value while the program grows."""

    name: str
    tensor: Tensor
    exact: bool
    bound: float

    @property
    def ref(self) -> Ref:
        return Ref(self.name)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tensor.shape

    @property
    def dtype(self) -> str:
        return self.tensor.dtype.name

    @property
    def rank(self) -> int:
        return len(self.tensor.shape)


class Graph:
    """A program that grows; its values are nodes on REF, so shapes and dtypes are known."""

    def __init__(self, seed: int):
        self.random = Random(seed)
        self.values: list[Value] = []
        self.inputs: dict[str, Input] = {}
        self.steps: list[Step] = []
        self.used: set[str] = set()
        self.base = self.random.choices(
            ("float32", "float64", "float16", "bfloat16"), (60, 16, 12, 12)
        )[0]
        self.special = self.random.random() < 0.03
        self.long = self.random.random() < 0.03
        self.most = LONG_MOST if self.long else MOST
        self.grads: list[str] = []

    # ---- random picks

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, choices: Any) -> Any:
        return self.random.choice(choices)

    def shape(self, least: int = 0, most: int = 4) -> tuple[int, ...]:
        """A random shape that is not too large."""
        rank = self.random.choices(range(5), (4, 22, 40, 22, 12))[0]
        sizes = self.random.choices(SIZES, LIKELY, k=max(least, min(rank, most)))
        if sizes and self.chance(0.015):
            sizes[self.random.randrange(len(sizes))] = 0
        elif self.long:
            sizes = [self.pick(LONG) if self.chance(0.5) else n for n in sizes]
        while prod(sizes) > self.most // 2:
            sizes[sizes.index(max(sizes))] = self.pick((1, 2, 3, 5))
        return tuple(sizes)

    def value(self, fits: Callable[[Value], bool] = lambda v: True) -> Value | None:
        """One that fits, rather a recent one or one that nobody uses yet."""
        found = [v for v in self.values if fits(v)]
        if not found:
            return None
        weights = [(4 if v.name not in self.used else 1) * (1 + i) for i, v in enumerate(found)]
        return self.random.choices(found, weights)[0]

    def real(self, least: int = 0, exact: bool = False) -> Value | None:
        """A float value of at least that rank."""
        fits = lambda v: v.dtype in EPS and v.rank >= least and (v.exact or not exact)  # noqa: E731
        found = self.value(fits)
        if found is None or self.chance(0.04):
            return self.real_input(self.shape(least)) or found
        return found

    def any(self, least: int = 0, exact: bool = False) -> Value | None:
        """A value of any dtype but complex."""
        return self.value(
            lambda v: v.dtype not in REAL and v.rank >= least and (v.exact or not exact)
        )

    def axis(self, value: Value) -> int:
        return self.random.randrange(-value.rank, value.rank)

    def axes(self, value: Value) -> Any:
        """Some axes, or all."""
        if not value.rank or self.chance(0.2):
            return None
        count = self.random.randint(1, value.rank)
        found = tuple(sorted(self.random.sample(range(value.rank), count)))
        return found[0] if len(found) == 1 and self.chance(0.5) else found

    # ---- growing

    def new_input(
        self, kind: str, shape: tuple[int, ...], dtype: str, limit: int = 0
    ) -> Value | None:
        if len(self.inputs) >= INPUTS:
            return None
        name = f"a{len(self.inputs)}"
        source = Input(kind, shape, dtype, self.random.randrange(1000), limit)
        self.inputs[name] = source
        if source.is_float:
            self.grads.append(name)
        tensor = tensor_of(source, "REF", source.is_float)
        bound = {"whole": 1e30, "small": 9.0, "below": float(limit)}.get(kind, 1.0)
        self.values.append(Value(name, tensor, True, bound))
        return self.values[-1]

    def real_input(self, shape: tuple[int, ...], dtype: str | None = None) -> Value | None:
        return self.new_input("special" if self.special else "unit", shape, dtype or self.base)

    def whole_input(self, shape: tuple[int, ...]) -> Value | None:
        kind = self.random.choices(("small", "whole", "flags"), (70, 10, 20))[0]
        return self.new_input(kind, shape, "bool" if kind == "flags" else self.pick(INTS))

    def indices(self, shape: tuple[int, ...], limit: int) -> Value | None:
        """Integers in [0, limit): an input."""
        if limit == 0:
            return None
        return self.new_input("below", shape, self.pick(("int32", "int64")), limit)

    def add(
        self,
        op: str,
        *args: Any,
        exact: bool = False,
        bound: float = 1.0,
        part: int | None = None,
        **kwargs: Any,
    ) -> Value | None:
        """A step, unless the op refuses, or its value is too large in number or extent."""
        plain = lambda v: v.ref if isinstance(v, Value) else v  # noqa: E731
        given = tuple([plain(v) for v in a] if isinstance(a, list) else plain(a) for a in args)
        step = Step(f"v{len(self.steps)}", op, given, kwargs, part)
        known = {v.name: v.tensor for v in self.values}
        try:
            tensor = apply(step, known)
        except AdjointError:
            return None
        kind = tensor.dtype.name
        if tensor.numel() > self.most or bound > LIMIT.get(REAL.get(kind, kind), 1e40):
            return None
        self.steps.append(step)
        self.used |= {v.name for a in args for v in (a if isinstance(a, list) else [a]) if _is(v)}
        whole = kind not in EPS and kind not in REAL
        size = bound if not whole else max(bound, 1e30 if bound > 100 else 0)
        self.values.append(Value(step.name, tensor, exact or whole, size))
        return self.values[-1]

    def tame(self, x: Value, most: float) -> Value | None:
        """The value, or its tanh where it may be larger than that."""
        return x if x.bound <= most else self.add("tanh", x)

    # ---- the program

    def program(self) -> Program:
        """The values that nobody uses are its outputs, and a few others."""
        names = [s.name for s in self.steps]
        ends = [n for n in names if n not in self.used]
        more = self.random.sample(names, min(len(names), self.random.choice((0, 0, 1, 2))))
        found = self._asked([*ends[-4:], *more])
        return found if len(found.steps) >= LEAST else self._asked(ends)

    def _asked(self, outputs: list[str]) -> Program:
        kinds = {REAL.get(v.dtype, v.dtype) for v in self.values}
        narrow = next((d for d in FLOATS if d in kinds), "float32")
        asked = tuple(dict.fromkeys(outputs))
        return alive(Program(self.inputs, tuple(self.steps), asked, tuple(self.grads), narrow))


def _is(value: Any) -> bool:
    return isinstance(value, Value)
