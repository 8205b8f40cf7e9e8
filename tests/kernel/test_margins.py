"""Products with the zeros around pictures, left out where nothing depends on them."""

import ctypes
from textwrap import dedent

import numpy as np
import pytest

from adjoint import Tensor, grad, lower
from adjoint.backends.cpu import BACKEND
from adjoint.backends.cpu.bind import cell_of
from adjoint.kernel.margins import ALIKE
from adjoint.runtime.launch import Cells
from tests.support.levels import levels_with_tiles
from tests.support.processes import printed

pytestmark = [
    pytest.mark.usefixtures("cpu"),
    pytest.mark.skipif(BACKEND.target.tile is None, reason="no fused multiply-adds"),
]

LISTED = "Ptr<i64, local, mutable>[512]"  # scratch for the products that count


def some(*shape, seed=0):
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return values.astype(np.float32)


def lists(fn, *args):
    """Whether a kernel of the program lists its products."""
    return any(LISTED in kernel for kernel in lower(fn)(*args).kernels())


def convolved(x, w, stride=1, gap=1):
    return x.conv2d(w, None, 1, stride, gap, 1)


def of_picture(x, w, g, **how):
    return grad(lambda x: (convolved(x, w, **how) * g).sum())(x)


def of_weights(x, w, g, **how):
    return grad(lambda w: (convolved(x, w, **how) * g).sum())(w)


def same(a, b):
    np.testing.assert_array_equal(a.numpy().view(np.uint32), b.numpy().view(np.uint32))


def operands(batch=ALIKE, channels=32, side=4, stride=1, gap=1, seed=0):
    """A picture, weights and a gradient; with a batch that panels fit into, and with another."""
    x, w = some(batch, channels, side, side, seed=seed), some(256, channels, 3, 3, seed=seed + 1)
    places = convolved(Tensor(x), Tensor(w), stride, gap).shape
    return x, w, some(*places, seed=seed + 2)


HOW = [(4, 1, 1), (8, 1, 1), (5, 1, 1), (8, 2, 1), (8, 1, 2)]  # side, stride, dilation


@pytest.mark.parametrize(("side", "stride", "gap"), HOW)
def test_each_picture_has_the_bits_that_it_has_in_a_batch_where_nothing_is_left_out(
    side, stride, gap
):
    x, w, _ = operands(side=side, stride=stride, gap=gap)
    how = {"stride": stride, "gap": gap}
    fn = lambda x, w: convolved(x, w, **how)  # noqa: E731
    assert lists(fn, Tensor(x), Tensor(w))
    assert not lists(fn, Tensor(x[:-1]), Tensor(w))
    same(fn(Tensor(x), Tensor(w))[:-1], fn(Tensor(x[:-1]), Tensor(w)))


@pytest.mark.parametrize("side", [4, 8])
def test_gradients_by_the_picture_have_them_too(side):
    x, w, g = operands(side=side, channels=256)
    whole, fewer = ((Tensor(x[:n]), Tensor(w), Tensor(g[:n])) for n in (ALIKE, ALIKE - 1))
    assert lists(of_picture, *whole)
    assert not lists(of_picture, *fewer)
    same(of_picture(*whole)[:-1], of_picture(*fewer))


@pytest.mark.parametrize("side", [4, 8])
def test_gradients_by_the_weights_are_those_of_fewer_channels(side):
    x, w, g = operands(side=side, channels=64)
    whole, fewer = ((Tensor(x[:, :n]), Tensor(w[:, :n]), Tensor(g)) for n in (64, 63))
    assert lists(of_weights, *whole)
    assert not lists(of_weights, *fewer)
    same(of_weights(*whole)[:, :-1], of_weights(*fewer))


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan])
def test_zero_times_an_infinity_is_not_a_number_beside_the_picture(odd):
    x, w, _g = operands()
    w[3, 5, 0, 0] = odd
    found = convolved(Tensor(x), Tensor(w))
    assert np.isnan(found.numpy()[:, 3, 0, 0]).all()  # the tap lies beside the picture there
    np.testing.assert_array_equal(found.numpy()[:-1], convolved(Tensor(x[:-1]), Tensor(w)).numpy())


def test_a_gradient_that_is_infinite_at_a_border_reaches_taps_beside_the_picture():
    x, w, g = operands()
    g[0, 7, 0, 0] = np.inf
    found = of_weights(Tensor(x), Tensor(w), Tensor(g)).numpy()
    assert np.isnan(found[7, :, 0, 0]).all()
    assert np.isfinite(found[6]).all()


def test_pictures_without_margins_and_large_ones_list_nothing():
    x, w, _ = operands(side=8)
    assert not lists(lambda x, w: x.conv2d(w), Tensor(x), Tensor(w))
    large, few = some(ALIKE, 8, 32, 32), some(64, 8, 3, 3)
    assert not lists(convolved, Tensor(large), Tensor(few))


def test_processors_agree():
    code = """
        import hashlib
        import numpy as np
        from adjoint import Tensor
        from tests.kernel.test_margins import operands, convolved, of_picture, of_weights
        x, w, g = map(Tensor, operands(channels=64))
        found = convolved(x, w), of_picture(x, w, g), of_weights(x, w, g)
        print(hashlib.sha1(b"".join(t.numpy().tobytes() for t in found)).hexdigest())
    """
    levels = levels_with_tiles()
    assert len({printed("-c", dedent(code), ADJOINT_CPU=level) for level in levels}) == 1


LINE = 16  # float32 of a line of the cache


def lines_written(step, plan):
    """Lines of the result that either half of the pieces of a kernel's grid writes."""
    program = step.program
    code = BACKEND.compile({program: BACKEND.render(program)})[program]
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(code.address)
    memory = [np.ones(plan.slots[i].nbytes + 64, np.int8) for i in step.slots]
    aligned = [m[-m.ctypes.data % 64 :] for m in memory]
    given = [cell_of(node) for node in program.parameters]
    cells = Cells([*(m.ctypes.data for m in aligned), *given])
    (place,) = (i for i, b in enumerate(program.buffers) if b.arg.mutable)
    result, extent, found = aligned[place], int(program.grid.arg.size), []
    numbers = result[: len(result) // 4 * 4].view(np.int32)
    for begin, end in ((0, extent // 2), (extent // 2, extent)):
        numbers[:] = 1  # a number that no product is
        run(cells.address, begin, end)
        found.append({int(i) // LINE for i in np.flatnonzero(numbers != 1)})
    return found


def test_threads_do_not_write_into_the_same_lines():
    """Pieces of the grid that write between each other's numbers are near one another in it: by the
    weights all taps of some channels, forward all places of some rows."""
    x, w, g = map(Tensor, operands(channels=64))
    for low in (lower(convolved)(x, w), lower(of_weights)(x, w, g)):
        (step,) = (s for s in low.plan.steps if _is_tiles(s))
        first, second = lines_written(step, low.plan)
        assert first
        assert second
        assert len(first & second) <= len(first) // 16


def _is_tiles(step):
    strategy = getattr(step, "strategy", None)
    return strategy is not None and strategy.name == "tiles"
