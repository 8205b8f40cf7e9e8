"""`adjoint train`: programs by name, their options, their errors, Ctrl-C and going on."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

import adjoint.examples
from adjoint.cli.program import examples, find
from adjoint.training.progress_text import columns
from tests.training.terminal import drawn, on_terminal

SCRIPT = '''\
"""A small run."""
import sys, time
import numpy as np
from adjoint import Tensor, data, training

training.seed(3)
weight = Tensor.randn(3).realize()
loader = data.Loader(list(np.linspace(-1, 1, 60, dtype=np.float32).reshape(20, 3)), 4, shuffle=True)
batches = loader.forever()
loop = training.Loop(30, model={"w": weight}, loader=loader, label="small")
for step in loop:
    batch = Tensor(next(batches)).mean(0) + 0.1 * Tensor.randn(3)
    weight.assign(0.9 * weight + 0.1 * batch).realize()
    loop.report(loss=(weight * weight).sum())
    if "slow" in sys.argv:
        print("step", step, flush=True)
        time.sleep(0.2)
print(weight.numpy().tobytes().hex(), len(loop.history["loss"]), sys.argv[1:])
'''
DIVERGES = """\
from adjoint import Tensor, training
loop = training.Loop(2000, label="wild")
x = Tensor(2.0)
for step in loop:
    x = (x * x).realize()
    loop.report(loss=x - x if step > 10 else x)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.py").write_text(SCRIPT)
    (tmp_path / "wild.py").write_text(DIVERGES)
    return tmp_path


def _started(*arguments):
    command = [sys.executable, "-m", "adjoint", "train", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=os.environ)


# ---- programs


def test_a_script_runs_with_its_arguments_and_progress(folder, adjoint_command):
    code, out, err = adjoint_command("train", "small.py", "--", "--rate", "3")
    assert code == 0
    assert out.split(maxsplit=2)[2] == "['--rate', '3']\n"
    assert err.splitlines()[-1].startswith("small  100%  30/30  loss ")


def test_a_module_runs_and_finds_its_neighbours(folder, adjoint_command):
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("")
    (folder / "package" / "net.py").write_text("import small_part; print(__name__, small_part.x)")
    (folder / "small_part.py").write_text("x = 5")
    assert adjoint_command("train", "package.net")[:2] == (0, "__main__ 5\n")
    assert adjoint_command("train", "package")[0] == 2  # it has no __main__


def test_steps_seed_and_quiet_reach_the_loop(folder, adjoint_command):
    default, again = (adjoint_command("train", "small.py", "--quiet") for _ in range(2))
    other = adjoint_command("train", "small.py", "--seed", 5, "--quiet")
    assert default == again
    assert default[1] != other[1]
    assert other[2] == ""
    short = adjoint_command("train", "small.py", "--steps", 4)
    assert short[1].split()[1] == "4"
    assert "100%  4/4" in short[2]


def test_threads_are_a_matter_of_the_process_and_change_no_bits(folder, adjoint_process):
    one = adjoint_process("train", "small.py", "--quiet", "--threads", "1")
    three = adjoint_process("train", "small.py", "--quiet", "--threads", "3")
    assert one == three
    assert one[0] == 0


def test_the_list_has_a_sentence_for_every_example(adjoint_command):
    code, out, _ = adjoint_command("train", "--list", "--json")
    listed = json.loads(out)
    assert code == 0
    assert [row["name"] for row in listed] == list(examples())
    assert all(row["about"] for row in listed)
    text = adjoint_command("train", "--list")[1]
    assert len(text.splitlines()) == len(listed)


@pytest.mark.parametrize("name", examples())
def test_every_example_is_found_by_its_name(name):
    assert find(name).is_example


@pytest.mark.parametrize("width", [20, 60])
def test_a_run_on_a_narrow_terminal_never_wraps(folder, width):
    text = on_terminal([sys.executable, "-m", "adjoint", "train", "small.py"], width)
    progress, _, rest = text.partition("100%")
    assert max(columns(line) for line in drawn(progress)) < width
    assert columns(drawn("100%" + rest)[0]) < width
    assert "loss" in rest


