"""jit: a function traced once per signature, then run as one program.

A call looks for a trace whose arguments have the same pytree, shapes, dtypes, devices and plain
values, and whose captured state (closures, globals, attributes that the function reads) is the
same. If there is none, jit traces the function again, so a result is never stale. Another transform
simply calls the function inside. What may live here: finding the trace of a call.
"""

from __future__ import annotations

import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import WRAPPER_ASSIGNMENTS
from operator import is_
from types import MethodType
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar, overload

import numpy as np

from adjoint.display import Displayed
from adjoint.engine.observers import watch
from adjoint.errors import ArgumentError, AutodiffError
from adjoint.ir.collector import collector_rare
from adjoint.ir.dtype import DType
from adjoint.ir.function import Function
from adjoint.ir.memory_limit import bytes_of
from adjoint.ir.origin import readable, user_place
from adjoint.ir.weak import SameObject
from adjoint.runtime.spans import span
from adjoint.tensor import Tensor
from adjoint.tensor.tracing import open_scopes
from adjoint.tensor.views import share
from adjoint.transforms.call import argument_spans, name_of
from adjoint.transforms.jit.bindings import StaleError
from adjoint.transforms.jit.call import Compiled, ambient, turn
from adjoint.transforms.jit.captured import Captured
from adjoint.transforms.jit.dynamic import Declared, Dynamic
from adjoint.transforms.jit.guards import MISSING, attribute, is_plain, plain_key, tensor_type
from adjoint.transforms.jit.reasons import Reasons, difference, only_sizes
from adjoint.transforms.jit.trace import Recording, Tracer
from adjoint.transforms.pytree import (
    LEAF,
    OtherTreeError,
    Reader,
    TreeDef,
    leaf_reader,
    tree_flatten,
    tree_unflatten,
)

P = ParamSpec("P")
R = TypeVar("R")
MAX_TRACES = 256  # traces of one function
_BOTH = 4  # traces of one signature in different surroundings


