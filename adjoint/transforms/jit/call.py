"""A traced function ready to be called: where its inputs come from, where its results go.

What may live here: binding, running and handing over. What may not: tracing (`trace.py`), or
finding the right program for a call (`jit.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.autodiff.reverse import results
from adjoint.engine import realize as engine
from adjoint.engine.interpreter import check_device, run_function
from adjoint.engine.program_cache import PROGRAMS, common_backend, graph_key, moved
from adjoint.engine.step_facts import FlagError
from adjoint.engine.watch import watch
from adjoint.ir.dtype import dtypes
from adjoint.ir.effect import effects_muted
from adjoint.ir.function import Function
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, leaf
from adjoint.ir.values import storage
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.device import Device
from adjoint.tensor import Tensor
from adjoint.tensor.marked import is_marked
from adjoint.tensor.random import stream
from adjoint.tensor.tensor import lift
from adjoint.tensor.tracing import grad_enabled
from adjoint.tensor.views import receive, share
from adjoint.transforms.checkpoint import Recomputed
from adjoint.transforms.jit.captured import Captured
from adjoint.transforms.jit.guards import Place, tensor_type
from adjoint.transforms.pytree import TreeDef, tree_unflatten
from adjoint.transforms.subgraph import CallArg, checkpoint_op, listed

_BUFFER = OPS["buffer"]
_KIND: Any = _BUFFER.arg


class StaleError(Exception):
    """What is there now is not what was traced."""


def ambient() -> tuple[Any, ...]:
    """What every function may depend on."""
    return (
        Tensor.training,
        dtypes.default_float,
        dtypes.default_int,
        Device.DEFAULT,
        grad_enabled.get(),
    )


class Turn:
    """One thread at a time traces a function, or runs a program that changes state.

    While a function is traced its tensors stand for values that are not known; `epoch` is odd
    then. A program that only reads needs no turn: it sees by the epoch whether what it has bound
    may be such a tensor.
    """

    __slots__ = ("_depth", "epoch", "lock")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.epoch = self._depth = 0

    @contextmanager
    def tracing(self) -> Iterator[None]:
        """Tensors are not what they seem inside."""
        with self.lock:
            self._depth += 1
            self.epoch += self._depth == 1
            try:
                yield
            finally:
                self._depth -= 1
                self.epoch += self._depth == 0


turn = Turn()


# ---- where inputs come from, and where results go
# Plain classes: compared by identity, as tensors inside them must be, and quick to import.


class Argument:
    """The tensor at a position among the leaves of the arguments."""

    __slots__ = ("position",)

    def __init__(self, position: int):
        self.position = position

    def tensor(self, leaves: Sequence[Any]) -> Tensor:
        """The tensor in this call."""
        found: Tensor = leaves[self.position]
        return found


class Held:
    """A tensor in a container that the function reads."""

    __slots__ = ("place", "position")

    def __init__(self, place: Place, position: int):
        self.place, self.position = place, position

    def tensor(self, leaves: Sequence[Any]) -> Tensor:
        """The tensor that is there now, as the last look at the container found it."""
        found: Tensor = self.place.values[self.position]
        return found


class Known:
    """A tensor that the function reaches in some other way."""

    __slots__ = ("handle",)

    def __init__(self, handle: Tensor):
        self.handle = handle

    def tensor(self, leaves: Sequence[Any]) -> Tensor:
        """That tensor."""
        return self.handle


class GradientOf:
    """The `.grad` of a tensor."""

    __slots__ = ("owner",)

    def __init__(self, owner: Argument | Held | Known):
        self.owner = owner

    def tensor(self, leaves: Sequence[Any]) -> Tensor:
        """The gradient that there is now."""
        found: Tensor | None = self.owner.tensor(leaves)._grad
        if found is None:
            raise StaleError
        return found


Where = Argument | Held | Known | GradientOf


class Read:
    """An input: a tensor's value, which must have the type that was traced.

    `same` is the node itself where another tensor could have an equal one.
    """

    __slots__ = ("kind", "same", "where")

    def __init__(self, where: Where, kind: tuple[Any, ...], same: UOp | None):
        self.where, self.kind, self.same = where, kind, same

    def node(self, leaves: Sequence[Any]) -> UOp:
        """The node of the tensor in this call."""
        tensor = self.where.tensor(leaves)
        node = tensor.uop
        if (node.shape, node.dtype, node.device, tensor._requires_grad) != self.kind:
            raise StaleError
        if self.same is not None and node is not self.same:
            raise StaleError
        return node


class Draw:
    """An input: a fresh random key."""

    __slots__ = ("device",)

    def __init__(self, device: Any):
        self.device = device

    def buffer(self) -> Buffer:
        """The next key of the device."""
        first = self.device if isinstance(self.device, str) else self.device[0]
        return Buffer(np.array(stream.next_key(first), np.uint64), self.device)


class SetValue:
    """An effect: a tensor gets an output as its value."""

    __slots__ = ("output", "where")

    def __init__(self, where: Where, output: int):
        self.where, self.output = where, output


class SetGradient:
    """An effect: the `.grad` of a tensor is an output, or None."""

    __slots__ = ("flag", "output", "where")

    def __init__(self, where: Where, output: int | None, flag: bool | None):
        self.where, self.output, self.flag = where, output, flag


class Store:
    """An effect: a container gets a tensor of the function's making, or some other value."""

    __slots__ = ("output", "place", "position", "value")

    def __init__(self, place: Place, position: int, output: int | None, value: Any = None):
        self.place, self.position, self.output, self.value = place, position, output, value


