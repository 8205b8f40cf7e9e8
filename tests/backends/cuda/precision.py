"""Mixed precision on two devices: autocast, scaled losses, models of 16 bits, 8-bit floats.

Each function computes something on the default device, by name; both devices are to agree: bit for
bit where no library multiplies, within roundings of the low dtype where one does.
"""

import numpy as np

from adjoint import Tensor, autocast, grad, jit, nn
from tests.backends.cuda.agreement import equal

LOW = {"float16": 2.0**-10, "bfloat16": 2.0**-7}
EIGHT = ("float8_e4m3fn", "float8_e5m2")
FIRST_SCALE = 2.0**24  # far too large for float16
SLACK = 8  # roundings of the low dtype, relative to the largest number of a result


def _data(rows=64, columns=16):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, columns)).astype(np.float32)
    return Tensor(x), Tensor((x[:, 0] > x[:, 1]).astype(np.int32))


def _model(columns=16):
    Tensor.manual_seed(0)
    layers = (nn.Linear(columns, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 2))
    return nn.Sequential(*layers)


def autocast_step(dtype):
    """Loss and gradients inside autocast: parameters and gradients stay float32."""
    model, (x, y) = _model(), _data()
    with autocast(dtype):
        logits = model(x)
        loss = nn.functional.cross_entropy(logits, y)
    loss.backward()
    assert (logits.dtype.name, loss.dtype.name) == (dtype, "float32")
    assert {p.grad.dtype.name for p in model.parameters()} == {"float32"}
    return [loss, *(p.grad for p in model.parameters())]


def scaled_steps(dtype):
    """The first loss of steps with a GradScaler whose first scale is far too large, jitted."""
    losses, scale = _scaled(dtype)
    assert losses[-1].item() < losses[0].item()
    assert dtype != "float16" or scale < FIRST_SCALE  # the first steps overflowed
    return [losses[0]]


def last_scale():
    """Where a scale ends in float16. Kernels have the CPU's bits and so its scale; one that a GPU's
    library multiplied for may be larger: a gradient that it writes as float32 is not rounded to
    float16 on the way, and does not overflow there."""
    return _scaled("float16")[1]


def _scaled(dtype):
    model, (x, y) = _model(), _data()
    optimizer = nn.optim.AdamW(model.parameters(), lr=3e-3)
    scaler = nn.optim.GradScaler(init_scale=FIRST_SCALE)

    @jit
    def step(x, y):
        optimizer.zero_grad()
        with autocast(dtype):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer, loss)
        scaler.update()
        return loss

    return [step(x, y) for _ in range(12)], scaler.get_scale()


def whole_model(dtype):
    """A model whose parameters are of 16 bits, with its gradients."""
    model, (x, y) = _model().to(dtype=dtype), _data()
    loss = nn.functional.cross_entropy(model(x.cast(dtype)).float(), y)
    loss.backward()
    assert {p.grad.dtype.name for p in model.parameters()} == {dtype}
    return [loss, *(p.grad.float() for p in model.parameters())]


def kept_in_eight_bits(dtype):
    """Numbers of every size in 8 bits and back, moved as such, and the gradient through a cast."""
    rng = np.random.default_rng(1)
    x = Tensor((rng.standard_normal(512) * np.exp2(rng.integers(-12, 12, 512))).astype(np.float32))
    kept = x.cast(dtype)
    moved = kept.reshape(16, 32).T[3:, ::2].flip(0)
    through = grad(lambda v: (v.cast(dtype).float() * v).sum())(x)
    from_half = x.cast("float16").cast(dtype).cast("bfloat16").float()
    return [kept.float(), moved.float(), through, from_half, kept.bitcast("uint8")]


CASES = {
    f"{fn.__name__.replace('_', ' ')} {d}": (fn, d)
    for fn in (autocast_step, scaled_steps, whole_model)
    for d in LOW
}
CASES |= {
    f"{kept_in_eight_bits.__name__.replace('_', ' ')} {d}": (kept_in_eight_bits, d) for d in EIGHT
}


def computed(fn, dtype):
    """The arrays of a case on the default device."""
    return [np.asarray(t.numpy()) for t in fn(dtype)]


def close(wanted, found, dtype):
    """Whether two lists of arrays differ by few roundings of a dtype; bits, where it is of 8, but
    for those of NaN."""
    for one, other in zip(wanted, found, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        if dtype in EIGHT:
            assert equal(one, other)
        else:
            size = max(float(np.abs(one).max(initial=0)), 1e-6)
            np.testing.assert_allclose(other, one, 0, SLACK * LOW[dtype] * size)
