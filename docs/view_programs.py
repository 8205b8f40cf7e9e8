"""Five programs that docs/viewing.md looks into, each a function and its arguments.

What may live here: programs as users write them. What may not: pages (`build_views.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import adjoint
from adjoint import Mesh, P, Tensor, nn
from adjoint.examples import digits_cnn, gpt

Program = tuple[Callable[..., Any], tuple[Any, ...]]


def mlp() -> Program:
    """A step of training of two layers."""
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = nn.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = nn.loss.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step, (Tensor.rand(64, 64), Tensor.randint(64, low=0, high=10))


def cnn() -> Program:
    """A step of training of the convolutions of `adjoint train digits_cnn`."""
    model = digits_cnn.Net().train()
    optimizer = nn.optim.Adam(model.parameters(), lr=3e-3)

    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = digits_cnn.loss_of(model, x, y)
        loss.backward()
        optimizer.step()
        return loss

    return step, (Tensor.rand(64, 64), Tensor.randint(64, low=0, high=10))


def transformer() -> Program:
    """A step of training of the GPT of `adjoint train gpt`."""
    model = gpt.GPT(96)
    optimizer = nn.optim.AdamW(model.parameters(), lr=4e-3)

    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = gpt.loss_of(model, x, y)
        loss.backward()
        optimizer.step()
        return loss

    return step, _tokens(16)


def _tokens(batch: int) -> tuple[Tensor, Tensor]:
    x, y = (Tensor.randint(batch, gpt.LENGTH, low=0, high=96) for _ in range(2))
    return x, y


def ode() -> Program:
    """The gradient of where a pendulum is after 200 steps of Runge and Kutta, by one loop."""

    def slope(state: Tensor, length: Tensor) -> Tensor:
        angle, speed = state[0], state[1]
        return adjoint.stack([speed, -9.81 / length * angle.sin()])

    def rk4(state: Tensor, length: Tensor, dt: float = 0.01) -> Tensor:
        a = slope(state, length)
        b = slope(state + dt / 2 * a, length)
        c = slope(state + dt / 2 * b, length)
        d = slope(state + dt * c, length)
        return state + dt / 6 * (a + 2 * b + 2 * c + d)

    def last_angle(length: Tensor, start: Tensor) -> Tensor:
        def turn(state: Tensor, _: Any) -> tuple[Tensor, Tensor]:
            new = rk4(state, length)
            return new, new[0]

        state, _ = adjoint.scan(turn, start, None, length=200)
        return state[0].sum()

    start = Tensor([[0.5, 1.0, 1.5], [0.0, 0.0, 0.0]])
    return adjoint.value_and_grad(last_angle), (Tensor([1.0, 2.0, 3.0]), start)


def sharded_transformer() -> Program:
    """The loss of the same GPT, and its gradient, over a mesh: rows of the batch along `dp`, the
    hidden features of each layer along `tp`."""
    mesh = Mesh((2, 2), ("dp", "tp"))
    model = gpt.GPT(96)
    for layer in model.layers:
        layer.linear1.weight = layer.linear1.weight.shard(mesh, P("tp"))
        layer.linear2.weight = layer.linear2.weight.shard(mesh, P(None, "tp"))

    def loss_and_gradient(model: gpt.GPT, x: Tensor, y: Tensor) -> Any:
        return adjoint.value_and_grad(gpt.loss_of)(model, x, y)

    x, y = (tokens.shard(mesh, P("dp")) for tokens in _tokens(16))
    return loss_and_gradient, (model, x, y)


PROGRAMS: dict[str, tuple[str, Callable[[], Program]]] = {
    "mlp": ("A network of two layers", mlp),
    "cnn": ("A network of convolutions", cnn),
    "gpt": ("A GPT", transformer),
    "ode": ("A pendulum, by a loop", ode),
    "sharded_gpt": ("A GPT on a mesh", sharded_transformer),
}
