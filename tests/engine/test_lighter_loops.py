"""Loops that do only what must be done turn by turn give what loops that do all of it give."""

from dataclasses import replace
from textwrap import dedent

import numpy as np
import pytest

from adjoint import Tensor, grad, jit, jvp, lower, scan, value_and_grad, vmap
from adjoint.backends.cpu import BACKEND
from adjoint.engine import passes
from adjoint.engine.program_cache import PROGRAMS
from adjoint.stages import ControlStep
from adjoint.transforms.checkpoint import checkpoint
from tests.anew import compiled_anew
from tests.support.processes import printed

pytestmark = pytest.mark.usefixtures("cpu")
in_tiles = pytest.mark.skipif(BACKEND.target.tile is None, reason="no fused multiply-adds")


def real(*shape, seed=0):
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return Tensor((values * 0.3).astype(np.float32)).realize()


X, H = real(7, 26, 24), real(26, 35, seed=1)
W, V, B = real(35, 35, seed=2), real(24, 35, seed=3), real(35, seed=4)


def rnn(w, v, b, x, reverse=False):
    def step(h, now):
        h = (h @ w + now @ v + b).tanh()
        return h, h * 2

    return scan(step, H, x, reverse=reverse)


def lstm(w, v, b, x):
    def step(carry, now):
        h, c = carry
        i, f, o, u = [(h @ w + now @ v + b * n) for n in range(4)]
        c = f.sigmoid() * c + i.sigmoid() * u.tanh()
        return (o.sigmoid() * c.tanh(), c), None

    return scan(step, (H, H * 0), x)[0]


def two_layers(w, v, b, x):
    rows = rnn(w, v, b, x)[1]
    return scan(lambda h, now: ((h @ w + now @ w).tanh(), h), H, rows, reverse=True)


def sums(w, v, b, x):
    """One that is read in every turn, one whose values are rows, and one that nothing reads."""

    def step(carry, now):
        read, seen, alone = carry
        product = now.T @ now
        read = read + product * read.sum()
        seen = seen + product
        return (read, seen, alone + product), (seen, read[0])

    zero = Tensor.zeros(48, 48)
    return scan(step, (zero, zero, zero + 1), x.reshape(7, 13, 48))


def swapped(w, v, b, x):
    def step(carry, now):
        a, b_, n = carry
        return (b_, (a @ w).tanh(), n + 1), (a, n)

    return scan(step, (H, H * 2, Tensor(0)), x)


def nested(w, v, b, x):
    def outer(h, now):
        last, rows = scan(lambda h, _: ((h @ w + now @ v).tanh(), h), h, x[:3])
        return last, rows.sum(0)

    return scan(outer, H, x)


def total(fn):
    def one(w, v, b, x):
        found, leaves = fn(w, v, b, x), []

        def walk(tree):
            if isinstance(tree, (tuple, list)):
                for part in tree:
                    walk(part)
            elif tree is not None:
                leaves.append(tree)

        walk(found)
        return sum((leaf * leaf).cast("float32").sum() for leaf in leaves)

    return one


def last_only(w, v, b, x):
    return rnn(w, v, b, x)[0]


def kept_again(w, v, b, x):
    step = checkpoint(lambda h, now: (h @ w + now @ v).tanh())
    return scan(lambda h, now: (step(h, now), None), H, x)[0]


FORMS = {
    "rnn": rnn,
    "reversed": lambda *a: rnn(*a, reverse=True),
    "last alone": last_only,
    "lstm": lstm,
    "two layers": two_layers,
    "sums": sums,
    "swapped": swapped,
    "nested": nested,
    "checkpoint": kept_again,
}
HOW = {
    "values": lambda fn: fn,
    "gradient": lambda fn: value_and_grad(total(fn), argnums=(0, 1, 2, 3)),
    "by weights": lambda fn: grad(total(fn), argnums=(0, 2)),
    "second": lambda fn: lambda w, *a: jvp(grad(lambda w: total(fn)(w, *a)), (w,), (w,)),
    "batch": lambda fn: lambda w, *a: vmap(lambda n: total(fn)(w * n, *a))(B[:3]),
}


