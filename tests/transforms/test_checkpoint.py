"""checkpoint: the same gradient, bit for bit, from a body that is computed again."""

import numpy as np
import pytest

import adjoint
from adjoint import ArgumentError, AutodiffError, Tensor
from adjoint.engine.interpreter import schedule
from adjoint.engine.step_facts import peak_bytes
from adjoint.ir.uop import toposort
from adjoint.transforms.checkpoint import checkpoint, checkpoint_policies
from adjoint.transforms.forward import jvp
from adjoint.transforms.jacobian import hessian
from adjoint.transforms.reverse import grad
from adjoint.transforms.vmap import vmap

RNG = np.random.default_rng(3)
X = RNG.standard_normal((4, 5)).astype(np.float32)
W = RNG.standard_normal((5, 5)).astype(np.float32)


def body(x, w):
    return (x @ w).sin().exp()


def plain(x, w):
    return body(x, w).sum()


def kept(x, w):
    return checkpoint(body)(x, w).sum()


def count(plan, op):
    return sum(item.node.op.name == op for item in plan.items)


def test_the_value_and_the_gradients_are_equal_bit_for_bit():
    x, w = Tensor(X), Tensor(W)
    np.testing.assert_array_equal(kept(x, w).numpy(), plain(x, w).numpy())
    for got, wanted in zip(grad(kept, (0, 1))(x, w), grad(plain, (0, 1))(x, w), strict=True):
        np.testing.assert_array_equal(got.numpy(), wanted.numpy())


def both(fn):
    """The schedule of a value together with its gradients."""
    x, w = Tensor(X).requires_grad_(), Tensor(W).requires_grad_()
    value = fn(x, w)
    value.backward()
    return schedule([value.uop, x.grad.uop, w.grad.uop])


@pytest.mark.parametrize("op", ["sin", "exp"])
def test_the_schedule_computes_the_body_twice_and_without_checkpoint_once(op):
    assert count(both(plain), op) == 1
    assert count(both(kept), op) == 2


def test_the_copy_is_computed_after_the_cotangent_it_waits_for():
    def chain(x, w):
        return (checkpoint(body)(x, w).tanh() ** 2).sum()

    steps = [item.node for item in both(chain).items]
    waits = [i for i, n in enumerate(steps) if n.op.name == "wait"]
    again = [i for i, n in enumerate(steps) if n.op.name == "sin"][-1]
    tanh = next(i for i, n in enumerate(steps) if n.op.name == "tanh")
    assert tanh < min(waits) < again


def deep(layer, depth=12, every=3):
    """The loss of a deep chain of wide layers, in segments."""

    def segment(h, weights):
        for w in weights:
            h = (h @ w).sin()
        return h

    def loss(x, weights):
        run = layer(segment)
        for i in range(0, depth, every):
            x = run(x, weights[i : i + every])
        return x.sum()

    return loss


def test_a_deep_chain_of_wide_layers_needs_less_memory():
    x = Tensor(RNG.standard_normal((256, 16)))
    weights = [Tensor(RNG.standard_normal((16, 16))) for _ in range(12)]
    usual = grad(deep(lambda f: f), 1)(x, weights)
    lean = grad(deep(checkpoint), 1)(x, weights)
    # Last layer first, as the backward pass makes them: steps run in the order of what is asked.
    plans = [schedule([g.uop for g in reversed(grads)]) for grads in (usual, lean)]
    assert peak_bytes(plans[1]) < 0.7 * peak_bytes(plans[0])
    for got, wanted in zip(lean, usual, strict=True):
        np.testing.assert_array_equal(got.numpy(), wanted.numpy())


def test_peak_bytes_of_a_chain_counts_a_value_until_its_last_use():
    x = Tensor(np.zeros(100))
    plan = schedule([x.sin().cos().exp().uop])
    assert peak_bytes(plan) == 2 * 800


def test_what_it_closes_over_gets_its_gradient():
    x, w = Tensor(X), Tensor(W).requires_grad_()
    checkpoint(lambda x: body(x, w))(x).sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), grad(plain, 1)(x, Tensor(W)).numpy())


def test_a_history_that_only_the_closure_has_survives_a_realize():
    x, w = Tensor(X), Tensor(W).requires_grad_()
    result = checkpoint(lambda x: body(x, w))(x).realize()
    result.sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), grad(plain, 1)(x, Tensor(W)).numpy())


def test_checkpoints_nest():
    def inner(x):
        return checkpoint(lambda h: h.sin())(x).exp()

    nested = lambda x: checkpoint(inner)(x).sum()  # noqa: E731
    straight = lambda x: x.sin().exp().sum()  # noqa: E731
    got, wanted = grad(nested)(Tensor(X)), grad(straight)(Tensor(X))
    np.testing.assert_array_equal(got.numpy(), wanted.numpy())


def test_several_results_keywords_and_pytrees():
    @checkpoint
    def parts(p, *, power):
        return {"s": p["a"] ** power, "c": p["a"] * p["b"], "n": None}

    def loss(p):
        out = parts(p, power=3)
        return (out["s"] * out["c"]).sum()

    p = {"a": Tensor(X.astype(np.float64)), "b": Tensor(np.float64(2.0))}
    got = grad(loss)(p)
    np.testing.assert_allclose(got["a"].numpy(), 8 * X.astype(np.float64) ** 3, rtol=1e-12)
    np.testing.assert_allclose(got["b"].numpy(), (X.astype(np.float64) ** 4).sum(), rtol=1e-12)


