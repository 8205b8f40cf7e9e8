"""Adding an op is one record: three that no file of the package knows, run in every way."""

from pathlib import Path

import numpy as np
import pytest

from adjoint import Tensor, grad, jit, jvp, lower, vmap
from adjoint.errors import InternalError
from adjoint.ir.batch import shifted
from adjoint.ir.broadcast import elementwise
from adjoint.ir.derivative import Linear, ZeroGradient
from adjoint.ir.dtype import to_float
from adjoint.ir.kernel_kind import Read, Reduce, View
from adjoint.ir.opdef import OPS, OpDef, define
from adjoint.ir.uop import UOp, _functions
from adjoint.ops import arithmetic
from adjoint.ops.movement import FlipArg
from adjoint.ops.reduce import reduction
from adjoint.ops.samples import given, real, unary
from adjoint.tensor.tensor import lift
from docs.build_ops import page

PACKAGE = Path(__file__).parents[2] / "adjoint"


def toy_elementwise(name: str, **body) -> OpDef:
    """log(1 + x²), by the ops of a formula or by basic ops."""
    return elementwise(
        name,
        "Logarithm of one plus the square.",
        arity=1,
        kinds="f",
        cast=to_float,
        partials=lambda y, x: (2 * x / (1 + x * x),),
        reference=lambda x: np.log1p(np.square(x)),
        samples=unary(),
        **body,
    )


def toy_reduction() -> OpDef:
    return reduction(
        "toy_parity",
        "The exclusive or of all bits along axes.",
        reference=lambda x, axis=None, keepdim=False: np.bitwise_xor.reduce(
            x, axis=axis, keepdims=keepdim
        ),
        ad=ZeroGradient("bits are not numbers"),
        kernel=Reduce("bitwise_xor", lambda dtype: 0),
        kinds="iu",
    )


def toy_view() -> OpDef:
    """Every axis in `axis` begins at its second element and ends with its first."""

    def moved(node, at, space):
        (x,), axes = node.src, node.arg.axis
        # i + 1, and 0 for the last: two reads, of which the one inside is taken.
        ends = [1 - n if d in axes else 0 for d, n in enumerate(x.shape)]
        first = tuple(i + end for i, end in zip(at, ends, strict=True))
        rest = tuple(i + int(d in axes) for d, i in enumerate(at))
        steps = tuple(int(d in axes) for d in range(len(at)))
        return Read(x, first, steps), Read(x, rest, steps)

    def rolled(x, axis, by=-1):
        return np.roll(x, [by] * len(axis), axis)

    return define(
        "toy_roll",
        "The first element of each axis goes to its end.",
        arg=FlipArg,
        call=lambda x, axis: UOp(OPS["toy_roll"], (x,), FlipArg((axis,))),
        infer=lambda src, arg: (src[0].shape, src[0].dtype),
        ad=Linear(lambda g, x, axis: g.roll(1, axis[0])),
        reference=lambda x, axis: rolled(x, (axis,) if isinstance(axis, int) else axis),
        samples=given((real(2, 3), 1), (real(4), 0)),
        batch=shifted("axis"),
        kernel=View(moved, joins=True),
    )


def page_of(record, monkeypatch):
    """Its page, with the record in a file of ops/ and the method that is written from it."""
    name = record.name
    monkeypatch.setattr(arithmetic, name, record, raising=False)
    monkeypatch.setattr(Tensor, name, lambda x, *rest: lift.op(name, x, *rest), raising=False)
    return page(record)


@pytest.fixture
def fresh():
    """Records made by a test are gone after it."""
    before = set(OPS)
    yield
    for name in set(OPS) - before:
        del OPS[name], _functions[name]
        delattr(UOp, name)


def on(name, x, *attributes):
    """The op on a tensor, as the method that every node has."""
    return Tensor(getattr(x.uop, name)(*attributes))


def host_steps(fn, *args):
    return [line for line in str(lower(fn)(*args).schedule()).splitlines() if "host" in line]


