"""The gradient of every op under vmap is a loop over gradients: all operands batched, or one."""

import numpy as np
import pytest

from adjoint import Tensor, grad, vmap
from tests.ops.coverage import covered
from tests.ops.points import EVERY, points

SIZE = 3


def _stacked(array):
    """Examples that are near each other, so that all are where the op is smooth."""
    return np.stack([array * (1 - 0.05 * i) for i in range(SIZE)])


def _check(where, point):
    gradient = grad(point.at, point.argnums)
    for which in dict.fromkeys([point.argnums, (0,)]):
        batches = [_stacked(a) if i in which else a for i, a in enumerate(point.arrays)]
        axes = tuple(0 if i in which else None for i in point.argnums)
        got = [g.numpy() for g in vmap(gradient, in_axes=axes)(*map(Tensor, batches))]
        for n in range(SIZE):
            one = [np.asarray(b[n]) if i in which else b for i, b in enumerate(batches)]
            for place, wanted in enumerate(gradient(*map(Tensor, one))):
                note = f"{where} batched in {which}, example {n}, argument {place}"
                np.testing.assert_allclose(got[place][n], wanted.numpy(), 1e-9, 1e-9, err_msg=note)


@pytest.mark.parametrize("record", EVERY)
def test_vmap_of_grad_is_a_loop(record):
    covered(record, "vmap of grad", lambda: points(record), _check)
