"""Scopes in which tensors stand for values that are not known: inside grad, vmap and jit.

A scope knows its variables (nodes) and the handles made while it is open. Reading a value that
depends on an open scope's variable is an error with a fix; a handle that survives its scope and
depends on its variables is spent, and says so when it is used. What may live here: the scopes.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from adjoint.errors import AutodiffError
from adjoint.ir.opdef import OPS
from adjoint.ir.origin import origin_scope
from adjoint.ir.uop import UOp, toposort

NOW, KEPT, DROPPED = "now", "kept", "dropped"  # effects inside a scope (transforms/effects.py)


class Scope:
    """One call of a transformed function."""

    __slots__ = (
        "defers",
        "effects",
        "gradients",
        "handles",
        "keys",
        "name",
        "once",
        "outside",
        "start",
        "tokens",
        "variables",
    )

    def __init__(self, name: str):
        self.name = name
        self.variables: set[UOp] = set()
        self.handles: list[weakref.ref[Any]] = []
        self.keys: list[UOp] = []  # random keys drawn inside
        self.defers = False  # whether realize() is left to the end of the scope, as in jit
        self.outside: set[UOp] = set()  # where it defers: nodes of tensors made before
        self.gradients: dict[int, tuple[Any, bool]] = {}  # where it defers: tensors whose .grad
        # was touched, and whether it was read before it was set
        self.once = ""  # where it defers: why what is traced is good for one call only
        self.effects = NOW  # as outside, at the end of the graph that is made here, or not at all
        self.tokens: list[UOp] = []  # of effects that are kept
        self.start: UOp | None = None  # the variable that stands for what comes before them


open_scopes: ContextVar[tuple[Scope, ...]] = ContextVar("open_scopes", default=())


@contextmanager
def scope(name: str) -> Iterator[Scope]:
    """An open scope; on leaving it, handles that depend on its variables are spent."""
    inner = Scope(name)
    token = open_scopes.set((*open_scopes.get(), inner))
    try:
        yield inner
    finally:
        open_scopes.reset(token)
        _spend(inner)


def register(handle: Any) -> None:
    """Note a handle made while a scope is open."""
    scopes = open_scopes.get()
    if scopes:
        scopes[-1].handles.append(weakref.ref(handle))


def register_key(key: UOp) -> None:
    """Note a random key drawn while a scope is open. A program draws its keys when it runs, so
    what depends on one has no value while it is traced."""
    for inner in open_scopes.get():
        inner.keys.append(key)
        if inner.defers:
            inner.variables.add(key)


def touch_gradient(handle: Any, read: bool) -> None:
    """Note that a tensor's `.grad` is read or set; what comes first is what a trace depends on."""
    for inner in open_scopes.get():
        if inner.defers:
            inner.gradients.setdefault(id(handle), (handle, read))


def good_once(reason: str) -> None:
    """Say that what is traced now is good for one call only, and why."""
    for inner in open_scopes.get():
        if inner.defers and not inner.once:
            inner.once = reason


def _spend(inner: Scope) -> None:
    handles = [h for h in (reference() for reference in inner.handles) if h is not None]
    if not handles:
        return
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
    """Whether computing the nodes is left to a scope that is open; or raise if nobody can."""
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
    """Raise if a value is asked for that depends on a variable of an open scope.

    A value that was there before is known; but a trace that read it is good for this call only.
    """
    scopes = open_scopes.get()
    if not scopes:
        return
    roots = list(nodes)
    for inner in scopes:
        bad = next((r for r in roots if dependent([r], inner.variables)), None)
        if bad is not None:
            raise _unknown(inner, bad)
        if inner.defers and not inner.once and not inner.outside.isdisjoint(toposort(roots)):
            inner.once = "the value of a tensor made before the call is read"


def _unknown(inner: Scope, value: UOp) -> AutodiffError:
    """E5004: a value has no number yet, because of the arguments or of a draw."""
    reason, fix = "it depends on its arguments", ""
    if inner.defers and dependent([value], set(inner.keys)):
        reason = "it depends on a random number, which is drawn when the program runs"
        fix = "draw it outside and pass its value as an argument, or "
    fix += "use .where(), cond or scan instead of Python's if, while, float() or .item()"
    problem = f"the value is not known inside {inner.name}: {reason}"
    return AutodiffError("E5004", problem, op=inner.name, operands=[("value", value)], help=fix)
