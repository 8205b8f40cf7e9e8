"""Which stage computes which microbatch when: GPipe, and one forward, one backward (1F1B).

Both take as long and add the same gradients in the same order. They differ in how many microbatches
a stage has begun and not finished, whose activations it keeps.

What may live here: orders, and what follows from them. What may not: what a stage computes.
"""

from __future__ import annotations

from typing import NamedTuple

FORWARD, BACKWARD = "forward", "backward"


class Turn(NamedTuple):
    """A stage's next action: a direction, for a microbatch."""

    direction: str
    microbatch: int


def timetable(schedule: str, stages: int, microbatches: int) -> list[list[Turn]]:
    """The turns of every stage, in order."""
    return [_turns(schedule, stage, stages, microbatches) for stage in range(stages)]


def _turns(schedule: str, stage: int, stages: int, microbatches: int) -> list[Turn]:
    ahead = microbatches if schedule == "gpipe" else min(stages - stage, microbatches)
    turns = [Turn(FORWARD, m) for m in range(ahead)]
    for m in range(microbatches):
        turns.append(Turn(BACKWARD, m))
        if ahead + m < microbatches:
            turns.append(Turn(FORWARD, ahead + m))
    return turns


def in_flight(turns: list[Turn]) -> int:
    """The most microbatches that a stage has begun and not finished."""
    most = now = 0
    for turn in turns:
        now += 1 if turn.direction == FORWARD else -1
        most = max(most, now)
    return most


def bubble(table: list[list[Turn]], backward: float = 2.0) -> float:
    """The share of the time in which a stage waits, if a forward pass takes 1 and a backward pass
    `backward`: (stages - 1) / (microbatches + stages - 1) of either schedule."""
    ends: dict[tuple[int, Turn], float] = {}
    clock, at = [0.0] * len(table), [0] * len(table)
    while any(at[s] < len(turns) for s, turns in enumerate(table)):
        for stage, turns in enumerate(table):
            while at[stage] < len(turns):
                turn = turns[at[stage]]
                before = _before(stage, turn, len(table))
                if before is not None and before not in ends:
                    break
                begin = max(clock[stage], 0.0 if before is None else ends[before])
                clock[stage] = begin + (1.0 if turn.direction == FORWARD else backward)
                ends[stage, turn] = clock[stage]
                at[stage] += 1
    busy = sum(1.0 if t.direction == FORWARD else backward for turns in table for t in turns)
    return 1 - busy / (len(table) * max(clock))


def _before(stage: int, turn: Turn, stages: int) -> tuple[int, Turn] | None:
    """What another stage must have done."""
    if turn.direction == FORWARD:
        return (stage - 1, turn) if stage else None
    return (stage + 1, turn) if stage + 1 < stages else None
