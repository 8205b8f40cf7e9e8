"""Derivatives that users write: custom_vjp, custom_jvp, and stop_gradient.

The value comes from the function itself; its rule serves the derivatives, so both must describe
the same function. Whatever is random belongs outside and is passed in.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from types import MethodType
from typing import Any, Generic, ParamSpec, TypeVar

from adjoint.errors import ArgumentError, AutodiffError
from adjoint.ir.batch import Flags
from adjoint.tensor import Tensor
from adjoint.transforms.call import Fn, name_of
from adjoint.transforms.custom_rules.cotangents import counted, filled, in_tree, tangents_of
from adjoint.transforms.custom_rules.rules import CustomRule, applied, spread_cotangents
from adjoint.transforms.pytree import TreeDef, tree_map
from adjoint.transforms.subgraph import Arguments, custom_jvp_op, custom_vjp_op
from adjoint.transforms.traced import Absent, Nodes

P = ParamSpec("P")
R = TypeVar("R")


def stop_gradient(tree: Any) -> Any:
    """The same values; stops gradients. Leaves that are no tensors stay as they are."""
    return tree_map(lambda leaf: +leaf.detach() if isinstance(leaf, Tensor) else leaf, tree)


@dataclass(frozen=True, eq=False, repr=False)
class _Reverse(CustomRule):
    """A pair (fwd, bwd) on the arguments of one call."""

    op: str
    fwd: Fn
    bwd: Fn
    arguments: Arguments
    out_tree: TreeDef
    source: tuple[Any, ...]
    reverse = True
    forward = False

    def pull_back(self, g: Absent, y: Nodes, x: Nodes, needs: Flags) -> Absent:
        primals = self.arguments.rebuilt(map(Tensor, x))
        kept = self.fwd(*primals)
        if not isinstance(kept, tuple) or len(kept) != 2:
            problem = f"fwd returns (result, residuals), not {type(kept).__name__}"
            fix = "return a tuple of two; None for no residuals"
            raise AutodiffError("E5002", problem, op=self.op, help=fix)
        cotangent = in_tree(self.out_tree, filled(g, y))
        found = counted(self.op, self.bwd(kept[1], cotangent), "bwd", len(primals))
        return spread_cotangents(self.op, found, self.arguments, y, x, needs)

    def push(self, t: Absent, y: Nodes, x: Nodes) -> Absent:
        problem = "has a reverse rule only; forward mode needs a tangent rule"
        fix = "use custom_jvp, whose one rule serves both modes"
        raise AutodiffError("E5001", problem, op=self.op, help=fix)


@dataclass(frozen=True, eq=False, repr=False)
class _Tangent(CustomRule):
    """A tangent rule on the arguments of one call; the engine transposes it for reverse mode."""

    op: str
    rule: Fn
    arguments: Arguments
    out_tree: TreeDef
    source: tuple[Any, ...]
    reverse = False
    forward = True

    def pull_back(self, g: Absent, y: Nodes, x: Nodes, needs: Flags) -> Absent:
        raise AutodiffError("E5001", "is transposed, not pulled back", op=self.op)

    def push(self, t: Absent, y: Nodes, x: Nodes) -> Absent:
        primals = self.arguments.rebuilt(map(Tensor, x))
        tangents = self.arguments.tangents(filled(t, x))
        pair = self.rule(primals, tangents)
        if not isinstance(pair, tuple) or len(pair) != 2:
            problem = f"the rule returns (result, tangent), not {type(pair).__name__}"
            raise AutodiffError("E5002", problem, op=self.op, help="return a tuple of two")
        return tangents_of(self.op, pair[1], self.out_tree, y)


class _Custom(Generic[P, R]):
    """A function that keeps its name and signature and gets a derivative of the user's."""

    def __init__(self, fn: Callable[P, R], nondiff_argnums: int | Sequence[int] = ()):
        numbers = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else nondiff_argnums
        self._fn: Fn = fn
        self._nondiff = tuple(numbers)
        self._signature = inspect.signature(fn)
        update_wrapper(self, fn)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)  # type: ignore[arg-type]

    def _divided(self, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], tuple[Any, ...], Fn]:
        """Arguments with and without derivatives, and how to put them together again."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            problem = f"keyword-only arguments ({', '.join(bound.kwargs)}) have no place in a rule"
            raise ArgumentError("E2007", problem, op=self._op, help="make them positional")
        every = bound.args
        fixed = {n % len(every) for n in self._nondiff if -len(every) <= n < len(every)}
        if len(fixed) != len(set(self._nondiff)):
            problem = f"nondiff_argnums {self._nondiff} does not fit {len(every)} arguments"
            raise ArgumentError("E2007", problem, op=self._op)

        held, count = {i: every[i] for i in sorted(fixed)}, len(every)

        def joined(*free: Any) -> tuple[Any, ...]:
            """A node keeps this function: it must not keep the call's tensors alive."""
            rest = iter(free)
            return tuple(held[i] if i in held else next(rest) for i in range(count))

        free = tuple(v for i, v in enumerate(every) if i not in fixed)
        return free, tuple(held.values()), joined

    @property
    def _op(self) -> str:
        return f"{type(self).__name__} {name_of(self._fn)}"


