"""`adjoint core ...`: what it prints, and the exit code it leaves with."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import adjoint
from adjoint.cli import run
from adjoint.module import conformance_run

SQUARE = """\
%0 = Input() {name: "x"} : Tensor<f32, [2]>
%1 = BinOp(Mul, %0, %0) : Tensor<f32, [2]>
%2 = Sum(%1, [-1], false) : Tensor<f32, []>
outputs: %2
"""
BROKEN = """\
%0 = Input() {name: "x"} : Tensor<f32, [3, 4]>
%1 = Input() {name: "y"} : Tensor<f32, [3, 5]>
%2 = BinOp(Add, %0, %1) : Tensor<f32, [3, 5]>
outputs: %2
"""
RELU = """\
%0 = Input() {name: "x"} : Tensor<f32, []>
%1 = Relu(%0) : Tensor<f32, []>
outputs: %1
"""


@pytest.fixture
def core(tmp_path, monkeypatch, capsys):
    """Run `adjoint core` in a folder with three modules: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("square", SQUARE), ("broken", BROKEN), ("relu", RELU)):
        (tmp_path / name).write_text(text)

    def call(*arguments):
        try:
            code = run(["core", *map(str, arguments)])
        except SystemExit as exit:  # argparse leaves by itself
            code = exit.code
        return (code, *capsys.readouterr())

    return call


def _process(*arguments, given=None, **options):
    command = [sys.executable, "-m", "adjoint", *arguments]
    return subprocess.run(command, input=given, capture_output=True, check=False, **options)


def test_check_is_silent_about_a_good_module(core):
    assert core("check", "square") == (0, "", "")


def test_check_shows_code_place_and_help(core):
    code, out, err = core("check", "broken")
    assert (code, out) == (1, "")
    lines = err.splitlines()
    assert lines[0].startswith("error[E3001]: ")
    assert "dimension 1" in lines[0]
    assert lines[1].startswith("  --> broken:3:")
    assert lines[-1].startswith("  = help: ")


def test_an_error_as_json(core):
    code, out, err = core("check", "broken", "--json")
    data = json.loads(out)
    assert (code, err) == (1, "")
    assert set(data) == {"phase", "code", "severity", "message", "span", "notes", "help"}
    assert (data["phase"], data["code"], data["severity"]) == ("shape", "E3001", "error")
    assert (data["span"]["file"], data["span"]["line"]) == ("broken", 3)


def test_check_as_json(core):
    code, out, _ = core("check", "square", "--json")
    assert code == 0
    assert json.loads(out) == {"ok": True, "instructions": 3, "outputs": 1}


def test_fmt_prints_the_module_without_comments(core):
    Path("loose").write_text("# a comment\n" + SQUARE.replace(" = ", "="))
    assert core("fmt", "loose") == (0, SQUARE, "")


def test_canon_prints_the_canonical_form(core):
    assert core("canon", "square") == (0, SQUARE.replace("[-1]", "[0]"), "")
    assert json.loads(core("canon", "square", "--json")[1]) == {"ir": SQUARE.replace("[-1]", "[0]")}


def test_grad_prints_the_gradient_module(core):
    code, out, _ = core("grad", "square", "--profile", "core-v1")
    assert code == 0
    assert out.startswith(SQUARE.replace("[-1]", "[0]").rpartition("outputs")[0])
    assert "ConstF32(1.0)" in out


def test_grad_as_json_has_the_map(core):
    data = json.loads(core("grad", "square", "--json")[1])
    assert set(data) == {"gradient_module", "gradients"}
    assert "0" in data["gradients"]


@pytest.mark.parametrize("wrt", ["y", "%1", "1", "x,y", "%1, x"])
def test_grad_takes_names_and_ids(core, wrt):
    Path("two").write_text(
        BROKEN.replace("[3, 5]", "[3, 4]").replace(
            "outputs: %2", "%3 = Sum(%2, [], false) : Tensor<f32, []>\noutputs: %3"
        )
    )
    code, out, err = core("grad", "two", "--wrt", wrt)
    assert (code, err) == (0, "")
    assert out.splitlines()[-1].count("%") == 1 + len(wrt.split(","))


def test_grad_of_a_name_that_does_not_exist_is_wrong_usage(core):
    code, out, err = core("grad", "square", "--wrt", "xx")
    assert (code, out) == (2, "")
    assert "did you mean 'x'?" in err


