"""What the tests of derivatives do not cover: every such cell by name, with its reason.

A cell is an op and one of `CELLS`. Each test goes over all records and calls `covered`: either the
cell has checks and they pass, or it stands in `GAPS` and there is nothing to check or the check
fails. A gap that is no longer needed fails too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from adjoint import AdjointError
from adjoint.ir.opdef import OpDef
from tests.ops.points import Point

NARROW = ("float32", "float16", "bfloat16")
REAL = ("first order", "second order", "vmap of grad", *NARROW)
CELLS = (*REAL, "complex", "vmap")


@dataclass(frozen=True)
class Gap:
    """Cells that are not covered, and why."""

    reason: str
    cells: tuple[str, ...]
    names: str

    @property
    def ops(self) -> list[str]:
        return self.names.split()


def covered(
    record: OpDef, cell: str, points: Callable[[], list], check: Callable[[str, Point], None]
) -> None:
    """Check every point of a cell, or find that its gap is still one."""
    reason = reason_for(record.name, cell)
    with np.errstate(all="ignore"):
        if reason is not None:
            assert not _works(points, check), f"{record.name}, {cell}: not a gap now; drop it"
            return
        every = points()
        assert every, f"{record.name}, {cell}: nothing is checked, and coverage.py gives no reason"
        for where, point in every:
            check(where, point)


def _works(points, check) -> bool:
    try:
        every = points()
        for where, point in every:
            check(where, point)
    except (AssertionError, AdjointError):
        return False
    return bool(every)


def reason_for(name: str, cell: str) -> str | None:
    """Why a cell is not covered; None if it is."""
    return _REASONS.get((name, cell))


def not_complex(record: OpDef) -> bool:
    """The op takes no complex numbers; its record says so, so no list repeats it."""
    return "c" not in record.kinds


GAPS = (
    Gap(
        "its result is a truth value or an integer",
        REAL,
        """isclose allclose signbit int long short char uchar bool argsort searchsorted bucketize
        any all argmax argmin argpartition count_nonzero matrix_rank lt le eq ne gt ge isnan isinf
        isfinite logical_not logical_and logical_or logical_xor""",
    ),
    Gap(
        "its result is a truth value or an integer",
        ("complex",),
        "isclose allclose any all count_nonzero matrix_rank eq ne isnan isinf isfinite logical_not",
    ),
    Gap(
        "it takes integers, truth values or plain numbers only",
        REAL,
        """bitcast one_hot fftfreq rfftfreq bitwise_and bitwise_or bitwise_xor bitwise_not lshift
        rshift threefry random_bits random_uniform random_normal""",
    ),
    Gap("no derivative passes, whatever the difference quotient", REAL[:1], "detach assign"),
    Gap(
        "its vectors are not unique, so it is declared not differentiable",
        (*REAL, "complex"),
        "svd_full eig",
    ),
    Gap("it is made of eig, which is declared not differentiable", (*REAL, "complex"), "eigvals"),
    Gap(
        "LAPACK turns complex vectors as it likes, which a difference quotient sees; "
        "test_complex_linalg.py covers what does not depend on it",
        ("complex",),
        "eigh svd svd_reduced",
    ),
    Gap(
        "it rounds to a narrower dtype, which a difference quotient sees; cast covers the rule",
        REAL,
        "float half bfloat16",
    ),
    Gap(
        "it takes complex numbers only; the cell 'complex' covers it",
        REAL,
        "real imag irdft irfft hfft",
    ),
    Gap("its result is float64 whatever its operand is", NARROW, "double"),
    Gap("it takes plain numbers only, so there is nothing to map", ("vmap",), "fftfreq rfftfreq"),
    Gap("it is pow in float64 and its samples are integers; pow covers it", REAL, "float_power"),
)

_REASONS = {(name, cell): gap.reason for gap in GAPS for name in gap.ops for cell in gap.cells}
