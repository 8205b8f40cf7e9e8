"""The whole of a small program: import a library, print a gradient of a small MLP.

Run as a process of its own by bench/overhead.py. Imports nothing that the library does not need,
and its numbers come from arithmetic, so that no generator of random numbers is started. JAX gets
`jit`, without which it compiles every op alone.
"""

import importlib
import sys
from typing import Any

LAYERS = ((2, 16), (16, 16), (16, 1))
BATCH = 100


def numbers(count: int, start: int) -> list[float]:
    """Well spread between -1 and 1."""
    return [((start + i) * 7919 % 1009) / 504.5 - 1 for i in range(count)]


def rows(count: int, width: int, start: int) -> list[list[float]]:
    flat = numbers(count * width, start)
    return [flat[i * width : (i + 1) * width] for i in range(count)]


def parameters(tensor: Any) -> list[Any]:
    """Weights and biases in turn."""
    found = []
    for n, (a, b) in enumerate(LAYERS):
        found += [tensor(rows(a, b, 31 * n + 1)), tensor(numbers(b, 17 * n + 5))]
    return found


def loss(layers: Any, x: Any, y: Any, relu: Any) -> Any:
    """Mean square error of the network."""
    w1, b1, w2, b2, w3, b3 = layers
    h = relu(x @ w1 + b1)
    h = relu(h @ w2 + b2)
    e = h @ w3 + b3 - y
    return (e * e).mean()


def gradient(library: str) -> Any:
    """The gradient by the first weight, as nested lists."""
    if library == "jax":
        jax = importlib.import_module("jax")
        jnp = importlib.import_module("jax.numpy")
        x, y = jnp.array(rows(BATCH, 2, 3)), jnp.array(rows(BATCH, 1, 11))
        fn = jax.jit(jax.grad(lambda layers: loss(layers, x, y, lambda h: jnp.maximum(h, 0))))
        return fn(parameters(jnp.array))[0].tolist()
    module = importlib.import_module(library)
    tensor = module.Tensor
    x, y = tensor(rows(BATCH, 2, 3)), tensor(rows(BATCH, 1, 11))
    layers = parameters(tensor)
    if library == "adjoint":
        return module.grad(lambda layers: loss(layers, x, y, tensor.relu))(layers)[0].tolist()
    return loss(layers, x, y, tensor.relu).gradient(*layers)[0].tolist()


if __name__ == "__main__":
    print(gradient(sys.argv[1]))
