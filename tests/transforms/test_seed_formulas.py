"""The formulas of seed 000 §2 and the edge rules beside them, with values worked by hand.

Every case gives a function, its arguments, the cotangent of its result, and what must come out for
each argument: to the last bit where the arithmetic is exact.
"""

import math

import numpy as np
import pytest

from adjoint import Tensor, dtypes
from adjoint.transforms.forward import jvp
from adjoint.transforms.reverse import grad, vjp
from adjoint.transforms.trace import backward_on_trace, trace

INF, NAN = math.inf, math.nan
LN2 = math.log(2)


def pulled(fn, args, g):
    """The cotangents of the arguments, as arrays."""
    tensors = [Tensor(np.array(a, dtype=np.float64)) for a in args]
    _, pullback = vjp(fn, *tensors)
    return [t.numpy() for t in pullback(Tensor(np.array(g, dtype=np.float64)))]


CASES = {
    # 2.1 arithmetic
    "add": (lambda x, y: x + y, ([1, 2], [3, 4]), [5, 7], ([5, 7], [5, 7])),
    "mul": (lambda x, y: x * y, ([1, 2], [3, 4]), [5, 7], ([15, 28], [5, 14])),
    "mul-0-inf": (lambda x, y: x * y, ([0, INF], [INF, 2]), [1, 1], ([INF, 2], [0, INF])),
    "sub": (lambda x, y: x - y, ([1, 2], [3, 4]), [5, 7], ([5, 7], [-5, -7])),
    "max-flows-to-the-larger": (
        lambda x, y: x.maximum(y),
        ([1, 9], [3, 4]),
        [5, 7],
        ([0, 7], [5, 0]),
    ),
    "max-tie-is-halved": (lambda x, y: x.maximum(y), ([3], [3]), [5], ([2.5], [2.5])),
    "max-of-both-zeros-is-a-tie": (lambda x, y: x.maximum(y), ([0.0], [-0.0]), [4], ([2], [2])),
    "max-with-itself-keeps-its-mass": (lambda x: x.maximum(x), ([3, -1],), [5, 7], ([5, 7],)),
    "max-with-a-number-at-it": (lambda x: x.maximum(0), ([-1, 0, 1],), [8, 8, 8], ([0, 4, 8],)),
    "min-tie-is-halved": (lambda x, y: x.minimum(y), ([3, 1], [3, 2]), [4, 4], ([2, 4], [2, 0])),
    # 2.2 unary
    "reciprocal": (lambda x: x.reciprocal(), ([2, -4],), [1, 16], ([-0.25, -1],)),
    "reciprocal-at-0": (lambda x: x.reciprocal(), ([0.0, -0.0],), [1, 1], ([-INF, -INF],)),
    "sin-at-0": (lambda x: x.sin(), ([0, -0.0],), [3, 5], ([3, 5],)),
    "log2": (lambda x: x.log2(), ([4],), [8], ([2 / LN2],)),
    "log2-at-0": (lambda x: x.log2(), ([0],), [1], ([INF],)),
    "exp2": (lambda x: x.exp2(), ([3],), [2], ([16 * LN2],)),
    "log-at-0": (lambda x: x.log(), ([0.0],), [1], ([INF],)),
    "exp-at-minus-inf": (lambda x: x.exp(), ([-INF],), [5], ([0],)),
    "sqrt": (lambda x: x.sqrt(), ([4, 16],), [1, 8], ([0.25, 1],)),
    "sqrt-at-0-is-inf": (lambda x: x.sqrt(), ([0],), [1], ([INF],)),
    "relu": (lambda x: x.relu(), ([-2, 3],), [5, 7], ([0, 7],)),
    "relu-at-0": (lambda x: x.relu(), ([0.0, -0.0],), [5, 7], ([0, 0],)),
    "abs": (lambda x: x.abs(), ([-2, 0, 3],), [5, 7, 9], ([-5, 0, 9],)),
    "floor-is-flat": (lambda x: x.floor() + 0 * x, ([1.5],), [1], ([0],)),
    # 2.3 movement
    "reshape": (lambda x: x.reshape(2, 2), ([1, 2, 3, 4],), [[5, 6], [7, 8]], ([5, 6, 7, 8],)),
    "permute": (
        lambda x: x.permute(1, 0),
        ([[1, 2, 3], [4, 5, 6]],),
        [[1, 2], [3, 4], [5, 6]],
        ([[1, 3, 5], [2, 4, 6]],),
    ),
    "permute-three-axes": (
        lambda x: x.permute(2, 0, 1),
        (np.zeros((1, 2, 3)),),
        np.arange(6).reshape(3, 1, 2),
        (np.arange(6).reshape(3, 1, 2).transpose(1, 2, 0),),
    ),
    "expand-is-summed": (
        lambda x: x.expand(3, 2),
        ([[1, 2]],),
        [[1, 10], [2, 20], [3, 30]],
        ([[6, 60]],),
    ),
    "expand-of-a-scalar": (lambda x: x.expand(2, 2), (7,), [[1, 2], [3, 4]], (10,)),
    "expand-to-nothing": (lambda x: x.expand(0, 2), ([[1, 2]],), np.zeros((0, 2)), ([[0, 0]],)),
    "pad-is-shrunk": (lambda x: x.pad(((1, 2),)), ([1, 2],), [1, 2, 3, 4, 5], ([2, 3],)),
    "pad-with-a-value": (
        lambda x: x.pad(((1, 0),), value=9.0),
        ([1, 2],),
        [7, 2, 3],
        ([2, 3],),
    ),
    "shrink-is-padded": (lambda x: x.shrink(((1, 3),)), ([1, 2, 3, 4],), [5, 6], ([0, 5, 6, 0],)),
    "flip": (lambda x: x.flip(0), ([1, 2, 3],), [4, 5, 6], ([6, 5, 4],)),
    # 2.4 reductions
    "sum-is-expanded": (lambda x: x.sum(1), ([[1, 2], [3, 4]],), [5, 7], ([[5, 5], [7, 7]],)),
    "sum-of-all": (lambda x: x.sum(), ([1, 2, 3],), 4, ([4, 4, 4],)),
    "sum-over-no-axes": (lambda x: x.sum(()), ([1, 2],), [3, 4], ([3, 4],)),
    "sum-of-nothing": (lambda x: x.sum(), (np.zeros((0, 2)),), 4, (np.zeros((0, 2)),)),
    "max-reduce": (lambda x: x.max(1), ([[1, 5], [7, 2]],), [3, 4], ([[0, 3], [4, 0]],)),
    "max-reduce-two-tie": (lambda x: x.max(), ([5, 1, 5],), 8, ([4, 0, 4],)),
    "max-reduce-all-tie": (lambda x: x.max(), ([2, 2, 2, 2],), 8, ([2, 2, 2, 2],)),
    "max-reduce-both-zeros-tie": (lambda x: x.max(), ([0.0, -0.0],), 8, ([4, 4],)),
    "max-reduce-inf-ties": (lambda x: x.max(), ([INF, INF, 1],), 8, ([4, 4, 0],)),
    "min-reduce-ties": (lambda x: x.min(), ([5, 1, 1],), 8, ([0, 4, 4],)),
    "prod": (lambda x: x.prod(), ([2, 3, 4],), 1, ([12, 8, 6],)),
    "prod-with-one-zero": (lambda x: x.prod(), ([2, 0, 4],), 1, ([0, 8, 0],)),
    "prod-with-two-zeros": (lambda x: x.prod(), ([0, 3, 0],), 1, ([0, 0, 0],)),
    "prod-of-one": (lambda x: x.prod(), ([0],), 5, ([5],)),
    "prod-along-an-axis": (
        lambda x: x.prod(1),
        ([[2, 0], [3, 5]],),
        [10, 1],
        ([[0, 20], [5, 3]],),
    ),
    # 2.5 special
    "cast-there-and-back": (lambda x: x.half().double(), ([1, 2],), [3, 4], ([3, 4],)),
    "contiguous": (lambda x: x.contiguous(), ([1, 2],), [3, 4], ([3, 4],)),
    "detach-stops": (lambda x: x * x.detach(), ([3, 4],), [1, 1], ([3, 4],)),
    # ruling 24: pow
    "pow": (lambda x, y: x**y, ([2], [3]), [1], ([12], [8 * LN2])),
    "pow-0-to-a-positive": (lambda x, y: x**y, ([0], [2]), [1], ([0], [0])),
    "pow-exponent-is-masked-at-a-base-below-0": (lambda x, y: x**y, ([-2], [2]), [1], ([-4], [0])),
    "pow-0-to-the-0": (lambda x: x**0, ([0, 5],), [1, 1], ([0, 0],)),
    "square-at-0": (lambda x: x**2, ([0, -3],), [1, 1], ([0, -6],)),
    # never folded: NaN and inf survive
    "x-over-x-at-0-is-nan": (lambda x: x / x, ([0],), [1], ([NAN],)),
    "0-times-x-keeps-its-gradient": (lambda x: x * 0, ([INF],), [1], ([0],)),
    "div": (lambda a, b: a / b, ([6], [2]), [4], ([2], [-6])),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_cotangents_are_those_worked_by_hand(name):
    fn, args, g, wanted = CASES[name]
    exact = not any(word in name for word in ("log2", "exp2", "pow"))
    for got, value in zip(pulled(fn, args, g), wanted, strict=True):
        np.testing.assert_allclose(got, value, rtol=0 if exact else 1e-15)


def _differs(name):
    """Forward mode is the sum over all elements, where NaN and inf meet zeros."""
    return any(word in name for word in ("nan", "inf", "at-0", "nothing"))


@pytest.mark.parametrize("name", [n for n in CASES if not _differs(n)])
def test_forward_mode_is_the_transpose(name):
    fn, args, g, wanted = CASES[name]
    tensors = [Tensor(np.array(a, dtype=np.float64)) for a in args]
    rng = np.random.default_rng(0)
    tangents = [rng.integers(-9, 9, t.shape).astype(np.float64) for t in tensors]
    pushed = jvp(fn, tensors, [Tensor(t) for t in tangents])[1].numpy()
    left = (np.array(g, dtype=np.float64) * pushed).sum()
    right = sum((np.array(w) * t).sum() for w, t in zip(wanted, tangents, strict=True))
    np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-12)


