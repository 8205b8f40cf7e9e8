"""Which records in which dtypes: few for every run of the tests, all for `make test-c`.

Records are dealt into parts, one test each, so that a compiler is called a few times for hundreds
of kernels.
"""

from __future__ import annotations

from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.opdef import OpDef
from tests.ops.cases import RECORDS, dtypes_of

Pairs = list[tuple[OpDef, DType]]
PARTS = 24
SMALL_PARTS = 4
MAIN = (
    dtypes.float32,
    dtypes.float64,
    dtypes.int32,
    dtypes.float16,
    dtypes.bool_,
    dtypes.uint8,
    dtypes.bfloat16,
    dtypes.int64,
)


def every(part: int, parts: int = PARTS) -> Pairs:
    """A part of all: basic arithmetic in every dtype, other records in the main ones."""
    return [(r, d) for r in RECORDS[part::parts] for d in dtypes_of(r) if _asked(r, d)]


def _asked(record: OpDef, dtype: DType) -> bool:
    return dtype in MAIN or (record.level == "both" and not dtype.is_complex)


def few(part: int, parts: int = SMALL_PARTS) -> Pairs:
    """A part of every third record, each in one of its dtypes."""
    return [(r, _one(r, i)) for i, r in enumerate(RECORDS[part :: 3 * parts]) if _known(r)]


def _known(record: OpDef) -> list[DType]:
    own = dtypes_of(record)
    return [d for d in MAIN if d in own]


def _one(record: OpDef, number: int) -> DType:
    known = _known(record)
    return known[number % len(known)]


def singles(part: int, parts: int = PARTS) -> Pairs:
    """A part of all records, each in float32 if it takes that, else in its first dtype."""
    return [(r, _known(r)[0]) for r in RECORDS[part::parts] if _known(r)]
