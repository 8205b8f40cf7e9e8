"""`adjoint view`: scripts, functions and Core modules as pages."""

import json
import signal
import subprocess
import sys
import urllib.request

from adjoint import Tensor, capture, nn

SCRIPT = """
import adjoint
from adjoint import Tensor

@adjoint.jit
def step(x):
    return (x.sin() ** 2).sum()

for _ in range(2):
    step(Tensor.ones(3))
print((Tensor.arange(4) + 1).sum().item())
"""


def graphs(text):
    return {graph["name"]: graph for graph in json.loads(text)["graphs"]}


def ops(graph):
    return [graph["nodes"][n][0] for n in graph["graph"]["order"]]


def test_a_script_is_run_and_its_graphs_are_shown(adjoint_command, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    code, out, _ = adjoint_command("view", script, "--json")
    printed, _, data = out.partition("\n")
    assert (code, printed) == (0, "10")
    found = graphs(data)
    assert next(iter(found)) == "step"
    assert "sin" in ops(found["step"])
    assert "script.py:11" in found


def test_a_script_that_fails_shows_what_it_had_computed(adjoint_command, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT + "raise ValueError('too late')\n")
    page = tmp_path / "page.html"
    code, out, err = adjoint_command("view", script, "-o", page, "--no-open")
    assert code == 1
    assert "ValueError: too late" in err
    assert str(page) in out
    assert "step" in page.read_text()


def test_a_script_that_computes_nothing_is_told_so(adjoint_command, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("x = 1\n")
    code, _, err = adjoint_command("view", script, "--no-open")
    assert code == 1
    assert "computes nothing" in err


def test_a_function_takes_types(adjoint_command, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("def loss(x, w):\n    return (x @ w).softmax(-1).sum()\n")
    code, out, _ = adjoint_command(
        "view", f"{script}:loss", "--args", "f32[2,3]", "f32[3]", "--json"
    )
    assert code == 0
    assert "softmax" in ops(*graphs(out).values())


def test_a_core_module_is_shown(adjoint_command, tmp_path):
    file = tmp_path / "module.core"
    file.write_text(str(capture(lambda x: x.exp(), Tensor.ones(3))))
    code, out, err = adjoint_command("view", file, "--json")
    assert code == 0, err
    assert "exp" in ops(*graphs(out).values())


def test_a_file_that_is_not_there_is_wrong_usage(adjoint_command, tmp_path):
    code, _, err = adjoint_command("view", tmp_path / "none.core")
    assert code == 2
    assert "E9006" in err
    code, _, err = adjoint_command("view", tmp_path / "none.py")
    assert code == 2


def test_a_graph_can_be_chosen_and_drawn(adjoint_command, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    drawing = tmp_path / "step.svg"
    code, _, _ = adjoint_command("view", script, "--graph", "step", "--svg", "-o", drawing)
    assert code == 0
    assert ">sin</text>" in drawing.read_text()
    code, out, _ = adjoint_command("view", script, "--graph", "step", "--dot")
    assert "digraph" in out
    code, _, err = adjoint_command("view", script, "--graph", "stop", "--dot")
    assert code == 2
    assert "step" in err


def test_the_run_of_a_script_is_on_its_page(adjoint_command, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    _, out, _ = adjoint_command("view", script, "--json")
    run = json.loads(out.partition("\n")[2])["run"]
    assert [name for _, name, *_ in run["spans"]].count("jit step") == 2


def test_a_checkpoint_is_a_table(adjoint_command, tmp_path):
    file = tmp_path / "model.safetensors"
    nn.state.safe_save({"a.weight": Tensor.ones(2, 3), "a.bias": Tensor.ones(3)}, file)
    code, out, _ = adjoint_command("view", file, "--json")
    rows = json.loads(out)["table"]["rows"]
    assert code == 0
    assert sorted(rows) == [["a.bias", "F32", [3], 3, 12], ["a.weight", "F32", [2, 3], 6, 24]]
    code, _, err = adjoint_command("view", file, "--svg")
    assert code == 2
    file.write_bytes(b"nothing")
    code, _, err = adjoint_command("view", file, "--no-open")
    assert code == 2
    assert "E9001" in err


def test_a_served_page_is_there_until_it_is_interrupted(tmp_path):
    module = tmp_path / "module.core"
    module.write_text(str(capture(lambda x: x.exp(), Tensor.ones(3))))
    command = [sys.executable, "-m", "adjoint", "view", str(module), "--serve", "--no-open"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        address = process.stdout.readline().strip()
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address) as page:
            assert b"<!DOCTYPE html>" in page.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130


def test_a_function_is_shown_for_another_device(adjoint_command, tmp_path):
    script = tmp_path / "fn.py"
    script.write_text("def double(x):\n    return x * 2\n")
    what = (f"{script}:double", "--args", "f32[4]", "--device", "GPU", "--json")
    code, out, err = adjoint_command("view", *what)
    assert code == 0, err
    (graph,) = json.loads(out)["graphs"]
    assert graph["kernels"]["target"] == "GPU"
    assert "ptx" in [language for language, _ in graph["kernels"]["texts"]]
