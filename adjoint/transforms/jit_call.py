"""A traced function ready to be called: where its inputs come from, where its results go.

What may live here: binding, running and handing over. What may not: tracing (`jit_trace.py`), or
finding the right program for a call (`jit.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.autodiff.reverse import results
from adjoint.engine import realize as engine
from adjoint.engine.interpreter import run_function
from adjoint.engine.key import graph_key
from adjoint.engine.program import Flagged
from adjoint.engine.programs import PROGRAMS
from adjoint.ir.function import Function
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, typed
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.device import Device
from adjoint.tensor import Tensor
from adjoint.tensor.random import stream
from adjoint.tensor.tensor import lift
from adjoint.transforms.captured import Captured, Place
from adjoint.transforms.checkpoint import Recomputed
from adjoint.transforms.pytree import TreeDef, tree_unflatten
from adjoint.transforms.subgraph import CallArg, checkpoint_op, listed

_BUFFER = OPS["buffer"]
_KIND: Any = _BUFFER.arg


class Stale(Exception):
    """What is there now is not what was traced."""


# ---- where inputs come from, and where results go


@dataclass(frozen=True, slots=True)
class Argument:
    """The tensor at a position among the leaves of the arguments."""

    position: int

    def tensor(self, leaves: Sequence[Any]) -> Tensor:
        return leaves[self.position]


@dataclass(frozen=True, slots=True)
class Held:
    """A tensor in a container that the function reads."""

    place: Place
    position: int

    def tensor(self, leaves: Sequence[Any]) -> Tensor:
        found: Tensor = self.place.values[self.position]
        return found


@dataclass(frozen=True, slots=True)
class Known:
    """A tensor that the function reaches in some other way."""

    handle: Tensor

    def tensor(self, leaves: Sequence[Any]) -> Tensor:
        return self.handle


@dataclass(frozen=True, slots=True)
class GradientOf:
    """The `.grad` of a tensor."""

    owner: Argument | Held | Known

    def tensor(self, leaves: Sequence[Any]) -> Tensor:
        found: Tensor | None = self.owner.tensor(leaves).grad
        if found is None:
            raise Stale
        return found


Where = Argument | Held | Known | GradientOf


@dataclass(frozen=True, slots=True)
class Read:
    """An input: a tensor's value, which must have the type that was traced."""

    where: Where
    kind: tuple[Any, ...]
    same: UOp | None  # the node itself, where another tensor could have an equal one

    def node(self, leaves: Sequence[Any]) -> UOp:
        tensor = self.where.tensor(leaves)
        node = tensor.uop
        if (node.shape, node.dtype, node.device, tensor._requires_grad) != self.kind:
            raise Stale
        if self.same is not None and node is not self.same:
            raise Stale
        return node


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """An input: a fresh random key."""

    device: Any

    def buffer(self) -> Buffer:
        first = self.device if isinstance(self.device, str) else self.device[0]
        return Buffer(np.array(stream.next_key(first), np.uint64), self.device)


@dataclass(frozen=True, slots=True)
class SetValue:
    """A tensor that the function gives a new value."""

    where: Where
    output: int


@dataclass(frozen=True, slots=True)
class SetGradient:
    """A tensor whose `.grad` the function sets; output None: to None."""

    where: Where
    output: int | None
    flag: bool | None


@dataclass(frozen=True, slots=True)
class Store:
    """Something that the function puts into a container: a tensor of its making, or a value."""

    place: Place
    position: int
    output: int | None
    value: Any = None


Effect = SetValue | SetGradient | Store


# ---- the program of a trace


@dataclass(slots=True)
class Runner:
    """A closed graph with a way to run it: compiled where it can be, else interpreted."""

    function: Function
    devices: tuple[Any, ...]
    program: Any = None
    extra: tuple[Buffer, ...] = ()
    picks: tuple[tuple[bool, int], ...] = ()
    place: tuple[Any, ...] = ()  # devices of the program's own outputs

    @staticmethod
    def of(function: Function) -> Runner:
        """The runner of a closed function."""
        default = Device.DEFAULT
        devices = tuple(node.device or default for node in function.outputs)
        made = Runner(function, devices)
        key = graph_key(function.outputs, function.inputs) if function.outputs else None
        if key is not None:
            bound = PROGRAMS.find(key, function.outputs)
            made.program, made.picks = bound.program, bound.picks
            made.extra = bound.arguments(key)
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
        if self.program is None:
            return self._interpreted(buffers)
        if self.extra:
            buffers = [*buffers, *self.extra]
        try:
            found = self.program.run(buffers, self.place, donated)
        except Flagged:
            self._interpreted(buffers[: len(self.function.inputs)])  # says which index it was
            raise
        return [buffers[i] if leaf else found[i] for leaf, i in self.picks]

    def _interpreted(self, buffers: Sequence[Buffer]) -> list[Buffer]:
        values = run_function(self.function, [b.array() for b in buffers])
        rows = zip(values, self.function.outputs, self.devices, strict=True)
        return [
            Buffer(np.ascontiguousarray(v).reshape(node.shape), device) for v, node, device in rows
        ]