# ---- wrong usage and errors


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["gone.py"], "error[E9006]: cannot read the script gone.py: No such file"),
        (["smal.py"], "did you mean 'small.py'?"),
        (["./x/y/gone.py"], "error[E9006]"),
        (["."], "error[E9006]"),
        (["a\0b.py"], "error[E9006]"),
        (["no_such_example"], "error[E9006]: no example, script or module is called"),
        (["small.py", "--resume", "gone.ckpt"], "error[E9006]: cannot read the checkpoint"),
        (["small.py", "--checkpoint", "x/y.ckpt"], "there is no directory x"),
        (["small.py", "--checkpoint", "."], "it is a directory"),
        ([], "which program?"),
        (["small.py", "--steps", "-1"], "expected a number of steps"),
        (["small.py", "--steps", "many"], "expected a number of steps"),
        (["small.py", "--seed", "x"], "expected a number"),
        (["small.py", "--threads", "0"], "expected a number"),
    ],
)
def test_wrong_usage_leaves_with_2(folder, adjoint_command, words, what):
    code, out, err = adjoint_command("train", *words)
    assert (code, out) == (2, "")
    assert what in err
    assert "Traceback" not in err


def test_a_name_that_is_nearly_an_example_is_answered_with_it(adjoint_command, monkeypatch):
    monkeypatch.setattr("adjoint.cli.program.examples", lambda: {"digits_cnn": ""})
    assert "did you mean 'digits_cnn'?" in adjoint_command("train", "digit_cnn")[2]


@pytest.mark.parametrize(
    ("text", "shown", "hidden"),
    [
        ("def f():\n    return 1 / 0\nf()\n", "return 1 / 0", "runpy"),
        ("x = (\n", "x = (", "runpy"),
        ("from adjoint import Tensor\nTensor.ones(2) @ Tensor.ones(3)\n", "E3003", "adjoint/ops"),
        ("open('nothing here')\n", "FileNotFoundError", "cannot write"),
        ("assert 1 == 2, 'they differ'\n", "they differ", "cli"),
        ("import small_gone\n", "ModuleNotFoundError", "cli"),
    ],
)
def test_an_error_shows_the_lines_of_the_script_and_none_of_ours(
    folder, adjoint_command, text, shown, hidden
):
    (folder / "faulty.py").write_text(text)
    code, _, err = adjoint_command("train", "faulty.py")
    assert code == 1
    assert shown in err
    assert "faulty.py" in err
    assert hidden not in err


@pytest.mark.parametrize(
    ("text", "expected"),
    [("exit()", 0), ("exit(3)", 3), ("exit('a reason')", 1), ("exit(None)", 0)],
)
def test_a_script_leaves_with_its_own_code(folder, adjoint_command, text, expected):
    (folder / "leaving.py").write_text(f"import sys; sys.{text}")
    code, _, err = adjoint_command("train", "leaving.py")
    assert code == expected
    assert ("a reason" in err) == (expected == 1)


def test_a_loss_that_is_not_finite_is_e7005_with_its_step(folder, adjoint_command):
    code, _, err = adjoint_command("train", "wild.py")
    assert code == 1
    assert re.search(r"E9005: wild: loss is (nan|inf) at step \d+; it was 4 at step 0", err)
    assert "loop.report(loss=" in err
    assert "debug_nans" in err


def test_options_that_nobody_reads_are_said_to_have_no_effect(folder, adjoint_command):
    (folder / "plain.py").write_text("print('hello')")
    code, out, err = adjoint_command("train", "plain.py", "--steps", 3, "--checkpoint", "a")
    assert (code, out) == (0, "hello\n")
    assert "--steps, --checkpoint had no effect" in err


def test_a_damaged_checkpoint_is_a_coded_error(folder, adjoint_command):
    assert adjoint_command("train", "small.py", "--checkpoint", "a.ckpt", "--quiet")[0] == 0
    data = (folder / "a.ckpt").read_bytes()
    (folder / "a.ckpt").write_bytes(data[: len(data) // 2])
    code, _, err = adjoint_command("train", "small.py", "--resume", "a.ckpt", "--quiet")
    assert code == 1
    assert "E9001" in err


# ---- Ctrl-C


def test_ctrl_c_saves_and_the_resumed_run_ends_in_the_same_bits(folder, adjoint_command):
    whole = adjoint_command("train", "small.py", "--quiet")[1].split()[:2]
    child = _started("small.py", "--seed", "3", "--", "slow")
    for line in child.stdout:
        if line.startswith("step 4"):
            child.send_signal(signal.SIGINT)
            break
    _, err = child.communicate(timeout=600)
    assert child.returncode == 130
    (stopped,) = re.findall(r"stopped after step (\d+) of 30; saved small.ckpt", err)
    assert 5 <= int(stopped) < 30  # on a busy machine the signal comes a little later
    assert "resume with: adjoint train small.py --seed 3 --resume small.ckpt -- slow" in err
    assert "Traceback" not in err
    code, out, err = adjoint_command("train", "small.py", "--resume", "small.ckpt")
    assert code == 0
    assert out.split()[:2] == whole
    assert "30/30" in err


def test_twice_ctrl_c_leaves_at_once_without_a_checkpoint(folder):
    (folder / "stuck.py").write_text(
        "import time\nfrom adjoint import Tensor, training\n"
        "for step in training.Loop(3, model={'w': Tensor([1.0])}):\n"
        "    print('ready', flush=True)\n"
        "    for _ in range(600): time.sleep(0.1)\n"
    )
    child = _started("stuck.py")
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGINT)
    assert any("Ctrl-C again leaves at once" in line for line in child.stderr)
    child.send_signal(signal.SIGINT)
    assert child.wait(600) == 130
    child.communicate()
    assert not (folder / "stuck.ckpt").exists()


def test_ctrl_c_in_a_script_that_python_runs_leaves_with_130_too(folder):
    command = [sys.executable, "small.py", "slow"]
    pipe = subprocess.PIPE
    child = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=os.environ)
    assert child.stdout.readline() == "step 0\n"
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=600)
    assert child.returncode == 130
    assert "Traceback" not in err
    assert "resume with: adjoint train small.py --resume small.ckpt" in err


