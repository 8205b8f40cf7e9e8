"""A page of what users write. Checkers of types must find errors on the marked lines alone.

`assert_type` says what a line must be; `# wrong` is at the end of a line with a mistake.
"""

from __future__ import annotations

from typing import assert_type

import numpy as np

import adjoint
from adjoint import Tensor, Variable, dtypes, grad, jit, nn, no_grad, value_and_grad, vmap


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.second = nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        h: Tensor = self.first(x)
        y: Tensor = self.second(h.relu())
        return y


def training_loop() -> float:
    net, x, y = Net(), Tensor.randn(32, 8), Tensor.randint(32, low=0, high=4)
    optimizer = nn.optim.Adam(net.parameters(), lr=1e-3)
    loss = Tensor(0.0)
    for _ in range(3):
        optimizer.zero_grad()
        loss = net.forward(x).cross_entropy(y, label_smoothing=0.1)
        loss.backward()
        optimizer.step()
    assert_type(loss, Tensor)
    return float(loss.item())


def methods(x: Tensor, image: Tensor, filters: Tensor) -> None:
    assert_type(x + 1, Tensor)
    assert_type(2.0 - x, Tensor)
    assert_type(x @ x.T, Tensor)
    assert_type(x < 0, Tensor)
    assert_type(x == 0, Tensor)
    assert_type(-(x**2), Tensor)
    assert_type(x.softmax(-1), Tensor)
    assert_type(x.softmax(dim=0), Tensor)
    assert_type(x.sum(axis=(0, 1), keepdim=True), Tensor)
    assert_type(x.sum(dim=0, keepdims=True), Tensor)
    assert_type(x.mean(), Tensor)
    assert_type(x.var(axis=0, correction=0), Tensor)
    assert_type(x.reshape(-1, 2).permute(1, 0).flatten(), Tensor)
    assert_type(x.reshape((2, -1)), Tensor)
    assert_type(x.cast(dtypes.float16).half().float(), Tensor)
    assert_type(x.where(x, 0.0), Tensor)
    assert_type(image.conv2d(filters, stride=2, padding="same").max_pool2d(2), Tensor)
    assert_type(image.max_pool2d(2, return_indices=True), tuple[Tensor, Tensor])
    assert_type(x.median(), Tensor)
    assert_type(x.median(1), tuple[Tensor, Tensor])
    assert_type(x.sort(dim=0).values, Tensor)
    assert_type(x.topk(2).indices, Tensor)
    assert_type(x.split(2), tuple[Tensor, ...])
    assert_type(Tensor.stack([x, x]), Tensor)
    assert_type(x.cat(x, dim=1), Tensor)
    assert_type(Tensor.einsum("ij,jk->ik", x, x), Tensor)
    assert_type(x.add_(1).clamp_(0.0, 1.0), Tensor)
    x += 1
    x[0] = 5.0
    assert_type(x[0, ::2, None, ...], Tensor)
    assert_type(x[x > 0], Tensor)
    assert_type(x.shape, tuple[int, ...])
    assert_type(x.device, str | tuple[str, ...])
    assert_type(x.grad, Tensor | None)
    x.grad = None
    assert_type(Tensor.ones(2, device=x.device), Tensor)
    assert_type(list(x), list[Tensor])
    assert_type(Tensor.zeros(2, 3, dtype="int32"), Tensor)
    array: np.ndarray = x.numpy()
    del array


def functions(x: Tensor) -> None:
    assert_type(adjoint.softmax(x, axis=-1), Tensor)
    assert_type(adjoint.sum(x, axis=0), Tensor)
    assert_type(adjoint.concat([x, x], axis=1), Tensor)
    assert_type(adjoint.sin(x), Tensor)
    assert_type(adjoint.gelu(x, approximate="none"), Tensor)
    assert_type(adjoint.linalg.inv(x), Tensor)
    assert_type(adjoint.randn(2, 3), Tensor)
    with no_grad():
        adjoint.relu(x)


def square(x: Tensor) -> Tensor:
    return (x * x).sum()


def transforms(x: Tensor) -> None:
    g: Tensor = grad(square)(x)
    value, slope = value_and_grad(square)(x)
    rows: Tensor = vmap(square)(x)
    assert_type(jit(square)(x), Tensor)
    print(g.shape, value, slope, rows.mean().item())


def sizes(x: Tensor) -> None:
    n = Variable("n", 1, 64)
    assert_type(x[: n.bind(5)], Tensor)
    assert_type(x.reshape(n.bind(5), -1), Tensor)
    assert_type(Tensor.zeros((n.bind(3), 4)), Tensor)
    assert_type(n.bind(5).unbind(), tuple[Variable, int])
    assert_type(Tensor.schedule_with_vars(x)[1], dict[str, int])
    assert_type(jit(square, dynamic={"x": {0: n}})(x), Tensor)
    assert_type(jit(square, dynamic={0: {-1: n}})(x), Tensor)


def mistakes(x: Tensor) -> None:
    x.sofmax(-1)  # wrong
    x.softmax(dimension=0)  # wrong
    x.softmax("0")  # wrong
    x.relu(1)  # wrong
    x.conv2d()  # wrong
    print(x.relu().length)  # wrong
    x.sum(keepdims=3.5)  # wrong
    x.cumsum(dim=(0, 1))  # wrong
    x.sum().add_("text")  # wrong
    x + "text"  # wrong
    x.grad = 3  # wrong
    print(x.device + 1)  # wrong
    Tensor.zeros(2, dytpe="int32")  # wrong
    adjoint.sofmax(x)  # wrong
    adjoint.softmax(x, dimension=0)  # wrong
    adjoint.sum(x, axes=0)  # wrong
    print(adjoint.no_such_name)  # wrong
    square("x")  # wrong
    jit(square)(1, 2)  # wrong
    jit(square, dynamic={"x": 3})  # wrong
    Variable("n", 1)  # wrong
    Variable("n", 1, 8).bind("5")  # wrong
