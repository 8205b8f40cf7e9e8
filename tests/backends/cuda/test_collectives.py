"""Programs of GPUs with collectives: over fake GPUs and a fake NCCL, the bits of the CPU."""

import numpy as np
import pytest

from adjoint import CommunicationError, Mesh, P, Tensor, grad, jit, lower
from adjoint.backends.cuda import collectives as steps
from adjoint.ir.mesh import Sharding
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import toposort
from adjoint.ops.collective import COLLECTIVES, all_gather, all_reduce, all_to_all, reduce_scatter
from adjoint.runtime.device import has_tools
from adjoint.schedule.collectives import collectives_as_moves
from adjoint.target import TARGETS
from tests.support.wired_gpus import Nccl, installed

pytestmark = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")


@pytest.fixture(scope="module")
def several():
    with installed(4) as found:
        yield found


@pytest.fixture
def gpus(several):
    del Nccl.every[:]
    for gpu in several:
        del gpu.calls[:]
    return several


def mesh_of(n, kind="GPU"):
    return Mesh(n, "d", [f"{kind}:{i}" for i in range(n)])


def values(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def laid(mesh, array, *spec):
    return Tensor(array, device=mesh.devices[0]).shard(mesh, P(*spec)).realize()


X, W = values(8, 16), values(16, 6, seed=1)


def test_a_sum_over_gpus_is_carried_by_nccl_and_joined_by_kernels(gpus):
    mesh = mesh_of(2)
    y = laid(mesh, X, None, "d") @ laid(mesh, W, "d")
    assert y.sharding == Sharding(mesh, (), (("d", "sum"),))
    np.testing.assert_allclose(y.exp().numpy(), np.exp(X @ W), rtol=1e-4)
    calls = Nccl.calls()
    assert {"ncclSend", "ncclRecv", "ncclAllGather"} <= {*calls}
    assert "ncclAllReduce" not in calls


@pytest.mark.parametrize("n", [1, 2, 4])
def test_the_bits_are_those_of_simulated_devices(gpus, n):
    """But for products, which are a library's on a GPU."""

    def work(x, w):
        y = (x * w).sum(0) * 0.3
        return [y.exp(), x.cumsum(1), x.flip(1), x[:, 1:] - x[:, :-1], (x.max(1) + 1).sqrt()]

    found = {}
    for kind in ("CPU", "GPU"):
        mesh = mesh_of(n, kind)
        x, w = (
            laid(mesh, np.abs(X), None, "d"),
            laid(mesh, np.abs(values(8, 16, seed=2)), None, "d"),
        )
        rows = laid(mesh, X, "d")
        made = [*jit(work)(x, w), (rows * rows).sum(0), rows.shard(mesh, P(None, "d"))]
        found[kind] = [t.numpy().tobytes() for t in made]
    assert found["CPU"] == found["GPU"]


def test_gradients_and_the_second_call_of_a_jitted_step(gpus):
    mesh = mesh_of(2)

    def loss(w, x):
        return ((x @ w).tanh() ** 2).mean()

    step = jit(lambda w, x: w - 0.1 * grad(loss)(w, x))
    w, x = laid(mesh, W), laid(mesh, X, "d")
    whole = Tensor(W, device="REF")
    for _ in range(3):
        w = step(w, x)
        whole = whole - 0.1 * grad(loss)(whole, Tensor(X, device="REF"))
        np.testing.assert_allclose(w.numpy(), whole.numpy(), rtol=1e-5, atol=1e-6)
    assert w.sharding == Sharding(mesh)


def test_a_collective_is_a_step_of_the_program_on_the_stream(gpus):
    mesh = mesh_of(2)
    step = jit(lambda x: (x * 2).sum(0).exp())
    x = laid(mesh, X, "d")
    step(x)
    for gpu in gpus:
        del gpu.calls[:]
    step(x)
    for gpu in (gpus[0], gpus[1]):  # values do not pass through the host
        assert not {"read", "write", "wait"} & {*gpu.calls}
        assert any(call.startswith("launch") for call in gpu.calls)


def test_the_librarys_groups_are_made_once(gpus):
    mesh = mesh_of(2)
    for i in range(3):
        laid(mesh, X + i, "d").sum(0).exp().realize()
    assert Nccl.calls().count("ncclGetUniqueId") <= 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8", "int64", "bool"])
def test_every_dtype_is_carried(gpus, dtype):
    mesh = mesh_of(2)
    x = (laid(mesh, np.abs(X) * 3, "d")).cast(dtype)
    whole = Tensor(np.abs(X) * 3, device="REF").cast(dtype)
    assert (x.flip(0).cast("float64").numpy() == whole.flip(0).cast("float64").numpy()).all()
    kind = "any" if dtype == "bool" else "max"
    found, wanted = (getattr(t, kind)(0).cast("float64").numpy() for t in (x, whole))
    assert (found == wanted).all()


def test_members_that_call_different_collectives_are_told_apart(gpus):
    from adjoint import distributed

    def script():
        mesh = mesh_of(2)
        rows = 8 if distributed.rank() == 0 else 6
        laid(mesh, values(rows, 4), None, "d").sum(1).exp().realize()

    with pytest.raises(CommunicationError, match="E7020"):
        distributed.simulate(2, script)


def test_without_nccl_the_host_carries(gpus, monkeypatch):
    monkeypatch.setattr(steps, "is_installed", lambda: False)
    mesh = mesh_of(3)
    y = laid(mesh, values(9, 5), "d").sum(0).exp()
    np.testing.assert_allclose(y.numpy(), np.exp(values(9, 5).sum(0)), rtol=1e-5)


def test_programs_without_collectives_are_unchanged(gpus):
    text = lower(lambda x: x.softmax(-1).sum())(Tensor(X, device="GPU")).schedule()
    assert "collective" not in text
    x = OPS["input"].call("x", (4, 4), Tensor(X).uop.dtype)
    assert collectives_as_moves([x.exp()]) == [x.exp()]


# ---- moves


def test_what_is_left_are_moves_along_the_first_dimension():
    x = OPS["input"].call("x", (4, 6, 8), Tensor(X).uop.dtype)
    nodes = [
        all_reduce(x, ("d",), 4, "sum"),
        reduce_scatter(x, ("d",), 2, 1, "max"),
        all_gather(x, ("d",), 2, 2),
        all_to_all(x, ("d",), 2, 1, 0),
    ]
    made = collectives_as_moves(nodes)
    assert [n.shape for n in made] == [n.shape for n in nodes]
    for node in toposort(made):
        if node.op in COLLECTIVES:
            assert node.op in (all_gather, all_to_all)
            assert getattr(node.arg, "dim", 0) == getattr(node.arg, "split", 0) == 0
