"""Product, row-wise work, product in one kernel: attention and chains like it, in every form."""

from dataclasses import replace
from textwrap import dedent

import numpy as np
import pytest

from adjoint import Tensor, Variable, checkpoint, grad, jit, lower, vmap
from adjoint.backends.cpu import BACKEND
from adjoint.engine.program_cache import PROGRAMS
from adjoint.kernel.row_stops import is_known
from tests.support.covering import covering
from tests.support.levels import levels_with_tiles
from tests.support.processes import printed

pytestmark = [
    pytest.mark.usefixtures("cpu"),
    pytest.mark.skipif(BACKEND.target.tile is None, reason="no fused multiply-adds"),
]
PANEL = "panel of rows: "


def normal(*shape, seed=0, dtype=np.float32):
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return Tensor(values.astype(dtype)).realize()


def whole(*shape, seed=0):
    """Small whole numbers: no sum of their products is rounded."""
    values = np.random.default_rng([seed, *shape]).integers(-3, 4, shape)
    return Tensor(values.astype(np.float32)).realize()


@pytest.fixture
def forced(monkeypatch):
    """Tiles for products of any length, panels of few rows; a switch turns panels off."""
    limits = replace(BACKEND.target.limits, tiled_products=1, panel_bytes=40_000, panel_rows=1)

    def switch(on):
        chosen = limits if on else replace(limits, panel_row=0)
        monkeypatch.setattr(BACKEND, "target", replace(BACKEND.target, limits=chosen))
        PROGRAMS.clear()

    yield switch
    PROGRAMS.clear()


def values(fn, *args):
    found = jit(fn)(*args)
    return [x.numpy() for x in (found if isinstance(found, (tuple, list)) else (found,))]


def same_bits(switch, fn, *args):
    """The values of a function that is a panel, whose bits are those of separate kernels."""
    switch(True)
    assert PANEL in lower(fn)(*args).explain()
    one = values(fn, *args)
    switch(False)
    assert PANEL not in lower(fn)(*args).explain()
    for mine, other in zip(one, values(fn, *args), strict=True):
        assert mine.tobytes() == other.tobytes()
    return one


def softmax(x):
    with np.errstate(invalid="ignore"):
        grown = np.exp(x - x.max(-1, keepdims=True))
        return np.nan_to_num(grown / grown.sum(-1, keepdims=True))


