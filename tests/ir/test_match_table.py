"""The table of rules to try: it leaves out none that applies, and names few that do not."""

import math

import pytest

from adjoint.ir.match_table import Matcher, MatchTable
from adjoint.ir.opdef import OPS
from adjoint.ir.pattern import Var
from adjoint.ir.rewrite import Rule, RuleSet, is_integer
from adjoint.ir.tensor_rules import is_float, tensor_rules
from adjoint.ir.uop import toposort
from adjoint.kernel.rules import kernel_rules, memory_rules
from tests.ir.instances import const, instances

x, y = Var("x"), Var("y")
DTYPES = ("float32", "int32", "uint8", "bool", "complex64")
RULES = {rule.name: rule for rule in (*tensor_rules, *kernel_rules) if rule not in memory_rules}


def leaf(name, dtype):
    return OPS["input"](name, (), dtype)


def candidates(rules, node):
    """The rules that the table names for a node."""
    matcher = Matcher(rules.table)
    return [matcher.rules(part) for part in toposort([node])][-1]


def nodes_of(rule, dtype):
    """Nodes that have the form of a rule's pattern, of what has many forms itself."""

    def make(name, is_bool):
        kind = "bool" if is_bool else dtype
        node = leaf(name, kind)
        return [node, *constants(is_bool), *([] if kind == "bool" else [-node, node.abs()])]

    def constants(is_bool):
        return [const(v, "bool" if is_bool else dtype) for v in (0, 1, 3)]

    return instances(rule, make, constants)


@pytest.mark.parametrize("name", RULES)
def test_every_rule_that_applies_is_named(name):
    for dtype in DTYPES:
        for node in nodes_of(RULES[name], dtype):
            for rules in (tensor_rules, kernel_rules):
                named = candidates(rules, node)
                applying = [r for r in rules if r.op == node.op.name and r.apply(node) is not None]
                assert [rule for rule in named if rule in applying] == applying, node


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, -1.0, 3.0, math.inf, math.nan])
def test_a_constant_is_looked_up_by_its_bits(value):
    numbers = (0.0, -0.0, 1.0, -1.0, math.nan)
    rules = RuleSet(tuple(Rule(f"{number}", x + number, x) for number in numbers))
    wanted = [repr(value)] if value in (0, 1, -1) or math.isnan(value) else []
    assert [rule.name for rule in candidates(rules, leaf("a", "float32") + value)] == wanted


def test_a_node_that_no_rule_is_about_has_none():
    a, b = leaf("a", "float32"), leaf("b", "float32")
    for node in (a + b, a - b, a * 3.0, (a < b).where(a, b), a.exp(), a * -b):
        assert candidates(kernel_rules, node) == ()


def test_what_a_rule_asks_of_dtypes_is_known_before_it_is_tried():
    rules = RuleSet(
        (Rule("whole", x * y, y * x, is_integer(x)), Rule("real", x * y, y * x, is_float(x)))
    )
    assert [r.name for r in candidates(rules, leaf("a", "int32") * leaf("b", "int32"))] == ["whole"]
    assert [r.name for r in candidates(rules, leaf("a", "float64") * 2.5)] == ["real"]
    assert candidates(rules, leaf("a", "complex64") * leaf("b", "complex64")) == ()


def test_the_same_operand_twice_is_seen():
    a, b = leaf("a", "int32"), leaf("b", "int32")
    assert [r.name for r in candidates(tensor_rules, a - a)] == ["sub_self"]
    assert candidates(tensor_rules, a - b) == ()


def test_patterns_of_any_depth_are_matched():
    rules = RuleSet((Rule("three", x.sin().cos().sin() + y, y + x),))
    a, b = leaf("a", "float32"), leaf("b", "float32")
    assert len(candidates(rules, b + a.sin().cos().sin())) == 1
    assert candidates(rules, b + a.cos().sin().cos()) == ()


def test_a_table_does_not_grow_with_the_graph():
    table = MatchTable(tensor_rules)
    node = leaf("a", "float32")
    sizes = []
    for _ in range(3):
        for number in range(100):
            node = -(node * (number + 2.5)) + node.abs()
        matcher = Matcher(table)
        for part in toposort([node]):
            matcher.rules(part)
        sizes.append(len(table.entries))
    assert sizes[0] == sizes[1] == sizes[2]
