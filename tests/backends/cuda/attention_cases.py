"""Attention and its gradients on a GPU against float64 in NumPy: sizes, masks and layouts."""

import numpy as np

from adjoint import Tensor, jit, value_and_grad

TOLERANCE = {"bfloat16": 1e-2, "float16": 2e-3}  # of norms: weights are rounded to 16 bits
# batch, heads of q, heads of keys, queries, keys, features, causal or the shape of a mask, dtype
SMALL = [
    (1, 1, 1, 5, 5, 8, False, "bfloat16"),
    (2, 2, 1, 40, 70, 12, True, "float16"),
    (1, 2, 2, 130, 33, 72, True, "bfloat16"),
    (2, 2, 1, 20, 30, 16, (2, 1, 20, 30), "bfloat16"),
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
    (2, 4, 2, 300, 200, 64, (2, 1, 1, 200), "bfloat16"),
    (2, 4, 4, 333, 333, 128, (333, 333), "float16"),
    (2, 4, 4, 100, 555, 80, (2, 4, 100, 1), "bfloat16"),
]


def loss(q, k, v, weight, mask, causal):
    """A number that all results of attention are in."""
    o = q.attention(k, v, mask, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])
    return (o.cast("float32") * weight).sum()


def operands(case, rng):
    """q, k and v as views of what a layer makes, heads inside of rows; weights of o; a mask, of
    which a row is false, or None."""
    batch, heads, few, queries, keys, features, seen, dtype = case

    def view(count, *shape):
        made = Tensor(rng.standard_normal(shape).astype(np.float32), device="GPU").cast(dtype)
        return [made.realize()[:, :, i].permute(0, 2, 1, 3) for i in range(count)]

    (q,) = view(1, batch, queries, 1, heads, features)
    k, v = view(2, batch, keys, 2, few, features)
    weight = rng.standard_normal((batch, heads, queries, features)).astype(np.float32)
    if not isinstance(seen, tuple):
        return q, k, v, Tensor(weight, device="GPU"), None
    mask = rng.random(seen) < 0.6
    mask[..., 0, :] = False
    return q, k, v, Tensor(weight, device="GPU"), Tensor(mask, device="GPU")


def check(case, rng):
    """Value and gradients are within the tolerance."""
    *given, weight, mask = operands(case, rng)
    causal, dtype = not isinstance(case[6], tuple) and bool(case[6]), case[7]
    step = value_and_grad(lambda *x: loss(*x, causal), argnums=(0, 1, 2))
    value, found = jit(step)(*given, weight, mask)
    wide = [x.to("REF").cast("float64") for x in (*given, weight)]
    wanted_value, wanted = step(*wide, None if mask is None else mask.to("REF"))
    sizes = np.sqrt(weight.size) * TOLERANCE[dtype]
    assert abs(value.item() - wanted_value.item()) < max(sizes, 1e-2)
    for got, want in zip(found, wanted, strict=True):
        want = want.numpy()
        error = np.linalg.norm(got.numpy().astype(np.float64) - want)
        assert error <= TOLERANCE[dtype] * np.linalg.norm(want) + 1e-6
