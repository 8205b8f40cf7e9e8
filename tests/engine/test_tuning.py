"""`ADJOINT_TUNE`: which ways are tried, what is kept, and which bits stay."""

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, Variable, lower
from adjoint.backends.cpu import BACKEND
from adjoint.engine import tuning
from adjoint.engine.explain import loops_of
from adjoint.engine.pipeline import build
from adjoint.engine.tuning import Tuner, Way, alone, shapes, ways
from adjoint.ir.opdef import OPS
from adjoint.schedule import strategy
from adjoint.schedule.strategy import ROWS

TARGET = BACKEND.target
pytestmark = pytest.mark.usefixtures("cpu")


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    monkeypatch.setenv("ADJOINT_CACHE", "1")
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(strategy, "tuner", None)
    yield
    strategy.tuner = None


def real(*shape, seed=0):
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return Tensor(values.astype(np.float32)).realize()


def product(m, k, n, dtype="float32"):
    a, b = (OPS["input"](name, (1, *s), dtype, "CPU") for name, s in (("a", (m, k)), ("b", (k, n))))
    return a.contract(b, "bmk,bkn->bmn")


def kernels(program):
    return "\n".join(loops_of(program.schedule))


def row_named(name):
    return next(row for row in ROWS if row.name == name)


def timed(monkeypatch, seconds):
    """Every way takes what this function says; the ways that were asked for."""
    asked = []

    def measured(self, root, every, backend):
        asked.extend(every)
        return {way: seconds(way) for way in every}

    monkeypatch.setattr(Tuner, "seconds", measured)
    return asked


def explained(m, k, n):
    return lower(lambda a, b: a @ b)(real(m, k), real(k, n, seed=1)).explain(measure=False)


# ---- bits


