"""Origins: the user's method, file and line, beside nodes and never in their keys."""

import inspect

import adjoint
from adjoint import Tensor
from adjoint.ir.opdef import OPS, expand_composite
from adjoint.ir.origin import origin_scope
from adjoint.ir.uop import UOp


def line():
    return inspect.currentframe().f_back.f_lineno


def fresh(name):
    return OPS["input"](name, (2,), "float32")


def test_an_origin_is_the_users_method_file_and_line():
    x = Tensor([1.5, 2.5])
    y, here = x.exp(), line()
    origin = y.uop.origin
    assert (origin.method, origin.file, origin.line) == ("exp", "test_origin.py", here)
    assert origin.path == __file__
    assert not origin.backward
    assert str(origin) == f"exp at test_origin.py:{here}"


def test_operators_are_named_after_their_method():
    x = Tensor([1.5, 3.5])
    assert (x + x).uop.origin.method == "add"
    assert (2 - x).uop.origin.method == "rsub"


def test_a_method_whose_options_have_two_names_is_named_after_itself():
    x = Tensor([1.5, 4.5])
    assert x.mean().uop.origin.method == "mean"
    assert x.mean(dim=0).uop.origin.method == "mean"
    assert adjoint.mean(x, axis=0).uop.origin.method == "mean"
    assert x.nansum().uop.origin.method == "nansum"
    assert x.repeat_interleave(2).uop.origin.method == "repeat_interleave"


def test_a_call_over_several_lines_has_the_line_of_the_call():
    x = fresh("several")
    start = line()
    y = x.maximum(
        -x,
    )
    assert start < y.origin.line <= start + 3


def test_an_origin_is_no_part_of_the_key():
    x = fresh("key")
    first = x.sin()
    second = x.sin()
    assert first is second
    assert first.origin.line == second.origin.line


def test_what_a_composite_expands_to_has_its_line():
    node, here = fresh("composite").softmax(0), line()
    assert node.op.kind == "composite"
    body = expand_composite(node)
    made = [n for n in body.toposort() if n.op.name not in ("input", "const")]
    assert {n.origin.line for n in made} == {here}


def test_a_scope_gives_its_origin_to_what_is_built_inside():
    model, here = fresh("scope").cos(), line()
    with origin_scope(model.raw_origin):
        inside = fresh("scoped").cos().sin()
    with origin_scope(model.raw_origin, backward=True):
        backward = fresh("scoped").sin().cos()
    assert inside.origin.line == here
    assert not inside.origin.backward
    assert backward.origin.line == here
    assert str(backward.origin).endswith(", backward")


def test_a_substituted_graph_keeps_its_lines():
    x = fresh("before")
    y, here = x.exp(), line()
    moved = y.substitute({x: fresh("after")})
    assert moved.origin.line == here


def test_nodes_built_by_hand_have_an_origin_too():
    node, here = UOp(OPS["tan"], (fresh("hand"),)), line()
    assert (node.origin.file, node.origin.line) == ("test_origin.py", here)
