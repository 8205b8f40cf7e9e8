"""Sizes that vary: the values are those of plain sizes, and the code is compiled once for all."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adjoint import Tensor, Variable, counters, grad, vmap

# Products over up to 8 are loops, those over more tiles (docs/edges.md).
FORMS = {"attention": 2, "causal attention": 2}
VALUES = (2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64)
Function = Callable[..., Any]
Case = tuple[Function, list[tuple[int, ...]], list[int | None]]


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (q @ k.transpose(-1, -2) * 0.3).softmax(-1) @ v


def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = q @ k.transpose(-1, -2)
    mask = Tensor.ones(*scores.shape[-2:]).tril() > 0
    return mask.where(scores, -float("inf")).softmax(-1) @ v


def standard(x: Tensor) -> Tensor:
    return (x - x.mean((0, 2), keepdim=True)) / x.std((0, 2), keepdim=True)


# What is computed, the shapes of the operands at the largest size, and the axis that varies.
CASES: dict[str, Case] = {
    "pointwise": (lambda x: (x * 2 + 1).exp(), [(64, 8)], [0]),
    "pointwise along rows": (lambda x: (x * 2 + 1).exp(), [(8, 64)], [1]),
    "sum down": (lambda x: x.sum(0), [(64, 8)], [0]),
    "sum along": (lambda x: x.sum(1), [(8, 64)], [1]),
    "sum of all": (lambda x: x.sum(), [(64, 8)], [0]),
    "product": (lambda x: x.prod(1), [(8, 64)], [1]),
    "mean": (lambda x: x.mean(1), [(8, 64)], [1]),
    "variance": (lambda x: x.var(1), [(8, 64)], [1]),
    "maximum": (lambda x: x.max(0), [(64, 8)], [0]),
    "softmax of rows": (lambda x: x.softmax(-1), [(64, 8)], [0]),
    "softmax along": (lambda x: x.softmax(-1), [(8, 64)], [1]),
    "layer norm of rows": (lambda x: x.layernorm(-1), [(64, 8)], [0]),
    "layer norm along": (lambda x: x.layernorm(-1), [(8, 64)], [1]),
    "batch norm": (standard, [(64, 3, 7)], [0]),
    "argmax down": (lambda x: x.argmax(0), [(64, 8)], [0]),
    "argmax along": (lambda x: x.argmax(1), [(8, 64)], [1]),
    "cumsum down": (lambda x: x.cumsum(0), [(64, 8)], [0]),
    "cumsum along": (lambda x: x.cumsum(1), [(8, 64)], [1]),
    "sort along": (lambda x: x.sort(1)[0], [(8, 64)], [1]),
    "sort down": (lambda x: x.sort(0), [(64, 8)], [0]),
    "long sort": (lambda x: x.sort(0)[0], [(300, 4)], [0]),
    "matrix product": (lambda x, w: x @ w, [(64, 32), (32, 16)], [0, None]),
    "product and more": (lambda x, w: (x @ w).relu().sum(1), [(64, 32), (32, 16)], [0, None]),
    "attention": (attention, [(2, 64, 16)] * 3, [1, 1, 1]),
    "causal attention": (causal, [(2, 64, 16)] * 3, [1, 1, 1]),
    "convolution of a batch": (
        lambda x, w: x.conv2d(w, padding=1),
        [(64, 3, 8, 8), (4, 3, 3, 3)],
        [0, None],
    ),
    "convolution of lines": (
        lambda x, w: x.conv2d(w, padding=1),
        [(2, 3, 64, 8), (4, 3, 3, 3)],
        [2, None],
    ),
    "joined": (lambda x: x.cat(x * 2, dim=0), [(64, 8)], [0]),
    "transposed": (lambda x: x.transpose(0, 1).contiguous(), [(64, 24)], [0]),
    "flattened": (lambda x: x.reshape(-1) * 2, [(8, 64)], [1]),
    "reversed": (lambda x: x.flip(0) + x, [(64, 8)], [0]),
    "padded": (lambda x: x.pad(((1, 2), (0, 0))), [(64, 8)], [0]),
    "gathered": (lambda x: x[Tensor([0, -1, 0])], [(64, 8)], [0]),
    "triangle": (lambda x: (x @ x.transpose(0, 1)).tril(), [(64, 16)], [0]),
    "gradient of a mean": (grad(lambda x: (x * x).mean()), [(64, 8)], [0]),
    "gradient of softmax": (grad(lambda x: (x.softmax(-1) ** 2).sum()), [(8, 64)], [1]),
    "vmap": (vmap(lambda x: x.softmax(0).sum()), [(64, 8)], [0]),
    "vmap over others": (vmap(lambda x: x.cumsum(0).max()), [(8, 64)], [1]),
}


def listed(result: Any) -> list[np.ndarray[Any, Any]]:
    return [part.numpy() for part in (result if isinstance(result, (tuple, list)) else (result,))]


def operands(case: Case, value: int) -> list[np.ndarray[Any, Any]]:
    """The first `value` elements along the axes that vary."""
    _, shapes, axes = case
    random = np.random.default_rng(7)
    whole = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
    cut = [
        x if a is None else x[(slice(None),) * a + (slice(value),)]
        for x, a in zip(whole, axes, strict=True)
    ]
    return [np.ascontiguousarray(x) for x in cut]


def bound(case: Case, variable: Variable, value: int, device: str = "CPU") -> list[Tensor]:
    sizes = [
        [variable.bind(n) if d == axis else n for d, n in enumerate(x.shape)]
        for x, axis in zip(operands(case, value), case[2], strict=True)
    ]
    plain = [Tensor(x, device=device) for x in operands(case, value)]
    return [
        x if a is None else x.reshape(*n) for x, n, a in zip(plain, sizes, case[2], strict=True)
    ]


def most(case: Case) -> int:
    return max(
        shape[axis] for shape, axis in zip(case[1], case[2], strict=True) if axis is not None
    )


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_plain_sizes_and_one_source_serves_all(name: str) -> None:
    case = CASES[name]
    variable = Variable("n", 1, most(case))
    values = (*VALUES, 100, 300) if most(case) > 64 else VALUES
    found, sources = {}, []
    for value in values:
        with counters() as counted:
            found[value] = listed(case[0](*bound(case, variable, value)))
        sources.append(counted.sources)
    assert sum(sources[1:]) <= FORMS.get(name, 0), dict(zip(values, sources, strict=True))
    for value in (1, *values):
        got = found.get(value) or listed(case[0](*bound(case, variable, value)))
        wanted = listed(case[0](*map(Tensor, operands(case, value))))
        assert [x.shape for x in got] == [x.shape for x in wanted]
        assert [x.tobytes() for x in got] == [x.tobytes() for x in wanted], value


@pytest.mark.parametrize("name", ["sum down", "mean", "variance", "batch norm", "cumsum along"])
def test_values_are_those_of_the_reference(name: str) -> None:
    case, variable = CASES[name], Variable("n", 1, 64)
    for value in (1, 5, 16, 64):
        here = listed(case[0](*bound(case, variable, value)))
        there = listed(case[0](*bound(case, variable, value, "REF")))
        assert [x.tobytes() for x in here] == [x.tobytes() for x in there]
