"""profile records every step with its lines, in a file that trace viewers open, and as a table."""

import json
import os
import threading

import numpy as np
import pytest

from adjoint import ArgumentError, FileError, Tensor, counters, grad, jit, profile, scan
from adjoint.engine import counters as engine_counters
from adjoint.engine.observers import watch
from adjoint.runtime import spans
from tests.debug.places import places_in
from tests.support.processes import printed

place = places_in(__file__)
STEPS = ("kernel", "library", "host", "control")


def model(x, w):
    hidden = (x @ w).tanh()  # the product
    soft = hidden.softmax(-1)  # the softmax
    total, rows = scan(lambda c, r: (c + r.exp(), c.sum()), soft[0] * 0, soft)  # the loop
    return soft, total, rows, (soft.T @ soft + 1).inv()  # the inverse


def operands():
    random = np.random.default_rng(0)
    x, w = random.standard_normal((16, 12)), random.standard_normal((12, 8))
    return Tensor(x.astype(np.float32)), Tensor(w.astype(np.float32))


def bits(tensors):
    return [t.numpy().tobytes() for t in tensors]


def events(file):
    return json.loads(file.read_text(encoding="utf-8"))["traceEvents"]


def slices(file, *kinds):
    return [e for e in events(file) if e["ph"] == "X" and (not kinds or e["cat"] in kinds)]


@pytest.fixture(autouse=True)
def nobody_records_afterwards():
    yield
    assert spans.recorders == []
    assert engine_counters.active == []
    assert not watch.on


@pytest.mark.parametrize("loops", [False, True])
def test_results_are_the_same_bits(loops):
    f, args = jit(model), operands()
    plain = bits(f(*args))
    with profile(loops=loops):
        jitted = bits(f(*args))
        lazy = bits(model(*args))
    assert jitted == plain
    assert lazy == plain
    assert bits(f(*args)) == plain


def test_every_step_is_a_slice_with_its_lines_shapes_bytes_and_rates(tmp_path):
    f, args = jit(model), operands()
    bits(f(*args))
    with profile(tmp_path / "t.json"):
        bits(f(*args))
    found = slices(tmp_path / "t.json", *STEPS)
    kernels = [e for e in found if e["cat"] == "kernel"]
    product = next(e for e in kernels if "f32[16, 12]" in e["args"]["shapes"])
    assert f"matmul at {place('the product')}" in product["args"]["lines"]
    assert product["args"]["shapes"].startswith("f32[16, 12], f32[12, 8] -> ")
    assert product["args"]["bytes"] >= 4 * (16 * 12 + 12 * 8 + 16 * 8)
    assert product["args"]["flops"] >= 2 * 16 * 12 * 8
    assert product["args"]["GFLOP/s"] > 0
    soft = next(e for e in kernels if any("softmax" in line for line in e["args"]["lines"]))
    assert f"tanh at {place('the product')}" in soft["args"]["lines"]
    assert f"softmax at {place('the softmax')}" in soft["args"]["lines"]
    assert soft["args"]["threads"] >= 1
    (loop,) = [e for e in found if e["cat"] == "control"]
    assert loop["args"]["turns"] == 16
    assert loop["args"]["lines"] == [f"scan at {place('the loop')}"]
    assert any("kernel" in inside for inside in loop["args"]["inside"])
    (inverse,) = [e for e in found if e["cat"] == "host"]
    assert inverse["args"]["lines"] == [f"inv at {place('the inverse')}"]


def test_slices_lie_inside_one_another_and_have_a_thread(tmp_path):
    with profile(tmp_path / "t.json"):
        bits(jit(model)(*operands()))
    found = sorted(slices(tmp_path / "t.json"), key=lambda e: (e["ts"], -e["dur"]))
    named = [e for e in events(tmp_path / "t.json") if e["name"] == "thread_name"]
    names = {e["tid"]: e["args"]["name"] for e in named}
    open_ = []
    for event in found:
        assert names[event["tid"]]
        while open_ and open_[-1] <= event["ts"] + 1e-3:
            open_.pop()
        end = event["ts"] + event["dur"]
        assert not open_ or end <= open_[-1] + 2e-3
        open_.append(end)


