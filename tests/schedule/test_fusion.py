"""Schedules by their structure: axes, which nodes share a kernel, the order, the memory plan."""

import random
import re

import numpy as np
import pytest

from adjoint import Tensor, grad, lower
from adjoint.backends.cpu import BACKEND
from adjoint.engine import explain
from adjoint.engine.graph_key import close_over_parameters, graph_key
from adjoint.engine.pipeline import compile_graph
from adjoint.ir.opdef import OPS
from adjoint.schedule.groups import fuse_groups
from adjoint.schedule.legalise import prepare
from adjoint.schedule.loop_axes import Atoms
from adjoint.schedule.memory import Lifetime, place
from adjoint.stages import Graph, KernelStep
from adjoint.target import TARGETS
from tests.fuzz.graphs import grown
from tests.fuzz.program import build


def given(*shape, dtype="float32", name="x"):
    return OPS["input"](name, shape, dtype, "CPU")


def floats(*shape):
    return Tensor(np.ones(shape, np.float32), device="CPU")


def divide(roots):
    """The groups of a graph of primitives."""
    target = BACKEND.target
    return fuse_groups(Graph(tuple(prepare(roots, target)), ()), target)


# ---- axes


def test_a_reshape_splits_an_axis_for_everybody():
    atoms = Atoms()
    (axis,) = index = (atoms.new(12),)
    x = given(3, 4)
    (pair,) = atoms.through(x.reshape(12), index)
    assert pair[0] is x
    assert [atoms.count(a) for a in pair[1]] == [3, 4]
    assert atoms.whole(axis) == (*pair[1][0], *pair[1][1])


def test_a_reshape_that_does_not_divide_is_an_image():
    atoms = Atoms()
    index = (atoms.new(4), atoms.new(3))
    ((_, below),) = atoms.through(given(6, 2).reshape(4, 3), index)
    assert all(a in atoms.images for axis in below for a in axis)
    assert atoms.roots(below) == {*index[0], *index[1]}


def test_views_map_axes():
    atoms = Atoms()
    index = a, b = (atoms.new(4), atoms.new(3))
    assert atoms.through(given(3, 4).permute((1, 0)), index)[0][1] == (b, a)
    assert atoms.through(given(1, 3).expand(4, 3), index)[0][1] == ((), b)
    ((_, flipped),) = atoms.through(given(4, 3).flip((1,)), index)
    assert flipped[0] == a
    assert flipped[1] != b
    assert atoms.roots(flipped) == {*a, *b}
    assert atoms.through(given(4, 3).flip((1,)), index)[0][1] == flipped


def test_a_window_reads_places_more_than_once():
    atoms = Atoms()
    x = given(10)
    node = OPS["window"](x, (0,), (3,), (1,), (1,))
    index = tuple(atoms.new(n) for n in node.shape)
    ((_, below),) = atoms.through(node, index)
    assert atoms.roots(below) is None


def test_an_axis_of_size_one_has_no_counter():
    atoms = Atoms()
    assert atoms.new(1) == ()
    assert atoms.image("key", 1, ()) == ()


# ---- groups


def groups(*roots):
    return [work.group for work in divide(roots).work]


def test_a_softmax_is_rows_with_two_reductions():
    x = given(5, 7)
    e = (x - x.max(1, True).expand(5, 7)).exp()
    (group,) = groups(e / e.reduce_sum((1,), True).expand(5, 7))
    assert group.inputs == (x,)
    assert [n.op.name for n, _, _ in sorted(group.reduced, key=lambda r: r[0].op.name)] == [
        "max",
        "reduce_sum",
    ]
    assert [group.sizes[a] for a in group.outer] == [5]


def test_what_is_dear_and_read_by_two_kernels_is_computed_once():
    x = given(40, 50)
    e = x.exp()
    work = divide([e.reduce_sum((0,)), e.reduce_sum((1,))]).work
    exps = sum(any(n is e for n in w.nodes) for w in work)
    assert exps == 1
    assert len(work) <= 3


def test_what_is_cheap_is_computed_where_it_is_read():
    x = given(40, 50)
    y = x + 1
    assert all(n is not y for g in groups(y.reduce_sum((0,)), y.max(1)) for n, _ in g.outputs)


def test_reductions_over_the_same_loops_are_one_kernel():
    x, y = given(40, 50), given(40, 50, name="y")
    assert len(groups(x.reduce_sum((0,)), (x * y).reduce_sum((0,)), y.reduce_sum((0,)))) == 1


def test_a_result_that_another_needs_is_stored_by_the_same_kernel():
    x = given(8, 9)
    e = x.exp()
    (group,) = groups(e, e * 2 + x)
    assert len(group.outputs) == 2


def test_an_alias_needs_no_kernel():
    x = given(4, 6)
    division = divide([x.reshape(24), (x + 1).reshape(2, 12)])
    assert len(division.work) == 1
    assert division.storage(division.graph.roots[0]) is x


