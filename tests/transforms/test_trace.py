"""Traces: what they hold, how they read, their values after a realize, and their derivatives."""

import numpy as np
import pytest

from adjoint import AutodiffError, ShapeError, Tensor, vmap
from adjoint.ir.uop import UOp
from adjoint.transforms.custom_rules.operation import Operation
from adjoint.transforms.forward import jvp
from adjoint.transforms.reverse import grad, vjp
from adjoint.transforms.trace import (
    OpNode,
    _accumulate_cotangent,
    _reduce_to_shape,
    backward_on_trace,
    forward_on_trace,
    trace,
)


def loss(x, p):
    return (x @ p["w"] + p["b"]).tanh().sum()


def arguments():
    rng = np.random.default_rng(5)
    w, b = Tensor(rng.standard_normal((3, 2))), Tensor(rng.standard_normal(2))
    return Tensor(rng.standard_normal((4, 3))), {"w": w, "b": b}


class TestWhatATraceHolds:
    def test_nodes_come_in_topological_order(self):
        nodes = trace(loss, *arguments()).nodes
        places = {output: i for i, node in enumerate(nodes) for output in node.outputs}
        assert all(isinstance(node, OpNode) for node in nodes)
        for i, node in enumerate(nodes):
            assert all(places.get(s, -1) < i for s in node.op_args)

    def test_the_inputs_of_its_text_come_from_the_line_that_traced(self):
        traced = trace(loss, *arguments())
        inputs = [line for line in str(traced).splitlines() if " = input(" in line]
        assert len(inputs) == 3
        assert all("# trace at test_trace.py:" in line for line in inputs)

    def test_a_node_says_its_op_arguments_keywords_and_line(self):
        nodes = trace(loss, *arguments()).nodes
        product, total = nodes[0], nodes[-1]
        assert product.op == "contract"
        assert product.op_kwargs == {"spec": "mk,kn->mn"}
        assert total.op == "reduce_sum"
        assert total.op_args == nodes[-2].outputs
        assert total.origin.file == "test_trace.py"

    def test_inputs_and_outputs_are_the_leaves_in_order(self):
        traced = trace(loss, *arguments())
        assert [t.shape for t in traced.inputs] == [(4, 3), (2,), (3, 2)]
        assert [t.shape for t in traced.outputs] == [()]

    def test_an_op_with_several_results_is_one_node_with_several_outputs(self):
        class Both(Operation):
            def execute(self, x):
                return x.sin(), x.cos()

            def vjp_rule(self, primals, cotangent, output):
                return (cotangent[0] * output[1] - cotangent[1] * output[0],)

        traced = trace(lambda x: Both()(x), Tensor([1.0, 2.0]))
        (node,) = traced.nodes
        assert node.op == "custom_vjp"
        assert len(node.outputs) == 2
        traced.refresh_graph_values()
        np.testing.assert_allclose(node.values[1].numpy(), np.cos([1, 2]), rtol=1e-6)

    def test_the_result_is_the_pytree_that_the_function_returned(self):
        traced = trace(lambda x: {"double": x * 2, "same": [x]}, Tensor([1.0]))
        assert traced.result["double"].item() == 2.0
        assert traced.result["same"][0].item() == 1.0

    def test_it_prints_as_text_with_the_names_of_its_parameters(self):
        lines = str(trace(loss, *arguments())).splitlines()
        assert lines[0] == (
            "trace loss(x: Tensor<f64, [4, 3]>, p.0: Tensor<f64, [2]>, p.1: Tensor<f64, [3, 2]>)"
        )
        assert lines[1].startswith('%0 = input() {name: "x"')
        assert "tanh(%" in str(lines)
        assert "test_trace.py:" in lines[-2]
        assert lines[-1].startswith("outputs: %")

    def test_the_text_is_the_same_every_time(self):
        assert str(trace(loss, *arguments())) == str(trace(loss, *arguments()))

    def test_python_control_flow_on_a_traced_value_is_an_error(self):
        with pytest.raises(AutodiffError, match="not known inside trace"):
            trace(lambda x: x if x.sum() > 0 else -x, Tensor([1.0]))


