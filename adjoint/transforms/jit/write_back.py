"""Repeats the changes that a traced function makes to captured state, at every call.

What may live here: assigning outputs to tensors and containers. What may not: finding out what a
function changes (`trace.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.ir.uop import UOp
from adjoint.tensor.marked import remember
from adjoint.tensor.tensor import lift
from adjoint.tensor.views import receive, writing
from adjoint.transforms.jit.bindings import Effect, Finder, SetGradient, SetValue, Store
from adjoint.transforms.jit.captured import Captured
from adjoint.transforms.jit.spares import Spares


class WriteBack:
    """The effects of a call. `flags` say which outputs require gradients; old values of the outputs
    that are `kept` are spares for the next call."""

    __slots__ = ("_flags", "_kept", "_rest", "_stores", "sets", "spares")

    def __init__(
        self,
        effects: Sequence[Effect],
        captured: Captured,
        flags: Sequence[bool | None],
        kept: Sequence[int],
    ):
        tensors = [effect for effect in effects if not isinstance(effect, Store)]
        self._kept = _Sets([e for e in tensors if e.output in kept], captured)
        self._rest = _Sets([e for e in tensors if e.output not in kept], captured)
        self._stores = [effect for effect in effects if isinstance(effect, Store)]
        self.sets = any(isinstance(effect, SetValue) for effect in effects)
        self._flags, self.spares = flags, Spares(self._kept.outputs, len(flags))

    def apply(self, leaves: Sequence[Any], nodes: Sequence[UOp]) -> None:
        """Hand over the outputs; all tensors are found before any of them changes."""
        kept = self._kept.found(leaves)
        rest = self._rest.found(leaves) if self._rest else ()
        for place, node in self.spares.retire(self._kept.hand_over(*kept, nodes), nodes):
            if place < len(kept[0]):
                remember(kept[0][place], node)
        if rest:
            for target, node in zip(rest[0], self._rest.hand_over(*rest, nodes)):  # noqa: B905 - hot
                if node is not None:
                    remember(target, node)
        for store in self._stores:
            self._store(store, nodes)

    def _store(self, store: Store, nodes: Sequence[UOp]) -> None:
        made, output = store.value, store.output
        if output is not None:
            made = lift.handle(nodes[output], self._flags[output])
        store.place.put(store.position, made)


class _Sets:
    """Effects on tensors: new values, then gradients."""

    __slots__ = ("_gradients", "_owners", "_targets", "_values")

    def __init__(self, effects: Sequence[SetValue | SetGradient], captured: Captured):
        values = [effect for effect in effects if isinstance(effect, SetValue)]
        gradients = [effect for effect in effects if isinstance(effect, SetGradient)]
        self._values = [effect.output for effect in values]
        self._gradients = [(effect.output, effect.flag) for effect in gradients]
        self._targets = Finder([effect.where for effect in values], captured)
        self._owners = Finder([effect.where for effect in gradients], captured)

    def __bool__(self) -> bool:
        return bool(self._values or self._gradients)

    @property
    def outputs(self) -> list[Any]:
        """The outputs that are handed over, in order."""
        return [*self._values, *(output for output, _ in self._gradients)]

    def found(self, leaves: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The tensors of this call that get values, and those that get gradients."""
        return self._targets.tensors(leaves), self._owners.tensors(leaves)

    def hand_over(self, targets: list[Any], owners: list[Any], nodes: Sequence[UOp]) -> list[Any]:
        """The nodes that these tensors and gradients had before; None for a view, or nothing."""
        old: list[Any] = []
        with writing:
            for target, output in zip(targets, self._values):  # noqa: B905 - hot
                if target._tie is None:
                    old.append(target.uop)
                    target.uop = nodes[output]
                else:
                    old.append(None)
                    receive(target, nodes[output])
        handle = lift.handle
        for owner, (number, flag) in zip(owners, self._gradients):  # noqa: B905 - hot
            grad = owner._grad
            old.append(None if grad is None or grad._tie is not None else grad.uop)
            owner._grad = None if number is None else handle(nodes[number], flag)
        return old
