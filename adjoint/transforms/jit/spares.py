"""Old values of the tensors that a program sets, for its next call to write over.

A step that trains gives every parameter a new value, and nothing can ask for the old one any more:
its node and its memory are as good as new ones, without making them. Nothing can, if there is no
reference to them besides the lists here. That is what is counted, after the tensors have their new
values: what has no other reference then can get none. Only nodes that the program itself has filled
are kept: two generations that change places. What may live here: keeping them, and counting.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from operator import attrgetter, is_, itemgetter
from sys import getrefcount
from typing import Any, NamedTuple
from weakref import getweakrefcount

from adjoint.ir.uop import UOp

LARGEST = 32 * 1024  # bytes: above, arithmetic takes longer than making a buffer, and memory counts
_COUNTED = getattr(sys, "_is_gil_enabled", lambda: True)()  # without the lock counts say less


def is_small(node: UOp) -> bool:
    """Whether old values of this type are kept."""
    return _COUNTED and 0 < node.size * node.dtype.itemsize <= LARGEST


class Generation(NamedTuple):
    """What a call has put into tensors: nodes and their buffers, None where there is none."""

    nodes: tuple[Any, ...]
    buffers: tuple[Any, ...]


class Spares:
    """The generation that tensors have now, and the one that they had before, if it is free. Both
    are of some of the outputs of the program; `outputs` says which."""

    __slots__ = ("_current", "_fill", "_free", "_others", "_pick", "_taken")

    def __init__(self, outputs: Sequence[int], total: int):
        places = {output: place for place, output in enumerate(outputs)}
        self._others = [output for output in range(total) if output not in places]
        self._pick = _picker(outputs)
        self._fill = _picker([places.get(output, -1) for output in range(total)])
        self._current = Generation((None,) * len(outputs), (None,) * len(outputs))
        self._free: Generation | None = None
        self._taken: Generation | None = None  # by the last call, which most likely has filled it

    def take(self) -> Generation | None:
        """The generation that is free, for this call alone; None if there is none."""
        self._taken, self._free = self._free, None
        return self._taken

    def into(self, free: Generation | None) -> Sequence[Any]:
        """A buffer for each output, or None; nothing at all if none is free."""
        return () if free is None else self._fill((*free.buffers, None))

    def nodes(self, free: Generation | None, found: Sequence[Any], make: Any) -> list[UOp]:
        """The nodes of what the program found; `make` makes that of a buffer by its number."""
        if free is None or self._pick(found) != free.buffers:
            return [make(buffer, number) for number, buffer in enumerate(found)]
        nodes = list(self._fill((*free.nodes, None)))
        for number in self._others:
            nodes[number] = make(found[number], number)
        return nodes

    def retire(self, old: list[Any], nodes: Sequence[UOp]) -> list[tuple[int, UOp]]:
        """Tensors have their outputs of these instead of the old nodes, None where there was none.
        Those of the old ones that are not free, by their place. The old list is given up."""
        ours, self._current = self._current, self._made(self._pick(nodes))
        if all(map(is_, old, ours.nodes)):
            old.clear()
            if _are_alone(*ours):
                self._free = ours
                return []
            old += ours.nodes
        nodes = list(ours.nodes)
        del ours  # it would count
        return self._sorted(old, nodes)

    def _made(self, new: tuple[Any, ...]) -> Generation:
        taken = self._taken
        if taken is not None and taken.nodes == new:
            return taken
        return Generation(new, tuple([node.arg[0] for node in new]))

    def _sorted(self, old: list[Any], ours: list[Any]) -> list[tuple[int, UOp]]:
        """The same, one by one."""
        used, free = [], list[Any]()
        for place in range(len(old)):
            mine = old[place] is ours[place]
            node, old[place], ours[place] = (old[place],), None, None
            alone = mine and node[0] is not None and _are_alone(node, (node[0].arg[0],))
            free.append(node[0] if alone else None)
            if not alone and node[0] is not None:
                used.append((place, node[0]))
        self._free = Generation(tuple(free), tuple([None if n is None else n.arg[0] for n in free]))
        return used


def _picker(numbers: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """The values at these numbers, as a tuple: what `itemgetter` gives for two and more."""
    if len(numbers) > 1:
        return itemgetter(*numbers)
    return lambda values: tuple([values[number] for number in numbers])


def _are_alone(nodes: Sequence[Any], buffers: Sequence[Any]) -> bool:
    """Whether there are no references to these but those of a generation, and of each other.

    What is counted has no name, which would count. A node: the generation and this question; from
    the table of nodes a weak one. Its attributes: the node, their key in that table, the question.
    A buffer: the attributes, the generation, the question. Its memory is the buffer's alone for as
    long as it has no array.
    """
    count = len(nodes)
    return (
        [*map(getrefcount, nodes)].count(2) == count
        and [*map(getweakrefcount, nodes)].count(1) == count
        and [*map(getrefcount, map(_ATTRIBUTES, nodes))].count(3) == count
        and [*map(getrefcount, buffers)].count(3) == count
        and not [b for b in buffers if b._array is not None or b._block is None]
    )


_ATTRIBUTES = attrgetter("arg")
