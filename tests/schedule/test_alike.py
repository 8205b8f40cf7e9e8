"""Groups that are alike have one kernel: what makes them alike, and what stays each one's own."""

import numpy as np
import pytest

from adjoint import Tensor, Variable, jit, lower
from adjoint.errors import BoundsError


def tensor(*shape, start=0):
    count = int(np.prod(shape))
    values = np.arange(start, start + count, dtype=np.float32).reshape(shape)
    return Tensor(values, device="CPU").realize()


def kernels(fn, *args):
    return lower(fn)(*args).kernels()


def layers(x, weights, numbers):
    for w, number in zip(weights, numbers, strict=True):
        x = ((x @ w) * number).tanh()
    return x


def test_layers_share_a_kernel_and_give_what_each_alone_gives():
    x = (tensor(64, 64) / 4096).realize()
    weights = [(tensor(64, 64, start=start) / 4096).realize() for start in (-8, 5, 0)]
    program = lambda x, *ws: layers(x.exp().contiguous(), ws, [0.25, 0.25, 0.25])  # noqa: E731
    assert len({text for text in kernels(program, x, *weights) if "tanh" in text}) == 1
    alone = x.exp()
    for weight in weights:
        alone = ((alone @ weight) * 0.25).tanh().realize()
    assert program(x, *weights).numpy().tobytes() == alone.numpy().tobytes()


@pytest.mark.parametrize("numbers", [(0.25, 0.75), (0.0, -0.0), (float("nan"), 1.0)])
def test_constants_make_a_difference(numbers):
    x, w = tensor(4, 4), tensor(4, 4, start=-8) / 16
    found = layers(x, [w, w], numbers)
    alone = x
    for number in numbers:
        alone = ((alone @ w) * number).tanh().realize()
    assert found.numpy().tobytes() == alone.numpy().tobytes()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda a, b: a - b, lambda a, b: b - a),
        (lambda a, b: a - b, lambda a, b: a - a),
        (lambda a, b: a.sum(0) - b, lambda a, b: a.sum(1) - b),
        (lambda a, b: a.permute(1, 0) - b, lambda a, b: a - b),
        (lambda a, b: a[1:, :3].exp(), lambda a, b: a[:3, 1:].exp()),
        (lambda a, b: a.flip(0) * b, lambda a, b: a.flip(1) * b),
        (lambda a, b: a.cast("int32") + 1, lambda a, b: a.cast("int64") + 1),
    ],
)
def test_what_is_not_alike_stays_apart(one, other):
    a, b = tensor(4, 4), tensor(4, 4, start=3)
    both = jit(lambda a, b: (one(a, b), other(a, b)))
    for _ in range(2):
        first, second = both(a, b)
        np.testing.assert_array_equal(first.numpy(), one(a, b).numpy())
        np.testing.assert_array_equal(second.numpy(), other(a, b).numpy())


def test_a_bad_index_is_blamed_on_its_own_line():
    table, good, bad = tensor(4, 2), Tensor([1, 2]), Tensor([1, 9])
    first = table[good].exp().contiguous()
    second = table[bad].exp().contiguous()
    with pytest.raises(BoundsError) as caught:
        Tensor.realize(first, second)
    line = test_a_bad_index_is_blamed_on_its_own_line.__code__.co_firstlineno + 3
    assert f"test_alike.py:{line}" in str(caught.value)


def test_a_source_names_the_lines_of_all():
    def two(x, w):
        x = x.exp().contiguous()
        a = (x @ w).tanh()
        b = (a @ w).tanh()
        return b

    x = tensor(64, 64)
    (text,) = {text for text in kernels(two, x, (x + 1).realize()) if "tanh" in text}
    first = two.__code__.co_firstlineno
    assert f"test_alike.py:{first + 2}" in text
    assert f"test_alike.py:{first + 3}" in text


def test_sizes_that_vary_stay_apart():
    n, x = Variable("n", 1, 4), tensor(4, 4)
    double = x[: n.bind(3)].exp().contiguous()
    plain = x[:3].exp().contiguous()
    Tensor.realize(double, plain)
    np.testing.assert_array_equal(double.numpy(), plain.numpy())
