"""Functions as attributes of nodes: `Call`, and `TracedCall`, whose rules are closed graphs too.

Rules that users write are Python; a captured module keeps them as graphs (`closing.py` makes them),
and what it is lowered to has them back. What may live here: the two classes. What may not: how a
function becomes a node, or a rule a graph.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from adjoint.autodiff.reverse import or_zeros
from adjoint.errors import AutodiffError
from adjoint.ir.batch import Flags
from adjoint.ir.function import Function, function_of
from adjoint.ir.kernel_kind import filled_value, is_filled
from adjoint.ir.uop import UOp, toposort
from adjoint.transforms.loops import batched_function

Nodes = Sequence[UOp]
Absent = Sequence[UOp | None]  # cotangents or tangents; None is zero


class Derivatives(ABC):
    """Both modes, in terms of the nodes of operands and results."""

    @abstractmethod
    def pull_back(self, g: Absent, y: Nodes, x: Nodes, needs: Flags) -> Absent:
        """The cotangent of each operand that is needed, from those of the results."""

    @abstractmethod
    def push(self, t: Absent, y: Nodes, x: Nodes) -> Absent:
        """The tangent of each result from those of the operands."""


class Call(Derivatives):
    """A function as the attribute of a node: a name, a body, and what its derivatives are.

    Two calls are equal only if they are the same object: what users wrote cannot be compared.
    """

    def __init__(self, name: str, body: Function):
        self.__name__ = name
        self.body = body

    @abstractmethod
    def batched(self, flags: Flags, size: int) -> Call:
        """The function with one more axis on the flagged operands and on every result."""

    def __repr__(self) -> str:
        return f"@{self.__name__}"


def no_rule_for(op: str, node: UOp) -> AutodiffError:
    """E5001: a derivative is requested with respect to a captured value of a function with a
    rule.
    """
    problem = "closes over a value whose derivative is asked for; its rule has none"
    fix = "pass the value as an argument, or .detach() it"
    return AutodiffError("E5001", problem, op=op, operands=[("value", node)], help=fix)


@dataclass(frozen=True, repr=False)
class TracedCall(Call):
    """A function whose rules are functions as well; all of them take all the operands.

    The first `arguments` operands have a derivative, the others are captured values of body or
    rules. `backward` maps operands, results and the cotangents of the float results to the
    cotangents of the float arguments; `tangent` maps operands, results and the tangents of the
    float arguments to those of the float results. Either may be missing. Equal calls compute the
    same.
    """

    body: Function
    arguments: int
    backward: Function | None = None
    tangent: Function | None = None
    __name__ = "traced"

    @cached_property
    def _used(self) -> set[UOp]:
        return set(toposort(self.body.outputs))

    def pull_back(self, g: Absent, y: Nodes, x: Nodes, needs: Flags) -> Absent:
        self._check_outside("custom_vjp", x, needs)
        if self.backward is None:
            raise AutodiffError("E5001", "has no reverse rule", op="custom_vjp")
        found = iter(self.backward(*x, *y, *floats(or_zeros(g, y))))
        given = [next(found) if n.dtype.is_inexact else None for n in x[: self.arguments]]
        given += [None] * (len(x) - self.arguments)
        return [
            v if v is not None and need and not _is_zero(v) else None
            for v, need in zip(given, needs, strict=True)
        ]

    def push(self, t: Absent, y: Nodes, x: Nodes) -> Absent:
        self._check_outside("custom_jvp", x, [d is not None for d in t])
        if self.tangent is None:
            problem = "has a reverse rule only; forward mode needs a tangent rule"
            raise AutodiffError("E5001", problem, op="custom_vjp")
        own = x[: self.arguments]
        found = iter(self.tangent(*x, *y, *floats(or_zeros(t[: self.arguments], own))))
        return [next(found) if n.dtype.is_inexact else None for n in y]

    def _check_outside(self, op: str, x: Nodes, wanted: Sequence[bool]) -> None:
        """What only a rule uses has no part in the value; what the body uses does."""
        for i in range(self.arguments, len(x)):
            if wanted[i] and self.body.inputs[i] in self._used:
                raise no_rule_for(op, x[i])

    def batched(self, flags: Flags, size: int) -> Call:
        own = flags[: self.arguments]
        moved = [f for f, n in zip(own, self.body.inputs, strict=False) if n.dtype.is_inexact]
        outs = [True] * len(self.body.outputs)
        seeds = [True] * len(floats(self.body.outputs))
        backward, tangent = self.backward, self.tangent
        if backward is not None:
            backward = _summed(batched_function(backward, [*flags, *outs, *seeds], size), moved)
        if tangent is not None:
            tangent = batched_function(tangent, [*flags, *outs, *moved], size)
        body = batched_function(self.body, flags, size)
        return TracedCall(body, self.arguments, backward, tangent)


def floats(nodes: Nodes) -> list[UOp]:
    """Those that carry a derivative."""
    return [n for n in nodes if n.dtype.is_inexact]


def _is_zero(node: UOp) -> bool:
    """Whether the rule says that there is no cotangent."""
    return is_filled(node) and not filled_value(node)


def _summed(function: Function, flags: Sequence[bool]) -> Function:
    """An argument that all the examples share has the sum of their cotangents."""
    pairs = zip(function.outputs, flags, strict=True)
    return function_of(list(function.inputs), [n if flag else n.sum(0) for n, flag in pairs])