class custom_vjp(_Custom[P, R]):
    """A function with a reverse rule of its own: `@custom_vjp`, then `f.defvjp(fwd, bwd)`.

    `fwd(*args)` returns `(result, residuals)`; `bwd(residuals, cotangent)` returns a tuple with one
    cotangent per argument, None for none. Arguments in `nondiff_argnums` are plain values: they go
    to `fwd` in their places, and to `bwd` in front.
    """

    _rules: tuple[Fn, Fn] | None = None

    def defvjp(self, fwd: Fn, bwd: Fn) -> None:
        """Give the rule."""
        self._rules = (fwd, bwd)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self._rules is None:
            problem, fix = "has no rule yet", f"{name_of(self._fn)}.defvjp(fwd, bwd)"
            raise AutodiffError("E5001", problem, op=self._op, help=fix)
        fwd, bwd = self._rules
        free, fixed, joined = self._divided(args, kwargs)

        def rule(arguments: Arguments, tree: TreeDef) -> CustomRule:
            forward = lambda *values: fwd(*joined(*values))  # noqa: E731
            backward = lambda residuals, g: bwd(*fixed, residuals, g)  # noqa: E731
            source = (self, *fixed, *arguments.plain)
            return _Reverse(self._op, forward, backward, arguments, tree, source)

        body = lambda *values: self._fn(*joined(*values))  # noqa: E731
        return applied(self._op, body, free, custom_vjp_op, rule)


class custom_jvp(_Custom[P, R]):
    """A function with a tangent rule of its own: `@custom_jvp`, then `@f.defjvp`.

    `rule(primals, tangents)` returns `(result, tangent of the result)`, linear in the tangents; it
    serves both modes. Arguments in `nondiff_argnums` are plain values and come in front of both.
    """

    _rule: Fn | None = None

    def defjvp(self, rule: Fn) -> Fn:
        """Give the rule."""
        self._rule = rule
        return rule

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        rule = self._rule
        if rule is None:
            problem, fix = "has no rule yet", f"@{name_of(self._fn)}.defjvp"
            raise AutodiffError("E5001", problem, op=self._op, help=fix)
        free, fixed, joined = self._divided(args, kwargs)

        def tangent(arguments: Arguments, tree: TreeDef) -> CustomRule:
            source = (self, *fixed, *arguments.plain)
            return _Tangent(self._op, lambda x, t: rule(*fixed, x, t), arguments, tree, source)

        body = lambda *values: self._fn(*joined(*values))  # noqa: E731
        return applied(self._op, body, free, custom_jvp_op, tangent)


__all__ = ["custom_jvp", "custom_vjp", "stop_gradient"]
