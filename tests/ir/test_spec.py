"""`verify`: what a well-formed graph is at each level, and how a broken one is named."""

import pytest

from adjoint import Tensor
from adjoint.engine import interpreter
from adjoint.errors import AdjointError, DeviceError, InternalError, VerificationError
from adjoint.ir import uop
from adjoint.ir.dtype import VOID, dtypes, pointer
from adjoint.ir.expand import expand
from adjoint.ir.opdef import OPS
from adjoint.ir.spec import verify, verify_order
from adjoint.ir.uop import UOp
from adjoint.ops import loop_ops as k
from tests.ops.cases import RECORDS, adapted, call, dtypes_of, outputs

a, b = OPS["input"]("a", (2, 3), "float32"), OPS["input"]("b", (2, 3), "float32")


def broken(op, src, arg=None, shape=(2, 3), dtype=dtypes.float32, device=None):
    """A node as a faulty pass could leave it: nothing is checked."""
    node = object.__new__(uop._Unfinished)
    node.op, node.src, node.arg = op, src, arg
    node.shape, node.dtype, node.device = shape, dtype, device
    node._origin, node.realized = None, None
    node.__class__ = UOp
    return node


def fails(code, match, *roots, level="tensor"):
    with pytest.raises(VerificationError, match=match) as caught:
        verify(roots, level)
    assert caught.value.code == code
    return caught.value


# ---- tensor level


def test_graphs_that_the_ops_build_are_well_formed():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    y = (x @ x.T).softmax(1).sum().log() + x.max() * 2
    verify([y.uop])
    verify(expand([y.uop]))


def test_a_wrong_shape_is_found():
    fails("E3003", "shape", broken(OPS["add"], (a, b), shape=(3, 2)))


def test_a_wrong_dtype_is_found():
    fails("E2001", "dtype", broken(OPS["add"], (a, b), dtype=dtypes.float64))


def test_a_wrong_device_is_found():
    fails("E6008", "device", broken(OPS["add"], (a, b), device="GPU"))


def test_operands_on_different_devices_are_found():
    here = OPS["input"]("h", (2, 3), "float32", "REF")
    there = OPS["input"]("t", (2, 3), "float32", "CPU")
    fails("E6008", "different devices", broken(OPS["add"], (here, there), device="REF"))


def test_a_missing_operand_is_found():
    fails("E2007", "missing", broken(OPS["add"], (a,)))


def test_one_operand_too_many_is_found():
    shape = OPS["reshape"].arg((2, 3))
    fails("E2007", "operands", broken(OPS["reshape"], (a, b), shape))


def test_attributes_of_another_op_are_found():
    fails("E2001", "ReduceArg", broken(OPS["reshape"], (a,), OPS["reduce_sum"].arg((0,), False)))
    fails("E2001", "NoneType", broken(OPS["reshape"], (a,)))


def test_derived_ops_are_no_nodes():
    fails("E2002", "no op", broken(OPS["div"], (a, b)))


def test_an_op_of_the_kernel_level_is_found():
    fails("E2001", "belongs to the kernel level", k.range_(0, 4))


def test_the_error_names_the_operands_and_the_line():
    here = [OPS["input"](f"of test_spec {i}", (2, 3), "float32") for i in range(2)]
    error = fails("E3003", "add", broken(OPS["add"], tuple(here), shape=(3, 2)))
    assert "f32[2, 3]" in str(error)
    assert "test_spec.py" in str(error)


def test_there_are_two_levels():
    with pytest.raises(InternalError, match="no level"):
        verify([a], "cosmic")


def test_deep_graphs_are_verified_without_recursion():
    node = a
    for _ in range(20_000):
        node = -node
    verify([node])


def test_scheduling_verifies_when_asked(monkeypatch):
    bad = broken(OPS["neg"], (a,), shape=(9,))
    monkeypatch.setenv("ADJOINT_VERIFY", "1")
    with pytest.raises(VerificationError):
        interpreter.schedule([bad])


# ---- kernel ops


def memory(size=16, mutable=True, dtype="float32", slot=0):
    return k.define_global(slot, f"data{slot}", mutable, dtype, size)


def number(value, dtype="float32"):
    return OPS["const"](value, dtype)


