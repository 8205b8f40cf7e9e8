"""What both sides of `gpu_models.py` share: sizes of models, their first weights, their batches.

What may live here: numbers. It is imported where torch is, and where Adjoint is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

Array = np.ndarray[Any, Any]


class Sizes(NamedTuple):
    """Of a language model; `few` heads for keys and values."""

    batch: int
    length: int
    words: int
    layers: int
    width: int
    heads: int
    few: int = 0
    modern: bool = False  # rotary positions, RMS norm, SwiGLU, no biases

    @property
    def tokens(self) -> int:
        return self.batch * self.length


SIZES = {
    "gpt2": Sizes(32, 1024, 50304, 12, 768, 12),
    "small": Sizes(2, 64, 512, 2, 64, 4),
    "middle": Sizes(4, 256, 4096, 2, 256, 4),
    "odd": Sizes(16, 777, 31111, 12, 1000, 10, 5, True),
    "odd-small": Sizes(2, 77, 311, 2, 100, 10, 5, True),
}


def first_weights(shapes: Mapping[str, tuple[int, ...]], seed: int) -> dict[str, Array]:
    """Of parameters by their names: matrices as GPT-2's are drawn, biases 0, scales of norms 1."""
    return {name: _first(name, tuple(shape), seed) for name, shape in shapes.items()}


def _first(name: str, shape: tuple[int, ...], seed: int) -> Array:
    if len(shape) > 1:
        rng = np.random.default_rng([seed, crc32(name.encode())])
        return (0.02 * rng.standard_normal(shape)).astype(np.float32)
    return np.full(shape, float(name.endswith("weight")), np.float32)


def batches(tokens: Array, s: Sizes, seed: int, count: int) -> Iterator[tuple[Array, Array]]:
    """Windows of a text at random places, and what comes one place later."""
    rng = np.random.default_rng([seed, 1])
    for _ in range(count):
        starts = rng.integers(0, len(tokens) - s.length, s.batch)
        rows = np.stack([tokens[i : i + s.length + 1] for i in starts])
        yield rows[:, :-1], rows[:, 1:]