def test_kernels_have_a_largest_size():
    x = given(6, 7)
    for i in range(2000):
        x = x.tanh() if i % 50 == 0 else x * 0.5 + 1 if i % 2 else x.abs()
    found = groups(x)
    assert 2 <= len(found) <= 60
    assert all(len(g.outputs) == 1 for g in found)


# ---- order and memory of whole schedules


def schedules():
    """Schedules of random graphs and of a training step."""
    for seed in range(120):
        program, _ = grown(seed)
        values = build(program, "CPU")
        roots = [values[n].uop for n in program.outputs]
        key = graph_key(roots)
        if key is not None:
            nodes, parameters = close_over_parameters(roots, key.leaves)
            wanted = [n for n in dict.fromkeys(nodes) if n not in set(parameters)]
            if wanted:
                yield f"graph {seed}", compile_graph(wanted, parameters, BACKEND)
    yield (
        "training",
        lower(grad(loss, (0, 1, 2)))(floats(8, 16), floats(16, 32), floats(32, 5)).plan,
    )


def loss(x, w, v):
    h = (x @ w).layernorm(-1).gelu()
    return (h.softmax(-1) @ v).log_softmax(1).sort(1)[0].sum()


@pytest.fixture(scope="module")
def planned():
    return list(schedules())


def all_slots(step):
    return {*step.reads, *step.writes}


def test_every_slot_is_written_before_it_is_read(planned):
    assert len(planned) > 80
    for name, plan in planned:
        ready = {*plan.inputs, *(i for i, _ in plan.constants)}
        ready |= {i for i, slot in enumerate(plan.slots) if slot.nbytes == 0}
        for step in plan.steps:
            own = set(step.writes)
            assert set(step.reads) - own <= ready, f"{name}: {step}"
            ready |= own
        assert set(plan.outputs) <= ready, name


def test_no_slot_is_written_twice_and_no_input_is(planned):
    for name, plan in planned:
        made = [i for step in plan.steps for i in step.writes]
        assert len(made) == len(set(made)), name
        assert not set(made) & set(plan.inputs), name


def test_values_that_live_together_do_not_share_memory(planned):
    shared = 0
    for name, plan in planned:
        lives = lifetimes(plan)
        for i, (start, stop, first, last) in lives.items():
            assert start % TARGETS["CPU"].cache_line == 0
            assert stop <= plan.arena
            for j, (low, high, begin, end) in lives.items():
                if (
                    i < j
                    and max(start, low) < min(stop, high)
                    and max(first, begin) <= min(last, end)
                ):
                    assert in_place(plan, i, j), f"{name}: s{i} and s{j}"
                    shared += 1
    assert shared > 0


def lifetimes(plan):
    """Where each slot of the arena lies, and from which step to which it is used."""
    found = {}
    for number, slot in enumerate(plan.slots):
        used = [n for n, step in enumerate(plan.steps) if number in all_slots(step)]
        flags = [s.flag[0] for s in plan.steps if isinstance(s, KernelStep) and s.flag]
        if slot.offset is not None:
            first, last = (0, len(plan.steps)) if number in flags else (used[0], used[-1])
            found[number] = slot.offset, slot.offset + slot.nbytes, first, last
    return found


def in_place(plan, i, j):
    """Whether one is made from the other where it lies, and the other is not read afterwards."""
    lives = lifetimes(plan)
    old, new = sorted((i, j), key=lambda s: lives[s][2])
    if lives[old][3] != lives[new][2] or lives[old][0] != lives[new][0]:
        return False
    step = plan.steps[lives[new][2]]
    pairs = [(step.slots[r], step.slots[o]) for r, o in step.program.in_place]
    return (new, old) in pairs


def test_the_same_graph_gives_the_same_schedule():
    for seed in range(20):
        program, _ = grown(seed)
        texts = []
        for _ in range(2):
            values = build(program, "CPU")
            steps = values[program.outputs[0]].schedule()
            if hasattr(steps, "plan"):
                plan = steps.plan
                texts.append(explain.schedule_text(plan) + "\n".join(explain.loops_of(plan)))
        assert len(set(texts)) <= 1, seed


# ---- places


@pytest.mark.parametrize("align", [64, 256])
@pytest.mark.parametrize("seed", range(40))
def test_lifetimes_get_places_that_do_not_meet(seed, align):
    rng = random.Random(seed)
    values = []
    for _ in range(rng.randrange(1, 60)):
        first = rng.randrange(30)
        size = rng.choice([0, 1, 63, 64, 65, 1000, 4096, 100_000])
        values.append(Lifetime(size, first, first + rng.randrange(8)))
    offsets, total = place(values, align)
    for i, (a, at) in enumerate(zip(values, offsets, strict=True)):
        assert at % align == 0
        assert at + a.nbytes <= total
        for b, low in zip(values[:i], offsets[:i], strict=True):
            together = a.first <= b.last and b.first <= a.last
            assert not (together and max(at, low) < min(at + a.nbytes, low + b.nbytes))
    most = max(sum(v.nbytes for v in values if v.first <= n <= v.last) for n in range(40))
    assert total >= most
    assert place(values, align) == (offsets, total)


