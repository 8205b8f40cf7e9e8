"""Products with what a library does to their elements, each beside NumPy in float64.

A case is a function of tensors, the same for arrays, the shapes of the operands, the dtypes it is
for, and the calls of the library that it becomes. The fake library and a GPU compute them alike.
"""

from typing import Any, NamedTuple

import numpy as np

from adjoint import Tensor, grad
from tests.support.fake_cublaslt import gelu, gelu_gradient

NARROW = ("bfloat16", "float16")
ALL = (*NARROW, "float32", "float64")
EPS = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24, "float64": 2.0**-53}


class Case(NamedTuple):
    ours: Any
    plain: Any
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    calls: tuple[str, ...]  # what is behind the sizes of each call
    result: str = ""  # the dtype, if it is another
    kernels: int = 0  # beside the library's calls


MLP = ((48, 24), (24, 40), (40,), (40, 16), (48, 16))


def _mlp(x, w, b, v, g):
    loss = lambda x, w, b, v: (((x @ w + b).gelu() @ v) * g).sum()  # noqa: E731
    return grad(loss, (0, 1, 2, 3))(x, w, b, v)


def _plain_mlp(x, w, b, v, g):
    z = x @ w + b
    dz = (g @ v.T) * gelu_gradient(z)
    return dz @ w.T, x.T @ dz, dz.sum(0), gelu(z).T @ g


def _linear(x, w):
    return (x.bfloat16() @ w.bfloat16().T).float()