def reference(q, k, v, mask=None, is_causal=False, enable_gqa=False):
    q, k, v = (x.numpy().astype(np.float64) for x in (q, k, v))
    if enable_gqa:
        k, v = (np.repeat(x, q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if is_causal:
        mask = Tensor(np.tril(np.ones(scores.shape[-2:], bool)))
    if mask is not None:
        mask = mask.numpy()
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    return softmax(scores) @ v


# ---- attention in all its forms


@pytest.mark.parametrize(
    ("sizes", "head"),
    covering(
        [(24, 32), (61, 61), (50, 95), (130, 64), (40, 600)], [32, 33, 40, 64, 100], together=1
    ),
)
def test_attention_of_any_size(forced, sizes, head):
    rows, columns = sizes
    args = normal(2, rows, head), normal(2, columns, head, seed=1), normal(2, columns, 47, seed=2)
    (found,) = same_bits(forced, lambda q, k, v: q.scaled_dot_product_attention(k, v), *args)
    np.testing.assert_allclose(found, reference(*args), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
def test_batches_and_types(forced, lead, dtype):
    args = [normal(*lead, 45, 40, seed=i, dtype=dtype) for i in range(3)]
    fn = lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True)  # noqa: E731
    (found,) = same_bits(forced, fn, *args)
    np.testing.assert_allclose(found, reference(*args, is_causal=True), rtol=1e-4, atol=1e-5)


MASKS = {
    "kept": np.random.default_rng(1).random((45, 50)) < 0.5,
    "rows without anything": np.random.default_rng(1).random((45, 50)) < 0.03,
    "added": np.random.default_rng(1).standard_normal((2, 4, 45, 50)).astype(np.float32),
    "added per column": np.random.default_rng(1).standard_normal((4, 1, 50)).astype(np.float32),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("shared", [1, 4])
def test_masks_and_shared_heads(forced, mask, shared):
    heads = 4 // shared
    args = [normal(2, 4, 45, 40), *(normal(2, heads, 50, 40, seed=i) for i in (1, 2)), Tensor(mask)]
    fn = lambda *args: args[0].scaled_dot_product_attention(*args[1:], enable_gqa=True)  # noqa: E731
    (found,) = same_bits(forced, fn, *args)
    wanted = reference(*args, enable_gqa=True)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_heads_beside_one_another_in_memory(forced):
    def split(x):
        return x.reshape(2, 50, 4, 40).permute(0, 2, 1, 3)

    def fn(x):
        q, k, v = (split(x[..., i * 160 : i * 160 + 160]) for i in range(3))
        return q.scaled_dot_product_attention(k, v, is_causal=True).permute(0, 2, 1, 3)

    x = normal(2, 50, 480)
    (found,) = same_bits(forced, fn, x)
    parts = [split(x[..., i * 160 : i * 160 + 160]) for i in range(3)]
    wanted = reference(*parts, is_causal=True).transpose(0, 2, 1, 3)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_gradients_have_the_bits_of_separate_kernels(forced):
    args = [normal(2, 45, 40, seed=i) for i in range(3)]
    fn = lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True)  # noqa: E731
    by = grad(lambda q, k, v: (fn(q, k, v) * q).sum(), argnums=(0, 1, 2))
    found = same_bits(forced, by, *args)
    wanted = by(*[x.to("REF") for x in args])
    for mine, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, other.numpy(), rtol=1e-3, atol=1e-4)


def test_gradients_of_gradients_and_members_of_a_batch(forced):
    fn = lambda q, k, v: q.scaled_dot_product_attention(k, v)  # noqa: E731
    args = [normal(3, 40, 40, seed=i) for i in range(3)]
    same_bits(forced, vmap(fn), *args)
    slope = grad(lambda q, k, v: (fn(q, k, v) * v).sum())
    same_bits(forced, grad(lambda q, k, v: (slope(q, k, v) * q).sum()), *args)


def test_dropout_between_softmax_and_values(forced):
    q, k, v = (normal(2, 45, 40, seed=i) for i in range(3))
    keep = Tensor(np.random.default_rng(3).random((2, 45, 45)) < 0.8)
    fn = lambda q, k, v: (keep.where((q @ k.mT).softmax(-1), 0.0) / 0.8) @ v  # noqa: E731
    (found,) = same_bits(forced, fn, q, k, v)
    weights = softmax(q.numpy().astype(np.float64) @ np.swapaxes(k.numpy(), 1, 2)) * keep.numpy()
    np.testing.assert_allclose(found, weights / 0.8 @ v.numpy(), rtol=1e-4, atol=1e-5)


# ---- chains that are no attention

A, B, C = normal(100, 60), normal(60, 80, seed=1), normal(80, 48, seed=2)
ROW, SCALE = normal(80, seed=3), normal(48, seed=4)


def grown(x):
    return (x - x.max(-1, keepdim=True)).exp()


@pytest.mark.parametrize(
    "fn",
    [
        lambda a, b, c: ((a @ b + ROW).layernorm() * ROW) @ c + SCALE,
        lambda a, b, c: ((a @ b).softmax(-1) @ c).relu() * SCALE,
        lambda a, b, c: (grown(a @ b) @ c) / grown(a @ b).sum(-1, keepdim=True),
        lambda a, b, c: ((a @ b) / (a @ b).abs().max(-1, keepdim=True)) @ c,
        lambda a, b, c: ((a @ b).softmax(-1) @ c, (a @ b).softmax(-1)),
        lambda a, b, c: ((a @ b).softmax(-1) @ c, (a @ b).logsumexp(-1)),
        lambda a, b, c: ((a @ b).softmax(-1) @ c, (a @ b).max(-1)),
        lambda a, b, c: ((a @ b).softmax(-1) @ c).softmax(-1),
        lambda a, b, c: (a @ b).softmax(-1) @ c @ (c.T @ c).softmax(-1),
        lambda a, b, c: ((a @ b) * (a.sin() @ b)).softmax(-1) @ c,
    ],
)
def test_other_chains(forced, fn):
    for found in same_bits(forced, fn, A, B, C):
        assert np.isfinite(found).all()


@pytest.mark.parametrize(
    "fn",
    [
        lambda a, b, c: ((a @ b).softmax(-1) @ c, a @ b),
        lambda a, b, c: ((a @ b).softmax(-1) @ c, (a @ b).sum(0)),
        lambda a, b, c: ((a @ b).softmax(0) @ c, (a @ b).T @ a),
        lambda a, b, c: (a @ b)[:, ::-1].softmax(-1) @ c,
        lambda a, b, c: (a @ b).pad(((0, 0), (0, 3))).softmax(-1)[:, :80] @ c,
        lambda a, b, c: ((a @ b).softmax(-1) @ C[:, :40]) @ C[:40] + A[:, :48],
        lambda a, b, c: (a @ b).softmax(-1)[Tensor(np.arange(99, -1, -1))] @ c,
    ],
)
def test_scores_that_something_else_wants(forced, fn):
    forced(True)
    one = values(fn, A, B, C)
    forced(False)
    for mine, other in zip(one, values(fn, A, B, C), strict=True):
        assert mine.tobytes() == other.tobytes()


def test_a_result_as_wide_as_the_scores_beside_them(forced):
    """Columns of the result are not places of a row, though there are as many."""
    square = normal(80, 80, seed=9)
    fn = lambda a, b: (a @ b).softmax(-1) @ square + (a @ b).softmax(-1)  # noqa: E731
    forced(True)
    one = values(fn, A, B)
    forced(False)
    assert one[0].tobytes() == values(fn, A, B)[0].tobytes()


def test_infinities_and_nothing_at_all_go_through(forced):
    q, k, v = (normal(40, 40, seed=i).numpy().copy() for i in range(3))
    q[3], k[5, 2], v[7, 7] = np.nan, np.inf, np.inf
    args = [Tensor(x).realize() for x in (q, k, v)]
    fn = lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True)  # noqa: E731
    (found,) = same_bits(forced, fn, *args)
    assert np.isnan(found[3]).all()


