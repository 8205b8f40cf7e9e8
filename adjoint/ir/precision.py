"""The values of a record's `precision`: what `autocast` does to an op's operands.

A rule gets the dtypes of the float and complex operands and the low dtype, and returns the one
dtype to which the float operands are cast, or None, which leaves them as they are. Ops without a
rule compute in the dtypes of their operands and promote as usual. No rule narrows float64 or
complex numbers, because these are deliberate.

What may live here: the rules, and the cast of operands. What may not: which op has which rule (the
records), when autocast is on (`tensor/autocast.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

from adjoint.ir.dtype import DType, dtypes, promote
from adjoint.ir.uop import UOp

Precision = Callable[[Sequence[DType], DType], DType | None]


def low(given: Sequence[DType], wanted: DType) -> DType | None:
    """In the low dtype: products, which accumulate in float32 anyway."""
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
    """The arguments of an op, floats cast to the dtype of the rule, others unchanged."""
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
