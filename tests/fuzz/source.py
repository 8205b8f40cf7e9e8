"""Whole programs as Python text: a function of tensors, statement by statement.

A program has inputs (arguments of the function, or captured by it), statements over handles, and
the names it returns. What may live here: the text, how it becomes a function, and how names and
numbers in it are changed. What may not: how programs are made up (see writer.py and statements.py)
or run (see modes.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

import adjoint
from adjoint import Tensor, checkpoint, cond, fori_loop, nn, scan
from tests.fuzz.numbers import data, sample

NAME = re.compile(r"\b[abvsl]\d+\b")  # argument, input of the shrinker, value, state, layer
NARROW = re.compile(r"'(?:float32|float16|bfloat16)'")
READS = re.compile(r"\.item\(|\.numpy\(|\.tolist\(|\bfloat\(|\bbool\(")
DRAWS = re.compile(r"\bTensor\.rand|\.uniform\(|\.normal\(|_like\(\)|\.dropout\(|nn\.Dropout")
WRITES = re.compile(r"\.assign\(|\] [-+*/]?= |^\s*\w+ [-+*/]= ", re.M)
CUTS = re.compile(
    r"\.assign\(|detach|stop_gradient|contiguous_backward"
)  # where gradients end on purpose
SEED = 7


@dataclass(frozen=True)
class Source:
    """An input: Python that makes it, with `{seed}` where other numbers can be asked for."""

    text: str
    seed: int = 0
    captured: bool = False
    bound: float = 1.0

    def line(self, shift: int = 0) -> str:
        return self.text.replace("{seed}", str(self.seed + shift))


@dataclass(frozen=True)
class Statement:
    """Python over the names of a program; what is known of the value it makes or changes."""

    text: str
    family: str = ""
    exact: bool = False
    bound: float = 1.0

    @property
    def defines(self) -> str | None:
        """The name it makes, if it makes one."""
        found = re.match(r"(\w+) = ", self.text)
        return found.group(1) if found else None


@dataclass(frozen=True)
class Whole:
    """A program: sources by name, statements in order, the names it returns."""

    inputs: dict[str, Source]
    statements: tuple[Statement, ...]
    outputs: tuple[str, ...]

    @property
    def arguments(self) -> list[str]:
        return [n for n, s in self.inputs.items() if not s.captured]

    @property
    def captured(self) -> list[str]:
        return [n for n, s in self.inputs.items() if s.captured]

    @property
    def body(self) -> str:
        return "\n".join(s.text for s in self.statements)

    @property
    def reads(self) -> bool:
        """Whether a value is read inside, which a traced function may refuse."""
        return READS.search(self.body) is not None

    @property
    def writes(self) -> bool:
        """Whether it may write into its inputs."""
        return WRITES.search(self.body) is not None

    @property
    def aliased(self) -> bool:
        """Whether an input lies in the memory of another."""
        return any(names(s.text) for s in self.inputs.values())

    @property
    def draws(self) -> bool:
        """Whether it draws random numbers."""
        return DRAWS.search(self.body) is not None

    @property
    def cuts(self) -> bool:
        """Whether derivatives differ from differences on purpose."""
        return self.reads or CUTS.search(self.body) is not None

    def __str__(self) -> str:
        return script(self)


def names(text: str) -> list[str]:
    """The names of values in a text, in order, each once."""
    return list(dict.fromkeys(NAME.findall(text)))


def function_text(program: Whole) -> str:
    """`def program(...)`."""
    lines = [f"def program({', '.join(program.arguments)}):"]
    rebound = [n for n in program.captured if re.search(rf"^\s*{n} [-+*/]= ", program.body, re.M)]
    lines += [f"    global {', '.join(rebound)}"] if rebound else []
    for statement in program.statements:
        lines += [f"    {line}" for line in statement.text.split("\n")]
    lines.append(f"    return {', '.join(program.outputs)},")
    return "\n".join(lines)


@lru_cache(maxsize=256)
def _code(text: str) -> Any:
    return compile(text, "<program>", "exec")


def namespace() -> dict[str, Any]:
    """What programs may name."""
    return {
        "Tensor": Tensor,
        "adjoint": adjoint,
        "nn": nn,
        "np": np,
        "cond": cond,
        "scan": scan,
        "fori_loop": fori_loop,
        "checkpoint": checkpoint,
        "data": data,
        "sample": sample,
    }


def execute(text: str, space: dict[str, Any]) -> None:
    """Run a text among these names."""
    exec(_code(text), space)


def made(
    program: Whole, wanted: Sequence[str], shift: int = 0, known: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Inputs as tensors and layers of the default device; those that can have other numbers get
    them by a shift. One may be a view of another, or of what is known."""
    space = namespace() | dict(known or {})
    for name in wanted:
        space[name] = eval(_code_of(program.inputs[name].line(shift)), space)
    return {name: space[name] for name in wanted}


