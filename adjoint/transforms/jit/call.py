"""One call of a trace: bind its inputs, run it, hand over its results.

What may live here: one call of one trace. What may not: tracing (`trace.py`), or finding the right
trace for a call (`jitted.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from adjoint.autodiff.reverse import results
from adjoint.engine.step_facts import FlagError
from adjoint.ir import sizes
from adjoint.ir.dtype import dtypes
from adjoint.ir.exactness import settings
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, make_known
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.device import Device
from adjoint.tensor import Tensor
from adjoint.tensor.autocast import casting
from adjoint.tensor.tensor import lift
from adjoint.tensor.tracing import grad_enabled
from adjoint.tensor.views import share
from adjoint.transforms.checkpoint import Recomputed
from adjoint.transforms.jit.bindings import Constant, Effect, Held, StaleError, Where
from adjoint.transforms.jit.captured import Captured
from adjoint.transforms.jit.guards import tensor_type
from adjoint.transforms.jit.inputs import Inputs, stored
from adjoint.transforms.jit.runner import Runner
from adjoint.transforms.jit.spares import Returned, is_filled_again, is_small, picker
from adjoint.transforms.jit.write_back import WriteBack
from adjoint.transforms.pytree import Builder, TreeDef, tree_builder
from adjoint.transforms.subgraph import CallArg, checkpoint_op, listed

_BUFFER = OPS["buffer"]
_KIND: Any = _BUFFER.arg


def ambient() -> tuple[Any, ...]:
    """What every function may depend on."""
    return (
        Tensor.training,
        dtypes.default_float,
        dtypes.default_int,
        Device.DEFAULT,
        grad_enabled.get(),
        settings(),
        casting.get(),
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


@dataclass(slots=True, eq=False, repr=False)
class Compiled:
    """One trace of a function, for arguments of one signature and surroundings that hold."""

    name: str
    captured: Captured
    runner: Runner
    inputs: Inputs
    out_tree: TreeDef
    out_leaves: tuple[Any, ...]  # an output's number, or `Constant`
    flags: tuple[bool | None, ...]
    effects: tuple[Effect, ...]
    donated: tuple[int, ...]
    watched: tuple[tuple[Where, Any], ...]  # tensors whose .grad is read, and its type or None
    pinned: tuple[tuple[int, Held], ...]  # arguments that are tensors found elsewhere, too
    views: tuple[tuple[Held, Tensor], ...]  # found tensors that share a value which is written
    unread: tuple[tuple[Held, Any], ...]  # tensors in reach that are no inputs, and their types
    write_back: WriteBack = field(init=False)
    returned: Returned = field(init=False)
    shared: int = field(init=False)  # how many tensors are both argument and found elsewhere
    tracked: bool = field(init=False)  # whether results have a history
    kept_flags: tuple[bool | None, ...] = field(init=False)  # requires_grad of what is handed out
    one: bool = field(init=False)  # whether the result is the first output
    single: bool = field(init=False)  # and all that there is to do
    pick: Any = field(init=False)  # the inputs among the nodes of arguments, if all are such
    direct: bool = field(init=False)  # whether there is nothing to do but the program
    build: Builder = field(init=False)  # the result from its leaves
    straight: bool = field(init=False)  # whether these are the outputs, none with a history
    history: Recomputed = field(init=False)
    seconds: float = field(init=False, default=0.0)  # of tracing, compiling and the first run

    def __post_init__(self) -> None:
        runner = self.runner
        self.shared = len({id(held.place.values[held.position]) for _, held in self.pinned})
        self.history = Recomputed(self.name, runner.function)
        self.one = self.out_tree.kind is None and self.out_leaves == (0,)
        self.tracked = True in self.flags and not self.effects
        flags = (flag if self.tracked or not flag else False for flag in self.flags)
        self.kept_flags = tuple(flags)
        filled = list(enumerate(runner.function.outputs if runner.refills else ()))
        small = [number for number, node in filled if is_small(node)]
        again = [number for number, node in filled if is_filled_again(node)]
        kept = () if self.donated else again if runner.elsewhere else small
        self.write_back = WriteBack(self.effects, self.captured, self.kept_flags, kept)
        given = () if self.effects or self.tracked else small
        self.returned = Returned(given, len(self.flags))
        self.single = self.one and not self.effects and self.flags[0] is not True
        alone = len(self.flags) == 1  # no tokens: what `quick` cannot do is simply done again
        plain = runner.program is not None and runner.direct and not runner.extra
        self.direct = self.single and alone and plain and not self.donated
        arguments = None if self.effects else self.inputs.arguments
        self.pick = None if arguments is None else picker(arguments)
        self.build = tree_builder(self.out_tree)
        self.straight = self.out_leaves == tuple(range(len(self.flags))) and not self.tracked

    def quick(self, nodes: Sequence[UOp], epoch: int) -> Any:
        """The call for arguments that have these nodes, whose types are known to fit, if `pick`
        says which of them are the inputs."""
        bound: Any = self.pick(nodes)
        if turn.epoch != epoch:
            raise StaleError
        buffers = [node.arg[0] if node.op is _BUFFER else node.realized for node in bound]
        if None in buffers:
            buffers = self.inputs.buffers(bound, {})
        if not self.single:
            return self.result(self._found(bound, {}, buffers))
        runner = self.runner
        if not self.direct:
            found = runner.run(buffers, self.donated)
        else:
            try:
                found = runner.program.run(buffers, runner.place)
            except FlagError:
                found = runner.run(buffers)  # which knows how to say what is wrong
        return lift.handle(buffer_node(found[0], runner.function.outputs[0]), self.flags[0])

    def fresh(self, leaves: Sequence[Any]) -> bool:
        """Whether the surroundings are those of the trace."""
        captured = self.captured
        if not captured.holds():
            return False
        if self.write_back.sets and self._shares(leaves):
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
        """The inputs of this call; StaleError if a function was traced meanwhile, or something is
        not as it was."""
        bound = self.inputs.bind(leaves)
        if turn.epoch != epoch:
            raise StaleError
        return bound

    def __call__(self, leaves: Sequence[Any], epoch: int) -> Any:
        """Run on these leaves of the arguments. With effects, the caller has the turn."""
        if self.single:
            bound = self.bind(leaves, epoch)
            found = self.runner.run(self.inputs.buffers(bound, self.inputs.keys()), self.donated)
            made = buffer_node(found[0], self.runner.function.outputs[0])
            return lift.handle(made, self.flags[0])
        # No name for what is bound: from here on only tensors refer to their old values, which
        # `spares.py` counts.
        nodes = self.outputs(self.bind(leaves, epoch), self.inputs.keys())
        if self.effects:
            self.write_back.apply(leaves, nodes)
        return self.result(nodes)

    def result(self, nodes: Sequence[UOp]) -> Any:
        """What the function returns, from its outputs."""
        handle, flags = lift.handle, self.kept_flags
        if self.one:
            return handle(nodes[0], flags[0])
        if self.straight:
            return self.build(lift.handles(nodes, flags))
        made = [
            v.value if type(v) is Constant else handle(nodes[v], flags[v]) for v in self.out_leaves
        ]
        return self.build(made)

    def outputs(self, bound: list[Any], keys: dict[int, Buffer]) -> Sequence[UOp]:
        """A node per output; with its history where a gradient may be asked for."""
        return self._found(bound, keys, self.inputs.buffers(bound, keys))

    def _found(
        self, bound: list[Any], keys: dict[int, Buffer], buffers: list[Buffer]
    ) -> Sequence[UOp]:
        if self.tracked:
            return self._with_history(bound, keys, self.runner.run(buffers, self.donated))
        if self.returned:
            old = self.returned.take()
            found = self.runner.run(buffers, self.donated, self.returned.into(old))
            return self.returned.nodes(old, found, self._output_node)
        spares = self.write_back.spares
        free = spares.take()
        found = self.runner.run(buffers, self.donated, spares.into(free))
        return spares.nodes(free, found, self._output_node)

    def _output_node(self, buffer: Buffer, number: int) -> UOp:
        return buffer_node(buffer, self.runner.function.outputs[number])

    def _with_history(
        self, bound: list[Any], keys: dict[int, Buffer], found: list[Buffer]
    ) -> list[UOp]:
        below = [s if type(s) is UOp else _BUFFER.call(stored(s, keys)) for s in bound]
        below = [_moved(node, found[0].device) for node in below] if found else below
        whole = UOp(checkpoint_op, tuple(below), CallArg(self.history))
        nodes = []
        for part, buffer, flag in zip(listed(results(whole)), found, self.flags, strict=True):
            part.realized = buffer
            nodes.append(part if flag else buffer_node(buffer, part))
        return nodes


def _moved(node: UOp, device: Any) -> UOp:
    """An operand where the results are: what the function itself copies there may be elsewhere."""
    if node.device is None or node.device == device or type(device) is not str:
        return node
    moved: UOp = OPS["copy"](node, device)
    return moved


def _has(grad: Tensor | None, kind: Any) -> bool:
    """Whether a gradient is like the one that was traced; None if there was none."""
    return kind is None if grad is None else kind is not None and tensor_type(grad) == kind


def buffer_node(buffer: Buffer, like: UOp) -> UOp:
    """The leaf of a result, which comes from the line of the node that was traced for it."""
    arg = tuple.__new__(_KIND, (buffer,))
    shape = buffer.shape
    if sizes.living and shape == like.shape:
        shape = sizes.settled(like.shape)
    return make_known(_BUFFER, (), arg, shape, buffer.dtype, buffer.device, like._origin)
