"""Rules that users wrote, kept in modules: the same values and derivatives, of every order."""

import numpy as np
import pytest

import adjoint
from adjoint import (
    Tensor,
    capture,
    custom_jvp,
    custom_vjp,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    vmap,
)
from adjoint.errors import AdjointError, AutodiffError
from adjoint.module import canonicalise, differentiate, parse
from tests.module.captured import SCALARS

X = np.array([0.5, 1.0, 2.0])
RULED = ("reverse rule", "tangent rule", "operation", "rules in a loop", "checkpoint")


def f64(*values):
    return Tensor(np.array(values, np.float64))


def ruled(fn, fwd, bwd, **options):
    made = custom_vjp(fn, **options)
    made.defvjp(fwd, bwd)
    return made


ten_sin = custom_vjp(lambda x: x.sin())  # its forward rule calls it, on its own argument
ten_sin.defvjp(lambda x: (ten_sin(x), (x, ten_sin(x))), lambda kept, g: (10 * g * kept[1],))
three_exp = custom_jvp(lambda x: x.exp())
three_exp.defjvp(lambda x, t: (three_exp(x[0]), 3 * t[0] * three_exp(x[0])))
waves = custom_vjp(lambda x: x.sin())  # its rule calls it on another value, without an end
waves.defvjp(lambda x: (x.sin(), x), lambda x, g: (g * waves(x + np.pi / 2),))


def settled(module):
    """The module from its text, after every law of texts was checked."""
    text = module.text()
    assert parse(text).text() == text
    assert canonicalise(parse(text)).text() == text
    return parse(text)


def same(got, wanted, **options):
    for a, b in zip(adjoint.tree_leaves(got), adjoint.tree_leaves(wanted), strict=True):
        assert a.dtype is b.dtype
        np.testing.assert_allclose(a.numpy(), b.numpy(), **{"rtol": 1e-12} | options)


def opcodes(module):
    return [ins.opcode for ins in module.instructions]


