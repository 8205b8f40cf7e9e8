"""Products with one row on a GPU: sums in the one tree, with the bits of the CPU."""

import numpy as np
import pytest

from adjoint import Tensor, lower
from adjoint.runtime.device import has_tools
from adjoint.stages import KernelStep
from adjoint.target import TARGETS
from tests.anew import compiled_anew
from tests.support.fake_cublaslt import fake_cublaslt
from tests.support.fake_gpu import fake_gpu

pytestmark = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")


@pytest.fixture(scope="module", autouse=True)
def gpu():
    with compiled_anew(), fake_cublaslt(), fake_gpu() as found:
        yield found


def floats(*shape, dtype, device, seed=0):
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return Tensor(values, device=device).cast(dtype).realize()


def layer(x, weight, bias):
    return (x.linear(weight.T.detach()) + bias).relu()


def operands(rows, dtype, device, inner=96, columns=40):
    shapes = (1, rows, inner), (columns, inner), (columns,)
    return [floats(*s, dtype=dtype, device=device, seed=n) for n, s in enumerate(shapes)]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("inner", [33, 96, 3072])
def test_one_row_is_one_kernel_with_the_bits_of_the_cpu(dtype, inner):
    found = operands(1, dtype, "GPU", inner)
    (step,) = lower(layer)(*found).plan.steps
    assert isinstance(step, KernelStep)
    expected = layer(*operands(1, dtype, "CPU", inner)).cast("float64").numpy()
    assert np.array_equal(layer(*found).cast("float64").numpy(), expected)


def test_several_rows_are_the_librarys():
    steps = lower(layer)(*operands(8, "bfloat16", "GPU")).plan.steps
    assert not isinstance(steps[0], KernelStep)


def test_a_matrix_that_is_summed_across_its_rows_is_the_librarys():
    x = floats(1, 300, dtype="float32", device="GPU")
    (step,) = lower(lambda x, y: x @ y)(
        x, floats(300, 70, dtype="float32", device="GPU")
    ).plan.steps
    assert not isinstance(step, KernelStep)


def same(fn, *shapes, dtype="bfloat16"):
    """The steps on a GPU, after the same bits were found there and on the CPU."""
    on = {
        d: [floats(*s, dtype=dtype, device=d, seed=n) for n, s in enumerate(shapes)]
        for d in ("GPU", "CPU")
    }
    found, wanted = (fn(*on[d]).cast("float64").numpy() for d in ("GPU", "CPU"))
    assert np.array_equal(found, wanted)
    assert np.abs(found).max() > 0.01
    return lower(fn)(*on["GPU"]).plan.steps


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("turned", [False, True])
def test_one_row_for_each_matrix_of_a_batch_is_a_kernel_in_either_order(turned, dtype):
    def fn(x, y):
        return x @ (y.transpose(1, 2) if turned else y)

    shapes = [(5, 1, 70), (5, 40, 70) if turned else (5, 70, 40)]
    (step,) = same(fn, *shapes, dtype=dtype)
    assert isinstance(step, KernelStep)


def test_columns_that_are_too_long_for_a_team_are_added_up_in_blocks():
    steps = same(lambda x, y: x @ y, (33, 1, 66_000), (33, 66_000, 8), dtype="float32")
    assert all(isinstance(step, KernelStep) for step in steps)
    assert steps[0].program.threads > 1


def test_a_matrix_below_views_and_casts_is_read_along_its_rows():
    def fn(x, y):
        return x @ y.cast("float32").permute(2, 0, 1).reshape(96, 40)

    (step,) = same(lambda x, y: fn(x.cast("float32"), y), (1, 96), (4, 10, 96))
    assert isinstance(step, KernelStep)


@pytest.mark.parametrize("masked", [False, True])
def test_attention_of_one_query_is_scores_weights_and_values_in_kernels(masked):
    def fn(q, k, v, seen):
        return q.attention(k, v, seen > 0 if masked else None)

    steps = same(fn, (2, 3, 1, 16), (2, 3, 300, 16), (2, 3, 300, 16), (2, 1, 1, 300))
    assert all(isinstance(step, KernelStep) for step in steps)
    assert len(steps) == 3
