"""Rules of `legalise`: each applies to a graph made for it, and what it makes has the same bits."""

from dataclasses import replace

import numpy as np
import pytest

from adjoint import Variable
from adjoint.errors import BoundsError
from adjoint.ir.expand import expand
from adjoint.ir.opdef import OPS
from adjoint.ir.pattern import Var
from adjoint.ir.rewrite import Rule, RuleSet, rewrite_once
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp, toposort
from adjoint.kernel.team_columns import LONGEST_COLUMN
from adjoint.schedule.legalise import legal_rules, prepare
from adjoint.schedule.products import picture_rules, product_rules
from adjoint.target import TARGETS, Limits, MatrixLibrary, MatrixUnit, Tile
from tests.ir.instances import evaluated, same_bits

LIMITS = Limits(tiled_products=1, windowed_rows=2)
UNITS = (MatrixUnit("int8", "int32", packed=4),)
TARGET = replace(TARGETS["CPU"], tile=Tile(1, 32), limits=LIMITS, matrix_units=UNITS)
RULES = product_rules(TARGET) + picture_rules(TARGET) + legal_rules(TARGET)


def given(name, *shape, dtype="float32"):
    return OPS["input"](name, shape, dtype, "CPU")


def byte(name, *shape, u=False):
    return given(name, *shape, dtype="uint8" if u else "int8")


def direct(name, x, **attrs):
    """A node with attributes that the record's call would have normalised away."""
    return UOp(OPS[name], (x,), OPS[name].arg(**attrs))


X, LONG, PLACES = given("x", 4, 3), given("x", 1 << 16), given("t", 4, 1, dtype="int64")
HALVES = given("x", 4, 3, dtype="float16") @ given("y", 3, 5, dtype="float16")


def gradient(spec="bouv,ocij->bcuvij", gaps=(1, 1), stride=1):
    """Of a convolution by its picture."""
    g, w = given("g", 2, 3, 5, 6), given("w", 3, 4, 3, 2)
    left, right = (g, w) if spec.startswith("b") else (w, g)
    shape = (2, 4, 4 * stride + 1 + 2 * gaps[0], 5 * stride + 1 + gaps[1])
    return left.contract(right, spec).fold(shape, (2, 3), (3, 2), stride, gaps)


def windows(x):
    return x.window((2, 3), (3, 2))