def test_forward_mode_second_order_and_vmap():
    x, w = Tensor(X), Tensor(W)
    t = (Tensor(X[::-1].copy()), Tensor(W[::-1].copy()))
    np.testing.assert_array_equal(jvp(kept, (x, w), t)[1].numpy(), jvp(plain, (x, w), t)[1].numpy())
    row = Tensor(X[0].astype(np.float64))
    wide = Tensor(W.astype(np.float64))
    np.testing.assert_allclose(
        hessian(kept)(row, wide).numpy(), hessian(plain)(row, wide).numpy(), rtol=1e-10
    )
    per_example = vmap(grad(kept), in_axes=(0, None))(x, w)
    wanted = vmap(grad(plain), in_axes=(0, None))(x, w)
    np.testing.assert_array_equal(per_example.numpy(), wanted.numpy())
    summed = grad(lambda w: vmap(kept, in_axes=(0, None))(x, w).sum())(w)
    np.testing.assert_allclose(summed.numpy(), grad(plain, 1)(x, w).numpy(), rtol=1e-5, atol=1e-5)


def test_an_argument_without_a_derivative_is_no_obstacle_unless_it_is_asked_for():
    def choose(x, y):
        return x * y.sort()[0].detach()

    got = grad(lambda x: checkpoint(choose)(x, Tensor(X)).sum())(Tensor(X))
    np.testing.assert_array_equal(got.numpy(), np.sort(X))


def test_the_wrapped_function_keeps_its_name():
    assert checkpoint(body).__name__ == "body"


def test_a_value_inside_a_transform_is_not_known_in_the_body_either():
    @checkpoint
    def peeks(x):
        return x if x.sum().item() > 0 else -x

    with pytest.raises(AutodiffError, match="not known inside vmap"):
        vmap(lambda x: peeks(x).sum())(Tensor(X).reshape(1, -1))


def layers(x, w):
    hidden = (x @ w).sin().checkpoint_name("hidden")
    return (hidden @ w).exp().checkpoint_name("last").sum()


POLICIES = {
    "nothing": (checkpoint_policies.nothing_saveable, ["contract"] * 2),
    "everything": (checkpoint_policies.everything_saveable, []),
    "products": (checkpoint_policies.dots_saveable, []),
    "named": (checkpoint_policies.save_only_these_names("hidden"), ["contract"] * 2),
    "my own": (lambda value: value.op == "sin" and value.shape == (4, 5), ["contract"] * 2),
}


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_changes_no_derivative(name):
    policy, _ = POLICIES[name]
    kept, args = checkpoint(layers, policy=policy), (Tensor(X), Tensor(W))
    for fn in (lambda f: grad(f, (0, 1)), lambda f: vmap(grad(f), (0, None))):
        wanted, found = (adjoint.tree_leaves(fn(f)(*args)) for f in (layers, kept))
        for w, g in zip(wanted, found, strict=True):
            np.testing.assert_array_equal(g.numpy(), w.numpy())
    row = Tensor(X[0])
    wanted, found = (hessian(lambda x, f=f: f(x, args[1]))(row).numpy() for f in (layers, kept))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def _recomputed(policy):
    """The ops of the gradient that are applied to what waits, by name."""
    root = grad(lambda x: checkpoint(layers, policy=policy)(x, Tensor(W)))(Tensor(X)).uop
    order = toposort([root])
    late = set()
    for node in order:
        if node.op.name == "wait" or any(s in late for s in node.src):
            late.add(node)
    return [n.op.name for n in order if n in late]


def test_what_a_policy_keeps_is_not_computed_again():
    policies = checkpoint_policies
    assert (
        _recomputed(None).count("sin") == _recomputed(policies.nothing_saveable).count("sin") == 1
    )
    assert _recomputed(policies.save_only_these_names("other")).count("sin") == 1
    assert "sin" not in _recomputed(policies.save_only_these_names("hidden"))
    assert "sin" not in _recomputed(policies.everything_saveable)
    products = [_recomputed(p).count("contract") for p in (None, policies.dots_saveable)]
    assert products[1] < products[0]


def test_a_policy_is_given_to_the_decorator():
    @checkpoint(policy=checkpoint_policies.dots_saveable)
    def fn(x):
        return (x @ x.transpose()).sin().sum()

    plain = lambda x: (x @ x.transpose()).sin().sum()  # noqa: E731
    np.testing.assert_array_equal(grad(fn)(Tensor(X)).numpy(), grad(plain)(Tensor(X)).numpy())


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("nothing", checkpoint_policies.nothing_saveable),
        ("everything", checkpoint_policies.everything_saveable),
        ("products", checkpoint_policies.dots_saveable),
    ],
)
def test_a_policy_has_a_name(name, policy):
    assert _recomputed(name) == _recomputed(policy)


def test_a_policy_that_is_no_function_is_an_error():
    with pytest.raises(ArgumentError, match=r"E2008.*policy"):
        checkpoint(layers, policy="dots")
