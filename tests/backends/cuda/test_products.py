"""Products by cuBLASLt, over a fake GPU and a fake library: what it is told, and what comes out."""

import numpy as np
import pytest

from adjoint import Tensor, allow_tf32, autocast, deterministic, grad, jit, lower, nn, vjp
from adjoint.backends.cuda import product_times
from adjoint.backends.cuda.products import product_of
from adjoint.ir.dtype import dtypes
from adjoint.runtime.cublaslt import Algorithm
from adjoint.runtime.device import has_tools
from adjoint.stages import Gemm, LibraryStep
from adjoint.target import TARGETS
from tests.anew import compiled_anew
from tests.backends.cuda.product_cases import CASES, EPS, far, operands
from tests.support.fake_cublaslt import fake_cublaslt
from tests.support.fake_gpu import FakeGpu, fake_gpu
from tests.support.processes import printed

pytestmark = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")
RANDOM = np.random.default_rng(0)


@pytest.fixture(scope="module")
def shared():
    with compiled_anew(), fake_cublaslt() as library, fake_gpu() as gpu:
        yield gpu, library


@pytest.fixture
def gpu_and_library(shared):
    _, library = shared
    del library.calls[:], library.asked[:]
    return shared


@pytest.fixture
def library(gpu_and_library):
    return gpu_and_library[1]


def drawn(*shape, dtype="float32"):
    return (Tensor(RANDOM.standard_normal(shape).astype(np.float32), device="GPU") + 0).cast(dtype)


def steps(fn, *given):
    """The lines of the schedule that say what is done."""
    text = lower(fn)(*given).schedule().splitlines()
    return [line for line in text if line.startswith(("kernel", "library", "host"))]


def calls(fn, *given):
    """The calls of the library, without their slots."""
    found = [line for line in steps(fn, *given) if line.startswith("library")]
    return [line.removeprefix("library ").partition(" (")[0] for line in found]


def wide(x):
    return x.numpy().astype(np.float64)


def near(found, wanted, dtype, units=8):
    assert found.dtype.name == dtype
    scale = np.abs(wanted).max(initial=1e-30)
    assert np.abs(wide(found) - wanted).max(initial=0) <= units * EPS[dtype] * scale


LAYOUTS = {
    "rows": lambda a, b: (a, b, "ij,jk->ik"),
    "turned left": lambda a, b: (a.T, b, "ji,jk->ik"),
    "turned right": lambda a, b: (a, b.T, "ij,kj->ik"),
    "both turned": lambda a, b: (a.T, b.T, "ji,kj->ik"),
}


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_product_is_read_as_it_lies(library, dtype, layout):
    a, b, spec = LAYOUTS[layout](drawn(12, 20, dtype=dtype), drawn(20, 17, dtype=dtype))
    a, b = (a.contiguous().realize(), b.contiguous().realize())
    fn = lambda a, b: Tensor.einsum(spec, a, b)  # noqa: E731
    assert [line.split()[0] for line in steps(fn, a, b)] == ["library"]
    near(fn(a, b), np.einsum(spec, wide(a), wide(b)), dtype)
    assert len(library.calls) == 1


PAIRS = [(name, dtype) for name, case in CASES.items() for dtype in case.dtypes]


@pytest.mark.parametrize(("name", "dtype"), PAIRS, ids=map(" ".join, PAIRS))
def test_a_case_is_those_calls_and_near_float64(library, name, dtype):
    case = CASES[name]
    given, _ = operands(case, dtype, "GPU")
    found = calls(case.ours, *given)
    assert [call.partition("x")[2].lstrip("0123456789x") for call in found] == list(case.calls)
    assert len(steps(case.ours, *given)) - len(found) == case.kernels
    if case.plain is not None:
        assert far(case, dtype, "GPU") <= (4 if len(case.calls) == 1 else 64)


def whole(*shape, dtype="int8"):
    numbers = RANDOM.integers(-128, 128, shape).astype(np.int8)
    return (
        Tensor(numbers, device="GPU").cast(dtype)
        if dtype != "int8"
        else Tensor(numbers, device="GPU")
    )


SIZES = [(16, 32, 48), (17, 33, 5), (1, 64, 20), (5, 9, 1)]


@pytest.mark.parametrize(("m", "k", "n"), SIZES)
@pytest.mark.parametrize("turned", [False, True])
def test_bytes_are_multiplied_by_the_library_with_the_bits_of_integers(library, m, k, n, turned):
    a, b = whole(m, k), whole(n, k) if turned else whole(k, n)
    fn = lambda a, b: a.int() @ (b.T if turned else b).int()  # noqa: E731
    assert calls(fn, a, b)[0].startswith("gemm i8->i32 1x")
    right = b.numpy().T if turned else b.numpy()
    assert np.array_equal(fn(a, b).numpy(), a.numpy().astype(np.int32) @ right.astype(np.int32))


