"""Kernels can always be put in order: what is computed again waits for its cotangents where it can.

Second derivatives through `checkpoint` make steps wait for results that need what the step makes.
"""

import random
from itertools import pairwise

import numpy as np
import pytest

from adjoint import Tensor, checkpoint, grad, hessian, jit
from adjoint.schedule import units as units_module
from adjoint.schedule.units import Order, Spans, Unit
from adjoint.target import Limits
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


def linked(made, edges):
    order = Order()
    for unit in made:
        order.widen(unit, unit.high)
    for maker, user in edges:
        order.link(maker, [user])
    return order


def reached(first):
    found, stack = set(), [first]
    while stack:
        new = [u for u in stack.pop().users if u not in found]
        found.update(new)
        stack.extend(new)
    return found


def test_a_way_down_through_several_wide_steps_is_a_way():
    first, _, _, last = chain = units((10, 10), (7, 12), (2, 8), (3, 3))
    order = linked(chain, pairwise(chain))
    assert order.before(first, last)
    assert not order.before(last, first)


def random_steps(rng, count=12):
    spans = [sorted(rng.sample(range(12), 2)) if rng.random() < 0.5 else None for _ in range(count)]
    made = units(*(span or [n, n] for n, span in enumerate(spans)))
    pairs = [(a, b) for a in made for b in made if a is not b and b.high > a.low]
    edges = [pair for pair in pairs if rng.random() < 0.15]
    rng.shuffle(edges)
    return made, linked(made, edges)


@pytest.mark.parametrize("seed", range(20))
def test_one_step_is_before_another_where_a_path_leads_there(seed):
    """Levels only spare a search: they never hide a path."""
    made, order = random_steps(random.Random(seed))
    for first in made:
        for last in made:
            assert last is first or order.before(first, last) == (last in reached(first))


@pytest.mark.parametrize("seed", range(20))
def test_a_step_that_stands_for_two_is_before_what_either_was_before(seed):
    rng = random.Random(seed)
    made, order = random_steps(rng)
    while len(made) > 2:
        old, new = rng.sample(made, 2)
        if new in reached(old) or old in reached(new):
            made.remove(old)  # asked no more; its ways stay
            continue
        after = {u: reached(u) for u in made}
        order.replace(old, new)
        made.remove(old)
        for first in made:
            ends = after[first] | (after[old] | after[new] if {old, new} & after[first] else set())
            ends |= after[old] if first is new else set()
            ends |= {new} if old in ends else set()
            for last in made:
                assert last is first or order.before(first, last) == (last in ends)


def looked_at(order, first, last):
    """How many steps a search takes a step from."""
    with pytest.MonkeyPatch.context() as patch:
        looks, step = [], units_module._Search.step
        patch.setattr(units_module._Search, "step", lambda s: looks.append(1) or step(s))
        order.before(first, last)
    return len(looks)


def test_a_search_ends_where_either_side_is_exhausted():
    """One of two has a thousand steps after it, or before it, and the other none."""
    chain = units(*((n, n) for n in range(1000)))
    early, late = units((0, 0), (999, 999))
    order = linked([*chain, early, late], pairwise(chain))
    order.link(chain[0], [late])
    order.link(early, [chain[-1]])
    assert not order.before(early, late)
    assert looked_at(order, early, late) < 5
    assert not order.before(chain[1], late)
    assert looked_at(order, chain[1], late) < 5


def test_ranges_of_levels_that_overlap_are_one():
    spans = Spans()
    for low, high in ((7, 9), (1, 3), (4, 7)):
        spans.add(low, high)
    assert [spans.lowest(n) for n in range(11)] == [0, 1, 1, 3, 4, 4, 4, 7, 7, 9, 10]
    assert [spans.highest(n) for n in range(11)] == [0, 1, 3, 3, 4, 7, 7, 7, 9, 9, 10]
    spans.add(2, 5)
    assert [spans.lowest(n) for n in range(11)] == [0, 1, 1, 1, 1, 1, 1, 7, 7, 9, 10]
    assert [spans.highest(n) for n in range(11)] == [0, 1, 7, 7, 7, 7, 7, 7, 9, 9, 10]


def gradients(layer, count):
    """The gradients of so many layers by their weights."""
    start = Tensor(np.ones((4, 8), np.float32), device="CPU")
    weights = [Tensor(np.eye(8, dtype=np.float32), device="CPU") for _ in range(count)]

    def loss(weights):
        x = start
        for w in weights:
            x = layer(x, w)
        return x.sum()

    return grad(loss)(weights)


LAYERS = {
    "plain": lambda x, w: (x @ w).tanh(),
    "residual": lambda x, w: x + (x.layernorm() @ w).relu(),
}


@pytest.mark.parametrize("name", LAYERS)
def test_twice_the_layers_take_twice_the_looks(name, monkeypatch):
    """Steps that are looked at, while kernels are formed, to find whether one needs another."""
    looks, step = [], units_module._Search.step
    monkeypatch.setattr(units_module._Search, "step", lambda s: looks.append(1) or step(s))
    counts = []
    for count in (25, 50):
        looks.clear()
        first, *rest = gradients(LAYERS[name], count)
        first.schedule(*rest)
        counts.append(len(looks))
    assert counts[1] <= 2.5 * counts[0] + 20
