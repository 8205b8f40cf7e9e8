"""Axes of pictures: from values to places, round ticks (1, 2 and 5), and what they are called.

What may live here: numbers and places. What may not: markup.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_DECADES = 2.0  # a positive curve that spans more is drawn on a logarithmic scale
_TICKS = 7  # on one axis, about


@dataclass(frozen=True, slots=True)
class Scale:
    """From values to places on one axis."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        if self.log:
            low, high, at = (math.log10(v) for v in (self.low, self.high, value))
        else:
            most = max(abs(self.low), abs(self.high), 1.0)  # as shares, which cannot overflow
            low, high, at = self.low / most, self.high / most, value / most
        share = (at - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round values inside."""
        return _log_ticks(self.low, self.high) if self.log else _even_ticks(self.low, self.high)


def scale_of(values: Sequence[float], start: float, end: float, log: bool | None = None) -> Scale:
    """The scale from the least to the greatest; logarithmic if asked for, or by itself (None) where
    all are positive and far apart. Where some are not positive it is even, whatever is asked."""
    low, high = min(values), max(values)
    if low > 0 and log is None:
        log = math.log10(high) - math.log10(low) > _DECADES
    log = bool(log) and low > 0
    if low == high:
        low, high = (low / 2, high * 2) if log else (low - _beside(low), high + _beside(high))
    return Scale(low, high, start, end, log)


def _beside(value: float) -> float:
    """A step that changes the value."""
    return max(0.5, abs(value) * 1e-3)


def _even_ticks(low: float, high: float) -> list[float]:
    step = round_step((high / 5 - low / 5) or 1.0)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten; with 2 and 5 times these where there is room; every few where there is not."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for factors in ((1, 2, 5), (1, 3), (1,)):
        found = [_times_ten(f, i) for i in range(first, last + 1) for f in factors]
        found = [v for v in found if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)]
        if len(found) <= _TICKS + 1:
            return found if len(found) > 1 else [low, high]
    every = -(-len(found) // _TICKS)
    return [v for v in found if round(math.log10(v)) % every == 0]


def _times_ten(factor: int, power: int) -> float:
    return float(f"{factor}e{power}")  # 0.02 is 2e-2, not 2 * 0.01


def round_step(least: float) -> float:
    """1, 2 or 5 times a power of ten, not below `least`."""
    unit = 10.0 ** math.floor(math.log10(least))
    return next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= least * 0.999)


def tick_text(value: float) -> str:
    """`0.02`, `300`, `12k`, `1e-6`."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if 1e4 <= abs(value) < 1e9:
        power, letter = (1e6, "M") if abs(value) >= 1e6 else (1e3, "k")
        return f"{value / power:.4g}{letter}"
    return f"{value:.4g}"


def spaced(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """The places moved apart, so that labels there do not cover one another; their order stays."""
    order = sorted(range(len(places)), key=places.__getitem__)
    found = [min(max(place, low), high) for place in places]
    for before, after in pairwise(order):
        found[after] = max(found[after], found[before] + gap)
    if order:
        found[order[-1]] = min(found[order[-1]], high)
    for after, before in pairwise(order[::-1]):
        found[before] = min(found[before], found[after] - gap)
    return found