class TestRehydration:
    def expected(self, x, p):
        return np.tanh(x @ p["w"] + p["b"])

    def check(self, traced, x, p):
        tanh = next(node for node in traced.nodes if node.op == "tanh")
        np.testing.assert_allclose(tanh.values[0].numpy(), self.expected(x, p), rtol=1e-12)

    def test_before_anything_is_computed_nodes_have_no_values(self):
        traced = trace(loss, *arguments())
        assert all(value is None for node in traced.nodes for value in node.values)

    def test_every_node_gets_its_value(self):
        x, p = arguments()
        traced = trace(loss, x, p)
        traced.refresh_graph_values()
        self.check(traced, x.numpy(), {k: v.numpy() for k, v in p.items()})
        assert all(value is not None for node in traced.nodes for value in node.values)

    def test_after_a_realize(self):
        x, p = arguments()
        before = x.numpy(), {k: v.numpy() for k, v in p.items()}
        traced = trace(loss, x, p)
        for tensor in (*traced.outputs, *traced.inputs, x):
            tensor.realize()
        traced.refresh_graph_values()
        self.check(traced, *before)
        np.testing.assert_array_equal(
            backward_on_trace(traced)[0].numpy(), grad(loss)(x, p).numpy()
        )

    def test_after_the_original_tensors_were_reassigned(self):
        x, p = arguments()
        before = x.numpy().copy(), {k: v.numpy().copy() for k, v in p.items()}
        traced = trace(loss, x, p)
        wanted = grad(loss)(x, p).numpy()
        x.assign(Tensor(np.zeros((4, 3)))).realize()
        p["w"].assign(Tensor(np.ones((3, 2)))).realize()
        p["b"] += 7
        traced.refresh_graph_values()
        self.check(traced, *before)
        np.testing.assert_array_equal(backward_on_trace(traced)[0].numpy(), wanted)

    def test_a_value_that_somebody_overwrote_is_bound_to_the_argument_again(self):
        x, p = arguments()
        traced = trace(loss, x, p)
        traced.input_nodes[0].realized = Tensor(np.zeros((4, 3))).realize().uop.arg.buffer
        traced.outputs[0].realize()
        traced.refresh_graph_values()
        self.check(traced, x.numpy(), {k: v.numpy() for k, v in p.items()})

    def test_arguments_that_were_not_computed_yet(self):
        x, p = arguments()
        lazy = x * 2 + 1
        traced = trace(loss, lazy, p)
        traced.refresh_graph_values()
        self.check(traced, x.numpy() * 2 + 1, {k: v.numpy() for k, v in p.items()})

    def test_inside_a_transform_there_are_no_values_to_bind(self):
        def outer(x):
            traced = trace(lambda y: y * 2, x)
            traced.refresh_graph_values()
            return x.sum()

        with pytest.raises(AutodiffError, match="not known inside vmap"):
            vmap(outer)(Tensor([[1.0]]))


