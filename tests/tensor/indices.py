"""Indices of every kind, written and random, for reading and for writing."""

import numpy as np
import pytest

from adjoint import Tensor

S = slice
ALL = slice(None)
DOTS = Ellipsis


def filled(*shape, dtype=np.int32):
    return np.arange(int(np.prod(shape, dtype=int)), dtype=dtype).reshape(shape)


def mask(*shape, seed=0):
    return np.random.default_rng(seed).random(shape) < 0.5


VECTOR = [
    0, 4, -1, -5, np.int64(2), np.uint8(3), True, False, np.True_, None, DOTS, (), ALL,
    S(1, 3), S(-3, -1), S(None, None, 2), S(None, None, -1), S(None, None, -2), S(4, 0, -1),
    S(3, 3), S(3, 1), S(-100, 100), S(100, -100, -3), S(None, -100, -1), S(1, None, 10),
    S(4, None, 3), S(0, 1, -1), S(np.int8(1), np.int64(4)), S(True, None),
    [0], [4, 0, -1], [], [[0, 1], [2, 3]], [[]], (ALL,), (None, ALL), (ALL, None),
    (None, DOTS, None), (None, None, 2), (DOTS, 2), (2, DOTS), ([1, 2],), ((1, 2),),
    range(3), range(4, 0, -2), range(0), np.array([3, -4]), np.array(2), np.array([[1]], np.uint16),
    [True, False, True, False, True], [False] * 5, [True] * 5, np.array([True] * 5),
    (True, [0, 1]), (True, 2), (False, 2), ([0], True), (True, True), (True, False), (None, True),
    (True, None), (DOTS, True), (True, DOTS), (True, ALL), (ALL, True), ([1, 0], None),
    (None, [1, 0]), (None, [1, 0], None), (None, mask(5)), (mask(5), None), (mask(5), True),
    [np.int64(1), np.int32(2)], np.array([], int), np.array(True), np.array(False),
]  # fmt: skip
MATRIX = [
    0, -1, (0, 0), (-1, -2), (ALL, 0), (0, ALL), (DOTS, 0), (0, DOTS), (ALL, S(None, None, -1)),
    (S(None, None, -1), S(None, None, -2)), (S(1, 3), S(1, 4, 2)), (ALL, None), (None, 0, None, 1),
    (ALL, [0, 2]), ([0, 2], ALL), ([0, 2], [1, 3]), ([[0], [2]], [1, 3]), ([0, 2], 1), (1, [0, 2]),
    (S(1, 3), [0, -1]), ([0, -1], S(1, 3)), (S(None, None, -1), [0, -1]), (None, [0, 1], [2, 3]),
    ([0, 1], None, [2, 3]), ([0, 1], [2, 3], None), ([0, 1], DOTS, [2, 3]), (DOTS, [0, 1], [2, 3]),
    ([0, 1], [2, 3], DOTS), mask(4, 5), mask(4), (mask(4), 0), (0, mask(5)), (ALL, mask(5)),
    (mask(4), ALL), (mask(4), [1]), ([1], mask(5)), (mask(4, 5), None), (None, mask(4, 5)),
    (mask(4, 5), DOTS), (DOTS, mask(4, 5)), (DOTS, mask(5)), (S(1, 3), mask(5)), (True, 0, 1),
    (True, ALL, [0, 1]), (0, True), (ALL, True, 0), (True, mask(4)), (ALL, []), ([], ALL), ([], 0),
    ([], []), (ALL, np.array([[0, 1], [2, 3]])), (np.array([[0, 1], [2, 3]]), ALL), (range(2), 0),
    (range(2), range(2)), ((0, 1), (2, 3)), ((0, 1), ALL), S(5, 2), (S(2, 2), [0, 1]),
    (np.zeros((4, 5), bool)), (np.ones((4, 5), bool)), (ALL, np.zeros(5, bool)), [[0, 1], [2, 3]],
]  # fmt: skip
CUBE = [
    0, (0, 1), (0, 1, 2), (DOTS, 2), (0, DOTS, 2), (ALL, 1), (ALL, ALL, 1), (ALL, 1, ALL),
    (S(None, None, -1), ALL, S(None, None, -1)), (1, S(None, None, 2), S(None, None, -2)),
    ([0, 1], ALL, [0, 1]), ([0, 1], [0, 1], ALL), (ALL, [0, 1], [0, 1]), (0, ALL, [0, 1]),
    ([0, 1], ALL, 0), (ALL, 0, [0, 1]), ([0, 1], 0), (0, [0, 1]), ([0, 1], 0, ALL),
    (ALL, [0, 1], 0), ([[0, 1], [2, 0]], ALL, [[0, 1], [2, 0]]), (ALL, [[0, 1], [2, 0]]),
    (ALL, [[0, 1], [2, 0]], 1), (None, [0, 1], None, [1, 0]), ([0, 1], None, ALL, [1, 0]),
    (mask(3, 4), 0), (mask(3, 4), [0]), (mask(3), ALL, [0]), (ALL, mask(4, 5)), (0, mask(4, 5)),
    (mask(3, 4, 5)), (mask(3), ALL, 0), (mask(3), 0, ALL), (mask(3), None, 0), (0, None, mask(4)),
    (True, 0, [0, 1]), ([0, 2], S(1, None, 2), None, S(None, None, -1)), (DOTS, [3, 0], S(1, 2)),
    (S(0, 0), [0], [1, 2]), (ALL, None, [1, 2], None, [0, 1]), ([2], [3], [4]), (0, 1, [2, 3]),
    (2, [1, 2], S(None, None, -3)), (S(2, None, -2), [1, 2], S(None, None, -3)), (DOTS, None),
    (np.array([0, 2]), S(None), np.array([[1], [2]])), (np.int64(1), [0], np.array(2)),
]  # fmt: skip
FOUR = [
    (0, DOTS, 1), (ALL, [0, 1], ALL, [0, 1]), (0, [0, 1], ALL, [0, 1]), (ALL, 0, [0, 1], 1),
    (ALL, [0, 1], 0, ALL), (ALL, 0, ALL, [0, 1]), (ALL, [[0], [1]], [0, 1], S(None, None, 2)),
    (mask(2, 3), S(1, 3)), (ALL, mask(3, 4), 0),
    (ALL, mask(3, 4), ALL), (1, mask(3, 4), S(None, None, -1)), ([0, 1], DOTS, [2, 3]),
    (ALL, [0, 1], DOTS, [0, 1], ALL), (ALL, [0, 1], [0, 1], ALL), (0, 1, 2, 3), (DOTS, mask(4, 5)),
    (mask(2, 3, 4, 5)), (S(None, None, -1), 0, None, [0, 1], DOTS), (None, 0, DOTS, None),
]  # fmt: skip
SCALAR = [(), DOTS, None, (None, None), True, False, (True, None), (None, True), (DOTS, None),
          np.array(True), (True, False), (False, DOTS)]  # fmt: skip
