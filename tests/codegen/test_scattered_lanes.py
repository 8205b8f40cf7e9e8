"""Lanes that read and write places apart, and the flag of an index that is out of range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint import BoundsError, Tensor, jit

SIZES = [1, 2, 15, 16, 17, 33, 1000]
KINDS = ["float32", "float64", "int8", "int16", "uint64", "bool", "bfloat16", "complex64"]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_gathered_elements_are_those_of_numpy(kind: str, size: int) -> None:
    rng = np.random.default_rng(size)
    x = Tensor(rng.integers(0, 2, (3, 70))).cast(kind).realize()
    index = rng.integers(-70, 70, (3, size))
    found = jit(lambda x, i: x.gather(1, i))(x, Tensor(index % 70))
    expected = np.take_along_axis(x.numpy(), index % 70, 1)
    assert np.array_equal(found.numpy(), expected)
    picked = jit(lambda x, i: x[:, i])(x, Tensor(index[0]))
    assert np.array_equal(picked.numpy(), x.numpy()[:, index[0]])


@pytest.mark.parametrize("lane", [0, 1, 7, 15, 16, 31, 32, 40])
@pytest.mark.parametrize("bad", [-71, 70, 2**40])
def test_an_index_out_of_range_is_reported_whichever_lane_has_it(lane: int, bad: int) -> None:
    x, index = Tensor.ones(3, 70).realize(), np.zeros(41, np.int64)
    index[lane] = bad
    with pytest.raises(BoundsError, match=f"{bad}"):
        jit(lambda x, i: x.index_select(1, i))(x, Tensor(index)).numpy()


@pytest.mark.parametrize("shape", [(7, 5, 3), (2, 9, 33, 3), (64, 3), (3, 1, 100), (1, 1), (0, 3)])
@pytest.mark.parametrize("kind", ["float32", "int8", "float64", "bool"])
def test_permuted_elements_are_those_of_numpy(shape: tuple[int, ...], kind: str) -> None:
    a: Any = np.random.default_rng(0).integers(0, 2, shape).astype(kind)
    for axis in range(len(shape)):
        order = (*range(axis, len(shape)), *range(axis))
        found = jit(lambda x, order=order: x.permute(*order).contiguous())(Tensor(a))
        assert np.array_equal(found.numpy(), a.transpose(order))
    parts = [Tensor(a), Tensor(a).logical_not().cast(kind), Tensor(a)]
    stacked = jit(lambda *xs: Tensor.stack(*xs, dim=-1))(*parts)
    assert np.array_equal(stacked.numpy(), np.stack([p.numpy() for p in parts], -1))
