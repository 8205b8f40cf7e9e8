"""Where the largest of very many elements is, on a GPU: all processors look for it."""

import numpy as np
import pytest

from adjoint import Tensor, Variable, lower
from adjoint.runtime.device import has_tools
from adjoint.target import TARGETS
from tests.anew import compiled_anew
from tests.support.fake_gpu import fake_gpu

pytestmark = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")
LONG = (1 << 17) + 5


@pytest.fixture(scope="module", autouse=True)
def _gpu():
    with compiled_anew(), fake_gpu():
        yield


def given(*shape):
    return np.random.default_rng(0).integers(-40, 40, shape).astype(np.float32)


@pytest.mark.parametrize("shape", [(LONG,), (3, LONG)])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_first_of_equal_elements_is_found_block_by_block(name, shape):
    x = given(*shape)
    found = getattr(Tensor(x, device="GPU"), name)(-1)
    assert np.array_equal(found.numpy(), getattr(x, name)(-1))


def test_the_first_nan_is_the_largest():
    x = given(LONG)
    x[[LONG - 1, LONG - 3, 70_000]] = np.nan
    assert Tensor(x, device="GPU").argmax().item() == 70_000


def test_each_block_has_a_team():
    steps = lower(lambda x: x.argmax())(Tensor(given(1 << 21), device="GPU").realize()).plan.steps
    assert [step.program.threads > 1 for step in steps] == [True] * 4
    assert int(steps[0].program.grid.arg.size) == (1 << 21) // 4096


def test_a_row_that_a_team_can_hold_is_one_kernel():
    steps = lower(lambda x: x.argmax())(Tensor(given(50_304), device="GPU").realize()).plan.steps
    assert len(steps) == 1


def test_sizes_may_vary():
    n, x = Variable("n", 1, 1 << 18), given(1 << 18)
    for size in (5, 1 << 17):
        part = Tensor(x, device="GPU")[: n.bind(size)]
        assert part.argmax().item() == x[:size].argmax()