class TestDerivatives:
    @pytest.mark.parametrize("fn", [ten_sin, three_exp, waves], ids=["vjp", "jvp", "endless"])
    def test_first_and_second_order_are_those_of_the_function(self, fn):
        module = settled(capture(fn, f64(*X)[0]))
        many = settled(capture(fn, f64(*X)))
        for x in f64(*X):
            same(grad(module)(x), grad(fn)(x))
            same(grad(grad(module))(x), grad(grad(fn))(x))
        same(jacrev(many)(f64(*X)), jacrev(fn)(f64(*X)))

    @pytest.mark.parametrize("fn", [ten_sin, three_exp], ids=["vjp", "jvp"])
    def test_a_rule_that_calls_its_own_function_takes_the_result_that_is_there(self, fn):
        module = settled(capture(fn, f64(1.0)[0]))
        assert module.text().count("Custom") == 1
        x = f64(0.7)[0]
        same(grad(grad(grad(module)))(x), grad(grad(grad(fn)))(x))

    def test_a_rule_that_calls_itself_without_end_is_kept_for_two_orders(self):
        module = settled(capture(waves, f64(1.0)[0]))
        with pytest.raises(AutodiffError, match=r"E5001.*no reverse rule"):
            grad(grad(grad(module)))(f64(1.0)[0])

    @pytest.mark.parametrize("name", [n for n in RULED if n != "rules in a loop"])  # that is f32
    def test_a_gradient_module_is_differentiated_again(self, name):
        fn, args = SCALARS[name]
        tensors = [Tensor(a.astype(np.float64)) for a in args]
        wide = [a.numpy() for a in tensors]
        first = differentiate(settled(capture(fn, *wide))).gradient_module
        with_norm = lambda *x: (grad(fn)(*x) ** 2).sum()  # noqa: E731
        squared = capture(lambda *x: (first(*x)[1] ** 2).sum(), *wide)
        second = differentiate(settled(squared), 0).gradient_module
        same(settled(second).run(tensors)[1], grad(with_norm)(*tensors))

    def test_forward_mode_serves_where_a_tangent_rule_is(self):
        module = settled(capture(three_exp, f64(*X)))
        same(jvp(module, (f64(*X),), (f64(*X),)), jvp(three_exp, (f64(*X),), (f64(*X),)))
        same(jacfwd(module)(f64(*X)), jacfwd(three_exp)(f64(*X)))
        one = settled(capture(lambda x: three_exp(x).sum(), f64(*X)))
        same(hessian(one)(f64(*X)), hessian(lambda x: three_exp(x).sum())(f64(*X)))
        fn, (a, b) = SCALARS["operation"]
        pair = settled(capture(fn, a, b))
        args = (Tensor(a), Tensor(b))
        same(jvp(pair, args, args), jvp(fn, args, args), rtol=1e-6)

    def test_forward_mode_through_a_reverse_rule_stays_an_error(self):
        module = settled(capture(ten_sin, f64(*X)))
        with pytest.raises(AutodiffError, match=r"E5001.*reverse rule only"):
            jvp(module, (f64(*X),), (f64(*X),))

    def test_backward_uses_the_rule(self):
        x = f64(*X).requires_grad_()
        settled(capture(ten_sin, f64(*X)))(x).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), 10 * np.sin(X), rtol=1e-15)

    @pytest.mark.parametrize("fn", [ten_sin, three_exp, waves], ids=["vjp", "jvp", "endless"])
    def test_vmap_before_and_after_grad(self, fn):
        module = settled(capture(fn, f64(1.0)[0]))
        same(vmap(module)(f64(*X)), fn(f64(*X)))
        same(vmap(grad(module))(f64(*X)), vmap(grad(fn))(f64(*X)))
        total = lambda f: grad(lambda x: (vmap(f)(x) * f64(*X)).sum())  # noqa: E731
        same(total(module)(f64(*X)), total(fn)(f64(*X)))
        whole = settled(capture(vmap(fn), f64(*X)))
        same(total(lambda x: x)(whole(f64(*X))), total(lambda x: x)(fn(f64(*X))))
        back = lambda f: adjoint.vjp(f, f64(*X))[1](f64(*X))  # noqa: E731
        same(back(whole), back(vmap(fn)))

    def test_an_argument_that_all_examples_share_gets_the_sum(self):
        fn = ruled(
            lambda x, y: x * y,
            lambda x, y: (x * y, (x, y)),
            lambda kept, g: (5 * g * kept[1], 7 * g * kept[0]),
        )
        module = settled(capture(fn, f64(1.0)[0], f64(1.0)[0]))
        total = lambda f: grad(lambda y: vmap(f, in_axes=(0, None))(f64(*X), y).sum())  # noqa: E731
        same(total(module)(f64(2.0)[0]), total(fn)(f64(2.0)[0]))
        np.testing.assert_allclose(total(module)(f64(2.0)[0]).numpy(), 7 * X.sum())

    def test_a_rule_that_is_not_linear_is_batched_per_example(self):
        clip = ruled(
            lambda x: x * 1,
            lambda x: (x, None),
            lambda _, g: (g / (g * g).sum().sqrt().maximum(1.0),),
        )
        module = settled(capture(clip, f64(1.0, 2.0)))
        cotangent = np.array([[3.0, 4.0], [0.3, 0.4]])
        got = adjoint.vjp(vmap(module), Tensor(cotangent * 0))[1](Tensor(cotangent))
        np.testing.assert_allclose(got[0].numpy(), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-15)

    def test_captured_again_it_is_the_same_text(self):
        for fn in (ten_sin, three_exp):
            module = capture(fn, f64(*X))
            assert capture(module, f64(*X)).text().replace("x0", "x") == module.text()


