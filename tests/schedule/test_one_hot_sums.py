"""The sum of a row with one value in it is that value: the same bits, and no loop over the row."""

import numpy as np
import pytest

from adjoint import Tensor, grad, lower, nn
from adjoint.ops.indexing import positions
from adjoint.runtime.device import has_tools
from adjoint.schedule.one_hot_sums import one_hot_sum
from adjoint.target import TARGETS
from tests.anew import compiled_anew
from tests.support.fake_gpu import fake_gpu

pytestmark = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")


def gradient(device, logits, classes, **options):
    x, t = (Tensor(v, device=device) for v in (logits, classes))
    return grad(lambda x: nn.functional.cross_entropy(x, t, **options))(x)


@pytest.mark.parametrize("options", [{}, {"ignore_index": 3}, {"reduction": "sum"}])
@pytest.mark.parametrize("columns", [5, 300, 5000])
def test_gradients_of_a_loss_have_the_bits_of_the_cpu(columns, options):
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((7, columns)).astype(np.float32) * 9
    logits[2] = 0
    classes = rng.integers(0, columns, 7)
    classes[:2] = 3
    if options.get("reduction") == "sum":
        classes[3] = columns - 1
    with compiled_anew(), fake_gpu():
        found = gradient("GPU", logits, classes, **options).numpy()
    np.testing.assert_array_equal(found, gradient("CPU", logits, classes, **options).numpy())


def test_an_index_out_of_range_is_still_told():
    with compiled_anew(), fake_gpu(), pytest.raises(IndexError, match="index 9 is out of range"):
        gradient("GPU", np.ones((3, 5), np.float32), np.array([1, 9, 2])).numpy()


def test_the_gradient_writes_over_the_logits():
    with compiled_anew(), fake_gpu():
        x = Tensor(np.ones((64, 5000), np.float32), device="GPU").realize()
        t = Tensor(np.zeros(64, np.int32), device="GPU").realize()
        loss = lambda x: nn.functional.cross_entropy((x * 2).exp(), t)  # noqa: E731
        plan = lower(grad(loss))(x).plan
    assert plan.arena < 1.2 * 64 * 5000 * 4


@pytest.mark.parametrize("value", [1.5, -0.0, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 5, 6, -1])
def test_the_rule_keeps_every_bit(value, place):
    shape = (2, 6)
    u = Tensor(np.full((2, 1), value, np.float32), device="CPU")
    t = Tensor(np.full((2, 1), place, np.int32), device="CPU")
    hit = positions(6, 1, 2, "CPU").expand(shape).eq(t.uop.expand(shape))
    total = (-hit.where(u.uop.expand(shape), 0.0)).reduce_sum((1,), False)
    found = one_hot_sum(total)
    assert found is not None
    wanted = Tensor(total).numpy()
    assert Tensor(found).numpy().tobytes() == wanted.tobytes() or np.isnan(wanted).all()


def test_other_sums_are_left_alone():
    shape = (2, 6)
    u = Tensor(np.ones(shape, np.float32), device="CPU").uop
    t = Tensor(np.ones((2, 1), np.int32), device="CPU").uop.expand(shape)
    hit = positions(6, 1, 2, "CPU").expand(shape).eq(t)
    assert one_hot_sum(hit.where(u, 0.0).reduce_sum((1,), False)) is None  # differs along the row
    one = Tensor(np.ones((2, 1), np.float32), device="CPU").uop.expand(shape)
    assert one_hot_sum(hit.where(one, 1.0).reduce_sum((1,), False)) is None  # not 0 elsewhere
    assert one_hot_sum(hit.where(one, 0.0).reduce_sum((0,), False)) is None  # another axis
