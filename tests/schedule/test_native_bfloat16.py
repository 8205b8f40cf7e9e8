"""`native_bfloat16`: other last bits where it is on, none where it is not."""

from dataclasses import replace
from textwrap import dedent

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, Variable, grad, jit, lower, native_bfloat16
from adjoint.backends.cpu import BACKEND
from adjoint.engine.program_cache import PROGRAMS
from tests.support.processes import printed

UNITS = any(unit.dtype == "bfloat16" for unit in BACKEND.target.matrix_units)
pytestmark = pytest.mark.usefixtures("cpu")
has_units = pytest.mark.skipif(not UNITS, reason="this processor has no instruction for bfloat16")
STEP = 2.0**-24  # of float32: half a unit in the last place


def drawn(*shape, seed=0):
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return Tensor(values.astype(np.float32)).cast("bfloat16").realize()


def wide(x):
    return x.numpy().astype(np.float64)


def sums(a, b):
    return a.dot(b, dtype="float32")


def off(found, a, b, fn=np.matmul):
    """The largest error, in steps of float32, of a sum of absolute values."""
    exact, size = fn(wide(a), wide(b)), fn(np.abs(wide(a)), np.abs(wide(b)))
    return (np.abs(found.astype(np.float64) - exact) / np.maximum(size, 1e-300)).max() / STEP


@pytest.mark.parametrize("k", [64, 255, 1024, 1025, 5000])
def test_the_error_is_that_of_sums_in_float32(k):
    a, b = drawn(70, k, seed=1), drawn(k, 300, seed=2)
    plain = sums(a, b).numpy()
    with native_bfloat16():
        native = sums(a, b).numpy()
    assert max(off(plain, a, b), off(native, a, b)) < 4 * np.sqrt(k)
    assert (native != plain).any() == UNITS


@has_units
def test_it_is_the_instruction_that_computes():
    a, b = drawn(64, 512), drawn(512, 64)
    for fn in (sums, lambda a, b: a @ b, lambda a, b: a.T @ b.T):
        assert "fma(" in "".join(lower(fn)(a, b).kernels())
        with native_bfloat16():
            found = "".join(lower(fn)(a, b).kernels())
        assert "dot_words(" in found
        assert "fma(" not in found


def test_values_inside_are_native_and_those_outside_are_not():
    a, b = drawn(64, 700, seed=1), drawn(700, 64, seed=2)
    plain = sums(a, b).numpy().tobytes()
    with native_bfloat16():
        native = sums(a, b).numpy().tobytes()
        with native_bfloat16(False):
            assert sums(a, b).numpy().tobytes() == plain
        assert sums(a, b).numpy().tobytes() == native
    assert sums(a, b).numpy().tobytes() == plain
    assert (native != plain) == UNITS


def test_a_jitted_function_follows_the_setting_of_its_call():
    a, b = drawn(64, 700, seed=1), drawn(700, 64, seed=2)
    step = jit(sums)
    plain = step(a, b).numpy().tobytes()
    with native_bfloat16():
        native = step(a, b).numpy().tobytes()
    assert step(a, b).numpy().tobytes() == plain
    assert step.traces == 2
    assert (native != plain) == UNITS


def test_programs_on_disk_are_kept_apart(own_cache):
    script = dedent("""
        import hashlib, sys
        import numpy as np
        from adjoint import Tensor, native_bfloat16
        x = np.random.default_rng(0).standard_normal((256, 256)).astype(np.float32)
        x = Tensor(x).cast("bfloat16").realize()
        native_bfloat16(sys.argv[1] == "on")
        print(hashlib.sha256((x @ x).cast("float32").numpy().tobytes()).hexdigest())
    """)
    found = [printed("-c", script, how) for how in ("on", "off", "on", "off")]
    assert found[:2] == found[2:]
    assert (found[0] != found[1]) == UNITS


def test_the_environment_says_what_is_on_at_first():
    script = "from adjoint.ir.exactness import native_bfloat16 as n; print(n.allowed())"
    assert printed("-c", script).strip() == "False"
    assert printed("-c", script, ADJOINT_NATIVE_BFLOAT16="1").strip() == "True"


