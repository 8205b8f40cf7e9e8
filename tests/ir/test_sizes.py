"""Variables and sizes: an int that remembers what it is made of, and what is proved of it."""

import copy
import math
import pickle
import random

import numpy as np
import pytest

from adjoint import AdjointError, Variable
from adjoint.ir.arg import Varying
from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.polynomial import bounds
from adjoint.ir.sizes import (
    Size,
    alike,
    divides,
    form_of,
    highest,
    is_one,
    less,
    lowest,
    same,
    settled,
    varies,
)
from adjoint.ir.uop import rebuild
from adjoint.ops.movement import ShapeArg

N, M = Variable("n", 1, 64), Variable("m", 2, 9)


def test_a_bound_variable_is_the_int_in_every_respect():
    n = N.bind(5)
    assert n == 5
    assert isinstance(n, int)
    assert hash(n) == hash(5)
    assert {5: "five"}[n] == "five"
    assert f"{n} {n!r} {n:3d}" == "5 5   5"
    assert list(range(n)) == [0, 1, 2, 3, 4]
    assert np.zeros((n, 2)).shape == (5, 2)
    assert math.prod((n, 4)) == 20
    assert (n / 2, n**2, n & 4, n + 0.5) == (2.5, 25, 4, 5.5)
    assert (divmod(n, 2), divmod(17, n)) == ((2, 1), (3, 2))
    assert type(int(n)) is int
    assert pickle.loads(pickle.dumps(n)) == 5
    assert copy.deepcopy([n]) == [5]


def test_unbind_gives_the_variable_and_its_value():
    assert N.bind(5).unbind() == (N, 5)
    with pytest.raises(AdjointError, match="E2008"):
        (N.bind(5) + 1).unbind()


@pytest.mark.parametrize("seed", range(200))
def test_arithmetic_gives_the_number_and_bounds_that_hold_for_every_value(seed):
    """An expression at random: its value is Python's, and stays inside its bounds everywhere."""
    drawn = random.Random(seed)
    steps = [(drawn.choice("+-*/%r"), drawn.randint(1, 20)) for _ in range(drawn.randint(1, 5))]

    def evaluate(n, m):
        total, other = n, m
        for op, k in steps:
            match op:
                case "+":
                    total = total + other * k
                case "-":
                    total = k * 7 - total
                case "*":
                    total = total * (other if k % 2 else k)
                case "/":
                    total = total // k
                case "%":
                    total = total % k + other
                case "r":
                    total, other = other, total
        return total

    bound = evaluate(N.bind(5), M.bind(3))
    assert int(bound) == evaluate(5, 3)
    low, high = lowest(bound), highest(bound)
    for n in range(1, 65, 3):
        for m in range(2, 10):
            assert low <= evaluate(n, m) <= high


def test_what_is_proved_is_true_of_the_numbers_and_of_all_others():
    n, m = N.bind(5), M.bind(3)
    assert same(n * 4 // 4, n)
    assert not same(n, 5)
    assert not same(n, N.bind(6))
    assert less(n - 1, n)
    assert less(n, 65)
    assert not less(n, 6)
    assert divides(n, n * m * 4)
    assert divides(n + 2, n * n + n * 2)
    assert divides(4, n * 4)
    assert not divides(5, n)
    assert not is_one(N.bind(1))
    assert (n - n, type(n - n)) == (0, int)
    assert same(n * m * 8 % n, 0)
    assert bounds(form_of((n + 15) // 16)) == (1, 4)


def test_sizes_of_two_values_or_ranges_are_plain_numbers_together():
    assert type(N.bind(5) + N.bind(6)) is int
    assert type(N.bind(5) + Variable("n", 1, 9).bind(5)) is int
    assert not less(settled((N.bind(5) - 1,))[0], settled((N.bind(4),))[0])


def test_attributes_with_sizes_are_apart_from_plain_ones():
    varying, plain = ShapeArg((N.bind(5), 2)), ShapeArg((5, 2))
    assert isinstance(varying, Varying)
    assert varying != plain
    assert plain != varying
    assert varying == ShapeArg((N.bind(5), 2))
    assert varying != ShapeArg((N.bind(6), 2))
    assert varying != ShapeArg((Variable("m", 1, 64).bind(5), 2))
    assert varying.shape == plain.shape
    assert not alike(varying.shape, plain.shape)
    assert varying.replace(shape=(3,)) == ShapeArg((3,))
    assert pickle.loads(pickle.dumps(varying)) == plain
    assert repr(varying) == repr(plain)


WRONG = {
    "above": (lambda: N.bind(65), "E2006", "65 is not between 1 and 64"),
    "below": (lambda: N.bind(0), "E2006", "0 is not between 1 and 64"),
    "negative": (lambda: N.bind(-1), "E2006", "-1 is not"),
    "a float": (lambda: N.bind(1.5), "E2001", "is an int, got 1.5"),
    "a bool": (lambda: N.bind(True), "E2001", "is an int, got True"),
    "nothing": (lambda: N.bind(None), "E2001", "is an int, got None"),
    "text": (lambda: N.bind("5"), "E2001", "is an int"),
    "turned round": (lambda: Variable("n", 3, 2), "E2006", "between 3 and 2"),
    "negative range": (lambda: Variable("n", -1, 2), "E2006", "0 or more"),
    "a float range": (lambda: Variable("n", 1, 2.5), "E2001", "is an int, got 2.5"),
    "no name": (lambda: Variable("", 1, 2), "E2008", "identifier"),
    "a number as name": (lambda: Variable(3, 1, 2), "E2008", "identifier"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_variable_or_value_is_an_error_with_a_fix(case):
    call, code, words = WRONG[case]
    with pytest.raises(AdjointError) as caught:
        call()
    assert caught.value.code == code
    assert words in str(caught.value)
    assert "help: " in str(caught.value)


def test_numpy_integers_are_values_of_a_variable():
    assert N.bind(np.int64(5)) == 5
    assert Variable("k", np.int32(1), np.int64(4)).bind(4) == 4


def test_variables_are_equal_if_name_and_range_are():
    assert Variable("n", 1, 64) == N
    assert Variable("n", 1, 63) != N
    assert len({Variable("n", 1, 64), N, M}) == 2
    assert pickle.loads(pickle.dumps(N)) == N
    assert repr(N) == "Variable('n', 1, 64)"


def test_a_size_has_its_class():
    assert type(N.bind(5) * 2 + M.bind(3)) is Size
    assert type(Variable("k", 4, 4).bind(4)) is Size


@pytest.mark.parametrize("name", ["neg", "relu", "softmax", "cumsum"])
@pytest.mark.parametrize("varying", [True, False])
def test_a_node_on_other_sources_of_the_same_number_varies_as_they_do(name, varying):
    """5 equals n while n is 5: a rebuilt node must not keep the shape of the old source."""
    fixed = OPS["input"]("x", (5,), dtypes.float32)
    free = OPS["input"]("y", (Variable("n", 1, 9).bind(5),), dtypes.float32)
    before, after = (fixed, free) if varying else (free, fixed)
    node = OPS[name](before, 0) if name in ("softmax", "cumsum") else OPS[name](before)
    assert varies(*rebuild(node, (after,)).shape) == varying
