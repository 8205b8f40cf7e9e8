"""Finds the op that made a NaN: runs a graph node by node, and walks back from a bad result.

A node is bad if its value has a NaN (or an infinity, if requested). From a bad result the walk goes
to bad operands; operands that `where` does not choose are not on it. A bad node without bad
operands is to blame, and the error names the first of them in the order of the graph. Elsewhere:
the text of the error (`nan_error.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from adjoint.engine.interpreter import run_function, schedule
from adjoint.ir.function import Function
from adjoint.ir.kernel_kind import CONSTANT, HERE, PART
from adjoint.ir.uop import UOp
from adjoint.ir.values import is_known, known_value
from adjoint.runtime.reference import evaluate

Array = np.ndarray[Any, Any]
_NAMES = {"loop": "step {} of the loop", "while": "turn {} of the loop", "branch": "a branch"}


@dataclass(frozen=True, slots=True, eq=False)
class NanFinding:
    """The node to blame, with its value and those of its operands (none for an input)."""

    node: UOp
    value: Any
    operands: tuple[Any, ...] = ()
    infinite: UOp | None = None  # the node that made the infinities among the operands
    inside: tuple[str, ...] = ()  # the loops and branches it is in, innermost first
    given: bool = False  # it is an input, and was bad before anything was computed


def mask_of(value: Any, inf: bool) -> Array:
    """Where an array is bad."""
    array = np.asarray(value)
    if array.dtype.kind in "biuUSO":
        return np.zeros(array.shape, bool)
    return ~np.isfinite(array) if inf else np.isnan(array)


def is_bad(value: Any, inf: bool) -> bool:
    """Whether an array, or one of several, is bad."""
    if isinstance(value, tuple):
        return any(is_bad(v, inf) for v in value)
    return bool(mask_of(value, inf).any())


def search(roots: Sequence[UOp], given: Mapping[UOp, Any], inf: bool) -> NanFinding | None:
    """The first node with bad values behind the roots; None if nothing is bad."""
    return _Search(roots, given, inf).run()


@dataclass(slots=True, eq=False)
class _Search:
    """One run. `ways` are the operands that a bad node has its badness from."""

    roots: Sequence[UOp]
    given: Mapping[UOp, Any]
    inf: bool
    values: dict[UOp, Any] = field(default_factory=dict)
    bad: dict[UOp, bool] = field(default_factory=dict)
    ways: dict[UOp, list[UOp]] = field(default_factory=dict)
    found: dict[UOp, NanFinding] = field(default_factory=dict)
    makers: dict[UOp, UOp | None] = field(default_factory=dict)  # of infinities

    def run(self) -> NanFinding | None:
        plan = schedule(self.roots)
        self.values.update(self.given)
        for item in plan.items:
            if item.node not in self.given:
                self._visit(item.node)
            for source in item.last_uses:
                if source not in self.given:
                    self.values.pop(source, None)
        order = {item.node: place for place, item in enumerate(plan.items)}
        guilty = self._guilty([n for n in plan.values if self._is_bad(n)])
        first = min(guilty, key=lambda n: order.get(n, -1), default=None)
        return None if first is None else self.found.get(first) or self._as_given(first)

    def _value(self, node: UOp) -> Any:
        return self.values[node] if node in self.values else known_value(node)

    def _is_bad(self, node: UOp) -> bool:
        if node not in self.bad:
            plain = node.op.kernel is CONSTANT and self.inf  # the user wrote the infinity
            self.bad[node] = is_bad(self._value(node), self.inf and not plain)
        return self.bad[node]

    def _visit(self, node: UOp) -> None:
        operands = [self._value(s) for s in node.src]
        inner: list[NanFinding] = []
        value = self.values[node] = self._evaluated(node, operands, inner)
        self._follow_infinities(node, value)
        if not self._is_bad(node):
            return
        ways = self.ways[node] = self._ways(node, operands)
        if not ways and node.op.kernel is not CONSTANT:
            maker = next((m for m in map(self.makers.get, node.src) if m is not None), None)
            own = NanFinding(node, value, tuple(operands), maker)
            self.found[node] = inner[0] if inner else own

    def _evaluated(self, node: UOp, operands: list[Any], inner: list[NanFinding]) -> Any:
        if node.op.kernel is HERE:
            return np.True_
        if node.op.name not in _NAMES:
            return evaluate(node, operands, run_function)
        turns = [0]

        def run(function: Function, arrays: list[Any]) -> list[Any]:
            outputs = run_function(function, arrays)
            counts = not (node.op.name == "while" and function is node.arg.test)
            if counts and not inner and is_bad(tuple(outputs), self.inf):
                self._look_inside(node, function, arrays, turns[0], inner)
            turns[0] += counts
            return outputs

        return evaluate(node, operands, run)

    def _look_inside(
        self, node: UOp, function: Function, arrays: list[Any], turn: int, inner: list[NanFinding]
    ) -> None:
        """The cause inside one call of a loop's body or of a branch."""
        if is_bad(tuple(arrays), self.inf):
            return
        found = search(function.outputs, dict(zip(function.inputs, arrays, strict=True)), self.inf)
        if found is not None:
            row = node.arg.length - 1 - turn if getattr(node.arg, "reverse", False) else turn
            place = f" of {node.origin}" if node.origin is not None else ""
            where = _NAMES[node.op.name].format(row) + place
            inner.append(replace(found, inside=(*found.inside, where)))

    def _ways(self, node: UOp, operands: list[Any]) -> list[UOp]:
        if node.op.name == "where":
            chosen = np.asarray(operands[0], bool)
            sides = ((node.src[1], operands[1], chosen), (node.src[2], operands[2], ~chosen))
            return [s for s, value, here in sides if (mask_of(value, self.inf) & here).any()]
        if node.op.kernel is PART:
            return list(node.src)
        return [s for s in node.src if self._is_bad(s)]

    def _follow_infinities(self, node: UOp, value: Any) -> None:
        """Note which node made the infinities that this one has."""
        if isinstance(value, tuple) or not np.isinf(value).any():
            return
        sources = [s for s in node.src if not isinstance(s.dtype, tuple)]
        makers = (self.makers.get(s) for s in sources)
        self.makers[node] = next((m for m in makers if m is not None), node)

    def _guilty(self, bad: Sequence[UOp]) -> list[UOp]:
        """Bad nodes without a bad operand, on the paths back from these."""
        seen: dict[UOp, None] = {}
        stack, guilty = list(bad), []
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen[node] = None
            ways = self.ways.get(node, [])
            guilty += [] if ways else [node]
            stack += ways
        return guilty

    def _as_given(self, node: UOp) -> NanFinding:
        if node in self.given:
            return NanFinding(node, self.given[node], given=True)
        value = known_value(node) if is_known(node) else np.asarray(node.arg.value)
        return NanFinding(node, value, given=True)
