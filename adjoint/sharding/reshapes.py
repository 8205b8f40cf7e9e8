"""The effect of a reshape on a sharding, by hand.

A dimension that keeps its extent keeps its axes. Dimensions that are merged or split hold one run
of elements, of which members have equal parts: the slowest dimensions may be split down to single
elements, the next in parts, and those behind it are whole. A run that is split in this way is split
along the same axes in the new shape, if parts end where dimensions do.

Before: [8, 6] over P("a"), reshaped to [48] or to [2, 4, 6] where "a" has 2 members.
After: P("a").

What may live here: the correspondence of dimensions. What may not: any graph.
"""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.ir.mesh import Axes, Mesh

Shape = tuple[int, ...]
Group = tuple[list[int], list[int]]


def groups(old: Shape, new: Shape) -> list[Group]:
    """Dimensions of both shapes that hold the same elements; those of size 1 are in none."""
    found: list[Group] = []
    before = [d for d, n in enumerate(old) if n != 1]
    after = [d for d, n in enumerate(new) if n != 1]
    i = j = 0
    while i < len(before) and j < len(after):
        one, other = [before[i]], [after[j]]
        a, b = old[before[i]], new[after[j]]
        i, j = i + 1, j + 1
        while a != b:
            if a < b:
                one.append(before[i])
                a, i = a * old[before[i]], i + 1
            else:
                other.append(after[j])
                b, j = b * new[after[j]], j + 1
        found.append((one, other))
    return found


def reshaped_dims(
    mesh: Mesh, old: Shape, new: Shape, dims: Sequence[Axes]
) -> tuple[list[Axes], list[Axes]]:
    """The axes that dimensions of the old shape can keep, and those of the new one then."""
    kept: list[Axes] = [()] * len(old)
    found: list[Axes] = [()] * len(new)
    if 0 in old:
        return kept, found
    for one, other in groups(old, new):
        own = [dims[d] if d < len(dims) else () for d in one]
        if len(one) == len(other) == 1:
            kept[one[0]] = found[other[0]] = own[0]
            continue
        run = _run(mesh, [old[d] for d in one], own)
        while run:
            before = _spread(mesh, [old[d] for d in one], run)
            after = _spread(mesh, [new[d] for d in other], run)
            if before is not None and after is not None:
                _put(kept, one, before)
                _put(found, other, after)
                break
            run = run[:-1]
    return kept, found


def _put(dims: list[Axes], places: list[int], axes: list[Axes]) -> None:
    for place, own in zip(places, axes, strict=True):
        dims[place] = own


def _run(mesh: Mesh, extents: list[int], dims: list[Axes]) -> Axes:
    """The axes along which a run of dimensions is split as a whole: behind one that is not split
    down to single elements no other may be."""
    run: Axes = ()
    for extent, axes in zip(extents, dims, strict=True):
        run += axes
        if mesh.extent(axes) != extent:
            break
    return run


def _spread(mesh: Mesh, extents: list[int], run: Axes) -> list[Axes] | None:
    """The axes of each dimension for a run that is split along these; None if parts do not end
    where dimensions do."""
    found: list[Axes] = []
    rest = run
    for extent in extents:
        own: Axes = ()
        while rest and extent % mesh.extent((*own, rest[0])) == 0:
            own, rest = (*own, rest[0]), rest[1:]
        found.append(own)
        if mesh.extent(own) != extent:
            break
    if rest:
        return None
    return found + [()] * (len(extents) - len(found))
