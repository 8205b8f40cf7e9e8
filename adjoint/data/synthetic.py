"""Points in the plane and in space that are made up: classes to tell apart.

All are float32 points x and int64 classes y, the same for the same seed and NumPy version. What may
live here: points. What may not: sequences (`sequences.py`), images (`images.py`).
"""

from __future__ import annotations

import numpy as np

from adjoint.data.dataset import Dataset
from adjoint.errors import TrainingError


def spirals(
    samples: int = 300, classes: int = 3, noise: float = 0.1, turns: float = 0.75, seed: int = 0
) -> Dataset:
    """Points on `classes` spirals that start in the middle and turn around one another."""
    rng, y = _start(samples, classes, seed)
    radius = np.sqrt(rng.uniform(0.01, 1, samples))
    angle = 2 * np.pi * (turns * radius + y / classes) + noise * rng.standard_normal(samples)
    return _points(np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1), y)


def two_moons(samples: int = 400, noise: float = 0.1, seed: int = 0) -> Dataset:
    """Points on two half circles that reach into one another."""
    rng, y = _start(samples, 2, seed)
    angle = np.pi * rng.uniform(0, 1, samples)
    side = 1 - 2 * y
    points = np.stack([y + side * np.cos(angle), 0.5 * y + side * np.sin(angle)], 1)
    return _points(points + noise * rng.standard_normal(points.shape), y)


def blobs(
    samples: int = 300, classes: int = 3, features: int = 2, noise: float = 1.0, seed: int = 0
) -> Dataset:
    """A cloud of points around a centre for each class."""
    rng, y = _start(samples, classes, seed)
    centres = rng.uniform(-8, 8, (classes, features))
    return _points(centres[y] + noise * rng.standard_normal((samples, features)), y)


def _start(samples: int, classes: int, seed: int) -> tuple[np.random.Generator, np.ndarray]:
    """The generator, and classes of equal size in random order."""
    rng = np.random.default_rng(check_size("seed", seed, 0))
    check_size("classes", classes)
    return rng, rng.permutation(np.arange(check_size("samples", samples)) % classes)


def _points(x: np.ndarray, y: np.ndarray) -> Dataset:
    return Dataset(x.astype(np.float32), y.astype(np.int64))


def check_size(name: str, value: int, least: int = 1) -> int:
    """A whole number that is not too small, or an error."""
    if not isinstance(value, (int, np.integer)) or value < least:
        problem = f"{name} is {value!r}; it is a whole number of at least {least}"
        raise TrainingError("E9003", problem, op="data")
    return int(value)