@dataclass(slots=True)
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
    watched: tuple[tuple[Where, bool], ...]  # tensors, and whether their .grad was None
    single: bool = field(init=False)
    direct: tuple[int, ...] | None = field(init=False)  # arguments, if there is nothing else
    history: Recomputed = field(init=False)

    def __post_init__(self) -> None:
        self.history = Recomputed(self.name, self.runner.function)
        one = self.out_tree.kind is None and self.out_leaves == (0,)
        self.single = one and not self.effects and self.flags[0] is not True
        self.direct = None
        if self.single and not self.donated and self.runner.plain:
            places = [i.where.position for i in self.inputs if _is_argument(i)]
            if len(places) == len(self.inputs) and not self.draws:
                self.direct = tuple(places)

    def quick(self, args: Sequence[Any]) -> Any:
        """The same for arguments whose types are known to fit, if `direct`."""
        buffers = []
        for position in self.direct or ():
            node = args[position].uop
            buffer = node.arg[0] if node.op is _BUFFER else node.realized
            if buffer is None:
                return self(args)
            buffers.append(buffer)
        runner = self.runner
        try:
            found = runner.program.run(buffers, runner.place)
        except Flagged:
            return self(args)  # which knows how to say what is wrong
        return lift.handle(buffer_node(found[0]), self.flags[0])

    def fresh(self, leaves: Sequence[Any]) -> bool:
        """Whether the surroundings are those of the trace."""
        if not self.captured.holds():
            return False
        if not self.watched:
            return True
        try:
            return all((w.tensor(leaves).grad is None) is none for w, none in self.watched)
        except Stale:
            return False

    def bind(self, leaves: Sequence[Any]) -> list[Any]:
        """The nodes of the inputs; buffers and draws for those that are no tensors. May raise
        Stale."""
        return [i.node(leaves) if type(i) is Read else i for i in self.inputs]

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Run on these leaves of the arguments."""
        sources = self.bind(leaves)
        keys = {id(d): d.buffer() for d in self.draws} if self.draws else {}
        if self.single:
            found = self.runner.run(_buffers(sources, keys), self.donated)
            return lift.handle(buffer_node(found[0]), self.flags[0])
        tensors = self.outputs(sources, keys)
        self.apply(leaves, tensors)
        return self.result(tensors)

    def result(self, tensors: list[Tensor]) -> Any:
        """What the function returns, from its outputs."""
        made = [v.value if type(v) is Constant else tensors[v] for v in self.out_leaves]
        return tree_unflatten(self.out_tree, made)

    def outputs(self, sources: list[Any], keys: dict[int, Buffer]) -> list[Tensor]:
        """A handle per output; with its history where a gradient may be asked for."""
        found = self.runner.run(_buffers(sources, keys), self.donated)
        handle = lift.handle
        if True not in self.flags or self.effects:
            pairs = zip(found, self.flags, strict=True)
            return [handle(buffer_node(b), False if flag else flag) for b, flag in pairs]
        nodes = [s if type(s) is UOp else _BUFFER.call(_buffer(s, keys)) for s in sources]
        whole = UOp(checkpoint_op, tuple(nodes), CallArg(self.history))
        tensors = []
        for part, buffer, flag in zip(listed(results(whole)), found, self.flags, strict=True):
            part.realized = buffer
            tensors.append(handle(part if flag else buffer_node(buffer), flag))
        return tensors

    def apply(self, leaves: Sequence[Any], tensors: list[Tensor]) -> None:
        """Do to the surroundings what the function does."""
        targets = [
            e.where.tensor(leaves) if isinstance(e, (SetValue, SetGradient)) else None
            for e in self.effects
        ]
        for effect, target in zip(self.effects, targets, strict=True):
            match effect:
                case SetValue(_, output):
                    assert target is not None
                    target.uop = tensors[output].uop
                case SetGradient(_, output, flag):
                    assert target is not None
                    new = None if output is None else lift.handle(tensors[output].uop, flag)
                    target.grad = new
                case Store(place, position, output, value):
                    place.put(position, value if output is None else tensors[output])


@dataclass(frozen=True, slots=True)
class Constant:
    """A leaf of the result that is no tensor."""

    value: Any


def _is_argument(source: Any) -> bool:
    return isinstance(source, Read) and isinstance(source.where, Argument)


def buffer_node(buffer: Buffer) -> UOp:
    """The leaf of a buffer that has no node yet."""
    return typed(_BUFFER, (), tuple.__new__(_KIND, (buffer,)), buffer.shape, buffer.dtype)


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
