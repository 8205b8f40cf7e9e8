"""What bench/models.py trains: which examples, with which optimizers, and the file of their start.

The file has the initial weights, as Adjoint draws them, and batches of the example's data; every
library begins from it. What may live here: what both sides must agree on, without either library.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np

CHECKED = 5  # steps whose losses are compared
CLOSE = 1e-3  # relative
BATCHES = 32  # that are trained on in turn
_WEIGHT = "weight "


@dataclass(frozen=True)
class Workload:
    """An example by its name, what is trained on, and how a step ends."""

    name: str
    what: str
    optimizer: str
    options: dict[str, Any]
    clip: float | None = None  # the norm that gradients may have


WORKLOADS = (
    Workload("digits_cnn", "64 pictures", "Adam", {"lr": 3e-3}),
    Workload("gpt", "16 × 32 characters", "AdamW", {"lr": 4e-3, "betas": (0.9, 0.98)}, clip=1.0),
    Workload("lstm", "64 rows of 12", "Adam", {"lr": 0.01}, clip=1.0),
)
BY_NAME = {workload.name: workload for workload in WORKLOADS}
Batch = tuple[Any, Any]


@dataclass(frozen=True)
class Start:
    """Weights by their names, and batches."""

    weights: dict[str, np.ndarray]
    x: np.ndarray
    y: np.ndarray

    def save(self, path: str) -> None:
        weights: dict[str, Any] = {_WEIGHT + name: value for name, value in self.weights.items()}
        np.savez(path, x=self.x, y=self.y, **weights)

    @staticmethod
    def load(path: str) -> Start:
        with np.load(path) as file:
            found = {name: file[name] for name in file.files}
        x, y = found.pop("x"), found.pop("y")
        return Start({name.removeprefix(_WEIGHT): value for name, value in found.items()}, x, y)

    def forever(self) -> Iterator[Batch]:
        """The batches, over and over."""
        return cycle([*zip(self.x, self.y, strict=True)])
