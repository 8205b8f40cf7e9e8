"""Kernels can always be put in order: what is computed again waits for its cotangents where it can.

Second derivatives through `checkpoint` make steps wait for results that need what the step makes.
"""

import random
from itertools import pairwise

import numpy as np
import pytest

from adjoint import Tensor, checkpoint, grad, hessian, jit
from adjoint.schedule.fuse import Fuser, Unit
from adjoint.target import TARGETS, Limits
from tests.support.devices import SUMMED, on, same

UNARY = [
    lambda a: a.sin(),
    lambda a: a.tanh(),
    lambda a: a.softmax(0),
    lambda a: (a * a).mean() + a,
    lambda a: a.cumsum(0),
    lambda a: a.flip(0),
    lambda a: a.sort(0)[0],
]
BINARY = [lambda a, b: a * b, lambda a, b: a + b * 0.5, lambda a, b: a * b.sum()]
START = np.array([0.3, -0.2, 0.5, 0.1], np.float32)


def program(seed):
    """A random DAG of which some parts are checkpointed, inside one another as well."""
    rng = random.Random(seed)
    plan = [
        (rng.random() < 0.5, rng.choice(UNARY), rng.choice(BINARY), rng.random(), rng.random())
        for _ in range(rng.randint(3, 8))
    ]

    def run(x):
        made = [x]
        for again, unary, binary, first, second in plan:
            left, right = (made[int(at * len(made))] for at in (first, second))
            body = lambda z, u=unary, b=binary, r=right: u(b(z, r))  # noqa: E731
            made.append(checkpoint(body)(left) if again else body(left))
        return (made[-1].tanh() + 0.2).prod(0)

    return run


def twice(f):
    """A second derivative by reverse mode over reverse mode."""
    return grad(lambda x: (grad(f)(x) * Tensor([1.0, 2.0, 3.0, 4.0])).sum())


@pytest.mark.parametrize("seed", range(24))
def test_second_derivatives_through_checkpoints_are_those_of_the_reference(seed):
    transform = (twice, hessian)[seed % 2]
    found = []
    for device in ("REF", "CPU"):
        with on(device):
            f = transform(program(seed))
            found.append((jit(f) if seed % 3 else f)(Tensor(START)).numpy())
    same(*found, "second derivative", SUMMED)


def test_what_a_checkpoint_shares_with_its_surroundings_is_found():
    def f(x):
        s = x.softmax(0)
        u = s.tanh()
        return (checkpoint(lambda z: (z * u).sin())(s).tanh() + 0.2).prod(0)

    with on("REF"):
        wanted = twice(f)(Tensor(START)).numpy()
    same(wanted, twice(f)(Tensor(START)).numpy(), "second derivative", SUMMED)


def units(*levels):
    return [Unit("kernel", Limits(), {}, low, high) for low, high in levels]


def test_a_way_down_through_several_wide_steps_is_a_way():
    fuser = Fuser([], TARGETS["CPU"])
    first, upper, lower, last = chain = units((10, 10), (7, 12), (2, 8), (3, 3))
    fuser.wide = {upper: None, lower: None}
    for maker, user in pairwise(chain):
        maker.users[user] = None
    assert fuser._before(first, last)
    assert not fuser._before(last, first)


@pytest.mark.parametrize("seed", range(20))
def test_one_step_is_before_another_where_a_path_leads_there(seed):
    """Levels only spare a search: they never hide a path."""
    rng = random.Random(seed)
    spans = [sorted(rng.sample(range(12), 2)) if rng.random() < 0.5 else None for _ in range(12)]
    made = units(*(span or [n, n] for n, span in enumerate(spans)))
    fuser = Fuser([], TARGETS["CPU"])
    fuser.wide = {unit: None for unit in made if unit.low < unit.high}
    for maker in made:
        maker.users = {u: None for u in made if u.high > maker.low and rng.random() < 0.15}
        maker.users.pop(maker, None)
    for first in made:
        reached, stack = set(), [first]
        while stack:
            new = [u for u in stack.pop().users if u not in reached]
            reached.update(new)
            stack.extend(new)
        for last in made:
            assert last is first or fuser._before(first, last) == (last in reached)
