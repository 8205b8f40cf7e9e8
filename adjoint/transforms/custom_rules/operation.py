"""`Operation`: an op that a user defines, as a class with methods.

What may live here: the class users derive from. What may not: ops of our own (records).
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any, ClassVar

from adjoint.errors import AutodiffError
from adjoint.ir.batch import Flags
from adjoint.tensor import Tensor
from adjoint.transforms.custom_rules.cotangents import counted, filled, in_tree, tangents_of
from adjoint.transforms.custom_rules.rules import CustomRule, applied, spread_cotangents
from adjoint.transforms.pytree import TreeDef
from adjoint.transforms.subgraph import Arguments, custom_jvp_op, custom_vjp_op
from adjoint.transforms.traced import Absent, Nodes


class Operation:
    """An op made of a value and a derivative, both written with tensors.

        class Scale(Operation):
            def execute(self, x, factor):
                return x * factor

            def vjp_rule(self, primals, cotangent, output):
                x, factor = primals
                return cotangent * factor, (cotangent * x).sum()

        scale = Scale()

    `vjp_rule` returns a tuple with one cotangent per argument of `execute`, None for an argument
    that is not differentiable; a cotangent that is still broadcast is summed to its primal's shape.
    `jvp_rule(primals, tangents, output)` returns the output's tangent and gives forward mode; where
    it stands alone it gives reverse mode too. Several outputs come as a tuple. Keyword arguments of
    the call are plain values; a rule gets those it has parameters for.
    """

    name: ClassVar[str] = ""

    def execute(self, *args: Any, **kwargs: Any) -> Any:
        """The value."""
        problem = "says no value"
        raise AutodiffError("E5002", problem, op=self._op, help="define execute(self, *args)")

    def vjp_rule(self, primals: Any, cotangent: Any, output: Any) -> Any:
        """The cotangents of the arguments."""
        problem, fix = "has no reverse rule", "define vjp_rule(self, primals, cotangent, output)"
        raise AutodiffError("E5001", problem, op=self._op, help=fix)

    def jvp_rule(self, primals: Any, tangents: Any, output: Any) -> Any:
        """The tangent of the output."""
        problem = "has a reverse rule only; forward mode needs a tangent rule"
        fix = "define jvp_rule(self, primals, tangents, output)"
        raise AutodiffError("E5001", problem, op=self._op, help=fix)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        cls = type(self)
        alone = cls.vjp_rule is Operation.vjp_rule and cls.jvp_rule is not Operation.jvp_rule
        return applied(
            self._op,
            lambda *values: self.execute(*values, **kwargs),
            args,
            custom_jvp_op if alone else custom_vjp_op,
            lambda arguments, tree: _ByMethods(self._op, self, arguments, tree, kwargs),
        )

    @property
    def _op(self) -> str:
        return self.name or type(self).__name__


@dataclass(frozen=True, eq=False, repr=False)
class _ByMethods(CustomRule):
    op: str
    operation: Operation
    arguments: Arguments
    out_tree: TreeDef
    kwargs: dict[str, Any] = field(default_factory=dict)

    @property
    def reverse(self) -> bool:  # type: ignore[override]
        return type(self.operation).vjp_rule is not Operation.vjp_rule

    @property
    def forward(self) -> bool:  # type: ignore[override]
        return type(self.operation).jvp_rule is not Operation.jvp_rule

    @property
    def source(self) -> tuple[Any, ...]:  # type: ignore[override]
        return self.operation, *self.arguments.plain, *self.kwargs, *self.kwargs.values()

    def pull_back(self, g: Absent, y: Nodes, x: Nodes, needs: Flags) -> Absent:
        primals = self.arguments.rebuilt(map(Tensor, x))
        cotangent, output = in_tree(self.out_tree, filled(g, y)), in_tree(self.out_tree, y)
        rule = self.operation.vjp_rule
        given = rule(primals, cotangent, output, **self._named(rule))
        found = counted(self.op, given, "vjp_rule", len(primals))
        return spread_cotangents(self.op, found, self.arguments, y, x, needs)

    def push(self, t: Absent, y: Nodes, x: Nodes) -> Absent:
        primals = self.arguments.rebuilt(map(Tensor, x))
        tangents = self.arguments.tangents(filled(t, x))
        rule = self.operation.jvp_rule
        given = rule(primals, tangents, in_tree(self.out_tree, y), **self._named(rule))
        return tangents_of(self.op, given, self.out_tree, y)

    def _named(self, rule: Any) -> dict[str, Any]:
        """The keyword arguments of the call that the rule has parameters for."""
        taken = inspect.signature(rule).parameters
        if any(p.kind is p.VAR_KEYWORD for p in taken.values()):
            return self.kwargs
        return {name: value for name, value in self.kwargs.items() if name in taken}