def test_memory_is_used_again():
    chain = [Lifetime(1000, i, i + 1) for i in range(50)]
    assert place(chain, 64)[1] <= 3 * 1024
    assert place([], 64) == ([], 0)


# ---- reductions side by side


def test_many_reductions_over_the_same_loops_are_few_kernels_none_of_which_is_too_large():
    limit = BACKEND.target.limits.kernel_nodes
    rows = [given(4, 8, name=f"x{i}") for i in range(3 * limit)]
    work = divide([x.sum(0) for x in rows]).work
    results = [len(w.nodes) for w in work]
    assert (sum(results), len(work)) == (3 * limit, 3)
    assert max(results) <= limit + 1


@pytest.mark.parametrize("count", [2, 150])
def test_reductions_side_by_side_give_what_each_alone_gives(count):
    values = np.random.default_rng(0).standard_normal((count, 4, 8), np.float32)
    first, *rest = together = [Tensor(v, device="CPU").sum(0) for v in values]
    first.realize(*rest)
    alone = [Tensor(v, device="CPU").sum(0) for v in values]
    assert [t.numpy().tobytes() for t in together] == [t.numpy().tobytes() for t in alone]


# ---- kernels for each layout


def normed(x, w, gain):
    """A convolution, a norm of its channels, an activation: as training has it."""
    made = x.conv2d(w, None, 1, 1, 1, 1)
    mean = made.mean((0, 2, 3))
    centred = made - mean.reshape(1, -1, 1, 1)
    variance = (centred * centred).mean((0, 2, 3))
    return made.batchnorm(gain, gain, mean, (variance + 1e-5).rsqrt()).relu()


def two_layers(v, w, x, gain):
    return normed(normed(x, w, gain), v, gain).sum()


def trained():
    weights = floats(24, 24, 3, 3)  # too few channels to lie last in all pictures
    return lower(grad(two_layers))(weights, weights, floats(32, 24, 16, 16), floats(24))


def test_what_is_left_when_sums_are_kernels_of_their_own_has_lanes():
    kernels = [k for k in trained().kernels() if "relu" in k.splitlines()[0]]
    assert kernels
    assert all("side by side" in kernel for kernel in kernels)


def test_a_copy_in_another_order_joins_no_kernel_of_rows():
    (copies,) = (k for k in trained().kernels() if k.startswith("# kernel where_relu"))
    assert "define_acc" not in copies


@pytest.mark.skipif(BACKEND.target.tile is None, reason="no fused multiply-adds")
def test_rows_between_products_are_kept_only_if_packing_again_costs_little():
    def chain(a, b, c):
        return (a @ b).softmax(-1) @ c

    small = lower(chain)(floats(512, 64), floats(64, 512), floats(512, 64))
    assert "panel of rows" in small.explain(measure=False)
    large = lower(chain)(floats(512, 4608), floats(4608, 512), floats(512, 4608))
    assert "panel of rows" not in large.explain(measure=False)


@pytest.mark.skipif(BACKEND.target.tile is None, reason="no fused multiply-adds")
def test_weights_are_looked_at_once_for_a_convolution_and_its_gradient():
    def both(x, w):
        return (x.conv2d(w, None, 1, 1, 1, 1).tanh() * 3).sum()

    gradient = lower(grad(both))(floats(32, 32, 4, 4), floats(256, 32, 3, 3))
    asked = [k for k in gradient.kernels() if k.startswith("# kernel eq")]
    assert len(asked) == 1


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_an_upsampling_by_a_whole_number_neither_gathers_nor_scatters(mode):
    def fn(x):
        return grad(lambda x: x.interpolate((12, 27), mode).square().sum())(x)

    assert "scatter" not in lower(fn)(floats(2, 4, 9)).schedule()
    assert (
        "gather" not in lower(lambda x: x.interpolate((12, 27), mode))(floats(2, 4, 9)).schedule()
    )


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_resizing_several_axes_to_the_nearest_writes_memory_once(mode):
    x = floats(2, 40, 50)
    lowered = lower(lambda x: x.interpolate((52, 33), mode))(x)
    large = [k for k in lowered.kernels() if re.search(r"mutable>\[(\d{4,})\]", k)]
    assert len(large) == 1


def test_scatters_along_a_later_axis_go_row_by_row():
    x, index = floats(30, 40), Tensor(np.zeros((30, 25), np.int64), device="CPU")
    lowered = lower(lambda x, i: x.scatter_add(1, i, x[:, :25].contiguous()))(x, index)
    scatter = next(k for k in lowered.kernels() if "scatter_add" in k)
    assert "for i0 in 0 .. 30, in parts" in scatter
    assert "Ptr<i32>" not in scatter  # the numbers of the rows


def test_sums_down_columns_of_far_memory_that_need_one_another_are_kernels_of_their_own():
    def kernels(fn, *shape):
        return lower(fn)(floats(*shape)).counts["kernels"]

    assert kernels(lambda x: x.mean(0), 4096, 300) == 1
    assert kernels(lambda x: x.std(0), 4096, 300) == 2
    assert kernels(lambda x: x.std(0), 63, 300) == kernels(lambda x: x.std(1), 4096, 300) == 1
