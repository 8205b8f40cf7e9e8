"""Functions to capture as modules: networks, losses, and ops of every kind, with arguments."""

import numpy as np

import adjoint
from adjoint import Tensor

_rng = np.random.default_rng(7)


def real(*shape, lo=-1.0, hi=1.0, dtype=np.float32):
    """Values that stay away from 0, where some functions have a kink."""
    values = _rng.uniform(lo, hi, shape)
    return np.where(np.abs(values) < 0.05, 0.1, values).astype(dtype)


def whole(*shape, hi):
    return _rng.integers(0, hi, shape).astype(np.int32)


def _mlp(x, w1, b1, w2, b2):
    return ((x @ w1 + b1).relu() @ w2 + b2).log_softmax(-1).mean()


def _convolution(x, w, b):
    return x.conv2d(w, b, stride=2, padding=1).relu().mean()


def _attention(q, k, v):
    return q.scaled_dot_product_attention(k, v, is_causal=True).square().mean()


def _embedding(table, index, w):
    return (table[index] @ w).tanh().sum()


def _norm_block(x, g, b):
    return ((x.layernorm(-1) * g + b).gelu() * x).mean()


def _spread(x):
    return x.var() + x.std(1).sum() + x.logsumexp(0).sum()


def _recurrent(x, w):
    start = Tensor(np.zeros(3, np.float32), device=x.device)
    return adjoint.scan(lambda h, v: ((h @ w + v).tanh(), h), start, x)[0].sum()


def _chosen(x):
    return adjoint.cond(x.sum() > 0, lambda y: (y * y).sum(), lambda y: y.sum(), x)


def _gated(x, w):
    a, b = (x @ w).split(2, dim=-1)
    return (a.sigmoid() * b.silu()).sum()


@adjoint.custom_vjp
def _clipped(x, y):
    """x y, whose gradient for x is clipped; y gets what the result says."""
    return x * y


_clipped.defvjp(
    lambda x, y: (_clipped(x, y), (x, _clipped(x, y), y)),
    lambda kept, g: ((g * kept[2]).clip(-0.5, 0.5), g * kept[1] * Tensor([1.0, 2.0, 3.0])),
)


@adjoint.custom_jvp
def _soft(x):
    return (1 + x.exp()).log()


@_soft.defjvp
def _soft_tangent(primals, tangents):
    (x,), (t,) = primals, tangents
    return _soft(x), t * (1 - (-_soft(x)).exp())


class _Pair(adjoint.Operation):
    def execute(self, a, b, power=2):
        return a * b, a**power + b

    def vjp_rule(self, primals, cotangent, output, power=2):
        (a, b), (g, h) = primals, cotangent
        return g * b + h * power * a ** (power - 1), g * a + h + 0 * output[0]

    def jvp_rule(self, primals, tangents, output, power=2):
        (a, b), (s, t) = primals, tangents
        return s * b + a * t, power * a ** (power - 1) * s + t


def _pairs(a, b):
    first, second = _Pair()(a, b, power=3)
    return (first * second).sum()


def _rules_in_a_loop(x, w):
    factor = Tensor([0.5, 1.0, 2.0])
    twice = adjoint.custom_vjp(lambda h: h.sin())
    twice.defvjp(lambda h: (h.sin(), h), lambda h, g: (2 * g * h.cos() * factor * w.sum(),))
    start = Tensor(np.zeros(3, np.float32), device=x.device)
    return adjoint.scan(lambda h, v: (twice(h @ w) + _soft(v), h), start, x)[0].sum()


def _computed_again(x, w):
    return adjoint.checkpoint(lambda y: (_soft(y @ w), y.tanh()))(x)[0].sum()