SCRIPT = dedent("""
    import hashlib
    import numpy as np
    from adjoint import Tensor, native_bfloat16
    native_bfloat16()
    found = hashlib.sha256()
    random = np.random.default_rng(0)
    for m, k, n in ((100, 300, 100), (33, 2050, 77), (300, 70, 300)):
        a, b = (random.standard_normal(s).astype(np.float32) for s in ((m, k), (k, n)))
        a, b = (Tensor(x).cast("bfloat16") for x in (a, b))
        found.update((a @ b).cast("float32").numpy().tobytes())
    print(found.hexdigest())
""")


def test_the_number_of_threads_changes_no_bit():
    settings = [{"ADJOINT_THREADS": count} for count in ("1", "2", "4")]
    assert len({printed("-c", SCRIPT, **setting) for setting in settings}) == 1


def test_other_dtypes_and_other_ops_keep_their_bits():
    x = np.random.default_rng(0).standard_normal((128, 256)).astype(np.float32)
    fns = {
        "float32": lambda x: x @ x.T,
        "float16": lambda x: x.cast("float16") @ x.cast("float16").T,
        "rounded": lambda x: (x.cast("bfloat16") * 2).exp().sum(0),
        "one side": lambda x: x.cast("bfloat16").cast("float32") @ x.T,
    }
    plain = {name: fn(Tensor(x)).cast("float32").numpy().tobytes() for name, fn in fns.items()}
    with native_bfloat16():
        for name, fn in fns.items():
            assert fn(Tensor(x)).cast("float32").numpy().tobytes() == plain[name], name


def test_without_the_instruction_nothing_changes(monkeypatch):
    monkeypatch.setattr(BACKEND, "target", replace(BACKEND.target, matrix_units=()))
    PROGRAMS.clear()
    a, b = drawn(64, 700, seed=1), drawn(700, 64, seed=2)
    plain = sums(a, b).numpy().tobytes()
    with native_bfloat16():
        assert sums(a, b).numpy().tobytes() == plain
    PROGRAMS.clear()


def test_infinities_and_nans_are_what_they_are():
    a, b = np.ones((64, 512), np.float32), np.ones((512, 64), np.float32)
    a[3, 5], a[4, 6], b[7, 9] = np.inf, np.nan, -np.inf
    x, y = (Tensor(v).cast("bfloat16") for v in (a, b))
    with native_bfloat16():
        found = sums(x, y).numpy()
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, a @ b)


def test_gradients_of_a_layer_and_of_a_convolution_are_near():
    x, w = drawn(256, 300, seed=1), drawn(300, 128, seed=2)
    picture, kernel = drawn(4, 16, 20, 20, seed=3), drawn(32, 16, 3, 3, seed=4)

    def layer(w):
        return ((x @ w).relu().cast("float32") ** 2).mean()

    def convolution(k):
        return (picture.conv2d(k, padding=1).cast("float32") ** 2).mean()

    for fn, at in ((layer, w), (convolution, kernel)):
        plain = grad(fn)(at).cast("float32").numpy()
        with native_bfloat16():
            native = grad(fn)(at).cast("float32").numpy()
        error = np.linalg.norm(native - plain) / np.linalg.norm(plain)
        assert error < 2.0**-8, error


@pytest.mark.parametrize("axes", [(0, None), (None, 1), (1, 0)])
def test_sizes_that_vary_give_the_bits_of_plain_ones(axes):
    n, step = Variable("n", 1, 400), jit(sums)
    with native_bfloat16():
        for size in (200, 399, 130):
            a, b = drawn(400, 400, seed=1).numpy(), drawn(400, 400, seed=2).numpy()
            a, b = (_cut(v, size, axis) for v, axis in zip((a, b), axes, strict=True))
            x, y = (_bound(v, n, size, axis) for v, axis in zip((a, b), axes, strict=True))
            plain = sums(Tensor(a), Tensor(b)).numpy()
            np.testing.assert_array_equal(step(x, y).numpy(), plain)


def _cut(array, size, axis):
    return np.take(array, range(size), axis) if axis is not None else array


def _bound(array, n, size, axis):
    shape = [n.bind(size) if d == axis else int(s) for d, s in enumerate(array.shape)]
    return Tensor(array).reshape(*shape)


def test_it_is_a_public_name():
    assert adjoint.native_bfloat16 is native_bfloat16
