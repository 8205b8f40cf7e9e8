"""Random chains of what is done to products: the fake library's values are near the CPU's."""

import random

import numpy as np
import pytest

from adjoint import Tensor
from adjoint.runtime.device import has_tools
from adjoint.target import TARGETS
from tests.anew import compiled_anew
from tests.backends.cuda.product_cases import EPS
from tests.support.fake_cublaslt import fake_cublaslt
from tests.support.fake_gpu import fake_gpu

pytestmark = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")
CHAINS = 48
FAR = 200  # roundings of the dtype, of the largest element: separate ops round after each


@pytest.fixture(scope="module")
def library():
    with compiled_anew(), fake_cublaslt() as found, fake_gpu():
        yield found


class Chain:
    """The same steps on either device."""

    def __init__(self, seed, device):
        self.choose, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.device, self.dtype = device, list(EPS)[seed % 4]
        self.leaves = []

    def leaf(self, *shape):
        values = self.numbers.standard_normal(shape).astype(np.float32) / 2
        made = Tensor(values, device=self.device).cast(self.dtype).realize().detach()
        self.leaves.append(made.requires_grad_())
        return self.leaves[-1]

    def run(self):
        """Two of the values on the way, and the gradients of all that was drawn."""
        values = [self.leaf(*self.choose.choice([(), (2,), (2, 3)]), 16, 24)]
        for _ in range(self.choose.randint(2, 7)):
            step = self.choose.choice(PRODUCTS if self.choose.random() < 0.4 else list(STEPS))
            values.append(STEPS[step](self, self.choose.choice([values[-1], *values[-2:]])))
        outputs = [values[-1], self.choose.choice(values)]
        sum((y.float() / 8).sum() for y in outputs).backward()
        outputs += [x.grad for x in self.leaves if x.grad is not None]
        outputs[0].realize(*outputs[1:])
        return [y.numpy().astype(np.float64) for y in outputs]


PRODUCTS = ("product", "turned", "from the left")
STEPS = {
    "product": lambda c, x: x @ c.leaf(x.shape[-1], c.choose.choice([16, 24, 40])),
    "turned": lambda c, x: x @ c.leaf(c.choose.choice([16, 24, 40]), x.shape[-1]).T,
    "from the left": lambda c, x: c.leaf(24, x.shape[-2]) @ x,
    "with itself": lambda c, x: x @ x.transpose(-1, -2) / 16,
    "bias": lambda c, x: x + c.leaf(x.shape[-1]),
    "along rows": lambda c, x: x + c.leaf(x.shape[-2], 1),
    "residual": lambda c, x: x + c.leaf(*x.shape),
    "relu": lambda c, x: x.relu(),
    "gelu": lambda c, x: x.gelu(),
    "gelu without tanh": lambda c, x: x.gelu("none"),
    "factor": lambda c, x: x * 0.25,
    "wider": lambda c, x: x.float(),
    "narrower": lambda c, x: x.cast(c.dtype),
    "turned around": lambda c, x: x.transpose(-1, -2),
    "reshaped": lambda c, x: (
        x.reshape(-1, x.shape[-1]) if x.ndim > 2 else x.reshape(2, -1, x.shape[-1])
    ),
    "gated": lambda c, x: x * x.sigmoid(),
    "a slice": lambda c, x: x[..., 8:] if x.shape[-1] > 20 else x,
}


SEEDS = [pytest.param(n, marks=pytest.mark.slow if n % 2 else ()) for n in range(CHAINS)]


@pytest.mark.parametrize("seed", SEEDS)
def test_chains_of_products_are_near_the_cpus(library, seed):
    found, wanted = Chain(seed, "GPU").run(), Chain(seed, "CPU").run()
    step = max(EPS[Chain(seed, "CPU").dtype], EPS["float32"])
    for a, b in zip(found, wanted, strict=True):
        scale = np.abs(b).max(initial=1e-6)
        assert np.abs(a - b).max(initial=0) <= FAR * step * scale


def test_chains_use_the_library(library):
    del library.calls[:]
    for seed in range(12):
        Chain(seed, "GPU").run()
    assert {1, 4} <= set(library.calls)  # alone, and with a bias
