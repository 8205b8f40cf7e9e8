"""A contraction as a constant, an elementwise product, or a product of matrices.

Before: contract(a, b, "bqhd,bkhd->bhqk").
After: views of a and b as (batch, row, column), their product, and a view of that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from adjoint.ir import axes
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.exactness import products_are_steady
from adjoint.ir.opdef import OPS, OpDef
from adjoint.ir.sizes import cached, is_one, varies
from adjoint.ir.uop import UOp, make_node
from adjoint.ops.movement import reshape
from adjoint.schedule.layout import inner_axis
from adjoint.schedule.strategy import is_matrix_product
from adjoint.target import Limits, Target

Shape = tuple[int, ...]
LEAST = Limits().batched_elements


def sum_of_nothing(node: UOp) -> UOp | None:
    """a contraction over an axis without elements = 0"""
    empty = 0 in node.src[0].shape or 0 in node.src[1].shape
    if not empty or not node.size:
        return None
    found: UOp = OPS["const"](0, node.dtype, node.shape, node.device)
    return found


def sum_of_one(node: UOp) -> UOp | None:
    """a contraction over axes of one element = a product"""
    alone = node.size and _is_of_one(node.arg.spec, node.src[0].shape)
    return _products(node, axes.parse(node.arg.spec)) if alone else None


def sum_of_products(node: UOp, down: bool) -> UOp | None:
    """a contraction of a matrix and a vector = the sum of their products, in the one tree; `down`:
    the sum of columns, if elements are adjacent along the last axis of the result"""
    if not node.size or not is_matrix_product(node) or not _has_vector(node):
        return None
    spec = axes.parse(node.arg.spec)
    last = spec.out[-1:] if down and _inner_letter(node, spec) == spec.out[-1:] else ""
    order = spec.out.removesuffix(last) + spec.summed + last
    x, y = (x.cast(_summed_dtype(node)) for x in _spread(node, spec, order))
    found = (x * y).sum([order.index(c) for c in spec.summed])
    return found.cast(node.dtype)


def _inner_letter(node: UOp, spec: axes.Letters) -> str:
    """The letter along which elements of the larger operand are adjacent in memory."""
    matrix = int(node.src[1].size > node.src[0].size)
    inner = inner_axis(node.src[matrix])
    return "" if inner is None else spec.terms[matrix][inner]


def teams_add_up(node: UOp, target: Target) -> bool:
    """Whether teams of the target compute a product faster than a library, which fills its tiles
    with one row: each number of the matrix is read once, along its rows in memory. Of a batch, in
    any order: the library has a tile or two for each matrix, and wants them all in one dtype.
    """
    teams = target.team is not None and not products_are_steady()
    if not teams or not is_matrix_product(node) or not _has_vector(node):
        return False
    spec = axes.parse(node.arg.spec)
    shared = [
        n for c, n in zip(spec.out, node.shape, strict=True) if c in spec.lhs and c in spec.rhs
    ]
    if not all(map(is_one, shared)):
        return True
    return _inner_letter(node, spec) in (*spec.summed,)


def _summed_dtype(node: UOp) -> DType:
    """The dtype of its products and sums: those of 16-bit floats are float32, rounded once."""
    return dtypes.float32 if node.dtype.itemsize == 2 else node.dtype


def _has_vector(node: UOp) -> bool:
    """Whether one operand has no letter of its own: each element of the other is read once."""
    spec = axes.parse(node.arg.spec)
    return not all(
        any(c not in other and not is_one(n) for c, n in zip(term, x.shape, strict=True))
        for x, term, other in zip(node.src, spec.terms, spec.terms[::-1], strict=True)
    )


def matrices(
    node: UOp,
    repeats: bool = False,
    least: int = LEAST,
    changed: Callable[[UOp], UOp] | None = None,
    narrow: int = 0,
) -> UOp | None:
    """a contraction = a product of matrices between views; `repeats`: tiles read an operand again
    for letters of the batch that it lacks; `least`: elements of one that is worth a call;
    `changed`: what becomes of the product; `narrow`: fewer columns than that are rows, if there are
    more of those"""
    if not node.size or not is_matrix_product(node):
        return None

    def product(a: UOp, b: UOp, spec: str) -> UOp:
        made = a.contract(b, spec)
        return made if changed is None else changed(made)

    a, b = node.src
    return as_matrices(node.arg.spec, (a, b), product, repeats, least, narrow)


def as_matrices(
    spec: str,
    operands: tuple[UOp, UOp],
    product: Callable[[UOp, UOp, str], UOp],
    repeats: bool = True,
    least: int = LEAST,
    narrow: int = 0,
) -> UOp:
    """What `product` makes of matrices, between views that make it a contraction."""
    a, b = operands
    form = _matrix_form(spec, a.shape, b.shape, repeats, least, narrow)
    lhs, rhs = (b, a) if form.swapped else (a, b)
    found = product(_viewed(lhs, form.lhs), _viewed(rhs, form.rhs), "bmk,bkn->bmn")
    return _viewed(found, form.result)


def lies_in_order(spec: str, left: Shape, right: Shape, least: int) -> bool:
    """Whether a matrix product is written in the order of its result."""
    form = _matrix_form(spec, left, right, False, least)
    return all(op is reshape for op, _, _ in form.result)


def column_count(spec: str, left: Shape, right: Shape, least: int) -> int:
    """The number of elements of the result in a row of the product."""
    form = _matrix_form(spec, left, right, False, least)
    shape = right if not form.swapped else left
    return int((form.rhs[-1][2] if form.rhs else shape)[-1])


def is_swapped(spec: str, left: Shape, right: Shape) -> bool:
    """Whether the second operand gives the rows, where an operand may be read again."""
    return _matrix_form(spec, left, right, True, LEAST).swapped


@cached(4096)
def _is_of_one(text: str, left: Shape) -> bool:
    """Whether every axis that is summed has one element."""
    spec = axes.parse(text)
    return all(is_one(n) for c, n in zip(spec.lhs, left, strict=True) if c in spec.summed)


def _products(node: UOp, spec: axes.Letters) -> UOp:
    """Nothing to sum: the operands broadcast to the result and multiplied."""
    left, right = _spread(node, spec, spec.out)
    product = left * right
    return product + 0.0 if node.dtype.is_float else product  # a sum starts from 0: no -0.0


def _spread(node: UOp, spec: axes.Letters, letters: str) -> list[UOp]:
    """The operands over these letters; others are of one element."""
    sizes = {
        c: n
        for x, t in zip(node.src, spec.terms, strict=True)
        for c, n in zip(t, x.shape, strict=True)
    }
    spread = []
    for x, term in zip(node.src, spec.terms, strict=True):
        order = [term.index(c) for c in letters if c in term]
        order += [i for i, c in enumerate(term) if c not in letters]
        shape = [x.shape[term.index(c)] if c in term else 1 for c in letters]
        spread.append(x.permute(order).reshape(shape).expand([sizes[c] for c in letters]))
    return spread


# ---- products of matrices

Views = tuple[tuple[OpDef, Any, Shape], ...]  # ops with one operand, their attributes and shapes


@dataclass(frozen=True, slots=True, eq=False)
class _MatrixForm:
    """How the operands of a product of matrices, and its result, are seen."""

    swapped: bool  # the second operand gives the rows
    lhs: Views
    rhs: Views
    result: Views


def _viewed(x: UOp, views: Views) -> UOp:
    for op, arg, shape in views:
        x = make_node(op, (x,), arg, shape, x.dtype)
    return x


@cached(4096)
def _matrix_form(
    text: str, left: Shape, right: Shape, repeats: bool, least: int, narrow: int = 0
) -> _MatrixForm:
    """(batch, rows, summed) times (batch, summed, columns), and the result's axes put in order."""
    spec = axes.parse(text)
    sizes = dict(zip(spec.lhs + spec.rhs, left + right, strict=True))
    x, y = (OPS["input"](name, s, dtypes.float32, None) for name, s in (("x", left), ("y", right)))
    first, second, batch, rows, columns = _divided(
        ((x, spec.lhs), (y, spec.rhs)), spec.out, sizes, repeats, least
    )
    m, n = (prod(sizes[c] for c in group) for group in (rows, columns))
    if not varies(m, n) and n < min(narrow, m):
        first, second, rows, columns, m, n = second, first, columns, rows, n, m
    (a, left_term), (b, right_term) = first, second
    summed = _summed_order(spec.summed, left_term, right_term)
    k = prod(sizes[c] for c in summed)
    lhs = _arranged(a, left_term, batch, rows + summed, sizes, (m, k))
    rhs = _arranged(b, right_term, batch, summed + columns, sizes, (k, n))
    product, order = lhs.contract(rhs, "bmk,bkn->bmn"), batch + rows + columns
    found = product.reshape([sizes[c] for c in order]).permute([order.index(c) for c in spec.out])
    return _MatrixForm(a is y, _views(lhs, a), _views(rhs, b), _views(found, product))


