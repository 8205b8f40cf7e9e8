"""What notebooks show: well-formed, escaped, small, and never more computed than `repr` would."""

import base64
import re
import sys
import xml.etree.ElementTree as ElementTree
import zlib
from html import unescape
from types import SimpleNamespace

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, counters, jit, nn, trace
from adjoint.ir.values import is_known
from adjoint.notebook import bundle, html
from adjoint.training import Loop
from adjoint.training.runs import Run

HOSTILE = "</pre><script>alert(1)</script>\"'&"


def parsed(text):
    """The display as a tree, for which it must be well-formed."""
    closed = re.sub(r"(<img[^>]*)></img>", r"\1/>", text)
    return ElementTree.fromstring(closed)


def words(text):
    return "".join(parsed(text).itertext())


def image_of(text):
    data = base64.b64decode(re.search(r"base64,([^\"]+)", text)[1])
    at = data.index(b"IDAT")
    size = int.from_bytes(data[at - 4 : at], "big")
    width, height = (int.from_bytes(data[i : i + 4], "big") for i in (16, 20))
    rows = np.frombuffer(zlib.decompress(data[at + 4 : at + 4 + size]), np.uint8)
    return rows.reshape(height, -1)[:, 1:].reshape(height, width, -1)


# ---- tensors


def test_a_tensor_shows_its_type_its_values_and_their_range():
    found = words(html(Tensor([1.0, 2.0, 4.0])))
    assert "f32[3] · CPU · from 1 to 4, mean 2.333" in found
    assert "Tensor([1., 2., 4.]" in found


def test_a_row_is_a_line_too_and_gaps_are_gaps():
    text = html(Tensor([0.0, 1.0, 2.0, float("nan"), 3.0, 4.0, float("inf"), 5.0]))
    lines = [node for node in parsed(text).iter() if node.tag.endswith("polyline")]
    assert [len(line.get("points").split()) for line in lines] == [3, 2, 1]
    assert "2 not finite" in text


@pytest.mark.parametrize(
    "values", [[float("nan")] * 9, [1e38, -1e38] * 5, [5.0] * 9, [0.0] * 8, [float("inf")] * 8]
)
def test_strange_rows_are_shown_without_a_warning(values):
    parsed(html(Tensor(values)))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "uint64", "bool", "complex64"])
def test_every_kind_of_number_is_shown(dtype):
    parsed(html(Tensor(np.ones((9, 9), np.float32)).cast(dtype)))
    parsed(html(Tensor(np.ones(9, np.float32)).cast(dtype)))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 2, 2, 2)])
def test_every_shape_is_shown(shape):
    parsed(html(Tensor.ones(*shape)))


def test_bytes_of_a_picture_are_its_pixels():
    pixels = np.arange(8 * 10 * 3, dtype=np.uint8).reshape(8, 10, 3)
    assert np.array_equal(image_of(html(Tensor(pixels))), pixels)
    assert np.array_equal(image_of(html(Tensor(pixels.transpose(2, 0, 1).copy()))), pixels)


def test_a_matrix_is_a_picture_from_its_least_to_its_greatest():
    shades = image_of(html(Tensor(np.linspace(-3, 3, 64, dtype=np.float32).reshape(8, 8))))
    assert (shades[0, 0], shades[-1, -1]) == (0, 255)


def test_a_large_matrix_is_a_small_picture():
    assert max(image_of(html(Tensor.ones(1000, 700).contiguous().realize())).shape) <= 256


def test_colours_out_of_range_are_no_picture():
    assert "<img" not in html(Tensor(np.full((3, 9, 9), 2.0, np.float32)))


def test_something_large_is_not_computed():
    x = Tensor.rand(100, 100) * 2
    with counters() as counted:
        found = words(html(x))
    assert counted.runs == 0
    assert not is_known(x.uop)
    assert "not computed" in found
    assert "test_displays.py" in found  # where it comes from


def test_something_small_is_computed_once_and_printed():
    x = Tensor([1.0, 2.0]) + 1
    assert "[2., 3.]" in html(x)
    assert "[2., 3.]" in repr(x)


def test_inside_of_a_transform_nothing_is_computed():
    seen = []
    adjoint.grad(lambda x: seen.append(html(x * 2)) or (x * x).sum())(Tensor([1.0, 2.0]))
    assert "lazy" in words(seen[0])


# ---- functions


def test_a_jitted_function_shows_its_traces_and_why_there_are_more():
    @jit
    def scaled(x, by=2):
        return x * by

    assert "not called yet" in words(html(scaled))
    scaled(Tensor.ones(3))
    scaled(Tensor.ones(3))
    scaled(Tensor.ones(4))
    scaled(Tensor.ones(4), by=5)
    found = words(html(scaled))
    assert "jit of scaled(x, by=2) · traced 3 times, 3 kept" in found
    assert "x: f32[4], by: 5" in found
    assert "the shape of argument 0" in found
    assert repr(scaled) == "<jit of scaled(x, by=2): traced 3 times, 3 kept>"
    report = scaled.report()
    assert all(kept.seconds > 0 for kept in report.kept)
    assert "f32[3]" in str(report)


def test_a_method_and_a_builtin_can_be_shown():
    assert "jit of" in repr(jit(min))
    assert "jit of" in repr(jit(nn.Linear(2, 3)))


def test_a_trace_and_a_lowered_function_say_what_they_are():
    traced = trace(lambda x: (x.exp() * 2).sum(), Tensor.ones(3))
    assert repr(traced) == "<trace <lambda>(x: Tensor<f32, [3]>): 3 ops>"
    assert "trace <lambda>(x: Tensor<f32, [3]>) -> f32[] · 3 ops" in words(html(traced))
    assert repr(traced.nodes[0]).startswith("<exp of 1 operands -> f32[3], ")
    lowered = adjoint.lower(lambda x: x.exp().sum())(Tensor.ones(8, 8).contiguous())
    assert repr(lowered).startswith("<lowered <lambda>: 1 kernels")
    assert "for " in words(html(lowered))


