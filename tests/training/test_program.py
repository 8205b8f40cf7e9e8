"""The gradient of a loss as text: what it computes for, and that it is short."""

import pytest

from adjoint import Tensor, nn
from adjoint.module import parse
from adjoint.training.program import gradient_program, kernels, shortened


@pytest.fixture
def case():
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    batch = Tensor.zeros(5, 4), Tensor.zeros(5, dtype="int32")
    return lambda model, x, y: model(x).cross_entropy(y), model, *batch


def test_the_program_gives_the_loss_and_a_gradient_for_every_parameter(case):
    module = parse(gradient_program(*case, lines=1000, width=1000))
    assert len(module.outputs) == 1 + 4
    assert [module[i].type.shape for i in module.outputs[1:]] == [(3, 4), (3,), (2, 3), (2,)]


def test_the_kernels_are_counted_and_listed_in_order(case):
    head, *steps = kernels(*case, lines=1000).splitlines()
    count = sum(line.startswith("kernel ") for line in steps)
    assert head.startswith(f"{count} kernels; ")
    assert count == len(steps) > 0


def test_a_long_text_keeps_its_ends():
    text = "\n".join(map(str, range(100)))
    assert shortened(text, 4, 80).split("\n") == ["0", "1", "... 96 more lines ...", "98", "99"]
    assert shortened(text, 5, 80).split("\n")[2] == "2"
    assert shortened("x" * 50, 4, 10) == "x" * 9 + "…"
    assert shortened("a\nb", 2, 10) == "a\nb"