def test_bytes_that_lie_along_what_is_summed_are_not_copied(library):
    a, b = whole(16, 32), whole(48, 32)
    assert len(steps(lambda a, b: a.int() @ b.T.int(), a, b)) == 1
    assert len(steps(lambda a, b: a.int() @ b.int(), a, whole(32, 48))) == 2


def test_other_integers_are_added_up_by_loops(library):
    for dtype in ("int16", "int32", "int64", "uint8"):
        a, b = whole(16, 32, dtype=dtype), whole(32, 48, dtype=dtype)
        assert calls(lambda a, b: a @ b, a, b) == []
        assert np.array_equal((a @ b).numpy(), a.numpy() @ b.numpy())


def test_sizes_without_elements_need_no_call(library):
    for m, k, n in ((0, 9, 4), (4, 9, 0), (4, 0, 3)):
        for batch in ((), (2,), (0,)):
            found = (drawn(*batch, m, k) @ drawn(*batch, k, n)).relu()
            assert np.array_equal(found.numpy(), np.zeros((*batch, m, n)))
    assert library.calls == []


@pytest.mark.parametrize("dtype", EPS)
def test_nans_and_infinities_go_through(library, dtype):
    a = np.ones((4, 16), np.float32)
    a[0, 3], a[1, 2], a[2, 5] = np.nan, np.inf, -np.inf
    x, b = Tensor(a, device="GPU").cast(dtype), Tensor(np.ones((16, 3), np.float32), device="GPU")
    found = (x @ b.cast(dtype) + b[0].cast(dtype)).relu().float().numpy()[:, 0]
    assert np.isnan(found[0])
    assert found[1:].tolist() == [np.inf, 0.0, 17.0]


def test_a_slice_that_begins_inside_of_16_bytes_is_copied(library):
    a, b = drawn(16, 40).realize(), drawn(24, 40).realize()
    assert len(steps(lambda a, b: a[:, 4:28] @ b, a, b)) == 1
    assert len(steps(lambda a, b: a[:, 3:27] @ b, a, b)) == 2
    near(a[:, 4:28] @ b, wide(a)[:, 4:28] @ wide(b), "float32")
    near(a[:, 3:27] @ b, wide(a)[:, 3:27] @ wide(b), "float32")


def test_a_value_that_others_read_is_written_as_it_is(library):
    x, w, b = drawn(16, 24), drawn(24, 40), drawn(40)
    both = lambda x, w, b: [(y := x @ w) + b, y]  # noqa: E731
    assert calls(both, x, w, b) == ["gemm f32 1x16x24x40"]


def test_a_vector_along_rows_is_no_bias(library):
    x, w, b = drawn(16, 24), drawn(24, 16), drawn(16)
    fn = lambda x, w, b: x @ w + b.reshape(16, 1).expand(16, 16)  # noqa: E731
    assert calls(fn, x, w, b) == ["gemm f32 1x16x24x16"]
    near(fn(x, w, b), wide(x) @ wide(w) + wide(b)[:, None], "float32")


def test_a_factor_of_zero_keeps_nans(library):
    x = Tensor(np.full((4, 16), np.nan, np.float32), device="GPU")
    assert np.isnan(((x @ x.T) * 0.0).numpy()).all()


def test_large_results_stay_narrow_for_the_kernels_that_read_them(library):
    x, w = drawn(64, 16, dtype="bfloat16"), drawn(16, 64, dtype="bfloat16")
    assert calls(lambda x, w: (x @ w).float().softmax(-1), x, w) == ["gemm bf16 1x64x16x64"]
    assert calls(lambda x, w: (x @ w).float(), x, w) == ["gemm bf16->f32 1x64x16x64"]


def test_the_gradient_of_gelu_is_joined_where_that_is_sooner(library):
    for summed, count in ((2048, 1), (2064, 0)):
        g, w = drawn(8, summed, dtype="bfloat16"), drawn(summed, 16, dtype="bfloat16")
        x = drawn(8, 16, dtype="bfloat16")
        fn = lambda g, w, x: vjp(lambda v: v.gelu(), x)[1](g @ w)  # noqa: E731
        assert sum("gelu gradient" in call for call in calls(fn, g, w, x)) == count


def test_weights_are_cast_as_they_lie_and_their_gradients_are_float32(library):
    x, w, b = drawn(48, 24), drawn(40, 24), drawn(40)

    def loss(w, b):
        with autocast("bfloat16"):
            return (nn.functional.linear(x, w, b).float() * 3).sum()

    found = steps(grad(loss, (0, 1)), w, b)
    assert sum("bf16->f32 1x40x48x24" in line for line in found) == 1
    assert not any("permute" in line for line in found)