def test_the_profile_decides_what_has_a_gradient(core):
    assert core("grad", "relu")[0] == 0
    code, _, err = core("grad", "relu", "--profile", "core-v1")
    assert code == 1
    assert err.startswith("error[E5001]: ")


def test_run_prints_every_output(core):
    assert core("run", "square", "--input", "x=[3, 4]") == (0, "%2 = 25.0\n", "")


def test_run_as_json(core):
    data = json.loads(core("run", "square", "--input", "x=[3, 4]", "--json")[1])
    assert data == {"outputs": [{"value": "%2", "dtype": "f32", "shape": [], "values": 25.0}]}


@pytest.mark.parametrize(
    ("dtype", "given", "printed"),
    [
        ("f32", "true", "1.0"),
        ("f64", "NaN", "nan"),
        ("f64", "-Infinity", "-inf"),
        ("i64", "-7", "-7"),
        ("u8", "255", "255"),
        ("bool", "true", "True"),
        ("bf16", "0.5", "0.5"),
        ("f16", "2", "2.0"),
    ],
)
def test_a_literal_takes_the_dtype_of_its_input(core, dtype, given, printed):
    Path("same").write_text(f'%0 = Input() {{name: "x"}} : Tensor<{dtype}, []>\noutputs: %0\n')
    assert core("run", "same", "--input", f"x={given}") == (0, f"%0 = {printed}\n", "")
    json.loads(core("run", "same", "--input", f"x={given}", "--json")[1], parse_constant=_refuse)


def _refuse(word):
    raise AssertionError(f"{word} is not JSON")


@pytest.mark.parametrize(
    ("dtype", "given"),
    [("i64", "1.5"), ("u8", "256"), ("u8", "-1"), ("bool", "2"), ("f32", "null")],
)
def test_a_literal_that_does_not_fit_its_dtype_is_wrong_usage(core, dtype, given):
    Path("same").write_text(f'%0 = Input() {{name: "x"}} : Tensor<{dtype}, []>\noutputs: %0\n')
    code, out, err = core("run", "same", "--input", f"x={given}")
    assert (code, out) == (2, "")
    assert err.startswith("error: --input x: ")


def test_run_reads_arrays_from_files(core):
    np.save("x.npy", np.array([3.0, 4.0], np.float32))
    assert core("run", "square", "--input", "x=x.npy")[:2] == (0, "%2 = 25.0\n")


def test_run_of_a_gradient_that_comes_through_a_pipe():
    gradient = _process("core", "grad", "-", given=SQUARE.encode())
    result = _process("core", "run", "-", "--input", "x=[3, 4]", given=gradient.stdout)
    assert result.returncode == 0
    assert result.stdout.splitlines()[0].endswith(b"= 25.0")
    assert result.stdout.splitlines()[1].endswith(b"= [6.0, 8.0]")


def test_an_array_of_another_dtype_is_an_error_of_the_run(core):
    np.save("x.npy", np.array([3.0, 4.0]))
    code, _, err = core("run", "square", "--input", "x=x.npy")
    assert code == 1
    assert err.startswith("error[E2")


@pytest.mark.parametrize(
    ("inputs", "what"),
    [
        ([], "no value for x"),
        (["x=[1, 2]", "x=[1, 2]"], "given twice"),
        (["x=[1, 2]", "z=1"], "no such input"),
        (["x=[1, [2]]"], "--input x"),
        (["x=hello"], "--input x"),
        (['x=["a", "b"]'], "--input x"),
        (["x=gone.npy"], "--input x"),
        (["x=square.npy"], "--input x"),
        (["x=" + "[" * 100_000], "--input x"),
        (["x"], "expected NAME="),
        (["=3"], "expected NAME="),
    ],
)
def test_wrong_inputs_are_wrong_usage(core, inputs, what):
    Path("square.npy").write_text(SQUARE)
    flags = [part for text in inputs for part in ("--input", text)]
    code, out, err = core("run", "square", *flags)
    assert (code, out) == (2, "")
    assert what in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["dance", "square"],
        ["check"],
        ["check", "square", "--profile", "core-v9"],
        ["check", "gone"],
        ["check", "."],
        ["check", "a\0b"],
        ["conformance", "--filter", "no case says this"],
    ],
)
def test_wrong_usage_leaves_with_2(core, arguments):
    code, out, err = core(*arguments)
    assert (code, out) == (2, "")
    assert "error: " in err


