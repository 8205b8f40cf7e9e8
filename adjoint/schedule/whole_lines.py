"""Matrices are padded so that rows begin at multiples of what a library reads at once.

Before: a product of matrices of 2,666 columns of bfloat16: rows begin anywhere, and the library
uses an algorithm that reads numbers one by one.
After: kernels write such operands with some zeros behind each row (2,672 numbers), the product
makes rows that are as long, and its readers see the first 2,666.

The sums have the same terms. What may live here: operands and results of library products. What may
not: other rewrites of them (`finishes.py`).
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from adjoint.ir.uop import UOp
from adjoint.ops.logic import copied
from adjoint.ops.movement import padded
from adjoint.schedule.layout import base_of, is_of_none, placed
from adjoint.target import Target

_WORTH = 1 << 26  # products of numbers, below which copies of the operands cost more


class Lined(NamedTuple):
    """The operands of a product of matrices, and how many rows and columns its result has."""

    left: UOp
    right: UOp
    rows: int
    columns: int


def step_of(target: Target, itemsize: int) -> int:
    """How many numbers a row should have a multiple of; 1 if that does not matter."""
    steps = [library.starts for library in target.libraries]
    return max(min(steps, default=0) // itemsize, 1)


def is_ragged(product: UOp, target: Target) -> bool:
    """Whether rows of an operand or of the result begin anywhere, in a product that is worth it."""
    if product.dtype.itemsize != 2:
        return False
    step = step_of(target, product.dtype.itemsize)
    sizes = [x.shape[-1] for x in (*product.src, product)]
    if not any(n % step for n in sizes) or not product.size:
        return False
    left, right = (x.size for x in product.src)
    return left * right * product.size >= _WORTH**2  # the square of rows, columns and summed ones


def on_lines(left: UOp, right: UOp, target: Target, wider: bool) -> Lined:
    """The operands with rows that begin at multiples of the step, and as many numbers summed;
    `wider`: the result may have more rows and columns, which no user sees."""
    step = step_of(target, left.dtype.itemsize)
    (batch, m, k), n = left.shape, right.shape[2]
    a, b = (_lies(x) if batch == 1 and step > 1 else None for x in (left, right))
    if a is None or b is None:
        return Lined(left, right, m, n)
    first, second = a.rows.shape, b.rows.shape
    apart = (first[not a.turned], second[b.turned]) == (k, k)  # zeros may be put behind both
    summed = k + -k % step if apart else k
    rows = m + -m % step if wider and a.turned and first[1] == m else m
    columns = n + -n % step if wider else n
    if columns != n and second[not b.turned] not in (n, columns):
        columns = n
    return Lined(
        _as_long(a, (summed, rows) if a.turned else (rows, summed), step),
        _as_long(b, (columns, summed) if b.turned else (summed, columns), step),
        rows,
        columns,
    )


class _Lies(NamedTuple):
    """A whole matrix in memory: its node, and whether its rows are columns there."""

    rows: UOp
    turned: bool


def _lies(matrix: UOp) -> _Lies | None:
    """A (1, row, column) view as a matrix in memory; None if it is a part, or has other strides."""
    base, found = base_of(matrix), placed(matrix)
    if found is None or found[1] or is_of_none(base) or not base.shape:
        return None
    (_, row, column), (_, rows, columns) = found[0], matrix.shape
    last = base.shape[-1]
    flat = base.reshape(prod(base.shape[:-1]), last)
    if (row, column) == (last, 1) and flat.shape[0] == rows:
        return _Lies(flat, False)
    turned = (row, column) == (1, last) and flat.shape[0] == columns
    return _Lies(flat, True) if turned else None


def _as_long(found: _Lies, shape: tuple[int, int], step: int) -> UOp:
    """The matrix in memory with these rows and columns, padded with zeros."""
    rows, length = (max(pair) for pair in zip(shape, found.rows.shape, strict=True))
    wide = _filled(found.rows, (rows, length + -length % step))
    if wide.shape != shape:
        wide = wide.shrink([(0, n) for n in shape])
    return _seen(wide, found.turned)


def _filled(x: UOp, shape: tuple[int, int]) -> UOp:
    """A copy with zeros behind its rows and below them."""
    more = [wanted - n for wanted, n in zip(shape, x.shape, strict=True)]
    return copied(padded(x, [0, 0], more, value=0)) if any(more) else x


def _seen(x: UOp, turned: bool) -> UOp:
    x = x.permute((1, 0)) if turned else x
    return x.reshape(1, *x.shape)


__all__ = ["Lined", "is_ragged", "on_lines", "step_of"]
