"""Members at work: threads of one process, one of several processes' kind, and what goes wrong."""

import copy
import gc
import pickle
import threading
import time

import numpy as np
import pytest

import adjoint
from adjoint import (
    AdjointError,
    BoundsError,
    Mesh,
    P,
    Tensor,
    fori_loop,
    grad,
    jit,
    lower,
    show,
    visualize_sharding,
)
from adjoint.ir.mesh import Sharding
from adjoint.nn import state
from adjoint.runtime.sharded_buffer import ShardedBuffer
from tests.sharding.meshes import grid, line, on, values

X = values(8, 6)


@pytest.mark.parametrize("kind", ["REF", "CPU"])
def test_every_member_has_its_part_on_its_device(kind):
    mesh = grid(2, 2, kind=kind)
    x = on(mesh, X, "dp", "tp")
    buffer = x.uop.arg.buffer
    assert isinstance(buffer, ShardedBuffer)
    assert [buffer.parts[m].device for m in range(4)] == list(mesh.devices)
    assert (buffer.parts[1].array() == X[:4, 3:]).all()
    assert x.device == mesh.devices


@pytest.mark.parametrize("n", [8, 2, 0, 1])
def test_uneven_parts_are_filled_up_and_never_seen(n):
    mesh = line(3)
    x = on(mesh, X[:n], "d")
    assert [len(x.uop.arg.buffer.parts[m].array()) for m in range(3)] == [-(-n // 3)] * 3
    assert (x.numpy() == X[:n]).all()
    with np.errstate(all="ignore"):
        np.testing.assert_allclose((1 / x).sum(0).numpy(), (1 / X[:n]).sum(0), rtol=1e-4)
        np.testing.assert_allclose(
            (x.T @ (x + 1)).numpy(), X[:n].T @ (X[:n] + 1), rtol=1e-4, atol=1e-5
        )
    if n:
        assert (x.min(0).numpy() == X[:n].min(0)).all()
        assert (x.argmax(0).numpy() == X[:n].argmax(0)).all()


def test_a_scalar_is_whole():
    mesh = line(2)
    x = on(mesh, X, "d")
    assert (x.sum() * 2).realize().sharding == Sharding(mesh)
    assert float(x.sum()) == pytest.approx(X.sum(), rel=1e-5)
    assert Tensor(2.0, device="REF").shard(mesh).item() == 2


def test_an_index_out_of_range_names_the_line():
    for kind in ("REF", "CPU"):
        mesh = line(2, kind=kind)
        x = on(mesh, X, "d")
        with pytest.raises(BoundsError, match="out of range"):
            x[Tensor([9], device=kind)].realize()


def test_after_an_error_the_mesh_works():
    mesh = line(2)
    x = on(mesh, X, None, "d")
    with pytest.raises(AdjointError):
        (x @ x.T)[Tensor([99], device="REF")].realize()
    np.testing.assert_allclose((x @ x.T).numpy(), X @ X.T, rtol=1e-5)


def test_threads_of_the_user_may_use_one_mesh():
    mesh = line(2, kind="CPU")
    x = on(mesh, X, "d")
    fn = jit(lambda x: (x.T @ x).exp().sum())
    wanted = fn(x).item()
    found = []
    threads = [threading.Thread(target=lambda: found.append(fn(x).item())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 4


def test_members_end_with_their_programs():
    mesh = line(4)
    before = threading.active_count()
    on(mesh, X, "d").sum().realize()
    gc.collect()
    until = time.monotonic() + 120
    while threading.active_count() > before + 1 and time.monotonic() < until:
        time.sleep(0.01)
    assert threading.active_count() <= before + 1


def test_a_print_inside_is_printed_once(capsys):
    mesh = line(2)
    x = on(mesh, X[:2, 0], "d")

    def fn(x):
        adjoint.debug.print("{}", x.sum())
        return x * 2

    jit(fn)(x).realize()
    assert len(capsys.readouterr().out.strip().splitlines()) == 1


def test_one_program_written_once_runs_as_one_of_several_members():
    """Each member runs the whole script and has its own part alone."""
    arrays = X, values(6, 4, seed=1)

    def script():
        mesh = line(2)
        x, w = (Tensor(a, device="REF") for a in arrays)
        x, w = x.shard(mesh, P("d")), w.shard(mesh, P())
        g = grad(lambda w: ((x @ w) ** 2).sum())(w).realize()
        assert len(g.uop.arg.buffer.parts) == 1
        return g.numpy(), (x * 2).numpy()

    together = script_of(arrays)
    for member in adjoint.distributed.simulate(2, script):
        assert (member[0] == together[0]).all()
        assert (member[1] == together[1]).all()


def script_of(arrays):
    mesh = line(2)
    x, w = on(mesh, arrays[0], "d"), on(mesh, arrays[1])
    return grad(lambda w: ((x @ w) ** 2).sum())(w).numpy(), (x * 2).numpy()


def test_a_mesh_of_another_size_than_the_program_is_refused():
    def script():
        try:
            on(line(3), X, "d")
        except AdjointError as error:
            return error.code
        return ""

    assert adjoint.distributed.simulate(2, script) == ["E7001", "E7001"]


def test_state_goes_through_files_and_keeps_the_layout(tmp_path):
    mesh = line(2)
    x = on(mesh, X, "d")
    state.safe_save({"x": x}, tmp_path / "x.safetensors")
    loaded = state.safe_load(tmp_path / "x.safetensors")["x"]
    assert (loaded.numpy() == X).all()
    assert loaded.shard_like(x).realize().sharding == x.sharding
    model = adjoint.nn.Linear(6, 4)
    for p in model.parameters():
        p.to_("REF").shard_(mesh, P("d"))
    kept = {k: v.numpy() for k, v in state.get_state_dict(model).items()}
    model.load_state_dict({k: Tensor(v + 1, device="REF") for k, v in kept.items()})
    for name, p in state.get_state_dict(model).items():
        assert p.sharding == Sharding(mesh, ("d",))
        assert (p.numpy() == kept[name] + 1).all()


@pytest.mark.parametrize(
    "same", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_lie_as_what_they_copy(same):
    x = on(grid(2, 2), X, "dp", "tp")
    y = same(x)
    assert y.sharding == x.sharding
    assert (y.numpy() == X).all()
    assert "P('dp', 'tp')" in repr(y)


def test_another_mesh_is_another_place():
    one, other = line(2), Mesh((2, 2), ("a", "b"), [f"REF:{i}" for i in range(4)])
    x = on(one, X, "d")
    y = (x * 2).reshard(other, P("a", "b"))
    assert (y + 1).sharding == Sharding(other, ("a", "b"))
    np.testing.assert_allclose((y + 1).numpy(), X * 2 + 1)
    both = jit(lambda x: ((x * 2).reshard(other, P("a", "b")) + 1).exp().sum(0))
    for _ in range(2):
        assert both(x).sharding.mesh == other
        np.testing.assert_allclose(both(x).numpy(), np.exp(X * 2 + 1).sum(0), rtol=1e-5)
    g = grad(lambda x: (x.reshard(other, P("b")) ** 2).sum())(x)
    assert g.sharding == x.sharding
    np.testing.assert_allclose(g.numpy(), 2 * X, rtol=1e-6)


def test_lower_shows_what_each_member_runs_and_says():
    mesh = line(2, kind="CPU")
    x, w = on(mesh, X, None, "d"), on(mesh, values(6, 4, seed=1), "d")
    lowered = lower(lambda x, w: (x @ w).exp())(x, w)
    said = "all_reduce of f32[8, 4]: sum over d, 2 members, 128 bytes sent by each"
    assert lowered.collectives() == [said]
    assert "collective all_reduce(" in lowered.schedule()
    assert "members of the mesh meet there" in lowered.explain(measure=False)
    assert "f32, [8, 3]" in lowered.graph()


def test_show_says_what_members_say():
    """A line of text for each collective behind the program, inside of transforms as well."""
    mesh = line(2, kind="CPU")
    x, w = on(mesh, X, None, "d"), on(mesh, values(6, 4, seed=1), "d")
    said = "collective: all_reduce of f32[8, 4]: sum over d, 2 members, 128 bytes sent by each"
    assert show((x @ w).exp()).splitlines()[-2:] == ["outputs: %3", said]
    assert "collective" not in show(on(mesh, X, "d") @ Tensor(w.numpy()))
    seen = []
    step = jit(lambda x, w: seen.append(show(x @ w)) or x @ w)
    step(x, w)
    assert seen[0].splitlines()[-1] == said
    turns = fori_loop(0, 5, lambda i, c: (c @ w @ w.T).tanh(), x)
    assert any(text.endswith(", 5 times") for text in show(turns).splitlines())
    shown = show((x @ w).exp(), limit=2).splitlines()
    assert shown[1] == "... 3 more lines ..."
    assert shown[-1] == said


def test_pictures():
    mesh = grid(2, 2)
    x = on(mesh, X, "dp", "tp")
    assert visualize_sharding(x).splitlines()[1] == "│  REF  │ REF:1 │"
    assert visualize_sharding(x.sum(0).sharding).endswith("sum over dp pending")
    assert visualize_sharding(x, "svg").startswith("<svg")
    with pytest.raises(AdjointError, match="on no mesh"):
        visualize_sharding(Tensor([1.0]))