def test_calls_and_stages_of_compiling_are_slices(tmp_path):
    code = (
        "import sys\nfrom adjoint import Tensor, jit, profile\n"
        "x = Tensor([[1.0, 2.0]])\n"
        "with profile(sys.argv[1]):\n"
        "    jit(lambda x: (x * 3).exp().sum())(x).realize()\n"
        "    (x + 1).realize()\n"
    )
    seen = []
    for file in (tmp_path / "first.json", tmp_path / "second.json"):
        printed("-c", code, file, ADJOINT_CACHE_DIR=str(tmp_path), ADJOINT_CACHE="1")
        seen.append({e["name"]: e for e in slices(file)})
    first, second = seen
    for name in ("jit <lambda>", "realize", "trace <lambda>", "build", "fuse", "lower", "compile"):
        assert name in first
    assert first["jit <lambda>"]["args"]["lines"] == ["call at <string>:5"]
    assert any(name.startswith("llvm ") for name in first)
    assert not any(name.startswith("llvm ") for name in second)
    code = [e for name, e in first.items() if name.startswith("code ")]
    again = [e for name, e in second.items() if name.startswith("code ")]
    assert "miss" in {e["args"]["cache"] for e in code}
    assert {e["args"]["cache"] for e in again} == {"disk"}


def test_a_program_that_was_compiled_before_is_not_compiled_again():
    f, args = jit(model), operands()
    bits(f(*args))
    with profile() as p:
        f(*args)
    assert [s.name for s in p.spans if s.kind == "compile"] == []
    assert p.counters.compiles == 0


def test_memory_is_a_track_of_its_own(tmp_path):
    with profile(tmp_path / "t.json"):
        Tensor.ones(1000).exp().realize()
    samples = [e for e in events(tmp_path / "t.json") if e["ph"] == "C"]
    assert len(samples) >= 2
    assert all(e["name"] == "memory" and e["args"]["in use"] >= 0 for e in samples)


def test_what_is_inside_a_loop_is_seen_if_asked_for():
    f, args = jit(model), operands()
    with profile(loops=True) as p:
        f(*args)
    exps = [s for s in p.spans if s.kind == "kernel" and "exp" in str(s.details["lines"])]
    assert len([s for s in exps if place("the loop") in str(s.details["lines"])]) >= 16


def test_gradients_say_that_they_are():
    with profile() as p:
        grad(lambda x: x.tanh().sum())(Tensor([1.0, 2.0])).realize()
    assert any(", backward" in str(s.details.get("lines")) for s in p.spans)


def test_the_interpreter_is_recorded_op_by_op():
    with profile() as p:
        Tensor([1.0], device="REF").exp().realize()  # interpreted
    (step,) = [s for s in p.spans if s.kind == "host"]
    assert step.name == "exp"
    assert step.details["lines"] == [f"exp at {place('interpreted')}"]


# ---- the table


def test_the_summary_is_sorted_by_time_and_names_lines():
    f, args = jit(model), operands()
    with profile() as p:
        for _ in range(3):
            f(*args)
    text = p.summary()
    head, columns, *rows = text.splitlines()
    assert " in 3 runs of programs" in head
    assert columns.split() == ["ms", "%", "calls", "GB/s", "GFLOP/s", "kind", "name", "lines"]
    times = [float(row.split()[0]) for row in rows if not row.startswith("compiling")]
    assert times == sorted(times, reverse=True)
    assert f"matmul at {place('the product')}" in text
    assert rows[-1].startswith("compiling: ")
    assert f"and {len(times) - 1} more steps" in p.summary(rows=1)


def test_the_summary_of_nothing_says_so():
    with profile() as p:
        assert "0 runs of programs" in p.summary()
    assert "0 runs of programs" in p.summary()
    assert repr(p) == "<profile without a file: 0 spans>"


def test_own_times_add_up_to_the_whole():
    with profile(loops=True) as p:
        bits(jit(model)(*operands()))
    outer = [s for s in p.spans if s.name.startswith("jit")]
    text = p.summary()
    listed = sum(float(row.split()[0]) for row in text.splitlines()[2:-2])
    assert listed <= sum(s.seconds for s in outer) * 1e3 + 1


# ---- files and errors


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_the_file_is_whole_after_an_error_or_an_interrupt(tmp_path, error):
    def broken():
        with profile(tmp_path / "t.json"):
            Tensor.ones(10).exp().realize()
            raise error

    with pytest.raises(error):
        broken()
    assert slices(tmp_path / "t.json", "kernel")
    assert os.listdir(tmp_path) == ["t.json"]


def test_the_old_file_is_there_until_the_new_one_is_whole(tmp_path):
    file = tmp_path / "t.json"
    file.write_text("old")
    with profile(str(file)):
        assert file.read_text() == "old"
        Tensor.ones(10).exp().realize()
    assert slices(file, "kernel")


@pytest.mark.parametrize("name", ["missing/t.json", "", "file/t.json"])
def test_a_path_that_cannot_be_written_is_refused_before_the_work_starts(tmp_path, name):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot write") as caught, profile(tmp_path / name):
        raise AssertionError("the work has started")
    assert caught.value.code == "E9006"


