"""What `gpu_kernels.py` measures: works by Adjoint, torch and JAX, and the bytes that must move.

What may live here: functions of operands, and what the operands are. What may not: how a work is
timed. A work of torch or JAX imports its library when it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

from adjoint import grad

LONG = (1 << 28,)
ROWS = (16384, 4096)
WORDS = (50304, 768)
Fn = Callable[..., Any]


class Work(NamedTuple):
    """The function of each library, its operands as (shape, kind), and gigabytes that must move.

    A kind is a dtype of normally distributed numbers, or "<n" for whole numbers below n. `order` is
    that of sums: "" is the default of each library; "any" allows Adjoint other bits from run to
    run; "one" forbids them to torch.
    """

    adjoint: Fn
    torch: Fn | None
    jax: Fn | None
    operands: tuple[tuple[tuple[int, ...], str], ...]
    gigabytes: float
    order: str = ""


def _moved(shape: tuple[int, ...], passes: float, itemsize: int = 4) -> float:
    return prod(shape) * passes * itemsize / 1e9


def _alike(
    fn: Fn, shape: tuple[int, ...], passes: float, dtype: str = "float32", jax: Fn | None = None
) -> Work:
    """The same text for Adjoint and torch, and for JAX unless it spells it otherwise."""
    size = 2 if dtype == "bfloat16" else 4
    return Work(fn, fn, jax or fn, ((shape, dtype),), _moved(shape, passes, size))


def _of(
    ours: Fn, torch: Fn, jax: Fn | None, shape: tuple[int, ...], passes: float, **more: Any
) -> Work:
    dtype = more.pop("dtype", "float32")
    others = more.pop("others", ())
    size = 2 if dtype == "bfloat16" else 4
    operands = ((shape, dtype), *others)
    moved = more.pop("gigabytes", _moved(shape, passes, size))
    return Work(ours, torch, jax, operands, moved, **more)


# ---- torch and JAX, where they spell it otherwise


def _tf() -> Any:
    import torch

    return torch.nn.functional


def _jnp() -> Any:
    import jax

    return jax.numpy


def _jnn() -> Any:
    import jax

    return jax.nn


def _jgrad(fn: Fn, *operands: Any) -> Any:
    import jax

    return jax.value_and_grad(fn)(*operands)


def _torch_grad(fn: Fn, x: Any, *others: Any) -> Any:
    v = x.detach().requires_grad_()
    y = fn(v, *others)
    y.backward()
    return y.detach(), v.grad


def _torch_norm(x: Any, g: Any) -> Any:
    v = x.detach().requires_grad_()
    y = _tf().layer_norm(v, v.shape[-1:])
    y.backward(g)
    return y.detach(), v.grad


def _jax_norm(x: Any) -> Any:
    jnp = _jnp()
    mean = jnp.mean(x, -1, keepdims=True)
    spread = jnp.mean((x - mean) ** 2, -1, keepdims=True)
    return (x - mean) / jnp.sqrt(spread + 1e-5)


def _jax_norm_both(x: Any, g: Any) -> Any:
    import jax

    y, back = jax.vjp(_jax_norm, x)
    return y, back(g)[0]


def _jax_dropped(x: Any) -> Any:
    import jax

    kept = jax.random.bernoulli(jax.random.key(0), 0.9, x.shape)
    return jax.numpy.where(kept, x / 0.9, 0)


def _jax_pooled(x: Any) -> Any:
    import jax

    window = (1, 1, 3, 3), (1, 1, 2, 2), ((0, 0), (0, 0), (1, 1), (1, 1))
    return jax.lax.reduce_window(x, -jax.numpy.inf, jax.lax.max, *window)


def _jax_entropy(x: Any, i: Any) -> Any:
    logs = _jnn().log_softmax(x, -1)
    return -logs[_jnp().arange(x.shape[0]), i].mean()


# ---- ours, where it is no method


def _norm_both(x: Any, g: Any) -> Any:
    return x.layernorm(-1), grad(lambda v: (v.layernorm(-1) * g).sum())(x)


def _entropy_both(x: Any, i: Any) -> Any:
    return x.cross_entropy(i), grad(lambda v: v.cross_entropy(i))(x)


def _dropped(x: Any) -> Any:
    with type(x).train():
        return x.dropout(0.1)


def _pooled(x: Any) -> Any:
    return x.max_pool2d(3, 2, padding=1)


def _embedding_gradient(g: Any, i: Any) -> Any:
    return type(g).zeros(*WORDS, device=g.device).index_add(0, i, g)


def _spread_sum(g: Any, i: Any) -> Any:
    return type(g).zeros(1 << 20, device=g.device).index_add(0, i, g)


def _torch_zeros(*shape: int) -> Any:
    import torch

    return torch.zeros(shape, device="cuda")


# ---- groups of works


def _pointwise() -> dict[str, Work]:
    chain = lambda x: (x * 1.5 + 0.25).relu() * x  # noqa: E731
    jax_chain = lambda x: _jnn().relu(x * 1.5 + 0.25) * x  # noqa: E731
    tanh = lambda x: (x * 1.5 + 0.25).relu() * x.tanh()  # noqa: E731
    jax_tanh = lambda x: _jnn().relu(x * 1.5 + 0.25) * _jnp().tanh(x)  # noqa: E731
    return {
        "copy": _of(lambda x: x + 0, lambda x: x.clone(), lambda x: x + 1, LONG, 2),
        "chain": _alike(chain, LONG, 2, jax=jax_chain),
        "chain, bfloat16": _alike(chain, LONG, 2, "bfloat16", jax_chain),
        "chain with tanh": _alike(tanh, LONG, 2, jax=jax_tanh),
        "chain with tanh, bfloat16": _alike(tanh, LONG, 2, "bfloat16", jax_tanh),
        "gelu": _of(
            lambda x: x.gelu(), lambda x: _tf().gelu(x), lambda x: _jnn().gelu(x, False), LONG, 2
        ),
        "dropout": _of(
            _dropped,
            lambda x: _tf().dropout(x, 0.1),
            _jax_dropped,
            (1 << 26,),
            2,
        ),
        "transpose": _of(lambda x: x.T + 0, lambda x: x.T.contiguous(), lambda x: x.T + 1, ROWS, 2),
    }


def _softmaxes(shape: tuple[int, ...], dtype: str = "float32") -> Work:
    return _alike(lambda x: x.softmax(-1), shape, 2, dtype, lambda x: _jnn().softmax(x, -1))


def _reductions() -> dict[str, Work]:
    norm = (lambda x: x.layernorm(-1), lambda x: _tf().layer_norm(x, x.shape[-1:]), _jax_norm)
    both = _of(_norm_both, _torch_norm, _jax_norm_both, ROWS, 5, others=((ROWS, "float32"),))
    largest = lambda x: x.max(1)  # noqa: E731
    indices = ((4096,), "<50304")
    loss = _of(
        _entropy_both,
        lambda x, i: _torch_grad(lambda v: _tf().cross_entropy(v, i.long()), x),
        lambda x, i: _jgrad(_jax_entropy, x, i),
        (4096, 50304),
        2,
        others=(indices,),
    )
    square = (4096, 4096)
    mixed = _of(
        lambda x, w: ((x @ w).softmax(-1) + x.sum(0)).tanh(),
        lambda x, w: ((x @ w).softmax(-1) + x.sum(0)).tanh(),
        lambda x, w: _jnp().tanh(_jnn().softmax(x @ w, -1) + x.sum(0)),
        square,
        6,
        others=((square, "float32"),),
    )
    return {
        "product, softmax, columns, tanh": mixed,
        "sum": _alike(lambda x: x.sum(), LONG, 1),
        "row sum": _alike(lambda x: x.sum(1), ROWS, 1),
        "column sum": _alike(lambda x: x.sum(0), ROWS, 1),
        "row maximum": _of(largest, lambda x: x.amax(1), lambda x: x.max(1), ROWS, 1),
        "column maximum": _of(lambda x: x.max(0), lambda x: x.amax(0), lambda x: x.max(0), ROWS, 1),
        "row argmax": _alike(lambda x: x.argmax(1), ROWS, 1),
        "column argmax": _alike(lambda x: x.argmax(0), ROWS, 1),
        "softmax": _softmaxes(ROWS),
        "softmax, bfloat16": _softmaxes(ROWS, "bfloat16"),
        "softmax of 1000": _softmaxes((65536, 1000)),
        "softmax of 16384": _softmaxes((4096, 16384)),
        "softmax of 50304": _softmaxes((1024, 50304)),
        "cross entropy of 50304, both ways": loss,
        "layer norm": _of(*norm, ROWS, 2),
        "layer norm, bfloat16": _of(*norm, ROWS, 2, dtype="bfloat16"),
        "layer norm, both ways": both,
    }


def _indexed() -> dict[str, Work]:
    taken = lambda x, i: x[i]  # noqa: E731
    scalars, updates = ((1 << 24,), "<1048576"), (1 << 24,)
    spread = _of(
        _spread_sum,
        lambda g, i: _torch_zeros(1 << 20).index_add_(0, i, g),
        lambda g, i: _jnp().zeros(1 << 20).at[i].add(g),
        updates,
        2,
        others=(scalars,),
    )
    picture = (64, 64, 112, 112)
    return {
        "gather": _of(taken, taken, taken, (16384, 1024), 8, others=(((65536,), "<16384"),)),
        "embedding": _of(
            taken,
            taken,
            taken,
            WORDS,
            1,
            others=(((65536,), "<50304"),),
            gigabytes=(65536 * 768 * 8) / 1e9,
        ),
        "embedding gradient": _of(
            _embedding_gradient,
            lambda g, i: _torch_zeros(*WORDS).index_add_(0, i, g),
            lambda g, i: _jnp().zeros(WORDS).at[i].add(g),
            (65536, 768),
            1,
            others=(((65536,), "<50304"),),
            gigabytes=(65536 + 50304) * 768 * 4 / 1e9,
        ),
        "scatter-add": spread,
        "scatter-add, any order": spread._replace(order="any"),
        "scatter-add, one order": spread._replace(jax=None, order="one"),
        "pooling": _of(
            _pooled,
            lambda x: _tf().max_pool2d(x, 3, 2, 1),
            _jax_pooled,
            picture,
            1.25,
        ),
        "pooling, both ways": _of(
            lambda x: (_pooled(x), grad(lambda v: _pooled(v).sum())(x)),
            lambda x: _torch_grad(lambda v: _tf().max_pool2d(v, 3, 2, 1).sum(), x),
            lambda x: _jgrad(lambda v: _jax_pooled(v).sum(), x),
            picture,
            2.25,
        ),
    }


def _ordered() -> dict[str, Work]:
    def running(shape: tuple[int, ...], axis: int) -> Work:
        return _of(
            lambda x: x.cumsum(axis),
            lambda x: x.cumsum(axis),
            lambda x: _jnp().cumsum(x, axis),
            shape,
            2,
        )

    def sort(shape: tuple[int, ...]) -> Work:
        return _of(
            lambda x: x.sort(-1)[0],
            lambda x: x.sort(-1)[0],
            lambda x: _jnp().sort(x, -1),
            shape,
            2,
        )

    return {
        "cumulative sum": running((16384, 1024), 1),
        "cumulative sum of one row": running((1 << 26,), 0),
        "cumulative sum of columns": running((16384, 1024), 0),
        "sort of 256": sort((16384, 256)),
        "sort of 4096": sort((4096, 4096)),
        "sort of 2^20": sort((64, 1 << 20)),
        "sort of 2^24": sort((1 << 24,)),
        "argsort of 2^24": _of(
            lambda x: x.argsort(-1),
            lambda x: x.argsort(-1),
            lambda x: _jnp().argsort(x, -1),
            (1 << 24,),
            2,
        ),
        "top 8 of 4096": _of(
            lambda x: x.topk(8, -1),
            lambda x: x.topk(8, -1),
            lambda x: __import__("jax").lax.top_k(x, 8),
            ROWS,
            1,
        ),
    }


WORKS = _pointwise() | _reductions() | _indexed() | _ordered()
