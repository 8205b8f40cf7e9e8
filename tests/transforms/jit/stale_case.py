"""What every case of `test_jit_stale.py` is made of, and the list of cases.

A case makes a function and a way to change what it reads.
"""

import functools
import itertools
import types

CASES = {}
UNWATCHED = {}


def case(make):
    CASES[make.__name__] = make
    return make


def unwatched(make):
    UNWATCHED[make.__name__] = make
    return make


class Box:
    """An object with an attribute."""

    kind = 1.0

    def __init__(self, n=1.0):
        self.n = n

    def scaled(self, x):
        return x * self.n


def counter(start=2.0):
    """Numbers that no two changes share."""
    return functools.partial(next, itertools.count(start))


def made_module(**names):
    module = types.ModuleType("made")
    vars(module).update(names)
    return module
