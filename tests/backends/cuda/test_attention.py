"""Attention on a GPU: what is taken whole, what is not, and that kernels are given what lies where.

Over a fake GPU the kernels' own text is run by NumPy (`tests/support/hopper.py`).
"""

import numpy as np
import pytest

from adjoint import Tensor, grad, jvp, lower, vmap
from adjoint.runtime.cuda import problem
from adjoint.runtime.device import has_tools
from adjoint.target import TARGETS
from tests.anew import compiled_anew
from tests.backends.cuda import attention_cases as cases
from tests.support.fake_gpu import fake_gpu

needs_compiler = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler")


@pytest.fixture(scope="module")
def gpu():
    with compiled_anew(), fake_gpu() as found:
        yield found


def some(*shape, dtype="bfloat16", device="GPU", seed=0):
    numbers = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return Tensor(numbers, device=device).cast(dtype).realize()


def steps(fn, *given):
    return lower(fn)(*given).schedule().splitlines()


def whole(fn, *given):
    """The steps that are attention."""
    return [line for line in steps(fn, *given) if line.startswith("library attention")]


def packed(x):
    """q, k and v of one product: (batch, rows, 3, heads, features)."""
    q, k, v = (x[:, :, i].permute(0, 2, 1, 3) for i in range(3))
    return q.attention(k, v, is_causal=True).permute(0, 2, 1, 3)


def test_attention_is_one_kernel_that_reads_views_where_they_lie(gpu):
    lines = steps(packed, some(1, 40, 3, 2, 64))
    calls = [line for line in lines if line.startswith(("kernel", "library", "host"))]
    assert len(calls) == 1
    assert calls[0].startswith("library attention forward bf16 1x2x40x40x64 causal")


def test_a_mask_that_is_spread_is_read_where_it_lies(gpu):
    q, k, v = (some(2, 2, 40, 8, seed=i) for i in range(3))
    seen = (some(2, 1, 1, 41) > 0).realize()

    def attend(q, k, v, seen):
        return q.attention(k, v, seen[..., 1:].expand(2, 2, 40, 40))

    lines = steps(attend, q, k, v, seen)
    assert sum(line.startswith("library attention forward") for line in lines) == 1
    assert not any("40, 40" in line for line in lines)
    wanted = attend(*(x.to("REF") for x in (q, k, v, seen))).numpy().astype(np.float32)
    assert np.allclose(attend(q, k, v, seen).numpy().astype(np.float32), wanted, atol=0.02)


def test_its_gradient_is_two_more_and_no_scores_are_in_memory(gpu):
    x = some(1, 200, 3, 2, 64)
    lines = steps(grad(lambda x: packed(x).cast("float32").square().sum()), x)
    assert sum(line.startswith("library attention") for line in lines) == 3
    slots = [line for line in lines if line.startswith("s")]
    assert not any("200, 200" in slot for slot in slots)


@pytest.mark.parametrize(
    ("reason", "fn"),
    [
        (
            "float32",
            lambda q, k, v: q.cast("float32").attention(k.cast("float32"), v.cast("float32")),
        ),
        ("two dtypes", lambda q, k, v: q.attention(k, v.cast("float32"))),
        ("what is added", lambda q, k, v: q.attention(k, v, Tensor.ones(8, 8, device="GPU"))),
        ("another size of values", lambda q, k, v: q.attention(k, v[..., :8])),
        ("leads that are broadcast", lambda q, k, v: q.attention(k[:, :1], v[:, :1])),
        ("wide heads", lambda q, k, v: q.repeat(1, 1, 1, 9).attention(k.repeat(1, 1, 1, 9), v)),
        ("one query", lambda q, k, v: q[:, :, :1].attention(k, v)),
        ("keys that all have", vmap(lambda q, k, v: q.attention(k, v), (0, None, None))),
    ],
)
def test_what_kernels_do_not_take_becomes_its_body(gpu, reason, fn):
    q, k, v = (some(2, 2, 8, 16, seed=i) for i in range(3))
    assert whole(fn, q, k, v) == []


