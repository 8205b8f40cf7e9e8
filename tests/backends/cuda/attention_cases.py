"""Attention and its gradients on a GPU against float64 on the CPU: sizes, masks and layouts."""

import numpy as np

from adjoint import Tensor, jit, value_and_grad

TOLERANCE = {"bfloat16": 1e-2, "float16": 2e-3}  # of norms: weights are rounded to 16 bits
# batch, heads of q, heads of keys, queries, keys, features, causal, dtype
SMALL = [
    (1, 1, 1, 5, 5, 8, False, "bfloat16"),
    (2, 2, 1, 40, 70, 12, True, "float16"),
    (1, 2, 2, 130, 33, 72, True, "bfloat16"),
]
LARGE = [
    *(
        (2, 3, 3, n, n, d, causal, "bfloat16")
        for n in (64, 777)
        for d in (64, 128)
        for causal in (0, 1)
    ),
    *(
        (1, 4, 2, q, k, d, True, "float16")
        for q, k in ((300, 1000), (1000, 300))
        for d in (36, 100)
    ),
    (1, 8, 1, 129, 2049, 128, False, "bfloat16"),
    (3, 2, 2, 1, 511, 64, False, "bfloat16"),
]


def loss(q, k, v, weight, causal):
    """A number that all results of attention are in."""
    o = q.attention(k, v, is_causal=bool(causal), enable_gqa=q.shape[1] != k.shape[1])
    return (o.cast("float32") * weight).sum()


def operands(case, rng):
    """q, k and v as views of what a layer makes, heads inside of rows; and weights of o."""
    batch, heads, few, queries, keys, features, _, dtype = case

    def view(count, *shape):
        made = Tensor(rng.standard_normal(shape).astype(np.float32), device="GPU").cast(dtype)
        return [made.realize()[:, :, i].permute(0, 2, 1, 3) for i in range(count)]

    (q,) = view(1, batch, queries, 1, heads, features)
    k, v = view(2, batch, keys, 2, few, features)
    weight = rng.standard_normal((batch, heads, queries, features)).astype(np.float32)
    return q, k, v, Tensor(weight, device="GPU")


def check(case, rng):
    """Value and gradients are within the tolerance."""
    *given, weight = operands(case, rng)
    causal, dtype = case[6:]
    step = value_and_grad(lambda q, k, v, w: loss(q, k, v, w, causal), argnums=(0, 1, 2))
    value, found = jit(step)(*given, weight)
    wide = [x.to("CPU").cast("float64") for x in (*given, weight)]
    wanted_value, wanted = step(*wide)
    sizes = np.sqrt(weight.size) * TOLERANCE[dtype]
    assert abs(value.item() - wanted_value.item()) < max(sizes, 1e-2)
    for got, want in zip(found, wanted, strict=True):
        want = want.numpy()
        error = np.linalg.norm(got.numpy().astype(np.float64) - want)
        assert error <= TOLERANCE[dtype] * np.linalg.norm(want) + 1e-6