class TestArguments:
    def test_pytrees_integers_missing_cotangents_and_plain_values(self):
        fn = ruled(
            lambda n, p, i: {"y": p["a"] * n + p["b"], "i": i + 1},
            lambda n, p, i: ({"y": p["a"] * n + p["b"], "i": i + 1}, p["a"]),
            lambda n, a, g: ({"a": g["y"] * n * a, "b": None}, None),
            nondiff_argnums=(0,),
        )
        p, i = {"a": f64(*X), "b": f64(*X)}, Tensor(np.array([1, 2, 3]))
        loss = lambda p, i: (fn(3, p, i)["y"] * fn(3, p, i)["i"]).sum()  # noqa: E731
        module = settled(capture(loss, p, i))
        same(module(p["a"], p["b"], i), loss(p, i))
        found = differentiate(module, ["p.0", "p.1"]).gradient_module.run([p["a"], p["b"], i])
        same(found[1:], list(grad(loss)(p, i).values()))
        np.testing.assert_array_equal(found[2].numpy(), 0 * X)

    def test_the_same_function_with_another_plain_value_is_another_rule(self):
        times = custom_vjp(lambda k, x: x * 1, nondiff_argnums=(0,))
        times.defvjp(
            lambda k, x: (x, times(k - 1, x) if k else x), lambda k, y, g: (g * k * y * y,)
        )
        module = settled(capture(lambda x: times(2, x), f64(3.0)[0]))
        for fn in (lambda f: f, grad, lambda f: grad(grad(f))):
            same(fn(module)(f64(3.0)[0]), fn(lambda x: times(2, x))(f64(3.0)[0]))

    def test_an_operation_without_rules_has_a_value_and_no_gradient(self):
        class Plain(adjoint.Operation):
            def execute(self, x):
                return x.exp().sum()

        module = settled(capture(Plain(), f64(*X)))
        same(module(f64(*X)), f64(*X).exp().sum())
        with pytest.raises(AutodiffError, match="E5001: CustomVjp"):
            differentiate(module)

    def test_an_operation_with_a_tangent_rule_alone_is_transposed(self):
        class Cube(adjoint.Operation):
            def execute(self, x):
                return x**3

            def jvp_rule(self, primals, tangents, output):
                return 3 * primals[0] ** 2 * tangents[0]

        module = settled(capture(Cube(), f64(2.0)[0]))
        assert "CustomJvp" in opcodes(module)
        assert differentiate(module).gradient_module.run([2.0])[1].item() == 12.0

    def test_complex_values(self):
        fn = ruled(lambda z: z * z, lambda z: (z * z, z), lambda z, g: (g * 2 * z.conj(),))
        z = Tensor(np.array([1 + 2j, 3 - 1j]))
        loss = lambda z: (fn(z) * fn(z).conj()).real().sum()  # noqa: E731
        same(grad(settled(capture(loss, z)))(z), grad(loss)(z))


