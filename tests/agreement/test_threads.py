"""The bits of a result do not depend on the number of threads, nor on the run."""

import pytest

from tests.agreement.programs import PROGRAMS
from tests.support.processes import printed

RUN = """
import hashlib
import numpy as np
from adjoint import Tensor

rng = np.random.default_rng(0)
make = lambda *shape: rng.standard_normal(shape).astype(np.float32)
arrays = make(300, 517), make(300, 517), make(4, 8, 32, 32), make(16, 8, 3, 3)
index = rng.integers(0, 300, (300, 517))
names = ("x", "y", "image", "filters")
for name, text in {programs}.items():
    leaves = [Tensor(a, device="CPU", requires_grad=True) for a in arrays]
    scope = dict(zip(names, leaves)) | dict(places=Tensor(index, device="CPU"))
    result = eval(text, scope)
    found = [result]
    if result.requires_grad:
        (result * result.sin().detach()).sum().backward()
        found += [t.grad for t in leaves if t.grad is not None]
    found[0].realize(*found[1:])
    digest = hashlib.sha256(b"".join(t.numpy().tobytes() for t in found))
    print(name, digest.hexdigest(), sep="=")
"""


def digests(threads, **settings):
    """The digest of every program's values and gradients, in a process of its own."""
    settings = {"ADJOINT_THREADS": str(threads), **settings}
    found = printed("-c", RUN.replace("{programs}", repr(PROGRAMS)), **settings)
    return dict(line.split("=") for line in found.splitlines())


@pytest.fixture(scope="module")
def alone():
    found = digests(1)
    assert list(found) == list(PROGRAMS)
    return found


@pytest.mark.parametrize("threads", [2, 4])
def test_any_number_of_threads_gives_the_same_bits(alone, threads):
    found = digests(threads)
    assert [name for name in PROGRAMS if found[name] != alone[name]] == []


def test_two_runs_give_the_same_bits(alone):
    assert digests(1, PYTHONHASHSEED="7") == alone
