"""The programs whose stages are kept: one for every way in which kernels are made.

Sizes are small but not even: a row has a whole number of vectors and a rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import Tensor, grad, scan, while_loop


@dataclass(frozen=True)
class Program:
    """A function, and the tensors that it is compiled for."""

    fn: Callable[..., Any]
    args: tuple[Tensor, ...]
    has_gradient: bool = True


def _floats(*shape: int) -> Tensor:
    return Tensor(np.zeros(shape, np.float32), device="CPU")


def _indices(*shape: int) -> Tensor:
    return Tensor(np.zeros(shape, np.int32), device="CPU")


def elementwise_chain(x, y):
    return ((x * 2 + y).relu() - y.abs()).sqrt()


def views(x):
    return x.T.pad(((1, 1), (0, 0))).flip(0)[::2].reshape(-1) * 3


def narrow_dtypes(x, n):
    return (x.cast("float16") * 3 + (n // 3 % 5)).cast("int8")


def long_sum(x):
    return (x * x).sum()


def column_sum(x):
    return x.sum(0)


def row_softmax(x):
    return x.softmax(1)


def layer_norm(x, weight, bias):
    centred = x - x.mean(1, keepdim=True)
    return centred * ((centred * centred).mean(1, keepdim=True) + 1e-5).rsqrt() * weight + bias


def dense_layer(x, weight, bias):
    return (x @ weight + bias).relu()


def convolution(x, weight):
    return x.conv2d(weight, padding=1)


def gather_and_scatter(table, rows):
    taken = table[rows]
    return table.scatter_add(0, rows.reshape(-1, 1).expand(*taken.shape).cast("int64"), taken)


def sort_rows(x):
    return x.sort(1)


def cumulative_sum(x):
    return x.cumsum(0)


def training_step(x, labels, weight, bias):
    def loss(weight, bias):
        return ((x @ weight + bias).tanh() - labels).square().mean()

    dw, db = grad(loss, argnums=(0, 1))(weight, bias)
    return weight - 0.1 * dw, bias - 0.1 * db


def newton_steps(x):
    return while_loop(lambda v: (v * v - x).abs().max() > 1e-3, lambda v: (v + x / v) / 2, x + 1)


def decaying_totals(x):
    def step(total, row):
        total = total * 0.9 + row
        return total, total

    return scan(step, x[0] * 0, x)[1]


PROGRAMS = {
    program.fn.__name__: program
    for program in (
        Program(elementwise_chain, (_floats(5, 37), _floats(37))),
        Program(views, (_floats(5, 9),)),
        Program(narrow_dtypes, (_floats(37), _indices(37)), has_gradient=False),
        Program(long_sum, (_floats(5000),)),
        Program(column_sum, (_floats(300, 37),)),
        Program(row_softmax, (_floats(6, 300),)),
        Program(layer_norm, (_floats(6, 300), _floats(300), _floats(300))),
        Program(dense_layer, (_floats(64, 48), _floats(48, 80), _floats(80))),
        Program(convolution, (_floats(1, 3, 9, 9), _floats(4, 3, 3, 3))),
        Program(gather_and_scatter, (_floats(10, 4), _indices(6))),
        Program(sort_rows, (_floats(4, 20),)),
        Program(cumulative_sum, (_floats(100, 5),)),
        Program(training_step, (_floats(8, 3), _floats(8, 2), _floats(3, 2), _floats(2))),
        Program(newton_steps, (_floats(20),), has_gradient=False),
        Program(decaying_totals, (_floats(6, 5),)),
    )
}
