"""When Python looks at a value, results on the way to it that are used elsewhere are kept: a loop
computes every turn once, compiles one, and gives the bits that it gave."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from adjoint import Tensor, counters, debug_nans, grad, jit
from adjoint.engine.program_cache import PROGRAMS
from adjoint.ir.values import is_known
from adjoint.tensor import held


def values(*shape: int, seed: int = 0) -> Any:
    return Tensor(np.random.default_rng(seed).random(shape, np.float32)).realize()


def newton(turns: int, look: Any) -> Any:
    """Roots by Newton's method, with a look at every turn."""
    c, x = values(12) + 1, Tensor.ones(12)
    for _ in range(turns):
        step = (x * x - c) / (2 * x)
        x = x - step
        look(step.abs().max())
    return x


LOOKS = {
    "float": float,
    "bool": lambda t: bool(t > 0.5),
    "item": lambda t: t.item(),
    "numpy": lambda t: t.numpy(),
    "list": lambda t: t.tolist(),
    "array": np.asarray,
    "mask": lambda t: values(3)[(t > 0.5).expand(3)],
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_a_loop_that_looks_at_a_number_computes_every_turn_once(look: Any) -> None:
    PROGRAMS.clear()
    with counters() as few:
        newton(4, look)
    with counters() as many:
        newton(24, look)
    assert many.compiles <= few.compiles
    assert many.flops < 9 * few.flops


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_looking_changes_no_bits(look: Any) -> None:
    assert newton(6, look).tolist() == newton(6, lambda t: None).tolist()


def test_values_that_another_graph_needs_are_kept() -> None:
    """As in expectation maximisation: what is read and what goes on share what no tensor has."""
    x, w = values(30, 40), values(40, 20)
    PROGRAMS.clear()
    counts = []
    for _ in range(12):
        with counters() as counted:
            scores = (x @ w).exp()
            total = scores.sum()
            w = w + (scores / total).sum(0)
            float(total)
        counts.append(counted.compiles)
    assert sum(counts[3:]) == 0


def test_what_is_kept_has_a_limit_and_goes_with_its_tensors(monkeypatch: Any) -> None:
    gc.collect()
    before = held._memory.kept
    x = newton(5, float)
    assert held._memory.kept > before
    monkeypatch.setattr(held, "BUDGET", 0)
    now = held._memory.kept
    y = newton(5, float)
    assert held._memory.kept == now
    assert y.tolist() == x.tolist()
    del x, y
    gc.collect()
    assert held._memory.kept <= before


# ---- what is kept, and what is not


def test_results_that_are_held_are_kept_and_others_are_not() -> None:
    x = values(8)
    kept = x * 2 + 1
    total = ((kept * 3).exp() + kept).sum()
    below = total.uop
    float(total)
    assert is_known(kept.uop)
    assert not any(is_known(n) for n in below.toposort() if n.op.name == "exp")


def test_realize_computes_what_it_is_asked_for_and_nothing_else() -> None:
    kept = values(8) * 2
    kept.sum().realize()
    assert not is_known(kept.uop)


def test_reading_an_array_keeps_nothing_else() -> None:
    kept = values(8) * 2
    (kept + 1).numpy()
    assert not is_known(kept.uop)


def test_long_results_are_not_kept() -> None:
    kept = values(1 << 17) * 2
    float(kept.sum())
    assert not is_known(kept.uop)


def descend(turns: int, look: Any = float) -> Any:
    """Gradient descent on a matrix that is too large to be kept for its own sake."""
    w, x = values(40, 1000), values(8, 40, seed=1)
    for _ in range(turns):
        loss = (x @ w).square().mean()
        (g,) = loss.gradient(w)
        w = w - 0.1 * g
        look(loss)
    return w


def advance(turns: int, look: Any = float) -> Any:
    """A large state that is read before the next one is made."""
    x = values(1 << 15)
    for _ in range(turns):
        x = x * 0.75 + 0.5
        look(x.sum())
    return x


def fill(turns: int, look: Any = float) -> Any:
    """Lines of a large matrix, and a look at every one."""
    x = values(40, 1000)
    for _ in range(turns):
        x[7] = x[7] * 0.5
        look(x[7].sum())
    return x


@pytest.mark.parametrize("loop", [descend, advance, fill])
def test_a_loop_whose_large_state_is_never_computed_compiles_a_few_turns(loop: Any) -> None:
    PROGRAMS.clear()
    with counters() as few:
        loop(4)
    with counters() as many:
        last = loop(20)
    assert many.compiles <= few.compiles + 1
    assert many.flops < 8 * few.flops
    assert last.tolist() == loop(20, lambda t: None).tolist()


def test_large_results_are_kept_once_a_read_computes_them_again() -> None:
    kept = values(1 << 17) * 2
    float(kept.sum())
    float(kept.max())
    assert is_known(kept.uop)


def test_results_of_several_values_may_lie_between() -> None:
    x = values(150, 150) * 2 + Tensor.eye(150)
    found = {float(x.slogdet()[1]) for _ in range(3)}
    assert len(found) == 1


def test_a_result_that_is_too_large_is_never_kept(monkeypatch: Any) -> None:
    monkeypatch.setattr(held, "LARGEST", 1 << 17)
    kept = values(1 << 17) * 2
    float(kept.sum())
    float(kept.max())
    assert not is_known(kept.uop)


def test_constants_are_not_kept() -> None:
    ones = Tensor.ones(4) + 1
    assert float((values(4) * ones).sum()) > 0
    assert not is_known(ones.uop)


def test_views_that_are_held_stay_lazy_and_what_they_show_is_kept() -> None:
    x = values(4, 6)
    turned = (x * 2).permute(1, 0)
    float(turned.sum())
    assert not is_known(turned.uop)
    assert is_known(turned.uop.src[0])
    assert np.array_equal(turned.numpy(), x.numpy().T * 2)


PRODUCTS = {
    "of a result": lambda y, w, v: y @ w,
    "of columns": lambda y, w, v: y.T @ v,
    "turned": lambda y, w, v: w.T @ y.T,
    "with itself": lambda y, w, v: y @ y.T,
    "of rows": lambda y, w, v: y.softmax(-1) @ w,
    "two": lambda y, w, v: ((y @ w).relu() @ w.T).sum(0),
    "of a product": lambda y, w, v: (y.T @ (y @ w).exp()).sum(0),
    "gradient": lambda y, w, v: grad(lambda u: (y @ u).exp().mean())(w),
}


@pytest.mark.parametrize("rows", [1, 3, 8, 9, 33])
@pytest.mark.parametrize("inner", [2, 5, 8, 20])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_have_the_same_bits_whatever_is_held(name: str, inner: int, rows: int) -> None:
    """How short products are added up depends on what they are fused with: that does not change."""
    x, w, v, product = values(rows, inner), values(inner, 6), values(rows, 6), PRODUCTS[name]
    alone = product(x * 2 + 1, w, v).numpy().tobytes()
    y = x * 2 + 1
    made = product(y, w, v)
    total = made.sum()
    handles = [Tensor(n) for n in total.uop.toposort() if n.src]  # all of it is held
    float(total)
    assert made.numpy().tobytes() == alone
    assert any(is_known(handle.uop) for handle in handles)


# ---- elsewhere


def test_what_is_kept_has_its_history() -> None:
    x = Tensor([1.0, 2.0])
    y = x * 2
    assert float(y.sum()) == 6.0
    (found,) = (y * 3).sum().gradient(x)
    assert found.tolist() == [6.0, 6.0]


def test_gradients_go_through_what_was_kept() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    loss = (y * 3).sum()
    assert float(loss) == 15.0
    loss.backward()
    assert x.grad.tolist() == [6.0, 12.0]
    assert y.requires_grad


def test_kept_results_are_memory_of_their_own() -> None:
    x = values(6)
    a, b = x * 1.0, x + 0.0
    float((a + b).sum())
    before = b.tolist()
    a += 1
    assert b.tolist() == before
    assert x.tolist() == before


def test_writes_after_a_look_are_seen_by_views() -> None:
    x = values(6) * 2
    part = x[1:3]
    float(x.sum())
    x += 1
    assert part.tolist() == x.tolist()[1:3]


def test_a_look_inside_a_transform_keeps_nothing() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        return y * 3 if float(y.sum()) > 0 else y

    assert grad(lambda x: f(x).sum())(Tensor([1.0, 2.0])).tolist() == [6.0, 6.0]
    assert grad(lambda x: f(x).sum())(Tensor([-1.0, -2.0])).tolist() == [2.0, 2.0]


def test_what_is_not_looked_at_is_not_checked_for_nans() -> None:
    x = Tensor([1.0, -1.0]).realize()
    root = x.sqrt()
    with debug_nans():
        assert float((root > 0).sum()) == 1.0


def test_jitted_functions_see_kept_values() -> None:
    y = values(4) * 2
    scale = jit(lambda x: x * y)
    first = scale(Tensor.ones(4)).tolist()
    float(y.sum() + 1)
    assert scale(Tensor.ones(4)).tolist() == first


@pytest.mark.parametrize("device", ["REF", "CPU", "C"])
def test_every_device_keeps(device: str) -> None:
    x = Tensor([1.0, 2.0, 3.0], device=device).realize()
    kept = x * 2
    assert float(kept.sum()) == 12.0
    assert is_known(kept.uop) or device == "C"  # whose sums are read through a copy
    assert kept.tolist() == [2.0, 4.0, 6.0]