LINEAR = ((6, 8, 24), (24, 40), (40,))
CASES = {
    "a product": Case(lambda a, b: a @ b, np.matmul, ((17, 24), (24, 40)), ALL, ("",)),
    "one row": Case(lambda a, b: a @ b, np.matmul, ((1, 24), (24, 40)), ALL, ("",)),
    "one column": Case(lambda a, b: a @ b, np.matmul, ((32, 24), (24, 1)), ALL, (), kernels=1),
    "odd sizes": Case(lambda a, b: a @ b, np.matmul, ((3, 17), (17, 5)), ALL, ("",)),
    "a batch": Case(lambda a, b: a @ b, np.matmul, ((3, 17, 24), (3, 24, 40)), ALL, ("",)),
    "a batch with one weight": Case(
        lambda a, b: a @ b, np.matmul, ((3, 17, 24), (24, 40)), ALL, ("",)
    ),
    "one matrix for a batch": Case(
        lambda a, b: a @ b, np.matmul, ((17, 24), (3, 24, 40)), ALL, ("",)
    ),
    "turned in a batch": Case(
        lambda a, b: a.transpose(1, 2) @ b.transpose(1, 2),
        lambda a, b: a.transpose(0, 2, 1) @ b.transpose(0, 2, 1),
        ((3, 24, 16), (3, 40, 24)),
        ALL,
        ("",),
    ),
    "slices": Case(
        lambda a, b: a[:, 8:32] @ b[16:40],
        lambda a, b: a[:, 8:32] @ b[16:40],
        ((16, 40), (48, 40)),
        ALL,
        ("",),
    ),
    "a turned result": Case(
        lambda a, b: (a @ b).T, lambda a, b: (a @ b).T, ((17, 24), (24, 40)), ALL, ("",)
    ),
    "a factor": Case(
        lambda a, b: (a @ b) * 0.125,
        lambda a, b: (a @ b) * 0.125,
        ((17, 24), (24, 40)),
        ALL,
        (" * 0.125",),
    ),
    "a bias": Case(lambda x, w, b: x @ w + b, lambda x, w, b: x @ w + b, LINEAR, ALL, (" + bias",)),
    "a bias and relu": Case(
        lambda x, w, b: (x @ w + b).relu(),
        lambda x, w, b: np.maximum(x @ w + b, 0),
        LINEAR,
        ALL,
        (" + bias + relu",),
    ),
    "a bias and gelu": Case(
        lambda x, w, b: (x @ w + b).gelu(),
        lambda x, w, b: gelu(x @ w + b),
        LINEAR,
        NARROW,
        (" + bias + gelu",),
    ),
    "gelu in a batch": Case(
        lambda a, b, c: [(y := a @ b + c).gelu(), y * 2],
        lambda a, b, c: [gelu(a @ b + c), (a @ b + c) * 2],
        ((3, 17, 24), (3, 24, 40), (40,)),
        NARROW,
        (" + bias + gelu + kept",),
        kernels=1,
    ),
    "gelu": Case(
        lambda x, w: (x @ w).gelu(), lambda x, w: gelu(x @ w), LINEAR[:2], NARROW, (" + gelu",)
    ),
    "gelu without tanh": Case(
        lambda x, w, b: (x @ w + b).gelu("none"), None, LINEAR, NARROW, (" + bias",), kernels=1
    ),
    "what was added before": Case(
        lambda x, w, c: c + x @ w,
        lambda x, w, c: c + x @ w,
        ((17, 24), (24, 40), (17, 40)),
        ALL,
        (" + matrix",),
    ),
    "a layer beside its operand": Case(
        lambda x, w, b: x + (x @ w + b),
        lambda x, w, b: x + (x @ w + b),
        ((3, 16, 24), (24, 24), (24,)),
        ALL,
        (" + matrix + bias",),
    ),
    "a sum of layers": Case(
        lambda x, a, b, y, c, d: (x @ a + b) + (y @ c + d),
        lambda x, a, b, y, c, d: (x @ a + b) + (y @ c + d),
        ((17, 24), (24, 40), (40,), (17, 16), (16, 40), (40,)),
        ALL,
        (" + bias", " + matrix + bias"),
    ),
    "a sum of products": Case(
        lambda x, a, y, b, z, c: x @ a + y @ b + z @ c,
        lambda x, a, y, b, z, c: x @ a + y @ b + z @ c,
        ((17, 24), (24, 40), (17, 16), (16, 40), (17, 48), (48, 40)),
        ALL,
        ("", " + matrix", " + matrix"),
    ),
    "float32 of narrow products": Case(
        lambda x, w: (x @ w).float(), np.matmul, ((17, 24), (24, 40)), NARROW, ("",), "float32"
    ),
    "float32 with a bias": Case(
        lambda x, w, b: (x @ w + b).float(),
        lambda x, w, b: x @ w + b,
        LINEAR,
        NARROW,
        (" + bias",),
        "float32",
        1,
    ),
    "a network's gradient": Case(
        _mlp,
        _plain_mlp,
        MLP,
        NARROW,
        (" + bias + gelu + kept", "", " + gelu gradient", "", ""),
        kernels=1,
    ),
}


def operands(case, dtype, device):
    """Tensors, and the same numbers in float64."""
    rng = np.random.default_rng(len(case.shapes) + sum(case.shapes[0]))
    drawn = [Tensor(rng.standard_normal(s).astype(np.float32), device=device) for s in case.shapes]
    given = [(x + 0).cast(dtype).realize() for x in drawn]
    return given, [x.numpy().astype(np.float64) for x in given]


def listed(found):
    return list(found) if isinstance(found, (list, tuple)) else [found]


def far(case, dtype, device):
    """How far the results of a case are from float64's, in roundings of their dtype."""
    given, arrays = operands(case, dtype, device)
    found, worst = listed(case.ours(*given)), 0.0
    for ours, plain in zip(found, listed(case.plain(*arrays)), strict=True):
        assert ours.dtype.name == (case.result or dtype)
        assert ours.shape == plain.shape
        step = EPS[dtype if len(found) > 1 else case.result or dtype]
        off = np.abs(ours.numpy().astype(np.float64) - plain).max(initial=0)
        worst = max(worst, off / step / np.abs(plain).max(initial=1e-30))
    return worst
