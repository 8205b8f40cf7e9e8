"""The maker of records for functions of one real variable, and what their references share.

Integers are computed as the default float. References are NumPy's or, where NumPy has none, the
standard library's `math` or a series worked out beside the record.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.ir.broadcast import elementwise
from adjoint.ir.derivative import Diagonal, Partials
from adjoint.ir.dtype import to_float
from adjoint.ir.kernel_kind import EXPENSIVE
from adjoint.ir.opdef import OpDef
from adjoint.ops.samples import unary

Array = np.ndarray[Any, Any]


def as_float(x: Any) -> Array:
    """What NumPy is given: integers as float32."""
    x = np.asarray(x)
    return x.astype(np.float32) if x.dtype.kind in "biu" else x


def real_function(
    name: str,
    doc: str,
    body: Any,
    reference: Any,
    partial: Any,
    lo: float = -3,
    hi: float = 3,
    **rest: Any,
) -> OpDef:
    """A smooth function of one variable; `partial(y, x)` is its derivative, or a Diagonal says it.

    `body` computes an element in basic ops; samples are between `lo` and `hi`.
    """
    options: dict[str, Any] = {"kinds": "fc", "cost": EXPENSIVE} | rest
    return elementwise(
        name,
        doc,
        arity=1,
        cast=to_float,
        body=body,
        ad=partial if type(partial) is Diagonal else Partials(lambda y, x: (partial(y, x),)),
        reference=lambda x: reference(as_float(x)),
        samples=unary(lo, hi),
        **options,
    )


def mapped(fn: Any) -> Any:
    """A NumPy function from one of the standard library's, NaN and infinity passed through."""

    def one(x: float) -> float:
        try:
            return fn(x)
        except (ValueError, OverflowError):
            return math.inf if fn is math.lgamma else math.nan

    wide = np.frompyfunc(one, 1, 1)
    return lambda x: np.asarray(wide(np.asarray(x, np.float64))).astype(np.asarray(x).dtype)
