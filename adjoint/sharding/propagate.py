"""Propagation: the sharding of every value of a graph, from the letters of the records.

Before: contract(x, w, "mk,kn->mn") with x split along k over "tp", and so w.
After: the result is whole, its sum over "tp" pending; x and w stay as they are.

If operands disagree, the largest keeps its sharding. What may live here: from the shardings of
operands to that of the result. What may not: collectives (`convert.py`), or nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from adjoint.ir.axes import Letters, letters
from adjoint.ir.kernel_kind import CONSTANT, PARAMETER, Host, Library, Reduce, kernel_of
from adjoint.ir.mesh import Axes, Mesh, Pending, Sharding
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.ir.values import is_known, storage
from adjoint.ops.collective import send_rows
from adjoint.sharding.along import Along, dims_along, is_short, laid_along
from adjoint.sharding.indexing import indexed_axes
from adjoint.sharding.joins import has_order
from adjoint.sharding.linear import (
    EACH,
    FIRST,
    NONE,
    TOGETHER,
    is_exact,
    is_zero,
    keeps,
    linear_in,
)
from adjoint.sharding.owners import Owned, owned_axis, owner_result, with_axis
from adjoint.sharding.reshapes import reshaped_dims

_KINDS = {
    "add": "sum",
    "mul": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_or": "max",
    "logical_and": "min",
}
_SHARD, _RESHAPE, _COPY, _EXPAND = (OPS[n] for n in ("shard", "reshape", "copy", "expand"))
_INDEXING = {OPS[name] for name in ("gather", "scatter_add", "scatter")}


@dataclass(frozen=True, slots=True)
class Plan:
    """The shardings that the operands of a node need, and the sharding of the result."""

    operands: tuple[Sharding, ...]
    result: Sharding
    along: tuple[Along, ...] = ()  # dimensions that it works along, split all the same
    owned: Owned | None = None  # an indexed axis whose rows members have


def leaf_sharding(node: UOp, mesh: Mesh) -> Sharding:
    """The sharding of a known value, or of an input."""
    place = storage(node).device if is_known(node) else node.device
    whole = Sharding(mesh)
    if not isinstance(place, Sharding) or place.mesh != mesh:
        return whole
    return place if len(place.dims) <= len(node.shape) else whole


def is_leaf(node: UOp) -> bool:
    """Whether the node needs no computation."""
    return is_known(node) or node.op.kernel in (CONSTANT, PARAMETER) or not node.src


def asked_layout(node: UOp, given: Sharding) -> Sharding:
    """What a SHARD asks for: of batches, what it says of an example, and they stay as they are."""
    asked: Sharding = node.arg.sharding
    if not node.arg.free:
        return asked
    own = [[a for a in given.axes(d) if a not in asked.used] for d in range(node.arg.free)]
    dims = (*own, *asked.dims[node.arg.free :])
    return Sharding(asked.mesh, dims, (), asked.stage, asked.turns)


def letters_of(node: UOp) -> Letters | None:
    """The letters of a node; None where none say anything: all of its operands are needed."""
    if type(node.dtype) is tuple or any(type(s.dtype) is tuple for s in node.src):
        return None
    if node.op in _INDEXING:
        return indexed_axes(node)
    if node.op is send_rows:
        term = "." + letters(len(node.shape))[1:]
        return Letters((term,), term)
    return None if node.op.axes is None else node.op.axes(node)


def planned(
    node: UOp, given: Sequence[Sharding], mesh: Mesh, order: str, apart: Sequence[bool]
) -> Plan:
    """The plan for a node with these shardings of operands; `apart`: those whose pieces are
    available.
    """
    if node.op is _SHARD:
        asked = asked_layout(node, given[0])
        return Plan((asked,), asked)
    if node.op is _COPY:
        return Plan((given[0],), given[0])
    if node.op is _RESHAPE:
        return _reshaped(node, given[0], mesh, order)
    if node.op is send_rows and _is_a_row_each(node, given[0]):
        own = given[0].resolved()
        return Plan((own,), own)
    terms = letters_of(node)
    if terms is None:
        return whole_plan(node, mesh)
    return _with_neighbours(node, _by_letters(node, terms, given, mesh, order, apart), given, mesh)


def _with_neighbours(node: UOp, plan: Plan, given: Sequence[Sharding], mesh: Mesh) -> Plan:
    """The same without a gather, if members can work along split dimensions."""
    owned = owned_axis(node, given, plan.operands, plan.result, mesh)
    if owned is not None:
        first = with_axis(plan.operands[0], owned)
        return Plan(
            (first, *plan.operands[1:]), owner_result(node, plan.result, owned), owned=owned
        )
    along = dims_along(node, given, plan.operands, plan.result, mesh)
    if not along or any(o.pending for o in plan.operands):
        return plan
    kept = [dim for dim in along if not is_short(dim)]
    operands = tuple(laid_along(o, along) for o in plan.operands)
    return Plan(operands, laid_along(plan.result, kept), along)


def whole_plan(node: UOp, mesh: Mesh) -> Plan:
    """Every member has all operands, and computes all of the result."""
    whole = Sharding(mesh)
    return Plan((whole,) * len(node.src), whole)


def _reshaped(node: UOp, x: Sharding, mesh: Mesh, order: str) -> Plan:
    kept, found = reshaped_dims(mesh, node.src[0].shape, node.shape, x.dims)
    pending = [pair for pair in x.pending if keeps(node, pair[1], order, node.size, False)]
    return Plan((Sharding(mesh, kept, pending),), Sharding(mesh, found, pending))


def _is_a_row_each(node: UOp, x: Sharding) -> bool:
    return bool(x.axes(0)) and x.parts(0) == node.shape[0]


# ---- letters

Assigned = dict[str, Axes]


def _by_letters(
    node: UOp,
    terms: Letters,
    given: Sequence[Sharding],
    mesh: Mesh,
    order: str,
    apart: Sequence[bool],
) -> Plan:
    pending = _kept_pending(node, given, order, apart)
    plan = _split(node, terms, given, mesh, order, pending)
    rounds = pending and order == "fixed" and not is_exact(node)
    if rounds and not all(map(is_cut, given, plan.operands)):
        plan = _split(node, terms, given, mesh, order, ())
    return plan


def _split(
    node: UOp,
    terms: Letters,
    given: Sequence[Sharding],
    mesh: Mesh,
    order: str,
    pending: Pending,
) -> Plan:
    assigned = _assigned(node, terms, given, {axis for axis, _ in pending}, mesh)
    summed = [c for c in terms.summed if c in assigned]
    if len(summed) > 1 and order == "fixed" and has_order(node):
        for letter in summed[1:]:
            del assigned[letter]
        summed = summed[:1]
    if summed and pending and order == "fixed":
        pending = ()
    return plan_of(node, terms, assigned, pending, given, mesh)


def is_cut(old: Sharding, new: Sharding) -> bool:
    """Whether a pending value is at most split, so that each piece of it can be split for free."""
    if not new.pending or old.dims == new.dims:
        return True
    return not old.dims


def plan_of(
    node: UOp,
    terms: Letters,
    assigned: Assigned,
    pending: Pending,
    given: Sequence[Sharding],
    mesh: Mesh,
) -> Plan:
    """The plan in which letters are split along the axes assigned to them."""
    how = linear_in(node) if pending else NONE
    operands = []
    for number, term in enumerate(terms.terms):
        own = given[number].pending if _carries(how, number) else ()
        kept = [pair for pair in own if pair in pending]
        operands.append(Sharding(mesh, [assigned.get(c, ()) for c in term], kept))
    joined = [(axis, _kind(node)) for c in terms.summed for axis in assigned.get(c, ())]
    result = Sharding(mesh, [assigned.get(c, ()) for c in terms.out], (*pending, *joined))
    return Plan(tuple(operands), result)


def _kind(node: UOp) -> str:
    """How what members have of a sum is joined."""
    kernel = node.op.kernel
    if type(kernel) is Library:
        kernel = kernel.loops
    join = kernel.join if type(kernel) is Reduce else "add"
    if join == "add" and node.dtype.is_bool:
        return "max"
    return _KINDS[join]


def _carries(how: str, number: int) -> bool:
    return how in (TOGETHER, EACH) or (how == FIRST and number == 0)


def _kept_pending(
    node: UOp, given: Sequence[Sharding], order: str, apart: Sequence[bool]
) -> Pending:
    """What stays pending in the result: each operand has it, or the only one that may."""
    how = linear_in(node)
    if how == NONE or not any(g.pending for g in given):
        return ()
    able = [number for number in range(len(given)) if _carries(how, number)]
    found = []
    for pair in dict.fromkeys(p for n in able for p in given[n].pending):
        axis = pair[0]
        holders = [n for n in able if pair in given[n].pending]
        others = [n for n in range(len(given)) if n not in holders]
        if any(axis == a for n in others for a, _ in given[n].pending):
            continue
        if how == TOGETHER and not all(n in holders or is_zero(node.src[n]) for n in able):
            continue
        if how == EACH and len(holders) != 1:
            continue
        size = sum(node.src[n].size for n in holders)
        pieces = all(apart[n] for n in holders)
        if keeps(node, pair[1], order, size, pieces) and _kind_allows(node, pair[1]):
            found.append(pair)
    # axes that are joined in one order here and in another there have other pieces
    orders = {tuple(p for p in given[n].pending if p in found) for n in able} - {()}
    return tuple(found) if order == "fast" or len(orders) == 1 else ()


def _kind_allows(node: UOp, kind: str) -> bool:
    return kind == "sum" or linear_in(node) == FIRST or node.op is OPS["cat"]


def _assigned(
    node: UOp, terms: Letters, given: Sequence[Sharding], taken: set[str], mesh: Mesh
) -> Assigned:
    """Axes for letters: the largest operand keeps its sharding, the others follow where
    possible.
    """
    assigned: Assigned = {}
    used = set(taken)
    sizes = _extents(node, terms)
    weight = [-_bytes_to_move(s) for s in node.src]
    for number in sorted(range(len(given)), key=lambda n: (weight[n], n)):
        for d, letter in enumerate(terms.terms[number]):
            axes = given[number].axes(d)
            if not axes or letter in "1." or letter in assigned or used.intersection(axes):
                continue
            if _can_split(node, sizes[letter], mesh.extent(axes)):
                assigned[letter] = axes
                used.update(axes)
    return assigned


def _bytes_to_move(node: UOp) -> int:
    """The bytes of a value, those of a row that is repeated counted once."""
    while node.op is _EXPAND and not is_known(node):
        (node,) = node.src
    return int(prod(node.shape)) * node.dtype.itemsize


def _extents(node: UOp, terms: Letters) -> dict[str, int]:
    found: dict[str, int] = {}
    for term, source in zip(terms.terms, node.src, strict=True):
        found.update(zip(term, source.shape, strict=True))
    found.update(zip(terms.out, node.shape, strict=True))
    return found


def _can_split(node: UOp, extent: int, parts: int) -> bool:
    """Filled-up parts hold anything: what could refuse that is not given it."""
    kernel = kernel_of(node)
    uneven = extent % parts != 0
    if isinstance(kernel, Host) and node.op.level != "both":
        return not uneven
    return not (uneven and node.op in _INDEXING)