def _views(node: UOp, base: UOp) -> Views:
    """The views between a node and the node below them, that first."""
    found = []
    while node is not base:
        found.append((node.op, node.arg, node.shape))
        node = node.src[0]
    return tuple(reversed(found))


Operand = tuple[UOp, str]


def _divided(
    sides: tuple[Operand, Operand], out: str, sizes: dict[str, int], repeats: bool, least: int
) -> tuple[Operand, Operand, str, str, str]:
    """Which operand gives the rows, and the letters of batch, rows and columns.

    If the result ends in rows of one operand and columns of the other, whatever is before them can
    be the batch, and the library writes the result in place; an operand without the letters of the
    batch is reused. Otherwise rows and columns are all letters of one operand, and views follow.
    """
    both = [c for c in out if c in sides[0][1] and c in sides[1][1]]
    for first, second in (sides, sides[::-1]):
        only = [c in second[1] and c not in first[1] for c in out]
        columns = _ending(out, only)
        rest = out[: len(out) - len(columns)]
        rows = _ending(rest, [c in first[1] and c not in second[1] for c in rest])
        batch = rest[: len(rest) - len(rows)]
        large = prod(sizes[c] for c in rows + columns) >= least
        fits = repeats or _has_strides(batch, sides)
        if columns and (list(batch) == both or (rows and large and fits)):
            return first, second, batch, rows, columns
    batch = "".join(both)
    first, second = sides
    rows = "".join(c for c in out if c in first[1] and c not in batch)
    columns = "".join(c for c in out if c in second[1] and c not in batch)
    return first, second, batch, rows, columns