def test_a_folder_that_is_gone_when_the_block_ends_is_said_to_be_so(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    recording = profile(folder / "t.json")
    recording.__enter__()
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    with pytest.raises(FileError, match="cannot write"):
        recording.__exit__(None, None, None)


def test_profiles_nest_and_each_has_what_ran_inside(tmp_path):
    with profile(tmp_path / "outer.json") as outer:
        Tensor.ones(10).exp().realize()
        with profile(tmp_path / "inner.json") as inner, counters() as counted:
            Tensor.ones(10).sin().realize()
        Tensor.ones(10).cos().realize()
    assert [s.name for s in outer.spans if s.kind == "kernel"] == ["exp", "sin", "cos"]
    assert [s.name for s in inner.spans if s.kind == "kernel"] == ["sin"]
    assert counted.kernels == 1
    assert slices(tmp_path / "inner.json", "kernel")
    assert slices(tmp_path / "outer.json", "kernel")


def test_a_profile_can_be_used_again_but_not_twice_at_once():
    recording = profile()
    with recording:
        Tensor.ones(10).exp().realize()
        with pytest.raises(ArgumentError, match="already"):
            recording.__enter__()
    with recording:
        Tensor.ones(10).sin().realize()
    assert [s.name for s in recording.spans if s.kind == "kernel"] == ["sin"]


def test_threads_are_recorded_apart_and_compute_what_they_should():
    f = jit(lambda x: (x * 2 + 1).exp().sum())
    inputs = [Tensor(np.full(100, i / 10, np.float32)) for i in range(4)]
    expected = [f(x).item() for x in inputs]
    found = {}

    def work(number):
        found[number] = {f(inputs[number]).item() for _ in range(25)}

    with profile() as p:
        threads = [threading.Thread(target=work, args=(n,), name=f"worker {n}") for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {n: {value} for n, value in enumerate(expected)}
    runs = [s for s in p.spans if s.name == "program"]
    assert len(runs) == 100
    assert len({s.thread for s in runs}) == 4
    names = [e["args"]["name"] for e in p.trace()["traceEvents"] if e["name"] == "thread_name"]
    assert sorted(names) == [f"worker {n}" for n in range(4)]


def test_more_spans_than_are_kept_are_counted(monkeypatch):
    monkeypatch.setattr("adjoint.debug.profiling.MAX_SPANS", 3)
    with profile() as p:
        for _ in range(5):
            Tensor.ones(10).exp().realize()
    assert len(p.spans) == 3
    assert p.trace()["otherData"] == {"spans left out": p.dropped}
    assert p.dropped > 0


# ---- copies


def copies(recorded):
    return [(s.name, s.details["bytes"]) for s in recorded.spans if s.lane == "copies"]


def test_what_is_copied_in_and_out_has_a_lane_of_its_own():
    rows = np.ones((16, 16), np.float32)
    with profile() as p:
        x = Tensor(rows)
        Tensor([1, 2, 3])
        (x + 1).realize().numpy()  # shares its memory: nothing is copied
        x.tolist()
    assert copies(p) == [("NumPy → host", 1024), ("Python → host", 12), ("host → Python", 1024)]
    assert all("test_profile.py" in s.details["lines"][0] for s in p.spans if s.lane == "copies")
    events = p.trace()["traceEvents"]
    (lane,) = [
        e["tid"] for e in events if e["name"] == "thread_name" and e["args"]["name"] == "copies"
    ]
    assert [e["name"] for e in events if e["ph"] == "X" and e["tid"] == lane] == [
        name for name, _ in copies(p)
    ]
    assert "copies: " in p.summary()


def test_devices_of_the_host_share_memory_and_say_so():
    x = Tensor.ones(64).contiguous().realize()
    with profile() as p:
        moved = x.to("CPU:1").realize()
    (span,) = [s for s in p.spans if s.lane == "copies"]
    assert (span.name, span.details["bytes"]) == ("CPU → CPU:1", 0)
    assert span.details["shares"] == "the 256 bytes that are there"
    assert np.shares_memory(moved.numpy(), x.numpy())


def test_what_threads_copy_at_once_is_drawn_apart():
    def work():
        barrier.wait()
        Tensor(np.ones(1 << 16, np.float32))

    barrier = threading.Barrier(2)
    with profile() as p:
        threads = [threading.Thread(target=work, name=f"copier {i}") for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {"copies: copier 0", "copies: copier 1"} <= set(p.lanes.names.values())
    assert len({p.lanes.number(s) for s in p.spans if s.lane == "copies"}) == 2


def test_nothing_is_recorded_of_copies_while_nobody_asks():
    with profile() as p:
        pass
    Tensor(np.ones(4, np.float32)).tolist()
    assert p.spans == ()
