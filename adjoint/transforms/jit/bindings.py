"""Sources of a traced function's inputs, and targets of its results.

Plain classes: compared by identity, as tensors inside them must be, and quick to import. What may
live here: finding tensors again at a later call. What may not: running anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ir.uop import UOp
from adjoint.runtime.buffer import Buffer
from adjoint.tensor import Tensor
from adjoint.tensor.random import stream
from adjoint.transforms.jit.captured import Captured
from adjoint.transforms.jit.guards import Place


class StaleError(Exception):
    """The captured state differs from the traced one."""


class Argument:
    """The tensor at a position among the leaves of the arguments."""

    __slots__ = ("position",)

    def __init__(self, position: int):
        self.position = position

    def tensor(self, leaves: Sequence[Any]) -> Tensor:
        """The tensor in this call."""
        return leaves[self.position]


class Held:
    """A tensor in a container that the function reads."""

    __slots__ = ("place", "position")

    def __init__(self, place: Place, position: int):
        self.place, self.position = place, position

    def tensor(self, leaves: Sequence[Any]) -> Tensor:
        """The tensor that is there now, as the last look at the container found it."""
        return self.place.values[self.position]


class Known:
    """A tensor that the function reaches in some other way."""

    __slots__ = ("handle",)

    def __init__(self, handle: Tensor):
        self.handle = handle

    def tensor(self, leaves: Sequence[Any]) -> Tensor:
        """That tensor."""
        return self.handle


class GradientOf:
    """The `.grad` of a tensor."""

    __slots__ = ("owner",)

    def __init__(self, owner: Argument | Held | Known):
        self.owner = owner

    def tensor(self, leaves: Sequence[Any]) -> Tensor:
        """The gradient that there is now."""
        found: Tensor | None = self.owner.tensor(leaves)._grad
        if found is None:
            raise StaleError
        return found


Where = Argument | Held | Known | GradientOf


def place_of(where: Where) -> tuple[Any, ...]:
    """What is equal for two that find the same tensor."""
    match where:
        case Argument():
            return ("argument", where.position)
        case Held():
            return ("held", id(where.place), where.position)
        case Known():
            return ("known", id(where.handle))
        case GradientOf():
            return ("gradient", place_of(where.owner))


class Read:
    """An input: a tensor's value, which must have the type that was traced.

    `same` is the node itself where another tensor could have an equal one.
    """

    __slots__ = ("kind", "same", "where")

    def __init__(self, where: Where, kind: tuple[Any, ...], same: UOp | None):
        self.where, self.kind, self.same = where, kind, same


class Draw:
    """An input: a fresh random key."""

    __slots__ = ("device",)

    def __init__(self, device: Any):
        self.device = device

    def buffer(self) -> Buffer:
        """The next key of the device."""
        first = self.device if isinstance(self.device, str) else self.device[0]
        return Buffer(np.array(stream.next_key(first), np.uint64), self.device)


class SetValue:
    """An effect: a tensor gets an output as its value."""

    __slots__ = ("output", "where")

    def __init__(self, where: Where, output: int):
        self.where, self.output = where, output


class SetGradient:
    """An effect: the `.grad` of a tensor is an output, or None."""

    __slots__ = ("flag", "output", "where")

    def __init__(self, where: Where, output: int | None, flag: bool | None):
        self.where, self.output, self.flag = where, output, flag


class Store:
    """An effect: a container gets a tensor of the function's making, or some other value."""

    __slots__ = ("output", "place", "position", "value")

    def __init__(self, place: Place, position: int, output: int | None, value: Any = None):
        self.place, self.position, self.output, self.value = place, position, output, value


class Constant:
    """A leaf of the result that is no tensor."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value


Effect = SetValue | SetGradient | Store


class Finder:
    """The tensors at some places, in every call.

    Those among the captured state are looked up again when `Captured.look` has found another tensor
    there; arguments and gradients are looked up at every call.
    """

    __slots__ = ("_captured", "_found", "_moving", "_wheres")

    def __init__(self, wheres: Sequence[Where], captured: Captured):
        self._wheres, self._captured = wheres, captured
        self._moving = [(n, w) for n, w in enumerate(wheres) if not isinstance(w, (Held, Known))]
        self._found: tuple[object, list[Any]] = (None, [])

    def tensors(self, leaves: Sequence[Any]) -> list[Tensor]:
        """The tensors in this call."""
        look, found = self._found
        if look is not self._captured.look:
            look = self._captured.look
            found = [w.tensor(leaves) if isinstance(w, (Held, Known)) else w for w in self._wheres]
            self._found = look, found  # in one piece: other threads call this function, too
        if not self._moving:
            return found
        found = found.copy()
        for number, where in self._moving:
            found[number] = where.tensor(leaves)
        return found
