"""Programs that are larger than the records' samples: every strategy of the GPU, at odd sizes.

Each is a function of float32 tensors; both devices compute it, and its bits are compared.
"""

import numpy as np

from adjoint import Tensor, cond, grad, jit, scan, while_loop

LENGTHS = (31, 32, 33, 100, 255, 256, 257, 640, 1000, 1024, 4095, 4096, 4097, 12345, 20000, 65537)
ROWS = {
    "sum": lambda x: x.sum(-1),
    "mean and variance": lambda x: [x.mean(-1), x.var(-1)],
    "softmax": lambda x: x.softmax(-1),
    "log softmax": lambda x: x.log_softmax(-1),
    "layer norm": lambda x: x.layernorm(-1),
    "maximum": lambda x: [x.max(-1), x.argmax(-1), (x > 1).any(-1)],
    "product": lambda x: (1 + x / 100).prod(-1),
    "whole numbers": lambda x: (x * 100).cast("int32").sum(-1),
    "float64": lambda x: x.cast("float64").softmax(-1),
    "bfloat16": lambda x: x.cast("bfloat16").softmax(-1).cast("float32"),
    "halves of rows": lambda x: x[:, ::2].sum(-1) + x[:, 1:].max(-1),
    "turned": lambda x: x.flip(1).softmax(-1),
    "gradient of softmax": lambda x: grad(lambda v: (v.softmax(-1) * v.sin()).sum())(x),
    "gradient of layer norm": lambda x: grad(lambda v: (v.layernorm(-1) * v).sum())(x),
    "quotients": lambda x: [(y := x.relu() * (x * 40).exp()) / y.sum(-1, keepdim=True), _far(x)],
    "loss": lambda x: x.log_softmax(-1)[:, 3].mean(),
}
WHOLE = {
    "columns": (lambda x: [x.sum(0), x.var(0), x.max(0)], [(4099, 33), (300, 1000), (20, 4096)]),
    "both axes": (lambda x: [x.sum(), x.max(), x.mean((0, 2))], [(33, 65, 129)]),
    "transposes": (
        lambda x: [x.T + 1, (x.T * x.sum(1)).T, x.reshape(-1).reshape(x.shape[1], -1).T + 0],
        [(64, 64), (100, 33), (129, 257), (512, 768)],
    ),
    "quotients lane by lane": (
        lambda x: [(x * (x * 9).exp()) / (y := x.flip(0) * (x.flip(1) * 9).exp()), x.relu() / y],
        [(512, 1024), (3, 7)],
    ),
    "quotients at the ends": (
        lambda x: [(x * (x * 60).exp()) / (x.flip(0) * (x * 50).exp()), -x.relu() / x.flip(1)],
        [(128, 256)],
    ),
    "quotients of one number": (lambda x: [2 / (x.abs() + 1), -1 / x, 1e30 / x], [(256, 1024)]),
    "three axes": (lambda x: [x.permute(2, 0, 1) + 0, x.permute(0, 2, 1) * 2], [(7, 65, 130)]),
    "scans": (
        lambda x: [x.cumsum(0), x.cumsum(1), x.abs().cummax(1)[0], x.flip(1).cumsum(1)],
        [(65, 1000), (1, 16385), (2, 65536), (3, 4097), (20000, 3), (300, 64)],
    ),
    "scans of whole numbers": (
        lambda x: [
            (x * 100).cast("int32").cumsum(0),
            (x > 0).cumsum(1),
            (x * 9).cast("int8").cummin(0)[0],
        ],
        [(65, 1000), (1, 20001), (5000, 7)],
    ),
    "scans of float64": (lambda x: [x.cast("float64").cumsum(1), x.cumprod(0)], [(2, 70001)]),
    "long rows": (
        lambda x: [
            x.softmax(-1),
            x.layernorm(-1),
            x.cast("bfloat16").log_softmax(-1).cast("float32"),
        ],
        [(257, 32769), (260, 50304)],
    ),
    "powers of two over": (
        lambda x: [
            2 / (y := (x * (x * 60).exp())),
            -1 / y,
            0.25 / y.round(),
            1 / (y * 0),
            x.tanh(),
        ],
        [(256, 512)],
    ),
    "long computations": (
        lambda x: [
            x.tanh() * (x * 1.5 + 0.25).relu(),
            x.gelu(),
            (x.cast("bfloat16") * 3).exp().cast("float32"),
        ],
        [(1024, 1024), (1 << 21,)],
    ),
    "rows by index": (lambda x: [x[(x[:, 0] * 900).cast("int32") % 64]], [(65536, 32)]),
    "sorts": (lambda x: [*x.sort(1), *x.sort(0), x.argsort(1)], [(33, 300), (3, 5000)]),
    "sorts of short rows": (
        lambda x: [
            *_rough(x).sort(1),
            _rough(x).argsort(1, descending=True),
            *(
                _rough(x).cast(d).sort(1)[0].cast("float64")
                for d in ("float16", "float64", "uint8")
            ),
            x.bitcast("uint32").sort(0)[0].cast("float64"),
        ],
        [(40, 256), (33, 65), (100, 500)],
    ),
    "rows of bfloat16": (
        lambda x: [
            (y := x.cast("bfloat16")).softmax(-1),
            (y * 1.5 + 0.25).relu() * y.tanh(),
            y.layernorm(-1),
            y * 1e38 * y * 4,
            y * 1e-38 * y * 0.01,
        ],
        [(40, 256), (33, 65), (3, 5001)],
    ),
    "long sorts": (
        lambda x: [*_rough(x).sort(1), _rough(x).argsort(1, descending=True), x.sort(0)[0]],
        [(3, 5003), (600, 2), (1, 70001), (2, 65536)],
    ),
    "sorts of many rows": (
        lambda x: [
            *_rough(x).sort(1),
            x.argsort(1, descending=True),
            (x * 99).cast("int8").sort(1)[0],
        ],
        [(65, 700), (64, 4096), (130, 2049)],
    ),
    "long sorts of other dtypes": (
        lambda x: [
            y.sort(1)[0].cast("float64")
            for y in map((x * 100).cast, ("int32", "int8", "float64", "bfloat16", "bool"))
        ],
        [(3, 2049)],
    ),
    "sums by index": (
        lambda x: [
            x[:50].index_add(0, (i := _spots(x, 50)), x),
            Tensor.zeros(50, x.shape[1], device=x.device).index_add(0, i, x),
            x[:50].index_add(0, i * 0 + 7, x),
            x[:, :50].index_add(1, _spots(x.T, 50), x),
            x[:50].cast("bfloat16").index_add(0, i, x.cast("bfloat16")).cast("float32"),
        ],
        [(500, 70), (4097, 64)],
    ),
    "scatters": (
        lambda x: (
            [
                x.reshape(-1)[:1000].scatter_reduce(
                    0, (i := _spots(x.reshape(-1), 1000)), x.reshape(-1), how
                )
                for how in ("sum", "prod", "amax", "amin")
            ]
            + [x.reshape(-1)[:1000].scatter(0, i, x.reshape(-1))]
        ),
        [(70, 100), (300, 250)],
    ),
    "topk": (lambda x: [*x.topk(5, 1)], [(33, 300)]),
    "pooling": (lambda x: [x.reshape(1, 4, 50, -1).max_pool2d(3)], [(20, 500)]),
    "pooling, both ways": (
        lambda x: [
            (y := x.reshape(2, 3, 40, -1)).max_pool2d(3, 2, padding=1),
            grad(lambda v: (v.max_pool2d(3, 2, padding=1) * v[..., ::2, ::2]).sum())(y),
            grad(lambda v: v.avg_pool2d(3).sum())(y),
        ],
        [(20, 480), (10, 960)],
    ),
    "axes between": (
        lambda x: [x.sum(1), x.max(1), x.mean(1), x.argmin(1), (x > 0).all(1)],
        [(8, 3, 500), (5, 37, 33), (3, 20, 2), (40, 5, 4096)],
    ),
    "views": (lambda x: [x.T.flip(0)[1:, ::2].reshape(-1), x.pad(((1, 2), (3, 0)))], [(60, 80)]),
    "empty": (lambda x: [x[:0].sum(0), x[:0] + 1, x[:, :0].sum(1)], [(40, 33)]),
    "0-d": (lambda x: [x[0, 0].exp(), x.max() * 2], [(2, 2)]),
    "an output twice": (lambda x: [(y := x + 1), y, y.reshape(-1), x], [(2, 3)]),
    "a loop": (
        lambda x: [*scan(lambda c, v: (c * 0.5 + v.sin(), c.sum()), x[0] * 0, x)],
        [(6, 40)],
    ),
    "a loop backwards, in a gradient": (
        lambda x: [grad(lambda v: scan(lambda c, r: ((c * r).tanh(), c), v[0], v)[0].sum())(x)],
        [(9, 33)],
    ),
    "a loop that swaps": (
        lambda x: [*scan(lambda c, r: ((c[1], c[0] + r), c[1]), (x[0], x[1]), x)[0]],
        [(5, 7)],
    ),
    "a loop in a loop": (
        lambda x: [scan(lambda c, r: (scan(lambda d, e: (d + e, d), c, x)[0] * r, r), x[0], x)[0]],
        [(4, 6)],
    ),
    "a loop with products": (
        lambda x: [scan(lambda c, r: ((c @ x).tanh() + r, c.sum()), x * 0, x)[1]],
        [(5, 5)],
    ),
    "a while-loop": (
        lambda x: [while_loop(lambda v: v.sum() < 50, lambda v: v.abs() + 1, x)],
        [(3, 2)],
    ),
    "a branch": (lambda x: [cond(x.sum() > 0, lambda v: v * 2, lambda v: -v, x)], [(3, 2)]),
    "gathers": (
        lambda x: [x[(x[:, 0].abs() * 10).cast("int32").clip(0, 9)], x[:, _places(x)]],
        [(100, 64)],
    ),
    "under jit": (lambda x: [jit(lambda v: (v * 3).exp().sum(0))(x)], [(100, 300)]),
    "random": (lambda x: [_drawn(x)], [(100, 300)]),
}


