"""Second derivatives where functions have zeros, ties and equal values: right, or not finite.

Every record at a sample of zeros, one with some zeros and one with ties: s·H·t is t·H·s, in both
orders of modes, and where the gradient itself is smooth there (its difference quotients converge)
it is their limit. A NaN is an honest answer; a wrong number is not.
"""

import numpy as np
import pytest

from adjoint import AdjointError, Tensor, dtypes, grad, jvp
from adjoint.ir.opdef import Sample
from tests.ops.cases import _mapped
from tests.ops.points import EVERY, Point, dot, smooth_samples

FILLS = {
    "zeros": np.zeros_like,
    "some zeros": lambda a: np.where(np.arange(a.size).reshape(a.shape) % 3 == 1, a, 0.0),
    "ties": lambda a: np.asarray(np.round(a) * 0.5),
}
JUMPS = {  # no derivative exists at these points: a convention decides, or the rank changes nearby
    "elu": "the second derivative jumps at 0",
    "celu": "the second derivative jumps at 0",
    "pinv": "it is not continuous where the rank changes",
    "lstsq": "it is not continuous where the rank changes",
    "eigh": "the signs of its vectors are LAPACK's, and jump",
    "qr": "it is not continuous where the rank changes",
}
REFUSED = ("E5001", "E6006", "E2007")


def at_corner(sample, fill):
    put = lambda a: fill(a) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a  # noqa: E731
    return Sample(_mapped(sample.args, put), _mapped(sample.kwargs, put))


@pytest.mark.parametrize("record", EVERY)
def test_second_derivatives_are_symmetric_and_the_limit_of_differences(record):
    samples = [] if record.name in JUMPS else smooth_samples(record, dtypes.float64)[:1]
    with np.errstate(all="ignore"):
        for _, sample in samples:
            for name, fill in FILLS.items():
                _check(f"{record.name} at {name}", record, at_corner(sample, fill))


def _check(where, record, sample):
    try:
        point = Point(record, sample)
        if point.says_nothing or not all(a.size for a in point.arrays):
            return
        found = _second(point)
    except AdjointError as error:  # a singular matrix, say: that is an answer
        if error.code not in REFUSED:
            raise
        return
    if not np.isfinite(found).all():
        return
    scale = 1 + np.abs(found).max()
    assert np.ptp(found) <= 1e-6 * scale, f"{where}: {found}"
    limit = _limit(point)
    if limit is not None:
        assert abs(limit - found[0]) <= 1e-2 * scale, f"{where}: {found[0]}, differences {limit}"


def _pulled(point, direction):
    return lambda *x: dot(grad(point.at, point.argnums)(*x), direction)


def _second(point):
    s, t = ([Tensor(d) for d in point.direction(seed)] for seed in (1, 2))
    reverse = [
        dot(grad(_pulled(point, a), point.argnums)(*point.tensors), b) for a, b in ((s, t), (t, s))
    ]
    forward = jvp(_pulled(point, s), point.tensors, t)[1]
    return np.array([v.item() for v in (*reverse, forward)])


def _limit(point):
    """The difference quotient of the gradient, if it converges."""
    s, t = [Tensor(d) for d in point.direction(1)], point.direction(2)
    quotients = []
    for step in (1e-3, 1e-4, 1e-5):
        ahead, behind = (_pulled(point, s)(*point.moved(t, h)).item() for h in (step, -step))
        quotients.append((ahead - behind) / (2 * step))
    far, near, last = quotients
    scale = 1e-3 * (1 + abs(last))
    converges = abs(near - last) < scale and abs(far - last) < 100 * scale
    return last if np.isfinite(quotients).all() and converges else None


def _with_nan(sample, which):
    """The sample with a NaN in the middle of one of its float operands; None if there is none."""
    count = 0

    def put(a):
        nonlocal count
        if not (isinstance(a, np.ndarray) and a.dtype.kind == "f" and a.size):
            return a
        count += 1
        if count - 1 != which:
            return a
        changed = a.copy()
        changed.flat[a.size // 2] = np.nan
        return changed

    made = Sample(_mapped(sample.args, put), _mapped(sample.kwargs, put))
    return made if count > which else None


APART = {"triplet_margin_loss": "relu has slope 0 at NaN, and reverse mode multiplies it by NaN"}


@pytest.mark.parametrize("record", [p for p in EVERY if p.values[0].name not in APART])
def test_with_a_nan_among_the_operands_both_modes_agree(record):
    for _, sample in smooth_samples(record, dtypes.float64)[:1]:
        for changed in filter(None, (_with_nan(sample, which) for which in (0, 1))):
            with np.errstate(all="ignore"):
                _check_modes(record, changed)


def _check_modes(record, sample):
    try:
        point = Point(record, sample)
        if point.says_nothing:
            return
        t = [Tensor(d) for d in point.direction(2)]
        forward = jvp(point.at, point.tensors, t)[1].item()
        reverse = dot(grad(point.at, point.argnums)(*point.tensors), t).item()
    except AdjointError as error:  # a matrix with a NaN has no decomposition, say
        if error.code not in REFUSED:
            raise
        return
    np.testing.assert_allclose(forward, reverse, 1e-8, 1e-8, err_msg=record.name)