class TestOutside:
    def test_what_a_rule_closes_over_becomes_an_operand(self):
        weights = f64(1.0, 2.0, 3.0)

        def loss(x, w):
            scaled = ruled(lambda x: x * 2, lambda x: (x, x), lambda x, g: (g * w * x * weights,))
            return scaled(x).sum()

        module = settled(capture(loss, f64(*X), f64(*X)))
        found = differentiate(module).gradient_module
        got, wanted = found.run([X, X]), grad(loss, argnums=(0, 1))(f64(*X), f64(*X))
        same(got[1:], list(wanted))
        second = lambda f: grad(lambda x, w: grad(f)(x, w).sum(), argnums=(0, 1))  # noqa: E731
        same(second(module)(f64(*X), f64(*X)), second(loss)(f64(*X), f64(*X)))

    def test_a_derivative_for_what_the_function_closes_over_stays_an_error(self):
        def loss(x, w):
            return ruled(lambda x: x * w, lambda x: (x * w, w), lambda w, g: (g * w,))(x).sum()

        module = settled(capture(loss, f64(*X), f64(*X)))
        same(differentiate(module, "x").gradient_module.run([X, X])[1], f64(*X))
        for call in (lambda: differentiate(module, "w"), lambda: grad(module, 1)(f64(*X), f64(*X))):
            with pytest.raises(AutodiffError, match=r"E5001.*closes over"):
                call()

    @pytest.mark.parametrize("where", ["cond", "scan", "while", "checkpoint", "rule", "body"])
    def test_rules_inside_other_functions(self, where):
        outer = f64(2.0, 3.0, 4.0)
        inner = ruled(lambda x: x.sin(), lambda x: (x, x), lambda x, g: (g * x * outer,))
        asked = ruled(lambda x: x * x, lambda x: (x, x), lambda x, g: (g * inner(x),))
        whole = ruled(lambda x: inner(x) * 2, lambda x: (x, x), lambda x, g: (g * x,))

        def loop(x):
            go_on = lambda v: v.sum() < 0  # noqa: E731 - the gradient needs a loop that may not run
            return adjoint.while_loop(go_on, inner, x)

        ways = {
            "cond": lambda x: adjoint.cond(x.sum() > 0, inner, lambda y: y * 3, x),
            "scan": lambda x: adjoint.scan(lambda h, _: (inner(h), h), x, None, length=2)[0],
            "while": loop,
            "checkpoint": adjoint.checkpoint(lambda x: inner(x).exp()),
            "rule": asked,
            "body": whole,
        }
        loss = lambda x: ways[where](x).sum()  # noqa: E731
        module = settled(capture(loss, f64(*X)))
        same(module(f64(*X)), loss(f64(*X)))
        if where != "while":
            found = differentiate(module).gradient_module
            same(settled(found).run([X])[1], grad(loss)(f64(*X)))
            again = lambda f: grad(lambda x: (grad(f)(x) ** 2).sum())  # noqa: E731
            same(again(module)(f64(*X)), again(loss)(f64(*X)))

    def test_captured_gradients_keep_the_rules_that_are_left(self):
        module = settled(capture(grad(lambda x: (ten_sin(x) ** 2).sum()), f64(*X)))
        same(module(f64(*X)), grad(lambda x: (ten_sin(x) ** 2).sum())(f64(*X)))

    def test_a_rule_that_belongs_to_a_transform_that_has_ended_is_left_out(self):
        def per_example(x, w):
            return ruled(lambda x: x * 2, lambda x: (x, None), lambda _, g: (g * w,))(x)

        module = settled(capture(vmap(per_example), f64(*X), f64(*X)))
        same(module(f64(*X), f64(*X)), f64(*X) * 2)
        with pytest.raises(AutodiffError, match="E5001"):
            grad(lambda x: module(x, f64(*X)).sum())(f64(*X))


def _refuses(x, g):
    raise ValueError("no such luck")


class TestRulesThatCannotBeTraced:
    @pytest.mark.parametrize(
        ("code", "words", "bwd"),
        [
            ("E5002", "no such luck", _refuses),
            ("E5002", "2 cotangents for 1", lambda x, g: (g, g)),
            ("E5004", "not known", lambda x, g: (g * float(x.sum().item()),)),
            ("E5004", "does not fit", lambda x, g: (g.reshape(1, 3).expand(2, 3).reshape(6),)),
            ("E3007", "reshape", lambda x, g: (g.reshape(4),)),
        ],
    )
    def test_the_error_has_a_code_and_names_the_function(self, code, words, bwd):
        def unlucky(x):
            return x * 2

        fn = ruled(unlucky, lambda x: (x * 2, x), bwd)
        with pytest.raises(AdjointError, match=rf"{code}(.|\n)*custom_vjp unlucky") as caught:
            capture(fn, f64(*X))
        assert words in str(caught.value)

    def test_a_tangent_rule_as_well(self):
        fn = custom_jvp(lambda x: x * 2)
        fn.defjvp(_refuses)
        with pytest.raises(AutodiffError, match=r"E5002: the rule of custom_jvp.*no such luck"):
            capture(fn, f64(*X))


