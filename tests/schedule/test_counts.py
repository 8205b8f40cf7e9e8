"""How many kernels programs become on CPU, and that neither a library nor Python runs a step."""

from math import prod

import numpy as np
import pytest

from adjoint import Tensor, cond, grad, lower, scan, while_loop
from adjoint.backends.cpu import BACKEND
from adjoint.stages import ControlStep

pytestmark = pytest.mark.usefixtures("cpu")


def floats(*shape):
    """Random numbers of that shape."""
    rng = np.random.default_rng(sum(shape))
    return Tensor(rng.standard_normal(shape).astype(np.float32))


def places(count, *shape):
    """Random indices below `count`."""
    return Tensor(np.random.default_rng(count).integers(0, count, shape))


def kernels(fn, *args):
    """How many kernels; nothing else may run."""
    found = lower(fn)(*args).counts
    assert (found["library"], found["host"], found["control"]) == (0, 0, 0)
    return found["kernels"]


X, SCALE, SHIFT, WEIGHTS = floats(64, 128), floats(128), floats(128), floats(64, 128)
CLASSES, ROWS = places(128, 64), places(64, 100)


def normed(x, scale, shift):
    return x.layernorm(-1) * scale + shift


def rms_normed(x, scale):
    return x * ((x * x).mean(-1, keepdim=True) + 1e-5).rsqrt() * scale


# ---- rows


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "layernorm", "logsumexp", "argmax"])
def test_a_function_of_rows_is_one_kernel(name, axis):
    assert kernels(lambda x: getattr(x, name)(axis), X) == 1


def test_norms_with_scale_and_shift_are_one_kernel():
    assert kernels(normed, X, SCALE, SHIFT) == 1
    assert kernels(rms_normed, X, SCALE) == 1


def test_the_gradient_of_softmax_is_one_kernel():
    assert kernels(grad(lambda x: (x.softmax(1) * WEIGHTS).sum()), X) == 1
    assert kernels(grad(lambda x: (x.log_softmax(1) * WEIGHTS).sum()), X) == 1


def test_the_gradient_of_layer_norm_is_one_kernel_for_rows_and_one_for_columns():
    def loss(x, scale, shift):
        return (normed(x, scale, shift) * WEIGHTS).sum()

    assert kernels(grad(loss), X, SCALE, SHIFT) == 1
    assert kernels(grad(loss, (0, 1, 2)), X, SCALE, SHIFT) <= 2


def test_the_gradient_of_rms_norm_is_one_kernel_for_rows_and_one_for_columns():
    def loss(x, scale):
        return (rms_normed(x, scale) * WEIGHTS).sum()

    assert kernels(grad(loss, (0, 1)), X, SCALE) <= 2


def test_cross_entropy_and_its_gradient():
    assert kernels(lambda x: x.cross_entropy(CLASSES), X) <= 2
    assert kernels(grad(lambda x: x.cross_entropy(CLASSES)), X) == 1
    assert kernels(lambda x: x.sparse_categorical_crossentropy(CLASSES), X) <= 2
    assert kernels(grad(lambda x: x.sparse_categorical_crossentropy(CLASSES)), X) <= 2


def test_an_extreme_of_everything_and_a_long_sum():
    assert kernels(lambda x: x.argmax(), X) == 1
    assert kernels(lambda x: x.sum(), X) == 1
    assert kernels(lambda x: x.sum(), floats(1 << 20)) == 2


# ---- elementwise


def chain(length):
    """A function of that many ops, each of the one before."""

    def fn(x):
        for i in range(length):
            x = (x.tanh(), x * 1.01, x + 0.5, x.abs(), x - 0.25)[i % 5]
        return x

    return fn


def test_an_elementwise_chain_is_one_kernel():
    assert kernels(chain(10), X) == 1
    assert kernels(chain(40), X) == 1


def test_a_chain_of_a_thousand_ops_is_a_few_kernels():
    shown = lower(chain(1000))(X)
    assert 1 < shown.counts["kernels"] <= 20
    assert shown.counts["arena"] <= 2 * X.nbytes()


REPEATED = {
    "flip": lambda x: x.flip(0),
    "transpose": lambda x: x.T,
    "pad and shrink": lambda x: x.pad(((1, 0), (0, 1)))[1:, :-1],
    "roll": lambda x: x.roll(1, 0),
    "reshape": lambda x: x.reshape(x.shape[1], x.shape[0]).flip(1),
}


@pytest.mark.parametrize("name", REPEATED)
def test_a_chain_of_movement_neither_explodes_nor_goes_too_deep(name):
    def fn(x):
        for _ in range(300):
            x = REPEATED[name](x)
        return x + 1

    assert kernels(fn, floats(6, 10)) <= 100


def test_results_of_one_shape_share_a_kernel():
    assert kernels(lambda x, y: (x * y, x + (x * y).exp(), (x * y).exp()), X, WEIGHTS) == 1
    assert kernels(lambda x: (x.sum(0), x.max(0), (x * x).sum(0)), X) <= 2


