"""The written methods and functions are those that the records give, and say what they take."""

import inspect
import pydoc

import pytest

import adjoint
from adjoint import Tensor
from adjoint.ir.opdef import OPS
from adjoint.ir.spelling import spelling_of
from adjoint.ir.uop import _functions
from docs.build_methods import FILES, HOME, methods
from tests.ops.cases import call

METHODS = sorted(n for n in dir(Tensor) if not n.startswith("_") and callable(getattr(Tensor, n)))
FUNCTIONS = sorted(n for n in dir(adjoint) if inspect.isfunction(getattr(adjoint, n)))
OPEN = {"rearrange"}  # takes a size for any letter
WRITTEN = methods()


@pytest.mark.parametrize("file", FILES)
def test_what_is_written_is_what_the_records_give(file):
    assert (HOME / file).read_text(encoding="utf-8") == FILES[file](), "run make docs"


def test_every_method_says_what_it_takes_and_gives():
    for name in METHODS:
        shown = inspect.signature(getattr(Tensor, name))
        assert "UOp" not in str(shown), name
        assert getattr(Tensor, name).__doc__, name
        assert _bare(shown) == [] or name in OPEN, name


def test_every_function_of_the_namespace_says_what_it_does():
    for name in FUNCTIONS:
        function = getattr(adjoint, name)
        assert function.__doc__, name
        if name in adjoint.array_api.PUBLIC:
            assert "UOp" not in str(inspect.signature(function)), name
            assert _bare(inspect.signature(function)) == [] or name in OPEN, name


def _bare(signature):
    """The parameters that take anything by any name."""
    keywords = [p for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD]
    return [p.name for p in keywords if "Unpack" not in str(p.annotation)]


def test_every_other_name_that_is_declared_is_taken():
    for name in (name for name, method in WRITTEN.items() if method.names):
        record, declared = _functions[name], dict(WRITTEN[name].names.fields)
        spelling = spelling_of(record.name, record.signature or record.call)
        assert declared.keys() <= spelling.own.keys() | spelling.spread, name


@pytest.mark.parametrize("record", [r for r in OPS.values() if r.public], ids=lambda r: r.name)
def test_a_method_gives_the_type_that_it_says(record):
    method = WRITTEN.get(record.name)
    if method is None or not method.first:
        return
    for sample in record.samples():
        result = call(record, sample)
        kind = type(result).__name__
        said = method._whole() if "Any" in method.result else method.result
        assert said.startswith(f"{kind}[") or f"| {kind}" in said or said.split(" |")[0] == kind


def test_help_reads_like_documentation():
    text = pydoc.plain(pydoc.render_doc(Tensor.conv2d))
    assert "conv2d(self, weight" in text
    assert "groups: 'int' = 1" in text or "groups: int = 1" in text
    assert "Convolution of" in text
    assert "stride: the distance between neighbouring windows" in text
    assert "→ f32[1, 3, 3, 3]" in text


def test_a_method_is_found_where_it_is_written():
    written = {Tensor.softmax: "_methods", adjoint.softmin: "_functions", Tensor.add_: "_twins"}
    for method, file in written.items():
        assert inspect.getsourcefile(inspect.unwrap(method)).endswith(f"{file}.py")
    assert "lift.op" in inspect.getsource(Tensor.softmax)
