"""jit and tensors that share a buffer when it traces, or that a node might keep alive."""

import pytest

from adjoint import Tensor, custom_vjp, jit

pytestmark = pytest.mark.usefixtures("device")


class State:
    """Two tensors that begin alike."""

    def __init__(self, realized):
        self.one, self.other = Tensor.zeros(2), Tensor.zeros(2)
        if realized:
            self.one.realize(self.other)


@pytest.mark.parametrize("realized", [False, True])
def test_tensors_that_begin_alike_go_their_own_ways(realized):
    state = State(realized)

    @jit
    def step(by):
        state.one.assign(state.one + by)
        state.other.assign(state.other - by)
        return state.one * 10 + state.other

    assert [step(Tensor([1.0, 2.0])).tolist() for _ in range(3)] == [[9, 18], [18, 36], [27, 54]]
    assert step.cache_size() == 1
    assert (state.one.tolist(), state.other.tolist()) == ([3, 6], [-3, -6])


def test_gradients_that_begin_alike_go_their_own_ways():
    a, b = (Tensor([1.0], requires_grad=True) for _ in range(2))
    (a + b).sum().backward()
    a.grad.realize(b.grad)
    held = [a, b]
    step = jit(lambda x: (held[0] * x + held[1]).sum().backward())
    for _ in range(3):
        step(Tensor([5.0])).realize()
    assert (a.grad.tolist(), b.grad.tolist()) == ([16], [4])


def test_a_custom_rule_does_not_keep_the_tensors_of_its_call():
    @custom_vjp
    def double(x):
        return x * 2

    double.defvjp(lambda x: (x * 2, None), lambda kept, g: (g * 2,))
    f = jit(lambda x: double(x + 1).sum())
    assert [f(Tensor([1.0, i])).item() for i in (1.0, 2.0)] == [8, 10]
    assert f.cache_size() == 1