class _Frozen:
    """A static argument: compared by its value if it has one, else by identity."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any):
        self.value = value
        self.key = _static_key(value)


def _static_key(value: Any) -> Any:
    if isinstance(value, DType) or is_plain(value):
        return value if isinstance(value, DType) else plain_key(value)
    if isinstance(value, (tuple, list)):
        return type(value), *map(_static_key, value)
    if isinstance(value, dict):
        return dict, *((_static_key(k), _static_key(v)) for k, v in value.items())
    if isinstance(value, Tensor):
        problem = "a static argument is a Python value, not a tensor"
        raise ArgumentError("E2001", problem, op="jit", operands=[("argument", value)])
    return SameObject(value)


def _tree_key(treedef: TreeDef) -> tuple[Any, ...]:
    """What a function can tell apart in trees whose shapes are equal: keys and metas of other
    types, and the order of the keys of a dict."""
    if treedef.kind is None or (treedef.meta is None and all(c is LEAF for c in treedef.children)):
        return ()
    inside = tuple(_tree_key(child) for child in treedef.children if child is not LEAF)
    return _told_apart(getattr(treedef.meta, "order", treedef.meta)), inside


def _told_apart(value: Any) -> Any:
    """What equal values differ in."""
    if is_plain(value):
        return plain_key(value)
    return (type(value), *map(_told_apart, value)) if isinstance(value, tuple) else type(value)


class _Like(NamedTuple):
    """A call with only tensors, each of them distinct, with which the next call is compared."""

    read: Reader | None  # the leaves of trees; None if the arguments are the tensors
    classes: list[type[Tensor]]
    kinds: list[tuple[Any, ...]]
    ambient: tuple[Any, ...]
    compiled: Compiled


class Jitted(Displayed, Generic[P, R]):
    """A function that runs as a program."""

    __wrapped__: Callable[P, R]
    __name__: str

    def __init__(
        self,
        fn: Callable[P, R],
        static_argnums: tuple[int, ...],
        static_argnames: tuple[str, ...],
        donate_argnums: tuple[int, ...],
        dynamic: Declared | None = None,
        memory_limit: int | str | None = None,
    ):
        self.__dict__.update(_worn(fn), __wrapped__=fn)
        self._fn, self._name = fn, name_of(fn)
        self._static, self._static_names = set(static_argnums), set(static_argnames)
        self._donated = set(donate_argnums)
        self._dynamic, self._declared = Dynamic(fn, self._name, dynamic), dynamic
        op = f"jit of {self._name}"
        self._limit = None if memory_limit is None else bytes_of(memory_limit, op)
        self._reasons, self._last_key, self._once = Reasons(self._name), None, ""
        self._traces: OrderedDict[Any, list[Compiled]] = OrderedDict()
        self._last: _Like | None = None  # the last call with tensors alone
        self._unlike: Compiled | None = None  # the last that takes other things, too
        self.traces = 0  # how often the function was traced

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if open_scopes.get():
            return self._fn(*args, **kwargs)
        if watch.on:
            return self._watched(args, kwargs)
        last = self._last
        if last is not None and not kwargs:
            try:
                leaves = args if last.read is None else last.read(args)
                if last.compiled.effects:
                    with turn.lock:
                        return self._like(last, leaves)
                return self._like(last, leaves)
            except (StaleError, OtherTreeError):
                self._last = None
        return self._find(args, kwargs)

    def _like(self, like: _Like, args: Sequence[Any]) -> Any:
        """This call by the trace of the last one; StaleError if it is not like it."""
        epoch, compiled = turn.epoch, like.compiled
        if [*map(type, args)] != like.classes:
            raise StaleError
        nodes = [arg.uop for arg in args]
        rows = zip(nodes, args)  # noqa: B905 - hot
        if [(n.shape, n.dtype, n.device, a._requires_grad) for n, a in rows] != like.kinds:
            raise StaleError
        count = len(args)
        if count > 1 and (args[0] is args[1] or (count > 2 and len({*map(id, args)}) != count)):
            raise StaleError
        if epoch & 1 or like.ambient != ambient() or not compiled.fresh(args):
            raise StaleError
        if compiled.pick is not None:
            return compiled.quick(nodes, epoch)
        del nodes, rows  # they would count, see `spares.py`
        return compiled(args, epoch)

    def _watched(self, args: Any, kwargs: Any) -> Any:
        """The same under the profiler or `debug_nans`: no short cuts."""
        with span(f"jit {self._name}", "python", lines=readable([user_place()])):
            return self._find(args, kwargs)

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """What a call with these arguments would run, stage by stage; see `adjoint.lower`."""
        from adjoint.transforms.lower import lower  # it stands on this file, and on the compiler

        return lower(self)(*args, **kwargs)

    def report(self) -> Any:
        """The traces of this function, the cost of each, and why there are more than one."""
        from adjoint.transforms.jit.report import report  # few programs ask

        return report(self)

    def __repr__(self) -> str:
        found = self.report()
        return f"<jit of {found.name}{found.signature}: {found.summary()}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        """By its name where that finds it, as functions are pickled and copied; else as another one
        of what it wraps, which has no traces yet."""
        if _named(attribute(self, "__module__", None), attribute(self, "__qualname__", "")) is self:
            return str(self.__qualname__)
        chosen = (tuple(self._static), tuple(self._static_names), tuple(self._donated))
        state = {k: v for k, v in vars(self).items() if not k.startswith("_") and k != "traces"}
        return type(self), (self._fn, *chosen, self._declared, self._limit), state

    def function(self, *args: P.args, **kwargs: P.kwargs) -> Function:
        """The closed graph of a call with these arguments, which is not made."""
        return self._tracer(*self._leaves(args, kwargs)).function()

    def recording(self, *args: P.args, **kwargs: P.kwargs) -> Recording:
        """The same with the tensors that the call reads and changes, for viewers."""
        return self._tracer(*self._leaves(args, kwargs)).recording()

    def kept(self) -> list[Compiled]:
        """The traces that are kept, the last used of each signature first."""
        return [compiled for traces in self._traces.values() for compiled in traces]

    def _leaves(self, args: Any, kwargs: Any) -> tuple[list[Any], TreeDef]:
        try:
            leaves, treedef = tree_flatten((self._frozen(args), self._frozen_names(kwargs)))
        except RecursionError:
            problem = "an argument contains itself, or containers without end"
            fix = "pass a tree; close over what refers to itself"
            raise ArgumentError("E2001", problem, op=f"jit of {self._name}", help=fix) from None
        device = next((v.device for v in leaves if isinstance(v, Tensor)), None)
        return [Tensor(v, device) if isinstance(v, np.ndarray) else v for v in leaves], treedef

    def _find(self, args: Any, kwargs: Any) -> Any:
        leaves, treedef = self._leaves(args, kwargs)
        checked = watch.checker is not None  # a trace that is looked at has lines of its own
        rest = (_tree_key(treedef), _aliases(leaves), ambient(), checked)
        key = (treedef, *map(_leaf_key, leaves), *rest)
        found = self._tried(key, args, kwargs, leaves)
        if found is not MISSING:
            return found
        with turn.lock:
            found = self._tried(key, args, kwargs, leaves)  # another thread may have traced it
            if found is not MISSING:
                return found
            with collector_rare():
                return self._traced(key, leaves, treedef, args, kwargs)

    def _tried(self, key: Any, args: Any, kwargs: Any, leaves: list[Any]) -> Any:
        """The result by a trace that fits, or MISSING."""
        for compiled in tuple(self._traces.get(key, ())):
            with turn.lock if compiled.effects else nullcontext():
                epoch = turn.epoch
                if epoch & 1 or not compiled.fresh(leaves):
                    continue
                try:
                    result = compiled(leaves, epoch)
                except StaleError:
                    continue
            self._remember(compiled, args, kwargs, key[0])
            return result
        return MISSING

    def _traced(self, key: Any, leaves: list[Any], treedef: TreeDef, args: Any, kwargs: Any) -> Any:
        tracer = self._tracer(leaves, treedef)
        given = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        if share(given, tracer.captured.held()):
            if tracer.sets():  # arguments that are views of one another: only a plain call is right
                self._reasons.add("arguments that show one value, which is written")
                return self._fn(*args, **kwargs)
            tracer = self._tracer(leaves, treedef)
        if self.traces and not only_sizes(self._last_key, key, tracer.shapes):
            self._reasons.add(self._reason(key, leaves))
        self.traces, self._last_key, self._once = self.traces + 1, key, ""
        began = time.perf_counter()
        compiled, result = self._run(tracer)
        compiled.seconds = time.perf_counter() - began
        self._once = tracer.reason
        if not tracer.captured.complete:
            self._once = "it mentions an import that is not made yet, or too much to be watched"
        if tracer.unwatched:
            self._reasons.unwatched(tracer.unwatched)
        if tracer.replayable and tracer.captured.complete:
            kept = self._traces.setdefault(key, [])
            kept.insert(0, compiled)
            del kept[_BOTH:]
            self._traces.move_to_end(key)
            while len(self._traces) > MAX_TRACES:
                self._traces.popitem(last=False)
            self._remember(compiled, args, kwargs, treedef)
        return result

    def _run(self, tracer: Tracer) -> tuple[Compiled, Any]:
        try:
            return tracer.trace()
        except RecursionError as error:
            problem = "it calls itself, or one another, without end while it is traced"
            fix = "end the recursion by a Python value, or loop with while_loop or fori_loop"
            raise AutodiffError("E5004", problem, op=f"jit of {self._name}", help=fix) from error

    def _reason(self, key: Any, leaves: list[Any]) -> str:
        """Why no trace fits."""
        if self._once:
            return f"what it does: {self._once}"
        for compiled in self._traces.get(key, ()):
            return compiled.captured.difference() or compiled.difference(leaves) or "another thread"
        last = self._last_key
        return "a cleared cache" if last in (None, key) else difference(last, key)

    def _tracer(self, leaves: list[Any], treedef: TreeDef) -> Tracer:
        objects = [v.value if isinstance(v, _Frozen) else v for v in leaves]
        others = (v for v in objects if not isinstance(v, Tensor))
        captured = Captured([self._fn, *others, *_containers(treedef)])

        def call(handles: Sequence[Any]) -> Any:
            plain = [v.value if isinstance(v, _Frozen) else v for v in handles]
            args, kwargs = tree_unflatten(treedef, plain)
            given = list(_containers_in((args, kwargs)))
            result = self._fn(*args, **kwargs)
            if any(not _same_items(container, before) for container, before in given):
                self._reasons.changed()
            return result

        shapes = self._dynamic.shapes(leaves, treedef)
        donated = self._donated_leaves(treedef)
        return Tracer(self._name, call, leaves, captured, donated, shapes, self._limit)

    def _donated_leaves(self, treedef: TreeDef) -> set[int]:
        """The positions of leaves of donated arguments."""
        spans = argument_spans(treedef)
        return {place for label, span in spans if label in self._donated for place in span}

    def _remember(self, compiled: Compiled, args: Any, kwargs: Any, treedef: TreeDef) -> None:
        """For the next call with nothing but tensors, each of them another."""
        if kwargs or compiled is self._unlike:
            return
        flat = all(type(a) is Tensor for a in args)
        read = None if flat else leaf_reader(treedef.children[0])
        leaves = args if read is None else read(args)
        if (flat or read is not None) and _are_apart(leaves):
            classes, kinds = [Tensor] * len(leaves), [*map(tensor_type, leaves)]
            self._last = _Like(read, classes, kinds, ambient(), compiled)
        elif not flat:
            self._unlike = compiled

    def _frozen(self, args: Sequence[Any]) -> tuple[Any, ...]:
        if not self._static:
            return tuple(args)
        chosen = {i % len(args) for i in self._static if -len(args) <= i < len(args)}
        return tuple(_Frozen(a) if i in chosen else a for i, a in enumerate(args))

    def _frozen_names(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        names = self._static_names
        return {k: _Frozen(v) if k in names else v for k, v in kwargs.items()}

    def clear_cache(self) -> None:
        """Forget all traces."""
        with turn.lock:
            self._traces.clear()
            self._last = self._unlike = self._last_key = None

    def cache_size(self) -> int:
        """How many traces are kept."""
        return sum(map(len, self._traces.values()))


def _named(module: Any, path: str) -> Any:
    """What a module has under a name with dots, if anything."""
    found: Any = sys.modules.get(module)
    for name in path.split("."):
        found = attribute(found, name, None)
    return found


def _are_apart(leaves: Sequence[Any]) -> bool:
    """Whether all are tensors, each another."""
    return all(type(leaf) is Tensor for leaf in leaves) and len({*map(id, leaves)}) == len(leaves)


def _containers_in(tree: Any) -> Iterator[tuple[Any, list[Any]]]:
    """Lists and dicts among the arguments, and their contents."""
    if type(tree) in (list, tuple, dict):
        items = list(tree.items() if type(tree) is dict else tree)
        if type(tree) is not tuple:
            yield tree, items
        for item in tree.values() if type(tree) is dict else items:
            yield from _containers_in(item)


def _same_items(container: Any, before: list[Any]) -> bool:
    """Whether the contents of a list or dict are unchanged."""
    if len(container) != len(before):
        return False
    if type(container) is list:
        return all(map(is_, container, before))
    return all(k is j and v is w for (k, v), (j, w) in zip(container.items(), before, strict=True))


def _worn(fn: Any) -> dict[str, Any]:
    """Attributes that the wrapper copies from the wrapped function, whatever its `__getattr__`
    raises.
    """
    own = attribute(fn, "__dict__", {})
    named = {name: attribute(fn, name, MISSING) for name in WRAPPER_ASSIGNMENTS}
    return {**own, **{name: value for name, value in named.items() if value is not MISSING}}


def _containers(treedef: TreeDef) -> Iterator[Any]:
    """Classes of containers among the arguments, whose methods may read anything, and what their
    metas say that they hold."""
    if treedef.kind not in _PLAIN_CONTAINERS:
        yield treedef.kind
        yield from getattr(treedef.meta, "reads", ())
    for child in treedef.children:
        if child.kind is not None:
            yield from _containers(child)


_PLAIN_CONTAINERS = (None, list, tuple, dict, type(None))


def _leaf_key(leaf: Any) -> Any:
    if type(leaf) is Tensor:
        return tensor_type(leaf)
    if isinstance(leaf, _Frozen):
        return leaf.key
    if is_plain(leaf):
        return plain_key(leaf)
    return leaf if isinstance(leaf, DType) else SameObject(leaf)


def _aliases(leaves: Sequence[Any]) -> tuple[int, ...] | None:
    """Which leaves are one tensor, if any are."""
    ids = [id(leaf) for leaf in leaves if type(leaf) is Tensor]
    return None if len(set(ids)) == len(ids) else tuple(map(ids.index, ids))


@overload
def jit(
    fn: Callable[P, R],
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
    donate_argnums: int | Iterable[int] = (),
    dynamic: Declared | None = None,
    memory_limit: int | str | None = None,
) -> Jitted[P, R]: ...


@overload
def jit(
    fn: None = None,
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
    donate_argnums: int | Iterable[int] = (),
    dynamic: Declared | None = None,
    memory_limit: int | str | None = None,
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...


def jit(
    fn: Any = None,
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
    donate_argnums: int | Iterable[int] = (),
    dynamic: Declared | None = None,
    memory_limit: int | str | None = None,
) -> Any:
    """A function that computes the same as `fn`, as one compiled program.

    `fn` is traced once for every combination of shapes, dtypes, devices, pytree structures and
    Python values among its arguments, and again when something else that it reads (a closure, a
    global, an attribute) has changed. Tensors that it reads or changes are inputs and outputs of
    the program; random numbers advance as without jit. Static arguments are always Python values;
    results may use the memory of donated ones. `dynamic` declares axes that vary, as in {"x": {0:
    Variable("batch", 1, 64)}}, by the name or the number of an argument: for another size jit
    traces again, and runs the code that was compiled for all of them.

    `memory_limit` bounds the memory of a call on its device, in bytes or as in "2GB": arguments,
    results and all intermediate values. If that is too little to keep what the backward pass reads,
    the program recomputes the values that are cheapest to recompute; results have the same bits.
    E6009 names the least possible limit. `lower(fn)(...).recomputed()` shows what is recomputed.
    """
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    given = (donate_argnums,) if isinstance(donate_argnums, int) else tuple(donate_argnums)
    if fn is None:
        return lambda f: Jitted(f, numbers, names, given, dynamic, memory_limit)
    return Jitted(fn, numbers, names, given, dynamic, memory_limit)
