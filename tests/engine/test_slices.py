"""Where a slice begins is an argument of a program: a new start compiles nothing, and the bits are
those of the graph without a lazy slice."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from adjoint import Tensor, counters, jit, scan
from adjoint.engine.program_cache import PROGRAMS
from adjoint.errors import BoundsError

DEVICES = ("REF", "CPU", "C")


def values(*shape: int, device: str = "CPU") -> Any:
    return Tensor(np.random.default_rng(3).random(shape, np.float32), device=device).realize()


def compiles_of(run: Any, starts: Any) -> list[int]:
    """How many kernels were compiled for each start."""
    found = []
    for start in starts:
        with counters() as counted:
            run(start)
        found.append(counted.compiles)
    return found


def test_changing_indices_and_bounds_share_one_program() -> None:
    x, y = values(40), values(60)
    a, b = x.numpy(), y.numpy()

    def run(i: int) -> None:
        found = (x[i] * 2 + y[3 * i // 2 : 3 * i // 2 + 5]).numpy()
        assert np.array_equal(found, a[i] * np.float32(2) + b[3 * i // 2 : 3 * i // 2 + 5])

    counts = compiles_of(run, range(30))
    assert sum(counts[2:]) == 0
    assert sum(counts) <= 2


def test_a_slice_and_a_constant_may_change_together() -> None:
    x = values(40)

    def run(i: int) -> None:
        assert np.array_equal((x[i : i + 3] * float(i)).numpy(), x.numpy()[i : i + 3] * i)

    assert sum(compiles_of(run, range(30))[4:]) == 0


STEPS = [slice(None), slice(None, None, -1), slice(None, None, 2), slice(None, None, -2)]


@pytest.mark.parametrize("device", DEVICES)
def test_random_slices_of_views_in_one_process_are_those_of_numpy(device: str) -> None:
    draw = random.Random(11)
    x = values(6, 8, 5, device=device)
    shown = {
        "plain": (x, x.numpy()),
        "turned": (x.permute(2, 0, 1), x.numpy().transpose(2, 0, 1)),
        "flat": (x.reshape(12, 20), x.numpy().reshape(12, 20)),
        "flipped": (x.flip(1), x.numpy()[:, ::-1]),
        "wide": (x[:, :, :1].expand(6, 8, 4), x.numpy()[:, :, :1].repeat(4, 2)),
    }
    for _ in range(60 if device == "C" else 300):
        t, a = draw.choice(list(shown.values()))
        cut = tuple(slice(s := draw.randrange(n - 1), s + 2) for n in a.shape)
        other = tuple(slice(s := draw.randrange(n - 1), s + 2) for n in a.shape)
        turn = draw.choice(STEPS)
        found = (t[cut][turn] * 2 + t[other][turn]).numpy()
        assert np.array_equal(found, a[cut][turn] * np.float32(2) + a[other][turn])
        assert np.isclose(t[cut].sum().item(), a[cut].sum(), rtol=1e-5)
        kept = t[cut]
        assert np.array_equal((kept + 1).numpy(), a[cut] + np.float32(1))


PRODUCTS = {
    "rows": lambda x, w, v: x @ w,
    "columns": lambda x, w, v: x.T @ v,
    "both turned": lambda x, w, v: w.T @ x.T,
    "with itself": lambda x, w, v: x @ x.T,
    "a vector": lambda x, w, v: x @ w[:, 0],
    "fused": lambda x, w, v: ((x * 2) @ w).softmax(-1),
    "in a loop": lambda x, w, v: scan(lambda c, t: (c + t @ w, c), Tensor.zeros(2), x)[0],
}


@pytest.mark.parametrize("inner", [3, 8, 20])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_slices_have_the_bits_of_a_program_of_their_own(name: str, inner: int) -> None:
    """How operands lie decides in which order products are added up: it is as it was."""
    x, w, v, product = values(60, inner + 9), values(inner, 2), values(9, 2), PRODUCTS[name]

    def run(start: int) -> bytes:
        part = x[start : start + 9, start // 2 : start // 2 + inner]
        return product(part, w, v).numpy().tobytes()  # type: ignore[no-any-return]

    starts = (0, 7, 13, 4)
    found = [run(start) for start in starts]
    alone = []
    for start in starts:
        PROGRAMS.clear()
        alone.append(run(start))
    assert found == alone


def test_long_runs_of_rows_are_slices_too() -> None:
    x = values(4000, 100)

    def run(i: int) -> None:
        found = (x[i : i + 500] * 2).numpy()
        assert np.array_equal(found, x.numpy()[i : i + 500] * np.float32(2))

    assert sum(compiles_of(run, range(0, 3500, 250))[2:]) == 0


def test_long_columns_are_read_inside_the_program() -> None:
    x = values(3000, 20)
    for i in range(0, 10, 3):
        found = (x[:, i : i + 9] * 2).numpy()
        assert np.array_equal(found, x.numpy()[:, i : i + 9] * np.float32(2))


# ---- aliasing


@pytest.mark.parametrize("device", ["CPU", "C"])
def test_a_few_elements_of_a_value_expanded_beyond_memory_are_read(device: str) -> None:
    x = Tensor([1.0, 2.0, 3.0, 4.0], device=device).realize()
    long = x.reshape(4, 1).expand(4, 2**40).reshape(-1)
    assert long[2**42 - 1].item() == 4.0
    assert long[:: 2**40].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert [(long[i << 40] * 2).item() for i in range(4)] == [2.0, 4.0, 6.0, 8.0]


def test_results_that_are_slices_are_no_memory_of_their_base() -> None:
    x = values(4000, 10)
    for i in (0, 5, 9, 700):
        whole, twice = x[i : i + 2000], x[i : i + 3] * 2
        Tensor.realize(whole, twice)
        assert not np.shares_memory(whole.numpy(), x.numpy())
        assert np.array_equal(whole.numpy(), x.numpy()[i : i + 2000])


def test_memory_that_others_write_is_copied_when_it_is_read() -> None:
    array = np.arange(60000, dtype=np.float32)
    x = Tensor.from_dlpack(array)
    parts = []
    for i in (0, 5, 9):
        parts.append(x[i : i + 50000].reshape(100, 500).realize())
    seen = [part.numpy().copy() for part in parts]
    array[:] = -1
    for part, before in zip(parts, seen, strict=True):
        assert np.array_equal(part.numpy(), before)


def test_writes_between_reads_are_seen() -> None:
    x = values(40)
    for i in range(6):
        before = x.numpy().copy()
        lazy = x[i : i + 4] * 2
        x += 1
        assert np.array_equal(lazy.numpy(), before[i : i + 4] * 2)
        assert np.array_equal((x[i : i + 4] * 2).numpy(), (before[i : i + 4] + 1) * 2)


def test_one_value_may_be_read_whole_and_in_parts() -> None:
    x = values(4, 6)
    for i in range(3):
        found = (x + x[i] + x[:, i : i + 1] + x[i, i + 1]).numpy()
        a = x.numpy()
        assert np.array_equal(found, a + a[i] + a[:, i : i + 1] + a[i, i + 1])


# ---- elsewhere


def test_gradients_of_slices_with_other_starts() -> None:
    x = values(8).requires_grad_()
    for i in range(5):
        (grad,) = (x[i] * x[i + 1 : i + 4]).sum().gradient(x)
        a, expected = x.numpy(), np.zeros(8, np.float32)
        expected[i] = (x[i + 1 : i + 4] * 1).sum().item()
        expected[i + 1 : i + 4] += a[i]
        assert np.allclose(grad.numpy(), expected, rtol=1e-6)


def test_slices_inside_jit_are_part_of_its_program() -> None:
    k = values(9)
    pick = jit(lambda x, i: x * k[i : i + 3], static_argnums=(1,))
    for i in range(5):
        x = values(3)
        assert np.array_equal(pick(x, i).numpy(), x.numpy() * k.numpy()[i : i + 3])


def test_bounds_are_checked_as_before() -> None:
    x = values(5)
    for i in range(5):
        (x[i] + 1).realize()
    with pytest.raises(BoundsError, match="E6001"):
        x[5] + 1
    indices = Tensor([0, 7]).realize()
    for i in range(3):
        with pytest.raises(BoundsError):
            (values(4)[i : i + 2][indices] + 1).realize()


def test_equal_slices_of_two_values_are_kept_apart() -> None:
    x, y = values(12), values(12) + 1
    y.realize()
    for i in range(5):
        found = (x[i : i + 3] - y[i : i + 3] + x[i + 1 : i + 4]).numpy()
        a, b = x.numpy(), y.numpy()
        assert np.array_equal(found, a[i : i + 3] - b[i : i + 3] + a[i + 1 : i + 4])


def test_slices_of_no_elements_and_of_all() -> None:
    x = values(6, 4)
    for i in range(6):
        assert (x[i:i] + 1).numpy().shape == (0, 4)
        assert np.array_equal((x[:, :] * 1)[i:].numpy(), x.numpy()[i:])
        assert float((x[i, i:i]).sum() + 1) == 1.0


ALIKE = {
    "rows": (lambda x, w, i: x[i : i + 9] @ w, 3),
    "rows and more": (lambda x, w, i: ((x[i : i + 9] * 2) @ w).tanh().sum(0), 3),
    "one row": (lambda x, w, i: x[i] @ w, 3),
    "two slices": (lambda x, w, i: x[i : i + 9] @ w - x[i + 3 : i + 12] @ w, 3),
}


@pytest.mark.parametrize("inner", [3, 8, 20, 70])
@pytest.mark.parametrize("name", ALIKE)
def test_minibatches_share_a_program(name: str, inner: int) -> None:
    product, most = ALIKE[name]
    x, w = values(60, inner), values(inner, 5)
    counts = compiles_of(lambda i: product(x, w, i).numpy(), [1, 17, *range(2, 40, 3)])
    assert sum(counts[most:]) == 0


FORMS = (
    lambda x, i, m, w, v: x[i : i + m] @ w,
    lambda x, i, m, w, v: (x[i : i + m] @ w).tanh().sum(0),
    lambda x, i, m, w, v: x[i : i + m].T @ v,
    lambda x, i, m, w, v: x[i : i + m] @ w[:, 0],
    lambda x, i, m, w, v: (x[i : i + m] @ w - v[:, :1]).square().mean(),
    lambda x, i, m, w, v: x[:, i % 2 : i % 2 + 1] @ w[:1],
    lambda x, i, m, w, v: x[i : i + m, 1:] @ w[1:],
    lambda x, i, m, w, v: x[i] @ w + x[i + 1] @ w,
    lambda x, i, m, w, v: (x[i : i + m] @ w) @ (v.T @ x[i : i + m]),
)


@pytest.mark.parametrize("seed", range(12))
def test_random_products_of_slices_have_the_bits_of_a_program_for_their_start(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(6):
        k, n, m = (
            draw.choice(c) for c in ((2, 3, 8, 9, 17, 64, 130), (1, 2, 7, 40), (1, 3, 8, 33))
        )
        rng, dtype = np.random.default_rng(seed), draw.choice([np.float32, np.float64])
        x, w, v = (
            Tensor(rng.standard_normal(shape).astype(dtype)).realize()
            for shape in ((m + 20, k), (k, n), (m, n))
        )
        form, starts = draw.choice(FORMS), [draw.randrange(19) for _ in range(5)] + [0, 0]
        together = [form(x, i, m, w, v).numpy().tobytes() for i in starts]
        for start, found in zip(starts, together, strict=True):
            PROGRAMS.clear()
            assert form(x, start, m, w, v).numpy().tobytes() == found
