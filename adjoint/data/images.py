"""Images that are made up: coloured shapes.

What may live here: drawing. What may not: points, sequences.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adjoint.data.dataset import Dataset
from adjoint.data.synthetic import check_size

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
