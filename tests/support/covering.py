"""Grids of parameters of which `make test` runs a part, and `make test-all` the whole.

A case of a compiler depends on one size or on how two of them meet, rarely on how three do. What
may live here: choosing such a part, the same at every run.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import pytest


def covering(*values: Any, together: int = 2) -> list[Any]:
    """All combinations, as parameters. Those are slow that are not needed for any `together` values
    of different parameters to meet in one that is not."""
    places = list(combinations(range(len(values)), together))
    cases = list(product(*(range(len(column)) for column in values)))
    met = {case: {(p, *(case[i] for i in p)) for p in places} for case in cases}
    missing, chosen = set[Any]().union(*met.values()), set[Any]()
    while missing:
        best = max(cases, key=lambda case: (len(met[case] & missing), _spread(case, chosen)))
        chosen.add(best)
        missing -= met[best]
    marks = {case: () if case in chosen else (pytest.mark.slow,) for case in cases}
    told = {case: [column[i] for i, column in zip(case, values, strict=True)] for case in cases}
    return [pytest.param(*told[case], marks=marks[case]) for case in cases]


def _spread(case: tuple[int, ...], chosen: set[Any]) -> int:
    """How seldom the values of a case were chosen before: one dtype is not tried with all else."""
    return -sum(mine == other for them in chosen for mine, other in zip(case, them, strict=True))