def test_one_query_of_heads_that_share_keys_is_a_tile_of_the_kernel(gpu):
    q, k, v = some(2, 4, 1, 16), some(2, 2, 40, 16, seed=1), some(2, 2, 40, 16, seed=2)
    assert len(whole(lambda q, k, v: q.attention(k, v, enable_gqa=True), q, k, v)) == 1


def test_vmap_of_it_is_one_with_more_leads(gpu):
    q, k, v = (some(2, 2, 8, 16, seed=i) for i in range(3))
    fn = vmap(lambda q, k, v: q.attention(k, v, is_causal=True))
    assert len(whole(fn, q, k, v)) == 1
    wanted = q.attention(k, v, is_causal=True).numpy().astype(np.float32)
    assert np.array_equal(fn(q, k, v).numpy().astype(np.float32), wanted)


@needs_compiler
def test_forward_mode_and_second_order_go_through_the_body(gpu):
    q, k, v = (some(1, 1, 8, 8, seed=i) for i in range(3))
    f = lambda q: q.attention(k, v).cast("float32").square().sum()  # noqa: E731
    _, along = jvp(f, (q,), (q,))
    assert abs(along.item() - (grad(f)(q).cast("float32") * q.cast("float32")).sum().item()) < 0.1
    second = grad(lambda q: grad(f)(q).cast("float32").sum())(q)
    wide = [x.to("CPU").cast("float32") for x in (q, k, v)]
    g = lambda q: q.attention(*wide[1:]).square().sum()  # noqa: E731
    wanted = grad(lambda q: grad(g)(q).sum())(wide[0]).numpy()
    found = second.numpy().astype(np.float32)
    assert np.linalg.norm(found - wanted) < 0.05 * np.linalg.norm(wanted)


def test_operands_that_are_one_node_have_one_gradient(gpu):
    x = some(1, 1, 8, 8)
    lines = whole(grad(lambda x: x.attention(x, x).cast("float32").sum()), x)
    assert [line.split()[2] for line in lines] == []


def test_a_module_of_a_gradient_has_what_it_is_made_of(gpu):
    q, k, v = (some(1, 1, 8, 8, seed=i) for i in range(3))
    lowered = lower(grad(lambda q: q.attention(k, v).cast("float32").sum()))(q)
    assert "gradient_of" in lowered.graph()
    assert "GradientOf" not in str(lowered.module())


def test_another_gpu_takes_nothing_whole():
    with compiled_anew(), fake_gpu() as gpu:
        gpu.capability = 80
        assert whole(packed, some(1, 40, 3, 2, 64)) == []


@needs_compiler
@pytest.mark.parametrize("case", cases.SMALL, ids=str)
def test_values_and_gradients_are_those_of_float64(gpu, case):
    cases.check(case, np.random.default_rng(sum(case[:6])))


@needs_compiler
def test_a_nan_stays_in_the_rows_that_see_it(gpu):
    q, k, v = (np.random.default_rng(i).standard_normal((1, 1, 9, 8)) for i in range(3))
    q[..., 2, 0] = k[..., 7, 0] = np.nan
    on = [Tensor(x.astype(np.float32), device="GPU").cast("bfloat16") for x in (q, k, v)]
    rows = np.isnan(on[0].attention(*on[1:], is_causal=True).numpy().astype(np.float32)).any(-1)
    assert rows[0, 0].nonzero()[0].tolist() == [2, 7, 8]


@pytest.mark.gpu
@pytest.mark.skipif(bool(problem()), reason=problem() or "there is a GPU")
@pytest.mark.parametrize("case", [*cases.SMALL, *cases.LARGE], ids=str)
def test_on_a_gpu_values_and_gradients_are_those_of_float64(case):
    cases.check(case, np.random.default_rng())
