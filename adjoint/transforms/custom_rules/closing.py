"""Traces the rules that users wrote to closed functions, so that a graph contains no Python.

`capture` needs this: a module is text. Each node that holds a rule becomes one that holds graphs
(`TracedCall`), also in the functions of control flow and in other rules. Captured values of a rule
become operands. What may live here: this rewriting. What may not: any one way to write a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import wraps
from typing import Any

from adjoint.autodiff.reverse import zeros_of
from adjoint.errors import AdjointError, AutodiffError
from adjoint.ir.function import Function, function_of, functions_in, symbol_like
from adjoint.ir.kernel_kind import PART
from adjoint.ir.origin import origin_scope
from adjoint.ir.uop import UOp, rebuild, substitute, toposort
from adjoint.tensor import Tensor
from adjoint.tensor.tracing import DROPPED, scope
from adjoint.transforms.call import name_of, outside
from adjoint.transforms.checkpoint import Recomputed
from adjoint.transforms.custom_rules.rules import CustomCall
from adjoint.transforms.loops import bundle
from adjoint.transforms.pytree import TreeDef, tree_flatten, tree_unflatten
from adjoint.transforms.subgraph import CallArg
from adjoint.transforms.traced import Absent, TracedCall

MOST_NESTED = 2  # a rule that uses its own function is kept this many times inside itself


def closing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose results have no rule left that only Python knows.

    Rules are traced as the function returns: what they close over is known then.
    """

    @wraps(fn)
    def wrapped(*args: Any) -> Any:
        result = fn(*args)
        leaves, treedef = tree_flatten(result)
        inputs = {v.uop for v in tree_flatten(args)[0] if isinstance(v, Tensor)}
        walk = _Closing(inputs)
        nodes = iter(walk([v.uop for v in leaves if isinstance(v, Tensor)]))
        fresh = [Tensor(next(nodes)) if isinstance(v, Tensor) else v for v in leaves]
        return tree_unflatten(treedef, fresh)

    wrapped.__name__ = name_of(fn)
    return wrapped


class _Closing:
    """Rewrites one graph from its leaves up. `within` holds the sources of the rules around it.

    In a function, a value from outside stays as it is and is noted in `extras`: the node of the
    function hands it in. In the body of a node with a rule, other rules are never asked, so
    `inline` puts the bodies in their places.
    """

    def __init__(
        self,
        ends: Collection[UOp],
        within: tuple[Any, ...] = (),
        *,
        function: bool = False,
        inline: bool = False,
    ):
        self.within, self.function, self.inline = within, function, inline
        self.new: dict[UOp, UOp] = {node: node for node in ends}
        self.extras: dict[UOp, None] = {}

    def __call__(self, roots: Sequence[UOp]) -> list[UOp]:
        new = self.new
        for node in toposort(roots, stop=lambda n: n in new or n.realized is not None):
            if node not in new:
                new[node] = node if node.realized is not None else self._closed(node)
        return [new[root] for root in roots]

    def _closed(self, node: UOp) -> UOp:
        src = tuple(self.new[s] for s in node.src)
        call = node.arg.function if type(node.arg) is CallArg else None
        if self.inline and isinstance(call, (CustomCall, TracedCall)):
            outputs = _inlined(call.body)(*src)
            return outputs[0] if len(outputs) == 1 else bundle(outputs)
        if isinstance(call, CustomCall):
            return self._traced(node, call, src)
        functions = _functions(node)
        if functions:
            return self._with_functions(node, functions, src)
        return node if src == node.src else rebuild(node, src)

    def _outside(self, nodes: Iterable[UOp]) -> list[UOp]:
        """Values from outside a function below, as they are known here."""
        found = list(nodes)
        if not self.function:
            return self(found)
        self.extras.update(dict.fromkeys(found))
        return found

    # ---- functions of control flow

    def _with_functions(self, node: UOp, functions: list[Function], src: Any) -> UOp:
        """The values that rules in the functions need come behind the node's own operands."""
        walks = [
            _Closing(f.inputs, self.within, function=True, inline=self.inline) for f in functions
        ]
        outputs = [walk(f.outputs) for walk, f in zip(walks, functions, strict=True)]
        if all(tuple(o) == f.outputs for o, f in zip(outputs, functions, strict=True)):
            return node if src == node.src else rebuild(node, src)
        extras = list(dict.fromkeys(n for walk in walks for n in walk.extras))
        pairs = zip(functions, outputs, strict=True)
        closed = iter([function_of([*f.inputs, *extras], found) for f, found in pairs])
        with origin_scope(node.raw_origin):
            return UOp(node.op, (*src, *self._outside(extras)), _replaced(node.arg, closed))

    # ---- rules

    def _traced(self, node: UOp, call: CustomCall, src: tuple[UOp, ...]) -> UOp:
        traced = _TracedRule(node, call)
        source = call.rule.source[0]
        if sum(other is source for other in self.within) < MOST_NESTED:
            traced.trace()
        roots = [*(traced.backward or ()), *(traced.tangent or ())]
        around = outside(roots, set(traced.symbols))
        inner = _Closing({*traced.symbols, *around}, (*self.within, source), function=True)
        closed = dict(zip(roots, inner(roots), strict=True))
        known = node.src[call.count :]
        extras = [n for n in dict.fromkeys((*around, *inner.extras)) if n not in known]
        function = traced.function([*known, *extras], len(known), closed)
        with origin_scope(node.raw_origin):
            return UOp(node.op, (*src, *self._outside(extras)), CallArg(function))


