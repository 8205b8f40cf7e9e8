"""How every step is computed: one table.

Rows are tried from the top, with a node and the target; the first that applies gives the strategy,
and its reason is kept for `explain()`. `fuse.py` asks for contractions before it groups nodes; the
pass `strategy` asks for every group.

Before: [kernel: reduce_sum], [library: contract].
After: the same, each with its row: loops, because an element needs no other; matrix product, …
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Protocol

from adjoint.ir import axes
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.exactness import products_are_steady
from adjoint.ir.uop import UOp
from adjoint.ops.collective import COLLECTIVES
from adjoint.ops.finished import finished_product
from adjoint.ops.window import window
from adjoint.ops.words import contract_words
from adjoint.schedule.classify import (
    CONTROL,
    HOST,
    LEAF,
    LIBRARY,
    REDUCE,
    ROUTINE,
    SORT,
    SPECIAL,
    WHOLE,
    kind_of,
    product_count,
    summed_size,
)
from adjoint.schedule.layout import sorts
from adjoint.stages import Strategy
from adjoint.target import MatrixUnit, Target, Tile

LOOPS, TILES, PANELS = "loops", "tiles", "panels"


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A strategy: its name, its condition, what it uses, and the reason."""

    name: str
    when: Callable[[UOp, Target], bool]
    use: str  # LOOPS, TILES, PANELS, LIBRARY, ROUTINE, WHOLE, SPECIAL (an algorithm), SORT, …
    why: str


def _is(kind: str) -> Callable[[UOp, Target], bool]:
    return lambda node, target: kind_of(node) == kind


def _is_of_words(node: UOp, target: Target) -> bool:
    return node.op is contract_words


def _has_no_library(node: UOp, target: Target) -> bool:
    return _is(LIBRARY)(node, target) and not library_takes(node.dtype, target)


def _is_short_product(node: UOp, target: Target) -> bool:
    if kind_of(node) != LIBRARY:
        return False
    few = not products_are_steady() and summed_size(node) <= target.limits.loop_products
    return prod(node.shape) == 0 or few


def _is_of_lines(node: UOp, target: Target) -> bool:
    return kind_of(node) == LIBRARY and has_lines(node, target)


def is_tiled(node: UOp, target: Target) -> bool:
    """Whether a product of matrices is computed in tiles: all are, but those with vectors."""
    tile = target.tile
    if tile is None or kind_of(node) != LIBRARY or node.dtype.name not in tile.dtypes:
        return False
    return len(node.shape) == 3 and not library_takes(node.dtype, target)


def are_many(node: UOp, target: Target) -> bool:
    """Whether a contraction adds up so many products that tiles may compute it."""
    tile = target.tile
    if tile is None or node.dtype.name not in tile.dtypes:
        return False
    return products_are_steady() or product_count(node) >= target.limits.tiled_products


def are_worth_tiles(node: UOp, target: Target) -> bool:
    """Whether there are so many multiplications that tiles of another dtype would be faster."""
    tile = target.tile
    return tile is not None and product_count(node) >= target.limits.tiled_products


def _is_of_host(node: UOp, target: Target) -> bool:
    constant = kind_of(node) == LEAF and not isinstance(node.dtype, tuple)
    return kind_of(node) == HOST or (constant and node.dtype.is_complex)


def _is_collective(node: UOp, target: Target) -> bool:
    return node.op in COLLECTIVES


def _is_finished(node: UOp, target: Target) -> bool:
    return node.op is finished_product


PLAIN_PRODUCT = Row(
    "matrix product", _is(LIBRARY), LIBRARY, "the library keeps blocks of matrices in cache"
)
_FINISHED = Row(
    "finished product", _is_finished, LIBRARY, "the library does the rest before it writes"
)
_UNIT = Row("matrix unit", _is_of_words, TILES, "an instruction adds up several products at once")
_PANEL = Row("panel of rows", lambda n, t: False, PANELS, "rows between products stay in scratch")
ROWS = (
    Row("control flow", _is(CONTROL), CONTROL, "its functions are schedules of their own"),
    _FINISHED,
    Row("sort", lambda n, t: sorts(n) is not None, SORT, "values in the order of their argsort"),
    Row("routine", _is(ROUTINE), ROUTINE, "a library of the target computes the whole of it"),
    Row("algorithm", _is(SPECIAL), SPECIAL, "elements depend on one another"),
    Row("attention", _is(WHOLE), WHOLE, "scores stay in registers, and tensor cores make them"),
    _UNIT,
    Row("short product", _is_short_product, LOOPS, "loops add up so few products sooner"),
    Row("windows", _is_of_lines, LOOPS, "so few rows meet windows that these are not written"),
    _PANEL,  # of several nodes: `strategy_of`
    Row("tiles", is_tiled, TILES, "its sums stay in registers, a panel of columns in cache"),
    Row("plain product", _has_no_library, LOOPS, "no library of the target takes the dtype"),
    PLAIN_PRODUCT,
    Row("collective", _is_collective, HOST, "members of the mesh meet there"),
    Row("host", _is_of_host, HOST, "no kernel computes it, NumPy does"),
    Row("loops", lambda n, t: True, LOOPS, "an element is computed where it is needed"),
)


