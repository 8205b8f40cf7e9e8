"""Rules on floats keep every bit: float16 exhaustively, float32 on random bit patterns.

A rule of one operand is tried on all 65,536 values of float16; one of two operands on all of them
beside every special value, in both places; a constant in it is every special value, and every power
of two. float32, float64 and bfloat16 have random bits beside their special values. Both sides are
computed by the reference device.
"""

from functools import cache

import numpy as np
import pytest

from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.pattern import Var, variables
from adjoint.ir.rewrite import Rule
from adjoint.ir.tensor_rules import movement_rules, tensor_rules
from adjoint.ir.text import text
from adjoint.ir.uop import toposort
from tests.ir.instances import const, evaluated, instances, same_bits, truths

FLOATS = (dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bfloat16)
RULES = [rule for rule in tensor_rules if rule.name not in {r.name for r in movement_rules}]
_PLAIN = (0.0, 1.0, 1.5, 2.0, 0.5, 3.0, 0.1, 7.0, 1024.0, np.inf)


def exponents(dtype):
    """The exponents of the smallest subnormal and the greatest power of two."""
    return {"float16": (-24, 15), "bfloat16": (-133, 127), "float32": (-149, 127)}.get(
        dtype.name, (-1074, 1023)
    )


@cache
def specials(dtype):
    """Zeros, infinities, NaN, the ends of subnormal and normal numbers, and some plain ones."""
    low, high = exponents(dtype)
    top = float(np.nextafter(np.array(np.inf, dtype.np), np.array(0, dtype.np)))
    edge = {"float16": -14, "float64": -1022}.get(dtype.name, -126)
    some = [2.0**low, 2.0**edge, 2.0**edge - 2.0**low, 2.0**edge + 2.0**low, 2.0**high, top]
    values = [sign * v for v in (*_PLAIN, *some) for sign in (1, -1)]
    return np.array([*values, np.nan], dtype.np)


@cache
def values(dtype):
    """Every value of float16; of the others the special ones and 50,000 random bit patterns."""
    if dtype is dtypes.float16:
        return np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    bits = np.random.default_rng(7).integers(0, 256, 50_000 * dtype.itemsize, np.uint8)
    return np.concatenate([bits.view(dtype.np), specials(dtype)])


def numbers(dtype, powers):
    """Constants to try: the special values, and powers of two if so many are wanted."""
    low, high = exponents(dtype)
    step = 16 if dtype is dtypes.float64 else 1
    kept = [k for k in range(low, high + 1) if k % step == 0 or k in (low, high)]
    twos = [sign * 2.0**k for k in kept for sign in (1, -1)] if powers else []
    return [*specials(dtype).astype(np.float64).tolist(), *twos]


def columns(rule, dtype):
    """Values for the float operands, one grid after another: all, or all beside every special
    value, in both places."""
    bools = truths(rule)
    holes = [n for n, h in variables(rule.pattern).items() if not h.const and n not in bools]
    every, some = values(dtype), specials(dtype)
    if len(holes) < 2:
        return [dict.fromkeys(holes, every)]
    first, second = (g.ravel() for g in np.meshgrid(every, some, indexing="ij"))
    return [dict(zip(holes, pair, strict=True)) for pair in ((first, second), (second, first))]


def applications(rule, dtype, count):
    """Nodes of that many elements on which the rule applies, with what it makes of them."""
    shape, twice = (count,), len(variables(rule.pattern)) > 1
    folds = all(hole.const for hole in variables(rule.pattern).values())
    tried = [const(v, dtype, shape) for v in numbers(dtype, twice and not folds)]
    logic = [const(v, dtypes.bool_, shape) for v in (False, True)]

    def make(name, is_bool):
        return [OPS["input"](name, shape, dtypes.bool_ if is_bool else dtype)]

    for node in instances(rule, make, lambda is_bool: logic if is_bool else tried):
        result = rule.apply(node)
        if result is not None:
            yield node, result


def of_floats(rule):
    return next(applications(rule, dtypes.float32, 1), None) is not None


FLOAT_RULES = [rule for rule in RULES if of_floats(rule)]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("rule", FLOAT_RULES, ids=lambda r: r.name)
def test_the_rule_keeps_every_bit(rule, dtype):
    applied = 0
    for column in columns(rule, dtype):
        count = len(next(iter(column.values()), [0]))
        for node, result in applications(rule, dtype, count):
            inputs = [n for n in toposort([node]) if n.op.name == "input"]
            given = {n: column.get(n.arg.name, np.arange(count) % 3 == 0) for n in inputs}
            same = same_bits(evaluated(node, given), evaluated(result, given))
            assert same, f"{rule}\n{text(node)}becomes\n{text(result)}"
            applied += 1
    assert applied


def test_a_rule_that_changes_a_bit_is_caught():
    wrong = Rule("plus_zero", Var("x") + 0, Var("x"))
    (column,) = columns(wrong, dtypes.float16)
    ((node, result),) = applications(wrong, dtypes.float16, 1 << 16)
    given = {n: column["x"] for n in toposort([node]) if n.op.name == "input"}
    assert not same_bits(evaluated(node, given), evaluated(result, given))  # of -0.0
