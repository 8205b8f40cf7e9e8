"""A DTypeError is about a dtype, which its text names; other arguments are an ArgumentError."""

import ast
from pathlib import Path

import pytest

import adjoint
from adjoint import ArgumentError, DTypeError, Tensor, nn
from adjoint.errors import class_of

PACKAGE = Path(adjoint.__file__).parent
ABOUT_DTYPES = {"E2001", "E2004", "E2005", "E4011"}


def _raised(file: Path) -> list[tuple[ast.FunctionDef, ast.Call]]:
    """Every `DTypeError(...)` of a file, with the function it stands in."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return [
        (function, call)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "DTypeError"
    ]


def _texts(function: ast.FunctionDef, call: ast.Call) -> str:
    """The source of the problem: written in the call, or assigned to a variable before it."""
    problem = call.args[1]
    if not isinstance(problem, ast.Name):
        return ast.unparse(problem)
    given = [
        a.value for a in ast.walk(function) if isinstance(a, ast.Assign) and a.lineno < call.lineno
    ]
    return " ".join(map(ast.unparse, given))


def _shows_a_dtype(function: ast.FunctionDef, call: ast.Call) -> bool:
    """Its text has a dtype in it, or its operands are listed or named, which shows theirs."""
    text = _texts(function, call)
    operands = {k.arg for k in call.keywords} - {"op", "help"}
    return bool(operands) or "dtype" in text or ".name}" in text


def test_a_dtype_error_is_raised_only_with_a_code_and_a_text_about_dtypes():
    found = [
        f"{file.relative_to(PACKAGE)}:{call.lineno}"
        for file in sorted(PACKAGE.rglob("*.py"))
        if "DTypeError(" in file.read_text(encoding="utf-8")
        for function, call in _raised(file)
        if ast.literal_eval(call.args[0]) not in ABOUT_DTYPES or not _shows_a_dtype(function, call)
    ]
    assert found == []


X = Tensor([[1.0, 2.0], [3.0, 4.0]])
WRONG = {  # (call, code): kinds and numbers of arguments, which no dtype is to blame for
    "axis": (lambda: X.sum(0.5), "E2001"),
    "operand": (lambda: X + "a", "E2001"),
    "shape": (lambda: Tensor.ones("ab"), "E2001"),
    "too many": (lambda: X.softmax(0, None, 5, 6), "E2007"),
    "unknown option": (lambda: X.softmax(aksis=0), "E2007"),
    "kernel size": (lambda: X.max_pool2d((1, 1.5)), "E2001"),
    "length": (lambda: X.fft(2.5), "E2001"),
    "formula": (lambda: X.rearrange("a b"), "E2001"),
    "mask": (lambda: X.masked_fill(True, 0), "E2001"),
    "no tensor": (lambda: nn.Linear(2, 2)([1.0, 2.0]), "E2001"),
    "layer size": (lambda: nn.Linear("2", 2), "E2001"),
    "no module": (lambda: nn.Sequential(nn.ReLU(), 3), "E2001"),
    "betas": (lambda: nn.optim.Adam([X], betas=(0.9,)), "E2007"),
    "parameters": (lambda: nn.optim.SGD(3, lr=0.1), "E2001"),
    "group": (lambda: nn.optim.SGD([{"params": [X], "rate": 1}], lr=0.1), "E2001"),
    "random bounds": (lambda: Tensor.randint(2, low=0.5), "E2001"),
    "array API": (lambda: adjoint.sum([1.0]), "E2001"),
    "array API axis": (lambda: adjoint.sort(X, axis="x"), "E2001"),
    "requires_grad": (lambda: setattr(X, "requires_grad", "yes"), "E2001"),
    "argnums": (lambda: adjoint.grad(lambda x: x.sum(), argnums=3)(X), "E2007"),
    "leaf": (lambda: adjoint.grad(lambda x: x)("a"), "E2001"),
    "tangents": (lambda: adjoint.jvp(lambda x: x, X, X), "E2001"),
    "static": (lambda: adjoint.jit(lambda x: x, static_argnums=0)(X), "E2001"),
    "input": (lambda: adjoint.capture(lambda x: x + 1, X).run({"y": X}), "E2002"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kind_or_number_of_arguments_is_an_argument_error(name):
    call, code = WRONG[name]
    for kind in (ArgumentError, TypeError, ValueError):
        with pytest.raises(kind) as caught:
            call()
        assert caught.value.code == code
        assert not isinstance(caught.value, DTypeError)


@pytest.mark.parametrize("code", ["E2004", "E2005"])
def test_the_codes_of_dtypes_have_the_class_of_dtypes(code):
    assert class_of(code) is DTypeError


@pytest.mark.parametrize("code", ["E2001", "E2002", "E2003", "E2006", "E2007", "E2008"])
def test_the_other_codes_of_types_have_the_class_of_arguments(code):
    assert class_of(code) is ArgumentError
