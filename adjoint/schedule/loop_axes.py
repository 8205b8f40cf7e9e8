"""The loop counter of each axis of a node, during fusion.

An axis is a sequence of atoms, most significant first; an atom is a loop counter of a certain size.
A reshape that divides an axis splits its atom, for all nodes that follow it. If a view moves an
index in another way, the axis follows an image of the atoms, which is another atom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import Any

from adjoint.ir.kernel_kind import Read, reduce_of
from adjoint.ir.sizes import divides, is_one, same
from adjoint.ir.uop import UOp
from adjoint.ops.movement import shrink

Axis = tuple[int, ...]
Index = tuple[Axis, ...]
_DEEPEST = 2  # divisions inside one another: an index doubles with each of them


@dataclass(slots=True, eq=False)
class Followed:
    """A coordinate as index maps compute with it: the axes that it is made of, and their extents.

    `moved` says that it is not one of these axes itself, but a multiple, a shift or a sum.
    """

    axes: Index
    extent: int
    moved: bool = False

    def __mul__(self, factor: int) -> Followed:
        return self if is_one(factor) else Followed(self.axes, self.extent, True)

    def __add__(self, other: Followed | int) -> Followed:
        if isinstance(other, int):
            return self if same(other, 0) else Followed(self.axes, self.extent, True)
        return Followed((*self.axes, *other.axes), self.extent, True)


_NOWHERE = Followed(((),), 1)


@dataclass(slots=True, eq=False)
class _Space:
    """What the index map of one node is evaluated over."""

    atoms: Atoms
    node: UOp
    zero = _NOWHERE

    def reshaped(self, at: Sequence[Followed], old: Any, new: Any) -> tuple[Followed, ...]:
        index = self.atoms.reshaped(self.node, tuple([c.axes[0] for c in at]), new)
        return _followed(index, new)


def _followed(index: Index, shape: Sequence[int]) -> tuple[Followed, ...]:
    return tuple([Followed((axis,), n) for axis, n in zip(index, shape, strict=True)])


class Atoms:
    """The atoms of one schedule."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.images: dict[int, Axis | None] = {}  # of which atoms; None: many places read one
        self._depths: dict[int, int] = {}  # of images: how many divisions are inside one another
        self._tangled: set[int] = set()  # images with too many of them
        self._parts: dict[int, Axis] = {}
        self._split = self._parts.keys()
        self._known: dict[Any, int] = {}
        self._keys: dict[int, Any] = {}  # of images

    def new(self, size: int) -> Axis:
        """A fresh counter; an axis of size 1 needs none."""
        if is_one(size):
            return ()
        self.sizes.append(size)
        return (len(self.sizes) - 1,)

    def image(self, key: Any, size: int, of: Axis | None, divided: bool = False) -> Axis:
        """The atom for an index that is computed from others; the same key gives the same atom."""
        if is_one(size):
            return ()
        found = self._known.get(key)
        if found is None:
            (found,) = self.new(size)
            self._known[key] = found
            self._keys[found] = key
            self.images[found] = of
            below = max([self._depths.get(a, 0) for a in of or ()], default=0)
            self._depths[found] = below + divided
            if below + divided > _DEEPEST:
                self._tangled.add(found)
        return (found,)

    def whole(self, axis: Axis) -> Axis:
        """The axis in atoms that are not split."""
        if self._split.isdisjoint(axis):
            return axis
        return tuple(p for a in axis for p in self.whole(self._parts.get(a, (a,))))

    def settled(self, index: Index) -> Index:
        """The index in atoms that are not split."""
        if self._parts:
            for axis in index:
                if not self._split.isdisjoint(axis):
                    return tuple([self.whole(axis) for axis in index])
        return index

    def count(self, atoms: Any) -> int:
        """How many index points these atoms have."""
        return prod(self.sizes[a] for a in atoms)

    def roots(self, index: Index) -> set[int] | None:
        """The counters that the index depends on; None if it reads places more than once."""
        atoms = set(chain(*self.settled(index)))
        images = atoms & self.images.keys()
        found = atoms - images
        for atom in images:
            of = self.images[atom]
            below = None if of is None else self.roots((of,))
            if below is None:
                return None
            found |= below
        return found

    def tangled(self, index: Index) -> bool:
        """Whether so many divisions are inside one another that memory is better."""
        return not self._tangled.isdisjoint(chain(*index))

    def unshifted(self, axis: Axis) -> Axis:
        """The counters that an axis is a part of another one's of, side by side; else the axis."""
        if len(axis) != 1 or axis[0] not in self.images:
            return axis
        node, of = self._keys[axis[0]][0], self.images[axis[0]]
        plain = of is not None and node.op is shrink and set(node.arg[2]) == {1}
        return self.whole(of) if plain and of is not None else axis

    def split(self, atom: int, outer: int) -> Axis | None:
        """The atom as (outer, inner); None if it does not divide or is an image."""
        size = self.sizes[atom]
        if not divides(outer, size) or atom in self.images:
            return None
        parts = (*self.new(outer), *self.new(size // outer))
        self._parts[atom] = parts
        return parts

    # ---- views

    def reshaped(self, node: UOp, index: Index, shape: Sequence[int]) -> Index:
        """The atoms in order, dealt out to the axes of another shape."""
        flat = list(chain(*self.settled(index)))[::-1]
        result: list[Axis] = []
        for extent in shape:
            if flat and same(self.sizes[flat[-1]], extent):  # mostly
                result.append((flat.pop(),))
                continue
            axis = self._taken(flat, extent)
            if axis is None:
                return self._images(node, index, shape)
            result.append(axis)
        return tuple(result)

    def _taken(self, flat: list[int], extent: int) -> Axis | None:
        """The leading atoms that make up this extent, taken off the (reversed) list."""
        taken: list[int] = []
        size = 1
        while not same(size, extent):
            if not flat or extent == 0:
                return None
            atom = flat.pop()
            if not divides(size * self.sizes[atom], extent):
                if not divides(size, extent):
                    return None
                parts = self.split(atom, extent // size)
                if parts is None:
                    return None
                atom = parts[0]
                flat.extend(parts[:0:-1])
            taken.append(atom)
            size *= self.sizes[atom]
        return tuple(taken)

    def _images(self, node: UOp, index: Index, shape: Sequence[int]) -> Index:
        of = tuple(chain(*index))
        return tuple([self.image((node, i, of), n, of, True) for i, n in enumerate(shape)])

    def through(self, node: UOp, index: Index) -> list[tuple[UOp, Index]]:
        """The operands of a view, each with the index at which it is read."""
        view = node.op.kernel
        if view.aliases and len(node.src) == 1:  # the same elements in the same order
            return [(node.src[0], self.reshaped(node, index, node.src[0].shape))]
        at, space = _followed(index, node.shape), _Space(self, node)
        return self._read(node, view.index_map(node, at, space))

    def reduced(self, node: UOp, index: Index) -> tuple[list[tuple[UOp, Index]], Index]:
        """The operands of a reduction with their indices, and the axes it loops over."""
        kernel = reduce_of(node)
        sizes = kernel.loops_of(node)
        loops = tuple([self.new(n) for n in sizes])
        reads = kernel.reads(node, _followed(index, node.shape), _followed(loops, sizes))
        return self._read(node, reads), loops

    def _read(self, node: UOp, reads: Sequence[Read]) -> list[tuple[UOp, Index]]:
        return [(r.source, self._places(node, number, r)) for number, r in enumerate(reads)]

    def _places(self, node: UOp, number: int, read: Read) -> Index:
        """The axes that an operand's follow: an axis that is moved follows an image of them."""
        found: list[Axis] = []
        for at, n in zip(read.place, read.source.shape, strict=True):
            if at.moved or not same(at.extent, n):
                found.append(self.image((node, number, len(found), at.axes), n, _of(at)))
            else:
                found.append(at.axes[0])
        return tuple(found)


def _of(at: Followed) -> Axis | None:
    """The atoms of an image; None for a sum, since many places read one element."""
    return at.axes[0] if len(at.axes) == 1 else None