def _has_strides(batch: str, sides: tuple[Operand, Operand]) -> bool:
    """Whether operands have the whole batch or none of it: one that lacks a letter among others
    would be written out over it."""
    return all(set(batch).issubset(term) or set(batch).isdisjoint(term) for _, term in sides)


def _ending(letters: str, wanted: list[bool]) -> str:
    """The longest end of the letters that consists of wanted ones."""
    count = 0
    while count < len(letters) and wanted[len(letters) - 1 - count]:
        count += 1
    return letters[len(letters) - count :]


def _summed_order(summed: str, left: str, right: str) -> str:
    """The order of the summed letters in an operand whose last axes they are, if there is one."""
    for term in (left, right):
        order = "".join(c for c in term if c in summed)
        if term.endswith(order) or term.startswith(order):
            return order
    return "".join(c for c in left if c in summed)


def _arranged(
    x: UOp, letters: str, batch: str, matrix: str, sizes: dict[str, int], shape: tuple[int, int]
) -> UOp:
    """An operand as (batch, row, column); a letter of the batch that it lacks is repeated."""
    own = [c for c in batch if c in letters]
    order = [letters.index(c) for c in (*own, *matrix)]
    lead = [sizes[c] if c in letters else 1 for c in batch]
    full = [sizes[c] for c in batch]
    parts = x.permute(order).reshape(*lead, *(sizes[c] for c in matrix))
    return parts.expand(*full, *(sizes[c] for c in matrix)).reshape(prod(full), *shape)
