"""Fifty programs, one after another, in the ways that their numbers say; what is wrong is shrunk.

The programs of a chunk follow from the seed and the chunk's number alone: those that made the
compiler do something new are continued later in the same chunk. What may live here: running a
chunk. What may not: processes (see campaign.py).
"""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from tests.fuzz.coverage import Coverage
from tests.fuzz.grown import grown
from tests.fuzz.modes import MODES, Runs, checked
from tests.fuzz.smaller import kind, shrunk, signature
from tests.fuzz.source import Source, Statement, Whole, script

CHUNK = 50
WARM = 10  # programs of a chunk before one can be new
KEPT = Path(__file__).with_name("kept.json")
ALWAYS = ("REF", "jit", "model")
SOMETIMES = {  # mode: every so many programs, beginning at
    "disk": (3, 0),
    "at once": (2, 0),
    "vmap": (3, 0),
    "grad": (3, 1),
    "jvp": (3, 2),
    "hessian": (2, 1),  # of those programs that are small enough
    "jit of grad": (12, 5),
    "C": (48, 11),
    "least": (24, 7),
    "least grad": (24, 19),
}
ON_A_GPU = {"jit": 0, "grad": 1}  # of every three programs
ALIKE = 2  # failures that look alike before they are shrunk which are shrunk


@dataclass(frozen=True)
class Find:
    """Something wrong: where, in which mode, in words, and the program made small."""

    index: int
    mode: str
    words: str
    program: str
    signature: str


@dataclass
class Report:
    """What came of some programs."""

    programs: int = 0
    finds: list[Find] = field(default_factory=list)
    alike: Counter[str] = field(default_factory=Counter)  # finds that were not shrunk, by kind
    refusals: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)  # the first program of each refusal
    words: set[str] = field(default_factory=set)
    kept: list[dict[str, Any]] = field(default_factory=list)

    def join(self, other: Report) -> None:
        """Add another report to this one."""
        self.programs += other.programs
        self.finds += other.finds
        self.alike += other.alike
        self.refusals += other.refusals
        self.examples = other.examples | self.examples
        self.words |= other.words
        self.kept += other.kept


def to_data(program: Whole) -> dict[str, Any]:
    """A program as plain data."""
    return asdict(program)


def from_data(data: dict[str, Any]) -> Whole:
    """A program from plain data."""
    inputs = {name: Source(**source) for name, source in data["inputs"].items()}
    statements = tuple(Statement(**s) for s in data["statements"])
    return Whole(inputs, statements, tuple(data["outputs"]))


@lru_cache
def kept() -> tuple[Whole, ...]:
    """Programs of earlier days that made the compiler do rare things."""
    return tuple(map(from_data, json.loads(KEPT.read_text()))) if KEPT.exists() else ()


def modes_of(index: int, place: str = "") -> list[str]:
    """The modes that a program is run in; on a GPU against the CPU, if one is named."""
    if place:
        return [place, *(f"{place} {how}" for how, at in ON_A_GPU.items() if index % 3 == at)]
    return [*ALWAYS, *(m for m, (every, at) in SOMETIMES.items() if index % every == at)]


def programs(
    seed: int, chunk: int, coverage: Coverage, without: Collection[str] = ()
) -> Iterator[tuple[int, Whole]]:
    """The programs of a chunk, by number; the next one depends on what was covered before."""
    parents: list[Whole] = list(kept())
    known: set[str] = set()
    for index in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        program = grown(seed, index, parents, without)
        coverage.taken()
        yield index, program
        words = coverage.taken()
        if index % CHUNK >= WARM and len(words - known) > 2:
            parents.append(program)
        known |= words


class Chunk:
    """A run over programs of one chunk."""

    def __init__(
        self,
        seed: int,
        number: int,
        without: Collection[str] = (),
        not_modes: Collection[str] = (),
        place: str = "",
    ):
        self.seed, self.number, self.without = seed, number, without
        self.not_modes, self.place = not_modes, place
        self.report = Report()
        self.coverage = Coverage()
        self.met: Counter[str] = Counter()

    def run(
        self,
        first: int = 0,
        last: int | None = None,
        modes: Sequence[str] = (),
        tell: Callable[[int, str, Whole], None] = lambda index, mode, program: None,
    ) -> Report:
        """Check the programs from `first` on; those before are only looked at."""
        with self.coverage.watching(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what jit cannot watch: it says so and traces again
            stream = programs(self.seed, self.number, self.coverage, self.without)
            for index, program in stream:
                if last is not None and index >= last:
                    break
                self._one(
                    index,
                    program,
                    ("REF",) if index < first else (modes or modes_of(index, self.place)),
                    index >= first,
                    tell,
                )
        return self.report

    def _one(
        self, index: int, program: Whole, modes: Sequence[str], counts: bool, tell: Any
    ) -> None:
        runs, before = Runs(program), len(self.report.words)
        for mode in modes:
            if mode in self.not_modes:
                continue
            tell(index, mode, program)
            words, refused = checked(program, mode, runs)
            if refused and counts:
                self._refused(mode, refused, program)
            if words and counts:
                self._found(index, mode, words, program)
                break
        self.report.programs += counts
        self.report.words |= self.coverage.seen
        if counts and len(self.report.words) > before:
            self.report.kept.append(to_data(program) | {"words": sorted(self.coverage.seen)})

    def _refused(self, mode: str, refused: str, program: Whole) -> None:
        name = f"{mode} {refused.split(': ')[1]}"
        self.report.refusals[name] += 1
        self.report.examples.setdefault(name, f"{refused}\n{script(program)}")

    def _found(self, index: int, mode: str, words: str, program: Whole) -> None:
        alike = f"{mode}, {kind(words)}: {re.sub(r'[^a-zA-Z ]+', '', words)[:50]}"
        self.met[alike] += 1
        if self.met[alike] > ALIKE:
            self.report.alike[alike] += 1
            return
        seen = set(self.coverage.seen)
        small, how = shrunk(program, lambda p: checked(p, mode)[0])
        self.coverage.seen = seen
        found = Find(index, mode, how or words, script(small), signature(small, mode, how or words))
        self.report.finds.append(found)


__all__ = ["CHUNK", "MODES", "Chunk", "Find", "Report", "from_data", "kept", "modes_of", "to_data"]