# ---- movement


MOVED = {
    "transpose": lambda x: x.T + 1,
    "permute": lambda x: x.reshape(8, 8, 128).permute(2, 0, 1).exp(),
    "reshape": lambda x: x.reshape(32, 256).exp(),
    "expand": lambda x: x.reshape(64, 1, 128).expand(64, 3, 128) * 2,
    "flip": lambda x: x.flip(0) + 1,
    "shrink": lambda x: x[3:40, ::2] * 2,
    "pad": lambda x: x.pad(((1, 2), (3, 4))) + 1,
    "cat": lambda x: Tensor.cat(x, x * 2, dim=0) + 1,
    "roll": lambda x: x.roll(3, 0) + 1,
    "all at once": lambda x: (x.reshape(8, 8, 128).permute(2, 0, 1).flip(1).pad(((1, 1),) * 3)
                              .shrink(((1, 129), (1, 9), (1, 9))).reshape(128, 64) + x.T).exp(),
    "in a sum": lambda x: (x.T.flip(0) * 2).sum(1),
    "in a softmax": lambda x: x.T.softmax(1),
    "gather": lambda x: (x[ROWS] + 1).exp(),
    "gather in a sum": lambda x: x[ROWS].sum(0),
    "max_pool2d": lambda x: x.reshape(1, 1, 64, 128).max_pool2d((2, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVED)
def test_movement_is_done_by_the_kernel_that_reads(name):
    assert kernels(MOVED[name], X) == 1


PRODUCTS = {
    "plain": (lambda x, y: x @ y, (64, 32), (32, 48)),
    "left transposed": (lambda x, y: x.T @ y, (32, 64), (32, 48)),
    "right transposed": (lambda x, y: x @ y.T, (64, 32), (48, 32)),
    "both transposed": (lambda x, y: x.T @ y.T, (32, 64), (48, 32)),
    "batches": (lambda x, y: x @ y.transpose(-1, -2), (2, 3, 16, 12), (2, 3, 16, 12)),
    "columns of a matrix": (lambda x, y: x[:, :32] @ y, (64, 48), (32, 16)),
    "vector": (lambda x, y: x @ y, (64, 32), (32,)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_copies_no_operand(name):
    fn, *shapes = PRODUCTS[name]
    assert kernels(fn, *(floats(*s) for s in shapes)) == 1


def test_a_product_of_short_sums_is_loops_with_the_same_bits_for_any_number_of_rows():
    x, y = floats(30, 8), floats(8, 5)
    assert kernels(lambda x, y: x @ y, x, y) == 1
    rows = [(x[i : i + 3] @ y).numpy() for i in range(0, 30, 3)]
    assert np.array_equal((x @ y).numpy(), np.concatenate(rows))


def test_an_elementwise_tail_of_a_product_is_one_kernel():
    assert kernels(lambda x, y: (x @ y.T + 1).tanh().exp(), X, WEIGHTS) == 1


@pytest.mark.parametrize("size", [256, 300, 1999])
def test_a_long_sum_of_a_costly_expression_is_never_in_memory_whole(size):
    x = floats(size)
    plan = lower(lambda x: (x.reshape(-1, 1) * x).sin().sum())(x).plan
    assert max(slot.nbytes for slot in plan.slots) < 4 * size * 8
    assert len(plan.steps) == 2


# ---- kernels with an algorithm


def test_sorting_is_one_kernel():
    assert kernels(lambda x: x.sort(1), X) == 1
    assert kernels(lambda x: x.sort(0)[0], floats(1024)) == 1
    assert kernels(lambda x: x.argsort(1), X) == 1


def test_running_sums_and_scattering_are_one_kernel():
    assert kernels(lambda x: x.cumsum(1), X) == 1
    assert kernels(lambda x: x.cumsum(0), floats(100_000)) == 1
    assert kernels(lambda x: x.scatter_add(0, places(64, 64, 128), x), X) <= 3


def test_a_convolution_is_one_kernel():
    image, filters, bias = floats(4, 6, 16, 16), floats(16, 6, 3, 3), floats(16)
    assert kernels(lambda x, f: x.conv2d(f, padding=1), image, filters) == 1
    fn = grad(lambda x, f: (x.conv2d(f, padding=1) ** 2).sum(), (0, 1))
    assert kernels(fn, image, filters) <= 5
    assert kernels(lambda x, f, b: x.conv2d(f, b).relu(), image, filters, bias) == 1


def test_attention_is_one_kernel():
    q, k, v = floats(2, 4, 16, 12), floats(2, 4, 16, 12), floats(2, 4, 16, 12)

    def attention(q, k, v):
        return q.scaled_dot_product_attention(k, v, is_causal=True)

    assert kernels(attention, q, k, v) == 1


# ---- training steps


def adam(p, g, m, v, b1, b2):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p - 1e-3 * (m / (1 - b1)) / ((v / (1 - b2)).sqrt() + 1e-8), m, v


def test_adam_is_one_kernel_per_parameter():
    numbers = Tensor(np.float32(0.9)), Tensor(np.float32(0.999))
    assert kernels(adam, *(floats(64, 128) for _ in range(4)), *numbers) <= 2

    def step(parameters, gradients, m, v, b1, b2):
        b1, b2 = b1 * 0.9, b2 * 0.999
        rows = zip(parameters, gradients, m, v, strict=True)
        return [adam(*row, b1, b2) for row in rows], b1, b2

    found = []
    for count in (3, 4):
        arguments = [[floats(10 + i, 20) for i in range(count)] for _ in range(4)]
        found.append(kernels(step, *arguments, *numbers))
    assert found[1] <= 2 * 4
    assert found[1] - found[0] == 1


def mlp_loss(weights, x, target):
    for w, b in weights[:-1]:
        x = (x @ w + b).relu()
    w, b = weights[-1]
    return (x @ w + b).cross_entropy(target)


def sgd(weights, gradients):
    pairs = zip(weights, gradients, strict=True)
    return [tuple(p - 0.1 * d for p, d in zip(a, b, strict=True)) for a, b in pairs]


def test_an_mlp_step():
    weights = [
        (floats(32, 64), floats(64)),
        (floats(64, 64), floats(64)),
        (floats(64, 10), floats(10)),
    ]

    def step(weights, x, target):
        return sgd(weights, grad(mlp_loss)(weights, x, target))

    assert kernels(step, weights, floats(16, 32), places(10, 16)) <= 20


def cnn_loss(weights, x, target):
    (f, b), (w, c) = weights
    x = x.conv2d(f, b, padding=1).relu().max_pool2d((2, 2)).flatten(1)
    return (x @ w + c).cross_entropy(target)


def test_a_cnn_step_has_no_step_of_the_host():
    weights = [(floats(8, 3, 3, 3), floats(8)), (floats(8 * 64, 10), floats(10))]

    def step(weights, x, target):
        return sgd(weights, grad(cnn_loss)(weights, x, target))

    assert kernels(step, weights, floats(4, 3, 16, 16), places(10, 4)) <= 15


def block_loss(weights, tokens, target):
    table, wqkv, wo, head = weights
    x = table[tokens].layernorm(-1)
    qkv = (x @ wqkv).reshape(2, 8, 3, 2, 8).permute(2, 0, 3, 1, 4)
    y = qkv[0].scaled_dot_product_attention(qkv[1], qkv[2], is_causal=True)
    x = x + y.transpose(1, 2).reshape(2, 8, 16) @ wo
    return (x.layernorm(-1) @ head).reshape(16, 20).cross_entropy(target.flatten())


def test_an_attention_step_has_no_step_of_the_host():
    weights = [floats(20, 16), floats(16, 48), floats(16, 16), floats(16, 20)]

    def step(weights, tokens, target):
        gradients = grad(block_loss)(weights, tokens, target)
        return [w - 0.1 * g for w, g in zip(weights, gradients, strict=True)]

    assert kernels(step, weights, places(20, 2, 8), places(20, 2, 8)) <= 45


def test_dropout_and_random_numbers_are_kernels():
    with Tensor.train():
        assert kernels(lambda x: x.dropout(0.5) + Tensor.rand(64, 128), X) <= 4


# ---- control flow


def controls(fn, *args):
    """The steps of control flow, which must be native."""
    plan = lower(fn)(*args).plan
    assert all(BACKEND.runs(s) for s in plan.steps if isinstance(s, ControlStep))
    return sum(isinstance(s, ControlStep) for s in plan.steps), len(plan.steps)


def test_control_flow_is_native():
    def scanned(x):
        return scan(lambda c, v: (c * 0.5 + v.tanh(), c.sum()), x[0] * 0, x)

    found, steps = controls(scanned, floats(1000, 16))
    assert found == 1
    assert steps <= 3
    assert controls(grad(lambda x: scanned(x)[1].sum()), floats(1000, 16))[0] == 1  # reads no state

    def bent(x):
        return scan(lambda c, v: ((c + v).tanh(), c.sum()), x[0] * 0, x)[1].sum()

    assert controls(grad(bent), floats(1000, 16))[0] == 2
    assert controls(lambda x: while_loop(lambda v: v.sum() < 9, lambda v: v * 2, x), X)[0] == 1
    assert controls(lambda x: cond(x.sum() > 0, lambda v: v @ v.T, lambda v: v @ v.T, x), X)[0] == 1


def test_the_gradient_of_a_convolution_repeats_no_weights():
    def loss(x, w):
        return (x.conv2d(w) ** 2).sum()

    x, w = floats(7, 16, 28, 28), floats(32, 16, 3, 3)
    plan = lower(grad(loss, argnums=(0, 1)))(x, w).plan
    repeated = [slot.shape for slot in plan.slots if prod(slot.shape) == 7 * w.size]
    assert repeated == []