# ---- what a program makes of it


def test_scores_are_not_in_memory():
    args = [normal(4, 1024, 64, seed=i) for i in range(3)]
    report = lower(lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True))(*args)
    assert (report.counts["kernels"], report.counts["library"]) == (1, 0)
    assert report.plan.arena == 0  # nothing but operands and the result


def test_the_reason_is_told():
    args = [normal(4, 128, 64, seed=i) for i in range(3)]
    report = lower(lambda q, k, v: q.scaled_dot_product_attention(k, v))(*args).explain()
    assert "panel of rows: rows between products stay in scratch" in report


def test_a_batch_that_varies_changes_no_bit():
    fn = lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True)  # noqa: E731
    some = {name: {0: Variable("batch", 1, 16)} for name in "qkv"}
    varying = jit(fn, dynamic=some)
    for batch in (3, 16, 1, 5):
        args = [normal(batch, 128, 64, seed=i) for i in range(3)]
        assert varying(*args).numpy().tobytes() == fn(*args).numpy().tobytes()


SCRIPT = dedent("""
    import hashlib, numpy as np
    from adjoint import Tensor, grad
    found = hashlib.sha256()
    for dtype in (np.float32, np.float64):
        for length, head in ((200, 40), (133, 64), (600, 33)):
            generator = np.random.default_rng(length)
            made = [generator.standard_normal((3, length, head)).astype(dtype) for _ in range(3)]
            q, k, v = map(Tensor, made)
            attend = lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True)
            found.update(attend(q, k, v).numpy().tobytes())
            for x in grad(lambda q, k, v: (attend(q, k, v) * v).sum(), argnums=(0, 1, 2))(q, k, v):
                found.update(x.numpy().tobytes())
    print(found.hexdigest())
""")


