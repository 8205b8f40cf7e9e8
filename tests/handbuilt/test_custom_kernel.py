"""Hand-built kernels on tensors: lazy, jitted, differentiated and batched."""

import numpy as np
import pytest

from adjoint import AdjointError, Tensor, counters, custom_kernel, grad, jit, jvp, show, vmap
from adjoint.handbuilt.uops import BinaryOps
from tests.handbuilt.building import (
    DEVICES,
    FLOAT,
    INT,
    Build,
    floats,
    matmul,
    saxpy,
    total,
)


@pytest.mark.parametrize("device", DEVICES)
def test_tensors_give_new_tensors(device):
    k = saxpy(10).g.compile(device)
    x, y = (Tensor(floats(10, seed=s), device=device) for s in (0, 1))
    out = Tensor.zeros(10, device=device)
    found = k(out, x, y, Tensor([2.0], device=device))
    assert found.uop.realized is None
    np.testing.assert_array_equal(found.numpy(), 2 * x.numpy() + y.numpy())
    assert out.tolist() == [0] * 10


@pytest.mark.parametrize("device", DEVICES)
def test_what_a_tensor_holds_is_where_the_result_starts(device):
    b = Build()
    x = b.out(INT)
    b.store(x, b.n(0), b.add(b.load(x, b.n(1)), b.n(1)))
    start = Tensor([1, 2, 3], device=device)
    assert b.g.compile(device)(start).tolist() == [3, 2, 3]
    assert start.tolist() == [1, 2, 3]


def product(a, b):
    rule = lambda primals, c, y: (c @ primals[1].T, primals[0].T @ c)  # noqa: E731
    return Tensor.custom_kernel(matmul(8, 4).g, a, b, out=((8, 8), "float32"), vjp_rule=rule)


def pair(device):
    return [Tensor(floats(8, 8, seed=s), device=device) for s in (0, 1)]


@pytest.mark.parametrize("device", DEVICES)
def test_a_kernel_is_a_node_of_a_lazy_graph(device):
    x, y = pair(device)
    result = (product(x + 1, y) * 2).relu()
    assert "@kernel" in show(custom_kernel(matmul(8, 4).g, x, y, out=((8, 8), "float32")))
    want = np.maximum((x.numpy() + 1) @ y.numpy() * 2, 0)
    np.testing.assert_allclose(result.numpy(), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_the_rule_gives_the_gradient(device):
    x, y = pair(device)
    found = grad(lambda a, b: (product(a, b) ** 2).sum(), argnums=(0, 1))(x, y)
    want = grad(lambda a, b: ((a @ b) ** 2).sum(), argnums=(0, 1))(x, y)
    for mine, other in zip(found, want, strict=True):
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-4, atol=1e-4)


def test_backward_uses_the_rule():
    x, y = pair("CPU")
    x.requires_grad = True
    product(x, y).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.ones((8, 8)) @ y.numpy().T, rtol=1e-4)


def test_without_a_rule_there_is_no_gradient():
    x, y = pair("CPU")
    with pytest.raises(AdjointError, match=r"E5001.*vjp_rule"):
        grad(lambda a: custom_kernel(matmul(8, 4).g, a, y, out=((8, 8), "float32")).sum())(x)
    with pytest.raises(AdjointError, match="E5001"):
        jvp(lambda a: product(a, y), (x,), (x,))


def test_a_rule_must_return_one_cotangent_per_input():
    x, y = pair("CPU")
    one = lambda a: custom_kernel(  # noqa: E731
        matmul(8, 4).g, a, y, out=((8, 8), "float32"), vjp_rule=lambda p, c, o: (c,)
    )
    with pytest.raises(AdjointError, match="E5002"):
        grad(lambda a: one(a).sum())(x)


@pytest.mark.parametrize("device", DEVICES)
def test_a_kernel_runs_under_jit(device):
    x, y = pair(device)
    fast = jit(lambda a, b: product(a * 2, b).sum(0))
    for shift in (0, 1, 2):
        want = ((x.numpy() + shift) * 2 @ y.numpy()).sum(0)
        np.testing.assert_allclose(fast(x + shift, y).numpy(), want, rtol=1e-4, atol=1e-4)


def test_the_same_graph_built_again_is_not_compiled_again():
    x, y = pair("CPU")
    product(x, y).realize()
    with counters() as seen:
        product(x, y).realize()
    assert seen.compiles == 0


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
def test_vmap_is_a_loop(device, axes):
    xs, ys = (Tensor(floats(3, 8, 8, seed=s), device=device) for s in (0, 1))
    args = [t if a == 0 else t[1] for t, a in zip((xs, ys), axes, strict=True)]
    found = vmap(product, in_axes=axes)(*args)
    for i in range(3):
        one = product(*[t[i] if a == 0 else t for t, a in zip(args, axes, strict=True)])
        assert found[i].numpy().tobytes() == one.numpy().tobytes()


def test_vmap_of_the_gradient_and_vmap_of_vmap():
    xs, y = Tensor(floats(2, 3, 8, 8), device="CPU"), pair("CPU")[1]
    found = vmap(vmap(grad(lambda a: product(a, y).sum())))(xs)
    want = np.broadcast_to(np.ones((8, 8)) @ y.numpy().T, (2, 3, 8, 8))
    np.testing.assert_allclose(found.numpy(), want, rtol=1e-4, atol=1e-5)
    wide = vmap(vmap(lambda a: product(a, y)))(xs)
    np.testing.assert_allclose(wide.numpy(), xs.numpy() @ y.numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
def test_a_kernel_with_two_results(device):
    b = Build()
    low, x, high = b.out(), b.buffer(), b.out()
    i = b.loop(5)
    value = b.load(x, i)
    b.store(low, i, b.alu(BinaryOps.MIN, value, b.n(0.0, FLOAT)))
    b.store(high, i, b.alu(BinaryOps.MAX, value, b.n(0.0, FLOAT)))
    b.end(i)
    x_ = Tensor(floats(5), device=device)
    first, second = custom_kernel(b.g, x_, out=[((5,), FLOAT), ((5,), FLOAT)])
    np.testing.assert_array_equal((first + second).numpy(), x_.numpy())
    only = custom_kernel(b.g, x_, out=[((5,), FLOAT), ((5,), FLOAT)])[1]
    np.testing.assert_array_equal(only.numpy(), np.maximum(x_.numpy(), 0))


WRONG = [
    ("E2007", "takes 2 tensors to read", lambda x: custom_kernel(matmul(8, 4).g, x, out=x)),
    ("E2007", "takes 1 results, got 2", lambda x: custom_kernel(matmul(8, 4).g, x, x, out=[x, x])),
    ("E2007", "out is", lambda x: custom_kernel(matmul(8, 4).g, x, x, out="f32")),
    ("E2004", "data1 is float32", lambda x: custom_kernel(matmul(8, 4).g, x.int(), x, out=x)),
    ("E2004", "data0 is float32", lambda x: custom_kernel(total(4).g, x, out=(1, "int32"))),
    ("E2001", "takes a UOpGraph", lambda x: custom_kernel("saxpy", x, out=x)),
]


@pytest.mark.parametrize(("code", "words", "call"), WRONG, ids=[w[1] for w in WRONG])
def test_a_wrong_node_is_an_error_at_once(code, words, call):
    with pytest.raises(AdjointError) as caught:
        call(pair("CPU")[0])
    assert (caught.value.code, words in str(caught.value)) == (code, True)
