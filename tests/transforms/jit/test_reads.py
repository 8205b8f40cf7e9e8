"""Values that a jitted function reads while it is traced: never a number of an earlier call."""

import numpy as np
import pytest

from adjoint import Tensor, grad, jit, vmap
from adjoint.errors import AutodiffError

READS = {
    "item": lambda t: t.sum().item(),
    "numpy": lambda t: t.numpy(),
    "tolist": lambda t: t.tolist(),
    "float": lambda t: float(t.sum()),
    "int": lambda t: int(t.sum()),
    "bool": lambda t: bool((t > 0.5).any()),
    "array": np.asarray,
    "buffer": lambda t: t.data(),
    "dlpack": np.from_dlpack,
    "format": lambda t: f"{t.sum():.2f}",
    "mask": lambda t: Tensor([1.0, 2.0])[t > 0.5],
    "nonzero": lambda t: (t > 0.5).nonzero(),
    "branch": lambda t: 1 if t.sum() > 0.5 else 2,
}
DRAWS = {
    "rand": lambda: Tensor.rand(2),
    "randn": lambda: Tensor.randn(2),
    "randint": lambda: Tensor.randint(2, high=2),
    "randperm": lambda: Tensor.randperm(2),
    "multinomial": lambda: Tensor([1.0, 1.0]).multinomial(2),
    "dropout": lambda: Tensor([1.0, 1.0]).dropout(0.5),
    "bernoulli": lambda: Tensor.rand(2) > 0.5,
}


pytestmark = pytest.mark.usefixtures("device")


def plain_and_jitted(fn, calls=4):
    """What a function gives when it is called some times, and what it gives jitted."""
    Tensor.manual_seed(3)
    plain = [fn().tolist() for _ in range(calls)]
    Tensor.manual_seed(3)
    jitted = jit(fn)
    return plain, [jitted().tolist() for _ in range(calls)]


# ---- draws


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_a_draw_realized_inside_advances(draw):
    with Tensor.train():
        plain, jitted = plain_and_jitted(lambda: draw().realize())
    assert jitted == plain
    assert len({str(values) for values in jitted}) > 1


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("draw", [DRAWS["rand"], DRAWS["dropout"]], ids=["rand", "dropout"])
def test_reading_a_draw_inside_is_an_error_with_a_fix(draw, read):
    with Tensor.train(), pytest.raises(AutodiffError, match="random number") as error:
        jit(lambda: (read(draw()), Tensor.ones(1))[1])()
    assert error.value.code == "E5004"
    assert "outside" in error.value.help


def test_an_index_that_is_drawn_and_realized_advances():
    table = Tensor(np.arange(100, dtype=np.float32))
    plain, jitted = plain_and_jitted(lambda: table[Tensor.randint(1, high=100).realize()])
    assert jitted == plain


def test_draws_inside_grad_and_vmap_inside_jit_advance():
    ones = Tensor.ones(2)
    derivative = grad(lambda x: (x * Tensor.rand(2).realize()).sum())
    plain, jitted = plain_and_jitted(lambda: derivative(ones))
    assert jitted == plain
    plain, jitted = plain_and_jitted(lambda: vmap(lambda x: x + Tensor.rand(()))(ones))
    assert jitted == plain


def test_a_draw_may_be_read_inside_grad_without_jit():
    values = {grad(lambda x: x * Tensor.rand(1).item())(Tensor(1.0)).item() for _ in range(3)}
    assert len(values) == 3


def test_a_seed_set_inside_is_set_at_every_call():
    def fn():
        Tensor.manual_seed(7)
        return Tensor.rand(2)

    jitted = jit(fn)
    first = jitted().tolist()
    Tensor.rand(5).realize()
    assert jitted().tolist() == first == fn().tolist()


# ---- values of tensors


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_reading_what_depends_on_an_argument_or_a_captured_tensor_is_an_error(read):
    captured = Tensor([0.0, 1.0])
    for fn in (lambda x: (read(x), x)[1], lambda x: (read(captured * 2), x)[1]):
        with pytest.raises(AutodiffError, match="not known inside jit"):
            jit(fn)(Tensor([0.0, 1.0]))


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_constant_made_inside_may_be_read(read):
    f = jit(lambda x: (read(Tensor([0.0, 1.0])), x + 1)[1])
    assert [f(Tensor([1.0])).item() for _ in range(2)] == [2, 2]


def test_a_tensor_that_only_a_library_reaches_is_read_anew():
    hidden = Tensor([1.0, 2.0]).realize()
    library = np.vectorize(lambda i: hidden.sum().item() * i)

    def shown(x):
        return x * float(np.apply_along_axis(lambda r: library(r), 0, np.ones(1))[0])

    f = jit(shown)
    try:
        first = f(Tensor([1.0])).item()
    except AutodiffError:
        return  # it was found, and the read refused
    hidden.assign([10.0, 20.0])
    assert (first, f(Tensor([1.0])).item()) == (3, 30)
