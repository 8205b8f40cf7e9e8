"""Results are computed as soon as they can be, so that what they are made of can go."""

import numpy as np
import pytest

from adjoint import Tensor, grad, jit, lower

pytestmark = pytest.mark.usefixtures("cpu")
LAYERS, ROWS, WIDTH = 12, 512, 64
SIZE = ROWS * WIDTH * 4  # bytes of what a layer gives


def real(*shape, seed=0):
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return Tensor((values * 0.1).astype(np.float32)).realize()


def network(params, x):
    for weight, gain in params:
        x = ((x @ weight) * gain).tanh()
    return (x * x).sum()


def parameters():
    return [(real(WIDTH, WIDTH, seed=i), real(WIDTH, seed=i)) for i in range(LAYERS)]


def test_cotangents_are_not_kept_for_gradients_by_weights():
    """Of each layer one value is kept for the backward pass, or two; of that, nothing."""
    counts = lower(grad(network))(parameters(), real(ROWS, WIDTH)).counts
    assert counts["arena"] <= (2 * LAYERS + 4) * SIZE


def test_sums_of_different_layers_do_not_wait_for_one_another():
    lowered = lower(grad(network))(parameters(), real(ROWS, WIDTH))
    for step in lowered.plan.steps:
        large = [i for i in step.reads if lowered.plan.slots[i].nbytes == SIZE]
        assert len(set(large)) <= 4, step


def test_sums_of_one_value_are_one_kernel():
    x, y = real(300, 40), real(300, 40, seed=1)
    lowered = lower(lambda x, y: ((x.exp() * y).sum(0), x.exp().sum(0)))(x, y)
    assert lowered.counts["kernels"] <= 2


def test_new_parameters_are_written_over_the_old_ones():
    """A step reads a weight for the layer before too: its new value comes after that."""

    def step(params, x):
        grads = grad(network)(params, x)
        pairs = zip(params, grads, strict=True)
        return [(w - 0.1 * dw, g - 0.1 * dg) for (w, g), (dw, dg) in pairs]

    x, params = real(ROWS, WIDTH), parameters()
    wanted = step(params, x)
    trained = jit(step, donate_argnums=0)
    found = trained([(w * 1.0, g * 1.0) for w, g in params], x)
    for mine, right in zip(found, wanted, strict=True):
        for a, b in zip(mine, right, strict=True):
            assert a.numpy().tobytes() == b.numpy().tobytes()
    plan = lower(trained)(params, x).plan
    last_read = {i: n for n, s in enumerate(plan.steps) for i in s.reads}
    made = {i: n for n, s in enumerate(plan.steps) for i in s.writes}
    weights = [i for i in plan.inputs if plan.slots[i].shape == (WIDTH, WIDTH)]
    outputs = [i for i in plan.outputs if plan.slots[i].shape == (WIDTH, WIDTH)]
    reads = {i: [n for n, s in enumerate(plan.steps) if i in s.reads] for i in weights}
    assert len(weights) == len(outputs) == LAYERS
    for output in outputs:
        step_number = made[output]
        own = [w for w in weights if step_number in reads[w]]
        assert any(last_read[w] == step_number for w in own)


@pytest.mark.parametrize("seed", range(6))
def test_random_graphs_have_the_same_values_in_any_order_of_results(seed):
    random = np.random.default_rng(seed)
    values = [real(64, 64, seed=i) for i in range(3)]
    choices = [(*random.integers(3 + i, size=2), random.integers(5)) for i in range(25)]

    def build(values):
        nodes = list(values)
        for left, right, kind in choices:
            a, b = nodes[left], nodes[right]
            made = (a @ b * 0.1, a + b, a.tanh(), a.sum(0, keepdim=True) * b, a.T.sort(0)[0])
            nodes.append(made[kind])
        return nodes[3:]

    order = random.permutation(25).tolist()
    found = jit(lambda *v: [build(v)[i] for i in order])(*values)
    wanted = build(values)
    for i, mine in zip(order, found, strict=True):
        np.testing.assert_allclose(mine.numpy(), wanted[i].numpy(), rtol=1e-4, atol=1e-4)