BODIES = {
    "formula": {"formula": lambda x: (x * x).log1p()},
    "basic": {"body": lambda x: OPS["log1p"].kernel.body(x * x)},
}


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("body", BODIES)
def test_an_elementwise_op_is_one_record(body, monkeypatch):
    record = toy_elementwise("toy_log", **BODIES[body])
    x = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
    f = lambda t: on("toy_log", t)  # noqa: E731
    wanted = np.log1p(x * x)
    assert np.allclose(f(Tensor(x)).numpy(), wanted, rtol=1e-6)
    assert np.allclose(f(Tensor(x, device="REF")).numpy(), wanted, rtol=1e-6)
    assert host_steps(f, Tensor(x)) == []
    slope = 2 * x / (1 + x * x)
    assert np.allclose(grad(lambda t: f(t).sum())(Tensor(x)).numpy(), slope, rtol=1e-5)
    _, dy = jvp(f, (Tensor(x),), (Tensor(np.ones_like(x)),))
    assert np.allclose(dy.numpy(), slope, rtol=1e-5)
    assert np.allclose(vmap(f)(Tensor(x)).numpy(), wanted, rtol=1e-6)
    jitted = jit(f)
    assert np.allclose(jitted(Tensor(x)).numpy(), wanted, rtol=1e-6)
    assert np.allclose(jitted(Tensor(x)).numpy(), wanted, rtol=1e-6)
    assert "toy_log" in page_of(record, monkeypatch)


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_a_formula_is_rounded_once(dtype):
    toy_elementwise("toy_log", **BODIES["formula"])
    x = Tensor(np.linspace(-2, 2, 33)).cast(dtype)
    exact = np.log1p(np.square(x.cast("float64").numpy()))
    there = on("toy_log", x)
    assert there.dtype.name == dtype
    assert (there.numpy() == Tensor(exact).cast(dtype).numpy()).all() or dtype == "float64"
    assert np.allclose(
        there.cast("float64").numpy(), exact, rtol={"float64": 1e-15}.get(dtype, 0.01)
    )


@pytest.mark.usefixtures("fresh")
def test_an_elementwise_op_without_a_body_runs_on_the_host():
    toy_elementwise("toy_log")
    x = Tensor(np.linspace(-2, 2, 5, dtype=np.float32))
    f = lambda t: on("toy_log", t * 2) + 1  # noqa: E731
    assert np.allclose(f(x).numpy(), np.log1p(np.square(2 * x.numpy())) + 1)
    assert len(host_steps(f, x)) == 1


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("shape", [(3, 5), (7, 100), (1, 1), (2, 3000)])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_a_reduction_is_one_record(shape, axis, monkeypatch):
    record = toy_reduction()
    x = np.random.default_rng(0).integers(-100, 100, shape, dtype=np.int32)
    wanted = np.bitwise_xor.reduce(x, axis=axis)
    f = lambda t: on("toy_parity", t, axis)  # noqa: E731
    assert (f(Tensor(x)).numpy() == wanted).all()
    assert (f(Tensor(x, device="REF")).numpy() == wanted).all()
    assert host_steps(f, Tensor(x)) == []
    assert (jit(f)(Tensor(x)).numpy() == wanted).all()
    if axis == 0:
        rows = vmap(lambda t: on("toy_parity", t, 0))(Tensor(x))
        assert (rows.numpy() == np.bitwise_xor.reduce(x, axis=1)).all()
    assert "toy_parity" in page_of(record, monkeypatch)


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("axis", [0, 1])
def test_a_view_is_one_record(axis, monkeypatch):
    record = toy_view()
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    wanted = np.roll(x, -1, axis)
    f = lambda t: on("toy_roll", t, axis)  # noqa: E731
    assert (f(Tensor(x)).numpy() == wanted).all()
    assert (f(Tensor(x, device="REF")).numpy() == wanted).all()
    fused = lambda t: (f(t * 2) + 1).reshape(-1).sum()  # noqa: E731
    assert fused(Tensor(x)).numpy() == (2 * wanted + 1).sum()
    assert host_steps(fused, Tensor(x)) == []
    weights = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    slope = grad(lambda t: (f(t) * Tensor(weights)).sum())(Tensor(x)).numpy()
    assert (slope == np.roll(weights, 1, axis)).all()
    _, dy = jvp(f, (Tensor(x),), (Tensor(weights),))
    assert (dy.numpy() == np.roll(weights, -1, axis)).all()
    stacked = np.stack([x, 2 * x])
    assert (vmap(f)(Tensor(stacked)).numpy() == np.stack([wanted, 2 * wanted])).all()
    assert (jit(f)(Tensor(x)).numpy() == wanted).all()
    assert "toy_roll" in page_of(record, monkeypatch)


def test_a_reduction_that_no_lanes_can_join_is_refused():
    with pytest.raises(InternalError, match="joined by 'hypot'"):
        Reduce("hypot", lambda dtype: 0)


@pytest.mark.parametrize("name", ["erfinv", "atan2", "lgamma", "sigmoid", "logaddexp"])
def test_a_function_of_mathematics_is_in_one_file(name):
    """Its record, its reference and its arithmetic; composites and others only use it."""
    found = [
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        if f'"{name}"' in file.read_text(encoding="utf-8")
        and file.relative_to(PACKAGE).parts[0]
        in ("ops", "kernel", "schedule", "codegen", "runtime")
    ]
    assert len(found) == 1, found
    assert found[0].startswith("ops/mathematics/")
