"""Tensor rules change no bit: each is tried on values with NaN, infinities and both zeros."""

import numpy as np
import pytest

from adjoint.engine.realize import realize
from adjoint.ir.dtype import ALL
from adjoint.ir.opdef import OPS
from adjoint.ir.rewrite import rewrite
from adjoint.ir.tensor_rules import cast_is_lossless, movement_rules, tensor_rules
from adjoint.ir.uop import UOp
from adjoint.ir.values import known_value
from adjoint.ops.casts import convert
from adjoint.runtime.buffer import Buffer
from tests.ir.instances import same_bits

SPECIAL = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.5, -2.5, 1e-40, 3e38, 0.5, -1.0]


def values(dtype):
    """12 elements, shape (2, 6)."""
    generator = np.random.default_rng(0)
    if dtype.is_inexact:
        plain = np.array(SPECIAL)
        if dtype.is_complex:
            plain = plain + 1j * generator.permutation(SPECIAL)
        with np.errstate(all="ignore"):
            return plain.astype(dtype.np).reshape(2, 6)
    if dtype.is_bool:
        return generator.random((2, 6)) < 0.5
    ends = [dtype.min, dtype.max, 0, 1]
    return np.array([*ends, *generator.integers(0, 100, 8)], dtype.np).reshape(2, 6)


def leaf(dtype):
    return UOp(OPS["buffer"], (), OPS["buffer"].arg(Buffer(values(dtype), "REF")))


def const(value, dtype, shape=(2, 6)):
    return OPS["const"](value, dtype, shape, "REF")


def direct(name, x, **attrs):
    """A node with attributes that the record's call would have normalised away."""
    return UOp(OPS[name], (x,), OPS[name].arg(**attrs))


def _cast_twice(x):
    chains = [(m, t) for m in ALL for t in ALL if m is not x.dtype and m is not t]
    return [
        x.cast(middle).cast(last)
        for middle, last in chains
        if _keeps_all(x.dtype, middle) and _keeps_all(middle, last)
    ]


def _keeps_all(dtype, other):
    """A cast that would drop imaginary parts is refused."""
    return not dtype.is_complex or other.is_complex or other.is_bool


CASES = {
    "reshape_twice": (ALL, lambda x: x.reshape(12).reshape(3, 4)),
    "reshape_same": (ALL, lambda x: direct("reshape", x, shape=(2, 6))),
    "reshape_const": (ALL, lambda x: const(1, x.dtype).reshape(4, 3)),
    "expand_twice": (ALL, lambda x: x.reshape(2, 1, 6).expand(2, 3, 6).expand(4, 2, 3, 6)),
    "expand_same": (ALL, lambda x: direct("expand", x, shape=(2, 6))),
    "expand_const": (ALL, lambda x: const(1, x.dtype, (1, 6)).expand(3, 2, 6)),
    "permute_twice": (ALL, lambda x: x.reshape(2, 3, 2).permute(1, 2, 0).permute(2, 1, 0)),
    "permute_const": (ALL, lambda x: const(1, x.dtype).permute(1, 0)),
    "flip_twice": (ALL, lambda x: x.reshape(2, 3, 2).flip(0, 1).flip(1, 2)),
    "flip_const": (ALL, lambda x: const(1, x.dtype).flip(0)),
    "cast_twice_exact": (ALL, _cast_twice),
    "contiguous_twice": (ALL, lambda x: x.contiguous().contiguous()),
    "detach_twice": (ALL, lambda x: x.detach().detach()),
}


def test_every_rule_of_movement_has_a_case():
    assert list(CASES) == [rule.name for rule in movement_rules]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CASES)
def test_the_rule_changes_no_bit(name):
    rule, (kinds, build) = tensor_rules[name], CASES[name]
    applied = 0
    for dtype in kinds:
        made = build(leaf(dtype))
        for node in made if isinstance(made, list) else [made]:
            result = rule.apply(node)
            if result is not None:
                realize(node, result)
                where = f"{name} on {dtype}: {node} becomes {result}"
                assert same_bits(known_value(node), known_value(result)), where
                applied += 1
    assert applied >= len(kinds) or name == "cast_twice_exact"
    assert applied


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("source", ALL, ids=str)
def test_a_lossless_cast_can_be_undone(source):
    for target in ALL:
        if cast_is_lossless(source, target):
            x = values(source)
            with np.errstate(all="ignore"):
                assert same_bits(convert(convert(x, target), source), x), f"{source} to {target}"


X = OPS["input"]("x", (2, 6), "float32")


@pytest.mark.parametrize(
    "node",
    [
        X / X,
        X * 0,
        X - X,
        X + 0.0,
        0 - X,
        X.cast("float16").cast("float32"),
        X.cast("int32").cast("float32"),
        X.eq(X),
        (X + 1.0) + 2.0,
        X.exp().log(),
        X.relu().relu(),
        X.cast("complex64") * 1,
    ],
    ids=lambda n: n.op.name,
)
def test_what_would_change_a_value_is_left_alone(node):
    assert rewrite([node], tensor_rules) == [node]


def test_movement_that_undoes_itself_is_nothing():
    x = X.reshape(2, 3, 2)
    node = x.permute(2, 0, 1).flip(0).flip(0).permute(1, 2, 0).reshape(12).reshape(2, 3, 2)
    assert rewrite([node], tensor_rules) == [x]
