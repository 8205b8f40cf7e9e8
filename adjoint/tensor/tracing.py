"""Scopes in which tensors stand for unknown values: inside grad, vmap and jit.

A scope knows its variables (nodes) and the handles made while it is open. Reading a value that
depends on an open scope's variable is an error with a fix. A handle that survives its scope and
depends on its variables becomes invalid, and raises an error when it is used. What may live here:
the scopes, and whether results have a history.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from adjoint.errors import AutodiffError
from adjoint.ir.kernel_kind import PARAMETER
from adjoint.ir.opdef import OPS
from adjoint.ir.origin import origin_scope
from adjoint.ir.uop import UOp, toposort
from adjoint.tensor.live_tensors import noted

NOW, KEPT, DROPPED = "now", "kept", "dropped"  # effects inside a scope (transforms/effects.py)


class Axis(NamedTuple):
    """A mapped axis: its name, its size, and the variable that is the example's number."""

    name: Any
    size: int
    example: UOp


@dataclass(slots=True, eq=False, repr=False)
class Scope:
    """One call of a transformed function."""

    name: str
    axis: Axis | None = None  # what vmap maps, where it has a name
    variables: set[UOp] = field(default_factory=set)
    handles: list[weakref.ref[Any]] = field(default_factory=list)
    moved: dict[int, Any] = field(default_factory=dict)  # changed inside, with what was before
    keys: list[UOp] = field(default_factory=list)  # random keys drawn inside
    known: bool = False  # whether variables stand for values that are there, as in grad
    defers: bool = False  # whether realize() is left to the end of the scope, as in jit
    outside: set[UOp] = field(default_factory=set)  # where it defers: nodes of tensors made before
    # where it defers: tensors whose .grad was touched, and whether it was read before it was set
    gradients: dict[int, tuple[Any, bool]] = field(default_factory=dict)
    once: str = ""  # where it defers: why what is traced is good for one call only
    effects: str = NOW  # as outside, at the end of the graph that is made here, or not at all
    tokens: list[UOp] = field(default_factory=list)  # of effects that are kept
    start: UOp | None = None  # the variable that stands for what comes before them


grad_enabled: ContextVar[bool] = ContextVar("grad_enabled", default=True)
open_scopes: ContextVar[tuple[Scope, ...]] = ContextVar("open_scopes", default=())


@contextmanager
def scope(name: str) -> Iterator[Scope]:
    """An open scope; on leaving it, handles that depend on its variables are spent."""
    inner = Scope(name)
    token = open_scopes.set((*open_scopes.get(), inner))
    try:
        yield inner
    except BaseException:
        open_scopes.reset(token)
        _close(inner)
        raise
    open_scopes.reset(token)
    lost = _close(inner)
    if lost is not None and inner.effects is not DROPPED:
        raise _unreachable(inner, lost)


def register(handle: Any) -> None:
    """Note a new handle, also in the scope it is made in."""
    reference, scopes = noted(handle), open_scopes.get()
    if scopes:
        scopes[-1].handles.append(reference)


def register_key(key: UOp) -> None:
    """Note a random key drawn while a scope is open. A program draws its keys when it runs, so
    what depends on one has no value while it is traced."""
    for inner in open_scopes.get():
        inner.keys.append(key)
        if inner.defers:
            inner.variables.add(key)


def touch_gradient(handle: Any, read: bool) -> None:
    """Record that a tensor's `.grad` is read or set; a trace depends on which comes first."""
    for inner in open_scopes.get():
        if inner.defers:
            inner.gradients.setdefault(id(handle), (handle, read))


def good_once(reason: str) -> None:
    """Mark the current trace as valid for one call only, and record why."""
    for inner in open_scopes.get():
        if inner.defers and not inner.once:
            inner.once = reason


def note_move(holder: Any, moved: Any) -> None:
    """Note a value that is about to be changed while scopes are open."""
    for inner in open_scopes.get():
        before = inner.moved.get(id(holder))
        if before is None or before.holder() is not holder:
            inner.moved[id(holder)] = moved


