"""Data that are computed: points in the plane and in space, sequences, small images.

All are the same for the same seed and NumPy version; points are float32 with int64 classes.
"""

from __future__ import annotations

from collections.abc import Callable

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


# Whether a point is inside a shape of size 1 around the middle.
_SHAPES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "circle": lambda u, v: u * u + v * v < 1,
    "square": lambda u, v: np.maximum(np.abs(u), np.abs(v)) < 0.85,
    "triangle": lambda u, v: (v < 0.75) & (v > 2 * np.abs(u) - 1),
    "ring": lambda u, v: np.abs(np.hypot(u, v) - 0.75) < 0.25,
    "cross": lambda u, v: (
        (np.minimum(np.abs(u), np.abs(v)) < 0.3) & (np.maximum(np.abs(u), np.abs(v)) < 1)
    ),
}


def shapes(samples: int = 1000, size: int = 16, noise: float = 0.1, seed: int = 0) -> Dataset:
    """x float32[3, size, size] is a shape in one colour on a ground of another, each of random size
    and place, with noise; y int64 is which of the 5 `class_names` it is."""
    rng = np.random.default_rng(check_size("seed", seed, 0))
    y = rng.permutation(np.arange(check_size("samples", samples)) % len(_SHAPES))
    inside = _drawn(rng, y, check_size("size", size, 8))[:, None]
    ground = rng.uniform(0, 0.35, (samples, 3, 1, 1))
    colour = rng.uniform(0.5, 1, (samples, 3, 1, 1))
    x = np.where(inside, colour, ground) + noise * rng.standard_normal((samples, 3, size, size))
    return Dataset(x.astype(np.float32), y.astype(np.int64)).named((), tuple(_SHAPES))


def _drawn(rng: np.random.Generator, kinds: np.ndarray, size: int) -> np.ndarray:
    """bool[n, size, size]: the pixels of a shape of each kind."""
    radius = rng.uniform(0.25, 0.4, (len(kinds), 1, 1)) * size
    middle = rng.uniform(0.42, 0.58, (2, len(kinds), 1, 1)) * size
    pixel = np.arange(size) + 0.5
    u = (pixel[None, None, :] - middle[0]) / radius
    v = (pixel[None, :, None] - middle[1]) / radius
    drawn = np.zeros((len(kinds), size, size), bool)
    for kind, inside in enumerate(_SHAPES.values()):
        chosen = kinds == kind
        drawn[chosen] = inside(u[chosen], v[chosen])
    return drawn


def copying(samples: int = 1000, length: int = 8, symbols: int = 8, seed: int = 0) -> Dataset:
    """Remember and repeat: x int64[2 * length] is symbols 1 .. symbols, then zeros; y is zeros,
    then the symbols."""
    words = _words(samples, length, symbols, seed)
    blank = np.zeros_like(words)
    return Dataset(np.concatenate([words, blank], 1), np.concatenate([blank, words], 1))


def sorting(samples: int = 1000, length: int = 8, symbols: int = 8, seed: int = 0) -> Dataset:
    """x int64[length] is symbols 1 .. symbols, y the same in order."""
    words = _words(samples, length, symbols, seed)
    return Dataset(words, np.sort(words, 1))


def adding(samples: int = 1000, length: int = 20, seed: int = 0) -> Dataset:
    """x float32[length, 2] is numbers in [0, 1), and a mark at two of them; y float32[1] is the sum
    of the two."""
    rng = np.random.default_rng(check_size("seed", seed, 0))
    numbers = rng.uniform(0, 1, (check_size("samples", samples), check_size("length", length, 2)))
    marks = np.zeros_like(numbers)
    places = np.argsort(rng.uniform(0, 1, numbers.shape), 1)[:, :2]
    np.put_along_axis(marks, places, 1.0, 1)
    total = (numbers * marks).sum(1, keepdims=True)
    return Dataset(np.stack([numbers, marks], 2).astype(np.float32), total.astype(np.float32))


def sine_waves(samples: int = 500, length: int = 40, noise: float = 0.02, seed: int = 0) -> Dataset:
    """x float32[length, 1] is a wave of random frequency and phase, y the same one step later."""
    rng = np.random.default_rng(check_size("seed", seed, 0))
    frequency = rng.uniform(0.1, 0.5, (check_size("samples", samples), 1))
    phase = rng.uniform(0, 2 * np.pi, (samples, 1))
    wave = np.sin(frequency * np.arange(check_size("length", length) + 1) + phase)
    wave = (wave + noise * rng.standard_normal(wave.shape)).astype(np.float32)[..., None]
    return Dataset(wave[:, :-1], wave[:, 1:])


def _words(samples: int, length: int, symbols: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(check_size("seed", seed, 0))
    shape = check_size("samples", samples), check_size("length", length)
    return rng.integers(1, check_size("symbols", symbols) + 1, shape, dtype=np.int64)
