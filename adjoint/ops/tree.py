"""The reduction tree by which floats are added or multiplied: every device follows it, bit for bit.

A block is at most 4,096 neighbours in logical row-major order. Element i of a block goes to lane i
mod 16. A lane adds its elements one after another in groups of sixteen, then its groups; at the end
the lanes are halved: 8, 4, 2, 1. Missing elements are the neutral element. The values of the blocks
are added in the same way, until one is left. So a sum depends only on its length: not on layout,
batch, threads, or the sizes of other axes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
LANES = 16
GROUP = 16  # elements of a lane that are added one after another, and groups likewise
BLOCK = LANES * GROUP * GROUP


def tree_reduced(
    join: Callable[[Array, Array], Array],
    neutral: float,
    x: Array,
    axis: tuple[int, ...],
    keepdim: bool,
) -> Array:
    """The reduction of x over some axes by the tree."""
    kept = [d for d in range(x.ndim) if d not in axis]
    shape = [x.shape[d] for d in kept]
    flat = x.transpose([*kept, *axis]).reshape(*shape, -1)
    while flat.shape[-1] > BLOCK:
        flat = _blocks(join, neutral, flat)
    found = _block(join, neutral, flat)
    return (
        found.reshape([1 if d in axis else n for d, n in enumerate(x.shape)]) if keepdim else found
    )


def _blocks(join: Callable[[Array, Array], Array], neutral: float, x: Array) -> Array:
    """The values of the blocks; the last may be shorter."""
    *lead, n = x.shape
    whole = n // BLOCK
    full = x[..., : whole * BLOCK].reshape(*lead, whole, BLOCK)
    parts = [_block(join, neutral, full)]
    if n % BLOCK:
        parts.append(_block(join, neutral, x[..., None, whole * BLOCK :]))
    return np.concatenate(parts, axis=-1)


def _block(join: Callable[[Array, Array], Array], neutral: float, x: Array) -> Array:
    """The value of one block."""
    *lead, n = x.shape
    groups = -(-n // (LANES * GROUP)) if n > LANES else 1
    rows = GROUP if n > LANES else 1
    padded = np.full((*lead, groups * rows * LANES), neutral, x.dtype)
    padded[..., :n] = x
    lanes = padded.reshape(*lead, groups, rows, LANES)
    lanes = _serial(join, neutral, _serial(join, neutral, lanes, -2), -2)
    while lanes.shape[-1] > 1:
        half = lanes.shape[-1] // 2
        lanes = join(lanes[..., :half], lanes[..., half:])
    return lanes[..., 0]


def _serial(join: Callable[[Array, Array], Array], neutral: float, x: Array, axis: int) -> Array:
    """One after another along an axis, from the neutral element on."""
    terms = np.moveaxis(x, axis, 0)
    total = np.full(terms.shape[1:], neutral, x.dtype)
    for term in terms:
        total = join(total, term)
    return total
