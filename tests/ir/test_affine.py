"""Index expressions by brute force: every point of small shapes, through random chains of views."""

import itertools
import random

import numpy as np
import pytest

from adjoint.ir.affine import (
    ZERO,
    Affine,
    IndexVar,
    Loaded,
    Quotient,
    Remainder,
    divided,
    flattened,
    reshaped,
    strides_of,
    unflattened,
    var,
)


def value(x, point):
    """The expression where counters have the values of `point`."""
    return x.const + sum(f * atom_value(a, point) for a, f in x.terms)


def atom_value(atom, point):
    match atom:
        case Quotient():
            return value(atom.of, point) // atom.by
        case Remainder():
            return value(atom.of, point) % atom.by
        case _:
            return point[atom]


def points(counters):
    """All values that the counters can have together."""
    for values in itertools.product(*(range(c.size) for c in counters)):
        yield dict(zip(counters, values, strict=True))


def check(x, counters, wanted):
    """The expression has the wanted values, and its bounds hold them."""
    lo, hi = x.bounds()
    for point in points(counters):
        found = value(x, point)
        assert found == wanted(point)
        assert lo <= found <= hi
        for part in parts(x):
            least, most = part.bounds()
            assert least <= atom_value(part, point) <= most


def parts(x):
    """The quotients and remainders inside; kernels divide only what is not negative."""
    for atom, _ in x.terms:
        if isinstance(atom, (Quotient, Remainder)):
            assert atom.of.bounds()[0] >= 0
            yield atom
            yield from parts(atom.of)


# ---- algebra


@pytest.mark.parametrize("seed", range(60))
def test_sums_products_quotients_and_remainders(seed):
    rng = random.Random(seed)
    counters = [IndexVar(rng.choice([1, 2, 3, 4, 6])) for _ in range(3)]
    x, wanted = ZERO, lambda _: 0
    for _ in range(6):
        x, wanted = grown(rng, counters, x, wanted)
        check(x, counters, wanted)


def grown(rng, counters, x, wanted):
    """One more operation, on the expression and on its values."""
    counter, number = rng.choice(counters), rng.choice([-6, -2, -1, 1, 2, 3, 4, 12])
    match rng.randrange(5):
        case 0:
            return x + var(counter) * number, lambda p, w=wanted: w(p) + p[counter] * number
        case 1:
            return x + number, lambda p, w=wanted: w(p) + number
        case 2:
            return x * number, lambda p, w=wanted: w(p) * number
        case 3:
            return x // abs(number), lambda p, w=wanted: w(p) // abs(number)
        case _:
            return x % abs(number), lambda p, w=wanted: w(p) % abs(number)