def _close(inner: Scope) -> UOp | None:
    """Handles made inside become invalid. Values from outside that cannot be what the function made
    of them are restored, and one of them is returned.
    """
    handles = [h for h in (reference() for reference in inner.handles) if h is not None]
    lost = None if inner.defers else _undone(inner, {id(h) for h in handles})
    if handles:
        _spend(inner, handles)
    return lost


def _undone(inner: Scope, made: set[int]) -> UOp | None:
    """Undo changes, of values from outside, that depend on what has no value outside."""
    unbound = {v for v in inner.variables if v.op.kernel is PARAMETER or _is_symbol(v)}
    lost = None
    for moved in inner.moved.values() if unbound else ():
        node = moved.node()
        if node is not None and moved.is_outside(made) and node in dependent([node], unbound):
            lost = moved.old
            moved.undo()
    return lost


def _is_symbol(variable: UOp) -> bool:
    return variable.op.name == "unique_identity" and variable.src[0].op.kernel is PARAMETER


def _unreachable(inner: Scope, old: UOp) -> AutodiffError:
    problem = "a tensor from outside is assigned a value that exists only inside"
    fix = "return the value and assign it outside; the tensor keeps the value it had"
    operands = [("tensor", old)]
    return AutodiffError("E5004", problem, op=inner.name, operands=operands, help=fix)


def _spend(inner: Scope, handles: list[Any]) -> None:
    tainted = dependent([h.uop for h in handles], inner.variables)
    for handle in handles:
        node = handle.uop
        if node in tainted:
            with origin_scope(node.raw_origin):
                handle.uop = OPS["spent"](inner.name, node.shape, node.dtype, node.device)


def dependent(roots: Iterable[UOp], variables: set[UOp]) -> set[UOp]:
    """The nodes below the roots that depend on a variable."""
    found: set[UOp] = set()
    for node in toposort(roots):
        if node in variables or any(s in found for s in node.src):
            found.add(node)
    return found


def deferred(nodes: Iterable[UOp]) -> bool:
    """Whether computing the nodes is left to a scope that is open; or raise if no scope can."""
    scopes = open_scopes.get()
    if not any(inner.defers for inner in scopes):
        check_concrete(nodes)
        return False
    roots = list(nodes)
    token = open_scopes.set(tuple(inner for inner in scopes if not inner.defers))
    try:
        check_concrete(roots)
    finally:
        open_scopes.reset(token)
    return any(dependent(roots, inner.variables) for inner in scopes if inner.defers)


def check_concrete(nodes: Iterable[UOp]) -> None:
    """Raise if the caller reads a value that depends on a variable of an open scope.

    A value from before the scope is known; but a trace that read it is valid for this call only.
    """
    scopes = open_scopes.get()
    if not scopes:
        return
    roots = list(nodes)
    for inner in scopes:
        bad = None if inner.known else _first_dependent(roots, inner.variables)
        if bad is not None:
            raise _unknown(inner, bad)
        if inner.defers and not inner.once and not inner.outside.isdisjoint(toposort(roots)):
            inner.once = "the value of a tensor made before the call is read"


def _first_dependent(roots: list[UOp], variables: set[UOp]) -> UOp | None:
    return next((r for r in roots if dependent([r], variables)), None)


def has_history(node: UOp) -> bool:
    """Whether an open scope will need the derivative of a node whose value is known in it."""
    scopes = [inner for inner in open_scopes.get() if inner.known]
    return any(dependent([node], inner.variables) for inner in scopes)


def _unknown(inner: Scope, value: UOp) -> AutodiffError:
    """E5004: a value has no number yet, because of the arguments or of a draw."""
    reason, fix = "it depends on its arguments", ""
    if inner.defers and dependent([value], set(inner.keys)):
        reason = "it depends on a random number, which is drawn when the program runs"
        fix = "draw it outside and pass its value as an argument, or "
    if value.dtype.is_bool and value.shape:
        fix += "fix the count of the mask: x.masked_select(mask, size=n), mask.nonzero(size=n)"
    else:
        fix += "use .where(), cond or scan instead of Python's if, while, float() or .item()"
    problem = f"the value is not known inside {inner.name}: {reason}"
    return AutodiffError("E5004", problem, op=inner.name, operands=[("value", value)], help=fix)
