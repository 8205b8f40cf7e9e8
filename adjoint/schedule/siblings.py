"""Kernels over the same loops, which become one.

Before: a kernel for the gradient of a scale, and one for that of a shift. After: one, which reads
the cotangent once.

Before, on a GPU: a kernel that writes new keys into a cache, and one that writes new values, both
from one product. After: one kernel with two results, as a launch costs as much as either.
"""

from __future__ import annotations

from adjoint.ir.kernel_kind import Reduce
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.ops.logic import is_copy
from adjoint.schedule.makers import Makers
from adjoint.schedule.units import Order, Unit

_HEADS = 4  # kernels that one more sum may join
_KEPT = 1 << 12  # numbers, of which a value takes room while it waits,
_KEPT_BY_TEAMS = 1 << 16  # where sums of blocks are many, and a launch costs as much as these
_PAIRED_BYTES = 1 << 24  # of a result, which take a GPU not much longer than a launch


class Siblings:
    """The kernels of one schedule, of which some are joined."""

    def __init__(self, units: dict[Unit, None], steps: Order, makers: Makers, teams: bool):
        self.units, self.steps, self.makers, self.teams = units, steps, makers, teams

    def merge(self) -> None:
        """Merges reductions over the same loops into one kernel: the gradients of scale and shift.
        A kernel of maximum size is left alone, and the next reduction begins another, which mostly
        equals it.
        """
        groups: dict[tuple[object, ...], list[Unit]] = {}
        for unit in self.units:
            key = _sibling_key(unit)
            if key is not None:
                groups.setdefault(key, []).append(unit)
        for members in groups.values():
            heads: list[Unit] = []
            reading: dict[UOp, list[Unit]] = {}  # those that read a large value
            for unit in members:
                same = [h for node in _all_of(unit) for h in reading.get(node, ())[-_HEADS:]]
                near = dict.fromkeys((*reversed(same), *reversed(heads[-_HEADS:])))
                head = next((h for h in near if self._goes_with(h, unit)), None)
                if head is None:
                    heads.append(unit)
                for node in _all_of(unit):
                    reading.setdefault(node, []).append(head or unit)
                if head is not None:
                    self._join(head, unit)
        if self.teams:
            self._pair()

    def _pair(self) -> None:
        """Merges kernels of elements that read one value of several numbers that is computed here,
        two at most: equal layers then still have equal kernels."""
        single: dict[tuple[object, ...], list[Unit]] = {}
        for unit in list(self.units):
            key = _element_key(unit)
            if key is None:
                continue
            waiting = single.setdefault(key, [])
            near = reversed(waiting[-_HEADS:])
            head = next((h for h in near if self._shares(h, unit)), None)
            if head is None:
                waiting.append(unit)
            else:
                waiting.remove(head)
                self._join_elements(head, unit)

    def _shares(self, first: Unit, other: Unit) -> bool:
        """Whether both read a value that is made here, and neither needs the other."""
        both = (node for node in first.reads if node in other.reads)
        if not any(node.size > 1 and self.makers.makes(node) for node in both):
            return False
        return not self.steps.before(first, other) and not self.steps.before(other, first)

    def _goes_with(self, first: Unit, other: Unit) -> bool:
        if first.full or not self._meet(first, other):
            return False
        return not self.steps.before(first, other) and not self.steps.before(other, first)

    def _meet(self, first: Unit, other: Unit) -> bool:
        """Whether both read one value, or no large value that is computed here: otherwise the
        operand of one of them would be kept until the other is done.
        """
        if any(node in first.reads for node in _all_of(other)):
            return True
        made = [n for n in (*first.reads, *other.reads) if self.makers.makes(n)]
        return all(node.size < (_KEPT_BY_TEAMS if self.teams else _KEPT) for node in made)

    def _join(self, first: Unit, other: Unit) -> None:
        """The other's counters become the first's; its result one more of the first."""
        (node,), mine = other.reduced, next(iter(first.reduced))
        first.outputs[node] = first.outputs[mine]
        first.reduced[node] = first.reduced[mine]
        self._take(first, other, node)

    def _join_elements(self, first: Unit, other: Unit) -> None:
        """The same of kernels without sums."""
        (node,), (index,) = other.outputs, first.outputs.values()
        first.outputs[node] = index
        self._take(first, other, node)

    def _take(self, first: Unit, other: Unit, node: UOp) -> None:
        first.reads.update(other.reads)
        first.waits.update(other.waits)
        first.members += other.members
        first.weight += other.weight
        self.steps.replace(other, first)
        self.makers.maker[node] = first
        del self.units[other]


def _sibling_key(unit: Unit) -> tuple[object, ...] | None:
    if unit.kind != "kernel" or len(unit.outputs) != 1 or len(unit.reduced) != 1:
        return None
    (node,), (root,) = unit.reduced, unit.outputs
    kernel = node.op.kernel
    if node is not root or type(kernel) is not Reduce or kernel.index_map is not None:
        return None
    return node.src[0].shape, node.arg


def _element_key(unit: Unit) -> tuple[object, ...] | None:
    """What kernels of elements have in common that may be one: loops, and types of results.
    Smaller ones share a launch anyway (`joint_launches.py`)."""
    if unit.kind != "kernel" or len(unit.outputs) != 1 or unit.outer is not None:
        return None
    (root,) = unit.outputs
    if unit.reduced or unit.tiled or unit.checks or unit.full or is_copy(root):
        return None
    if varies(*root.shape):
        return None
    nbytes, alone = root.size * root.dtype.itemsize, unit.limits.joint_bytes
    return (root.shape, root.dtype) if alone < nbytes <= _PAIRED_BYTES else None


def _all_of(unit: Unit) -> list[UOp]:
    """The operands of a sum with as many elements as are summed; some may pad the last block."""
    size = next(iter(unit.reduced)).src[0].size
    return [node for node in unit.reads if node.size <= size < 2 * node.size]
