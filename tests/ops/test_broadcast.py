"""Gradients of operands that are broadcast, in every way a record takes them.

Every float operand of a sample is tried as it is, as a scalar of no axes, with each axis cut to
size 1, and with all of them. What the record accepts it differentiates: by all operands together
and by each alone, in both modes, and a gradient has its operand's shape.
"""

from itertools import islice, product

import numpy as np
import pytest

from adjoint import AdjointError, Tensor, dtypes, grad, jvp
from adjoint.ir.opdef import Sample
from tests.ops.cases import _leaves, _mapped
from tests.ops.points import EVERY, Point, dot, smooth_samples

MOST = 12  # combinations of a sample


def is_operand(value):
    return isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size > 0


def smaller(a):
    """The array and what it is cut to."""
    ones = [np.take(a, [0], axis) for axis in range(a.ndim) if a.shape[axis] > 1]
    whole = [a[tuple(slice(1) for _ in a.shape)]] if a.ndim > 1 else []
    scalar = [np.array(a.flat[0])] if a.ndim else []
    return [a, *scalar, *whole, *ones]


def cut(sample):
    """The sample with its operands cut, in every combination; those of one cut come first."""
    arrays = [a for a in _leaves((sample.args, sample.kwargs)) if is_operand(a)]
    every = product(*(range(len(smaller(a))) for a in arrays))
    for choice in sorted(every, key=lambda c: sum(n > 0 for n in c)) if len(arrays) > 1 else ():
        rest = iter(choice)
        put = lambda a, rest=rest: smaller(a)[next(rest)] if is_operand(a) else a  # noqa: E731
        yield Sample(_mapped(sample.args, put), _mapped(sample.kwargs, put))


def taken(record, samples):
    for sample in samples:
        try:
            point = Point(record, sample)
            known = not point.says_nothing and point.at(*point.tensors).item() is not None
        except AdjointError:  # it does not broadcast this way
            continue
        if known:
            yield point


@pytest.mark.parametrize("record", EVERY)
def test_a_gradient_has_the_shape_and_the_value_of_its_operand(record):
    with np.errstate(all="ignore"):
        for _, sample in smooth_samples(record, dtypes.float64)[:2]:
            for point in islice(taken(record, cut(sample)), MOST):
                _check(point)


def _check(point):
    where = f"{point.record.name} of {[a.shape for a in point.arrays]}"
    together = grad(point.at, point.argnums)(*point.tensors)
    t = [Tensor(d) for d in point.direction(1)]
    assert [g.shape for g in together] == [a.shape for a in point.arrays], where
    forward = jvp(point.at, point.tensors, t)[1].item()
    np.testing.assert_allclose(dot(together, t).item(), forward, 1e-9, 1e-9, err_msg=where)
    for k, g in enumerate(together):
        _check_alone(f"{where}, operand {k}", point, k, g.numpy(), t[k])


def _check_alone(where, point, k, wanted, t):
    def at(x):
        return point.at(*(x if i == k else y for i, y in enumerate(point.tensors)))

    alone = grad(at)(point.tensors[k])
    np.testing.assert_allclose(alone.numpy(), wanted, 1e-9, 1e-9, err_msg=where)
    forward = jvp(at, (point.tensors[k],), (t,))[1].item()
    np.testing.assert_allclose(forward, (alone * t).sum().item(), 1e-9, 1e-9, err_msg=where)