@pytest.mark.parametrize("by", [1, 2, 3, 4, 6, 7, 12, 24, 100])
@pytest.mark.parametrize("factors", [(1, 0), (4, 1), (12, 4), (6, -1), (-3, 2), (5, 7)])
@pytest.mark.parametrize("const", [0, 1, -5, 12])
def test_quotient_and_remainder(by, factors, const):
    counters = [IndexVar(4), IndexVar(5)]
    a, b = counters
    x = var(a) * factors[0] + var(b) * factors[1] + const
    quotient, rest = divided(x, by)
    plain = lambda p: p[a] * factors[0] + p[b] * factors[1] + const  # noqa: E731
    check(quotient, counters, lambda p: plain(p) // by)
    check(rest, counters, lambda p: plain(p) % by)
    check(quotient * by + rest, counters, plain)


def test_what_divides_is_divided():
    i, j = IndexVar(6), IndexVar(4)
    whole = var(i) * 4 + var(j)
    assert whole // 4 == var(i)
    assert whole % 4 == var(j)
    assert (var(i) * 8 + var(j)) % 4 == var(j)
    assert (var(j) + 2) // 6 == ZERO
    assert var(j) % 9 == var(j)


def test_quotient_and_remainder_put_together_are_what_they_were():
    i = IndexVar(30)
    whole = var(i) + 7
    assert (whole // 4) * 4 + whole % 4 == whole
    assert (whole // 4) * 12 + (whole % 4) * 3 + 5 == whole * 3 + 5
    assert (var(i) // 2) // 5 == var(i) // 10


def test_equal_expressions_look_equal():
    i, j = IndexVar(3), IndexVar(5)
    assert var(i) + var(j) == var(j) + var(i)
    assert hash(var(i) * 2 + var(j) + 1) == hash((var(j) + 1) + var(i) * 2)
    assert var(i) + var(i) == var(i) * 2
    assert var(i) + var(i) * -1 == ZERO
    assert var(i) * 0 == ZERO
    assert var(IndexVar(1)) == ZERO


def test_factors_and_atoms():
    i, j, k = IndexVar(6), IndexVar(4), Loaded(None, 9)
    x = var(i) * 7 + (var(j) + var(i)) // 3 + var(k)
    assert x.factor(i) is None
    assert x.factor(k) == 1
    assert (var(i) * 7 + var(k)).factor(i) == 7
    assert var(k).factor(i) == 0
    assert x.atoms() == {i, j, k}


# ---- chains of views


def test_strides():
    assert strides_of((2, 3, 4)) == (12, 4, 1)
    assert strides_of(()) == ()


@pytest.mark.parametrize("shape", [(), (7,), (2, 3), (4, 1, 3), (2, 3, 4), (1, 1)])
def test_flattened_and_unflattened(shape):
    counters = [IndexVar(n) for n in shape]
    index = tuple(map(var, counters))
    flat = flattened(index, shape)
    strides = strides_of(shape)
    check(flat, counters, lambda p: sum(p[c] * s for c, s in zip(counters, strides, strict=True)))
    assert unflattened(flat, shape) == index


def factored(rng, size):
    """A random shape of that many elements."""
    shape = []
    while size > 1 and len(shape) < 4:
        extent = rng.choice([d for d in range(1, size + 1) if size % d == 0])
        shape.append(extent)
        size //= extent
    return (*shape, size) if size > 1 or not shape else tuple(shape)


@pytest.mark.parametrize("seed", range(80))
def test_a_chain_of_views_reads_what_numpy_reads(seed):
    rng = random.Random(seed)
    shape = rng.choice([(6, 4), (12,), (2, 3, 4), (5, 6), (4, 4, 2), (30,)])
    array = np.arange(int(np.prod(shape)))
    array, steps = array.reshape(shape), []
    for _ in range(5):
        array, step = viewed(rng, array)
        steps.append(step)
    counters = [IndexVar(n) for n in array.shape]
    index = tuple(map(var, counters))
    for step in reversed(steps):
        index = step(index)
    check(flattened(index, shape), counters, lambda p: array[tuple(p[c] for c in counters)])


def viewed(rng, array):
    """A random view of the array, and how an index into it becomes one into the array."""
    shape = array.shape
    match rng.randrange(4):
        case 0:
            new = factored(rng, array.size)
            return array.reshape(new), lambda index: reshaped(index, new, shape)
        case 1:
            order = rng.sample(range(array.ndim), array.ndim)
            back = [order.index(d) for d in range(array.ndim)]
            return array.transpose(order), lambda index: tuple(index[d] for d in back)
        case 2:
            axis = rng.randrange(array.ndim)
            last = shape[axis] - 1
            return np.flip(array, axis), lambda index: tuple(
                i * -1 + last if d == axis else i for d, i in enumerate(index)
            )
        case _:
            axis, step = rng.randrange(array.ndim), rng.choice([1, 1, 2])
            start = rng.randrange((shape[axis] + 1) // 2)
            cut = (slice(None),) * axis + (slice(start, None, step),)
            return array[cut], lambda index: tuple(
                i * step + start if d == axis else i for d, i in enumerate(index)
            )


def test_a_plain_reshape_there_and_back_is_nothing():
    counters = [IndexVar(n) for n in (4, 6)]
    index = tuple(map(var, counters))
    there = reshaped(index, (4, 6), (2, 12))
    assert reshaped(there, (2, 12), (4, 6)) == index
    assert reshaped(index, (4, 6), (1, 4, 1, 6)) == (ZERO, index[0], ZERO, index[1])
    assert isinstance(there[0], Affine)
