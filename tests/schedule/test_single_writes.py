"""A write at one place of an axis is made element by element: the same values, the same errors."""

import numpy as np
import pytest

from adjoint import Tensor, jit, lower, nn
from adjoint.runtime.device import has_tools
from adjoint.target import TARGETS
from tests.anew import compiled_anew
from tests.support.fake_gpu import fake_gpu

pytestmark = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")


def filled(device, new, turns):
    """A cache after some turns, and all that it has given."""
    cache, rng = nn.KVCache(2, 3, 8, 4, device=device), np.random.default_rng(0)
    update, given = jit(lambda k, v: cache.update(k, v)), []
    for _ in range(turns):
        k, v = (
            Tensor(rng.standard_normal((2, 3, new, 4)).astype(np.float32), device=device)
            for _ in range(2)
        )
        given += [t.numpy() for t in update(k, v)]
    return given


@pytest.mark.parametrize("new", [1, 2])
def test_a_cache_is_filled_as_on_the_cpu(new):
    with compiled_anew(), fake_gpu():
        found = filled("GPU", new, 4)
    for a, b in zip(found, filled("CPU", new, 4), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_place_that_is_not_there_is_told():
    with compiled_anew(), fake_gpu(), pytest.raises(IndexError, match="index 8 is out of range"):
        filled("GPU", 1, 9)


def test_one_place_is_written_by_a_kernel_of_elements():
    with compiled_anew(), fake_gpu():
        x = Tensor(np.zeros((3, 50, 4), np.float32), device="GPU").realize()
        i = Tensor(np.array([7], np.int32), device="GPU").realize()
        u = Tensor(np.ones((3, 1, 4), np.float32), device="GPU").realize()

        def write(x, i, u):
            y = +x
            y[:, i] = u
            return y

        names = [step.program.name for step in lower(write)(x, i, u).plan.steps]
        found = jit(write)(x, i, u).numpy()
    assert not any("scatter" in name for name in names)
    assert found[:, 7].all()
    assert found.sum() == 12


def test_two_axes_and_special_values_are_written():
    x = np.array([[-0.0, np.nan, 3.0], [np.inf, 5.0, 6.0]], np.float32)

    def write(device):
        y = +Tensor(x, device=device)
        i, j = (Tensor(np.array([n]), device=device) for n in (1, 2))
        y[i, j] = Tensor(np.array([-0.0], np.float32), device=device)
        return y.numpy()

    with compiled_anew(), fake_gpu():
        found = write("GPU")
    assert found.tobytes() == write("CPU").tobytes()
