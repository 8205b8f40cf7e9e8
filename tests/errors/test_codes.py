"""Every error code that can be raised has a call that raises it; the rest say why there is none."""

import os
import pickle
import re
import time
from pathlib import Path

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, nn
from adjoint.cli import dispatch, launch
from adjoint.errors import CODES, PHASES, AdjointError
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.module import GradientOptions, differentiate, parse
from adjoint.nn import parallel
from adjoint.ops.collective import all_reduce
from adjoint.runtime.comm import local

PACKAGE = Path(adjoint.__file__).parent


def _matrix(*shape, **named):
    return Tensor(np.ones(shape, np.float32), **named)


def _odd_file(folder):
    file = folder / "odd.bin"
    file.write_bytes(b"abc")
    return Tensor(file, dtype="int16")


def _damaged(folder):
    file = folder / "damaged.safetensors"
    file.write_bytes(b"\xff" * 20)
    return file


class Dies:
    """A dataset whose worker ends without a word."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        os._exit(3)


class Sleeps(Dies):
    """A dataset whose worker does not answer."""

    def __getitem__(self, index):
        time.sleep(60)


def _on_mesh(name):
    return _matrix(2).shard(adjoint.Mesh(2, name), adjoint.P(name))


def _members(body):
    return local.run(2, body, limit=0.1)


def _reduce(member, kind):
    member.all_reduce(np.ones(2), np.ones(2), kind, label="")


def launch_options(*words):
    return dispatch.command_parser("launch").parse_args(["-n", "2", *words, __file__])


ONE = "%0 = ConstF32(1.0) : Tensor<f32, []>\n"

RAISES = {
    "E1001": lambda tmp: parse(b"\xff"),
    "E1002": lambda tmp: parse(ONE + "%1 = Neg(%0) ? : Tensor<f32, []>\noutputs: %1"),
    "E1003": lambda tmp: parse('%0 = Input() {name: "x'),
    "E1004": lambda tmp: parse(r'%0 = Input() {name: "\q"} : Tensor<f32, []>'),
    "E1005": lambda tmp: parse(f"%0 = ConstI64({'9' * 500}) : Tensor<i64, []>"),
    "E1006": lambda tmp: parse("/* no end"),
    "E2001": lambda tmp: Tensor([1.0], dtype="float31"),
    "E2002": lambda tmp: Tensor([1.0]).reshap,
    "E2003": lambda tmp: adjoint.result_type(1, 2.0),
    "E2004": lambda tmp: Tensor([1.0]).assign(Tensor([1])),
    "E2005": lambda tmp: -Tensor([True]),
    "E2006": lambda tmp: Tensor([300], dtype="uint8"),
    "E2007": lambda tmp: Tensor([1.0]).softmax(0, None, 5, 6),
    "E2008": lambda tmp: Tensor([1.0]).gelu("erf"),
    "E3001": lambda tmp: _matrix(2, 3) + _matrix(2, 4),
    "E3002": lambda tmp: _matrix(2, 3) @ Tensor(1.0),
    "E3003": lambda tmp: _matrix(2, 3) @ _matrix(4, 5),
    "E3004": lambda tmp: _matrix(2, 3).max(2),
    "E3005": lambda tmp: _matrix(2, 3).max((0, -2)),
    "E3006": lambda tmp: _matrix(0, 3).max(0),
    "E3007": lambda tmp: _matrix(2, 3).reshape(4),
    "E3008": lambda tmp: _matrix(2, 3).permute(0, 0),
    "E3009": lambda tmp: adjoint.squeeze(_matrix(2, 3), 0),
    "E3010": lambda tmp: Tensor([[1], [2, 3]]),
    "E4001": lambda tmp: parse("%0 = Neg(%1) : Tensor<f32, []>\noutputs: %0"),
    "E4002": lambda tmp: parse(ONE + ONE + "outputs: %0"),
    "E4003": lambda tmp: parse(ONE + "outputs: %7"),
    "E4004": lambda tmp: parse("%0 = Input() : Tensor<f32, []>\noutputs: %0"),
    "E4005": _odd_file,
    "E4006": lambda tmp: _matrix(2)[0, 0],
    "E4007": lambda tmp: _matrix(2, 3).shrink(((0, 1),)),
    "E4008": lambda tmp: _matrix(4)[::0],
    "E4009": lambda tmp: _matrix(1, 2, 3, 3).conv2d(_matrix(1, 3, 1, 1)),
    "E4010": lambda tmp: _matrix(1, 2, 3, 3).conv2d(_matrix(1, 2, 1, 1), stride=0),
    "E4011": lambda tmp: _matrix(3).gather(0, _matrix(2)),
    "E4012": lambda tmp: _matrix(1).expand(3).assign(0.0),
    "E5001": lambda tmp: _without_derivative(),
    "E5002": lambda tmp: _one_cotangent_of_two(),
    "E5003": lambda tmp: _gradient_of_an_unverified_module(),
    "E5004": lambda tmp: _matrix(2, requires_grad=True).backward(),
    "E5005": lambda tmp: Tensor([1]).requires_grad_(),
    "E6001": lambda tmp: _matrix(3).gather(0, Tensor([3])).realize(),
    "E6002": lambda tmp: Tensor([1.0], device="GPUU"),
    "E6003": lambda tmp: Tensor(_several_results()).realize(),
    "E6004": lambda tmp: Tensor.ones(2**45).realize(),
    "E6006": lambda tmp: _matrix(2, 2).inv().realize(),
    "E6007": lambda tmp: list(adjoint.data.Loader(Sleeps(), 2, workers=1, timeout=0.2)),
    "E6008": lambda tmp: Tensor([1.0], device="CPU") + Tensor([1.0], device="REF"),
    "E6009": lambda tmp: adjoint.jit(lambda x: x.exp(), memory_limit=1)(_matrix(2)),
    "E7001": lambda tmp: adjoint.Mesh((2, 0)),
    "E7002": lambda tmp: _matrix(2).shard(adjoint.Mesh(2, "d"), adjoint.P("dp")),
    "E7003": lambda tmp: _on_mesh("a") + _on_mesh("b"),
    "E7004": lambda tmp: _matrix(2).shard(adjoint.Mesh(2, "d"), adjoint.P(None, "d")),
    "E7005": lambda tmp: Tensor(all_reduce(_matrix(2).uop, ("d",), 2, "sum")).realize(),
    "E7006": lambda tmp: adjoint.reduction_order("quick"),
    "E7007": lambda tmp: parallel.shard_model(nn.Linear(2, 2), adjoint.Mesh({"pp": 2})),
    "E7008": lambda tmp: parallel.shard_batch(adjoint.Mesh({"pp": 2}), _matrix(3)),
    "E7020": lambda tmp: _members(lambda m: m.barrier(label="") if m.rank else _reduce(m, "sum")),
    "E7021": lambda tmp: _members(lambda m: m.rank or m.barrier(label="")),
    "E7022": lambda tmp: _members(lambda m: time.sleep(0.3) if m.rank else m.barrier(label="")),
    "E7023": lambda tmp: _members(lambda m: _reduce(m, "mean")),
    "E7024": lambda tmp: launch.run(launch_options("--mpirun", "no-such-mpirun")),
    "E9001": lambda tmp: adjoint.nn.state.safe_load(_damaged(tmp)),
    "E9002": lambda tmp: adjoint.nn.Linear(2, 3).load_state_dict({}),
    "E9003": lambda tmp: adjoint.data.Dataset(np.ones(3), np.ones(4)),
    "E9004": lambda tmp: list(adjoint.data.Loader(Dies(), 2, workers=1)),
    "E9005": lambda tmp: adjoint.training.Loop(1, quiet=True).report(loss=float("nan")),
    "E9006": lambda tmp: adjoint.training.save_curves(tmp / "gone" / "a.svg", {}),
}

NOT_YET = {
    "E6005": "integers wrap by definition; no op checks for overflow",
}


def _several_results():
    """A node with three results, of which none is picked."""
    return UOp(OPS["svd_reduced"], (_matrix(2, 2).uop,))


def _without_derivative():
    """Singular vectors beyond the shorter side are not unique."""
    x = _matrix(3, 2, requires_grad=True)
    return x.svd()[0].sum().backward()


def _one_cotangent_of_two():
    """A rule that gives one cotangent where the function has two arguments."""
    product = adjoint.custom_vjp(lambda x, y: x * y)
    product.defvjp(lambda x, y: (x * y, None), lambda saved, g: (g,))
    return adjoint.grad(lambda x: product(x, x).sum())(_matrix(2))


def _gradient_of_an_unverified_module():
    """Without verification a wrong axis is found only while the gradient is built."""
    lines = [
        '%0 = Input() {name: "x"} : Tensor<f32, [2]>',
        "%1 = Sum(%0, [5], false) : Tensor<f32, []>",
    ]
    module = parse("\n".join([*lines, "outputs: %1"]), verified=False)
    return differentiate(module, options=GradientOptions(verify=False))


def _error(code, folder):
    with pytest.raises(AdjointError) as caught:
        RAISES[code](folder)
    return caught.value


@pytest.mark.parametrize("code", RAISES)
def test_the_code_is_raised(code, tmp_path):
    error = _error(code, tmp_path)
    assert error.code == code
    assert str(error).startswith(f"{code}: ")


@pytest.mark.parametrize("code", RAISES)
def test_the_error_is_public_and_pickles(code, tmp_path):
    error = _error(code, tmp_path)
    assert getattr(adjoint, type(error).__name__) is type(error)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.code, again.op) == (str(error), error.code, error.op)
    assert (again.operands, again.help) == (error.operands, error.help)


def test_every_code_is_raised_or_says_why_not():
    assert RAISES.keys() | NOT_YET.keys() == CODES.keys()
    assert not RAISES.keys() & NOT_YET.keys()


def test_codes_that_are_not_raised_yet_are_nowhere_in_the_code():
    used = set()
    for file in PACKAGE.rglob("*.py"):
        if file.name != "errors.py":
            used |= set(re.findall(r'"(E\d{4})"', file.read_text(encoding="utf-8")))
    assert not used & NOT_YET.keys()


def test_the_first_digit_of_a_code_is_its_phase():
    assert {code[1] for code in CODES} <= PHASES.keys()
    assert (PHASES["7"], PHASES["8"], PHASES["9"]) == ("sharding", "compilation", "training")


def test_an_unknown_code_is_our_own_fault():
    with pytest.raises(adjoint.InternalError):
        adjoint.ShapeError("E9999", "no such code")


@pytest.mark.parametrize(
    ("kind", "base"),
    [
        (adjoint.ShapeError, ValueError),
        (adjoint.DTypeError, TypeError),
        (adjoint.BoundsError, IndexError),
        (adjoint.DeviceError, RuntimeError),
        (adjoint.VerificationError, ValueError),
        (adjoint.TextError, ValueError),
        (adjoint.AutodiffError, RuntimeError),
        (adjoint.UnknownNameError, AttributeError),
        (adjoint.ArgumentError, ValueError),
        (adjoint.ArgumentError, TypeError),
        (adjoint.AxisError, IndexError),
        (adjoint.AxisError, ValueError),
        (adjoint.IndexKindError, IndexError),
        (adjoint.IndexKindError, TypeError),
        (adjoint.ScalarError, TypeError),
        (adjoint.ScalarError, ValueError),
        (adjoint.LinAlgError, np.linalg.LinAlgError),
        (adjoint.MatrixError, np.linalg.LinAlgError),
    ],
)
def test_an_error_is_also_the_exception_python_would_raise(kind, base):
    assert issubclass(kind, AdjointError)
    assert issubclass(kind, base)
