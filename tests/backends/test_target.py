"""Every field of a target is read: what a kernel, a plan or a strategy becomes depends on it.

Targets that differ in one field compile the same graph, and where they may not change bits the
program gives those of the CPU.
"""

from dataclasses import fields, replace

import numpy as np
import pytest

from adjoint import Tensor, dtypes, grad, scan
from adjoint.backends.cpu.backend import CpuBackend
from adjoint.codegen.show import show
from adjoint.engine.graph_key import close_over_parameters, graph_key
from adjoint.engine.pipeline import build, compile_graph
from adjoint.runtime.launch import chunk_of
from adjoint.schedule.strategy import product_dtype, strategy_of
from adjoint.target import TARGETS, Limits, MatrixLibrary, MatrixUnit, Routines, Target, Team, Tile

CPU = replace(TARGETS["CPU"], tile=Tile(4, 32))


def backend(**changed):
    made = CpuBackend()
    made.target = replace(CPU, **changed)
    return made


def graph(fn, *arrays):
    nodes = [Tensor(a, device="CPU").realize() for a in arrays]
    root = fn(*nodes).uop
    return close_over_parameters([root], graph_key([root]).leaves)


def text(fn, *arrays, **changed):
    """The loops and the memory of a program for a target."""
    plan = compile_graph(*graph(fn, *arrays), backend(**changed))
    slots = [(slot.shape, slot.offset) for slot in plan.slots]
    steps = [(str(step), str(step.strategy)) for step in plan.steps]
    far = [program.far for program in plan.programs()]
    return "\n".join([*map(show, plan.programs()), str(slots), str(steps), str(far)])


def value(fn, *arrays, **changed):
    roots, inputs = graph(fn, *arrays)
    return build(roots, inputs, backend(**changed)).program.run_arrays(list(arrays))[0]


