"""A whole program as it is written: statement after statement, each tried on REF's handles first.

Nothing is computed while a program grows, except where it reads a value; so shapes and dtypes are
known. Handles that may lie in one another's memory form a group: what is known of one after a write
holds for all. What may live here: the program and what is known of it; the statements themselves
are in families.py and statements.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from adjoint import AdjointError, Device, Tensor
from tests.fuzz.growing import INTS, LIMIT, SIZES, Graph, Value
from tests.fuzz.program import EPS, REAL, Input, Step, _line
from tests.fuzz.source import SEED, Source, Statement, Whole, execute, names, namespace

VIEWS = {"reshape", "permute", "expand", "flip", "shrink", "transpose", "unsqueeze", "squeeze"}
VIEWS |= {"flatten", "__getitem__", "chunk", "split", "narrow", "swapaxes", "movedim", "view"}
VIEWS |= {"unflatten", "diagonal", "detach", "contiguous"}
KINDS = ("unit", "ties", "sparse", "ramp", "same")
FLAVOURS = (60, 12, 14, 6, 8)
TINY_FLAVOURS = (50, 10, 34, 2, 4)  # second derivatives differ where there are zeros


@contextmanager
def on(device: str) -> Iterator[None]:
    """Everything made inside is on that device."""
    before, Device.DEFAULT = Device.DEFAULT, device
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        Device.DEFAULT = before


class Writer(Graph):
    """A program that grows as text."""

    def __init__(self, seed: int):
        super().__init__(seed)
        self.sources: dict[str, Source] = {}
        self.statements: list[Statement] = []
        self.space: dict[str, Any] = namespace()
        self.group: dict[str, int] = {}
        self.family = ""
        self.stopped = False  # by an exception that is no answer: the program is finished
        self.tiny = self.random.random() < 0.3
        self.special = self.random.random() < 0.06
        self.long = self.long and not self.tiny
        self.most = 12 if self.tiny else 4096 if self.long else 256
        self.made, self.last = 0, ""
        self.focus = 0.4  # how often the last value is taken
        Tensor.manual_seed(SEED)

    # ---- picks

    def shape(self, least: int = 0, most: int = 4) -> tuple[int, ...]:
        """A random shape: mostly small, now and then empty, of single elements, or long."""
        if self.long:
            return super().shape(least, most)
        rank = self.random.choices(range(5), (8, 36, 36, 15, 5))[0]
        choices, likely = (
            ((1, 2, 3), (2, 5, 4)) if self.tiny else (SIZES[:7], (8, 10, 12, 8, 4, 3, 2))
        )
        sizes = self.random.choices(choices, likely, k=max(least, min(rank, most)))
        if sizes and self.chance(0.03):
            sizes[self.random.randrange(len(sizes))] = 0
        while prod(sizes) > self.most // 2:
            sizes[sizes.index(max(sizes))] = self.pick((1, 2, 3))
        return tuple(sizes)

    def value(self, fits: Callable[[Value], bool] = lambda v: True) -> Value | None:
        """One that fits: often the one that was made or changed last, so that chains get long."""
        last = next((v for v in self.values if v.name == self.last), None)
        if last is not None and self.chance(self.focus) and fits(last):
            return last
        return super().value(fits)

    # ---- inputs

    def new_input(
        self, kind: str, shape: tuple[int, ...], dtype: str, limit: int = 0
    ) -> Value | None:
        if len(self.sources) >= 6:
            return None
        if kind == "unit":
            kind = self.random.choices(KINDS, TINY_FLAVOURS if self.tiny else FLAVOURS)[0]
        return self.source(self._made(kind, shape, dtype, limit), kind, limit)

    def _made(self, kind: str, shape: tuple[int, ...], dtype: str, limit: int) -> str:
        """The text of an input: an array's tensor, or an expansion, a view or a fill."""
        more = f", {limit}" if limit else ""

        def call(shape: tuple[int, ...]) -> str:
            return f"Tensor(data({kind!r}, {shape}, {dtype!r}, {{seed}}{more}))"

        form = self.random.random()
        if form < 0.1 and shape:
            axis = self.random.randrange(len(shape))
            base = (*shape[:axis], 1, *shape[axis + 1 :])
            return f"{call(base)}.expand{shape if len(shape) > 1 else f'({shape[0]})'}"
        if form < 0.16 and shape and shape[0]:
            return f"{call((2 * shape[0], *shape[1:]))}[::2]"
        if form < 0.2 and len(shape) > 1:
            return f"{call(shape[::-1])}.permute{tuple(range(len(shape)))[::-1]}"
        if form < 0.24 and kind in KINDS and dtype in EPS:
            return (
                f"Tensor.full({shape}, {self.pick((1.5, 0.25, -2.0, 0.0, 1.0))}, dtype={dtype!r})"
            )
        return call(shape)

    def source(
        self, text: str, kind: str = "", limit: int = 0, name: str = "", **known: Any
    ) -> Value | None:
        """An input of that text; some are captured, not passed."""
        captured = known.pop("captured", self.chance(0.12))
        name = name or f"{'s' if captured else 'a'}{self.number()}"
        given = Source(text, self.random.randrange(1000), captured)
        bound = {"whole": 1e30, "small": 9.0, "below": float(limit), "ramp": 100.0}.get(kind, 2.0)
        given = replace(given, bound=known.get("bound", bound))
        try:
            with on("REF"):
                self.space[name] = tensor = eval(given.line(), self.space)
        except AdjointError:
            return None
        self.sources[name] = given
        if not isinstance(tensor, Tensor):
            return None
        self.inputs[name] = Input(kind or "unit", tensor.shape, tensor.dtype.name, given.seed)
        found = self._known(name, True, given.bound)
        for other in names(text):
            self.group[name] = self.group[other]
        return found

    def number(self) -> int:
        """One that no input has in its name."""
        return max((int(name[1:]) + 1 for name in self.sources), default=0)

    def whole_input(self, shape: tuple[int, ...]) -> Value | None:
        kind = self.random.choices(("small", "whole", "flags"), (70, 10, 20))[0]
        return self.new_input(kind, shape, "bool" if kind == "flags" else self.pick(INTS))

    def _known(self, name: str, exact: bool, bound: float) -> Value:
        self.group.setdefault(name, len(self.group))
        value = Value(name, self.space[name], exact, bound)
        self.values = [v for v in self.values if v.name != name] + [value]
        return value

    # ---- statements

    def name(self) -> str:
        """A name that is not taken."""
        self.made += 1
        return f"v{self.made - 1}"

    def add(
        self,
        op: str,
        *args: Any,
        exact: bool = False,
        bound: float = 1.0,
        part: int | None = None,
        **kwargs: Any,
    ) -> Value | None:
        """A call as a statement."""
        plain = lambda v: v.ref if isinstance(v, Value) else v  # noqa: E731
        given = tuple([plain(v) for v in a] if isinstance(a, list) else plain(a) for a in args)
        step = Step(self.name(), op, given, kwargs, part)
        found = self.write(_line(step), exact=exact, bound=bound)
        first = args[0] if args else None
        if found is not None and op in VIEWS and isinstance(first, Value):
            self.group[found.name] = self.group[first.name]
        return found

    def write(
        self, text: str, exact: bool = False, bound: float = 1.0, changes: Value | None = None
    ) -> Value | None:
        """A statement, unless it is refused, or its value is too large in number or extent."""
        statement = Statement(text, self.family, exact, bound)
        known = all(n in self.space or n == statement.defines for n in names(text))
        if self.stopped or not known or not self._may_grow(bound, changes):
            return None  # of a program that is continued, a part may be missing
        try:
            with on("REF"):
                execute(text, self.space)
        except AdjointError:
            return None
        except Exception:  # the modes will meet it again and say so
            self.stopped = True
        return self._accepted(statement, changes)

    def _may_grow(self, bound: float, changes: Value | None) -> bool:
        return changes is None or bound <= LIMIT.get(REAL.get(changes.dtype, changes.dtype), 1e40)

    def _accepted(self, statement: Statement, changes: Value | None) -> Value | None:
        name = statement.defines
        if changes is None and name is not None and not self.stopped:
            tensor = self.space[name]
            kind = tensor.dtype.name
            limit = LIMIT.get(REAL.get(kind, kind), 1e40)
            if tensor.numel() > self.most or statement.bound > limit:
                del self.space[name]
                return None
        self.statements.append(statement)
        self.last = name or (changes.name if changes is not None else "")
        self.steps.append(Step(name or "", "", ()))
        used = names(statement.text[len(name) :] if name and changes is None else statement.text)
        self.used |= set(used)
        if self.stopped or name is None:
            self._spread(statement, changes)
            return changes
        whole = self.space[name].dtype.name not in EPS and self.space[name].dtype.name not in REAL
        bound = (
            statement.bound if not whole else max(statement.bound, 1e30 * (statement.bound > 100))
        )
        return self._known(name, statement.exact or whole, bound)

    def _spread(self, statement: Statement, changes: Value | None) -> None:
        """What was written is known of every handle on that memory."""
        if changes is None:
            return
        own = self.group[changes.name]
        self.used.discard(changes.name)
        self.values = [
            replace(
                v,
                exact=v.exact and (statement.exact or v.dtype not in EPS),
                bound=max(v.bound, statement.bound),
            )
            if self.group[v.name] == own
            else v
            for v in self.values
        ]

    # ---- the whole

    def replay(self, program: Whole, skip: int | None = None) -> None:
        """Begin with another program's inputs and statements, perhaps all but one."""
        for name, given in program.inputs.items():
            kind = given.text.partition("data('")[2].partition("'")[0]
            self.source(given.text, kind, 0, name, captured=given.captured, bound=given.bound)
        for i, statement in enumerate(program.statements):
            if i == skip:
                continue
            self.family = statement.family
            target = None if statement.defines else self._changed(statement)
            self.write(statement.text, statement.exact, statement.bound, target)
            self.made = max(self.made, *(int(n[1:]) + 1 for n in names(statement.text)), 0)

    def _changed(self, statement: Statement) -> Value | None:
        found = names(statement.text)
        return next((v for v in self.values if found and v.name == found[0]), None)

    def whole(self) -> Whole:
        """The program: it returns what nothing uses, and a few values more."""
        own = [s.defines for s in self.statements if s.defines in self.space]
        own = list(dict.fromkeys(n for n in own if isinstance(self.space[n], Tensor)))
        ends = [n for n in own if n not in self.used][-4:]
        more = self.random.sample(own, min(len(own), self.pick((0, 0, 1, 2))))
        written = [n for n in self.sources if isinstance(self.space.get(n), Tensor)]
        outputs = tuple(dict.fromkeys([*ends, *more])) or tuple(own[-1:]) or tuple(written[:1])
        return Whole(dict(self.sources), tuple(self.statements), outputs)
