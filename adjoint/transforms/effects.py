"""Effects in graphs: the record TAP, and how effects get from the call into a program.

A TAP has a token as its value (always true). A token among the results of a program keeps its
effect alive, and a TAP that takes the token of another comes after it. A scope that makes a graph
which runs later (jit, vmap, the body of a loop) keeps the tokens made inside and passes them to the
enclosing scope; without one the effects happen at once. Gradients never see tokens: code that
computes a function again removes its effects (`bare`). What may live here: that mechanism. What may
not: any one effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

from adjoint.engine import realize as engine
from adjoint.errors import AutodiffError
from adjoint.ir.arg import Arg
from adjoint.ir.derivative import ZeroGradient
from adjoint.ir.dtype import dtypes
from adjoint.ir.effect import Effect
from adjoint.ir.function import Function, functions_in
from adjoint.ir.kernel_kind import HERE, PARAMETER
from adjoint.ir.opdef import OPS, OpDef, internal
from adjoint.ir.origin import origin_scope
from adjoint.ir.uop import UOp, rebuild, toposort
from adjoint.ir.values import is_known, known_value
from adjoint.tensor.tracing import DROPPED, KEPT, NOW, Scope, open_scopes


class TapArg(Arg):
    effect: Effect


def _performed(before: Any, *x: Any, effect: Effect, run: Any) -> Any:
    effect(x)
    return True


tap: OpDef = internal(
    "tap",
    "An effect on the operands after the first, which is a token; its value is True.",
    "primitive",
    call=lambda before, *x, effect: UOp(tap, (before, *x), TapArg(effect)),
    infer=lambda src, arg: ((), dtypes.bool_),
    # of what it looks at; a token may be anywhere
    device=lambda src, arg: next((s.device for s in src[1:] if s.device is not None), None),
    arg=TapArg,
    ad=ZeroGradient("a token is no number"),
    reference=_performed,
    batch=lambda node, src, flags, size: (UOp(node.op, src, node.arg), False),  # once for all
    takes_functions=True,
    kernel=HERE,  # the user's code stays in the thread that called
)


def no_token(device: Any = None) -> UOp:
    """The token before the first effect, or in place of none."""
    return OPS["const"](True, dtypes.bool_, (), device)


# ---- into a graph


def decide() -> tuple[str, Scope | None]:
    """What becomes of an effect here, and the scope that keeps it if one does."""
    for scope in reversed(open_scopes.get()):
        if scope.effects is not NOW:
            return scope.effects, scope
    return NOW, None


def emit(effect: Effect, nodes: Sequence[UOp], ordered: bool) -> None:
    """Have the effect on the nodes: now, or whenever the program that is being made runs."""
    what, scope = decide()
    if what is DROPPED:
        return
    _check_bound(effect, nodes)
    if scope is None:
        engine.realize(*nodes)
        effect([known_value(n) for n in nodes])
        return
    scope.tokens.append(UOp(tap, (latest(ordered), *nodes), TapArg(effect)))


def latest(ordered: bool = True) -> UOp:
    """The token that the next effect must follow: that of the effect before it, or of the enclosing
    body.

    A loop's body has a variable for that, so that no effect can be moved out of the loop.
    """
    for scope in reversed(open_scopes.get()):
        if scope.effects is KEPT and ordered and scope.tokens:
            return scope.tokens[-1]
        if scope.start is not None:
            return scope.start
    return no_token()


def token_symbol() -> UOp:
    """A variable that stands for a token."""
    return OPS["unique_identity"](OPS["input"]("token", (), dtypes.bool_))


def _check_bound(effect: Effect, nodes: Sequence[UOp]) -> None:
    """A parameter of a function that is not being traced has no value that could be shown."""
    traced = {v for scope in open_scopes.get() for v in scope.variables}
    order = toposort(nodes, stop=lambda n: n in traced or is_known(n))
    unbound = next((n for n in order if n.op.kernel is PARAMETER and n not in traced), None)
    if unbound is not None:
        problem = "a rule that is differentiated inside a loop cannot be looked into"
        fix = "look at the value outside of the rule, or run the loop in Python"
        operands = [("value", unbound)]
        raise AutodiffError("E5004", problem, op=effect.__name__, operands=operands, help=fix)


def joined(tokens: Iterable[UOp]) -> UOp:
    """One token for all of them."""
    return reduce(lambda a, b: a.logical_and(b), tokens)


def hand_over(tokens: Sequence[UOp], others: Sequence[UOp] = ()) -> None:
    """The tokens of a scope that has ended go to the enclosing scope.

    Without one their effects happen now, and `others` are computed along: they may depend on the
    same loops, which must not run twice.
    """
    if not tokens:
        return
    what, scope = decide()
    if scope is not None and what is KEPT:
        scope.tokens += tokens
    elif what is NOW:
        engine.realize(*dict.fromkeys((*tokens, *others)))


# ---- out of a graph


def without_effects(function: Function) -> Function:
    """The function without its effects."""
    if not Effect.made or not _has_effects(function):
        return function
    return Function(function.inputs, tuple(_without(function.outputs)))


def _has_effects(function: Function) -> bool:
    order = toposort(function.outputs)
    return any(n.op is tap or any(map(_has_effects, functions_in(n))) for n in order)


def _without(roots: Sequence[UOp]) -> list[UOp]:
    new: dict[UOp, UOp] = {}
    for node in toposort(roots):
        src = tuple(new[s] for s in node.src)
        if node.op is tap:
            new[node] = no_token(node.device)
        else:
            new[node] = _bare_node(node if src == node.src else rebuild(node, src))
    return [new[root] for root in roots]


def _bare_node(node: UOp) -> UOp:
    if not functions_in(node):
        return node
    fields = [without_effects(v) if isinstance(v, Function) else v for v in node.arg]
    with origin_scope(node.raw_origin):
        return UOp(node.op, node.src, type(node.arg)(*fields))
