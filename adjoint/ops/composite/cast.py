"""Dtype conversions by name: `x.half()`, `x.int()` and their kin. Nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.errors import ArgumentError
from adjoint.ir.dtype import DType, as_dtype, dtypes
from adjoint.ir.opdef import Bad, OpDef, derived
from adjoint.ir.uop import UOp
from adjoint.ops.casts import convert
from adjoint.ops.samples import SPECIAL, given, real, rough, whole

# A float result of a float operand has the operand's dtype in the op tests, so the conversions to
# floats are tried from integers.
_KINDS = {"f": "biu"}
_SAMPLES = given((real(2, 3),), (real(),), (whole(0, 3),), rough(SPECIAL), (real(2, 1, 3),))


def _conversion(name: str, dtype: DType) -> OpDef:
    def converted(x: UOp) -> UOp:
        return x.cast(dtype)

    converted.__doc__ = f"The values as {dtype.name}."
    return derived(
        name=name,
        reference=lambda x: convert(x, dtype),
        samples=_SAMPLES,
        kinds=_KINDS.get(dtype.kind, "biuf"),
    )(converted)


float_ = _conversion("float", dtypes.float32)
half = _conversion("half", dtypes.float16)
bfloat16 = _conversion("bfloat16", dtypes.bfloat16)
double = _conversion("double", dtypes.float64)
int_ = _conversion("int", dtypes.int32)
long = _conversion("long", dtypes.int64)
short = _conversion("short", dtypes.int16)
char = _conversion("char", dtypes.int8)
uchar = _conversion("uchar", dtypes.uint8)
bool_ = _conversion("bool", dtypes.bool_)


@derived(
    reference=lambda x, other: convert(x, as_dtype(np.asarray(other).dtype)),
    samples=given((whole(2, 3), real(3)), (real(2, 3), real()), rough(real(2, 3), whole(2))),
    errors=(Bad("E2001", (real(2), "float32"), match="tensor"),),
    kinds="biuf",
)
def type_as(x: UOp, other: Any) -> UOp:
    """The values in the dtype of another tensor."""
    if not isinstance(other, UOp):
        fix = f"to name a dtype, use .cast({other!r})"
        raise ArgumentError("E2001", f"expected a tensor, got {other!r}", op="type_as", help=fix)
    return x.cast(other.dtype)
