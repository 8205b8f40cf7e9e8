"""Old values of tensors that a program sets, and old results, for its next call to overwrite.

A training step gives every parameter a new value, and nothing can read the old one any more: its
node and its memory can serve as new ones, without allocating them. That holds if the lists here
have the only references. They are counted after the tensors have their new values, and for results
when the next call begins: an object without other references then can get none. Only nodes that the
program itself has filled are kept: two generations that alternate. On a GPU they are kept whatever
their size: a CUDA graph is found by the addresses in it, and freed memory would stay with the
device anyway; when the device has none left, they are released. The memory of donated arguments
goes to the results that are refilled. What may live here: keeping them, and counting.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from operator import attrgetter, is_, itemgetter
from sys import getrefcount
from typing import Any, NamedTuple
from weakref import WeakSet, getweakrefcount

from adjoint.ir.uop import UOp
from adjoint.runtime.buffer import Buffer, DonatedBuffer
from adjoint.runtime.memory import holds_memory

LARGEST = 32 * 1024  # bytes: above, arithmetic takes longer than making a buffer, and memory counts
_KEPT = 2  # calls: the results of one are often the arguments of the next
_FILLED = {Buffer, DonatedBuffer}  # kinds of buffers that no other library sees
_COUNTED = getattr(sys, "_is_gil_enabled", lambda: True)()  # without the lock counts say less


def is_small(node: UOp) -> bool:
    """Whether old values of this type are kept in the memory of the host."""
    return is_filled_again(node) and node.size * node.dtype.itemsize <= LARGEST


def is_filled_again(node: UOp) -> bool:
    """Whether old values of this type are kept where size does not count."""
    return _COUNTED and node.size > 0


_all_spares: WeakSet[Spares] = WeakSet()


@holds_memory
def _let_go() -> None:
    """Memory is out."""
    for spares in list(_all_spares):
        spares.let_go()


class Generation(NamedTuple):
    """The values that a call has assigned to tensors: nodes and their buffers, None where there is
    none.
    """

    nodes: tuple[Any, ...]
    buffers: tuple[Any, ...]


class Spares:
    """The generation that tensors have now, and the one that they had before, if it is free. Both
    are of some of the outputs of the program; `outputs` says which."""

    __slots__ = ("__weakref__", "_current", "_fill", "_free", "_others", "_pick", "_taken")

    def __init__(self, outputs: Sequence[int], total: int):
        _all_spares.add(self)
        places = {output: place for place, output in enumerate(outputs)}
        self._others = [output for output in range(total) if output not in places]
        self._pick = picker(outputs)
        self._fill = picker([places.get(output, -1) for output in range(total)])
        self._current = Generation((None,) * len(outputs), (None,) * len(outputs))
        self._free: Generation | None = None
        self._taken: Generation | None = None  # by the last call, which most likely has filled it

    def take(self) -> Generation | None:
        """The generation that is free, for this call alone; None if there is none."""
        self._taken, self._free = self._free, None
        return self._taken

    def let_go(self) -> None:
        """Drop everything that is free."""
        self._free = None

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


class Returned:
    """The results of the last calls, those at some numbers of `total`. A small result is soon
    computed; its node and its buffer take longer to make."""

    __slots__ = ("_calls", "_fill", "_numbers", "_pick")

    def __init__(self, numbers: Sequence[int], total: int):
        places = {number: place for place, number in enumerate(numbers)}
        self._numbers = tuple(numbers)
        self._pick = picker(numbers)
        self._fill = picker([places.get(number, -1) for number in range(total)])
        self._calls: list[Generation] = []  # changed by single operations: threads may call

    def __bool__(self) -> bool:
        return bool(self._numbers)

    def take(self) -> Generation | None:
        """The oldest results, for this call alone, None for those that are not free."""
        if len(self._calls) < _KEPT:
            return None
        try:
            old = self._calls.pop(0)
        except IndexError:  # another thread has taken it
            return None
        if _are_free(*old):
            return old
        nodes, buffers = [*old.nodes], [*old.buffers]
        del old  # it would count
        return _sorted(nodes, buffers)

    def into(self, free: Generation | None) -> Sequence[Any]:
        """A buffer for each result, or None; nothing at all if none is free."""
        return () if free is None else self._fill((*free.buffers, None))

    def nodes(
        self, free: Generation | None, found: list[Any], make: Callable[[Any, int], UOp]
    ) -> Sequence[UOp]:
        """The nodes of what the program found; those of the buffers that it was given are there.
        `make` makes that of a buffer by its number."""
        buffers = self._pick(found)
        if free is None or free.buffers != buffers or len(buffers) != len(found):
            nodes: Sequence[UOp] = [make(buffer, number) for number, buffer in enumerate(found)]
            free = Generation(self._pick(nodes), buffers)
        else:
            nodes = self._fill(free.nodes)
        self._calls.append(free)
        del self._calls[:-_KEPT]
        return nodes


def picker(numbers: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """The values at these numbers, as a tuple: what `itemgetter` gives for two and more."""
    if len(numbers) > 1:
        return itemgetter(*numbers)
    return lambda values: tuple([values[number] for number in numbers])


def _are_alone(nodes: Sequence[Any], buffers: Sequence[Any]) -> bool:
    """Whether there are no references to these but those of a generation, and of each other. The
    memory of a buffer is its alone for as long as it has no array."""
    return _are_referred_to_once(nodes, buffers) and not [
        b for b in buffers if b._array is not None or b._block is None or type(b) is not Buffer
    ]


def _are_referred_to_once(nodes: Sequence[Any], buffers: Sequence[Any]) -> bool:
    """Whether a generation has the only references to these, beside those of each other.

    What is counted has no name, which would count; no count is less than what is asked for, so
    their sum says it of all. A node: the generation and this question; from the table of nodes a
    weak one. Its attributes: the node, their key in that table, the question. A buffer: the
    attributes, the generation, the question.
    """
    count = len(nodes)
    return (
        sum(map(getrefcount, nodes)) == 2 * count
        and [*map(getweakrefcount, nodes)].count(1) == count
        and sum(map(getrefcount, map(_ATTRIBUTES, nodes))) == 3 * count
        and sum(map(getrefcount, buffers)) == 3 * count
    )


def _are_free(nodes: Sequence[Any], buffers: Sequence[Any]) -> bool:
    """Whether these can be refilled."""
    return (
        _are_referred_to_once(nodes, buffers)
        and _FILLED.issuperset(map(type, buffers))
        and not [buffer for buffer in buffers if buffer._array is not None]
    )


def _sorted(nodes: list[Any], buffers: list[Any]) -> Generation:
    """The same, one by one. The lists are given up."""
    for place in range(len(nodes)):
        node, buffer = (nodes[place],), (buffers[place],)
        nodes[place] = buffers[place] = None
        if _are_free(node, buffer):
            nodes[place], buffers[place] = node[0], buffer[0]
    return Generation(tuple(nodes), tuple(buffers))


_ATTRIBUTES = attrgetter("arg")