def test_an_example_with_fewer_steps_than_it_promises_for_only_says_so(
    folder, adjoint_command, monkeypatch
):
    text = SCRIPT + "assert len(loop) == 30, 'too few'\n"
    (folder / "short.py").write_text(text)
    monkeypatch.setattr("adjoint.cli.train.UserProgram.is_example", True)
    code, _, err = adjoint_command("train", "short.py", "--steps", 3)
    assert code == 0
    assert "note: 3 steps are fewer than short asks for" in err
    monkeypatch.setattr("adjoint.cli.train.UserProgram.is_example", False)
    assert adjoint_command("train", "short.py", "--steps", 3)[0] == 1


def test_a_reader_that_leaves_early_ends_the_run_with_141(folder):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "adjoint", "train", "small.py", "--", "slow"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert done.returncode == 141
    assert b"Traceback" not in done.stderr


def _shipped(text):
    """The names of a program that stands among the examples."""
    space = {"__name__": "shipped"}
    file = os.path.join(os.path.dirname(adjoint.examples.__file__), "shipped.py")
    exec(compile(text, file, "exec"), space)
    return space


def test_the_lines_of_an_example_are_those_of_a_user():
    made = _shipped("from adjoint import Tensor\nx = Tensor([1.0])\ny = x + 1\n")["y"]
    assert (made.uop.origin.file, made.uop.origin.line) == ("shipped.py", 3)


def test_a_jitted_function_of_an_example_sees_its_globals_change():
    made = _shipped("from adjoint import jit\nscale = 2.0\n@jit\ndef f(x): return x * scale\n")
    assert made["f"](adjoint.Tensor(3.0)).item() == 6.0
    made["scale"] = 5.0
    assert made["f"](adjoint.Tensor(3.0)).item() == 15.0


def test_an_example_takes_a_device(adjoint_process):
    code, out, err = adjoint_process("train", "linear_regression", "--device", "REF", "--quiet")
    assert (code, err) == (0, "")
    assert "found" in out


def test_a_mesh_on_the_command_line_reaches_the_program(adjoint_command):
    code, out, err = adjoint_command("train", "gpt", "--mesh", "dp=2", "--steps", "2")
    assert code == 0, err
    assert "nats of surprise" in out


@pytest.mark.slow
def test_stages_and_experts_are_asked_for_on_the_command_line(adjoint_command):
    order = ("--microbatches", "2", "--schedule", "gpipe")
    code, _, err = adjoint_command("train", "gpt", "--mesh", "pp=2", *order, "--steps", "1")
    assert code == 0, err
    for mesh in ("ep=2", "ep=2,pp=2"):
        code, _, err = adjoint_command(
            "train", "gpt", "--mesh", mesh, "--steps", "1", "--", "--experts"
        )
        assert code == 0, err


def test_microbatches_without_stages_are_refused(adjoint_command):
    code, _, err = adjoint_command("train", "gpt", "--mesh", "dp=2", "--microbatches", "4")
    assert code != 0
    assert "E7001" in err
    assert "--mesh pp=2" in err


def test_a_mesh_that_is_none_is_wrong_usage(adjoint_command):
    code, _, err = adjoint_command("train", "gpt", "--mesh", "dp")
    assert code == 2
    assert "expected axes like dp=2,tp=2, got 'dp'" in err


def test_a_mesh_that_no_program_asks_for_is_told(adjoint_command):
    _, _, err = adjoint_command("train", "linear_regression", "--mesh", "dp=2", "--steps", "1")
    assert "--mesh had no effect" in err
