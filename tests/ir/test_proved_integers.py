"""Rules on integers and bools are theorems: z3 proves both sides equal for all values.

Operands are bit-vectors of the dtype: signed and unsigned, 8, 16, 32 and 64 bits wide, or 8 and 16
where the equation holds products, quotients or remainders of unknowns (`widths`), for which solving
takes minutes beyond. Leaves with a range are constrained to it. Constants are chosen: the ends of
the dtype, powers of two and their neighbours. What an op means is written down here once more:
arithmetic wraps around, division rounds down, and by zero it gives 0, as does the remainder.
"""

import itertools
import random

import pytest
import z3

from adjoint.ir.dtype import as_dtype, dtypes
from adjoint.ir.integer_rules import integer_rules
from adjoint.ir.opdef import OPS
from adjoint.ir.pattern import variables
from adjoint.ir.tensor_rules import tensor_rules
from adjoint.ir.text import text
from adjoint.ir.uop import UOp, toposort
from adjoint.ops.loop_ops import variable
from tests.ir.instances import const, instances

RULES = {r.name: r for r in (*integer_rules, *tensor_rules)}


# ---- what the ops mean


def divided(a, b, signed):
    """Rounded down; by zero 0."""
    if not signed:
        return z3.If(b == 0, z3.BitVecVal(0, a.size()), z3.UDiv(a, b))
    quotient, rest = a / b, z3.SRem(a, b)
    down = z3.If(z3.And(rest != 0, (rest < 0) != (b < 0)), quotient - 1, quotient)
    return z3.If(b == 0, z3.BitVecVal(0, a.size()), down)


def remainder(a, b, signed):
    return z3.If(b == 0, z3.BitVecVal(0, a.size()), a - divided(a, b, signed) * b)


def truncated(a, b, signed):
    zero = z3.BitVecVal(0, a.size())
    return z3.If(b == 0, zero, a / b if signed else z3.UDiv(a, b))


def rest_of_truncated(a, b, signed):
    return z3.If(b == 0, z3.BitVecVal(0, a.size()), a - truncated(a, b, signed) * b)


def shifted(a, b, signed, left):
    """By the width and more nothing is left but the sign; a negative count is as large a one."""
    if left:
        return a << b
    return a >> b if signed else z3.LShR(a, b)


def less(a, b, signed):
    return a < b if signed else z3.ULT(a, b)


def meaning(node, values):
    """The node as a term: a Bool for bools, else a bit-vector."""
    name, src = node.op.name, [values[s] for s in node.src]
    source = node.src[0].dtype
    if source.is_bool and name in LOGIC:
        return LOGIC[name](*src)
    signed = source.kind == "i"
    match name, src:
        case "where", (p, a, b):
            return z3.If(p, a, b)
        case "cast", (a,):
            return converted(a, source, node.dtype)
        case ("logical_not", (a,)):
            return a == 0
        case (("floordiv" | "mod" | "idiv" | "fmod"), (a, b)):
            return DIVISIONS[name](a, b, signed)
        case (("lshift" | "rshift"), (a, b)):
            return shifted(a, b, signed, name == "lshift")
        case ("lt", (a, b)):
            return less(a, b, signed)
        case ("le", (a, b)):
            return z3.Not(less(b, a, signed))
        case ("maximum", (a, b)):
            return z3.If(less(a, b, signed), b, a)
        case ("minimum", (a, b)):
            return z3.If(less(b, a, signed), b, a)
        case ("abs", (a,)):
            return z3.If(a < 0, -a, a) if signed else a
        case ("sign", (a,)):
            below = z3.BitVecVal(-1 if signed else 1, a.size())
            return z3.If(a == 0, a, z3.If(less(a, z3.BitVecVal(0, a.size()), signed), below, 1))
    return PLAIN[name](*src)


