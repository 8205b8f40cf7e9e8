"""A small GPT in stages: the losses of other meshes, bit for bit, and runs that change meshes."""

import numpy as np
import pytest

from adjoint import Mesh
from tests.nn.parallel_training import Run, mesh_of

STEPS = 3
# Each beside a mesh without stages that has its bits: the same one, where dp has any number.
MESHES = {
    "pp=1": "dp=1",
    "pp=2": "dp=2",
    "dp=2,pp=2": "dp=4",
    "tp=2,pp=2": "dp=2,tp=2",
    "fsdp=2,pp=2": "dp=2",
}
QUICK = ("pp=2",)


@pytest.fixture(scope="module")
def alone():
    return Run().losses(STEPS)


@pytest.mark.parametrize(
    "mesh", [pytest.param(m, marks=[] if m in QUICK else [pytest.mark.slow]) for m in MESHES]
)
def test_stages_have_the_bits_of_a_mesh_without(mesh, alone):
    found = Run("", mesh_of(mesh)).losses(STEPS)
    assert found == Run("", mesh_of(MESHES[mesh])).losses(STEPS)
    np.testing.assert_allclose(found, alone, rtol=2e-6)


@pytest.mark.slow
def test_one_two_and_four_stages_have_the_same_bits():
    meshes = [Mesh({"pp": stages}, microbatches=8) for stages in (1, 2, 4)]
    found = [Run("deep", mesh).losses(STEPS) for mesh in meshes]
    assert found == [Run("deep", mesh_of("dp=1")).losses(STEPS)] * 3


def test_schedules_and_numbers_of_microbatches_show_in_no_bit():
    first = Run("", Mesh({"pp": 2}, microbatches=4)).losses(2)
    assert Run("", Mesh({"pp": 2}, microbatches=4, schedule="gpipe")).losses(2) == first
    assert Run("", Mesh({"pp": 2}, microbatches=8)).losses(2) == first


def test_parameters_in_parts_on_members_that_repeat_them_have_the_same_bits():
    mesh = Mesh({"dp": 2, "fsdp": 2, "pp": 2}, microbatches=2)
    assert Run("", mesh).losses(2) == Run("", mesh_of("dp=4")).losses(2)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["zero1", "zero2"])
def test_states_of_stages_in_parts_have_the_same_losses(strategy):
    expected = Run("", mesh_of("dp=2")).losses(STEPS)
    assert Run(strategy, mesh_of("dp=2,pp=2")).losses(STEPS) == expected


def test_the_optimiser_keeps_its_state_where_the_parameter_is():
    run = Run("", mesh_of("pp=2"))
    run.losses(1)
    for group in run.optimizer.param_groups:
        for p, slots in zip(group.params, group.slots, strict=True):
            assert {slot.sharding for slot in slots.values()} == {p.sharding}
            assert p.sharding.stage is not None


def test_a_run_goes_on_with_its_bits_on_meshes_with_and_without_stages(tmp_path):
    whole = Run("", mesh_of("dp=1")).losses(4)
    found = []
    for number, mesh in enumerate(("pp=2", "dp=2", "dp=1", "dp=2,pp=2")):
        run = Run("", mesh_of(mesh))
        if number:
            assert run.resume(tmp_path / "run.ckpt") == number
        found += run.losses(number + 1, number)
        run.save(tmp_path / "run.ckpt", number + 1)
    assert found == whole
