"""Kernels touch no memory but their own: programs in a process whose memory ends before a page that
nobody may touch."""

import pytest

from tests.support.processes import printed

PROGRAM = """
from tests.support.guarded import guard
guard()
import numpy as np
from adjoint import Tensor, grad
rng = np.random.default_rng(0)
def given(*shape, dtype="float32"):
    return Tensor((rng.standard_normal(shape) * 9).astype(dtype), device="CPU")
{0}
print("whole")
"""
PRODUCTS = """
for i, m in enumerate((1, 8, 13, 25, 97)):
    for j, k in enumerate((513, 700, 1025, 4097)):
        for l, n in enumerate((33, 65, 130)):
            if (i + j + l) % 3 in {0}:
                x, w = given(m, k), given(k, n)
                (x @ w).relu().realize()
                (given(k, m).T @ w).realize()
                (x @ given(n, k).T).realize()
"""
WAYS = {
    "products": PRODUCTS.format((0,)),
    "the other products": PRODUCTS.format((1, 2)),
    "products of bytes": """
for m in (8, 13, 25, 97):
    for k in (1025, 4096, 4099):
        for n in (33, 65):
            given(m, k, dtype="int8").dot(given(k, n, dtype="int8"), dtype="int32").realize()
""",
    "convolutions": """
for stride in (1, 2):
    for padding in (0, 1, 2):
        for side in (5, 14, 26):
            x, w = given(3, 9, side, side + 3), given(25, 9, 3, 3)
            f = lambda x, w: (x.conv2d(w, stride=stride, padding=padding) ** 2).sum()
            for g in grad(f, (0, 1))(x, w):
                g.realize()
""",
    "attention": """
for rows in (33, 130):
    q, k, v = (given(1, 2, rows, 24) for _ in range(3))
    for causal in (False, True):
        f = lambda q, k, v: q.attention(k, v, is_causal=causal).sum()
        for g in grad(f, (0, 1, 2))(q, k, v):
            g.realize()
""",
    "rows and columns": """
for shape in ((7, 1001), (1001, 7), (33, 65), (1, 5), (130, 3)):
    x = given(*shape)
    ways = [x.softmax(-1), x.sum(0), x.cumsum(1), x.T + 0, x.sort(1)[0], x[:, ::2] + 1]
    for found in (*ways, x.layernorm(), x.flip(0)):
        found.realize()
""",
}


SLOW = ("the other products",)  # every two sizes meet in those before
NAMES = [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in WAYS]


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_stays_inside_its_memory(name):
    assert printed("-c", PROGRAM.format(WAYS[name])).strip() == "whole"
