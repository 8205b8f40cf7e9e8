"""Integers: bounds are sound, and every rule is an equation in every dtype."""

import itertools
import random
from math import prod

import numpy as np
import pytest

from adjoint.errors import AdjointError
from adjoint.ir.bounds import bounds, no_wrap
from adjoint.ir.dtype import INTS, dtypes
from adjoint.ir.integer_rules import integer_rules
from adjoint.ir.opdef import OPS, attributes
from adjoint.ir.pattern import fill, variables
from adjoint.ir.rewrite import rewrite
from adjoint.ir.tensor_rules import tensor_rules
from adjoint.ir.text import text
from adjoint.ir.uop import UOp, toposort
from adjoint.ops.loop_ops import range_, special, variable
from tests.ir.instances import truths

CONSTANTS = (-128, -7, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 24, 63, 127)
RANGES = ((-128, 127), (0, 255), (-9, 7), (0, 11), (0, 3), (5, 20), (-20, -3), (2, 2), (0, 1))
BOOLS = ((0, 1),)


def simplify(node):
    return rewrite([node], integer_rules)[0]


def const(value, dtype=dtypes.int32):
    return OPS["const"](value, dtype)


def evaluated(node, given):
    """The node's values by the references of the records, over whole arrays at once."""
    values = dict(given)
    with np.errstate(all="ignore"):
        for part in toposort([node], stop=values.__contains__):
            if part in values:
                continue
            if part.op.name == "const":
                values[part] = np.array(part.arg.value, part.dtype.np)
                continue
            operands = [values[s] for s in part.src]
            value = part.op.reference(*operands, **attributes(part))
            values[part] = np.asarray(value).astype(part.dtype.np)
    return values[node]


def grid(leaves):
    """Every combination of values of the leaves, or 50,000 of them where there are more."""
    axes = [np.arange(leaf.arg.lo, leaf.arg.hi + 1).astype(leaf.dtype.np) for leaf in leaves]
    if prod(len(axis) for axis in axes) <= 50_000:
        return dict(zip(leaves, np.meshgrid(*axes, indexing="ij"), strict=True))
    picks = np.random.default_rng(0)
    return {leaf: picks.choice(axis, 50_000) for leaf, axis in zip(leaves, axes, strict=True)}


def assert_equal(before, after):
    leaves = [n for n in toposort([before, after]) if n.op.name == "variable"]
    given = grid(leaves)
    left, right = evaluated(before, given), evaluated(after, given)
    left, right = np.broadcast_arrays(left, right)
    wrong = np.argwhere(left != right)
    where = {n.arg.name: given[n][tuple(wrong[0])] for n in leaves} if len(wrong) else {}
    assert not len(wrong), f"at {where}:\n{text(before)}becomes\n{text(after)}"


# ---- bounds


def test_bounds_of_leaves_are_what_they_say():
    assert bounds(const(7)) == (7, 7)
    assert bounds(OPS["const"](True)) == (1, 1)
    assert bounds(range_(0, 10)) == (0, 9)
    assert bounds(range_(0, 10, 5)) == (5, 14)
    assert bounds(variable("n", -3, 8)) == (-3, 8)
    assert bounds(special("gidx0", 16)) == (0, 15)
    assert bounds(OPS["input"]("x", (), "int16")) == (-32768, 32767)


