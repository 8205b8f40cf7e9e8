"""What an op does with its operands under `autocast`: the values of a record's `precision`.

A rule gets the dtypes of the operands that are floats or complex and the dtype that products are
computed in, and gives the one dtype that the floats among the operands are cast to, or None: they
stay as they are. Ops without a rule compute in what they are given and promote as ever. float64 and
complex numbers are asked for on purpose: no rule makes them narrower.

What may live here: the rules, and the cast of operands. What may not: which op has which rule (the
records), when they hold (`tensor/autocast.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

from adjoint.ir.dtype import DType, dtypes, promote
from adjoint.ir.uop import UOp

Precision = Callable[[Sequence[DType], DType], DType | None]


def low(given: Sequence[DType], wanted: DType) -> DType | None:
    """In the low dtype: products, whose sums are added up in float32 anyway."""
    return None if any(d.is_complex or d is dtypes.float64 for d in given) else wanted


def full(given: Sequence[DType], wanted: DType) -> DType | None:
    """In float32 at least: what loses digits or overflows in a low dtype."""
    return widest([dtypes.float32, *given], wanted)


def widest(given: Sequence[DType], wanted: DType) -> DType | None:
    """In the widest dtype of the operands: what puts them together."""
    if any(d.is_complex for d in given):
        return None
    return reduce(promote, given)


def cast_operands(rule: Precision, wanted: DType, args: Any, options: Any) -> tuple[Any, Any]:
    """Arguments of an op whose floats are in the dtype of the rule; others are as they were."""
    given = [node.dtype for node in _nodes((*args, *options.values()))]
    chosen = rule(given, wanted) if given else None
    if chosen is None or all(dtype is chosen for dtype in given):
        return args, options
    return tuple(_as(v, chosen) for v in args), {k: _as(v, chosen) for k, v in options.items()}


def _nodes(values: Any) -> Iterator[UOp]:
    """The operands that are floats or complex, those in lists among them."""
    for value in values:
        if isinstance(value, UOp):
            if value.dtype.is_inexact:
                yield value
        elif isinstance(value, (list, tuple)):
            yield from _nodes(value)


def _as(value: Any, dtype: DType) -> Any:
    if isinstance(value, UOp):
        return value.cast(dtype) if value.dtype.is_float and value.dtype is not dtype else value
    if type(value) in (list, tuple):
        return type(value)([_as(v, dtype) for v in value])
    return value
