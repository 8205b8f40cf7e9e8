"""Files that torch itself wrote; `make test-oracle` has an interpreter with torch."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from adjoint import FileError, nn
from adjoint.nn.state import load_state_dict, torch_load

HERE = Path(__file__).parent
TORCH = HERE.parents[2] / ".oracle" / "venv" / "bin" / "python"
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(not TORCH.exists(), reason="torch is not there: make test-oracle"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("torch")
    subprocess.run([TORCH, HERE / "torch_samples.py", made], check=True, capture_output=True)
    return made


def _expected(folder):
    return json.loads((folder / "values.json").read_text())


def _listed(tensor):
    wide = tensor.numpy().astype(np.complex128).reshape(-1)
    return [[part.real, part.imag] for part in wide.tolist()]


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_tensors_of_every_kind_are_read(folder, protocol):
    found = torch_load(folder / f"tensors{protocol}.pt")
    expected = _expected(folder)["tensors"]
    assert found.keys() == expected.keys()
    for name, (dtype, shape, values) in expected.items():
        assert found[name].dtype.name == dtype.removeprefix("torch.")
        assert list(found[name].shape) == shape
        assert _listed(found[name]) == values


def test_states_of_models_optimisers_and_schedules_are_read(folder):
    found = torch_load(folder / "states.pt")
    weights = _expected(folder)["weights"]
    assert {name: _listed(t) for name, t in found["model"].items()} == weights
    assert found["optimiser"]["param_groups"][0]["betas"] == (0.9, 0.999)
    assert found["schedule"]["milestones"] == {2: 1, 4: 1}
    assert found["epoch"] == 3


def test_a_model_takes_the_weights_of_torch(folder):
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    assert load_state_dict(model, torch_load(folder / "states.pt")["model"]).ok


@pytest.mark.parametrize(("name", "problem"), [("module", "nn.modules"), ("legacy", "before 1.6")])
def test_what_cannot_be_read_is_named(folder, name, problem):
    with pytest.raises(FileError, match=problem):
        torch_load(folder / f"{name}.pt")
