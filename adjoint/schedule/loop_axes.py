"""Axes while kernels are being formed: which loop counter each axis of a node follows.

An axis is a row of atoms, most significant first; an atom is a loop counter of a certain size. A
reshape that divides an axis splits its atom, for everybody. Where a view moves an index in another
way the axis follows an image of the atoms, which is another atom. What may live here: atoms and how
views map them. What may not: which nodes share a kernel.
"""

from __future__ import annotations

from math import prod
from typing import Any

from adjoint.ir import axes
from adjoint.ir.uop import UOp

Axis = tuple[int, ...]
Index = tuple[Axis, ...]
_DEEPEST = 2  # divisions inside one another: an index doubles with each of them


class Atoms:
    """The atoms of one schedule."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.images: dict[int, Axis | None] = {}  # of which atoms; None: many places read one
        self.depths: dict[int, int] = {}  # of images: how many divisions are inside one another
        self._parts: dict[int, Axis] = {}
        self._known: dict[Any, int] = {}

    def new(self, size: int) -> Axis:
        """A fresh counter; an axis of size 1 needs none."""
        if size == 1:
            return ()
        self.sizes.append(size)
        return (len(self.sizes) - 1,)

    def image(self, key: Any, size: int, of: Axis | None, divided: bool = False) -> Axis:
        """The atom for an index that is computed from others; the same key gives the same atom."""
        if size == 1:
            return ()
        found = self._known.get(key)
        if found is None:
            (found,) = self.new(size)
            self._known[key] = found
            self.images[found] = of
            below = max((self.depths.get(a, 0) for a in of or ()), default=0)
            self.depths[found] = below + divided
        return (found,)

    def whole(self, axis: Axis) -> Axis:
        """The axis in atoms that are not split."""
        if not any(a in self._parts for a in axis):
            return axis
        return tuple(p for a in axis for p in self.whole(self._parts.get(a, (a,)))) if axis else ()

    def settled(self, index: Index) -> Index:
        """The index in atoms that are not split."""
        return tuple([self.whole(axis) for axis in index])

    def count(self, atoms: Any) -> int:
        """How many index points these atoms have."""
        return prod(self.sizes[a] for a in atoms)

    def roots(self, index: Index) -> set[int] | None:
        """The counters that the index depends on; None if it reads places more than once."""
        found: set[int] = set()
        for atom in (a for axis in self.settled(index) for a in axis):
            if atom not in self.images:
                found.add(atom)
                continue
            of = self.images[atom]
            below = None if of is None else self.roots((of,))
            if below is None:
                return None
            found |= below
        return found

    def tangled(self, index: Index) -> bool:
        """Whether so many divisions are inside one another that memory is better."""
        return any(self.depths.get(a, 0) > _DEEPEST for axis in index for a in axis)

    def split(self, atom: int, outer: int) -> Axis | None:
        """The atom as (outer, inner); None if it does not divide or is an image."""
        size = self.sizes[atom]
        if size % outer or atom in self.images:
            return None
        parts = (*self.new(outer), *self.new(size // outer))
        self._parts[atom] = parts
        return parts

    # ---- views

    def reshaped(self, node: UOp, index: Index) -> Index:
        """Through RESHAPE: the atoms in order, dealt out to the other axes."""
        flat = [a for axis in self.settled(index) for a in axis][::-1]
        result: list[Axis] = []
        for extent in node.src[0].shape:
            axis = self._taken(flat, extent)
            if axis is None:
                return self._images(node, index)
            result.append(axis)
        return tuple(result)

    def _taken(self, flat: list[int], extent: int) -> Axis | None:
        """The leading atoms that make up this extent, taken off the (reversed) list."""
        taken: list[int] = []
        size = 1
        while size < extent:
            if not flat:
                return None
            atom = flat.pop()
            if extent % size:
                return None
            if size * self.sizes[atom] > extent:
                parts = self.split(atom, extent // size)
                if parts is None:
                    return None
                atom = parts[0]
                flat.extend(parts[:0:-1])
            taken.append(atom)
            size *= self.sizes[atom]
        return tuple(taken) if size == extent else None

    def _images(self, node: UOp, index: Index) -> Index:
        of = tuple(a for axis in index for a in axis)
        shape = node.src[0].shape
        return tuple([self.image((node, i, of), n, of, True) for i, n in enumerate(shape)])

    def _moved(self, node: UOp, index: Index) -> Index:
        """FLIP, SHRINK, PAD: an axis that changes follows an image of itself."""
        x = node.src[0]
        return tuple(
            axis if not _changes(node, d) else self.image((node, d, axis), x.shape[d], axis)
            for d, axis in enumerate(index)
        )

    def _windowed(self, node: UOp, index: Index) -> Index:
        x, base = node.src[0], len(node.src[0].shape)
        result = list(index[:base])
        for i, axis in enumerate(node.arg.axis):
            key = (node, axis, index[axis], index[base + i])
            result[axis] = self.image(key, x.shape[axis], None)
        return tuple(result)

    def through(self, node: UOp, index: Index) -> list[tuple[UOp, Index]]:
        """The operands of a view, each with the index at which it is read."""
        name, x = node.op.name, node.src[0]
        if name == "reshape":
            return [(x, self.reshaped(node, index))]
        if name == "permute":
            back = dict(zip(node.arg.order, index, strict=True))
            return [(x, tuple(back[a] for a in range(len(index))))]
        if name == "expand":
            lead = len(node.shape) - len(x.shape)
            return [(x, tuple(() if n == 1 else index[lead + i] for i, n in enumerate(x.shape)))]
        if name == "window":
            return [(x, self._windowed(node, index))]
        if name == "cat":
            return [(s, self._joined(node, s, i, index)) for i, s in enumerate(node.src) if s.size]
        if name == "wait":
            return [(x, index)]
        return [(x, self._moved(node, index))]

    def _joined(self, node: UOp, source: UOp, number: int, index: Index) -> Index:
        axis = node.arg.axis
        image = self.image((node, number, index[axis]), source.shape[axis], index[axis])
        return (*index[:axis], image, *index[axis + 1 :])

    # ---- reductions: the operands, with new atoms for what is summed

    def reduced(self, node: UOp, index: Index) -> tuple[list[tuple[UOp, Index]], Index]:
        """The operands of a reduction with their indices, and the axes it loops over."""
        name = node.op.name
        if name == "contract":
            return self._contracted(node, index)
        if name == "fold":
            return self._folded(node, index)
        x, (dims, keepdim) = node.src[0], node.arg
        kept = iter(index)
        result: list[Axis] = []
        loops: list[Axis] = []
        for d, extent in enumerate(x.shape):
            if d not in dims:
                result.append(next(kept))
                continue
            if keepdim:
                next(kept)
            loops.append(self.new(extent))
            result.append(loops[-1])
        return [(x, tuple(result))], tuple(loops)

    def _contracted(self, node: UOp, index: Index) -> tuple[list[tuple[UOp, Index]], Index]:
        spec = axes.parse(node.arg.spec)
        sizes = dict(zip(spec.lhs, node.src[0].shape, strict=True))
        place = dict(zip(spec.out, index, strict=True))
        loops = tuple(self.new(sizes[c]) for c in spec.summed)
        place |= dict(zip(spec.summed, loops, strict=True))
        pairs = zip(node.src, spec.terms, strict=True)
        return [(s, tuple(place[c] for c in term)) for s, term in pairs], loops

    def _folded(self, node: UOp, index: Index) -> tuple[list[tuple[UOp, Index]], Index]:
        x, arg = node.src[0], node.arg
        loops = tuple(self.new(n) for n in arg.size)
        result = list(index)
        for d, offset in zip(arg.axis, loops, strict=True):
            result[d] = self.image((node, d, index[d], offset), x.shape[d], None)
        return [(x, (*result, *loops))], loops


def _changes(node: UOp, axis: int) -> bool:
    if node.op.name == "flip":
        return axis in node.arg.axis
    if node.op.name == "shrink":
        start, stop, step = (field[axis] for field in node.arg)
        return (start, stop, step) != (0, node.src[0].shape[axis], 1)
    before, after, interior = (field[axis] for field in node.arg[:3])
    return (before, after, interior) != (0, 0, 0)