class TestDerivatives:
    def test_backward_is_bit_identical_to_grad(self):
        x, p = arguments()
        got = backward_on_trace(trace(loss, x, p))
        wanted = grad(loss, (0, 1))(x, p)
        np.testing.assert_array_equal(got[0].numpy(), wanted[0].numpy())
        for name in ("w", "b"):
            np.testing.assert_array_equal(got[1][name].numpy(), wanted[1][name].numpy())

    def test_backward_with_cotangents_is_the_pullback(self):
        fn = lambda x: (x.sin(), {"c": x * x})  # noqa: E731
        x, g = Tensor([1.0, 2.0]), (Tensor([3.0, 4.0]), {"c": Tensor([5.0, 6.0])})
        (got,) = backward_on_trace(trace(fn, x), g)
        (wanted,) = vjp(fn, x)[1](g)
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-6)

    def test_a_result_returned_twice_adds_its_cotangents(self):
        def fn(x):
            y = x * 3
            return y, y

        (got,) = backward_on_trace(trace(fn, Tensor([1.0])), (Tensor([2.0]), Tensor([5.0])))
        assert got.item() == 21.0

    def test_the_gradient_is_a_graph_inside_another_transform(self):
        def first(x):
            return backward_on_trace(trace(lambda y: (y**3).sum(), x))[0].sum()

        got = grad(first)(Tensor([1.0, 2.0]))
        np.testing.assert_allclose(got.numpy(), [6.0, 12.0], rtol=1e-6)

    def test_an_input_that_is_not_reached_gets_zeros(self):
        got = backward_on_trace(trace(lambda x, y: x.sum(), Tensor([1.0]), Tensor([1.0, 2.0])))
        np.testing.assert_array_equal(got[1].numpy(), [0.0, 0.0])

    def test_forward_is_the_jvp(self):
        x, p = arguments()
        t = (x.cos(), {"w": p["w"].sin(), "b": p["b"]})
        got = forward_on_trace(trace(loss, x, p), t)
        np.testing.assert_array_equal(got.numpy(), jvp(loss, (x, p), t)[1].numpy())

    def test_a_root_that_is_no_scalar_needs_cotangents(self):
        with pytest.raises(AutodiffError, match=r"E5004(.|\n)*pass cotangents"):
            backward_on_trace(trace(lambda x: x * 2, Tensor([1.0, 2.0])))

    def test_cotangents_in_another_pytree_or_shape_are_errors(self):
        traced = trace(lambda x: [x * 2], Tensor([1.0, 2.0]))
        with pytest.raises(ShapeError, match="E3010"):
            backward_on_trace(traced, Tensor([1.0, 1.0]))
        with pytest.raises(AutodiffError, match="another shape"):
            backward_on_trace(traced, [Tensor([1.0])])


class TestSeedFunctions:
    @pytest.mark.parametrize(
        ("shape", "wanted"),
        [((3,), [2.0, 2.0, 2.0]), ((1,), [6.0]), ((), 6.0), ((2, 1), [[3.0], [3.0]])],
    )
    def test_reduce_to_shape_sums_what_was_broadcast(self, shape, wanted):
        got = _reduce_to_shape(Tensor(np.ones((2, 3))), shape)
        np.testing.assert_array_equal(got.numpy(), wanted)

    @pytest.mark.parametrize(("wide", "shape"), [((2, 0), (2, 1)), ((3, 0), (1,)), ((0, 3), (3,))])
    def test_reduce_to_shape_sums_axes_that_were_broadcast_to_nothing(self, wide, shape):
        got = _reduce_to_shape(Tensor.zeros(*wide), shape)
        np.testing.assert_array_equal(got.numpy(), np.zeros(shape))

    @pytest.mark.parametrize(("wide", "shape"), [((2, 3), (2, 2)), ((3,), (2, 3)), ((1,), (0,))])
    def test_reduce_to_shape_refuses_a_shape_that_was_not_broadcast(self, wide, shape):
        with pytest.raises(AutodiffError, match="E5004"):
            _reduce_to_shape(Tensor.zeros(*wide), shape)

    def test_reduce_to_shape_leaves_equal_shapes_alone(self):
        x = Tensor([1.0, 2.0])
        assert _reduce_to_shape(x, (2,)) is x

    def test_accumulate_takes_the_first_and_adds_the_next(self):
        target, first, second = Tensor([0.0]), Tensor([1.0]), Tensor([2.0])
        found: dict[UOp, UOp] = {}
        _accumulate_cotangent(found, target, first)
        assert found[target.uop] is first.uop
        _accumulate_cotangent(found, target.uop, second.uop)
        assert Tensor(found[target.uop]).item() == 3.0
