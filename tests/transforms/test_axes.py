"""Collectives over a named axis of vmap: by hand, in both orders of grad and vmap, nested."""

import numpy as np
import pytest

from adjoint import (
    AdjointError,
    AutodiffError,
    UnknownNameError,
    all_gather,
    axis_index,
    axis_size,
    cond,
    grad,
    hessian,
    jit,
    jvp,
    pmax,
    pmean,
    pmin,
    ppermute,
    psum,
    scan,
    switch,
    vmap,
    while_loop,
)
from tests.support.tensors import f64

X = np.array([1.0, 2.0, 4.0])
ROWS = np.arange(6.0).reshape(3, 2)


def mapped(fn, *args, **options):
    return vmap(fn, axis_name="i", **options)(*args)


ROTATED = [(0, 1), (1, 2), (2, 0)]
VALUES = {
    "sum": (lambda v: psum(v, "i"), [7, 7, 7]),
    "mean": (lambda v: pmean(v, "i"), [7 / 3] * 3),
    "largest": (lambda v: pmax(v, "i"), [4, 4, 4]),
    "smallest": (lambda v: pmin(v, "i"), [1, 1, 1]),
    "number": (lambda v: axis_index("i"), [0, 1, 2]),
    "size": (lambda v: v * axis_size("i"), [3, 6, 12]),
    "gathered": (lambda v: all_gather(v, "i"), [[1, 2, 4]] * 3),
    "rotated": (lambda v: ppermute(v, "i", ROTATED), [4, 1, 2]),
    "sent on": (lambda v: ppermute(v, "i", [(0, 1), (1, 2)]), [0, 1, 2]),
    "a constant summed": (lambda v: v * 0 + psum(1.0, "i"), [3, 3, 3]),
}


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    fn, wanted = VALUES[name]
    np.testing.assert_allclose(mapped(fn, f64(X)).numpy(), wanted)
    np.testing.assert_allclose(jit(vmap(fn, axis_name="i"))(f64(X)).numpy(), wanted)


SMOOTH = {
    "share": lambda v: v / psum(v, "i"),
    "deviation": lambda v: (v - pmean(v, "i")) ** 2,
    "softmax": lambda v: (v - pmax(v, "i")).exp() / psum((v - pmax(v, "i")).exp(), "i"),
    "gathered": lambda v: (all_gather(v, "i") * f64([1, 2, 3])).sum() * v,
    "rotated": lambda v: ppermute(v * v, "i", ROTATED) * v,
    "sent on": lambda v: ppermute(v * v, "i", [(0, 2)]) * v,
    "in a loop": lambda v: scan(lambda c, y: (c * psum(y, "i"), None), v, v.reshape(1))[0],
    "in a branch": lambda v: cond(pmax(v, "i") > 1.5, lambda z: psum(z * z, "i"), lambda z: z, v),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_the_gradient_of_the_sum_is_that_of_differences_in_both_orders(name):
    fn, weights = SMOOTH[name], f64([1.0, -2.0, 0.5])
    total = lambda x: (mapped(fn, x) * weights).sum()  # noqa: E731
    outer = grad(total)(f64(X)).numpy()
    inner = mapped(grad(lambda v, w: fn(v) * w), f64(X), weights).numpy()
    steps = 1e-6 * np.eye(3)
    wanted = [(total(f64(X + h)) - total(f64(X - h))).item() / 2e-6 for h in steps]
    np.testing.assert_allclose(outer, wanted, 1e-6, 1e-8)
    np.testing.assert_allclose(inner, wanted, 1e-6, 1e-8)
    along = jvp(total, (f64(X),), (f64([1, 0, 0]),))[1].item()
    assert along == pytest.approx(outer[0])


DIVIDED = {
    "cond": lambda v: cond(v > 1.5, lambda z: psum(z * z, "i"), lambda z: z, v),
    "switch": lambda v: switch(axis_index("i"), [lambda z: psum(z, "i"), lambda z: z] * 2, v),
    "while": lambda v: while_loop(lambda z: z < 9, lambda z: z + psum(z, "i"), v),
    "bounded while": lambda v: while_loop(lambda z: z < 9, lambda z: z + psum(z, "i"), v, 5),
    "scan in cond": lambda v: cond(
        v > 1.5, lambda z: scan(lambda c, _: (c + psum(c, "i"), None), z, length=2)[0], abs, v
    ),
}


@pytest.mark.parametrize("name", DIVIDED)
def test_where_examples_part_there_is_no_collective(name):
    with pytest.raises(AutodiffError, match=r"E5004.*not all examples"):
        mapped(DIVIDED[name], f64(X))
    with pytest.raises(AutodiffError, match=r"E5004.*not all examples"):
        mapped(grad(DIVIDED[name]) if "while" != name else DIVIDED[name], f64(X))


def test_second_derivatives():
    found = hessian(lambda x: mapped(SMOOTH["deviation"], x).sum())(f64(X))
    np.testing.assert_allclose(found.numpy(), 2 * (np.eye(3) - 1 / 3), atol=1e-12)


def test_nested_axes_have_their_own_sums():
    inner = lambda v: psum(v, "o") + 10 * psum(v, "i") + 0 * v  # noqa: E731
    got = vmap(lambda row: vmap(inner, axis_name="i")(row), axis_name="o")(f64(ROWS))
    wanted = ROWS.sum(0)[None] + 10 * ROWS.sum(1)[:, None]
    np.testing.assert_allclose(got.numpy(), wanted)


def test_the_innermost_of_two_axes_of_one_name_counts():
    got = vmap(lambda row: vmap(lambda v: psum(v, "i"), axis_name="i")(row), axis_name="i")
    np.testing.assert_allclose(got(f64(ROWS)).numpy(), ROWS.sum(1)[:, None] + 0 * ROWS)


def test_pytrees_and_axes_that_are_not_the_first():
    got = mapped(lambda p: psum(p, "i"), {"a": f64(ROWS), "b": f64(ROWS * 2)}, in_axes=1)
    np.testing.assert_allclose(got["a"].numpy(), np.tile(ROWS.sum(1), (2, 1)))
    np.testing.assert_allclose(got["b"].numpy(), np.tile(2 * ROWS.sum(1), (2, 1)))


def test_tiles_are_joined():
    got = mapped(lambda row: all_gather(row, "i", tiled=True), f64(ROWS))
    np.testing.assert_allclose(got.numpy(), np.tile(ROWS.reshape(-1), (3, 1)))


@pytest.mark.parametrize("fn", [psum, pmean, pmax, pmin, all_gather])
def test_a_name_that_nobody_gave_is_an_error(fn):
    with pytest.raises(UnknownNameError, match=r"E2002.*'j'"):
        mapped(lambda v: fn(v, "j"), f64(X))
    with pytest.raises(UnknownNameError, match="none"):
        fn(f64(X), "i")


@pytest.mark.parametrize("pairs", [[(0, 3)], [(0, 1), (2, 1)], [(0, 1), (0, 2)], [(-1, 0)]])
def test_pairs_that_do_not_permute_are_an_error(pairs):
    with pytest.raises(AdjointError, match="E2008"):
        mapped(lambda v: ppermute(v, "i", pairs), f64(X))