def test_tf32_is_a_setting_and_programs_are_kept_apart(library):
    a, b = drawn(64, 40).realize(), drawn(40, 24).realize()
    fn = jit(lambda a, b: a @ b)
    exact = fn(a, b).numpy()
    with allow_tf32():
        assert calls(lambda a, b: a @ b, a, b) == ["gemm tf32 1x64x40x24"]
        rounded = fn(a, b).numpy()
        with allow_tf32(False):
            assert np.array_equal(fn(a, b).numpy(), exact)
    assert np.array_equal(fn(a, b).numpy(), exact)
    off = np.abs(rounded - wide(a) @ wide(b)).max()
    assert 1e-5 < off < 1e-2
    assert fn.traces == 2


def test_ways_without_an_order_are_asked_for_only_where_that_is_said(library):
    fn = jit(lambda a, b: a @ b)
    a, b = drawn(33, 40).realize(), drawn(40, 24).realize()
    fn(a, b)
    with deterministic(False):
        fn(a, b)
    masks = [preference[3] for preference in library.asked]
    assert masks == [6, 7]
    assert all(preference[attribute] == 16 for preference in library.asked for attribute in (5, 8))


@pytest.mark.parametrize("name", ["TF32", "DETERMINISTIC"])
def test_the_environment_says_what_holds_at_first(name):
    script = (
        "from adjoint.ir.exactness import *; print(allow_tf32.allowed(), deterministic.allowed())"
    )
    flipped = {"TF32": "True True", "DETERMINISTIC": "False False"}[name]
    value = "1" if name == "TF32" else "0"
    assert printed("-c", script, **{f"ADJOINT_{name}": value}).strip() == flipped


def test_the_soonest_way_is_measured_once_and_kept(library, own_cache, monkeypatch):
    product = product_of(Gemm(dtypes.float32, 2, 8, 16, 24, (0, 24, 1), (384, 16, 1), (128, 16, 1)))
    slow, fast = Algorithm(workspace=3), Algorithm(workspace=5)
    times = {3: 2.0, 5: 1.0}
    made = []

    def launched(product, way, workspace, stream):
        made.append(way.workspace)
        return lambda *memory: made.append((way.workspace, len(memory)))

    monkeypatch.setattr(product_times, "launcher", launched)
    gpu = TimedGpu(made, times)
    monkeypatch.setenv("ADJOINT_TUNE", "1")
    assert product_times.chosen(product, (slow, fast), gpu, 0).workspace == 5
    assert gpu.used == 0
    count = len(made)
    monkeypatch.setattr(product_times, "_KNOWN", {})
    assert product_times.chosen(product, (slow, fast), gpu, 0).workspace == 5
    assert len(made) == count
    monkeypatch.delenv("ADJOINT_TUNE")
    assert product_times.chosen(product, (slow, fast), gpu, 0) is slow


def test_products_are_recorded_as_graphs(gpu_and_library):
    gpu, library = gpu_and_library
    fn = jit(lambda x, w, b, c: (((x @ w + b).relu() * 2) @ c).exp() + 1)
    x, w, b, c = (drawn(*s).realize() for s in ((16, 24), (24, 32), (32,), (32, 20)))
    wanted = fn(x, w, b, c).numpy()
    for _ in range(4):
        del gpu.calls[:], library.calls[:]
        assert np.array_equal(fn(x, w, b, c).numpy(), wanted)
        assert len(library.calls) == 2
    assert "graph" in gpu.calls
    assert "library" not in gpu.calls


class TimedGpu(FakeGpu):
    """A GPU that takes the time of the last launch."""

    def __init__(self, made, times):
        super().__init__()
        self._made, self._times = made, times

    def event(self):
        return None

    def milliseconds(self, start, end):
        return self._times[self._made[-1][0]]


def test_what_a_launch_is_given_has_room(library):
    for name in ("a network's gradient", "a layer beside its operand"):
        case = CASES[name]
        given, _ = operands(case, "bfloat16", "GPU")
        for step in lower(case.ours)(*given).plan.steps:
            if isinstance(step, LibraryStep):
                assert len(product_times.sizes(product_of(step.call))) == len(step.slots)


@pytest.mark.parametrize("length", [2, 3, 5, 8])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_a_short_product_with_a_vector_has_the_bits_of_the_cpu(library, length, dtype):
    """No library is called for so few terms: they are added up in the one tree, as on the CPU."""
    x, y = RANDOM.standard_normal((2, 64, length)).astype(dtype)
    found = {}
    for device in ("CPU", "GPU"):
        rows, vector = Tensor(x, device=device), Tensor(y[0], device=device)
        results = rows @ vector, vector @ rows.T, vector @ vector, rows.T[:, :1].T @ vector
        found[device] = [result.numpy().tobytes() for result in results]
    assert found["GPU"] == found["CPU"]
    assert not library.calls