class Constant:
    """A leaf of the result that is no tensor."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value


Effect = SetValue | SetGradient | Store


# ---- the program of a trace


@dataclass(slots=True, eq=False, repr=False)
class Runner:
    """A closed graph with a way to run it: compiled where it can be, else interpreted."""

    function: Function
    devices: tuple[Any, ...]
    program: Any = None
    extra: tuple[Buffer, ...] = ()
    picks: tuple[tuple[bool, int], ...] = ()
    place: tuple[Any, ...] = ()  # devices of the program's own outputs

    @staticmethod
    def of(function: Function, nodes: Sequence[UOp], order: Sequence[UOp]) -> Runner:
        """The runner of a closed function; `nodes` are its outputs, `order` all that is computed,
        as they were before."""
        for node in order:
            check_device(node)
        default = Device.DEFAULT
        made = Runner(function, devices := tuple(node.device or default for node in nodes))
        backend = common_backend((*order, *nodes)) if nodes else None
        key = None
        if backend is not None:
            key = graph_key(function.outputs, function.inputs, backend)
        if key is not None:
            bound = PROGRAMS.find(key, function.outputs)
            made.program, made.picks = bound.program, bound.picks
            known = key.leaves[len(function.inputs) :]  # constants that were computed before
            made.extra = (*map(storage, known), *bound.arguments(key))
            own = {i: d for (leaf, i), d in zip(bound.picks, devices, strict=True) if not leaf}
            made.place = tuple(own[i] for i in sorted(own))
        return made

    @property
    def plain(self) -> bool:
        """Whether the outputs are those of the program and the inputs all that it takes."""
        own = tuple((False, i) for i in range(len(self.picks)))
        return self.program is not None and not self.extra and self.picks == own

    def run(self, buffers: list[Buffer], donated: Sequence[int]) -> list[Buffer]:
        """The outputs."""
        if watch.checker is None:
            return self._run(buffers, donated)
        found = self._run(buffers, ())  # the inputs are needed again if something is wrong
        watch.checker.call(self.function, buffers, found)
        return found

    def _run(self, buffers: list[Buffer], donated: Sequence[int]) -> list[Buffer]:
        if self.program is None:
            return self._interpreted(buffers)
        if self.extra:
            buffers = [*buffers, *self.extra]
        try:
            found = self.program.run(buffers, self.place, donated)
        except FlagError:
            with effects_muted():
                self._interpreted(buffers[: len(self.function.inputs)])  # says which index it was
            raise
        return [
            moved(buffers[i], device) if leaf else found[i]
            for (leaf, i), device in zip(self.picks, self.devices, strict=True)
        ]

    def _interpreted(self, buffers: Sequence[Buffer]) -> list[Buffer]:
        values = run_function(self.function, [b.array() for b in buffers])
        rows = zip(values, self.function.outputs, self.devices, strict=True)
        return [
            Buffer(np.ascontiguousarray(v).reshape(node.shape), device) for v, node, device in rows
        ]


@dataclass(slots=True, eq=False, repr=False)
class Compiled:
    """One trace of a function, for arguments of one signature and surroundings that hold."""

    name: str
    captured: Captured
    runner: Runner
    inputs: tuple[Read | Draw | Buffer, ...]
    draws: tuple[Draw, ...]  # in the order of the calls, also those that nobody uses
    out_tree: TreeDef
    out_leaves: tuple[Any, ...]  # an output's number, or `Constant`
    flags: tuple[bool | None, ...]
    effects: tuple[Effect, ...]
    donated: tuple[int, ...]
    watched: tuple[tuple[Where, Any], ...]  # tensors whose .grad is read, and its type or None
    pinned: tuple[tuple[int, Held], ...]  # arguments that are tensors found elsewhere, too
    views: tuple[tuple[Held, Tensor], ...]  # found tensors that share a value which is written
    sets: bool = field(init=False)  # whether tensors get new values
    unread: tuple[tuple[Held, Any], ...]  # tensors in reach that are no inputs, and their types
    shared: int = field(init=False)  # how many tensors are both
    tracked: bool = field(init=False)  # whether results have a history
    kept_flags: tuple[bool | None, ...] = field(init=False)  # requires_grad of what is handed out
    single: bool = field(init=False)
    direct: tuple[int, ...] | None = field(init=False)  # arguments, if there is nothing else
    history: Recomputed = field(init=False)

    def __post_init__(self) -> None:
        self.sets = any(isinstance(e, SetValue) for e in self.effects)
        self.shared = len({id(held.place.values[held.position]) for _, held in self.pinned})
        self.history = Recomputed(self.name, self.runner.function)
        one = self.out_tree.kind is None and self.out_leaves == (0,)
        self.tracked = True in self.flags and not self.effects
        kept = (flag if self.tracked or not flag else False for flag in self.flags)
        self.kept_flags = tuple(kept)
        self.single = one and not self.effects and self.flags[0] is not True
        self.direct = None
        alone = len(self.flags) == 1  # no tokens: what `quick` cannot do is simply done again
        if self.single and alone and not self.donated and self.runner.plain:
            places = [p for p in map(_argument, self.inputs) if p is not None]
            if len(places) == len(self.inputs) and not self.draws:
                self.direct = tuple(places)

    def quick(self, args: Sequence[Any], epoch: int) -> Any:
        """The same for arguments whose types are known to fit, if `direct`."""
        buffers = []
        for position in self.direct or ():
            node = args[position].uop
            buffer = node.arg[0] if node.op is _BUFFER else node.realized
            if buffer is None:
                return self(args, epoch)
            buffers.append(buffer)
        if turn.epoch != epoch:
            raise StaleError
        runner = self.runner
        try:
            found = runner.program.run(buffers, runner.place)
        except FlagError:
            return self(args, epoch)  # which knows how to say what is wrong
        return lift.handle(buffer_node(found[0], runner.function.outputs[0]), self.flags[0])

    def fresh(self, leaves: Sequence[Any]) -> bool:
        """Whether the surroundings are those of the trace."""
        captured = self.captured
        if not captured.holds():
            return False
        if self.sets and self._shares(leaves):
            return False
        if self.views and any(held.tensor(leaves) is not tensor for held, tensor in self.views):
            return False
        if not captured.positions and not self.watched:
            return True
        return not self.difference(leaves)

    def _shares(self, leaves: Sequence[Any]) -> bool:
        """Whether an argument shows the value of another, or of a captured tensor."""
        tied = [leaf for leaf in leaves if type(leaf) is Tensor and leaf._tie is not None]
        return bool(tied) and share(tied, self.captured.held())

    def difference(self, leaves: Sequence[Any]) -> str:
        """What of the tensors in reach is not as it was, for a message; "" if all is."""
        ids = self.captured.ids
        if self.shared or not ids.isdisjoint(map(id, leaves)):
            both = len(ids.intersection(map(id, leaves)))
            if both != self.shared or any(
                leaves[i] is not h.tensor(leaves) for i, h in self.pinned
            ):
                return "which arguments are also captured"
        if self.unread and any(
            tensor_type(held.tensor(leaves)) != kind for held, kind in self.unread
        ):
            return "the type of a captured tensor"
        if not self.watched:
            return ""
        try:
            grads = [w.tensor(leaves)._grad for w, _ in self.watched]
        except StaleError:
            return "whether a tensor has a gradient"
        known = [id(g) for g in grads if g is not None]
        if not all(_has(g, kind) for g, (_, kind) in zip(grads, self.watched, strict=True)):
            return "whether a tensor has a gradient"
        apart = len(set(known)) == len(known) and ids.isdisjoint(known)
        apart = apart and set(known).isdisjoint(map(id, leaves))
        return "" if apart else "which gradients are other tensors, too"

    def bind(self, leaves: Sequence[Any], epoch: int) -> list[Any]:
        """The nodes of the inputs; buffers and draws for those that are no tensors. Raises
        StaleError if a function was traced meanwhile, or something is not as it was."""
        nodes = [i.node(leaves) if type(i) is Read else i for i in self.inputs]
        if turn.epoch != epoch:
            raise StaleError
        return nodes

    def __call__(self, leaves: Sequence[Any], epoch: int) -> Any:
        """Run on these leaves of the arguments. With effects, the caller has the turn."""
        sources = self.bind(leaves, epoch)
        keys = {id(d): d.buffer() for d in self.draws} if self.draws else {}
        if self.single:
            found = self.runner.run(_buffers(sources, keys), self.donated)
            made = buffer_node(found[0], self.runner.function.outputs[0])
            return lift.handle(made, self.flags[0])
        nodes = self.outputs(sources, keys)
        if self.effects:
            self.apply(leaves, nodes)
        return self.result(nodes)

    def result(self, nodes: list[UOp]) -> Any:
        """What the function returns, from its outputs."""
        handle, flags = lift.handle, self.kept_flags
        made = [
            v.value if type(v) is Constant else handle(nodes[v], flags[v]) for v in self.out_leaves
        ]
        return tree_unflatten(self.out_tree, made)

    def outputs(self, sources: list[Any], keys: dict[int, Buffer]) -> list[UOp]:
        """A node per output; with its history where a gradient may be asked for."""
        found = self.runner.run(_buffers(sources, keys), self.donated)
        if not self.tracked:
            return [
                buffer_node(*row) for row in zip(found, self.runner.function.outputs, strict=True)
            ]
        below = [s if type(s) is UOp else _BUFFER.call(_buffer(s, keys)) for s in sources]
        whole = UOp(checkpoint_op, tuple(below), CallArg(self.history))
        nodes = []
        for part, buffer, flag in zip(listed(results(whole)), found, self.flags, strict=True):
            part.realized = buffer
            nodes.append(part if flag else buffer_node(buffer, part))
        return nodes

    def apply(self, leaves: Sequence[Any], nodes: list[UOp]) -> None:
        """Do to the surroundings what the function does."""
        targets = [None if isinstance(e, Store) else e.where.tensor(leaves) for e in self.effects]
        for effect, target in zip(self.effects, targets, strict=True):
            output = effect.output
            if type(effect) is SetValue:
                _set_value(target, nodes[effect.output])
            elif type(effect) is SetGradient:
                grad = None if output is None else lift.handle(nodes[output], effect.flag)
                target._grad = grad  # type: ignore[union-attr]
            elif type(effect) is Store:
                flags, made = self.kept_flags, effect.value
                if output is not None:
                    made = lift.handle(nodes[output], flags[output])
                effect.place.put(effect.position, made)


def _set_value(target: Any, node: UOp) -> None:
    if target._tie is None and not is_marked(target):
        target.uop = node
    else:
        receive(target, node)


def _has(grad: Tensor | None, kind: Any) -> bool:
    """Whether a gradient is like the one that was traced; None if there was none."""
    return kind is None if grad is None else kind is not None and tensor_type(grad) == kind


def _argument(source: Any) -> int | None:
    """The position of the argument that an input is."""
    if isinstance(source, Read) and isinstance(source.where, Argument):
        return source.where.position
    return None


def buffer_node(buffer: Buffer, like: UOp) -> UOp:
    """The leaf of a result, which comes from the line of the node that was traced for it."""
    arg = tuple.__new__(_KIND, (buffer,))
    return leaf(_BUFFER, arg, buffer.shape, buffer.dtype, buffer.device, like._origin)


def _buffers(sources: list[Any], keys: dict[int, Buffer]) -> list[Buffer]:
    """The storage of bound inputs, computed if need be."""
    buffers = [_buffer(s, keys) for s in sources]
    if None in buffers:
        engine.realize(*(s for s in sources if type(s) is UOp))
        buffers = [_buffer(s, keys) for s in sources]
    return buffers


def _buffer(source: Any, keys: dict[int, Buffer]) -> Any:
    """The storage of a bound input, None if it is not computed yet."""
    if type(source) is UOp:
        return source.arg[0] if source.op is _BUFFER else source.realized
    return keys[id(source)] if type(source) is Draw else source