# name → (function, arguments). All return one scalar; all have a gradient for every float.
SCALARS = {
    "mlp": (_mlp, (real(4, 3), real(3, 5), real(5), real(5, 2), real(2))),
    "convolution": (_convolution, (real(2, 3, 6, 6), real(4, 3, 3, 3), real(4))),
    "attention": (_attention, (real(2, 4, 3), real(2, 4, 3), real(2, 4, 3))),
    "embedding with repeats": (
        _embedding,
        (real(5, 3), np.array([[0, 2, 2], [4, 0, 2]], np.int32), real(3, 2)),
    ),
    "norm block": (_norm_block, (real(2, 5), real(5), real(5))),
    "spread": (_spread, (real(3, 4),)),
    "recurrent": (_recurrent, (real(5, 3), real(3, 3))),
    "branch": (_chosen, (real(2, 3),)),
    "gated": (_gated, (real(3, 4), real(4, 4))),
    "mean squared error": (lambda x, y: x.mse_loss(y), (real(3, 2), real(3, 2))),
    "huber": (lambda x, y: x.huber_loss(y), (real(3, 2), real(3, 2))),
    "cross entropy": (
        lambda x, y: x.sparse_categorical_crossentropy(y),
        (real(4, 3), whole(4, hi=3)),
    ),
    "binary cross entropy": (
        lambda x, y: x.sigmoid().binary_crossentropy(y.sigmoid()),
        (real(3, 2), real(3, 2)),
    ),
    "einsum": (
        lambda a, b: Tensor.einsum("bij,bjk->ik", a, b).sin().sum(),
        (real(2, 3, 4), real(2, 4, 2)),
    ),
    "bilinear": (
        lambda a, b, c: Tensor.einsum("i,ij,j->", a, b, c),
        (real(3), real(3, 4), real(4)),
    ),
    "sort": (lambda x: (x.sort(-1)[0] * x).sum(), (real(3, 4),)),
    "cumsum": (lambda x: (x.cumsum(1).exp() * x).sum(), (real(3, 4),)),
    "cumprod": (lambda x: x.cumprod(0).sum(), (real(3, 4),)),
    "max pool": (lambda x: x.max_pool2d().square().sum(), (real(1, 2, 4, 4),)),
    "average pool": (lambda x: x.avg_pool2d().square().sum(), (real(1, 2, 4, 4),)),
    "batch norm": (
        lambda x, m, v: x.batchnorm(None, None, m, (v * v + 0.1).rsqrt()).sum(),
        (real(3, 4), real(4), real(4)),
    ),
    "slices": (lambda x: (x[1:, ::2] * x[:-1, 1::2]).sum(), (real(4, 6),)),
    "pad and flip": (lambda x: (x.pad(((1, 0), (0, 2))).flip(0) ** 2).sum(), (real(2, 3),)),
    "stack and cat": (
        lambda a, b: Tensor.stack(a, b, dim=1).square().sum() * a.cat(b).exp().mean(),
        (real(2, 3), real(2, 3)),
    ),
    "where and clip": (lambda x: x.gt(0.2).where(x.clip(-0.5, 0.5), x * x).sum(), (real(3, 4),)),
    "norms": (lambda x: x.square().sum(1).sqrt().mean() + x.abs().max(), (real(3, 4),)),
    "linear solve": (
        lambda a, b: (a @ a.transpose() + Tensor.eye(3)).solve(b).sum(),
        (real(3, 3), real(3, 2)),
    ),
    "products": (lambda x: x.prod() + x.prod(1).sum(), (real(2, 3),)),
    "division": (lambda a, b: (a / (b * b + 1)).sum(), (real(2, 3), real(3))),
    "powers": (lambda x: (x.abs() ** 1.5).sum() + (x**3).mean(), (real(3, 4),)),
    "gather along an axis": (
        lambda x, i: (x.gather(1, i) ** 2).sum(),
        (real(3, 4), whole(3, 2, hi=4)),
    ),
    "constants outside": (
        lambda x: (x * Tensor([1.0, 2.0, 3.0]) + 4).square().sum(),
        (real(2, 3),),
    ),
    "reverse rule": (lambda x, y: _clipped(x, y).sin().sum(), (real(2, 3), real(2, 3))),
    "tangent rule": (lambda x: (_soft(x) * x).sum(), (real(2, 3),)),
    "operation": (_pairs, (real(2, 3), real(2, 3))),
    "rules in a loop": (_rules_in_a_loop, (real(4, 3), real(3, 3))),
    "checkpoint": (_computed_again, (real(2, 3), real(3, 3))),
}
# With several outputs, integers, truth values: forward only.
OTHERS = {
    "several outputs": (lambda x: (x + 1, x.sum(0), x > 0), (real(2, 3),)),
    "a pytree": (lambda p: {"y": p["a"] @ p["b"], "n": p["a"].argmax(1)}, None),
    "integers": (lambda i: (i * 3 // 2) % 5, (whole(2, 3, hi=9),)),
    "sorting": (lambda x: x.sort(0), (real(3, 4),)),
    "decomposition": (lambda x: x.qr(), (real(3, 3),)),
    "while": (
        lambda x: adjoint.while_loop(lambda v: v.sum() < 10, lambda v: v * v + 1, x),
        (real(2, 3),),
    ),
    "half precision": (lambda x: x.cast("float16").exp().cast("float32"), (real(2, 3),)),
    "complex": (lambda x: adjoint.fft.rfft(x), (real(2, 8),)),
    "empty": (lambda x: x.sum(0), (np.zeros((0, 3), np.float32),)),
}
OTHERS["a pytree"] = (OTHERS["a pytree"][0], ({"a": real(2, 3), "b": real(3, 2)},))
