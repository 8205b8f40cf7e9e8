"""Grids that are cut for many threads: pieces that all of them share evenly, and the same bits."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from adjoint import Tensor, grad, lower
from adjoint.backends.cpu import BACKEND
from adjoint.engine.program_cache import PROGRAMS
from adjoint.kernel.sharing import Work
from adjoint.runtime.launch import chunk_of
from adjoint.target import PROCESSORS, TARGETS, tile_of

pytestmark = pytest.mark.usefixtures("cpu")


def target(sharers):
    """A CPU whose kernels so many threads share."""
    tile = replace(tile_of(PROCESSORS["x86_64"]["x86-64-v3"]), sharers=sharers)
    return replace(TARGETS["CPU"], tile=tile)


def weights_gradient(channels):
    """The gradient by the weights of the middle one of three convolutions."""
    random = np.random.default_rng(3)
    x, *weights = (
        Tensor(random.standard_normal(shape).astype(np.float32)).realize()
        for shape in [(4, channels, 16, 16), *[(channels, c, 3, 3) for c in [channels] * 3]]
    )

    def loss(w, x):
        for each in (weights[0], w, weights[2]):
            x = x.conv2d(each, padding=1).relu()
        return x.sum()

    return grad(loss), (weights[1], x)


def large_grids(sharers, fn, args):
    """Pieces of the kernels of 15 MFLOP and more, and their result."""
    with patch.object(BACKEND, "target", target(sharers)):
        PROGRAMS.clear()
        programs = list(lower(fn)(*args).plan.programs())
        grids = [(p.grid.arg.size, p.cost) for p in programs if p.grid is not None]
        found = fn(*args).numpy()
    PROGRAMS.clear()
    return [size for size, cost in grids if size * cost >= 15e6], found


@pytest.mark.parametrize("channels", [32, 64])
def test_gradients_by_weights_have_a_piece_for_each_thread(channels):
    """One piece had all taps of its channels: 32 channels were 4 pieces."""
    fn, args = weights_gradient(channels)
    few, expected = large_grids(0, fn, args)
    many, found = large_grids(16, fn, args)
    assert min(few) < 16
    assert min(many) > 12
    np.testing.assert_array_equal(found.view(np.int32), expected.view(np.int32))


def test_products_are_cut_evenly():
    """171 tiles in 35 parts of 5 are three rounds for 16 threads, and so are 43 of 4; 16 of 11 are
    one, but who is late then has all others wait."""
    assert Work(171, 1, 1, 1 << 22, 16).parts(1, 20) == 43
    assert Work(171, 1, 1, 1 << 22, 16).parts(1, 8) == 43
    assert Work(22, 8, 1, 1 << 18, 16).parts(1, 96) == 6


def test_what_is_not_packed_may_be_cut_smaller():
    packed = Work(43, 4, 1, 1 << 18, 16)
    assert replace(packed, packed=False).parts(1, 96) > packed.parts(1, 96) > 4


def test_what_is_little_is_not_cut():
    """A piece is worth waking a thread."""
    assert Work(8, 1, 1, 1 << 14, 16).parts(1, 96) == 1


def test_taps_are_shared_where_rows_are_few():
    """5 tiles of rows by 2 panels of 9 taps: 30 pieces of 3 tiles for 16 threads."""
    work = Work(5, 2, 9, 1 << 18, 16)
    assert work.together(9) == 3
    assert work.parts(3, 3) == 5


@pytest.mark.parametrize("threads", [5, 8, 16, 48])
@pytest.mark.parametrize("extent", [65, 144, 2049, 36992])
def test_the_busiest_of_many_threads_has_little_more_than_the_others(extent, threads):
    """144 pieces, two at a time, were five rounds for 16 threads: 10, not 9."""
    chunk = chunk_of(extent, 1 << 20, threads)
    pieces = -(-extent // chunk)
    assert -(-pieces // threads) * chunk * threads <= max(1.13 * extent, extent + threads)