class TestSpecialCases:
    def test_sin(self):
        (got,) = pulled(lambda x: x.sin(), ([1.0, 2.0],), [3, 5])
        np.testing.assert_allclose(got, [3 * math.cos(1), 5 * math.cos(2)], rtol=1e-15)

    def test_where_gives_each_side_its_part_and_the_condition_none(self):
        condition = Tensor([True, False, True])
        got = pulled(lambda x, y: condition.where(x, y), ([1, 2, 3], [4, 5, 6]), [7, 8, 9])
        np.testing.assert_array_equal(got[0], [7, 0, 9])
        np.testing.assert_array_equal(got[1], [0, 8, 0])

    def test_where_keeps_an_infinity_of_the_other_side_out(self):
        fn = lambda x: (x > 0).where(x.sqrt(), x * 2)  # noqa: E731
        np.testing.assert_array_equal(pulled(fn, ([-1.0],), [1.0])[0], [NAN])
        safe = lambda x: (x > 0).where((x > 0).where(x, 1.0).sqrt(), x * 2)  # noqa: E731
        np.testing.assert_array_equal(pulled(safe, ([-1.0, 4.0],), [1.0, 1.0])[0], [2.0, 0.25])

    def test_cast_returns_the_gradient_in_the_dtype_of_the_operand(self):
        x = Tensor(np.array([1.0, 2.0], dtype=np.float16))
        got = grad(lambda x: (x.cast("float64") * 3).sum())(x)
        assert got.dtype is dtypes.float16
        np.testing.assert_array_equal(got.numpy(), [3, 3])

    def test_no_gradient_passes_a_cast_to_an_integer(self):
        got = grad(lambda x: (x.cast("int32").cast("float64") * x).sum())(Tensor(np.array([2.5])))
        np.testing.assert_array_equal(got.numpy(), [2.0])

    def test_relu_keeps_a_nan_and_its_gradient_there_is_0(self):
        (got,) = pulled(lambda x: x.relu(), ([NAN, 1.0],), [5.0, 5.0])
        np.testing.assert_array_equal(got, [0.0, 5.0])  # NaN > 0 is false
        assert math.isnan(Tensor([NAN]).relu().item())

    def test_maximum_at_nan_passes_nothing_to_either_side(self):
        got = pulled(lambda x, y: x.maximum(y), ([NAN, 1.0], [1.0, NAN]), [5.0, 5.0])
        np.testing.assert_array_equal(got, np.zeros((2, 2)))  # neither > nor == holds

    def test_gather_adds_at_repeated_indices(self):
        index = Tensor([0, 2, 2, 2])
        (got,) = pulled(lambda x: x.gather(0, index), ([1, 2, 3],), [1, 10, 100, 1000])
        np.testing.assert_array_equal(got, [1, 0, 1110])

    def test_indexing_adds_at_repeated_rows(self):
        rows = Tensor([1, 1])
        (got,) = pulled(lambda x: x[rows], ([[1, 2], [3, 4]],), [[1, 2], [10, 20]])
        np.testing.assert_array_equal(got, [[0, 0], [11, 22]])

    def test_ties_are_counted_in_float32_where_halves_are_given(self):
        x = Tensor(np.ones(70_000, dtype=np.float16))
        got = grad(lambda x: x.max().cast("float32") * 35_000)(x).numpy()
        np.testing.assert_array_equal(got, np.full(70_000, 0.5))

    def test_detach_stops_the_walk(self):
        x = Tensor([2.0, 3.0], requires_grad=True)
        (x.detach() * x).sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), [2, 3])

    def test_assign_stops_the_walk(self):
        x, y = Tensor([2.0], requires_grad=True), Tensor([0.0])
        y.assign(x * 3)
        (y * x).sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), [6.0])

    def test_a_value_used_twice_gets_the_sum_of_both_ways(self):
        (got,) = pulled(lambda x: x * x + x, ([3.0],), [1.0])
        np.testing.assert_array_equal(got, [7.0])

    def test_nodes_of_the_backward_pass_keep_the_users_line(self):
        x = Tensor([0.5], requires_grad=True)
        loss = x.sin().sum()
        loss.backward()
        cosine = next(n for n in x.grad.uop.toposort() if n.op.name == "cos")
        sine = next(n for n in loss.uop.toposort() if n.op.name == "sin")
        assert cosine.origin.backward
        assert not sine.origin.backward
        assert (cosine.origin.file, cosine.origin.line) == (sine.origin.file, sine.origin.line)


