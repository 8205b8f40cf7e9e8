"""Programs that were wrong once, each as small as the shrinker made it: CPU agrees with REF."""

import numpy as np
import pytest

from adjoint import Tensor, checkpoint, cond, hessian

FOUND = {
    "a result without elements": "x[:0].maximum(y[0])",
    "one column of a softmax down the rows": "x.softmax(0).shrink(((0, 3), (4, 5)))",
    "one row of a softmax along the rows": "x.softmax(1)[1, :1]",
    "a filter as high as its image": "image.half().conv2d(filters.half(), padding=0)",
    "a filter that is one wide, with padding": "image.conv2d(filters[..., :1], padding=1)",
    "a sum that is read at its place and at an index": "x * y[0].scatter_add(0, places, y[1])",
    "three sums over the same loops": "(x + y).sum(1) * x.sum(1) - y.min(1)",
    "indices checked, and memory used again": "(x[:, places] + y[:, places].exp()).sum(0).sin()",
    "a narrow float that is padded": "x.bfloat16().pad(((1, 1), (0, 2))).float() * 2",
    "an operand of the host that is a view": "(x[:, :3].flatten() + 3).reshape(3, 3).qr()[1].abs()",
    "a result of the host as another shape": "(x[:, :3] * 0.1 + eye).inv().reshape(9) + 1",
    "a complex constant": "(x.complex(y) * (2 + 1j)).real()",
}


def computed(text, device):
    """The value of a program, and its gradients."""
    rng = np.random.default_rng(3)
    shapes = {"x": (3, 5), "y": (3, 5), "image": (2, 2, 3, 3), "filters": (2, 2, 3, 2)}
    leaves = {
        name: Tensor(rng.random(shape, np.float32), device=device, requires_grad=True)
        for name, shape in shapes.items()
    }
    others = {
        "places": Tensor(np.array([4, 0, 3, 3, 1]), device=device),
        "eye": Tensor(np.eye(3, dtype=np.float32), device=device),
    }
    result = eval(text, {**leaves, **others})
    (result * result.detach().cos()).sum().backward()
    found = [result, *(t.grad for t in leaves.values() if t.grad is not None)]
    found[0].realize(*found[1:])
    return [t.numpy() for t in found]


@pytest.mark.parametrize("name", FOUND)
def test_values_and_gradients_are_those_of_the_reference(name):
    wanted, got = (computed(FOUND[name], device) for device in ("REF", "CPU"))
    tolerance = 1e-2 if "half" in FOUND[name] else 1e-5
    for w, g in zip(wanted, got, strict=True):
        assert (g.shape, g.dtype) == (w.shape, w.dtype)
        np.testing.assert_allclose(g.astype(np.float64), w.astype(np.float64), tolerance, tolerance)


@pytest.mark.parametrize("kind", ["float32", "float16", "int32", "int8", "uint16", "bool"])
@pytest.mark.parametrize("name", ["max", "min", "any", "all", "sum", "prod"])
def test_a_long_reduction_of_a_costly_value_takes_every_kind_and_any_length(name, kind):
    n = (1 << 15) + 3
    x = Tensor(np.linspace(-3, -1, n, dtype=np.float32))
    costly = (x.sin().exp().cos() * 20 - 25).cast(kind)  # negative, or none at all if unsigned
    if name == "prod":
        costly = costly.ne(0).cast(kind)
    found = getattr(costly, name)()
    wanted = getattr(costly.to("REF"), name)()
    assert found.dtype is wanted.dtype
    np.testing.assert_array_equal(found.numpy(), wanted.numpy())


def test_what_a_kernel_keeps_for_itself_takes_no_operands_place():
    def loss(x):
        sums = x + 2 + x
        kept = checkpoint(lambda z: ((z + sums).atan() * sums).tanh())(x + 2)
        flag = Tensor.full((2, 2), 0.25, device=x.device).max() > 0.25
        return cond(flag, lambda z: (z - kept - kept).tanh(), lambda z: z.sin().tanh(), kept).sum()

    wanted, got = (hessian(loss)(Tensor([0.3, 0.7]).to(device)) for device in ("REF", "CPU"))
    np.testing.assert_allclose(got.numpy(), wanted.numpy(), 1e-5, 1e-5)


ONE_TERM = {
    "outer": lambda a, b: a.outer(b),
    "matmul": lambda a, b: a.reshape(3, 1) @ b.reshape(1, 3),
    "batches": lambda a, b: a.reshape(3, 1, 1) @ b.reshape(3, 1, 1),
    "einsum": lambda a, b: Tensor.einsum("i,j->ji", a, b),
    "dot": lambda a, b: a[:1] @ b[:1],
    "then more": lambda a, b: (a.outer(b) * -1).copysign(a.outer(b)),
}


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16", "int32"])
@pytest.mark.parametrize("name", ONE_TERM)
def test_a_sum_of_one_product_starts_from_zero_too(name, kind):
    a, b = (Tensor(np.array(v, np.float32)) for v in ([2.0, -1.0, 0.0], [-0.0, 0.0, 1.0]))
    wanted, got = (
        ONE_TERM[name](a.to(device).cast(kind), b.to(device).cast(kind)).double().numpy()
        for device in ("REF", "CPU")
    )
    assert got.tobytes() == wanted.tobytes()  # the sign of a zero is a bit
