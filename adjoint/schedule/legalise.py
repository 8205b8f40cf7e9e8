"""Rewrites a graph to ops that kernels can compute, before fusion.

Before: argmax(x), contract(a, b, "bqhd,bkhd->bhqk"), sum over an empty axis, detach(x).
After: max, eq and min; a product of matrices between views; a constant; x.

No value changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

from adjoint.errors import BoundsError
from adjoint.ir.dtype import dtypes
from adjoint.ir.exactness import products_are_steady
from adjoint.ir.kernel_kind import Identity, Pointwise, Reduce, View, reduce_of
from adjoint.ir.opdef import OPS
from adjoint.ir.pattern import AnyNode
from adjoint.ir.rewrite import Rule, RuleSet, rewrite_once
from adjoint.ir.sizes import alike, highest, is_one
from adjoint.ir.uop import UOp, rebuild, toposort
from adjoint.kernel.counting import counts_along
from adjoint.kernel.team_columns import LONGEST_COLUMN
from adjoint.ops.indexing import gathered, positions
from adjoint.ops.movement import expand, padded
from adjoint.ops.tree import BLOCK
from adjoint.ops.window import window
from adjoint.schedule import classify
from adjoint.schedule.across import across_rules
from adjoint.schedule.byte_products import bytes_by_library
from adjoint.schedule.channels import channels_last
from adjoint.schedule.collectives import collectives_as_moves
from adjoint.schedule.concatenations import in_levels
from adjoint.schedule.convolutions import convolution_rules
from adjoint.schedule.exact_products import by_floats
from adjoint.schedule.factorisations import factor_rules
from adjoint.schedule.finishes import with_finishes
from adjoint.schedule.folds import in_phases, side_by_side, tap_by_tap, turn_by_turn
from adjoint.schedule.margins import asking
from adjoint.schedule.matrix_form import (
    matrices,
    sum_of_nothing,
    sum_of_one,
    sum_of_products,
    teams_add_up,
)
from adjoint.schedule.narrow_windows import narrow_rules
from adjoint.schedule.one_hot_sums import one_hot_sum
from adjoint.schedule.pictures import pictures_last
from adjoint.schedule.products import has_windows, picture_rules, product_rules
from adjoint.schedule.single_writes import single_write
from adjoint.schedule.strategy import (
    are_many,
    are_worth_tiles,
    has_lines,
    library_takes,
    product_dtype,
    sums_lines,
)
from adjoint.schedule.transforms import transform_rules
from adjoint.schedule.window_bits import packed_windows
from adjoint.schedule.word_products import by_words
from adjoint.target import Target

fired: Counter[str] = Counter()  # how often each rule applied in this process


def prepare(roots: Sequence[UOp], target: Target) -> list[UOp]:
    """The roots over the rewritten graph, for a target."""
    if has_windows(toposort(roots)):
        if target.routines:
            roots = channels_last(rewrite_once(roots, convolution_rules(target), fired))
        roots = rewrite_once(roots, narrow_rules(target), fired)
        if target.tile is not None:
            roots = pictures_last(roots, target)
        if target.team is not None:
            roots = packed_windows(roots)
        roots = rewrite_once(roots, product_rules(target), fired)
        roots = rewrite_once(roots, picture_rules(target), fired)
    if target.carries:
        roots = collectives_as_moves(roots)
    roots = with_finishes(roots, target)
    roots = rewrite_once(roots, legal_rules(target), fired)
    return roots if target.tile is None else rewrite_once(roots, across_rules(target), fired)


def whole_routines(roots: Sequence[UOp], target: Target) -> list[UOp]:
    """The roots over what libraries of the target compute whole, of complex numbers too."""
    if not target.routines:
        return list(roots)
    return rewrite_once(roots, _whole_rules(target), fired)


@cache
def _whole_rules(target: Target) -> RuleSet:
    return transform_rules(target) + factor_rules(target)


def _filled(node: UOp, value: Any) -> UOp:
    return OPS["const"](value, node.dtype, node.shape, node.device)


# ---- reductions

_LONG = 1 << 15  # from so many elements on, cores that share a kernel do few results in blocks
_LONG_COLUMN = 2 * BLOCK  # the same of columns that teams go down, block by block
_LONGEST = 1 << 24  # from this many on, always
_EXACT = 1 << 24  # float32 holds all integers up to here
_FEW = 1 << 12
_HELD = 1 << 16  # elements of a row that a team may hold: both passes over it are one kernel
_COUNTED = 32  # elements that a thread counts
_TEAMS = 1 << 8  # rows, of which teams do more than one each at a time


def _of_nothing(node: UOp) -> UOp | None:
    """a reduction of nothing = its neutral element"""
    empty = _is_plain(node) and node.size and not node.src[0].size
    return _filled(node, reduce_of(node).start(node.dtype)) if empty else None


def _of_one(node: UOp) -> UOp | None:
    """a reduction of one element for each result = these"""
    x = node.src[0]
    if not _is_plain(node) or node.dtype is not x.dtype:
        return None
    if not all(is_one(x.shape[d]) for d in node.arg.axis):
        return None
    same = x.reshape(node.shape)  # but a sum starts from 0: -0.0 becomes 0.0
    return same + 0.0 if reduce_of(node).join == "add" and x.dtype.is_float else same


def _long(node: UOp, target: Target) -> UOp | None:
    x, dims = node.src[0], node.arg.axis
    if not _is_plain(node) or x.dtype.is_complex:
        return None
    count = prod(x.shape[d] for d in dims)
    results = 1 if _are_apart(dims) else _FEW  # else blocks would cross from row to row
    if target.team and dims[-1:] == (len(x.shape) - 1,) and count <= target.team.longest:
        results = min(results, _TEAMS)  # a team is a row's own cores
    columns = target.team is not None and dims[-1:] != (len(x.shape) - 1,)
    fewer, least = (4, _LONG_COLUMN) if columns else (16, _LONG)  # columns of a strip
    long = count >= least and node.size <= results and count >= fewer * node.size
    deep = columns and count > LONGEST_COLUMN and not _are_apart(dims)
    if not (long and target.cores != 1) and not deep and count <= _LONGEST:
        return None
    wide = _wide(node, x)
    found = _in_blocks(node, wide, dims, count, columns or _is_worth_keeping(wide, target))
    return found.cast(node.dtype).reshape(node.shape)


def _is_plain(node: UOp) -> bool:
    """Whether a reduction is over axes, not over windows."""
    return reduce_of(node).index_map is None


def _are_apart(dims: tuple[int, ...]) -> bool:
    """Whether there is an axis between these that is not one of them."""
    return bool(dims) and dims != tuple(range(dims[0], dims[-1] + 1))


def _in_blocks(node: UOp, x: UOp, dims: tuple[int, ...], count: int, fills: bool) -> UOp:
    """Before: sum of 2^20. After: sums of blocks, and their sum, which is how the tree of sums is
    defined (`ops/tree.py`), so no bit changes. The blocks run side by side; `fills`: a shorter last
    one among them, filled up, and not in a kernel of its own."""
    first, last = dims[0], dims[-1]
    if _are_apart(dims):
        kept = [d for d in range(len(x.shape)) if d not in dims]
        x, first, last = x.permute([*kept, *dims]), len(kept), len(x.shape) - 1
    lead, rest = x.shape[:first], x.shape[last + 1 :]
    whole = count - count % BLOCK
    flat = x.reshape(*lead, count, *rest)
    if count > whole and fills:
        whole = count = whole + BLOCK
        flat = _filled_up(flat, first, count, reduce_of(node).start(x.dtype))
    blocks = _part(flat, first, 0, whole).reshape(*lead, whole // BLOCK, BLOCK, *rest)
    sums = node.op(blocks, (first + 1,), False)
    if count > whole:
        sums = sums.cat(node.op(_part(flat, first, whole, count), (first,), True), dim=first)
    return node.op(sums, (first,), False)


def _is_worth_keeping(x: UOp, target: Target) -> bool:
    """Whether two kernels that read it would rather have it in memory, all of it."""
    cost, cheap, stack, seen = 0, target.limits.cheap, [x], set[UOp]()
    while stack and cost <= cheap:
        node = stack.pop()
        if node not in seen and classify.kind_of(node) in (classify.VIEW, classify.POINTWISE):
            seen.add(node)
            cost += classify.weight(node) if classify.kind_of(node) == classify.POINTWISE else 0
            stack += node.src
    return cost > cheap


def _filled_up(x: UOp, axis: int, count: int, neutral: Any) -> UOp:
    """One axis made longer with what changes no sum: one kernel reads the blocks, and the last."""
    missing = [count - n if d == axis else 0 for d, n in enumerate(x.shape)]
    return padded(x, [0] * len(x.shape), missing, value=neutral)


def _part(x: UOp, axis: int, start: int, stop: int) -> UOp:
    """Elements of one axis."""
    if (start, stop) == (0, x.shape[axis]):
        return x
    return x.shrink([(start, stop) if d == axis else (0, n) for d, n in enumerate(x.shape)])


def _wide(node: UOp, x: UOp) -> UOp:
    """Partial sums of narrow floats are kept in float32, as one pass would."""
    narrow = node.dtype in (dtypes.float16, dtypes.bfloat16)
    return x.cast(dtypes.float32) if narrow and reduce_of(node).tree else x


def _count(node: UOp) -> UOp | None:
    """sum(float(b)) of bools = float(sum(int32(b))): any order counts, so none is kept to"""
    x = node.src[0]
    if x.op is not OPS["cast"] or not x.src[0].dtype.is_bool or not node.dtype.is_float:
        return None
    if not _is_plain(node) or highest(prod(x.shape[d] for d in node.arg.axis)) > _EXACT:
        return None
    return node.op(x.src[0].cast(dtypes.int32), *node.arg).cast(node.dtype)


def _arg_extreme(node: UOp, target: Target) -> UOp:
    """argmax(x) = the first position that holds max(x); a NaN is one"""

    def reduced(node: UOp) -> UOp:
        found = _long(node, target) if target.team is not None and count > _HELD else None
        return node if found is None else found

    x, (axis, _) = node.src[0], node.arg
    if axis is None:
        x, axis = x.reshape(max(x.size, 1)), 0
    count = x.shape[axis]
    extreme = reduced(OPS["max" if node.op.name == "argmax" else "min"](x, axis, True))
    hit = x.eq(extreme.expand(x.shape))
    if x.dtype.is_float:
        hit = hit.logical_or(x.isnan())
    place = positions(count, axis, len(x.shape), x.device).expand(x.shape)
    return reduced(hit.where(place, count).min(axis)).cast(node.dtype).reshape(node.shape)


def _narrow_first(node: UOp) -> UOp | None:
    """cast(expand(x)) = expand(cast(x)), of a float that gets narrower: it is rounded once, and if
    it is stored for those that read it repeatedly, it is stored narrow"""
    (made,), views = node.src, list[UOp]()
    while isinstance(made.op.kernel, View) and made.op.kernel.strided and len(made.src) == 1:
        views.append(made)
        (made,) = made.src
    narrower = node.dtype.is_float and node.dtype.itemsize < made.dtype.itemsize
    if not narrower or not made.dtype.is_float or type(made.op.kernel) is not Pointwise:
        return None
    if not any(view.op is expand for view in views):
        return None
    found = made.cast(node.dtype)
    for view in reversed(views):
        found = rebuild(view, (found,))
    return found


# ---- indexing


def _refused(node: UOp) -> UOp | None:
    """an axis without elements has none at any index"""
    x, index = node.src[0], node.src[1]
    empty = [a for a in node.arg.axes if x.shape[a] == 0]
    if empty and index.size:
        operands = [(f"operand {i}", s) for i, s in enumerate(node.src)]
        problem = f"an index is out of range for axis {empty[0]} of size 0"
        raise BoundsError("E6001", problem, op=node.op.name, operands=operands)
    return None


def _picked(node: UOp) -> UOp | None:
    """scatter_add(x, rows, t, u) = where(column == t, x + u, x), rows = 0, 1, 2, …"""
    # One update per row, at a place that an index gives: the gradient of a loss that picks one.
    x, *indices, updates = node.src
    if not updates.size:
        return x
    counting = [counts_along(i) for i in indices]
    free = [n for n, axis in enumerate(counting) if axis is None]
    counted = [axis for axis in counting if axis is not None]
    shape = indices[0].shape
    covers = sorted(counted) == [d for d, n in enumerate(shape) if n > 1]
    if len(free) != 1 or not covers or len(indices) != len(x.shape):
        return None
    order = [a for a, axis in zip(node.arg.axes, counting, strict=True) if axis is not None]
    if any(x.shape[a] != shape[c] for a, c in zip(order, counted, strict=True)):
        return None
    axis = node.arg.axes[free[0]]
    checked = _checked(indices[free[0]], x.shape[axis])
    place, value = (_spread(v, x, counting, node.arg.axes) for v in (checked, updates))
    hit = positions(x.shape[axis], axis, len(x.shape), x.device).expand(x.shape).eq(place)
    return hit.where(x + value, x)


def _spread(value: UOp, x: UOp, counting: list[int | None], dims: tuple[int, ...]) -> UOp:
    """A value per row over all of x."""
    axis_of = {d: a for a, d in zip(dims, counting, strict=True) if d is not None}
    kept = sorted(axis_of, key=axis_of.__getitem__)
    ones = [d for d in range(len(value.shape)) if d not in axis_of]
    sizes = [value.shape[d] for d in kept]
    shape = [1] * len(x.shape)
    for d, n in zip(kept, sizes, strict=True):
        shape[axis_of[d]] = n
    return value.permute([*kept, *ones]).reshape(shape).expand(x.shape)


def _checked(index: UOp, size: int) -> UOp:
    """The index itself, looked up so that one outside is noticed."""
    table = positions(size, 0, 1, index.device)
    return gathered(table, (index,), (0,))


# ---- the rules


def _operand(node: UOp) -> UOp:
    """detach(x) = x"""
    found: UOp = node.src[node.op.kernel.operand]
    return found


def _same(node: UOp) -> UOp | None:
    """a view of all elements in their order, under the same shape = its operand"""
    kernel = node.op.kernel
    plain = isinstance(kernel, View) and kernel.aliases and not kernel.waits
    return node.src[0] if plain and alike(node.shape, node.src[0].shape) else None


_VIEW, _REDUCTION = AnyNode("node", kind=View), AnyNode("node", kind=Reduce)
_CONTRACTION, _IDENTITY = AnyNode("node", ("contract",)), AnyNode("node", kind=Identity)
_RULES = RuleSet(
    (
        Rule("identity", _IDENTITY, _operand, moves=True),
        Rule("same_view", _VIEW, _same),
        Rule("reduction_of_nothing", _REDUCTION, _of_nothing),
        Rule("reduction_of_one", _REDUCTION, _of_one),
        Rule("no_element", AnyNode("node", ("gather", "scatter", "scatter_add")), _refused),
        Rule("picked_elements", AnyNode("node", ("scatter_add",)), _picked),
        Rule("fold_side_by_side", AnyNode("node", ("fold",)), side_by_side),
        Rule("cat_in_levels", AnyNode("node", ("cat",)), in_levels),
    )
)


@cache
def legal_rules(target: Target) -> RuleSet:
    """The rewrites that kernels for a target need, in the order they are tried."""

    def wider(node: UOp) -> UOp | None:
        """contract(a, b) = contract(cast(a), cast(b)), cast back"""
        kind, (a, b) = product_dtype(node, target), node.src
        if not node.size or kind is node.dtype:
            return None
        return settled(a.cast(kind).contract(b.cast(kind), node.arg.spec)).cast(node.dtype)

    def settled(node: UOp) -> UOp:
        """What these rules make of a contraction that they have made."""
        found: UOp | None = rules.apply(node)[0]
        return node if found is None else found

    def words(node: UOp) -> UOp | None:
        """contract(a, b) = contract_words(words(a), words(b)), for an instruction of the target"""
        return by_words(node, target) if node.size and are_worth_tiles(node, target) else None

    def exact(node: UOp) -> UOp | None:
        """contract(a, b) of 8-bit integers = contract(float32(a), float32(b)), cast back"""
        return by_floats(node, settled) if node.size and are_worth_tiles(node, target) else None

    def library_bytes(node: UOp) -> UOp | None:
        """contract(a, b) of 8-bit integers = the library's product of them"""
        return bytes_by_library(node, target) if node.size else None

    def phases(node: UOp) -> UOp | None:
        """fold(x, stride=s) = folds of every s-th tap, in turn, or taps where lanes go across"""
        across = target.tile is not None and len(node.shape) - 1 not in node.arg.axis
        found = turn_by_turn(node) if target.team is not None else None
        if found is None:
            found = tap_by_tap(node) if across else in_phases(node)
        return found

    def long(node: UOp) -> UOp | None:
        """a long reduction = the reduction of those of its blocks"""
        return _long(node, target)

    def in_lines(node: UOp) -> UOp | None:
        """contract(g, window(x)) with few rows = the sum of that along each line of the picture"""
        line = sums_lines(node, target) if node.size else ""
        return node.src[0].contract(node.src[1], node.arg.spec + line).sum(-1) if line else None

    def vector(node: UOp) -> UOp | None:
        """contract(matrix, vector) = sum(matrix * vector), where no library takes them, or teams
        read the matrix once as it lies"""
        many = classify.summed_size(node) > target.limits.loop_products
        taken = many and library_takes(node.dtype, target) and not teams_add_up(node, target)
        if taken or products_are_steady() or any(x.op is window for x in node.src):
            return None
        found = sum_of_products(node, target.team is not None)
        return None if found is None else settled(found)

    def product(node: UOp) -> UOp | None:
        """a contraction = a product of matrices between views, if loops do not add it up"""
        if has_lines(node, target):
            return None
        least = target.limits.batched_elements
        tiled = classify.summed_size(node) > target.limits.loop_products
        narrow = target.limits.narrow_columns if tiled else 0
        if not any(x.op is window for x in node.src) or not are_many(node, target):
            return matrices(node, False, least, narrow=narrow)
        ask = (lambda made: asking(made, node, target)) if target.team is None else None
        return matrices(node, True, least, ask)

    def picked(node: UOp) -> UOp | None:
        """sum(where(positions == t, u, 0)) = where(0 <= t < n, u, 0) + 0, where teams add up"""
        return one_hot_sum(node) if target.team is not None and node.size else None

    def extreme(node: UOp) -> UOp:
        """argmax(x) = the first position that holds max(x); a NaN is one"""
        return _arg_extreme(node, target)

    def count(node: UOp) -> UOp | None:
        """a short sum of bools as floats = a count; a long one if lanes go by the order of sums"""
        few = target.team is None or prod(node.src[0].shape[d] for d in node.arg.axis) <= _COUNTED
        return _count(node) if few else None

    def written(node: UOp) -> UOp | None:
        """scatter(x, i, u) = where(position == i, u, x), for one i, where teams compute"""
        return single_write(node) if target.team is not None else None

    def narrow(node: UOp) -> UOp | None:
        """cast(expand(x)) = expand(cast(x)) of a float that gets narrower, where teams compute"""
        return _narrow_first(node) if target.team is not None else None

    rules = _RULES + RuleSet(
        (
            Rule("arg_extreme", AnyNode("node", ("argmax", "argmin")), extreme),
            Rule("narrow_first", AnyNode("node", ("cast",)), narrow),
            Rule("single_write", AnyNode("node", ("scatter",)), written),
            Rule("sum_of_one_hot", AnyNode("node", ("reduce_sum",)), picked),
            Rule("count", AnyNode("node", ("reduce_sum",)), count),
            Rule("fold_in_phases", AnyNode("node", ("fold",)), phases),
            Rule("reduction_in_blocks", _REDUCTION, long),
            Rule("contraction_of_nothing", _CONTRACTION, sum_of_nothing),
            Rule("contraction_of_words", _CONTRACTION, words),
            Rule("wider_contraction", _CONTRACTION, wider),
            Rule("contraction_of_bytes", _CONTRACTION, library_bytes),
            Rule("exact_contraction", _CONTRACTION, exact),
            Rule("contraction_of_one", _CONTRACTION, sum_of_one),
            Rule("contraction_in_lines", _CONTRACTION, in_lines),
            Rule("product_with_vector", _CONTRACTION, vector),
            Rule("product_of_matrices", _CONTRACTION, product),
        )
    )
    return rules
