"""`adjoint bench`: numbers, in their units."""

import json

import pytest

from tests.support.devices import probe_little


def test_every_measurement_is_a_positive_number(adjoint_command, monkeypatch):
    probe_little(monkeypatch)
    code, out, _ = adjoint_command("bench", "--json", "--seconds", "0.001")
    data = json.loads(out)
    assert code == 0
    assert {"version", "device", "threads", "vector_bits"} < set(data)
    assert [r["unit"] for r in data["results"]] == ["GFLOP/s", "GB/s", "µs", "µs", "µs", "ms"]
    assert all(row["value"] > 0 for row in data["results"])


def test_only_what_was_asked_for_is_measured(adjoint_command):
    code, out, _ = adjoint_command("bench", "--only", "realize,jit", "--seconds", "0.001")
    assert code == 0
    assert len(out.splitlines()) == 2
    assert all(line.endswith(" µs") for line in out.splitlines())


SCRIPT = """
from adjoint import grad

def step(x: "f32[32,8]", w: "f32[8,4]", y: "i32[32]", *, rate=0.1):
    loss = lambda w: (x @ w).cross_entropy(y)
    return w - rate * grad(loss)(w)

def wrong(x: "f32[3]"):
    return x @ x.reshape(1, 3)
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    probe_little(monkeypatch)
    monkeypatch.setattr("adjoint.engine.roofline._SECONDS", 0.0)
    monkeypatch.setattr("adjoint.engine.roofline._found", {})
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(tmp_path / "cache"))
    file = tmp_path / "model.py"
    file.write_text(SCRIPT)
    return file


def test_a_function_is_shown_step_by_step(adjoint_command, script):
    code, out, _ = adjoint_command("bench", f"{script}:step", "--seconds", "0.001")
    assert code == 0
    assert "% of the roofline" in out
    assert "tiles: " in out or "short product: " in out


def test_its_arguments_may_be_given(adjoint_command, script):
    types = ["f32[64,16]", "f32[16,4]", "i32[64]", "rate=0.5"]
    code, out, _ = adjoint_command(
        "bench", f"{script}:step", "--seconds", "0.001", "--json", "--args", *types
    )
    rows = json.loads(out)["steps"]
    assert code == 0
    assert sum(row["flops"] for row in rows) > 2 * 2 * 64 * 16 * 4
    assert all(row["seconds"] > 0 and row["share"] > 0 and row["why"] for row in rows)


def test_an_error_of_the_function_is_shown_as_python_does(adjoint_command, script):
    code, _, err = adjoint_command("bench", f"{script}:wrong")
    assert code == 1
    assert "model.py" in err
    assert "E3003" in err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--args", "3"], "--args are for a function"),
        (["{script}:step", "--only", "jit"], "--only is for the machine"),
        (["{script}:stp"], "did you mean 'step'"),
        (["{script}"], "expected FILE.py:FUNCTION"),
        (["nowhere.py:step"], "there is no file"),
    ],
)
def test_what_cannot_be_measured_is_wrong_usage(adjoint_command, script, words, problem):
    code, _, err = adjoint_command("bench", *(w.format(script=script) for w in words))
    assert code == 2
    assert problem in err


def test_the_roofline_is_measured_again_if_that_is_asked_for(adjoint_command, script, monkeypatch):
    measured = []
    monkeypatch.setattr("adjoint.cli.bench.measured_again", measured.append)
    code, _, _ = adjoint_command("bench", "--again", "--only", "jit", "--seconds", "0.001")
    assert (code, len(measured)) == (0, 1)
