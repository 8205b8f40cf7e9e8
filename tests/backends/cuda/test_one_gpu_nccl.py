"""A program of one GPU whose collectives NCCL carries: the bits of the CPU, with its gradient."""

from contextlib import contextmanager

import numpy as np
import pytest

from adjoint import Mesh, Tensor, grad
from adjoint.backends.cuda import collectives as steps
from adjoint.ir.member import Member, running_as
from adjoint.ops.collective import (
    all_gather,
    all_reduce,
    all_to_all,
    collective_permute,
    reduce_scatter,
)
from adjoint.runtime.comm import nccl, world
from adjoint.runtime.cuda import problem
from adjoint.runtime.device import has_tools
from adjoint.target import TARGETS
from tests.support.wired_gpus import Nccl, installed

X = np.random.default_rng(0).standard_normal((6, 8)).astype(np.float32)


def told(x, node, *attributes):
    return Tensor(node(x.uop, ("d",), 1, *attributes))


def loss(x):
    """Every collective, of one member: what is moved is a value that a kernel has made."""
    y = told(x * 1.5, all_gather, 1).exp()
    y = told(y, all_to_all, 1, 0) - x
    y = told(y * y, collective_permute, ((0, 0),))
    y = told(y, all_reduce, "sum").sqrt()
    y = told(y + 1, reduce_scatter, 0, "sum")
    return (y * x).sum()


def run(device):
    """The loss and its gradient on a device, twice: the second call is a program that is known."""
    mesh = Mesh(1, "d", [device])
    x = Tensor(X, device=device).realize()
    with running_as(Member(mesh, 0, world.member())):
        found = [t.numpy().tobytes() for _ in range(2) for t in (loss(x), grad(loss)(x))]
    assert found[:2] == found[2:]
    return found[:2]


@contextmanager
def counted(library):
    """The calls of NCCL, counted while they are made."""
    calls, call = [], library.call
    library.call = lambda name, *rest: (calls.append(name), call(name, *rest))
    try:
        yield calls
    finally:
        del library.call


@pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")
def test_collectives_of_one_member_are_carried_by_nccl():
    with installed(1):
        del Nccl.every[:]
        Nccl.every.append(nccl.library()._own)
        assert run("GPU") == run("CPU")
        assert {"ncclAllGather", "ncclSend", "ncclRecv"} <= {*Nccl.calls()}


@pytest.mark.gpu
@pytest.mark.skipif(bool(problem()), reason=problem() or "there is a GPU")
def test_one_real_gpu_has_the_bits_of_the_cpu():
    if not steps.is_installed():
        pytest.skip("NCCL is not installed")
    with counted(nccl.library()) as calls:
        assert run("GPU") == run("CPU")
    assert {"ncclAllGather", "ncclSend", "ncclRecv"} <= {*calls}
