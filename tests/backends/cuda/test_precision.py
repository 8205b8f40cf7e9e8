"""Mixed precision on a GPU: over a fake one here, and on a real one where there is one."""

import pytest

from adjoint.runtime.cuda import problem
from adjoint.runtime.device import has_tools
from adjoint.target import TARGETS
from tests.anew import compiled_anew
from tests.backends.cuda.precision import CASES, FIRST_SCALE, close, computed, last_scale
from tests.support.devices import on
from tests.support.fake_gpu import fake_gpu

QUICK = ("autocast step bfloat16", "kept in eight bits float8_e4m3fn")
HERE = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CASES]


def check(name):
    """The two devices agree on a case."""
    fn, dtype = CASES[name]
    with on("CPU"):
        wanted = computed(fn, dtype)
    with on("GPU"):
        close(wanted, computed(fn, dtype), dtype)


@pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")
@pytest.mark.parametrize("name", HERE)
def test_a_fake_gpu_computes_what_the_cpu_does(name):
    with compiled_anew(), fake_gpu():
        check(name)


@pytest.mark.gpu
@pytest.mark.skipif(bool(problem()), reason=problem() or "there is a GPU")
@pytest.mark.parametrize("name", CASES)
def test_a_gpu_computes_what_the_cpu_does(name):
    check(name)


@pytest.mark.slow
@pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")
def test_a_scale_ends_where_it_does_on_the_cpu():
    with compiled_anew(), on("CPU"):
        wanted = last_scale()
    with compiled_anew(), fake_gpu(), on("GPU"):
        assert last_scale() == wanted


@pytest.mark.gpu
@pytest.mark.skipif(bool(problem()), reason=problem() or "there is a GPU")
def test_a_scale_ends_no_lower_than_on_the_cpu():
    with on("CPU"):
        wanted = last_scale()
    with on("GPU"):
        assert wanted <= last_scale() < FIRST_SCALE