def test_neither_threads_nor_the_width_of_registers_change_a_bit():
    settings = [{"ADJOINT_THREADS": count} for count in ("1", "5")]
    settings += [{"ADJOINT_CPU": n, "ADJOINT_THREADS": "2"} for n in levels_with_tiles()]
    assert len({printed("-c", SCRIPT, **setting) for setting in settings}) == 1


# ---- scores that a mask throws away, weights that are zeros


def places(length):
    column = Tensor(np.arange(length, dtype=np.int32))
    return column.reshape(-1, 1), column.reshape(1, -1)


def counted(length):
    """The same, as the loops of a kernel count them."""
    column = Tensor.arange(length)
    return column.reshape(-1, 1), column.reshape(1, -1)


def masked(keep, other=-100.0, places=places):
    def fn(q, k, v):
        row, column = places(q.shape[-2])
        return keep(row, column).where(q @ k.mT, other).softmax(-1) @ v

    return fn


def shares(q, k, v):
    """No softmax: what is left of a row, as parts of its sum."""
    row, column = counted(q.shape[-2])
    scores = (column <= row).where((q @ k.mT).exp(), 0.0)
    return scores / scores.sum(-1, keepdim=True) @ v


def by_column(q, k, v):
    row, column = counted(q.shape[-2])
    scores = (column <= row).where(q @ k.mT, -np.inf)
    return (scores - scores.amax(-1, keepdim=True)).exp() * column @ v


MASKED = {
    "causal": lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True),
    "strictly below": masked(lambda row, column: column < row),
    "near": masked(lambda row, column: column <= row + 40),
    "near, counted": masked(lambda row, column: column <= row + 40, -100.0, counted),
    "near, and nothing else": masked(lambda row, column: column <= row + 40, -np.inf, counted),
    "half as far": masked(lambda row, column: column * 2 <= row, -np.inf, counted),
    "shares": shares,
    "by column": by_column,
    "above": masked(lambda row, column: row <= column),
    "every other": masked(lambda row, column: column <= row * 2),
    "padded": lambda q, k, v: q.scaled_dot_product_attention(k, v, places(200)[1] < 77),
    "and all of them": lambda q, k, v: (
        masked(lambda row, column: column <= row)(q, k, v)
        * ((q @ k.mT).softmax(-1) @ v)
        * (q @ k.mT).sum(-1, keepdim=True)
    ),
}


@pytest.mark.parametrize(
    ("name", "odd"), covering(list(MASKED), ["nothing", "an infinity", "a NaN"], together=1)
)
def test_what_a_mask_throws_away_changes_no_bit(forced, name, odd):
    fn = MASKED[name]
    q, k, v = (normal(2, 200, 40, seed=i).numpy().copy() for i in range(3))
    if odd == "an infinity":
        v[0, 150, 3] = k[1, 170, 5] = np.inf
    if odd == "a NaN":
        v[1, 199, 39] = q[0, 100, 0] = k[0, 160, 7] = np.nan
    args = [Tensor(x).realize() for x in (q, k, v)]
    (found,) = same_bits(forced, fn, *args)
    assert np.isnan(found).any() == (odd != "nothing")


STOPPED = {
    "causal": True,
    "near, and nothing else": True,
    "half as far": True,
    "shares": True,
    "near, counted": False,  # the maximum of a row may be what takes the place of scores
    "by column": False,  # what is made of that differs from column to column
}