BODY = '{%0 = Input() {name: "a"} : Tensor<f32, [2]>; %1 = Exp(%0) : Tensor<f32, [2]>; outputs: %1}'
BACK = """{%0 = Input() {name: "x"} : Tensor<f32, [2]>; %1 = Input() {name: "y"} : Tensor<f32, [2]>;
%2 = Input() {name: "g"} : Tensor<f32, [2]>; %3 = BinOp(Mul, %1, %2) : Tensor<f32, [2]>;
outputs: %3}"""


def written(attributes, opcode="CustomVjp", kind="Tensor<f32, [2]>"):
    return f"""%0 = Input() {{name: "x"}} : Tensor<f32, [2]>
%1 = {opcode}(%0) {{{attributes}}} : {kind}
%2 = Sum(%1, [], false) : Tensor<f32, []>
outputs: %2
"""


class TestText:
    @pytest.mark.parametrize(
        ("opcode", "rule"), [("CustomVjp", "backward"), ("CustomJvp", "tangent")]
    )
    def test_a_module_with_a_rule_is_written_by_hand(self, opcode, rule):
        module = settled(parse(written(f"body: {BODY}, {rule}: {BACK}, arguments: 1", opcode)))
        found = differentiate(module).gradient_module.run([[0.0, 1.0]])
        np.testing.assert_allclose(found[1].numpy(), np.exp([0.0, 1.0]), rtol=1e-6)

    def test_the_rules_may_be_missing(self):
        module = settled(parse(written(f"body: {BODY}, arguments: 1")))
        with pytest.raises(AutodiffError, match="E5001: CustomVjp: has no reverse rule"):
            differentiate(module)

    @pytest.mark.parametrize(
        ("code", "attributes"),
        [
            ("E2001", ""),
            ("E2001", f"backward: {BACK}, arguments: 1"),
            ("E2001", f"body: {BODY}, backward: {BACK}"),
            ("E2001", f"body: {BODY}, backward: {BODY}, arguments: 1"),
            ("E2001", f"body: {BACK}, arguments: 1"),
            ("E2001", f"body: {BODY}, backward: {BACK}, arguments: 2"),
            ("E2001", f"body: {BODY}, backward: {BACK}, arguments: -1"),
            ("E2001", f"body: {BODY}, backward: {BACK}, arguments: 1.0"),
            ("E2001", f"body: {BODY}, backward: {BACK}, arguments: true"),
            ("E2001", f"body: {BODY}, backward: {BACK}, arguments: {BODY}"),
            ("E2001", f"body: {BODY}, backward: {BACK}, arguments: 0"),
            ("E2001", "body: 3, arguments: 1"),
            ("E2001", "body: [1, 2], arguments: 1"),
            ("E2001", f"body: {BODY}, backward: [{BACK}], arguments: 1"),
            ("E2007", f"body: {BODY}, forward: {BACK}, arguments: 1"),
            ("E4002", f"body: {BODY}, body: {BODY}, arguments: 1"),
            ("E4003", "body: {}, arguments: 1"),
            ("E4003", "body: {outputs: %0}, arguments: 1"),
            ("E4001", f"body: {BODY.replace('Exp(%0)', 'Exp(%7)')}, arguments: 1"),
        ],
    )
    def test_functions_that_do_not_fit_are_coded_errors(self, code, attributes):
        with pytest.raises(AdjointError, match=code) as caught:
            parse(written(attributes))
        assert caught.value.span is not None

    def test_the_declared_type_is_that_of_the_body(self):
        with pytest.raises(AdjointError, match=r"E2001: .*CustomVjp gives Tensor<f32, \[2\]>"):
            parse(written(f"body: {BODY}, arguments: 1", kind="Tensor<f32, [3]>"))

    def test_core_v1_has_no_rules(self):
        with pytest.raises(AdjointError, match="E2002"):
            parse(written(f"body: {BODY}, arguments: 1"), profile="core-v1")