CASES = {
    "fold_of_product": [
        gradient(),
        gradient("ocij,bouv->bcuvij"),
        gradient(gaps=(2, 3)),
        gradient(stride=2),
        gradient("ocij,bouv->bcuvij", (2, 1), 3),
    ],
    "part_of_windows": [
        rewrite_once([gradient()], product_rules(TARGET))[0].shrink((0, 2), (1, 3), (1, 6), (0, 5))
    ],
    "channels_last": [
        given("g", 2, 3, 5, 6).contract(windows(given("x", 2, 9, 7, 7)), "bouv,bcuvij->ocij"),
        windows(given("x", 2, 9, 7, 7)).contract(given("g", 2, 3, 5, 6), "bcuvij,bouv->coij"),
    ],
    "pictures_in_one": [
        windows(given("x", 9, 2, 5, 4)).contract(given("w", 3, 2, 3, 2), "bcuvij,ocij->bouv"),
        given("w", 3, 2, 3, 2).contract(windows(given("x", 9, 2, 5, 4)), "ocij,bcuvij->bouv"),
    ],
    "identity": [X.detach(), X.contiguous(), X.copy("REF")],
    "same_view": [direct("reshape", X, shape=(4, 3))],
    "reduction_of_nothing": [given("x", 0, 3).sum(0), given("x", 4, 0).prod(1)],
    "reduction_of_one": [given("x", 1, 5).sum(0), given("x", 5, 1).max(1)],
    "no_element": [],  # an error: below
    "picked_elements": [X.scatter_add(1, PLACES, given("u", 4, 1))],
    "fold_side_by_side": [
        given("x", 3, 2, 4, 2, 3).fold((3, 4, 12), (1, 2), (2, 3), (2, 3)),
        given("x", 2, 4, 3, dtype="int32").fold((2, 14), (1,), 3, 3),
    ],
    "cat_in_levels": [
        OPS["cat"](*(given(f"x{i}", 4, 3) for i in range(17)), dim=1),
        OPS["cat"](*(given(f"x{i}", 1 + i % 3, 2, dtype="int32") for i in range(70))),
    ],
    "arg_extreme": [X.argmax(1), X.argmin(0)],
    "narrow_first": [],  # where teams compute: test_window_bits.py
    "single_write": [],  # where teams compute: test_single_writes.py
    "sum_of_one_hot": [],  # where teams add up
    "count": [
        (X > 0).cast("float32").sum(1),
        (X > 0).cast("float16").sum((0, 1), True),
        windows(given("x", 2, 3, 7, 7) > 0).cast("float64").sum((4, 5)),
    ],
    "fold_in_phases": [
        given("x", 2, 5, 9, 3, 3).fold((2, 11, 19), (1, 2), 3, 2),
        given("x", 2, 5, 9, 3, 2).fold((2, 7, 28), (1, 2), (3, 2), (1, 3)),
        given("x", 5, 9, 4).fold((5, 21), (1,), 4, 2),
        given("x", 3, 9, 2).fold((9, 9), (0,), 2, 3),
        given("x", 2, 8, 5, dtype="int32").fold((2, 20), (1,), 5, 2),
    ],
    "reduction_in_blocks": [LONG.sum(), LONG.max(), given("x", 2, (1 << 15) + 7).sum(1)],
    "contraction_of_nothing": [given("x", 4, 0) @ given("y", 0, 5)],
    "contraction_of_words": [
        byte("x", 4, 3) @ byte("y", 3, 40),
        byte("x", 4, 9, u=True).dot(byte("y", 9, 33, u=True), dtype="int32"),
        byte("x", 4, 8).dot(byte("y", 8, 32, u=True), dtype="int32"),
        byte("x", 8, 4, u=True).permute(1, 0).dot(byte("y", 8, 32), dtype="int64"),
        byte("x", 2, 3, 12) @ byte("y", 34, 12).permute(1, 0),
        byte("x", 2, 5, 9, 9).conv2d(byte("w", 60, 5, 3, 3), padding=1),
        byte("x", 2, 4, 9, 9, u=True).conv2d(byte("w", 168, 2, 3, 3, u=True), groups=2),
    ],
    "wider_contraction": [HALVES],
    "contraction_of_bytes": [],  # where a library takes them: below
    "exact_contraction": [
        given("x", 4, 3, dtype="int8") @ given("y", 3, 5, dtype="int8"),
        given("x", 4, 300, dtype="uint8").dot(given("y", 300, 2, dtype="uint8"), dtype="int32"),
    ],
    "contraction_of_one": [given("x", 4, 1) @ given("y", 1, 5)],
    "contraction_in_lines": [
        given("g", 2, 3, 5, 6).contract(windows(given("x", 2, 3, 7, 7)), "bcuv,bcuvij->cij"),
        windows(given("x", 2, 3, 7, 7)).contract(given("g", 2, 3, 5, 6), "bcuvij,bcuv->jci"),
    ],
    "product_with_vector": [
        given("x", 6, 4, 3).contract(given("y", 3), "bmk,k->bm"),
        given("x", 6, 4).contract(given("y", 6, 1), "km,kn->nm"),
        given("x", 6, 5).contract(given("y", 6, 5), "bk,bk->b"),
    ],
    "product_of_matrices": [given("x", 6, 4, 3).contract(given("y", 5, 3), "bmk,nk->bmn")],
}


def values(node):
    """Small whole numbers with NaN, zeros and infinities among them where no sum is rounded."""
    generator = np.random.default_rng(len(node.shape))
    found = generator.integers(0, 3, node.shape).astype(node.dtype.np)
    return found if node.dtype.is_int else np.where(found == 0, -found, found)


def test_every_rule_has_a_case():
    assert list(CASES) == [rule.name for rule in RULES]


