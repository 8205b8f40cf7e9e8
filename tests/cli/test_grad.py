"""`adjoint grad`: the gradient of a function in a file, with arguments from words."""

import json

import numpy as np
import pytest

from adjoint import Tensor, capture, grad
from adjoint.module import differentiate, parse

FILE = """\
import sys
from adjoint import Tensor
import numpy as np

def loss(w, x: "f32[4,3]", power=2, *, scale: "f32[]"):
    return ((x @ w).tanh() ** power).mean() * scale

def plain(x, y):
    return (x * y.exp()).sum()

def count(x: "f32[3]", i: "i32[2]"):
    return x[i].sum()

def default(x=np.ones((2, 2), np.float32)):
    return (x * x).sum()

def several(*xs):
    return sum(x.sum() for x in xs)

def vector(x: "f32[3]"):
    return x * 2

def wrong(x: "f32[3,2]"):
    y = x @ x
    return y.sum()

def looks(x: "f32[]"):
    return x * 2 if x.item() > 0 else x

def breaks(x: "f32[]"):
    return x / len(None)

class Model:
    @staticmethod
    def loss(x: "f32[3]"):
        return x.sin().sum()

if __name__ == "__main__":
    sys.exit("this is not to be run")
"""


@pytest.fixture
def grad_of(tmp_path, monkeypatch, adjoint_command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(FILE)
    (tmp_path / "broken.py").write_text("import nothing_of_that_name\n")
    (tmp_path / "unfinished.py").write_text("def f(:\n")
    (tmp_path / "leaving.py").write_text("raise SystemExit(0)\n")

    def call(function, *words):
        path = function if ":" in function else f"model.py:{function}"
        return adjoint_command("grad", path, *words)

    return call


def test_it_prints_the_gradient_module_of_the_captured_function(grad_of):
    code, out, err = grad_of("plain", "--args", "f32[3]", "f32[3]")
    assert (code, err) == (0, "")

    def plain(x, y):
        return (x * y.exp()).sum()

    module = capture(plain, Tensor.zeros(3), Tensor.zeros(3))
    assert out == differentiate(module).gradient_module.text()


def test_the_module_computes_the_gradient(grad_of):
    out = grad_of("plain", "--args", "f32[3]", "f32[3]", "--no-value")[1]
    x, y = np.arange(3, dtype=np.float32), np.array([0.5, 1, 2], np.float32)
    found = parse(out).run([x, y])
    expected = grad(lambda x, y: (x * y.exp()).sum(), argnums=(0, 1))(Tensor(x), Tensor(y))
    for a, b in zip(found, expected, strict=True):
        assert np.allclose(a.numpy(), b.numpy())


def test_types_come_from_words_annotations_and_defaults(grad_of):
    code, out, _ = grad_of("loss", "--args", "f32[3,2]", "power=3", "--json")
    data = json.loads(out)
    assert code == 0
    assert set(data["gradients"]) == {"w", "x", "scale"}
    assert 'name: "x"} : Tensor<f32, [4, 3]>' in data["gradient_module"]
    assert "ConstF32(3.0)" in data["gradient_module"]


@pytest.mark.parametrize("words", [["--wrt", "x"], ["--wrt", "x,w"], ["--no-value"]])
def test_what_comes_out_is_what_was_asked_for(grad_of, words):
    data = json.loads(grad_of("loss", "--args", "f32[3,2]", "--json", *words)[1])
    outputs = data["gradient_module"].splitlines()[-1].count("%")
    assert ("value" in data) == ("--no-value" not in words)
    assert outputs == len(data["gradients"]) + ("value" in data)
    if "--wrt" in words:
        assert set(data["gradients"]) == set(words[1].split(","))


@pytest.mark.parametrize("words", [["f64[2]", "f64[3]"], ["f64[]"], ["[1.0, 2.0]", "bf16[2,2]"]])
def test_functions_of_any_number_of_arguments(grad_of, words):
    data = json.loads(grad_of("several", "--args", *words, "--json")[1])
    assert len(data["gradients"]) == len(words)


def test_integers_have_no_gradient_and_are_left_out(grad_of):
    assert set(json.loads(grad_of("count", "--json")[1])["gradients"]) == {"x"}


def test_a_default_array_is_an_argument(grad_of):
    assert "Tensor<f32, [2, 2]>" in grad_of("default")[1]


def test_methods_and_modules_have_paths(grad_of):
    assert grad_of("Model.loss")[0] == 0
    assert grad_of("model:Model.loss")[0] == 0


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["plain"], "no type for 'x'"),
        (["plain", "--args", "f32[3]"], "no type for 'y'"),
        (["plain", "--args", "f32[3]", "f32[3]", "f32[3]"], "1 more than the function takes"),
        (["plain", "--args", "f33[3]", "f32[3]"], "did you mean 'f32'?"),
        (["plain", "--args", "f32(3)", "f32[3]"], "expected a type such as"),
        (["plain", "--args", "z=f32[3]"], "no parameter 'z'"),
        (["vector", "--args", "3"], "no argument is a tensor"),
        (["plan"], "did you mean 'plain'?"),
        (["loss", "--args", "f32[3,2]", "--wrt", "ww"], "did you mean 'w'?"),
        (["gone.py:loss"], "error[E9006]"),
        (["gone:loss"], "error[E9006]"),
        (["model.py:"], "expected FILE.py:FUNCTION"),
    ],
)
def test_wrong_words_are_wrong_usage(grad_of, words, what):
    code, out, err = grad_of(*words)
    assert (code, out) == (2, "")
    assert what in err
    assert "Traceback" not in err


def test_a_function_of_no_scalar_is_a_coded_error(grad_of):
    code, _, err = grad_of("vector")
    assert code == 1
    assert err.startswith("error[E5004]")


def test_an_error_inside_shows_the_lines_of_the_file_and_none_of_ours(grad_of):
    code, out, err = grad_of("wrong")
    assert (code, out) == (1, "")
    assert "model.py" in err
    assert "y = x @ x" in err
    assert "E3003" in err
    assert "cli" not in err
    assert json.loads(grad_of("wrong", "--json")[1])["code"] == "E3003"


@pytest.mark.parametrize(("name", "what"), [("looks", "x.item()"), ("breaks", "len(None)")])
def test_any_error_inside_is_shown_with_its_line(grad_of, name, what):
    code, _, err = grad_of(name)
    assert code == 1
    assert what in err


@pytest.mark.parametrize(
    ("file", "what"),
    [("broken.py:f", "nothing_of_that_name"), ("unfinished.py:f", "def f(:"), ("leaving.py:f", "")],
)
def test_a_file_that_does_not_load_is_a_failure_with_its_own_lines(grad_of, file, what):
    code, out, err = grad_of(file)
    assert (code, out) == (1, "")
    assert what in err
    assert "runpy" not in err
