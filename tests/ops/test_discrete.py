"""Integers and truth values end derivatives, in forward mode as in reverse, at every op.

A cast to integers in front of an op, and an integer result behind one, are piecewise constant: what
passes them has no tangent and no cotangent.
"""

import numpy as np
import pytest

from adjoint import Tensor, dtypes, grad, jvp, vjp
from tests.ops.cases import adapted, call, outputs
from tests.ops.coverage import reason_for
from tests.ops.points import EVERY, Point, bound, dot, points

DIFFERENTIABLE = [p for p in EVERY if reason_for(p.values[0].name, "first order") is None]


def detoured(x, array):
    """x, with a detour over integers that adds 0 and must add nothing to a derivative."""
    detour = x.cast("int64").cast(x.dtype) * 0.5 + x.cast("bool").cast(x.dtype)
    return x + (detour - Tensor(np.trunc(array) * 0.5 + (array != 0)))


@pytest.mark.parametrize("record", DIFFERENTIABLE)
def test_a_detour_over_integers_adds_nothing_to_either_mode(record):
    with np.errstate(all="ignore"):
        for where, point in points(record):
            _check_detour(where, point)


def _check_detour(where, point):
    def at(*x):
        return point.at(*map(detoured, x, point.arrays))

    t = [Tensor(d) for d in point.direction(1)]
    direct = jvp(point.at, point.tensors, t)[1].item()
    forward = jvp(at, point.tensors, t)[1].item()
    reverse = dot(grad(at, point.argnums)(*point.tensors), t).item()
    scale = 1 + abs(direct)
    assert abs(forward - direct) <= 1e-9 * scale, f"{where}: {forward} forward, not {direct}"
    assert abs(reverse - direct) <= 1e-9 * scale, f"{where}: {reverse} reverse, not {direct}"


@pytest.mark.parametrize("record", EVERY)
def test_integers_that_come_out_have_zeros_as_tangent_and_give_no_cotangent(record):
    samples = record.samples() if "f" in record.kinds else []
    with np.errstate(all="ignore"):
        for sample in samples:
            _check_results(Point(record, adapted(sample, dtypes.float64)))


def _check_results(point):
    def integers(*x):
        found = outputs(call(point.record, bound(point.sample, x)))
        return [y for y in found if isinstance(y, Tensor) and not y.dtype.is_inexact]

    values = integers(*point.tensors)
    if not point.arrays or not values:
        return
    t = [Tensor(d) for d in point.direction(1)]
    found = jvp(integers, point.tensors, t)[1]
    assert [d.dtype for d in found] == [v.dtype for v in values]
    assert not any(np.any(d.numpy()) for d in found)
    _, pullback = vjp(lambda *x: [y.cast("float64") for y in integers(*x)], *point.tensors)
    back = pullback([Tensor(np.ones(v.shape)) for v in values])
    assert not any(np.any(d.numpy()) for d in back)


@pytest.mark.parametrize("record", EVERY)
def test_a_tangent_has_the_type_of_its_result_and_a_cotangent_that_of_its_operand(record):
    samples = record.samples() if "f" in record.kinds else []
    with np.errstate(all="ignore"):
        for sample in samples:
            if record.name == "svd" and not sample.smooth:
                continue  # of a matrix that is not square, the full one has no derivative
            _check_types(record, Point(record, adapted(sample, dtypes.float16), dtypes.float16))


def _check_types(record, point):
    def results(*x):
        return [y for y in outputs(call(record, bound(point.sample, x))) if isinstance(y, Tensor)]

    def floats(*x):
        return [y for y in results(*x) if y.dtype.is_inexact]

    if not point.arrays or reason_for(record.name, "vmap of grad") is not None:
        return
    values, moved = jvp(results, point.tensors, [x.zeros_like() + 1 for x in point.tensors])
    assert [(t.dtype, t.shape) for t in moved] == [(y.dtype, y.shape) for y in values]
    _, pullback = vjp(floats, *point.tensors)
    back = pullback([y.zeros_like() + 1 for y in values if y.dtype.is_inexact])
    assert [(g.dtype, g.shape) for g in back] == [(x.dtype, x.shape) for x in point.tensors]
