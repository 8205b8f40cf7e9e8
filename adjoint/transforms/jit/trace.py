"""Traces one call of a jitted function: the graph it builds, what it reads, what it changes.

Every tensor that exists before the call may be read or changed by it, so all of them are compared
before and after: a changed one is an output that is stored back at every call. If the function
stores a tensor in a place that jit cannot find again, the trace is valid for one call only. What
may live here: making a `Compiled` from a call.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import is_
from types import CodeType, FunctionType
from typing import Any

from adjoint.engine import realize as engine
from adjoint.engine.graph_key import close_over_parameters
from adjoint.engine.observers import watch
from adjoint.ir.function import Function
from adjoint.ir.kernel_kind import HERE, STORED
from adjoint.ir.memory_limit import MemoryLimit, limited
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, toposort
from adjoint.ir.values import is_known, storage
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.spans import span
from adjoint.tensor import Tensor
from adjoint.tensor.live_tensors import living
from adjoint.tensor.random import stream
from adjoint.tensor.tracing import KEPT, Scope, dependent, scope
from adjoint.tensor.views import base_of, is_view, put_back, share
from adjoint.transforms.jit.bindings import (
    Argument,
    Constant,
    Draw,
    Effect,
    GradientOf,
    Held,
    Known,
    Read,
    SetGradient,
    SetValue,
    Store,
    Where,
    place_of,
)
from adjoint.transforms.jit.call import Compiled, ambient, turn
from adjoint.transforms.jit.captured import Captured
from adjoint.transforms.jit.guards import Place, tensor_type
from adjoint.transforms.jit.inputs import Inputs
from adjoint.transforms.jit.runner import Runner
from adjoint.transforms.pytree import TreeDef, tree_flatten


@dataclass(slots=True, eq=False, repr=False)
class Before:
    """A tensor as it was before the call."""

    tensor: Tensor
    node: UOp
    grad: Tensor | None
    flag: bool | None

    @property
    def unchanged(self) -> bool:
        """Whether it has its value and its gradient."""
        return not self.changed and self.tensor._grad is self.grad

    @property
    def moved(self) -> bool:
        """Whether the handle has changed."""
        return self.tensor.uop is not self.node or self.tensor._grad is not self.grad

    @property
    def changed(self) -> bool:
        """Whether it has another value now; that its value was computed is no change."""
        node = self.tensor.uop
        if node is self.node:
            return False
        return not (node.op.kernel is STORED and node.arg.buffer is self.node.realized)

    def restore(self) -> None:
        """Restore the previous state."""
        if self.tensor.uop is not self.node:
            put_back(self.tensor, self.node)
            self.tensor._requires_grad = self.flag
        if self.tensor._grad is not self.grad:
            self.tensor._grad = self.grad


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Call:
    """What a call has left: free nodes and what they are, and the shape of its result."""

    sources: dict[UOp, Any]
    keys: dict[UOp, Draw]
    survivors: list[tuple[Tensor, int]]
    out_tree: TreeDef
    out_leaves: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Recording:
    """A traced call: its results and effects as nodes over `given` ones, each with where it comes
    from; the same closed, as a function; and which of the roots change something."""

    roots: tuple[UOp, ...]
    given: dict[UOp, Any]
    function: Function
    effects: tuple[Effect, ...]
    leaves: Sequence[Any]
    limit: MemoryLimit | None = None

    def buffers(self) -> list[Buffer]:
        """The values that a call now would read; random keys are those of the next draws, which
        are not made."""
        with stream.untouched():
            return [self._buffer(source) for source in self.given.values()]

    def _buffer(self, source: Any) -> Buffer:
        if isinstance(source, Read):
            tensor = source.where.tensor(self.leaves)
            engine.realize(tensor.uop)
            return storage(tensor.uop)
        return source.buffer() if isinstance(source, Draw) else source


@dataclass(slots=True, eq=False, repr=False)
class Tracer:
    """One call: `call` runs the function on leaves of the arguments."""

    name: str
    call: Callable[[Sequence[Any]], Any]
    leaves: list[Any]  # tensors are inputs, everything else is as it is
    captured: Captured
    donated: set[int]
    shapes: dict[int, tuple[int, ...]] = field(default_factory=dict)  # of leaves that vary
    limit: int | None = None  # bytes of memory that a call may take
    nodes: list[UOp] = field(default_factory=list)  # outputs, then effects and their tokens
    flags: list[bool | None] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    pinned: list[tuple[int, Held]] = field(default_factory=list)  # leaves found elsewhere, too
    watched: list[tuple[Where, Any]] = field(default_factory=list)
    views: list[tuple[Held, Tensor]] = field(default_factory=list)
    marked: list[tuple[Tensor, bool | None]] = field(default_factory=list)
    replayable: bool = True
    reason: str = ""  # why it is not
    unwatched: str = ""  # what it reads that jit cannot watch

    def trace(self) -> tuple[Compiled, Any]:
        """The compiled call, good for later ones if `replayable`, and this call's result."""
        with stream.undone_on_error():
            with span(f"trace {self.name}", "compile"), turn.tracing():
                call = self._recorded()
            compiled = self._compiled(call)
        if watch.collector is not None:
            watch.collector.traced(compiled)
        engine.realize(*call.keys)
        drawn = {id(draw): storage(key) for key, draw in call.keys.items()}
        return compiled, self._finished(compiled, drawn, call.survivors)

    def function(self) -> Function:
        """The graph of the call, closed; nothing is computed or changed."""
        return self.recording().function

    def recording(self) -> Recording:
        """The call as a graph, with what it reads and changes; nothing is computed or changed."""
        with turn.tracing(), stream.untouched(), self.captured.untouched():
            sources, function, _, free = self._closed(self._recorded().sources)
        given, roots = zip(free, sources, strict=True), tuple(self.nodes)
        limit = self._limit(sources)
        return Recording(roots, dict(given), function, tuple(self.effects), self.leaves, limit)

    def _recorded(self) -> _Call:
        """Run the function on variables; afterwards all tensors are as they were."""
        self._realize_surroundings()
        before, before_all = _snapshot(), ambient()
        inner = None
        try:
            with scope(f"jit of {self.name}") as inner:
                inner.defers, inner.effects = True, KEPT
                symbols, handles = self._symbols()
                inner.variables.update(symbols.values())
                inner.variables.update(t.uop for t in self.captured.held())
                inner.outside = {was.node for was in before}
                out_tree, out_leaves = self._run(handles)
                self._collect(before, handles, symbols, inner)
                for token in inner.tokens:
                    self._output(token, None)
                survivors = self._survivors(inner, handles)
                keys = {key: Draw(key.device) for key in inner.keys}
                self._once(inner.once)
                if ambient() != before_all:
                    self._once("it sets training mode or a default, which stays")
                self.unwatched = self.captured.unwatched(_callbacks(inner.tokens))
                self._once(self.unwatched and f"it reads {self.unwatched}")
        finally:
            for was in before:
                if was.moved and (inner is None or self._is_own(was, inner)):
                    was.restore()
        sources = self._sources(symbols, before) | keys
        return _Call(sources, keys, survivors, out_tree, out_leaves)

    def _finished(
        self, compiled: Compiled, keys: dict[int, Buffer], survivors: list[tuple[Tensor, int]]
    ) -> Any:
        """The call itself, by the compiled program."""
        nodes = compiled.outputs(compiled.bind(self.leaves, turn.epoch), keys)
        compiled.write_back.apply(self.leaves, nodes)
        for tensor, flag in self.marked:
            tensor._requires_grad = flag
        for tensor, output in survivors:
            put_back(tensor, nodes[output])
        return compiled.result(nodes)

    # ---- before

    def _realize_surroundings(self) -> None:
        """Values of tensors in reach exist, so that each of them is a node of its own; so do those
        that they are views of: a write to the one reads the other."""
        found = self.captured.held()
        bases = [base_of(t) for t in found if is_view(t)]
        wanted = [t for t in (*found, *bases) if not is_known(t.uop)]
        wanted += [t for t in self.leaves if isinstance(t, Tensor) and not is_known(t.uop)]
        if wanted:
            wanted[0].realize(*wanted[1:])
        given = [t for t in self.leaves if isinstance(t, Tensor)]
        self._part([*found, *bases, *(t._grad for t in (*found, *given) if t._grad is not None)])

    def _part(self, tensors: list[Tensor]) -> None:
        """A node for each of those that share a buffer now: at a later call they may differ. One
        that requires a gradient keeps its own, which gradients are asked for."""
        owners: dict[UOp, Tensor] = {}
        for tensor in sorted(tensors, key=lambda t: not t._requires_grad):
            shared = owners.setdefault(tensor.uop, tensor) is not tensor
            if shared and not tensor._requires_grad and is_known(tensor.uop):
                node = OPS["unique_identity"](tensor.uop)
                node.realized = storage(tensor.uop)
                put_back(tensor, node)

    def _symbols(self) -> tuple[dict[int, UOp], list[Any]]:
        """A variable for every tensor among the leaves; the same tensor twice is one."""
        symbols: dict[int, UOp] = {}
        handles: list[Any] = list(self.leaves)
        first: dict[int, Tensor] = {}
        for i, leaf in enumerate(self.leaves):
            if not isinstance(leaf, Tensor):
                continue
            if id(leaf) in self.captured.tensors:
                self.pinned.append((i, Held(*self.captured.tensors[id(leaf)])))
                continue  # the function has it twice: as an argument, and where it was found
            if id(leaf) not in first:
                shape = self.shapes.get(i, leaf.shape)
                place = storage(leaf.uop).device if is_known(leaf.uop) else leaf.uop.device
                node = OPS["input"](f"x{i}", shape, leaf.dtype, place)
                symbols[i] = OPS["unique_identity"](node)
                made = Tensor(symbols[i])
                made.requires_grad = leaf._requires_grad
                made._grad = leaf._grad
                first[id(leaf)] = made
            handles[i] = first[id(leaf)]
        return symbols, handles

    def _run(self, handles: list[Any]) -> tuple[TreeDef, tuple[Any, ...]]:
        leaves, out_tree = tree_flatten(self.call(handles))
        places = tuple(
            self._output(v.uop, v._requires_grad) if isinstance(v, Tensor) else self._constant(v)
            for v in leaves
        )
        return out_tree, places

    def _constant(self, value: Any) -> Constant:
        if self.captured.makes_anew(value):
            self._once(f"it returns a {type(value).__name__}, another one at every call")
        return Constant(value)

    def _output(self, node: UOp, flag: bool | None) -> int:
        self.nodes.append(node)
        self.flags.append(flag)
        return len(self.nodes) - 1

    # ---- after

    def _collect(
        self, before: list[Before], handles: list[Any], symbols: dict[int, UOp], inner: Scope
    ) -> None:
        """The changes of the call: values and gradients of tensors, contents of containers."""
        touched = {i: read for i, (_, read) in inner.gradients.items()}
        rows: list[tuple[Before, Argument | Held | Known]] = [
            (Before(handles[i], s, leaf._grad, leaf._requires_grad), Argument(i))
            for i, s in symbols.items()
            for leaf in (self.leaves[i],)
        ]
        for was in before:
            if was.moved and not self._is_own(was, inner):
                self._once("a tensor is changed that jit did not find among what it reads")
            elif was.moved or id(was.tensor) in touched:
                rows.append((was, self._where(was.tensor)))
        for was, where in rows:
            read = touched.get(id(was.tensor))
            self._changes(was, where, read is False)
            if read:
                self.watched.append((where, None if was.grad is None else tensor_type(was.grad)))
        self._note_views(before)
        self._flags(before, rows)
        if not self.captured.steady():
            self._once("it changes an array, a class, or what a function has")
        if self.captured.is_written():
            self._once("it adds to a container by a bound method")
        for place in self.captured.places:
            now = place.now()
            if now is None:
                self._once(f"it changes the keys or the length of {place.owner}")
            elif not all(map(is_, now, place.values)):
                self._stores(place, now)

    def _note_views(self, before: list[Before]) -> None:
        """Found tensors that share a changed value with another: which is a view of which is part
        of the graph now."""
        ties = [was.tensor._tie for was in before if was.tensor._tie is not None and was.changed]
        changed = {tie.storage for tie in ties}
        places = [Held(*found) for found in self.captured.tensors.values()]
        pairs = [(held, held.tensor(())) for held in places]
        self.views += [(h, t) for h, t in pairs if is_view(t) and t._tie.storage in changed]

    def sets(self) -> bool:
        """Whether the call gives tensors new values; nothing is computed or changed."""
        with turn.tracing(), stream.untouched(), self.captured.untouched():
            self._recorded()
        return any(isinstance(effect, SetValue) for effect in self.effects)

    def _flags(self, before: list[Before], rows: list[tuple[Before, Any]]) -> None:
        """`requires_grad` that the call has set stays, and no program sets it."""
        for was, where in rows:
            if isinstance(where, Argument) and was.tensor._requires_grad is not was.flag:
                self.leaves[where.position].requires_grad = was.tensor._requires_grad
                self._once("it sets requires_grad")
        found = [was.tensor for was in before if was.tensor._requires_grad is not was.flag]
        self.marked = [(tensor, tensor._requires_grad) for tensor in found]
        self._once("it sets requires_grad" if found else "")

    def _is_own(self, was: Before, inner: Scope) -> bool:
        """Whether a change belongs to this call: to a tensor in reach, or one made from its inputs.
        Any other may be another thread's, and needs no program to be right.
        """
        tensor, found = was.tensor, self.captured
        if was.unchanged or id(tensor) in found.tensors or share([tensor], found.held()):
            return True
        nodes = [tensor.uop] if tensor._grad is None else [tensor.uop, tensor._grad.uop]
        return bool(dependent(nodes, inner.variables))

    def _once(self, reason: str) -> None:
        """The trace is good for this call only, if there is a reason."""
        if reason:
            self.replayable, self.reason = False, self.reason or reason

    def _changes(self, was: Before, where: Argument | Held | Known, was_set: bool) -> None:
        """The effects on one tensor. A gradient that was set without reading the old one is set at
        every call, even if it did not change in this one.
        """
        tensor = was.tensor
        if was.changed and not is_view(tensor):  # the base of a view is set
            self.effects.append(SetValue(where, self._output(tensor.uop, None)))
        if tensor._grad is not was.grad or was_set:
            new = tensor._grad
            output = None if new is None else self._output(new.uop, None)
            flag = None if new is None else new._requires_grad
            self.effects.append(SetGradient(where, output, flag))

    def _where(self, tensor: Tensor) -> Held | Known:
        found = self.captured.tensors.get(id(tensor))
        return Known(tensor) if found is None else Held(*found)

    def _stores(self, place: Place, now: list[Any]) -> None:
        for position, (old, new) in enumerate(zip(place.values, now, strict=True)):
            if old is new:
                continue
            if isinstance(new, Tensor):
                output = self._output(new.uop, new._requires_grad)
                self.effects.append(Store(place, position, output))
            else:
                if self.captured.makes_anew(new):
                    self._once(f"it keeps a {type(new).__name__}, another one at every call")
                self.effects.append(Store(place, position, None, new))

    def _survivors(self, inner: Scope, handles: list[Any]) -> list[tuple[Tensor, int]]:
        """Tensors made inside that are still referred to, each with the output for its value."""
        handles.clear()  # what is still held, an argument too, is held by the function
        inner.gradients.clear()
        numbers = self._placed()
        alive = _alive(inner)
        if any(t.uop not in numbers for t in alive):
            alive = []
            gc.collect()  # a cycle refers to itself alone
            alive = _alive(inner)
        found = []
        for tensor in alive:
            if tensor.uop not in numbers:
                self._once("it keeps a tensor in a place that jit did not find")
                numbers[tensor.uop] = self._output(tensor.uop, tensor._requires_grad)
            found.append((tensor, numbers[tensor.uop]))
        return found

    def _placed(self) -> dict[UOp, int]:
        """Nodes of tensors whose place is known (gradients, contents of containers) → outputs."""
        kinds = (SetGradient, Store)
        numbers = [e.output for e in self.effects if isinstance(e, kinds)]
        return {self.nodes[n]: n for n in numbers if n is not None}

    # ---- the program

    def _sources(self, symbols: dict[int, UOp], before: list[Before]) -> dict[UOp, Any]:
        """The source of each free node of the graph; arguments win over captured tensors."""
        sources: dict[UOp, Any] = {}
        held = {i: Held(*found) for i, found in self.captured.tensors.items()}
        for was in before:
            where = held.get(id(was.tensor))
            own = was.node.op.name in ("buffer", "unique_identity")
            if where is not None or (own and was.node not in sources):
                sources[was.node] = _read(where or Known(was.tensor), was.tensor, own)
            if was.grad is not None:
                owner = GradientOf(where or Known(was.tensor))
                sources[was.grad.uop] = _read(owner, was.grad, True)
        for i in symbols:
            grad = self.leaves[i]._grad
            if grad is not None:
                sources[grad.uop] = _read(GradientOf(Argument(i)), grad, True)
        for i, symbol in symbols.items():
            sources[symbol] = _read(Argument(i), self.leaves[i], True)
        return sources

    def _ends(self, sources: dict[UOp, Any]) -> set[UOp]:
        """Sources, and known values that follow from none: what follows from one has another value
        at another call, though it may have been computed before this one."""
        ends, following = set(sources), set[UOp]()
        for node in toposort(self.nodes, stop=sources.__contains__):
            if node in sources or not following.isdisjoint(node.src):
                following.add(node)
            elif is_known(node):
                ends.add(node)
        return ends

    def _closed(
        self, sources: dict[UOp, Any]
    ) -> tuple[tuple[Any, ...], Function, list[UOp], list[UOp]]:
        """The sources of the graph's parameters, the graph, and its original nodes and
        parameters.
        """
        ends = self._ends(sources)
        order = toposort(self.nodes, stop=ends.__contains__)
        free = [n for n in order if n in ends]
        roots, parameters = close_over_parameters(self.nodes, free)
        inputs = tuple(sources[n] if n in sources else storage(n) for n in free)
        return (
            inputs,
            Function(tuple(parameters), tuple(roots)),
            [n for n in order if n not in ends],
            free,
        )

    def _compiled(self, call: _Call) -> Compiled:
        sources, function, order, free = self._closed(call.sources)
        donated = self._donations(sources)
        with limited(self._limit(sources)):
            runner = Runner.of(function, self.nodes, order, free)
        return Compiled(
            name=self.name,
            captured=self.captured,
            runner=runner,
            inputs=Inputs(sources, tuple(call.keys.values()), self.captured),
            out_tree=call.out_tree,
            out_leaves=call.out_leaves,
            flags=tuple(self.flags),
            effects=tuple(self.effects),
            donated=donated,
            watched=tuple(self.watched),
            pinned=tuple(self.pinned),
            views=tuple(self.views),
            unread=self._unread(sources),
        )

    def _unread(self, inputs: Sequence[Any]) -> tuple[tuple[Held, Any], ...]:
        """Tensors in reach whose value is no input; Python may have looked at their types."""
        read = {
            (id(s.where.place), s.where.position)
            for s in inputs
            if isinstance(s, Read) and isinstance(s.where, Held)
        }
        rest = [
            Held(*at) for at in self.captured.tensors.values() if (id(at[0]), at[1]) not in read
        ]
        return tuple((held, tensor_type(held.tensor(()))) for held in rest)

    def _limit(self, sources: Sequence[Any]) -> MemoryLimit | None:
        """The memory that the program may take, and the memory in use beside it."""
        if self.limit is None:
            return None
        read = {place_of(source.where) for source in sources if isinstance(source, Read)}
        outputs = [
            self.nodes[effect.output]
            for effect in self.effects
            if effect.output is not None and _replaced(effect) not in (None, *read)
        ]
        sizes = [node.size * node.dtype.itemsize for node in outputs]
        name = f"jit of {self.name}"
        return MemoryLimit(self.limit, self._donations(sources), tuple(map(int, sizes)), name)

    def _donations(self, sources: Sequence[Any]) -> tuple[int, ...]:
        """The inputs that are donated arguments."""
        return tuple(i for i, source in enumerate(sources) if self._is_donated(source))

    def _is_donated(self, source: Any) -> bool:
        argument = isinstance(source, Read) and isinstance(source.where, Argument)
        return argument and source.where.position in self.donated


