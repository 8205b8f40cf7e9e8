"""Every op on a mesh gives what it gives without one, and so do its gradients, whose layouts are
those of their inputs: derived from the records."""

from __future__ import annotations

from itertools import islice
from types import SimpleNamespace

import pytest

from adjoint import AutodiffError, Device, Tensor, grad
from tests.ops.points import points
from tests.sharding.cases import EVERY, GRID, HERE, LINE, layouts, near, run, samples

PARAMETERS = [pytest.param(record, id=record.name) for record in EVERY]
FEW = 3  # layouts of an op that every run of the tests tries


@pytest.fixture(autouse=True)
def on_the_interpreter():
    before, Device.DEFAULT = Device.DEFAULT, HERE
    yield
    Device.DEFAULT = before


def forward(record, meshes=None):
    """Checks of an op: what it gives in each layout."""
    for _, sample in samples(record):
        wanted = None
        for mesh, specs in layouts(sample, meshes):
            wanted = run(record, sample) if wanted is None else wanted
            yield (
                mesh,
                specs,
                lambda s=sample, w=wanted, m=mesh, p=specs: near(run(record, s, m, p), w),
            )


def gradients(record, meshes=None):
    """Checks of its gradients."""
    for _, point in points(record):
        if point.says_nothing:
            continue
        wanted = None
        arrays = SimpleNamespace(args=tuple(point.arrays), kwargs={})
        for mesh, specs in layouts(arrays, meshes):
            if wanted is None:
                wanted = _whole_gradients(point)
            if not wanted:
                break
            yield mesh, specs, lambda q=point, w=wanted, m=mesh, p=specs: _gradient(q, w, m, p)


def _whole_gradients(point):
    """Those without a mesh; none of an op that says it has none."""
    try:
        return [g.numpy() for g in grad(point.at, point.argnums)(*point.tensors)]
    except AutodiffError as error:
        if error.code != "E5001":
            raise
        return []


def _gradient(point, wanted, mesh, specs):
    given = [Tensor(a).shard(mesh, s) for a, s in zip(point.arrays, specs, strict=True)]
    found = grad(point.at, point.argnums)(*given)
    near([g.numpy() for g in found], wanted, 1e-10)
    for gradient, tensor in zip(found, given, strict=True):
        assert gradient.sharding == tensor.sharding
        assert not gradient.sharding.pending


def _checked(checks):
    for mesh, specs, check in checks:
        try:
            check()
        except Exception as error:
            error.add_note(f"on {mesh} with {specs}")
            raise


def _spread(checks, most):
    """Some of the checks, from all over the list."""
    every = list(checks)
    return islice(every, 0, None, max(1, len(every) // most))


@pytest.mark.parametrize("record", PARAMETERS)
def test_some_layouts_of_an_op_give_what_it_gives_whole(record):
    _checked(_spread(forward(record, (LINE[3], GRID)), FEW))


@pytest.mark.parametrize("record", PARAMETERS)
def test_some_gradients_are_those_of_the_whole(record):
    _checked(_spread(gradients(record, (LINE[3],)), 2))


@pytest.mark.slow
@pytest.mark.parametrize("record", PARAMETERS)
def test_every_layout_of_an_op_gives_what_it_gives_whole(record):
    _checked(forward(record))


@pytest.mark.slow
@pytest.mark.parametrize("record", PARAMETERS)
def test_every_gradient_is_that_of_the_whole(record):
    _checked(gradients(record))


def test_the_checks_are_many():
    def count(checks):
        return sum(1 for _ in checks)

    names = {r.name: r for r in EVERY}
    assert count(forward(names["matmul"])) >= 20
    assert count(gradients(names["matmul"])) >= 20
    assert len(EVERY) > 300