RNG = np.random.default_rng(11)
A = RNG.standard_normal((3, 4)).astype(np.float32)
B = RNG.standard_normal((4, 3)).astype(np.float32)
POSITIVE = np.abs(A) + 0.5
ROUTES = {
    "polynomial": (lambda x: (x * x * 3 - x + 1).sum(), (A,)),
    "matmul": (lambda x, w: (x @ w).sum(), (A, B)),
    "layer": (lambda x, w: (x @ w).tanh().mean(), (A, B)),
    "softmax": (lambda x: (x.softmax(-1) * x).sum(), (A,)),
    "log-softmax": (lambda x: x.log_softmax(0).square().sum(), (A,)),
    "norm": (lambda x: x.layernorm().exp().sum(), (A,)),
    "gelu": (lambda x: x.gelu().sum(), (A,)),
    "broadcast": (lambda x, y: ((x - y) ** 2).sum(), (A, A[:1])),
    "reductions": (lambda x: x.max(1).sum() + x.prod(0).sum() + x.std(), (A,)),
    "movement": (lambda x: (x.permute(1, 0).flip(0).pad(((1, 1), (0, 2))) ** 3).sum(), (A,)),
    "choice": (lambda x, y: (x > y).where(x.sin(), y.exp()).sum(), (A, A[::-1].copy())),
    "indexing": (lambda x: (x[[0, 2, 2]] * x[:, 1:].sum()).sum(), (A,)),
    "running": (lambda x: (x.cumsum(1) * x).sum(), (A,)),
    "powers": (lambda x, y: (x**y).log().sqrt().sum(), (POSITIVE + 1, POSITIVE)),
    "shared": (lambda x: (x.sin() * x.sin() + x.sin() / (x.cos() + 3)).sum(), (A,)),
    "loss": (lambda x: x.cross_entropy(Tensor([1, 0, 3])), (A,)),
}  # fmt: skip


@pytest.mark.parametrize("name", ROUTES)
def test_three_routes_give_the_same_bits(name):
    fn, arrays = ROUTES[name]
    everything = tuple(range(len(arrays)))
    by_grad = grad(fn, everything)(*(Tensor(a) for a in arrays))
    by_trace = backward_on_trace(trace(fn, *(Tensor(a) for a in arrays)))
    handles = [Tensor(a, requires_grad=True) for a in arrays]
    fn(*handles).backward()
    for functional, traced, handle in zip(by_grad, by_trace, handles, strict=True):
        wanted = functional.numpy().tobytes()
        assert np.isfinite(functional.numpy()).all()
        assert traced.numpy().tobytes() == wanted
        assert handle.grad.numpy().tobytes() == wanted