def test_a_module_is_its_text():
    module = adjoint.capture(lambda x: x.exp(), Tensor.ones(3))
    assert module.text().splitlines()[0] in words(html(module))


# ---- models and runs


def test_a_model_is_a_table_of_its_parameters():
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm2d(8))
    found = words(html(model))
    assert "parameters in 4 tensors" in found
    assert "f32[8, 4]" in found
    assert "running_mean" in found
    assert "buffer" in found


def test_a_model_of_many_tensors_is_cut():
    found = words(html(nn.Sequential(*(nn.Linear(1, 1) for _ in range(150)))))
    assert "and 100 more tensors" in found


def test_a_run_shows_its_curves():
    loop = Loop(30, quiet=True, label="small <b>")
    assert "step 0 of 30" in words(html(loop))
    for step in loop:
        loop.report(loss=1 / (step + 1))
    assert "step 29: 0.0333" in words(html(loop))
    assert repr(loop) == "<Loop small <b>: step 29 of 30, loss 0.03333>"


# ---- whatever a user writes


def test_texts_of_the_user_are_escaped():
    named = type(HOSTILE, (nn.Module,), {"extra_repr": lambda self: HOSTILE})()
    setattr(named, HOSTILE, Tensor.ones(2))
    loop = Loop(1, quiet=True, label=HOSTILE)
    for _ in loop:
        loop.report(**{HOSTILE: HOSTILE})
    fn = jit(lambda x, text="": x)
    fn.__wrapped__.__name__ = HOSTILE
    fn(Tensor.ones(2), text=HOSTILE)
    for thing in (named, loop, fn, jit(fn.__wrapped__), adjoint.capture(lambda x: x, Tensor(1.0))):
        text = html(thing)
        assert "<script" not in text
        parsed(text)


def test_a_bundle_has_both_forms():
    x = Tensor([1.0])
    assert x._repr_mimebundle_() == bundle(x)
    assert set(bundle(x)) == {"text/plain", "text/html"}
    assert x._repr_html_() == html(x)


def drawn(thing):
    """The drawing of a thing, as a tree; it is in its bundle too."""
    text = thing._repr_svg_()
    assert bundle(thing)["image/svg+xml"] == text
    return ElementTree.fromstring(text)


def titles(tree):
    return [node.text for node in tree.iter() if node.tag.endswith("text")]


def test_graphs_are_drawings():
    def scaled(x):
        return (x.exp() * 2).sum()

    x = Tensor.ones(3)
    called = jit(scaled)
    assert called._repr_svg_() is None  # no trace yet
    called(x)
    lowered = adjoint.lower(scaled)(x)
    module = adjoint.capture(scaled, x)
    for thing in (trace(scaled, x), called, lowered, scaled(x).uop, module):
        assert "exp" in titles(drawn(thing)), type(thing)
        assert "exp" in titles(parsed(html(thing))), type(thing)


def test_what_is_not_computed_is_the_graph_that_would_be():
    lazy = Tensor.rand(100, 100).exp()
    assert "exp" in titles(drawn(lazy))
    assert not is_known(lazy.uop)


def test_a_row_is_drawn_and_other_values_are_not():
    assert drawn(Tensor.arange(20).realize()) is not None
    for values in (Tensor(3.0), Tensor.ones(2, 2).realize(), Tensor([1j] * 20), Tensor.ones(0)):
        assert values._repr_svg_() is None
        assert "image/svg+xml" not in bundle(values)


def test_a_large_graph_is_not_drawn_in_a_notebook():
    y = x = Tensor.rand(100, 100)
    for _ in range(200):
        y = y + x
    assert y._repr_svg_() is None
    assert "not computed" in words(html(y))


def test_runs_are_curves():
    loop = Loop(3, quiet=True, label="small")
    assert loop._repr_svg_() is None
    for step in loop:
        loop.report(loss=1 / (step + 1))
    assert "loss" in " ".join(filter(None, titles(drawn(loop))))
    run = Run("digits", steps=20, state="finished")
    assert run._repr_svg_() is None
    run.take({"step": 10, "time": 1.0, "values": {"loss": 0.5}})
    run.take({"step": 19, "time": 2.0, "values": {"loss": 0.25}})
    assert repr(run) == "<Run digits: finished, step 19 of 20, loss 0.2500>"
    assert "0.25" in words(html(run))
    assert drawn(run) is not None


def test_a_page_is_a_frame_that_may_run_its_own_scripts_alone():
    def evil(x):
        return x + 1

    evil.__name__ = HOSTILE
    text = html(adjoint.view(evil, Tensor.ones(3), show=False))
    assert re.fullmatch(r'<iframe sandbox="allow-scripts allow-downloads" [^<>]*></iframe>', text)
    inside = unescape(re.search(r'srcdoc="([^"]*)"', text)[1])
    assert inside.startswith("<!DOCTYPE html>")
    assert HOSTILE not in inside


def test_a_notebook_shows_a_page_and_no_browser_is_opened(monkeypatch):
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr("webbrowser.open", lambda address: pytest.fail(address))
    assert "View of" in repr(adjoint.view(Tensor.ones(3) + 1))


@pytest.mark.parametrize("thing", [adjoint.memory, adjoint.profile])
def test_reports_are_shown_as_text(thing):
    assert html(thing()).startswith("<div")