@lru_cache(maxsize=1024)
def _code_of(text: str) -> Any:
    return compile(text, "<input>", "eval")


def function(program: Whole, given: dict[str, Any]) -> Any:
    """The program as a function of its arguments; captured inputs are taken from `given`."""
    space = namespace() | {name: given[name] for name in program.captured}
    execute(function_text(program), space)
    return space["program"]


def widened(program: Whole) -> Whole:
    """The same with float64 for every float dtype."""
    return changed(program, lambda text: NARROW.sub("'float64'", text))


def narrowed(program: Whole) -> Whole:
    """The same with float32 for float64."""
    return changed(program, lambda text: text.replace("'float64'", "'float32'"))


def narrowest(program: Whole) -> str:
    """The least exact float dtype that the program names; float64 if it names no other."""
    text = program.body + "".join(s.text for s in program.inputs.values())
    found = set(re.findall(r"\b(?:bfloat16|float16|float32)\b", text))
    if "nn." in text or "l0" in text:
        found.add("float32")
    return next((d for d in ("bfloat16", "float16", "float32") if d in found), "float64")


def changed(program: Whole, change: Any) -> Whole:
    """The program with every text of it changed."""
    inputs = {n: replace(s, text=change(s.text)) for n, s in program.inputs.items()}
    statements = tuple(replace(s, text=change(s.text)) for s in program.statements)
    return replace(program, inputs=inputs, statements=statements)


def alive(program: Whole) -> Whole:
    """Without the inputs that no statement and no output names, and values that nothing uses."""
    statements = list(program.statements)
    for i in reversed(range(len(statements))):
        own = statements[i].defines
        later = "\n".join(s.text for s in statements[i + 1 :]) + " " + " ".join(program.outputs)
        if (
            own is not None
            and own not in names(later)
            and own not in names(statements[i].text[len(own) :])
        ):
            del statements[i]
    used = names("\n".join(s.text for s in statements)) + list(program.outputs)
    for name in reversed(program.inputs):  # one may be a view of an earlier one
        used += names(program.inputs[name].text) if name in used else []
    inputs = {n: s for n, s in program.inputs.items() if n in used}
    return replace(program, inputs=inputs, statements=tuple(statements))


HEAD = """import numpy as np
import adjoint
from adjoint import Tensor, checkpoint, cond, fori_loop, nn, scan
from tests.fuzz.numbers import data, sample

Tensor.manual_seed({seed})
"""


def script(program: Whole, ending: str = "print([t.numpy() for t in program({arguments})])") -> str:
    """The program as Python that runs by itself."""
    lines = [HEAD.format(seed=SEED)]
    lines += [f"{name} = {source.line()}" for name, source in program.inputs.items()]
    lines += ["", "", function_text(program), "", ""]
    lines.append(ending.replace("{arguments}", ", ".join(program.arguments)))
    return "\n".join(lines) + "\n"
