"""Loops along lanes end where a bounds check changes, so that no piece needs a mask."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from adjoint import Tensor, jit, lower


def numbers(*shape: int) -> Any:
    """Numbers among which are NaN, infinities and -0.0."""
    found = np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)
    flat = found.reshape(-1)
    flat[: min(4, flat.size)] = [np.nan, np.inf, -np.inf, -0.0][: flat.size]
    return found


def same(found: Any, expected: Any) -> bool:
    """Whether all bits are the same."""
    bits = np.uint32 if expected.dtype == np.float32 else expected.dtype
    return found.shape == expected.shape and bool((found.view(bits) == expected.view(bits)).all())


def kernel(fn: Any, *args: Any) -> str:
    return "\n".join(map(str, lower(fn)(*args).kernels()))


WIDTHS = [(0, 64), (1, 63), (64, 0, 64), (31, 33, 32), (100, 1, 100), (16,) * 9, (33, 2, 7, 90)]


@pytest.mark.parametrize("widths", WIDTHS, ids=str)
@pytest.mark.parametrize("rows", [1, 3, 1200])
def test_concatenations_have_the_bits_of_numpy(widths: tuple[int, ...], rows: int) -> None:
    arrays = [numbers(rows, n) for n in widths]
    tensors = [Tensor(a) for a in arrays]
    assert same(Tensor.cat(*tensors, dim=1).numpy(), np.concatenate(arrays, 1))
    work = lambda xs: [x * 2 for x in xs]  # noqa: E731
    twice = (Tensor.cat(*work(tensors), dim=1) + 1).numpy()
    assert same(twice, np.concatenate(work(arrays), 1) + np.float32(1))


@pytest.mark.parametrize(
    "shape", [(2, 3, 9, 57), (12, 7, 40, 57), (2500, 64), (40, 64), (1100, 1, 130)], ids=str
)
@pytest.mark.parametrize("borders", [*itertools.product([0, 1, 40], [0, 3])], ids=str)
def test_paddings_have_the_bits_of_numpy(shape: tuple[int, ...], borders: tuple[int, int]) -> None:
    a = numbers(*shape)
    found = Tensor(a).pad((*borders, 1, 2), value=-0.0).numpy()
    sides = [(0, 0)] * (len(shape) - 2) + [(1, 2), borders]
    assert same(found, np.pad(a, sides, constant_values=-0.0))


@pytest.mark.parametrize("shift", [0, 1, 7, -30, 63, 64, 200])
def test_rolled_and_flipped_lines_have_the_bits_of_numpy(shift: int) -> None:
    a = numbers(1000, 150)
    x = Tensor(a)
    assert same(x.roll(shift, 1).numpy(), np.roll(a, shift, 1))
    assert same(x.roll(shift, 1).flip(1).numpy(), np.roll(a, shift, 1)[:, ::-1])
    assert same(x.flip(1).pad((3, 70)).flip(1).numpy(), np.pad(a, ((0, 0), (70, 3))))


@pytest.mark.parametrize("part", [np.s_[:, 20:90], np.s_[3:9, 1:], np.s_[:, ::2], np.s_[2, 40:100]])
def test_written_parts_have_the_bits_of_numpy(part: Any) -> None:
    a = numbers(1100, 128)
    x, b = Tensor(a), a.copy()
    b[part] = b[part] * np.float32(0.5)
    x[part] = x[part] * 0.5
    assert same(x.numpy(), b)


def test_pieces_load_without_masks() -> None:
    a, b = (Tensor(numbers(2000, n)).realize() for n in (96, 128))
    text = kernel(lambda a, b: Tensor.cat(a, b, dim=1), a, b)
    assert text.count("side by side") == 2
    assert "where" not in text
    assert "bool" not in text
    assert "bool" not in kernel(lambda a: a.roll(7, 1), a)


def test_an_operand_is_overwritten_by_its_own_elements_alone() -> None:
    """A donated operand that a piece reads at another place than it writes is not overwritten."""
    a = numbers(1100, 128)
    for fn, expected in (
        (lambda x: x.roll(32, 1), np.roll(a, 32, 1)),
        (lambda x: x[:, 64:].cat(x[:, :64], dim=1), np.roll(a, 64, 1)),
        (
            lambda x: x[:, :64].cat(x[:, 64:] * 2, dim=1),
            np.concatenate([a[:, :64], a[:, 64:] * 2], 1),
        ),
    ):
        x = Tensor(a.copy()).realize()
        assert same(jit(fn, donate_argnums=(0,))(x).numpy(), expected)


def test_loops_of_many_or_short_pieces_stay_whole() -> None:
    parts = [Tensor(numbers(5000, 5)).realize() for _ in range(8)]
    assert kernel(lambda *xs: Tensor.cat(*xs, dim=1), *parts).count("side by side") == 1
