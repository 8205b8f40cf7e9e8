"""When two results of a whole program are the same.

Integers and truth values are equal, floats within roundings of the narrowest float dtype of the
program; where a program amplifies its roundings, a run in float64 tells by how much. What may live
here: comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tests.fuzz.program import AMPLIFIED, EPS, SLACK, Array, _apart, _size, _wide, _words

Arrays = Mapping[str, Array]


def bits(wanted: Arrays, got: Arrays, whose: str) -> str:
    """The first array that is not the same bit for bit; NaNs are equal."""
    for name, one in wanted.items():
        other = got[name]
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"{name}: {other.dtype}{other.shape}, {whose} {one.dtype}{one.shape}"
        if one.tobytes() == other.tobytes():
            continue
        width = 2 if one.dtype.kind == "c" else 1
        view = f"u{one.itemsize // width}"
        a, b = (np.ascontiguousarray(x).reshape(-1) for x in (one, other))
        nan = (
            np.repeat(np.isnan(_wide(a)) & np.isnan(_wide(b)), width)
            if a.dtype.kind != "b"
            else False
        )
        bad = (a.view(view) != b.view(view)) & ~nan
        if bad.any():
            at = int(np.argmax(bad)) // width
            count = f"{int(bad.sum())} of {bad.size} differ in bits"
            return f"{name}.flatten()[{at}]: {b[at]!r}, {whose} {a[at]!r} ({count})"
    return ""


def near(wanted: Arrays, got: Arrays, narrowest: str, wider: Callable[[], Arrays]) -> str:
    """The first array that differs by more than roundings."""
    wide: Arrays = {}
    for name, one in wanted.items():
        other = got[name]
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"{name}: {other.dtype}{other.shape}, wanted {one.dtype}{one.shape}"
        if one.dtype.kind in "biu":
            bad = one != other
        else:
            eps = max(EPS[narrowest], _eps(one))
            a, b = _wide(one), _wide(other)
            bad = _apart(b, a, SLACK * eps * _size(a))
            if bad.any():
                wide = wide or wider()
                if wide.get(name) is None or wide[name].shape != one.shape:
                    continue
                bad = _apart(b, a, _off(_wide(wide[name]), a, eps))
        if bad.any():
            return _words(name, other, one, bad)
    return ""


def _eps(array: Array) -> float:
    name = {"complex64": "float32", "complex128": "float64"}.get(array.dtype.name, array.dtype.name)
    return EPS.get(name, 0.0)


def _off(wide: Array, own: Array, eps: float) -> float:
    with np.errstate(all="ignore"):
        apart = np.abs(wide - own)
    worst = float(apart[np.isfinite(apart)].max(initial=0.0))
    unsure = not np.array_equal(np.isfinite(wide), np.isfinite(own))
    return float("inf") if unsure else AMPLIFIED * worst + SLACK * eps * _size(own)
