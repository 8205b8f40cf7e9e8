"""`Module`: the closed, numbered, printable form of a graph.

A list of instructions and a list of outputs. Duplicates survive: nothing here is shared or
simplified. Running a module and calling it on tensors needs the engine: `transforms/capture.py`
does both, loaded when asked for. What may live here: the module as data.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from keyword import iskeyword
from typing import Any

from adjoint.display import Displayed
from adjoint.module.instruction import Instruction, ValueId, fault
from adjoint.module.text import module_text

_ENGINE = "adjoint.transforms.capture"  # which stands on this package


@dataclass(frozen=True, slots=True, eq=False, repr=False, weakref_slot=True)
class Module(Displayed):
    """Instructions in order, and the ids of the outputs. Equal if the texts are."""

    instructions: tuple[Instruction, ...]
    outputs: tuple[ValueId, ...]
    names: Mapping[ValueId, str] = field(default_factory=dict)  # ids a text spelled as words

    def __post_init__(self) -> None:
        object.__setattr__(self, "instructions", tuple(self.instructions))
        object.__setattr__(self, "outputs", tuple(self.outputs))

    def text(self) -> str:
        """The module as text, the same bytes every time."""
        return module_text(self.instructions, self.outputs)

    @property
    def inputs(self) -> tuple[Instruction, ...]:
        """The Input instructions, in order."""
        return tuple(ins for ins in self.instructions if ins.opcode == "Input")

    @property
    def __signature__(self) -> inspect.Signature:
        """Calling a module takes its inputs, by their names where Python can write them."""
        names = [ins.attrs[0] for ins in self.inputs]
        if not all(name.isidentifier() and not iskeyword(name) for name in names):
            names = [f"x{i}" for i in range(len(names))]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(name, kind) for name in names])

    def __getitem__(self, value: ValueId) -> Instruction:
        """The instruction that defines a value."""
        for ins in self.instructions:
            if ins.id == value:
                return ins
        raise KeyError(value)

    def with_outputs(self, outputs: Iterable[ValueId]) -> Module:
        """The same instructions with other outputs."""
        return Module(self.instructions, tuple(outputs), self.names)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Module: {len(self.instructions)} instructions, {len(self.outputs)} outputs>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Module):
            return NotImplemented
        short = len(self.instructions) == len(other.instructions)
        return self is other or (short and self.text() == other.text())

    def __hash__(self) -> int:
        return hash((self.outputs, len(self.instructions)))

    def run(self, inputs: Any = (), device: str | tuple[str, ...] | None = None) -> list[Any]:
        """The outputs for these inputs, by name or in order: tensors, arrays, lists, numbers."""
        return import_module(_ENGINE).run(self, inputs, device)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The outputs as tensors that are not computed yet: one, or a tuple of several."""
        return import_module(_ENGINE).call(self, *args, **named)


def check_module(function: str, given: Any) -> None:
    """What was passed to a function of this package is a module."""
    if not isinstance(given, Module):
        problem = f"{function}: expected a Module, got {type(given).__name__}"
        raise fault("E2001", problem, "make one with parse(text) or capture(fn, *args)")