def _far(x):
    """Quotients at the ends of the range: subnormal, infinite, of zeros of both signs."""
    y = x * (x * 30).exp()
    return (y.round() * -1e-20) / (y.abs().max(-1, keepdim=True) * 1e10)


def _places(x):
    return Tensor(np.arange(40, dtype=np.int32) % 7, device=x.device)


def _rough(x):
    """Many equal numbers, zeros of both signs, NaN and infinities among them."""
    y = (x * 4).round() / 4
    return (y > 2).where(y / 0, (y < -2).where(y * float("nan"), y))


def _spots(x, count):
    """A place for each row."""
    rows = x if len(x.shape) == 1 else x[:, 0]
    return (rows * 1000).cast("int32") % count


def _drawn(x):
    Tensor.manual_seed(3)
    return Tensor.randn(*x.shape, device=x.device) + x


def programs():
    """Names with a function and the shape of its operand."""
    for length in LENGTHS:
        rows = max(1, min(70, 60000 // length))
        for name, fn in ROWS.items():
            yield f"{name} {rows}x{length}", fn, (rows, length)
    for name, (fn, shapes) in WHOLE.items():
        for shape in shapes:
            yield f"{name} {'x'.join(map(str, shape))}", fn, shape


def results(fn, shape, device):
    """What a program gives on a device."""
    rng = np.random.default_rng(len(shape) + sum(shape))
    x = Tensor(rng.standard_normal(shape).astype(np.float32), device=device)
    found = fn(x)
    tensors = found if isinstance(found, (list, tuple)) else [found]
    return [t.numpy() for t in tensors]
