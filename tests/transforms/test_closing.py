"""Rules traced to graphs: what is left of a graph, and nodes made of such rules."""

import numpy as np
import pytest

from adjoint import AutodiffError, Tensor, custom_vjp, grad
from adjoint.ir.function import function_of
from adjoint.ir.opdef import OPS
from adjoint.ir.spec import verify
from adjoint.ir.uop import toposort
from adjoint.transforms.checkpoint import checkpoint
from adjoint.transforms.control import scan
from adjoint.transforms.custom_rules.closing import closing
from adjoint.transforms.reverse import vjp
from adjoint.transforms.traced import TracedCall
from adjoint.transforms.vmap import vmap

X = np.array([0.5, 1.0, 2.0])


def f64(*values):
    return Tensor(np.array(values, np.float64))


def doubled(backward=True):
    """x², whose rule says 4x: the call, made of graphs."""
    a = [OPS["input"](f"n{i}", (3,), f64(*X).dtype) for i in range(3)]
    body = function_of(a[:1], [a[0] * a[0]])
    return TracedCall(body, 1, function_of(a, [4 * a[0] * a[2]]) if backward else None)


def applied(call, x):
    return Tensor(OPS["custom_vjp"](x.uop, function=call))


class TestTracedCall:
    def test_equal_parts_make_equal_nodes(self):
        x = f64(*X)
        assert applied(doubled(), x).uop is applied(doubled(), x).uop
        assert applied(doubled(), x).uop is not applied(doubled(backward=False), x).uop
        parts = {"body": doubled().body, "backward": doubled().backward, "arguments": 1}
        assert OPS["custom_vjp"](x.uop, **parts) is applied(doubled(), x).uop

    def test_value_gradients_and_batches(self):
        loss = lambda x: (applied(doubled(), x) * f64(*X)).sum()  # noqa: E731
        np.testing.assert_allclose(applied(doubled(), f64(*X)).numpy(), X * X)
        np.testing.assert_allclose(grad(loss)(f64(*X)).numpy(), 4 * X * X)
        twice = grad(lambda x: grad(loss)(x).sum())
        np.testing.assert_allclose(twice(f64(*X)).numpy(), 4 * X)
        rows = Tensor(np.stack([X, 2 * X]))
        back = vjp(vmap(lambda x: applied(doubled(), x)), rows)[1](rows)
        np.testing.assert_allclose(back[0].numpy(), 4 * np.stack([X, 2 * X]) ** 2)

    def test_a_missing_rule_is_an_error_when_it_is_asked(self):
        with pytest.raises(AutodiffError, match="E5001: custom_vjp: has no reverse rule"):
            grad(lambda x: applied(doubled(backward=False), x).sum())(f64(*X))


sine = custom_vjp(lambda x: x.sin())
sine.defvjp(lambda x: (sine(x), x), lambda x, g: (3 * g * x.cos(),))


class TestClosing:
    def test_a_graph_without_rules_stays_what_it_is(self):
        x, w = f64(*X), f64(*X)
        fn = lambda x: scan(lambda h, v: (h * v, h), w.sum(), checkpoint(Tensor.exp)(x))  # noqa: E731
        for before, after in zip(fn(x), closing(lambda x: fn(x))(x), strict=True):
            assert [n.op.name for n in toposort([before.uop])] == [
                n.op.name for n in toposort([after.uop])
            ]
        same = (x + w).exp()
        assert closing(lambda x: same)(x).uop is same.uop

    @pytest.mark.parametrize(
        "fn",
        [
            sine,
            lambda x: scan(lambda h, v: (sine(h + v), h), x.sum(), x)[0],
            lambda x: checkpoint(lambda y: sine(y) * 2)(x),
            vmap(sine),
        ],
        ids=["plain", "loop", "checkpoint", "vmap"],
    )
    def test_nothing_of_python_is_left_and_the_gradient_is_the_same(self, fn):
        result = closing(fn)(f64(*X))
        calls = [n for n in toposort([result.uop]) if n.op.name == "custom_vjp"]
        assert all(isinstance(n.arg.function, TracedCall) for n in calls)
        verify([result.uop])
        for f in (fn, closing(fn)):
            got = grad(lambda x, f=f: f(x).sum())(f64(*X)).numpy()
            np.testing.assert_allclose(got, grad(lambda x: fn(x).sum())(f64(*X)).numpy())

    def test_what_is_not_a_tensor_stays(self):
        assert closing(lambda x: {"n": 3, "y": x})(f64(*X))["n"] == 3