class ProductTuner(Protocol):
    """What knows more of products than the table: their times (`engine/tuning.py`)."""

    mode: str

    @property
    def measuring(self) -> bool:
        """Whether a product is being made one way, here and now."""

    def row(self, node: UOp, target: Target, row: Row) -> Row:
        """The row for a product, where the table says this one."""

    def tile(self, node: UOp, target: Target) -> Tile | None:
        """The tile for a product in tiles."""


tuner: ProductTuner | None = None  # asked, if there is one
_TUNED = (TILES, LIBRARY)


def choose(node: UOp, target: Target) -> Row:
    """The first row that holds for a node, or the one that a tuner has measured."""
    row = next(row for row in ROWS if row.when(node, target))
    return row if tuner is None or row.use not in _TUNED else tuner.row(node, target, row)


def are_tiled(node: UOp, target: Target) -> bool:
    """Whether the table selects tiles for a product, whose order of summation depends on k
    alone.
    """
    return next(row for row in ROWS if row.when(node, target)).use == TILES


def for_tiles(node: UOp, target: Target) -> Target:
    """The target with the tile for a product."""
    return target if tuner is None else replace(target, tile=tuner.tile(node, target))


def step_kind(node: UOp, target: Target) -> str:
    """The kind of step, or part of a kernel, that a node is on the target."""
    kind = kind_of(node)
    return kind if kind != LIBRARY or choose(node, target).use == LIBRARY else REDUCE


def strategy_of(
    nodes: tuple[UOp, ...], reduced: tuple[UOp, ...], target: Target, rows: bool = False
) -> Strategy:
    """The strategy of a step that computes these nodes; a contraction inside it decides. `rows`:
    the step also does row-wise work, not only elements of its result.
    """
    products = [n for n in (*reduced, *nodes) if kind_of(n) == LIBRARY]
    node = products[0] if products else nodes[0]
    row = choose(node, target)
    if row.use == TILES and rows:
        row = _PANEL
    ways = (LOOPS, TILES, LIBRARY)
    others = [
        r.name for r in ROWS if r.use in ways and r not in (row, _UNIT, _FINISHED) and products
    ]
    return Strategy(row.name, row.use, row.why, tuple(others))


# ---- products


def library_takes(dtype: DType, target: Target) -> bool:
    """Whether a library of the target computes products of the dtype."""
    return any(dtype.name in library.dtypes for library in target.libraries)


def product_dtype(node: UOp, target: Target) -> DType:
    """The dtype in which a contraction multiplies its operands.

    16-bit floats are multiplied and added in float32 and rounded once. A library or a matrix unit
    of the target that supports the narrow dtype does that itself; otherwise the operands are cast
    to float32 first.
    """
    if node.dtype not in (dtypes.float16, dtypes.bfloat16):
        return node.dtype
    takes = library_takes(node.dtype, target) or unit_takes(node.dtype, target)
    return node.dtype if takes else dtypes.float32


def unit_takes(dtype: DType, target: Target) -> bool:
    """Whether a matrix unit multiplies numbers of the dtype, and adds up in float32 or better."""
    return any(_takes_alone(u, dtype) for u in target.matrix_units)


def _takes_alone(unit: MatrixUnit, dtype: DType) -> bool:
    return unit.packed == 1 and unit.dtype == dtype.name and unit.sums != dtype.name


def has_lines(node: UOp, target: Target) -> bool:
    """Whether so few rows meet windows that loops read the windows in place, and the result has the
    lines of the picture: a convolution, whose taps are added one after another.
    """
    return any(line in axes.parse(node.arg.spec).out for line in _lines(node, target))


def sums_lines(node: UOp, target: Target) -> str:
    """The letter along the lines of a picture, if windows meet few rows and these are summed."""
    summed = axes.parse(node.arg.spec).summed
    return next((line for line in _lines(node, target) if line in summed), "")


def _lines(node: UOp, target: Target) -> Iterator[str]:
    """The letter along the lines of each operand that is windows, if few rows multiply them."""
    if not node.dtype.is_float or window not in (node.src[0].op, node.src[1].op):
        return
    spec = axes.parse(node.arg.spec)
    for which in (0, 1):
        windows, other = node.src[which], node.src[1 - which]
        term, letters = spec.terms[which], spec.terms[1 - which]
        pairs = zip(letters, other.shape, strict=True)
        rows = prod(n for c, n in pairs if c in spec.out and c not in term)
        if windows.op is window and rows < target.limits.windowed_rows:
            yield term[max(windows.arg.axis)]


def is_matrix_product(node: UOp) -> bool:
    """Whether a contraction is written as a product of matrices between views: floats are, so that
    a library can take them; integers are summed where they are needed."""
    return bool(node.dtype.is_float)
