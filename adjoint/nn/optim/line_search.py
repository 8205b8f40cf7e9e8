"""The line search of L-BFGS: a step length that satisfies the strong Wolfe conditions.

The search first brackets such a length, then narrows the bracket. Both interpolate values and
slopes by cubics (Nocedal and Wright, Numerical Optimization, 3.5), with the safeguards and the
constants of torch's `strong_wolfe`, so both take the same steps. What may live here: functions of
one variable. What may not: parameters and gradients of models.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
DECREASE, FLATNESS = 1e-4, 0.9  # of the two conditions: by how much the value and the slope shrink
_MOST = 25  # evaluations after the first


@dataclass(frozen=True, slots=True)
class Point:
    """A step length with the loss, its gradient, and its slope along the direction there."""

    length: float
    value: float
    gradient: Array
    slope: float


def strong_wolfe(
    at: Callable[[float], Point], start: Point, first: float, reach: float, tolerance: float
) -> Point:
    """The point to go to, from a first guess of its length.

    `start` has the length 0, and `reach` is the largest element of the direction. The search ends
    where the bracket would move no element by `tolerance`.
    """
    search = _Search(at, start)
    low, high = search.bracket(first)
    while high is not None and search.left and abs(high.length - low.length) * reach >= tolerance:
        low, high = search.narrowed(low, high)
    return low


class _Search:
    """The state of a search: how many evaluations are left, and whether the last one stalled."""

    def __init__(self, at: Callable[[float], Point], start: Point):
        self.at, self.start = at, start
        self.left, self.stalled = _MOST, False

    def _is_too_high(self, point: Point) -> bool:
        """Whether the loss does not decrease enough; a NaN does not."""
        start = self.start
        return not point.value <= start.value + DECREASE * point.length * start.slope

    def _is_flat(self, point: Point) -> bool:
        return abs(point.slope) <= -FLATNESS * self.start.slope

    def bracket(self, first: float) -> tuple[Point, Point | None]:
        """A good point alone, or two points around one, the lower first."""
        before, point = self.start, self.at(first)
        while self.left:
            rises = self.left < _MOST - 1 and point.value >= before.value
            if self._is_too_high(point) or rises:
                return _in_order(before, point)
            if self._is_flat(point):
                return point, None
            if point.slope >= 0:
                return _in_order(before, point)
            step = point.length - before.length
            bounds = (point.length + 0.01 * step, point.length * 10)
            before, point = point, self.at(_lowest(before, point, bounds))
            self.left -= 1
        return _in_order(self.start, point)

    def narrowed(self, low: Point, high: Point) -> tuple[Point, Point | None]:
        """The bracket around a point inside it, or that point alone if it is good."""
        point = self.at(self._inside(low, high))
        self.left -= 1
        if self._is_too_high(point) or point.value >= low.value:
            return _in_order(low, point)
        if self._is_flat(point):
            return point, None
        return point, low if point.slope * (high.length - low.length) >= 0 else high

    def _inside(self, low: Point, high: Point) -> float:
        """Where the cubic is lowest, kept away from the ends if it comes near to them twice."""
        ends = sorted((low.length, high.length))
        found = _lowest(low, high, (ends[0], ends[1]))
        margin = 0.1 * (ends[1] - ends[0])
        near = min(ends[1] - found, found - ends[0]) < margin
        if near and (self.stalled or not ends[0] < found < ends[1]):
            self.stalled = False
            nearer_end = abs(found - ends[1]) < abs(found - ends[0])
            return ends[1] - margin if nearer_end else ends[0] + margin
        self.stalled = near
        return found


def _in_order(a: Point, b: Point) -> tuple[Point, Point]:
    """The lower point first; one whose value is NaN is the higher."""
    return (b, a) if b.value < a.value else (a, b)


def _lowest(a: Point, b: Point, bounds: tuple[float, float]) -> float:
    """Where the cubic through two points with their slopes is lowest, within the bounds; their
    middle where it has no minimum, or where a value is infinite or NaN."""
    left, right = (a, b) if a.length <= b.length else (b, a)
    width = right.length - left.length
    middle = (bounds[0] + bounds[1]) / 2
    if not width:
        return middle
    d = a.slope + b.slope - 3 * (a.value - b.value) / (a.length - b.length)
    square = d * d - a.slope * b.slope
    if not square >= 0 or not isfinite(square):
        return middle
    root = sqrt(square)
    below = right.slope - left.slope + 2 * root
    place = right.length - width * ((right.slope + root - d) / below) if below else middle
    return min(max(place, bounds[0]), bounds[1]) if isfinite(place) else middle
