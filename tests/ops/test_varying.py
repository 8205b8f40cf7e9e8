"""Every op on operands whose sizes all vary: the same bits as on plain ones, derivatives too."""

import numpy as np
import pytest

from adjoint import AutodiffError, Tensor, Variable, grad
from adjoint.tensor.tensor import lift
from tests.ops.cases import RECORDS, _mapped, adapted, dtypes_of, outputs
from tests.ops.points import EVERY, points

CASES = [pytest.param(r, dtypes_of(r)[-1], id=r.name) for r in RECORDS if dtypes_of(r)]


def varying(tensor):
    """The tensor with a variable for each of its sizes; equal sizes have one."""
    sizes = [Variable(f"n{n}", 0, 2 * n + 1).bind(n) for n in tensor.shape]
    return tensor.reshape(*sizes) if sizes else tensor


def bits(result):
    return [(r.shape, r.dtype, r.numpy().tobytes()) for r in outputs(result)]


def computed(record, sample, make):
    arrays = lambda a: make(Tensor(a)) if isinstance(a, np.ndarray) else a  # noqa: E731
    args, kwargs = _mapped(sample.args, arrays), _mapped(sample.kwargs, arrays)
    return bits(lift(record, args, kwargs))


@pytest.mark.parametrize(("record", "dtype"), CASES)
def test_values_are_those_of_plain_sizes(record, dtype):
    for number, raw in enumerate(record.samples()):
        sample = adapted(raw, dtype)
        plain = computed(record, sample, lambda t: t)
        assert computed(record, sample, varying) == plain, f"sample {number}"


def slopes(point, make):
    """The gradients at a point, or the code of why there are none."""
    try:
        return bits(grad(point.at, point.argnums)(*map(make, point.tensors)))
    except AutodiffError as error:
        return error.code


@pytest.mark.parametrize("record", EVERY)
def test_gradients_are_those_of_plain_sizes(record):
    for where, point in points(record)[:3]:
        assert slopes(point, varying) == slopes(point, lambda t: t), where