def _functions(node: UOp) -> list[Function]:
    if type(node.arg) is CallArg:
        call = node.arg.function
        return [call.body] if isinstance(call, Recomputed) else []
    return functions_in(node)


def _replaced(arg: Any, closed: Any) -> Any:
    """The attributes with other functions."""
    if type(arg) is CallArg:
        call = arg.function
        kept = call.kept if isinstance(call, Recomputed) else 0
        return CallArg(Recomputed(call.__name__, next(closed), kept))
    return type(arg)(*(next(closed) if type(v) is Function else v for v in arg))


def _inlined(function: Function) -> Function:
    walk = _Closing(function.inputs, function=True, inline=True)
    return function_of(list(function.inputs), walk(function.outputs))


class _TracedRule:
    """The rule of one node, run on symbols: what it gives, and the functions that become of it."""

    def __init__(self, node: UOp, call: CustomCall):
        self.node, self.call = node, call
        self.x = [symbol_like("rule", n) for n in node.src[: call.count]]
        self.y = [symbol_like("rule", n) for n in call.body.outputs]
        self.g = [symbol_like("rule", n) if n.dtype.is_inexact else None for n in self.y]
        self.t = [symbol_like("rule", n) if n.dtype.is_inexact else None for n in self.x]
        self.backward: list[UOp] | None = None
        self.tangent: list[UOp] | None = None

    @property
    def symbols(self) -> list[UOp]:
        """All that the functions take, without what is outside."""
        return [*self.x, *self.y, *_there(self.g), *_there(self.t)]

    def trace(self) -> None:
        """Run the rule, in the modes that it has."""
        rule, needs = self.call.rule, tuple(n.dtype.is_inexact for n in self.x)
        if rule.reverse:
            self.backward = self._run(lambda: rule.pull_back(self.g, self.y, self.x, needs), self.x)
        if rule.forward:
            self.tangent = self._run(lambda: rule.push(self.t, self.y, self.x), self.y)

    def _run(self, rule: Callable[[], Absent], like: list[UOp]) -> list[UOp] | None:
        """None if the rule uses a value of a transform that has ended, so nothing can run it."""
        op = f"the rule of {self.call.rule.op}"
        with scope(op) as inside:
            inside.effects = DROPPED
            inside.variables.update(self.symbols)
            try:
                found = rule()
            except AdjointError as error:
                if op in error.message:
                    raise
                named = type(error)(error.code, error.message, op=op, help=error.help)
                raise named from error
            except Exception as error:
                problem = f"cannot be traced: {type(error).__name__}: {error}"
                raise AutodiffError("E5002", problem, op=op) from error
        pairs = zip(found, like, strict=True)
        given = [zeros_of(n) if v is None else v for v, n in pairs if n.dtype.is_inexact]
        if any(n.op.name == "spent" for n in toposort(given)):
            return None
        return substitute(given, self._own_results(given))

    def _own_results(self, roots: list[UOp]) -> dict[UOp, UOp]:
        """Where the rule calls its function on its own arguments, the results are there already."""
        order = toposort(roots, stop=set(self.symbols).__contains__)
        again = [n for n in order if self._is_again(n)]
        mapping = dict.fromkeys(again, self.y[0]) if len(self.y) == 1 else {}
        for n in order:
            if n.op.kernel is PART and n.src[0] in again:
                mapping[n] = self.y[n.arg.index]
        return mapping

    def _is_again(self, node: UOp) -> bool:
        if node.op is not self.node.op or node.dtype != self.node.dtype:
            return False
        call = node.arg.function
        arguments = list(node.src[: self.call.count])
        same = isinstance(call, CustomCall) and _same(call.rule.source, self.call.rule.source)
        return same and arguments == self.x

    def function(self, around: list[UOp], used: int, closed: dict[UOp, UOp]) -> TracedCall:
        """The call, whose operands are the arguments and then `around`; the body knows `used`."""
        body = _inlined(self.call.body)
        whole = function_of([*body.inputs, *around[used:]], list(body.outputs))
        first = [*self.x, *around, *self.y]

        def made(found: list[UOp] | None, last: Absent) -> Function | None:
            if found is None:
                return None
            return function_of([*first, *_there(last)], [closed[n] for n in found])

        backward, tangent = made(self.backward, self.g), made(self.tangent, self.t)
        return TracedCall(whole, self.call.count, backward, tangent)


def _there(nodes: Absent) -> list[UOp]:
    return [n for n in nodes if n is not None]


def _same(a: Any, b: Any) -> bool:
    """Whether two plain values are one for sure."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is tuple:
        return len(a) == len(b) and all(map(_same, a, b))
    return type(a) in (int, float, bool, complex, str, TreeDef) and a == b