@pytest.mark.parametrize("name", [name for name, roots in CASES.items() if roots])
def test_the_rule_changes_no_bit(name):
    for root in expand(CASES[name]):
        leaves = {n: values(n) for n in toposort([root]) if n.op.name == "input"}
        applied = [(n, RULES[name].apply(n)) for n in toposort([root])]
        found = [(node, result) for node, result in applied if result is not None]
        assert found, root
        for node, result in found:
            wanted = evaluated(node, leaves)
            assert same_bits(evaluated(result, leaves), wanted), f"{node} becomes {result}"


def test_bytes_for_a_library_are_filled_up_and_keep_their_bits():
    library = MatrixLibrary("", ("int8",))
    rule = legal_rules(replace(TARGET, libraries=(library,)))["contraction_of_bytes"]
    x, y = byte("x", 4, 20), byte("y", 20, 5)
    for root in expand([x @ y, x.dot(y, dtype="int64"), x.contract(byte("y", 3, 20), "mk,nk->nm")]):
        (node,) = (n for n in toposort([root]) if n.op.name == "contract")
        leaves = {n: values(n) for n in toposort([root]) if n.op.name == "input"}
        assert same_bits(evaluated(rule.apply(node), leaves), evaluated(node, leaves))
    uneven = byte("x", 4, 20, u=True).contract(byte("y", 20, 5, u=True), "mk,kn->mn")
    assert rule.apply(uneven) is None


@pytest.mark.parametrize("op", ["gather", "scatter_add"])
def test_an_index_into_an_axis_without_elements_is_refused(op):
    empty, places = given("x", 0, 3), given("t", 2, 3, dtype="int64")
    updates = () if op == "gather" else (given("u", 2, 3),)
    (root,) = expand([getattr(empty, op)(0, places, *updates)])
    with pytest.raises(BoundsError, match="axis 0 of size 0"):
        rewrite_once([root], RULES)


def test_what_a_rule_makes_is_left_as_it_is():
    x = Var("x")
    rules = RuleSet((Rule("exp", x.exp(), x.exp().neg()),))
    node = X.exp().exp()
    assert rewrite_once([node], rules) == [-((-X.exp()).exp())]


def test_rules_of_kinds_print_what_they_are_about():
    assert str(RULES["identity"]) == "identity: detach(x) = x"
    assert str(RULES["arg_extreme"].pattern) == "node of argmax or argmin"


SPECS = ["mk,kn->mn", "km,kn->mn", "mk,nk->nm", "bmk,kn->bmn", "bmk,bkn->mbn", "km,nkb->bnm"]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("count", [2, Variable("n", 1, 8).bind(2)])
def test_products_of_one_form_keep_their_own_operands_dtypes_and_lines(spec, count):
    """What a contraction becomes is looked up by letters and sizes alone."""
    sizes = {"b": 3, "m": 4, "k": 5, "n": count}
    terms, out = spec.split("->")
    for dtype in ("float32", "float64", "float32"):
        x, y = (
            given(name, *(sizes[c] for c in term), dtype=dtype)
            for name, term in zip(("left", "right"), terms.split(","), strict=True)
        )
        node = x.contract(y, spec)
        (found,) = rewrite_once([node], RULES)
        assert (found.shape, found.dtype) == (node.shape, node.dtype)
        assert [varies(n) for n in found.shape] == [varies(sizes[c]) for c in out]
        inner = toposort([found])
        assert {n for n in inner if n.op.name == "input"} == {x, y}
        assert {n.raw_origin for n in inner if n not in (x, y)} == {node.raw_origin}


@pytest.mark.parametrize(("lines", "sums"), [(LONGEST_COLUMN, 1), (LONGEST_COLUMN + 1, 2)])
def test_columns_that_are_longer_than_a_team_goes_down_are_in_blocks_however_many(lines, sums):
    x = OPS["input"]("x", (lines, 50_000), "float32", "GPU")
    (found,) = prepare([x.sum(0)], TARGETS["GPU"])
    assert sum(node.op.name == "reduce_sum" for node in toposort([found])) == sums
