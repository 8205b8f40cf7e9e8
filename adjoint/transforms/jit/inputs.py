"""The inputs of a traced function at one call: tensors are found, compared, and read.

What may live here: from arguments and surroundings to buffers. What may not: running.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.engine import realize as engine
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.runtime.buffer import Buffer
from adjoint.transforms.jit.bindings import Argument, Draw, Finder, Read, StaleError
from adjoint.transforms.jit.captured import Captured

_BUFFER = OPS["buffer"]


class Inputs:
    """The inputs of a program: tensors of certain types, random keys, constants."""

    __slots__ = ("_draws", "_finder", "_kinds", "_others", "_same", "sources")

    def __init__(
        self,
        sources: Sequence[Read | Draw | Buffer],
        draws: Sequence[Draw],  # in the order of the calls, also those that no kernel uses
        captured: Captured,
    ):
        self.sources, self._draws = sources, draws
        reads = [source for source in sources if isinstance(source, Read)]
        self._finder = Finder([read.where for read in reads], captured)
        self._kinds = [read.kind for read in reads]
        self._same = [(n, read.same) for n, read in enumerate(reads) if read.same is not None]
        self._others = [(n, s) for n, s in enumerate(sources) if not isinstance(s, Read)]

    @property
    def arguments(self) -> tuple[int, ...] | None:
        """The positions of the arguments that the inputs are; None if some are something else."""
        found = [s.where for s in self.sources if isinstance(s, Read)]
        places = tuple(where.position for where in found if isinstance(where, Argument))
        return places if len(places) == len(self.sources) and not self._draws else None

    def bind(self, leaves: Sequence[Any]) -> list[Any]:
        """The nodes of the inputs; random keys and buffers for those that are not tensors. Raises
        StaleError if something has changed.
        """
        tensors = self._finder.tensors(leaves)
        nodes: list[Any] = [tensor.uop for tensor in tensors]
        rows = zip(nodes, tensors)  # noqa: B905 - hot
        if [(n.shape, n.dtype, n.device, t._requires_grad) for n, t in rows] != self._kinds:
            raise StaleError
        if self._same and any(nodes[n] is not same for n, same in self._same):
            raise StaleError
        for place, source in self._others:
            nodes.insert(place, source)
        return nodes

    def keys(self) -> dict[int, Buffer]:
        """A fresh random key for every draw."""
        return {id(draw): draw.buffer() for draw in self._draws}

    def buffers(self, bound: list[Any], keys: dict[int, Buffer]) -> list[Any]:
        """The storage of bound inputs, computed if need be."""
        found = self._stored(bound, keys)
        if None in found:
            engine.realize(*(source for source in bound if type(source) is UOp))
            found = self._stored(bound, keys)
        return found

    def _stored(self, bound: list[Any], keys: dict[int, Buffer]) -> list[Any]:
        if self._others:
            return [stored(source, keys) for source in bound]
        return [node.arg[0] if node.op is _BUFFER else node.realized for node in bound]


def stored(source: Any, keys: dict[int, Buffer]) -> Any:
    """The storage of a bound input, None if it is not computed yet."""
    if type(source) is UOp:
        return source.arg[0] if source.op is _BUFFER else source.realized
    return keys[id(source)] if type(source) is Draw else source
