"""Sequences that are made up: tasks for recurrent networks and transformers.

What may live here: sequences of numbers or symbols, the same for the same seed and NumPy version.
What may not: text (`text.py`).
"""

from __future__ import annotations

import numpy as np

from adjoint.data.dataset import Dataset
from adjoint.data.synthetic import check_size


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
