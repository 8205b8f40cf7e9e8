"""Linear algebra has the same bits for any number of BLAS threads, and leaves that number alone."""

import dis
import os
import threading
from types import CodeType, FunctionType

import numpy as np
import pytest

from adjoint import Tensor
from adjoint.errors import LinAlgError
from adjoint.ir.opdef import OPS, is_shipped
from adjoint.runtime.blas import on_one_thread, openblas
from tests.support.processes import printed
from tests.support.threads import in_threads

USUAL = 3
HASHES = """
import hashlib
import numpy as np
from adjoint import Device, Tensor, grad, jit, vmap

def show(*results):
    print(*(hashlib.sha1(y.numpy().tobytes()).hexdigest() for y in results))

numbers = np.random.default_rng(0)
square = numbers.standard_normal((150, 150)) + 12 * np.eye(150)
turned = (square + 1j * square.T).astype(np.complex64)
for device in sorted({"CPU", "REF", "C"} & set(Device.available())):
    x, z = Tensor(square, device=device), Tensor(turned, device=device)
    show(x.inv(), x.solve(x.mT), x.pinv(), x.adjugate(), *x.qr(), *x.svd(), *x.slogdet())
    show((x @ x.mT).cholesky(), *(x + x.mT).eigh(), z.solve_triangular(z, False), z @ z)
    show(x.cast("float32") @ x.cast("float32"))
    show(jit(lambda x: x.inv() * 2)(x), grad(lambda x: x.solve(x.mT).sum())(x))
    show(vmap(lambda x: x.inv())(x.stack(x.mT)), grad(lambda x: x.det().log())(x))
"""
CHILD = """
import os, threading
from adjoint import Tensor
from adjoint.runtime.blas import on_one_thread, openblas

get, change = openblas()
change(3)
inside, end = threading.Event(), threading.Event()
thread = threading.Thread(target=on_one_thread, args=(lambda: inside.set() or end.wait(), (), {}))
thread.start()
inside.wait()
child = os.fork()
if not child:
    found = get()
    Tensor([[2.0]]).inv().realize()
    os._exit(10 * found + get())
end.set()
thread.join()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), get())
"""
PRODUCTS = {"linalg", "matmul", "dot", "vdot", "inner", "tensordot", "convolve", "correlate"}
needs_openblas = pytest.mark.skipif(openblas() is None, reason="NumPy has another BLAS")


@pytest.fixture
def threads():
    """Get the number of OpenBLAS's threads, which is the user's here."""
    get, change = openblas()
    before = get()
    change(USUAL)
    yield get
    change(before)


@needs_openblas
def test_the_number_of_blas_threads_changes_no_bit():
    hashes = {printed("-c", HASHES, OPENBLAS_NUM_THREADS=f"{n}") for n in (1, 4)}
    assert len(hashes) == 1


@needs_openblas
def test_blas_has_one_thread_during_a_call_and_the_users_number_after_it(threads):
    assert on_one_thread(threads, (), {}) == 1
    assert threads() == USUAL
    Tensor(np.eye(3)).inv().realize()
    assert threads() == USUAL


@needs_openblas
def test_the_users_number_of_threads_is_restored_after_an_error(threads):
    with pytest.raises(LinAlgError):
        Tensor(np.ones((3, 3))).inv().realize()
    assert threads() == USUAL


@needs_openblas
def test_the_last_of_two_calls_restores_the_users_number_of_threads(threads):
    both_inside, first_is_over = threading.Barrier(2), threading.Event()
    counts = {}

    def count(number):
        both_inside.wait()
        if number:
            first_is_over.wait()
        counts[number] = threads()

    def call(number):
        on_one_thread(count, (number,), {})
        first_is_over.set()

    in_threads(2, call)
    assert counts == {0: 1, 1: 1}
    assert threads() == USUAL


@needs_openblas
def test_many_calls_in_two_threads_restore_the_users_number_of_threads(threads):
    def call(number):
        for _ in range(2000):
            assert on_one_thread(threads, (), {}) == 1

    in_threads(2, call)
    assert threads() == USUAL


@needs_openblas
def test_a_number_that_the_user_sets_during_a_call_stays(threads):
    on_one_thread(openblas()[1], (2,), {})
    assert threads() == 2


@needs_openblas
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_the_child_of_a_fork_during_a_call_has_the_users_number_of_threads():
    assert printed("-c", CHILD).split() == ["33", "3"]


def multiplies(found, seen):
    """Whether a function, or one of ours that it uses, multiplies or factorises matrices."""
    if isinstance(found, dict):
        return any(multiplies(f, seen) for f in found.values())
    if getattr(found, "__module__", None) == "numpy.linalg" or found is np.matmul:
        return True
    ours = isinstance(found, FunctionType) and found.__module__.startswith("adjoint.")
    if not ours or found in seen:
        return False
    seen.add(found)
    codes = list(codes_of(found.__code__))
    names = {name for code in codes for name in code.co_names}
    if names & PRODUCTS or any(s.argrepr == "@" for c in codes for s in dis.get_instructions(c)):
        return True
    kept = [cell.cell_contents for cell in found.__closure__ or ()]
    return any(multiplies(f, seen) for f in [*kept, *map(found.__globals__.get, names)])


def codes_of(code):
    """The code of a function and of those inside."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_of(constant)


def test_the_primitives_whose_references_multiply_matrices_are_those_that_say_so():
    primitives = [op for op in OPS.values() if op.kind == "primitive" and is_shipped(op)]
    multiplying = {op.name for op in primitives if multiplies(op.reference, set())}
    assert multiplying == {op.name for op in primitives if op.uses_blas}
