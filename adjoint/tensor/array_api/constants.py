"""The standard's constants."""

from __future__ import annotations

import math

e: float = math.e
inf: float = math.inf
nan: float = math.nan
pi: float = math.pi
newaxis: None = None

__all__ = ["e", "inf", "nan", "newaxis", "pi"]