def test_bounds_of_an_index_expression():
    i, j = range_(0, 10), range_(1, 4)
    assert bounds(i * 4 + j) == (0, 39)
    assert bounds((i * 4 + j) // 4) == (0, 9)
    assert bounds((i * 4 + j) % 4) == (0, 3)
    assert bounds(i < 10) == (1, 1)
    assert bounds((i < 5).where(i, 100)) == (0, 100)


def test_a_range_that_leaves_the_dtype_is_the_whole_dtype():
    x = variable("x", 0, 100, "int8")
    assert bounds(x + x) == (-128, 127)
    assert not no_wrap(x + x)
    assert bounds(x + 27) == (27, 127)
    assert no_wrap(x + 27)


def test_bounds_of_a_deep_graph_do_not_recurse():
    node = range_(0, 2)
    for _ in range(50_000):
        node = node.maximum(0)
    assert bounds(node) == (0, 1)


def test_floats_have_no_bounds():
    with pytest.raises(AdjointError, match="only integers"):
        bounds(OPS["input"]("x", (), "float32"))


BOUNDED = [r for r in OPS.values() if r.bounds is not None and r.name not in ("cast", "where")]


@pytest.mark.parametrize("dtype", [dtypes.int8, dtypes.uint8], ids=str)
@pytest.mark.parametrize("record", BOUNDED, ids=lambda r: r.name)
def test_bounds_contain_every_value(record, dtype):
    arity = 1 if record.name in ("neg", "abs", "sign", "relu") else 2
    ends = [r for r in RANGES if dtype.min <= r[0] and r[1] <= dtype.max]
    for chosen in itertools.product(ends, repeat=arity):
        leaves = [variable(f"v{i}", *r, dtype) for i, r in enumerate(chosen)]
        node = record(*leaves)
        values = evaluated(node, grid(leaves)).astype(object)
        lo, hi = bounds(node)
        assert lo <= values.min(), f"{record.name} of {chosen}"
        assert values.max() <= hi, f"{record.name} of {chosen}"


@pytest.mark.parametrize("target", [dtypes.bool_, *INTS], ids=str)
def test_bounds_of_a_cast_contain_every_value(target):
    for ends in RANGES:
        leaf = variable("v", *ends, "int16")
        node = leaf.cast(target)
        values = evaluated(node, grid([leaf])).astype(object)
        assert bounds(node)[0] <= values.min()
        assert values.max() <= bounds(node)[1]


# ---- every rule


def instances(rule, generator, count):
    """The rule's pattern with its holes filled at random."""
    holes, bools = variables(rule.pattern), truths(rule)
    for _ in range(count):
        dtype = generator.choice((dtypes.int8, dtypes.uint8, dtypes.int16))
        bound = {}
        for name, hole in holes.items():
            kind = dtypes.bool_ if name in bools else dtype
            if hole.const:
                bound[name] = random_const(generator, kind)
            else:
                bound[name] = operand(generator, name, kind)
        try:
            yield fill(rule.pattern, bound)
        except (AdjointError, TypeError):
            continue  # a constant of the pattern that is no value of the dtype


def random_const(generator, dtype):
    if dtype.is_bool:
        return const(generator.random() < 0.5, dtype)
    return const(generator.choice([v for v in CONSTANTS if dtype.min <= v <= dtype.max]), dtype)


def random_leaf(generator, name, dtype):
    ends = [r for r in RANGES if dtype.min <= r[0] and r[1] <= dtype.max and r[1] - r[0] < 300]
    if dtype.is_bool:
        return variable(name, 0, 1, "int8").ne(0)
    return variable(name, *generator.choice(ends), dtype)


def operand(generator, name, dtype):
    """A leaf, or now and then a sum, a quotient or a remainder, whose ranges are wider."""
    leaf = random_leaf(generator, name, dtype)
    if dtype.is_bool or generator.random() < 0.4:
        return leaf
    other = random_leaf(generator, generator.choice((name, "w")), dtype)
    c, d = random_const(generator, dtype), random_const(generator, dtype)
    shapes = (
        lambda: leaf * c,
        lambda: leaf * c + other,
        lambda: leaf * c + d,
        lambda: leaf * c + other * d,
        lambda: (leaf // c) * d,
        lambda: (leaf // c) * c,
        lambda: leaf % c,
        lambda: (leaf % c) * d,
        lambda: leaf + d,
    )
    return generator.choice(shapes)()


def directed(rule):
    """Instances a random search would hardly meet."""
    i = variable("i", 0, 15, "int8")
    made = {
        "fold_where": lambda: UOp(
            OPS["where"], (const(True, "bool"), const(1, "int8"), const(2, "int8"))
        ),
        "where_true": lambda: const(True, "bool").where(i, i + 1),
        "where_false": lambda: const(False, "bool").where(i, i + 1),
        "where_truth": lambda: (i < 3).where(const(True, "bool"), const(False, "bool")),
        "fold_cast": lambda: UOp(OPS["cast"], (const(300),), OPS["cast"].arg(dtypes.uint8)),
    }
    return [made[rule.name]()] if rule.name in made else []


@pytest.mark.parametrize("rule", integer_rules.rules, ids=lambda r: r.name)
def test_the_rule_is_an_equation(rule):
    generator = random.Random(rule.name)
    applied = 0
    for node in (*directed(rule), *instances(rule, generator, 1500)):
        if not isinstance(node, UOp) or node.op.name != rule.op:
            continue
        result = rule.apply(node)
        if result is not None:
            assert_equal(node, result)
            applied += 1
        if applied >= 60:
            break
    assert applied >= 1, f"no instance of {rule}"


def test_simplify_keeps_the_value_of_random_expressions():
    generator = random.Random(0)
    for _ in range(400):
        node = random_expression(generator, generator.choice((dtypes.int8, dtypes.uint8)), 4)
        assert_equal(node, simplify(node))


def test_simplify_twice_changes_nothing():
    generator = random.Random(1)
    for _ in range(200):
        once = simplify(random_expression(generator, dtypes.int8, 4))
        assert simplify(once) is once


def random_expression(generator, dtype, depth):
    if depth == 0:
        if generator.random() < 0.35:
            return random_const(generator, dtype)
        return random_leaf(generator, generator.choice("ij"), dtype)
    ops = ("add", "add", "mul", "mul", "sub", "floordiv", "mod", "maximum", "minimum", "where")
    op = generator.choice((*ops, "idiv", "fmod", "bitwise_and", "lshift", "rshift", "abs", "neg"))
    a = random_expression(generator, dtype, depth - 1)
    if op in ("abs", "neg"):
        return OPS[op](a)
    b = random_expression(generator, dtype, depth - 1 if generator.random() < 0.5 else 0)
    if op == "where":
        cond = OPS[generator.choice(("lt", "le", "eq", "ne"))](a, b)
        return cond.where(a, b)
    return OPS[op](a, b)


# ---- what it is for


def test_comparisons_are_decided_by_the_ranges():
    i = range_(0, 10)
    assert simplify(i < 10).arg.value is True
    assert simplify(i * 2 + 3 <= 2).arg.value is False
    assert simplify((i < 10).where(i, 0)) is i
    assert simplify((i + 3).maximum(2)) is i + 3


def test_nothing_that_may_wrap_around_is_decided():
    x = variable("x", 0, 100, "int8")
    assert simplify(x + 100 < 120).op.name == "lt"


def test_division_by_zero_is_zero():
    i = range_(0, 10)
    assert simplify(i // 0).arg.value == 0
    assert simplify(const(5) // 0).arg.value == 0
    assert simplify(const(5) % 0).arg.value == 0


def test_a_long_sum_is_simplified_in_reasonable_time():
    total = range_(0, 2)
    for i in range(1, 3000):
        total = total + range_(i, 2)
    assert simplify(total) is total


FLOAT = OPS["input"]("f", (3,), "float32")


@pytest.mark.parametrize(
    "node",
    [
        FLOAT / FLOAT,
        FLOAT * 0,
        FLOAT - FLOAT,
        FLOAT + 0,
        FLOAT.eq(FLOAT),
        FLOAT <= FLOAT,
        (FLOAT + 1) + 2,
        FLOAT * 2 + FLOAT * 3,
        FLOAT // 1,
        FLOAT % FLOAT,
    ],
    ids=lambda n: n.op.name,
)
def test_floats_are_left_alone(node):
    for rules in (integer_rules, tensor_rules):
        assert [rules.apply(n)[0] for n in node.toposort()] == [None] * len(node.toposort())