def test_kernel_ops_are_no_methods_of_nodes_or_tensors():
    for record in OPS.values():
        if record.level == "kernel":
            assert record.name not in UOp.__dict__
            assert record.name not in Tensor.__dict__


def test_kernel_ops_have_no_derivative_and_are_not_run():
    for record in OPS.values():
        if record.level == "kernel":
            assert "kernel level" in record.ad.reason
            with pytest.raises(DeviceError, match="kernel level"):
                record.reference()


def test_types_of_memory_and_accesses():
    out, i = memory(), k.range_(0, 16)
    assert out.dtype is pointer(dtypes.float32, mutable=True)
    assert k.load(out, i).dtype is dtypes.float32
    assert k.load(out, i, width=4).shape == (4,)
    assert k.store(out, i, number(1.0)).dtype is VOID
    assert k.define_local("tmp", "int8", 4).dtype is pointer(dtypes.int8, True, True)


VECTOR = k.vectorize(number(1.0), number(2.0))


@pytest.mark.parametrize(
    ("code", "match", "build"),
    [
        ("E2001", "read-only", lambda: k.store(memory(mutable=False), 0, number(1.0))),
        ("E2001", "is memory", lambda: k.load(number(1.0), 0)),
        ("E4011", "index is an integer", lambda: k.load(memory(), number(1.0))),
        ("E3002", "index is a scalar", lambda: k.load(memory(), OPS["const"](0, "int32", (2,)))),
        ("E2004", "another dtype", lambda: k.store(memory(), 0, number(1, "int32"))),
        ("E2007", "alternative", lambda: k.load(memory(), 0, number(True, "bool"))),
        (
            "E2004",
            "alternative",
            lambda: k.load(memory(), 0, number(True, "bool"), number(1, "int32")),
        ),
        ("E2001", "gate", lambda: k.store(memory(), 0, number(1.0), number(1, "int32"))),
        ("E2005", "scalar bool", lambda: k.if_(number(1.0))),
        ("E2001", "ends a range", lambda: k.end_range(number(1.0))),
        ("E2007", "ends an if", lambda: UOp(k.endif)),
        ("E2001", "effects", lambda: k.sink(number(1.0))),
        ("E2001", "define_acc", lambda: k.phi(number(1.0), number(1.0), k.range_(0, 4))),
        ("E2007", "accumulator", lambda: k.phi(k.define_acc(number(0.0), 0), number(1.0))),
        ("E2004", "dtypes differ", lambda: k.vectorize(number(1.0), number(1, "int8"))),
        ("E3002", "scalars", lambda: k.vectorize(VECTOR, VECTOR)),
        ("E6001", "outside", lambda: k.gep(VECTOR, 2)),
        ("E3006", "times", lambda: k.range_(0, -1)),
        ("E3006", "empty", lambda: k.variable("n", 3, 2)),
        ("E2006", "not values", lambda: k.variable("n", 0, 300, "uint8")),
    ],
)
def test_kernel_ops_check_their_operands(code, match, build):
    with pytest.raises(AdjointError, match=match) as caught:
        build()
    assert caught.value.code == code


# ---- kernel level: scopes


def test_a_kernel_with_a_loop():
    out, src, i = memory(), memory(slot=1, mutable=False), k.range_(0, 16)
    store = k.store(out, i, k.load(src, i) * 2)
    verify([k.sink(k.end_range(i, store))], "kernel")


def test_a_kernel_with_a_reduction():
    out, src, i, r = memory(4), memory(slot=1), k.range_(0, 4), k.range_(1, 4)
    acc = k.define_acc(number(0.0), 0)
    total = k.phi(acc, acc + k.load(src, i * 4 + r), r)
    verify([k.sink(k.end_range(i, k.store(out, i, total)))], "kernel")


def test_a_kernel_that_stores_running_sums():
    out, src, r = memory(), memory(slot=1), k.range_(0, 16)
    acc = k.define_acc(number(0.0), 0)
    total = acc + k.load(src, r)
    last = k.store(memory(1, slot=2), 0, k.phi(acc, total, r))
    verify([k.sink(k.end_range(r, k.store(out, r, total)), last)], "kernel")


def test_a_kernel_with_an_if():
    out, i = memory(), k.range_(0, 20)
    inside = k.if_(i < 16)
    store = k.store(out, i, number(1.0), inside)
    verify([k.sink(k.end_range(i, k.endif(inside, store)))], "kernel")


