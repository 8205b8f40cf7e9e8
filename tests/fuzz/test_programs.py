"""Random programs: the lazy graph gives what NumPy gives, whatever is realized on the way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjoint import Tensor

pytestmark = pytest.mark.fuzz

UNARY = {
    "neg": lambda x: -x,
    "abs": abs,
    "flip": lambda x: x[::-1] if isinstance(x, np.ndarray) else x.flip(0),
    "transpose": lambda x: x.T,
    "relu": lambda x: np.maximum(x, 0) if isinstance(x, np.ndarray) else x.relu(),
    "row sums": lambda x: x.sum(1)[:, None],
    "column max": lambda x: x.max(0)[None, :],
    "every second": lambda x: x[::2],
    "reversed": lambda x: x[:, ::-1],
    "same shape": lambda x: x.reshape(-1).reshape(x.shape),
}
BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "maximum": lambda a, b: (np if isinstance(a, np.ndarray) else Tensor).maximum(a, b),
    "matmul": lambda a, b: a @ b,
}
STEPS = st.lists(
    st.tuples(
        st.sampled_from([*UNARY, *BINARY]), st.integers(0, 7), st.integers(0, 7), st.booleans()
    ),
    min_size=1,
    max_size=12,
)


def _leaves(seed):
    generator = np.random.default_rng(seed)
    shapes = [(3, 3), (1, 3), (3, 1), (3, 3)]
    return [generator.integers(-3, 4, s).astype(np.float64) for s in shapes]


def _run(values, steps, realize):
    """The values after every step; a step whose shapes do not fit, or that grows, is left out."""
    for name, first, second, now in steps:
        a, b = values[first % len(values)], values[second % len(values)]
        try:
            value = UNARY[name](a) if name in UNARY else BINARY[name](a, b)
        except ValueError:
            continue
        if realize and now:
            value.realize()
        values.append(value)
    return values


@given(seed=st.integers(0, 1000), steps=STEPS)
@settings(max_examples=400, deadline=None)
def test_a_random_program_gives_numpys_values(seed, steps):
    arrays = _leaves(seed)
    wanted = _run(list(arrays), steps, realize=False)
    got = _run([Tensor(a) for a in arrays], steps, realize=True)
    assert len(got) == len(wanted)
    for tensor, array in zip(got, wanted, strict=True):
        np.testing.assert_allclose(tensor.numpy(), array, rtol=1e-9)


@given(seed=st.integers(0, 1000), steps=STEPS)
@settings(max_examples=200, deadline=None)
def test_building_a_random_program_twice_gives_the_same_nodes(seed, steps):
    leaves = [Tensor(a) for a in _leaves(seed)]
    first = _run(list(leaves), steps, realize=False)
    second = _run(list(leaves), steps, realize=False)
    assert all(a.uop is b.uop for a, b in zip(first, second, strict=True))