DIVISIONS = {
    "floordiv": divided,
    "mod": remainder,
    "idiv": truncated,
    "fmod": rest_of_truncated,
}
PLAIN = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "bitwise_not": lambda a: ~a,
    **{name: lambda a: a for name in ("floor", "ceil", "trunc", "round", "contiguous", "detach")},
}
LOGIC = {
    **dict.fromkeys(("logical_and", "bitwise_and", "mul", "minimum"), z3.And),
    **dict.fromkeys(("logical_or", "bitwise_or", "add", "maximum"), z3.Or),
    **dict.fromkeys(("logical_xor", "bitwise_xor", "ne"), z3.Xor),
    **dict.fromkeys(("logical_not", "bitwise_not"), z3.Not),
    "eq": lambda a, b: a == b,
    "lt": lambda a, b: z3.And(z3.Not(a), b),
    "le": lambda a, b: z3.Or(z3.Not(a), b),
    **{name: lambda a: a for name in ("abs", "floor", "ceil", "trunc", "round")},
    **{name: lambda a: a for name in ("contiguous", "detach")},
}


def converted(a, source, target):
    if source.is_bool:
        return a if target.is_bool else z3.If(a, number(1, target), number(0, target))
    if target.is_bool:
        return a != 0
    if target.bits <= source.bits:
        return z3.Extract(target.bits - 1, 0, a)
    extend = z3.SignExt if source.kind == "i" else z3.ZeroExt
    return extend(target.bits - source.bits, a)


def number(value, dtype):
    return z3.BoolVal(bool(value)) if dtype.is_bool else z3.BitVecVal(int(value), dtype.bits)


def terms(roots):
    """The roots as terms, and what their leaves' ranges say."""
    values, given = {}, []
    for node in toposort(roots):
        if node.op.name == "const":
            values[node] = number(node.arg.value, node.dtype)
        elif node.src:
            values[node] = meaning(node, values)
        else:
            name = f"{node.arg.name}:{node.dtype}"
            values[node] = z3.Bool(name) if node.dtype.is_bool else z3.BitVec(name, node.dtype.bits)
            if node.op.name == "variable":
                signed = node.dtype.kind == "i"
                low, high = (number(v, node.dtype) for v in (node.arg.lo, node.arg.hi))
                given += [z3.Not(less(values[node], low, signed))]
                given += [z3.Not(less(high, values[node], signed))]
    return [values[root] for root in roots], given


def counterexample(before, after):
    """Values for which the two differ; None if there are none."""
    (left, right), given = terms([before, after])
    solver = z3.Solver()
    solver.set("timeout", 900_000)
    solver.add(*given, left != right)
    verdict = solver.check()
    assert verdict != z3.unknown, "the solver gave up"
    return solver.model() if verdict == z3.sat else None


# ---- instances


def constants(dtype):
    ends = (dtype.min, dtype.max, dtype.min + 1, dtype.max - 1)
    some = (0, 1, -1, 2, -2, 3, 4, 7, 8, 12, 15, 16, 100, *ends)
    kept = dict.fromkeys(v for v in some if dtype.min <= v <= dtype.max)
    logic = [const(v, dtypes.bool_) for v in (False, True)]
    made = [const(v, dtype) for v in kept]
    return lambda is_bool: logic if is_bool else made


def leaves(dtype):
    """Any value, and values of a range, so that conditions on ranges can hold."""

    def make(name, is_bool):
        if is_bool:
            return [OPS["input"](name, (), dtypes.bool_)]
        whole = OPS["input"](name, (), dtype)
        i, zero = variable(f"{name}i", 0, 11, dtype), variable(f"{name}o", 0, 0, dtype)
        hundred = variable(f"{name}h", 100, 100, dtype)
        return [whole, i, zero, hundred, i * const(4, dtype) + variable(f"{name}j", 0, 3, dtype)]

    return make


def logical(name, is_bool):
    return [OPS["input"](name, (), dtypes.bool_)]