@pytest.mark.parametrize("shape", [(100, 700, 90), (24, 2000, 33), (257, 1100, 64)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_shape_of_tiles_changes_a_bit(shape, dtype):
    root = product(*shape, dtype)
    values = [
        real(1, *s, seed=i).numpy().astype(dtype) for i, s in enumerate((shape[:2], shape[1:]))
    ]
    tuner = Tuner(build, "shapes")
    found = []
    for tile in shapes(TARGET.tile):
        program, inputs = tuner.program(root, Way("tiles", tile.rows, tile.row_bytes), BACKEND)
        assert len(inputs) == 2
        assert f"{tile.lanes(values[0].itemsize)} side by side" in kernels(program)
        found.append(program.run_arrays(values)[0].tobytes())
    assert len({tile.row_bytes for tile in shapes(TARGET.tile)}) == 3
    assert len(set(found)) == 1


@pytest.mark.parametrize("shape", [(5, 60, 7), (64, 40, 33), (2, 64, 300)])
def test_every_way_gives_the_product(shape):
    root = product(*shape)
    a, b = (real(1, *s, seed=i).numpy() for i, s in enumerate((shape[:2], shape[1:])))
    every = ways(root, TARGET, row_named("tiles"), "all")
    assert {way.row for way in every} == {"tiles", "short product"}
    for way in every:
        program, _ = Tuner(build, "all").program(root, way, BACKEND)
        assert program.schedule.steps[0].strategy.name == way.row
        np.testing.assert_allclose(program.run_arrays([a, b])[0], a @ b, rtol=1e-4, atol=1e-4)


# ---- what is tried


def test_only_ways_with_the_same_bits_are_tried_for_shapes():
    root = product(100, 700, 90)
    tiles = ways(root, TARGET, row_named("tiles"), "shapes")
    assert {way.row for way in tiles} == {"tiles"}
    assert ways(root, TARGET, row_named("matrix product"), "shapes") == []


def test_without_the_switch_the_table_decides(monkeypatch):
    monkeypatch.delenv("ADJOINT_TUNE", raising=False)
    asked = timed(monkeypatch, lambda way: 1.0)
    assert "tiles: its sums" in explained(16, 60, 512)
    assert (asked, strategy.tuner) == ([], None)


def test_the_soonest_way_is_taken_and_its_reason_said(monkeypatch):
    monkeypatch.setenv("ADJOINT_TUNE", "1")
    timed(monkeypatch, lambda way: 1.0 if way.row == "short product" else 2.0)
    report = explained(16, 60, 512)
    assert "short product: measured: sooner than tiles on this machine" in report


def test_a_way_that_is_hardly_sooner_is_not_taken(monkeypatch):
    monkeypatch.setenv("ADJOINT_TUNE", "1")
    timed(monkeypatch, lambda way: 0.99 if way.row == "short product" else 1.0)
    assert "tiles: its sums" in explained(16, 60, 512)


def test_a_shape_of_tiles_is_that_of_the_kernel(monkeypatch):
    monkeypatch.setenv("ADJOINT_TUNE", "shapes")
    wide = shapes(TARGET.tile)[-1]
    timed(monkeypatch, lambda way: 1.0 if way.tile == wide else 2.0)
    lowered = lower(lambda a, b: a @ b)(real(100, 700), real(700, 90))
    assert f"{wide.lanes(4)} side by side" in "".join(lowered.kernels())


def test_what_was_measured_is_kept_on_the_disk_for_each_shape_and_mode(monkeypatch):
    asked = timed(monkeypatch, lambda way: 1.0)
    monkeypatch.setenv("ADJOINT_TUNE", "1")
    explained(16, 512, 512)
    assert asked
    count = len(asked)
    strategy.tuner = None  # another process
    explained(16, 512, 512)
    assert len(asked) == count
    explained(16, 512, 256)
    assert len(asked) > count


def test_small_products_and_those_of_integers_are_left_to_the_table(monkeypatch):
    monkeypatch.setenv("ADJOINT_TUNE", "1")
    asked = timed(monkeypatch, lambda way: 1.0)
    explained(4, 8, 16)
    ints = Tensor(np.ones((64, 64), np.int64))
    lower(lambda a: a @ a)(ints).explain(measure=False)
    assert asked == []


def test_a_size_that_varies_gives_the_bits_of_the_plain_size(monkeypatch):
    monkeypatch.setenv("ADJOINT_TUNE", "1")
    timed(monkeypatch, lambda way: 1.0 if way.row == "short product" else 2.0)
    n, x, w = Variable("n", 1, 512), real(512, 60), real(60, 300)
    for size in (300, 40):
        found, plain = (x[:some] @ w for some in (n.bind(size), size))
        assert found.numpy().tobytes() == plain.numpy().tobytes()


def test_a_product_is_measured_with_the_views_of_its_operands():
    a, b = (
        OPS["input"](name, s, "float32", "CPU") for name, s in (("x", (70, 50)), ("y", (90, 70)))
    )
    node = (a.exp().permute(1, 0).reshape(1, 50, 70)).contract(
        b.permute(1, 0).reshape(1, 70, 90), "bmk,bkn->bmn"
    )
    found = alone(node)
    assert [x.op.name for x in found.src] == ["reshape", "reshape"]
    assert [x.src[0].op.name for x in found.src] == ["permute", "permute"]
    assert [x.src[0].src[0].op.name for x in found.src] == ["input", "input"]
    assert found.src[0].src[0].src[0].shape == (70, 50)


def test_a_real_measurement_gives_a_way_that_was_tried(monkeypatch):
    monkeypatch.setattr(tuning, "_SECONDS", 0.0)
    monkeypatch.setenv("ADJOINT_TUNE", "1")
    a, b = real(40, 300), real(300, 50)
    found = adjoint.jit(lambda a, b: a @ b)(a, b)
    np.testing.assert_allclose(found.numpy(), a.numpy() @ b.numpy(), rtol=1e-4, atol=1e-4)


def test_another_word_is_refused(monkeypatch):
    monkeypatch.setenv("ADJOINT_TUNE", "fast")
    with pytest.raises(ValueError, match="ADJOINT_TUNE='fast'"):
        explained(16, 512, 512)
