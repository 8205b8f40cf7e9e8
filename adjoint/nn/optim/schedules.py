"""Learning-rate schedules as functions: from the number of steps done to a factor.

The number may be a Python number, a NumPy array or a tensor, so a schedule can be printed, drawn,
or computed inside jit and scan: `adam(lr=3e-4 * (warmup(100) * cosine(10_000)))`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError
from adjoint.ir.dtype import dtypes
from adjoint.tensor import Tensor, array_api

_NO_STEP = 2.0**53  # steps that no run takes


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """A function of the step; `fn(xp, step)` computes it in float64 with the functions of `xp`."""

    fn: Callable[[Any, Any], Any]

    def __call__(self, step: Any) -> Any:
        """The factor after so many steps."""
        if isinstance(step, Tensor):
            return self.fn(array_api, step.cast(dtypes.float64))
        found = self.fn(np, np.asarray(step, np.float64))
        return float(found) if np.ndim(found) == 0 else found

    def __mul__(self, other: Any) -> Schedule:
        if isinstance(other, Schedule):
            return Schedule(lambda xp, t: self.fn(xp, t) * other.fn(xp, t))
        return Schedule(lambda xp, t: self.fn(xp, t) * other)

    __rmul__ = __mul__


def _checked(op: str, **values: Any) -> None:
    """Raise unless all are above 0."""
    for name, value in values.items():
        if not isinstance(value, (int, float)) or not value > 0:
            raise ArgumentError("E2006", f"{name} is above 0, not {value!r}", op=op)


def constant(factor: float = 1.0, total: int | None = None) -> Schedule:
    """A factor, for so many steps, then 1; without `total` for ever."""
    end = _NO_STEP if total is None else total
    return Schedule(lambda xp, t: xp.where(t < end, _spread(factor, t), 1.0))


def _spread(value: float, t: Any) -> Any:
    """A number in the shape and dtype of the step."""
    return value + 0.0 * t


def step(size: int, gamma: float = 0.1) -> Schedule:
    """`gamma` more after every `size` steps."""
    _checked("step", size=size)
    return Schedule(lambda xp, t: gamma ** xp.floor(t / size))


def multistep(milestones: Sequence[int], gamma: float = 0.1) -> Schedule:
    """`gamma` more after each milestone."""
    return Schedule(lambda xp, t: gamma ** _passed(xp, t, milestones))


def _passed(xp: Any, t: Any, milestones: Sequence[float]) -> Any:
    """How many of them there have been."""
    total = _spread(0.0, t)
    for milestone in milestones:
        total = xp.where(t >= milestone, total + 1.0, total)
    return total


def exponential(gamma: float) -> Schedule:
    """`gamma` more at every step."""
    return Schedule(lambda xp, t: gamma**t)


def linear(start: float = 1.0 / 3, end: float = 1.0, total: int = 5) -> Schedule:
    """From `start` to `end` in so many steps, and on at `end`."""
    _checked("linear", total=total)
    return Schedule(lambda xp, t: start + (end - start) * (xp.where(t < total, t, total) / total))


def warmup(total: int, start: float = 0.0) -> Schedule:
    """From `start` to 1 in so many steps, and on at 1."""
    return linear(start, 1.0, total)


def polynomial(total: int = 5, power: float = 1.0) -> Schedule:
    """From 1 to 0 in so many steps, as a power of the part that is left."""
    _checked("polynomial", total=total)
    return Schedule(lambda xp, t: (1 - xp.where(t < total, t, total) / total) ** power)


def cosine(total: int, floor: float = 0.0) -> Schedule:
    """Half a cosine wave from 1 to `floor` in so many steps, and up again after that."""
    _checked("cosine", total=total)
    return Schedule(lambda xp, t: _wave(xp, t / total, 1.0, floor))


def _wave(xp: Any, part: Any, start: Any, end: Any) -> Any:
    """From `start` to `end` while `part` goes from 0 to 1, along a cosine."""
    return end + (start - end) * 0.5 * (1 + xp.cos(pi * part))


def _line(xp: Any, part: Any, start: Any, end: Any) -> Any:
    return start + (end - start) * part


def cosine_restarts(first: int, multiplier: int = 1, floor: float = 0.0) -> Schedule:
    """Half a cosine wave from 1 to `floor`, again and again, each `multiplier` times as long."""
    _checked("cosine_restarts", first=first)
    if not isinstance(multiplier, int) or multiplier < 1:
        problem = f"multiplier is a whole number of 1 or more, not {multiplier!r}"
        raise ArgumentError("E2006", problem, op="cosine_restarts")
    if multiplier == 1:
        return Schedule(lambda xp, t: _wave(xp, (t % first) / first, 1.0, floor))
    starts, length = [0.0], float(first)
    while starts[-1] + length < _NO_STEP:
        starts.append(starts[-1] + length)
        length *= multiplier
    lengths = [first * float(multiplier) ** i for i in range(len(starts))]

    def fn(xp: Any, t: Any) -> Any:
        start, length = _spread(0.0, t), _spread(float(first), t)
        for begin, long in zip(starts[1:], lengths[1:], strict=True):
            start = xp.where(t >= begin, begin, start)
            length = xp.where(t >= begin, long, length)
        return _wave(xp, (t - start) / length, 1.0, floor)

    return Schedule(fn)


def one_cycle(
    total: int,
    pct_start: float = 0.3,
    div_factor: float = 25.0,
    final_div_factor: float = 1e4,
    anneal_strategy: str = "cos",
    three_phase: bool = False,
) -> Schedule:
    """Up from `1 / div_factor` to 1 in the first part, then down to a `final_div_factor`th of the
    start; with three phases down to the start first."""
    low = 1.0 / div_factor
    ends = [pct_start * total - 1, total - 1.0]
    values = [low, 1.0, low / final_div_factor]
    if three_phase:
        ends.insert(1, 2 * pct_start * total - 2)
        values.insert(2, low)
    return phases(total, ends, values, anneal_strategy)


def phases(total: int, ends: list[float], values: list[float], anneal_strategy: str) -> Schedule:
    """From each value to the next, the last step of each phase being given."""
    _checked("one_cycle", total=total)
    if anneal_strategy not in ("cos", "linear"):
        problem = f"anneal_strategy is 'cos' or 'linear', not {anneal_strategy!r}"
        raise ArgumentError("E2008", problem, op="one_cycle")
    between = _wave if anneal_strategy == "cos" else _line

    def fn(xp: Any, t: Any) -> Any:
        found = _spread(values[-1], t)
        for i in reversed(range(len(ends))):
            begin = ends[i - 1] if i else 0.0
            part = (t - begin) / ((ends[i] - begin) or 1.0)
            found = xp.where(t <= ends[i], between(xp, part, values[i], values[i + 1]), found)
        return found

    return Schedule(fn)


def chain(*schedules: Any) -> Schedule:
    """The product of schedules."""

    def fn(xp: Any, t: Any) -> Any:
        total = _spread(1.0, t)
        for schedule in schedules:
            total = total * _value(schedule, xp, t)
        return total

    return Schedule(fn)


def sequential(schedules: Sequence[Any], milestones: Sequence[int]) -> Schedule:
    """One schedule after another: the next begins, at its step 0, at each milestone."""
    check_sequence(schedules, milestones)

    def fn(xp: Any, t: Any) -> Any:
        found = _value(schedules[0], xp, t)
        for schedule, begin in zip(schedules[1:], milestones, strict=True):
            local = xp.where(t < begin, 0.0, t - begin)  # no schedule sees a step below 0
            found = xp.where(t >= begin, _value(schedule, xp, local), found)
        return found

    return Schedule(fn)


def check_sequence(schedules: Sequence[Any], milestones: Sequence[int]) -> None:
    """Raise unless there is a milestone between every two schedules, each after the last."""
    if not schedules or len(milestones) != len(schedules) - 1:
        problem = f"{len(schedules)} schedules need {len(schedules) - 1} milestones"
        problem += f", not {len(milestones)}"
        raise ArgumentError("E2007", problem, op="sequential")
    if list(milestones) != sorted(milestones):
        raise ArgumentError("E2006", f"milestones rise, {list(milestones)} do not", op="sequential")


def _value(schedule: Any, xp: Any, t: Any) -> Any:
    """Of a schedule, or of any function of the step."""
    return schedule.fn(xp, t) if isinstance(schedule, Schedule) else schedule(t)
