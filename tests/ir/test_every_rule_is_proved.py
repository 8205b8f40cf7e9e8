"""Every rule that the package has is proved somewhere: integers and bools by z3, floats bit by bit,
movement and memory by cases, and so are the rewrites that kernels need."""

import importlib
import pkgutil

from adjoint.ir.rewrite import RuleSet
from adjoint.kernel.rules import kernel_rules, memory_rules
from adjoint.schedule.legalise import legal_rules
from adjoint.schedule.products import picture_rules, product_rules
from adjoint.target import TARGETS
from tests.ir import test_proved_floats, test_proved_integers, test_tensor_rules
from tests.kernel import test_optimise
from tests.schedule import test_legalise

ROOMS = ("ir", "kernel", "schedule", "engine")


def rule_sets():
    """Every set of rules that a module of the compiler holds."""
    for room in ROOMS:
        package = importlib.import_module(f"adjoint.{room}")
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            module = importlib.import_module(found.name)
            yield from (v for v in vars(module).values() if isinstance(v, RuleSet))
    yield from (
        rules(t) for t in TARGETS.values() for rules in (legal_rules, product_rules, picture_rules)
    )


def proved():
    numbers = (*test_proved_integers.ON_INTEGERS, *test_proved_integers.ON_BOOLS)
    floats = test_proved_floats.FLOAT_RULES
    cases = (*test_tensor_rules.CASES, *test_optimise.GATES, *test_legalise.CASES)
    return {*(rule.name for rule in (*numbers, *floats)), *cases}


def test_no_rule_is_without_a_proof():
    names = {rule.name for rules in rule_sets() for rule in rules}
    assert len(names) > 100
    assert names - proved() == set()


def test_a_rule_of_floats_is_proved_for_floats_too():
    """One that is a theorem about integers may still be wrong of NaN, infinities and zeros."""
    of_floats = {r.name for r in kernel_rules if test_proved_floats.of_floats(r)}
    assert of_floats - {rule.name for rule in test_proved_floats.FLOAT_RULES} == set()


def test_rules_of_memory_have_cases():
    assert list(test_optimise.GATES) == [rule.name for rule in memory_rules]
