"""Rules that users wrote, as nodes: one call's rule, the same per example, and how it is applied.

What may live here: what every kind of user-written rule shares. What may not: the ways to write one
(`custom.py`, `operation.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from adjoint.batching import batch
from adjoint.ir.batch import Flags, broadcast_batch
from adjoint.ir.function import Function
from adjoint.ir.opdef import OpDef
from adjoint.ir.uop import UOp
from adjoint.tensor.autocast import casting, casting_as
from adjoint.tensor.tracing import KEPT, Scope, scope
from adjoint.transforms.call import Fn, example_of
from adjoint.transforms.custom_rules.cotangents import aligned, leaves_of
from adjoint.transforms.effects import hand_over
from adjoint.transforms.loops import batched_function
from adjoint.transforms.pytree import TreeDef
from adjoint.transforms.subgraph import Arguments, taken_apart, traced_whole
from adjoint.transforms.traced import Absent, Call, Derivatives, Nodes, no_rule_for


class CustomRule(Derivatives):
    """A derivative in terms of the nodes of one call's arguments.

    `reverse` and `forward` say which of the two it has. `source` is whose rule it is, and with
    which plain values: two rules of one source are the same rule.
    """

    op: str
    reverse: bool
    forward: bool
    source: tuple[Any, ...]


class CustomCall(Call):
    """A function with a rule; what it uses from outside has no derivative."""

    def __init__(self, name: str, body: Function, rule: CustomRule, count: int):
        super().__init__(name, body)
        self.rule, self.count = rule, count

    def pull_back(self, g: Absent, y: Nodes, x: Nodes, needs: Flags) -> Absent:
        self._check_outside([n if need else None for n, need in zip(x, needs, strict=True)])
        count = self.count
        found = self.rule.pull_back(g, y, x[:count], needs[:count])
        return [*found, *([None] * (len(x) - count))]

    def push(self, t: Absent, y: Nodes, x: Nodes) -> Absent:
        moving = zip(x, t, strict=True)
        self._check_outside([None if d is None else n for n, d in moving])
        return self.rule.push(t[: self.count], y, x[: self.count])

    def _check_outside(self, wanted: Absent) -> None:
        for node in wanted[self.count :]:
            if node is not None:
                raise no_rule_for(self.rule.op, node)

    def batched(self, flags: Flags, size: int) -> Call:
        body = batched_function(self.body, flags, size)
        rule = PerExample(self.rule, flags[: self.count], size)
        return CustomCall(self.__name__, body, rule, self.count)


class PerExample(CustomRule):
    """A rule for one example, applied to each of a batch."""

    def __init__(self, inner: CustomRule, flags: Flags, size: int):
        self.op, self.inner, self.flags, self.size = inner.op, inner, flags, size
        self.reverse, self.forward = inner.reverse, inner.forward
        self.source = (*inner.source, flags, size)

    def pull_back(self, g: Absent, y: Nodes, x: Nodes, needs: Flags) -> Absent:
        rule = partial(self.inner.pull_back, needs=needs)
        wide = self._mapped(rule, (g, [True] * len(g)), y, x)
        return [
            v if v is None or flag else v.sum(0) for v, flag in zip(wide, self.flags, strict=True)
        ]

    def push(self, t: Absent, y: Nodes, x: Nodes) -> Absent:
        return self._mapped(self.inner.push, (t, self.flags), y, x)

    def _mapped(
        self, rule: Callable[..., Absent], d: tuple[Absent, Sequence[bool]], y: Nodes, x: Nodes
    ) -> Absent:
        """What the rule gives for all examples; `d`: derivatives, and which of them are mapped."""
        with scope(f"vmap of {self.op}") as inside:
            inside.effects = KEPT
            given: dict[UOp, UOp] = {}
            operands = self._examples(x, self.flags, given, inside)
            derivatives = self._examples(*d, given, inside)
            values = self._examples(y, [True] * len(y), given, inside)
            found = rule(derivatives, values, operands)
        return self._wide(found, given, inside)

    def _examples(
        self, nodes: Absent, flags: Sequence[bool], given: dict[UOp, UOp], inside: Scope
    ) -> Absent:
        """One example's variables in place of the batched nodes."""
        return [
            node if node is None or not flag else example_of(node, "example", inside, given)
            for node, flag in zip(nodes, flags, strict=True)
        ]

    def _wide(self, found: Absent, given: dict[UOp, UOp], inside: Scope) -> Absent:
        roots = [node for node in found if node is not None]
        batched = batch([*roots, *inside.tokens], given, self.size)
        hand_over([node for node, _ in batched[len(roots) :]], [n for n, _ in batched])
        wide = iter(batched)
        return [None if node is None else broadcast_batch(*next(wide), self.size) for node in found]


class CastAlike(CustomRule):
    """A rule that runs in the state of autocast that its function was called in."""

    def __init__(self, inner: CustomRule):
        self.op, self.inner, self.state = inner.op, inner, casting.get()
        self.reverse, self.forward = inner.reverse, inner.forward
        self.source = (*inner.source, self.state)

    def pull_back(self, g: Absent, y: Nodes, x: Nodes, needs: Flags) -> Absent:
        with casting_as(self.state):
            return self.inner.pull_back(g, y, x, needs)

    def push(self, t: Absent, y: Nodes, x: Nodes) -> Absent:
        with casting_as(self.state):
            return self.inner.push(t, y, x)


def spread_cotangents(
    op: str, found: Sequence[Any], arguments: Arguments, y: Nodes, x: Nodes, needs: Flags
) -> Absent:
    """One cotangent per argument, as one per operand: matched, aligned, None where not needed."""
    trees = arguments.treedef.children
    leaves = [v for t, c in zip(found, trees, strict=True) for v in leaves_of(op, t, c)]
    return [
        aligned(op, v, node, (*x, *y)) if v is not None and need else None
        for v, node, need in zip(arguments.at_tensors(leaves), x, needs, strict=True)
    ]


def applied(
    op: str,
    fn: Fn,
    args: tuple[Any, ...],
    record: OpDef,
    rule_for: Callable[[Arguments, TreeDef], CustomRule],
) -> Any:
    """The function's results through one node that has the rule."""
    tensors, arguments = taken_apart(args)
    if not tensors:
        return fn(*args)
    whole = traced_whole(op, fn, tensors, arguments)
    rule = CastAlike(rule_for(arguments, whole.out_tree))
    name = op.rpartition(" ")[2]
    return whole.call(record, CustomCall(name, whole.body, rule, whole.count))