@pytest.mark.parametrize(
    "data", [b"\xff\xfe\x00\x01", b"\x00" * 100, b"\x7fELF" + bytes(range(256))]
)
def test_a_binary_file_is_a_module_with_an_error(core, data):
    Path("binary").write_bytes(data)
    code, out, err = core("check", "binary")
    assert (code, out) == (1, "")
    assert err.startswith("error[E")


def test_an_unknown_device_is_an_error(core):
    code, _, err = core("run", "square", "--input", "x=[1, 2]", "--device", "ABACUS")
    assert code == 1
    assert err.startswith("error[E6002]")


def test_errors_about_stdin_name_it():
    result = _process("core", "check", "-", given=BROKEN.encode())
    assert result.returncode == 1
    assert b"--> <stdin>:3:" in result.stderr


def test_conformance_prints_a_line_for_each_category(core):
    code, out, _ = core("conformance", "--filter", "C3:")
    assert code == 0
    assert out.splitlines()[0].split()[0] == "ir_verification"
    assert out.splitlines()[-1].split()[0] == "all"


def test_conformance_as_json(core):
    code, out, _ = core("conformance", "--filter", "C3:", "--json")
    assert code == 0
    assert json.loads(out)["failed"] == 0


def test_a_case_that_fails_is_shown_and_leaves_with_1(core, monkeypatch):
    monkeypatch.setattr(conformance_run, "reason_to_fail", lambda case: "because")
    code, out, _ = core("conformance", "--filter", "C3:")
    assert code == 1
    assert "FAILED ir_verification:" in out
    assert "because" in out


def test_conformance_without_pyyaml_says_what_to_install(core, monkeypatch):
    monkeypatch.setattr(conformance_run, "yaml", None)
    code, _, err = core("conformance")
    assert code == 2
    assert "adjoint[conformance]" in err


def test_the_version():
    assert _process("--version").stdout.decode().strip() == f"adjoint {adjoint.__version__}"


def test_help_names_the_commands_and_the_exit_codes():
    assert b"conformance" in _process("core", "--help").stdout
    assert b"exit codes" in _process("core", "check", "--help").stdout


def test_an_interrupt_leaves_with_130_and_no_traceback():
    interrupted = (
        "import os, signal; from adjoint.cli import core, main; "
        "core._read = lambda file: os.kill(os.getpid(), signal.SIGINT); "
        "main(['core', 'check', '-'])"
    )
    command = [sys.executable, "-c", interrupted]
    result = subprocess.run(command, capture_output=True, check=False)
    assert result.returncode == 130
    assert result.stderr == b""


def test_a_reader_that_leaves_early_is_no_traceback(tmp_path):
    lines = ['%0 = Input() {name: "x"} : Tensor<f32, [2]>']
    lines += [f"%{i} = Neg(%{i - 1}) : Tensor<f32, [2]>" for i in range(1, 5000)]
    file = tmp_path / "long"
    file.write_text("\n".join([*lines, "outputs: %4999\n"]))
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "adjoint", "core", "fmt", str(file)]
    result = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert result.returncode == 141
    assert result.stderr == b""


def _in_shell(line, **environment):
    script = line.replace("ADJOINT", f"{sys.executable} -m adjoint")
    settings = os.environ | environment
    return subprocess.run(["bash", "-c", script], capture_output=True, check=False, env=settings)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("ADJOINT core check - <&-", 2),
        ("ADJOINT core check - < /dev/null", 1),
        ("ADJOINT core check /dev/null >&-", 1),
        ("ADJOINT core conformance --filter C3: > /dev/full", 2),
        ("ADJOINT core check ''", 2),
    ],
)
def test_strange_files_are_no_traceback(line, code):
    result = _in_shell(line)
    assert result.returncode == code, result.stderr
    assert b"Traceback" not in result.stderr
    assert b"error" in result.stderr


def test_output_is_utf_8_whatever_the_locale(tmp_path):
    file = tmp_path / "wide"
    file.write_text('%0 = Input() {name: "größe"} : Tensor<f32, [2]>\noutputs: %0\n', "utf-8")
    result = _in_shell(f"ADJOINT core fmt {file}", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert result.returncode == 0
    assert result.stdout == file.read_bytes()