def leaves_of(tree):
    if isinstance(tree, (tuple, list)):
        return [leaf for part in tree for leaf in leaves_of(part)]
    return [] if tree is None else [tree.numpy()]


@pytest.fixture
def forced(monkeypatch):
    """Tiles for products of any length; a switch leaves loops as they are written."""
    limits = replace(BACKEND.target.limits, tiled_products=1)

    def switch(lighter, **numbers):
        target = replace(BACKEND.target, limits=replace(limits, **numbers))
        monkeypatch.setattr(BACKEND, "target", target)
        if not lighter:
            monkeypatch.setattr(passes, "lighter_loops", lambda roots, target: list(roots))
        PROGRAMS.clear()

    with compiled_anew():
        yield switch
    PROGRAMS.clear()


@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_no_bit_changes(form, how, forced):
    fn = how(form)
    forced(True)
    found = leaves_of(jit(fn)(W, V, B, X))
    forced(False)
    for mine, other in zip(found, leaves_of(jit(fn)(W, V, B, X)), strict=True):
        assert mine.tobytes() == other.tobytes()


def controls(fn, *args):
    return [s for s in lower(fn)(*args).plan.steps if isinstance(s, ControlStep)]


def products(step):
    return [s.strategy.name for s in step.parts[0].steps].count("tiles")


@in_tiles
def test_products_of_sequences_are_made_before_the_loop(forced):
    def outside():
        steps = lower(rnn)(W, V, B, X).plan.steps
        return [step.strategy.name for step in steps].count("tiles")

    forced(True)
    assert outside() == 1
    forced(True, kept_bytes=0)
    assert outside() == 0


@in_tiles
def test_a_gradient_computes_no_state_again_and_adds_products_up_behind_its_loop(forced):
    forced(True)
    first, back, *apart = controls(grad(total(last_only), argnums=(0, 1, 2)), W, V, B, X)
    assert products(first) == products(back) == 1
    assert [len(step.parts[0].steps) for step in apart] == [1, 1, 1]  # w, v and b


def test_results_that_nothing_uses_are_not_computed(forced):
    forced(True)
    (step,) = controls(last_only, W, V, B, X)
    assert len(step.results) == 1
    (step,) = controls(rnn, W, V, B, X)
    assert len(step.results) == 2


def test_new_carries_are_written_over_old_ones_where_nothing_reads_them_later(forced):
    forced(True)
    (step,) = controls(lstm, W, V, B, X)
    assert step.kept == (1,)  # the product in the kernel reads all of the other
    assert controls(swapped, W, V, B, X)[0].kept != (0, 1, 2)


def test_a_loop_of_one_kernel_is_one_launch_with_any_number_of_threads():
    program = dedent("""
        import hashlib, numpy as np
        from adjoint import Tensor, scan
        x = np.random.default_rng(0).standard_normal((9, 70_000))
        x = Tensor(x.astype(np.float32)).realize()
        def step(c, now):
            c = c * 0.5 + now
            return c, c * c
        for reverse in (False, True):
            last, rows = scan(step, x[0], x, reverse=reverse)
            held = np.asarray(x.numpy()[0]).copy()
            for t in reversed(range(9)) if reverse else range(9):
                held = held * np.float32(0.5) + x.numpy()[t]
            assert np.array_equal(held, last.numpy())
            print(hashlib.md5(last.numpy().tobytes() + rows.numpy().tobytes()).hexdigest())
    """)
    found = {printed("-c", program, ADJOINT_THREADS=str(n)) for n in (1, 2, 4)}
    assert len(found) == 1


def test_a_loop_without_turns():
    last, rows = scan(lambda h, x: (h @ W + x @ V, h), H, X[:0])
    np.testing.assert_array_equal(last.numpy(), H.numpy())
    assert rows.shape == (0, 26, 35)
