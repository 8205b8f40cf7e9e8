"""Elements that need several products, or columns of one, are finished in one kernel of tiles."""

from dataclasses import replace
from textwrap import dedent

import numpy as np
import pytest

from adjoint import Tensor, Variable, counters, jit, lower, value_and_grad, vmap
from adjoint.backends.cpu import BACKEND
from adjoint.engine.program_cache import PROGRAMS
from adjoint.schedule import fuse
from tests.anew import compiled_anew
from tests.support.covering import covering
from tests.support.processes import printed

pytestmark = [
    pytest.mark.usefixtures("cpu"),
    pytest.mark.skipif(BACKEND.target.tile is None, reason="no fused multiply-adds"),
]


def real(*shape, seed=0, dtype=np.float32):
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return Tensor((values * 0.3).astype(dtype)).realize()


def gated(x, w, v):
    return (x @ w).silu() * (x @ v)


def added(x, w, v):
    return x @ w + (x * 2) @ v + x @ (w * v)


def halves(x, w, v):
    g = x @ w
    n = w.shape[1] // 2
    return g[:, :n].sigmoid() * g[:, n : 2 * n]


def gates(x, w, v):
    g = x @ w + v[0]
    i, f, o, u = (g[:, n * 9 : n * 9 + 33] for n in range(4))  # which overlap
    c = f.sigmoid() * u + i.sigmoid() * u.tanh()
    return o.sigmoid() * c.tanh(), c


def some_columns(x, w, v):
    return (x @ w)[:, 3:36].exp() + (x @ v)[:, 30:63]


def of_a_batch(x, w, v):
    several = x.reshape(1, *x.shape) * v[:3, 0].reshape(3, 1, 1)
    g = several @ w
    return g[:, :, :33] * (several @ v)[:, :, 5:38].tanh()


def of_other_lengths(x, w, v):
    return (x @ w) * (x[:, :20] @ v[:20]) + x[:, :9] @ w[-9:]


def rows_too(x, w, v):
    g = x @ w
    return g[:23, :33] + g[2:25, 33:66]  # other rows: not the same place


def used_twice(x, w, v):
    g, p = x @ w, x @ v
    return g * p, g + p, p.exp()


def two_convolutions(x, w, v):
    picture = (x[:25, :25] * 1.5).reshape(1, 1, 25, 25)
    one, two = w.reshape(-1)[:90].reshape(10, 1, 3, 3), v.reshape(-1)[:90].reshape(10, 1, 3, 3)
    return picture.conv2d(one).tanh() * picture.conv2d(two)


FORMS = [
    gated, added, halves, gates, some_columns, of_a_batch, of_other_lengths, rows_too, used_twice,
    two_convolutions,
]  # fmt: skip
SIZES = {
    "odd": (29, 43, 70),
    "whole tiles": (48, 32, 128),
    "long": (25, 1100, 66),
}
HOW = {
    "values": lambda fn: fn,
    "gradient": lambda fn: value_and_grad(
        lambda *a: sum((p * p).sum() for p in parts(fn(*a))), argnums=(0, 1, 2)
    ),
}


def parts(found):
    return found if isinstance(found, (tuple, list)) else [found]


def leaves_of(tree):
    if isinstance(tree, (tuple, list)):
        return [leaf for part in tree for leaf in leaves_of(part)]
    return [tree.numpy()]


def operands(size, dtype=np.float32):
    m, k, n = SIZES[size]
    return real(m, k, dtype=dtype), real(k, n, seed=1, dtype=dtype), real(k, n, seed=2, dtype=dtype)


@pytest.fixture
def forced(monkeypatch):
    """Tiles for products of any length; a switch leaves every product to a kernel of its own."""
    limits = replace(BACKEND.target.limits, tiled_products=1, windowed_rows=1)
    steps = fuse._STEPS

    def switch(several):
        monkeypatch.setattr(BACKEND, "target", replace(BACKEND.target, limits=limits))
        monkeypatch.setattr(fuse, "_STEPS", steps if several else 0)
        PROGRAMS.clear()

    with compiled_anew():
        yield switch
    PROGRAMS.clear()


@pytest.mark.parametrize(("form", "size", "how"), covering(FORMS, list(SIZES), list(HOW)))
def test_no_bit_changes(form, size, how, forced):
    fn, args = HOW[how](form), operands(size)
    forced(True)
    found = leaves_of(jit(fn)(*args))
    forced(False)
    for mine, other in zip(found, leaves_of(jit(fn)(*args)), strict=True):
        assert mine.tobytes() == other.tobytes()


@pytest.mark.parametrize("form", [gated, gates])
def test_doubles_and_batches(form, forced):
    args = operands("odd", np.float64)
    batched = vmap(lambda x: form(x, *args[1:]))
    wide = args[0].reshape(1, 29, 43) * Tensor(np.array([[[1.0]], [[0.5]]]))
    found = {}
    for on in (True, False):
        forced(on)
        found[on] = leaves_of((form(*args), jit(batched)(wide)))
    for mine, other in zip(*found.values(), strict=True):
        assert mine.tobytes() == other.tobytes()


def steps(fn, *args):
    return len(lower(fn)(*args).plan.steps)


@pytest.mark.parametrize("form", [gated, halves, gates, some_columns, of_a_batch, two_convolutions])
def test_they_are_one_kernel(form, forced):
    args = operands("odd")
    before = form in (of_a_batch, two_convolutions)  # a kernel makes the operand of both
    forced(True)
    assert steps(form, *args) == 1 + before
    assert "tiles" in lower(form)(*args).explain(measure=False)
    forced(False)
    assert steps(form, *args) > 1 + before


def test_steps_of_an_unrolled_loop_stay_alike(forced):
    forced(True)
    x, w, _ = operands("odd")
    w = w[:, :66].realize()

    def unrolled(x, w):
        for _ in range(9):
            g = x @ w
            x = x + (g[:, :33].sigmoid() * g[:, 33:66]).sum()
        return x

    programs = list(lower(unrolled)(x, w).plan.programs())
    assert len(programs) <= 4


@pytest.mark.parametrize("form", [gated, halves, gates])
def test_sizes_that_vary_are_compiled_once_and_have_the_bits_of_plain_ones(form):
    _, w, v = real(1), real(300, 96, seed=1), real(300, 96, seed=2)
    varying = jit(form, dynamic={"x": {0: Variable("rows", 1, 100)}})
    new = []
    for rows in (77, 100, 48, 60):
        x = real(rows, 300, seed=rows)
        with counters() as counted:
            found = leaves_of(varying(x, w, v))
        new.append(counted.sources)
        for mine, other in zip(found, leaves_of(form(x, w, v)), strict=True):
            assert mine.tobytes() == other.tobytes()
    assert sum(new[1:]) == 0


def test_no_bit_depends_on_threads():
    program = dedent("""
        import hashlib, numpy as np
        from adjoint import Tensor, jit
        r = np.random.default_rng(0)
        x, w, v = (Tensor(r.standard_normal(s).astype(np.float32)) for s in
                   ((130, 200), (200, 330), (200, 330)))
        g = lambda x, w, v: (x @ w).silu() * (x @ v)
        h = lambda x, w: (lambda g: g[:, :165].sigmoid() * g[:, 165:])(x @ w)
        found = jit(g)(x, w, v).numpy().tobytes() + jit(h)(x, w).numpy().tobytes()
        print(hashlib.md5(found).hexdigest())
    """)
    assert len({printed("-c", program, ADJOINT_THREADS=str(n)) for n in (1, 2, 4)}) == 1