def _read(where: Where, tensor: Tensor, own: bool) -> Read:
    return Read(where, tensor_type(tensor), None if own else tensor.uop)


def _snapshot() -> list[Before]:
    """Every tensor that exists."""
    return [Before(t, t.uop, t._grad, t._requires_grad) for t in living()]


def _callbacks(tokens: Sequence[UOp]) -> set[CodeType]:
    """The code that effects run when the program does."""
    taps = [n.arg.effect.perform for n in toposort(tokens) if n.op.kernel is HERE] if tokens else []
    held = (cell.cell_contents for perform in taps for cell in perform.__closure__ or ())
    called = (getattr(value, "__func__", value) for value in held)
    return {f.__code__ for f in called if isinstance(f, FunctionType)}


def _alive(inner: Scope) -> list[Tensor]:
    """Handles made in the scope that are still held, and depend on its variables."""
    handles = [h for h in (reference() for reference in inner.handles) if h is not None]
    tainted = dependent([h.uop for h in handles], inner.variables)
    return [h for h in handles if h.uop in tainted]


def _replaced(effect: Effect) -> Any:
    """The place of the value that an output takes; None if it takes none."""
    match effect:
        case SetValue():
            return place_of(effect.where)
        case SetGradient() if not isinstance(effect.where, GradientOf):
            return place_of(GradientOf(effect.where))
        case _:
            return None