EMPTY = [ALL, DOTS, None, S(0, 5), S(None, None, -1), [], (ALL, 0), (ALL, [0, 1]), (ALL, [[0, 1]]),
         np.zeros(0, bool), np.zeros((0, 3), bool), (ALL, mask(3)), ([], 1), ([], ALL), (ALL, -1),
         (S(1, 2), S(None, None, 2)), ([], [])]  # fmt: skip
BY_SHAPE = {
    (5,): VECTOR,
    (4, 5): MATRIX,
    (3, 4, 5): CUBE,
    (2, 3, 4, 5): FOUR,
    (): SCALAR,
    (0, 3): EMPTY,
}
CASES = [
    pytest.param(shape, key, id=f"{'x'.join(map(str, shape))}-{number}")
    for shape, keys in BY_SHAPE.items()
    for number, key in enumerate(keys)
]


def as_tensors(key):
    """The same index with its arrays and lists as tensors."""
    if isinstance(key, tuple):
        return tuple(as_tensors(k) if not isinstance(k, tuple) else k for k in key)
    if isinstance(key, (np.ndarray, np.bool_)):
        return Tensor(np.asarray(key))
    if isinstance(key, list):
        return Tensor(np.asarray(key, dtype=None if key and np.size(key) else np.int64))
    return key


def random_key(rng, shape, wild=0.02):
    """An index tuple; now and then out of range or with too many entries."""
    key, axis = [], 0
    places = tuple(rng.integers(0, 4, rng.integers(0, 3)))
    while axis < len(shape) and rng.random() < 0.85:
        entry, took = random_entry(rng, shape, axis, places, wild)
        key.append(entry)
        axis += took
    if rng.random() < 0.3:
        key.insert(int(rng.integers(0, len(key) + 1)), DOTS)
    if rng.random() < wild:
        key.append(0)
    return tuple(key)


def random_entry(rng, shape, axis, places, wild):
    n = shape[axis]
    kind = rng.choice(
        ["int", "slice", "new", "array", "mask", "bool"], p=[0.2, 0.3, 0.1, 0.25, 0.13, 0.02]
    )
    low, high = (-n - 1, n + 1) if rng.random() < wild or n == 0 else (-n, n)
    if kind == "int":
        return int(rng.integers(low, high)), 1
    if kind == "slice":
        ends = [None if rng.random() < 0.3 else int(rng.integers(-n - 3, n + 4)) for _ in range(2)]
        return S(*ends, [None, 1, 2, 3, -1, -2, -7][rng.integers(7)]), 1
    if kind == "new":
        return None, 0
    if kind == "array":
        return rng.integers(low, high, places), 1
    if kind == "bool":
        return bool(rng.integers(2)), 0
    rank = int(rng.integers(1, len(shape) - axis + 1))
    sizes = shape[axis : axis + rank]
    return rng.random(sizes) < rng.choice([0.0, 0.3, 1.0]), rank


def attempt(fn):
    try:
        return fn(), None
    except (IndexError, ValueError, TypeError) as error:
        return None, error
