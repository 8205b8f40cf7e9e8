"""Attention masks: the checks of users' masks, and their combination into one.

A bool mask is true where attention is not allowed; a float mask is added to the scores.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from adjoint.errors import DTypeError, ShapeError
from adjoint.nn.kv_cache import KVCache
from adjoint.tensor import Tensor
from adjoint.tensor.types import DTypeLike

OP = "MultiheadAttention"


class Extents(NamedTuple):
    """The sizes of the scores, whether users see the batch among them, and where they are."""

    batch: int
    heads: int
    queries: int
    keys: int
    batched: bool
    device: Any


def future(queries: int, keys: int, device: str | tuple[str, ...] | None) -> Tensor:
    """(queries, keys): true where a key comes later than its query."""
    row = Tensor.arange(queries, dtype="int32", device=device)
    column = Tensor.arange(keys, dtype="int32", device=device)
    return column > row.unsqueeze(1)


def square_subsequent_mask(
    size: int, device: str | tuple[str, ...] | None = None, dtype: DTypeLike | None = None
) -> Tensor:
    """(size, size): -inf where a key comes later than its query, else 0; a float mask."""
    blocked = future(size, size, device)
    return blocked.where(-float("inf"), Tensor.zeros(size, size, device=device, dtype=dtype))


def joined(
    sizes: Extents,
    given: Tensor | None,
    padding: Tensor | None,
    causal: bool,
    cache: KVCache | None,
) -> Tensor | None:
    """All masks as one in four axes that broadcast, as users write them; None if there is none."""
    blocked: list[Tensor] = []
    added: list[Tensor] = []
    for mask in (_per_query(given, sizes), _per_key(padding, sizes)):
        if mask is not None:
            (blocked if mask.dtype.is_bool else added).append(mask)
    if cache is not None:
        blocked.append(cache.visible(sizes.queries).logical_not())
    elif causal:
        blocked.append(future(sizes.queries, sizes.keys, sizes.device))
    return _one(blocked, added)


def _one(blocked: list[Tensor], added: list[Tensor]) -> Tensor | None:
    total: Tensor | None = None
    for mask in blocked:
        total = mask if total is None else total | mask
    if not added:
        return None if total is None else total.reshape(*[1] * (4 - total.ndim), *total.shape)
    whole = added[0] + added[1] if len(added) > 1 else added[0]
    return whole if total is None else total.where(-float("inf"), whole)


def _per_query(mask: Tensor | None, sizes: Extents) -> Tensor | None:
    """(queries, keys), or one for every head of every example."""
    if mask is None:
        return None
    _check_dtype("attn_mask", mask)
    batch, heads, queries, keys, batched, _ = sizes
    wanted = (batch * heads, queries, keys)
    if mask.shape == (queries, keys):
        return mask.reshape(1, 1, queries, keys)
    if mask.shape == wanted:
        return mask.reshape(batch, heads, queries, keys)
    several = f"{list(wanted)} (batch · heads first)" if batched else f"{list(wanted)}"
    problem = f"attn_mask is {[queries, keys]} or {several}, not {list(mask.shape)}"
    raise ShapeError("E3003", problem, op=OP, attn_mask=mask)


def _per_key(mask: Tensor | None, sizes: Extents) -> Tensor | None:
    """(batch, keys); without a batch (keys)."""
    if mask is None:
        return None
    _check_dtype("key_padding_mask", mask)
    wanted = (sizes.batch, sizes.keys) if sizes.batched else (sizes.keys,)
    if mask.shape != wanted:
        problem = f"key_padding_mask is {list(wanted)}, not {list(mask.shape)}"
        raise ShapeError("E3003", problem, op=OP, key_padding_mask=mask)
    return mask.reshape(sizes.batch, 1, 1, sizes.keys)


def _check_dtype(name: str, mask: Tensor) -> None:
    if not mask.dtype.is_bool and not mask.dtype.is_float:
        problem = f"{name} is bool (true: do not look) or float (added), not {mask.dtype.name}"
        raise DTypeError("E2005", problem, op=OP, operands=[(name, mask)])


def widened(mask: Tensor | None, columns: int) -> Tensor | None:
    """The mask with more keys that every query may look at."""
    if mask is None or not columns:
        return mask
    return mask.pad(((0, 0), (0, 0), (0, 0), (0, columns)))