@pytest.mark.parametrize("name", STOPPED)
def test_rows_end_where_a_mask_throws_the_rest_away(forced, monkeypatch, name):
    found = []
    ask = lambda *args: found.append(is_known(*args)) or found[-1]  # noqa: E731
    monkeypatch.setattr("adjoint.kernel.panels.is_known", ask)
    forced(True)
    lower(MASKED[name])(*(normal(2, 200, 40, seed=i) for i in range(3))).kernels()
    assert found == [STOPPED[name]]


@pytest.mark.parametrize("other", [-np.inf, 0.25])
def test_rows_that_a_mask_leaves_nothing_of_are_what_they_were(forced, other):
    fn = masked(lambda row, column: column <= row - 70, other, counted)
    (found,) = same_bits(forced, fn, *(normal(2, 200, 40, seed=i) for i in range(3)))
    assert np.isnan(found[:, :70]).all() == np.isinf(other)
    assert np.isfinite(found[:, 70:]).all()


@pytest.mark.parametrize("length", [256, 128, 40])
@pytest.mark.parametrize("kind", ["sum", "max", "var"])
def test_a_reduction_of_rows_of_another_length_is_right_where_it_is_a_result_too(kind, length):
    """Rows of the panel have 128 places; what scales them is reduced over `length`."""

    def chain(q, k, v, z):
        scale = getattr(z, kind)(-1, keepdim=True) * 0.1
        return ((q @ k.transpose(1, 2)) * scale).softmax(-1) @ v, scale

    shapes = [(2, 256, 64), (2, 128, 64), (2, 128, 48), (2, 256, length)]
    q, k, v, z = (normal(*shape, seed=i) for i, shape in enumerate(shapes))
    assert PANEL in lower(chain)(q, k, v, z).explain(measure=False)
    a, b, c, d = (x.numpy().astype(np.float64) for x in (q, k, v, z))
    found = {"sum": d.sum, "max": d.max, "var": lambda *at: d.var(*at, ddof=1, keepdims=True)}[kind]
    scale = (found(-1) if kind == "var" else found(-1, keepdims=True)) * 0.1
    scores = a @ b.transpose(0, 2, 1) * scale
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    wanted = weights / weights.sum(-1, keepdims=True) @ c
    for fn in (chain, jit(chain)):
        result, returned = fn(q, k, v, z)
        np.testing.assert_allclose(returned.numpy(), scale, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-3, atol=1e-4)


def test_sums_of_several_blocks_that_are_negative_zeros_keep_their_sign(forced):
    q, k = normal(1, 30, 32), normal(1, 1100, 32, seed=1)
    v = Tensor(np.full((1, 1100, 32), -1e-44, np.float32)).realize()  # times a weight: -0.0
    same_bits(forced, lambda q, k, v: (q @ k.transpose(1, 2) * 0.01).softmax(-1) @ v, q, k, v)


def test_a_number_of_the_row_is_computed_again_for_the_results(monkeypatch):
    """One row: what has no axes has the same place in the loops of the row and of the results."""
    small = dict.fromkeys(("tiled_products", "tiled_columns", "panel_rows"), 1)
    limits = replace(BACKEND.target.limits, **small, loop_products=0)
    a, b = normal(2, dtype=np.float64), normal(2, 2, dtype=np.float64)

    def gradient(a, b):
        total = lambda a, b: (y := a @ b).sum() + (a.min() + y.logsumexp(0)).atan().tanh()  # noqa: E731
        return grad(checkpoint(total), (0, 1))(a, b)

    wanted = values(gradient, a, b)
    monkeypatch.setattr(BACKEND, "target", replace(BACKEND.target, limits=limits))
    PROGRAMS.clear()
    for mine, other in zip(values(gradient, a, b), wanted, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)
    PROGRAMS.clear()
