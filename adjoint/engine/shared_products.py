"""Products of slices of one operand with another become slices of one product.

Before: contract(x[0], w), contract(x[1], w), …, the steps of an unrolled recurrence, each of which
packs w, and is a kernel of its own.
After: y = contract(x, w), of which y[0], y[1], … are read.

Only where tiles compute both, so no bit changes, and for few rows, where packing costs more than an
epilogue in registers saves.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from adjoint.engine.loop_rows import is_in_tiles
from adjoint.engine.summed_products import slice_of
from adjoint.ir import axes
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp, substitute, toposort
from adjoint.ir.values import is_known
from adjoint.ops.contract import contract
from adjoint.target import Target

_FEW = 128  # rows of a product, for which packing its columns is a good part of the work
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
Members = dict[UOp, int]  # products, and which slice each is of


def share_products(roots: Sequence[UOp], target: Target) -> list[UOp]:
    """The roots over such products."""
    if target.tile is None:
        return list(roots)
    groups: dict[Any, Members] = {}
    for node in toposort(roots, stop=is_known):
        if node.op is contract and not is_known(node):
            for which in (0, 1):
                _note(node, which, groups)
    new: dict[UOp, UOp] = {}
    for (base, which, _, _), members in groups.items():
        found = _whole(base, which, next(iter(members)), members, target)
        if found is not None:
            new |= {node: _slice(found, at, node.shape) for node, at in members.items()}
    return substitute(roots, new) if new else list(roots)


def _note(node: UOp, which: int, groups: dict[Any, Members]) -> None:
    """Put a product to those of other slices of the same operand."""
    found = None if varies(*node.shape) else slice_of(node.src[which])
    if found is not None:
        base, at = found
        key = (base, which, node.src[1 - which], node.arg.spec)
        groups.setdefault(key, {})[node] = at


def _whole(base: UOp, which: int, one: UOp, members: Members, target: Target) -> UOp | None:
    """The product of all slices, if it pays: most of them are needed."""
    count = base.shape[0]
    size = one.size * one.dtype.itemsize * count
    few = len(members) < 2 or 2 * len(set(members.values())) < count
    if varies(count) or few or size > target.limits.kept_bytes:
        return None
    spec = axes.parse(one.arg.spec)
    own, other = spec.terms[which], spec.terms[1 - which]
    rows = prod(n for c, n in zip(spec.out, one.shape, strict=True) if c not in other)
    if rows > _FEW or not is_in_tiles(one, target):
        return None
    new = next(c for c in _LETTERS if c not in own + other)
    terms = [new + own, other][:: -1 if which else 1]
    operands = [base, one.src[1 - which]][:: -1 if which else 1]
    found: UOp = operands[0].contract(operands[1], f"{','.join(terms)}->{new}{spec.out}")
    return found if is_in_tiles(found, target) else None


def _slice(whole: UOp, at: int, shape: tuple[int, ...]) -> UOp:
    bounds = [(at, at + 1), *((0, n) for n in shape)]
    found: UOp = whole.shrink(bounds).reshape(shape)
    return found