def cast_chains(dtype):
    """For rules of two casts, whose dtypes are attributes."""
    kinds = list(map(as_dtype, ("bool", "int8", "uint8", "int16", "uint16", "int32")))
    x = OPS["input"]("x", (), dtype)
    for first, second in itertools.product(kinds, repeat=2):
        if dtype is not first is not second:
            yield UOp(OPS["cast"], (x.cast(first),), OPS["cast"].arg(second))


def directed(rule, dtype):
    """Instances that trying everything in every hole would hardly meet."""
    i, j = variable("i", 0, 15, dtype), variable("j", 0, 3, dtype)
    made = {
        "where_true": lambda: const(True, "bool").where(i, j),
        "where_false": lambda: const(False, "bool").where(i, j),
        "where_truth": lambda: (i < 3).where(const(True, "bool"), const(False, "bool")),
        "fold_where": lambda: UOp(
            OPS["where"], (const(True, "bool"), const(1, dtype), const(2, dtype))
        ),
        "fold_cast": lambda: UOp(OPS["cast"], (const(100, dtype),), OPS["cast"].arg(dtypes.int16)),
    }
    return [made[rule.name]()] if rule.name in made else []


def applications(rule, dtype):
    """Up to 12 nodes on which the rule applies, chosen at random, with what it makes of them."""
    if rule.name.startswith("cast"):
        nodes = cast_chains(dtype)
    elif dtype.is_bool:
        nodes = instances(rule, logical, constants_of_bools)
    else:
        nodes = instances(rule, leaves(dtype), constants(dtype))
    tried = [*nodes]
    random.Random(f"{rule.name} {dtype}").shuffle(tried)
    found = 0
    for node in (*(directed(rule, dtype) if not dtype.is_bool else ()), *tried):
        result = rule.apply(node) if all(map(of_integers, toposort([node]))) else None
        if result is not None:
            found += 1
            yield node, result
        if found == 12:
            return


def constants_of_bools(is_bool):
    return [const(v, dtypes.bool_) for v in (False, True)]


def of_integers(node):
    return isinstance(node, UOp) and node.dtype.kind in "biu"


def widths(rule):
    """The dtypes in which a rule is proved."""
    hard = any(name in str(rule) for name in ("//", "%", "idiv", "fmod")) or (
        "*" in str(rule) and len(variables(rule.pattern)) > 1
    )
    bits = (8, 16) if hard else (8, 16, 32, 64)
    return [as_dtype(f"{kind}{n}") for n in bits for kind in ("int", "uint")]


def of_kind(rule, dtype):
    return next(applications(rule, dtype), None) is not None


ON_INTEGERS = [r for r in RULES.values() if any(of_kind(r, d) for d in (dtypes.int8, dtypes.uint8))]
ON_BOOLS = [r for r in RULES.values() if of_kind(r, dtypes.bool_)]


@pytest.mark.parametrize("rule", ON_INTEGERS, ids=lambda r: r.name)
def test_the_rule_is_a_theorem_about_integers(rule):
    for dtype in widths(rule):
        for node, result in applications(rule, dtype):
            assert proved(node, result), f"{rule}\n{text(node)}becomes\n{text(result)}"


@pytest.mark.parametrize("rule", ON_BOOLS, ids=lambda r: r.name)
def test_the_rule_is_a_theorem_about_bools(rule):
    for node, result in applications(rule, dtypes.bool_):
        assert proved(node, result), f"{rule}\n{text(node)}becomes\n{text(result)}"


def proved(node, result):
    return counterexample(node, result) is None


def test_what_is_wrong_has_a_counterexample():
    x = OPS["input"]("x", (), "int8")
    assert not proved(x * const(2, "int8") // const(2, "int8"), x)  # it wraps around
    assert not proved(x // x, const(1, "int8"))  # of 0 it is 0
    assert not proved(x.abs().abs(), x)


def test_every_rule_of_integers_is_proved():
    """What is no theorem here is a rule of floats or of movement, proved in the files beside."""
    here = {rule.name for rule in (*ON_INTEGERS, *ON_BOOLS)}
    assert sorted({rule.name for rule in integer_rules} - here) == []