def test_a_kernel_with_local_memory():
    tmp, out, i = k.define_local("tmp", "float32", 16), memory(), k.special("lidx0", 16)
    ready = k.barrier(k.store(tmp, i, number(1.0)))
    store = k.store(out, i, k.load(k.after(tmp, ready), 15 - i))
    verify([k.sink(store)], "kernel")


def test_a_loop_that_is_not_ended_is_found():
    out, i = memory(), k.range_(0, 16)
    sink = k.sink(k.store(out, i, number(1.0)))
    fails("E4001", "used by store outside its scope", sink, level="kernel")


def test_a_counter_used_after_its_loop_is_found():
    out, i = memory(), k.range_(0, 16)
    sink = k.sink(k.end_range(i, k.store(out, i, number(1.0))), k.store(out, i, number(2.0)))
    fails("E4001", "outside its scope", sink, level="kernel")


def test_an_if_that_is_not_ended_is_found():
    out, inside = memory(), k.if_(k.special("gidx0", 4) < 2)
    fails("E4001", "endif", k.sink(k.store(out, 0, number(1.0), inside)), level="kernel")


def test_an_accumulator_without_an_update_is_found():
    acc = k.define_acc(number(0.0), 0)
    fails("E4001", "never updated", k.sink(k.store(memory(), 0, acc)), level="kernel")


def test_an_accumulator_with_two_updates_is_found():
    acc, r = k.define_acc(number(0.0), 0), k.range_(0, 4)
    both = k.phi(acc, acc + 1, r) + k.phi(acc, acc + 2, r)
    fails("E4002", "updated twice", k.sink(k.store(memory(), 0, both)), level="kernel")


def test_an_access_that_is_certainly_outside_is_found():
    i = k.range_(0, 4)
    store = k.store(memory(16), i + 16, number(1.0))
    fails("E6001", "outside a buffer of 16", k.sink(k.end_range(i, store)), level="kernel")


def test_tensors_have_no_place_in_a_kernel():
    fails("E3002", "scalars and vectors", a + b, level="kernel")
    fails("E2001", "belongs to the tensor level", a.reshape(6).exp(), level="kernel")


# ---- lists in running order


def in_order(*nodes):
    verify_order(list(dict.fromkeys(m for n in nodes for m in n.toposort())))


def test_a_list_in_running_order():
    out, i = memory(dtype="int32"), k.range_(0, 10)
    in_order(i, k.store(out, i, i), k.end_range(i))


def test_a_list_with_a_reduction_uses_the_result_after_the_loop():
    acc, out, r = k.define_acc(number(0.0), 0), memory(), k.range_(0, 4)
    total = k.phi(acc, acc + k.load(memory(slot=1), r), r)
    in_order(acc, r, total, k.end_range(r), k.store(out, 0, total))


def order_fails(code, match, nodes):
    with pytest.raises(VerificationError, match=match) as caught:
        verify_order(nodes)
    assert caught.value.code == code


def test_a_list_with_a_source_behind_its_user():
    i, zero = k.range_(0, 10), number(0, "int32")
    order_fails("E4001", "comes later", [i, i + zero, zero])


def test_a_list_with_a_node_twice():
    order_fails("E4002", "twice", [number(1.0), number(1.0)])


def test_a_list_with_a_loop_left_open():
    order_fails("E4001", "never ended", [k.range_(0, 10)])


def test_a_list_with_loops_that_cross():
    i, j = k.range_(0, 10), k.range_(1, 10)
    order_fails("E4001", "innermost", [i, j, k.end_range(i), k.end_range(j)])


def test_a_list_that_uses_a_value_after_its_loop():
    out, i = memory(dtype="int32"), k.range_(0, 10)
    one, zero = number(1, "int32"), number(0, "int32")
    nodes = [out, one, zero, i, i + one, k.end_range(i), k.store(out, zero, i + one)]
    order_fails("E4001", "scope that has ended", nodes)


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r.name)
def test_what_every_op_builds_is_well_formed(record):
    dtype = next(d for d in (dtypes.float32, *dtypes_of(record)) if d in dtypes_of(record))
    for sample in record.samples():
        results = outputs(call(record, adapted(sample, dtype)))
        roots = [r.uop for r in results if isinstance(r, Tensor)]
        verify(roots)
        verify(expand(roots))