def floats(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def softmax(x):
    return x.softmax(-1)


def two_kernels(x):
    return (x @ x.T).exp().sum(0) + x.sum()


def chain(x):
    return x.exp().sin().tanh().exp().sin()


def attended(x):
    return (x @ x.T).softmax(-1) @ x


def sides(x):
    y = x * 2 + 1
    return y.sum(0).reshape(1, -1) + y.sum(1).reshape(-1, 1)


def sides_of_more(x):
    y = (x.abs() + x.floor()).abs() + (x.ceil() + x.round()).abs()
    return y.sum(0).reshape(1, -1) + y.sum(1).reshape(-1, 1)


def two_layers(x):
    w = x.reshape(16, 16, 3, 3)
    return x[:, :64].reshape(1, 16, 8, 8).conv2d(w, padding=1).relu().conv2d(w, padding=1)


def turned(x):
    return scan(lambda c, v: ((c + v).tanh().exp(), c), x[0], x)[0]


def in_order(x):
    return x.sort(1)[0]


ROWS, LONG = floats(9, 300), floats(1 << 18)
CHANGES = {
    "cores": (lambda x: x.sum(), [LONG], {"cores": 1}),
    "caches": (softmax, [floats(4, 300)], {"caches": (512,)}),
    "cache_line": (lambda x: x.sort(1)[0].cumsum(0).sum(1), [ROWS], {"cache_line": 512}),
    "index_bits": (softmax, [ROWS], {"index_bits": 32}),
    "register_bytes": (lambda x: x + 1, [LONG], {"register_bytes": 16}),
    "registers": (lambda x: x + 1, [LONG], {"registers": 0}),
    "serial_bytes": (lambda x: x.cumsum(0), [ROWS], {"serial_bytes": 64}),
    "strip_bytes": (lambda x: x.sum(0), [floats(64, 2048)], {"strip_bytes": 64}),
    "most_lanes": (lambda x: x + 1, [LONG], {"most_lanes": 8}),
    "fewest_lanes": (lambda x: x + 1, [LONG], {"fewest_lanes": 64}),
    "little_work": (lambda x: x + 1, [LONG], {"little_work": 1 << 30}),
    "far_bytes": (lambda x: x + 1, [LONG], {"far_bytes": 1}),
    "far_squares": (
        lambda x: x.T.contiguous(),
        [floats(600, 600)],
        {"far_bytes": 1, "far_squares": (2, 16)},
    ),
    "near_bytes": (lambda x: x.sum(0), [floats(2048, 600)], {"near_bytes": 0}),
    "total_bytes": (
        lambda x: x.sum(0),
        [floats(4096, 600)],
        {"near_bytes": 0, "total_bytes": 1 << 12},
    ),
    "tile": (lambda x: x @ x, [floats(128, 128)], {"tile": Tile(6, 64)}),
    "thread_bytes": (lambda x: x + 1, [LONG], {"thread_bytes": 16}),
    "team": (softmax, [ROWS], {"team": Team(512, 32, 4)}),
    "limits.batched_elements": (
        lambda x: x[0] @ x.transpose(1, 2),
        [floats(3, 20, 30)],
        {"limits": Limits(batched_elements=1)},
    ),
    "limits.tiled_products": (
        lambda x: x.cast("int8").dot(x.cast("int8").T, dtype="int32"),
        [4 * floats(40, 40)],
        {"limits": Limits(tiled_products=1)},
    ),
    "limits.tiled_columns": (
        lambda x: x.reshape(100, 4, 2, 2).conv2d(x[:9, :36].reshape(9, 4, 3, 3), padding=1),
        [floats(40, 40)],
        {"limits": Limits(tiled_products=1, tiled_columns=33)},
    ),
    "limits.narrow_columns": (
        lambda x: x @ x[:, :3],
        [floats(40, 40)],
        {"limits": replace(CPU.limits, narrow_columns=0)},
    ),
    "limits.turned_channels": (
        two_layers,
        [floats(16, 144)],
        {
            "limits": Limits(tiled_products=1, turned_channels=16, turned_products=0),
        },
    ),
    "limits.turned_products": (
        two_layers,
        [floats(16, 144)],
        {
            "limits": Limits(tiled_products=1, turned_channels=8, turned_products=0),
        },
    ),
    "limits.windowed_rows": (
        lambda x: x.reshape(1, 1, 40, 40).conv2d(x[:9, :9].reshape(9, 1, 3, 3)),
        [floats(40, 40)],
        {"limits": Limits(windowed_rows=16)},
    ),
    "limits.panel_bytes": (
        attended,
        [floats(40, 40)],
        {"limits": Limits(tiled_products=1, panel_rows=1, panel_bytes=999)},
    ),
    "limits.panel_row": (
        attended,
        [floats(40, 40)],
        {"limits": Limits(tiled_products=1, panel_row=39)},
    ),
    "limits.panel_rows": (
        attended,
        [floats(40, 40)],
        {"limits": Limits(tiled_products=1, panel_rows=9999)},
    ),
    "limits.recomputed_bytes": (
        lambda x: grad(lambda x: attended(x).sum())(x),
        [floats(400, 32)],
        {"limits": Limits(tiled_products=1, recomputed_bytes=1)},
    ),
    "limits.kept_bytes": (
        lambda x: grad(lambda x: turned(x).sum())(x),
        [floats(9, 4)],
        {"limits": Limits(kept_bytes=1)},
    ),
    "limits.kernel_nodes": (chain, [ROWS], {"limits": Limits(2)}),
    "limits.kernel_cost": (chain, [ROWS], {"limits": Limits(kernel_cost=10)}),
    "limits.joined_pieces": (
        lambda x: x.cat(x + 1, dim=0).cat(x.cat(x.exp(), dim=0), dim=1).flip(0) + 1,
        [floats(9, 9)],
        {"limits": Limits(joined_pieces=1)},
    ),
    "limits.long_row": (softmax, [ROWS], {"limits": Limits(long_row=8)}),
    "limits.loop_products": (
        lambda x: x @ x.T,
        [floats(20, 30)],
        {"limits": Limits(loop_products=30)},
    ),
    "limits.cheap": (sides, [ROWS], {"limits": Limits(cheap=0)}),
    "limits.cheap_large": (
        sides_of_more,
        [ROWS],
        {"limits": Limits(cheap_large=16, large_bytes=1)},
    ),
    "limits.large_bytes": (
        sides_of_more,
        [ROWS],
        {"limits": Limits(cheap_large=16, large_bytes=ROWS.nbytes)},
    ),
    "limits.ranked_row": (in_order, [floats(9, 40)], {"limits": Limits(ranked_row=0)}),
    "limits.longest_ranked": (in_order, [floats(9, 40)], {"limits": Limits(longest_ranked=8)}),
    "limits.local_bytes": (in_order, [ROWS], {"limits": Limits(local_bytes=0)}),
    "limits.scratch_groups": (in_order, [floats(9, 3000)], {"limits": Limits(scratch_groups=4)}),
}


ORDERS = ("limits.windowed_rows", "limits.loop_products")  # of sums, which loops have of their own


@pytest.mark.parametrize("name", CHANGES)
def test_another_number_makes_another_program_of_the_same_bits(name):
    fn, arrays, changed = CHANGES[name]
    assert text(fn, *arrays, **changed) != text(fn, *arrays)
    mine, other = value(fn, *arrays), value(fn, *arrays, **changed)
    if name in ORDERS:
        np.testing.assert_allclose(other, mine, 1e-5, 1e-5)
    else:
        assert other.tobytes() == mine.tobytes()


def test_every_number_of_a_target_is_tried():
    elsewhere = {"name", "doc", "host_memory", "runs", "backend", "tools", "limits", "matrix_units"}
    elsewhere |= {"gpu", "routines", "whole", "dlpack", "probe_side", "probe_numbers", "libraries"}
    elsewhere |= {"carries", "ahead_bytes"}  # of collectives: tests/sharding/test_overlap.py
    elsewhere |= {"joint_bytes"}  # of launches of a GPU: tests/schedule/test_joint_launches.py
    tried = {name.removeprefix("limits.") for name in CHANGES}
    numbers = {f.name for f in (*fields(Target), *fields(Limits))} - elsewhere
    decide_when = {"at_once_nodes", "at_once_elements", "at_once_runs"}  # engine/test_at_once.py
    assert numbers - tried == {"many_rows", *decide_when}  # the first beside long_row


def test_what_a_library_computes_whole_is_a_call_of_it():
    fn, x = lambda x: x.conv2d(x[:, :, :3, :3]), floats(8, 8, 20, 20)
    routines = (Routines("l", ("convolve",), ("float32",)),)
    assert "library convolution" in text(fn, x, routines=routines)
    assert "library convolution" not in text(fn, x)


def test_cores_share_the_grid_of_a_kernel():
    assert chunk_of(1 << 20, 100, 1) > chunk_of(1 << 20, 100, 8)


# ---- indices


def test_indices_are_as_wide_as_the_target_says_where_they_fit():
    narrow = text(softmax, ROWS, index_bits=32)
    assert ": i32 = mul(" in narrow
    assert ": i64 = " not in narrow
    assert ": i32 = mul(" not in text(softmax, ROWS)


WIDE = {
    "a stride behind a gate": lambda x: x.pad(((0, 1 << 30), (0, 0)))[:: 1 << 20, 1:3],
    "a position": lambda x: (
        Tensor.arange(1 << 33, device="CPU")[:: 1 << 25] + x[0, 0].cast("int64")
    ),
}


@pytest.mark.parametrize("name", WIDE)
def test_an_index_that_would_not_fit_is_wider(name):
    x = floats(2, 4)
    assert ": i64 = " in text(WIDE[name], x, index_bits=32)
    assert value(WIDE[name], x, index_bits=32).tobytes() == value(WIDE[name], x).tobytes()


NARROW = {
    "a reshape of what is nowhere": (
        lambda x: x[0, :7].expand(1 << 30, 7).reshape(-1)[5 :: (1 << 23) + 3],
        [ROWS],
    ),
    "gather": (lambda x: x[(x[:, 0] * 0).cast("int32") + 3], [ROWS]),
    "tiles": (lambda x: x.T + 1, [floats(70, 90)]),
    "a long sum": (lambda x: x.sum(), [floats(70_001)]),
    "rows that are ragged": (lambda x: x.var(1), [floats(5, 4099)]),
    "columns": (lambda x: x.sum(0), [floats(4099, 3)]),
    "lines": (lambda x: x.sum((0, 2)), [floats(9, 5, 49)]),
    "pads": (lambda x: x.pad(((1, 2), (3, 4))).flip(1), [ROWS]),
    "windows": (lambda x: x.reshape(1, 1, 9, 300).max_pool2d((3, 3)), [ROWS]),
    "positions": (lambda x: Tensor.arange(300) + x, [ROWS]),
    "sorted": (lambda x: x.sort(1)[0].cumsum(0), [ROWS]),
    "empty": (lambda x: x[:0].sum(0) + x[:0].sum(), [ROWS]),
}


@pytest.mark.parametrize("name", NARROW)
def test_narrow_indices_change_no_bit(name):
    fn, arrays = NARROW[name]
    assert value(fn, *arrays, index_bits=32).tobytes() == value(fn, *arrays).tobytes()


# ---- products


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.bfloat16])
@pytest.mark.parametrize("length", [5, 64, 300])
def test_a_matrix_unit_takes_narrow_products_as_they_are(dtype, length):
    unit = MatrixUnit(dtype.name, "float32")
    x, w = (Tensor(floats(4, length), device="CPU").cast(dtype) for _ in range(2))
    node = x.contract(w, "mk,nk->mn").uop
    assert product_dtype(node, CPU) is dtypes.float32
    assert product_dtype(node, replace(CPU, matrix_units=(unit,))) is dtype
    assert (
        product_dtype(node, replace(CPU, libraries=(MatrixLibrary("l", (dtype.name,)),))) is dtype
    )
    arrays = [t.numpy() for t in (x, w)]
    fn = lambda a, b: a.contract(b, "mk,nk->mn")  # noqa: E731
    plain = value(fn, *arrays, libraries=())
    found = value(fn, *arrays, libraries=(), matrix_units=(unit,))
    assert found.dtype == plain.dtype
    assert found.tobytes() == plain.tobytes()


def test_a_unit_that_adds_up_in_the_narrow_dtype_is_not_used():
    x = Tensor(floats(4, 4), device="CPU").cast("float16")
    units = (MatrixUnit("float16", "float16"),)
    assert product_dtype((x @ x).uop, replace(CPU, matrix_units=units)) is dtypes.float32


def test_the_reason_of_a_strategy_is_about_the_target():
    a, b = (Tensor(floats(1, *shape)).uop for shape in ((20, 30), (30, 40)))
    node = a.contract(b, "bmk,bkn->bmn")
    library = (MatrixLibrary("l", ("float32",)),)
    for changed, row in (
        ({}, "tiles"),
        ({"libraries": library}, "matrix product"),
        ({"tile": None}, "plain product"),
    ):
        assert strategy_of((node,), (), replace(CPU, **changed)).name == row
