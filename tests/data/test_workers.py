"""The loader with worker processes: the same batches, clean ends, and every way to fail."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from adjoint.data import Dataset, Loader
from adjoint.errors import TrainingError
from tests.data.samples import Failing, Modules, Processes, Squares, Unsendable, doubled, keep

pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no POSIX")


def children():
    """Numbers of the processes that this one has started and not waited for, in any state."""
    listed = subprocess.run(["ps", "-eo", "ppid=,pid=,comm="], capture_output=True, text=True)
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    return [int(row[1]) for row in rows if row[0] == str(os.getpid()) and row[2] != "ps"]


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = children()
    yield
    gc.collect()  # the traceback of an expected error holds the iteration
    assert children() == before


def same(one, other):
    pairs = [pair for a, b in zip(one, other, strict=True) for pair in zip(a, b, strict=True)]
    return all(a.tobytes() == b.tobytes() and a.dtype == b.dtype for a, b in pairs)


@pytest.mark.parametrize("workers", [1, 3])
def test_batches_do_not_depend_on_the_number_of_workers(workers):
    expected = list(Loader(Squares(), 7, shuffle=True, seed=3))
    assert same(expected, Loader(Squares(), 7, shuffle=True, seed=3, workers=workers))


def test_workers_that_are_kept_load_epoch_after_epoch():
    alone = Loader(Processes(8), 2)
    with Loader(Processes(8), 2, workers=1, persistent=True) as loader:
        first, second = (np.concatenate(list(loader)) for _ in range(2))
        assert len({*first, *second}) == 1
        assert first[0] in children()
    assert set(np.concatenate(list(alone))) == {os.getpid()}


def test_a_run_is_resumed_with_another_number_of_workers():
    whole = list(Loader(Squares(), 7, shuffle=True))
    one = Loader(Squares(), 7, shuffle=True, workers=2)
    taken = [batch for _, batch in zip(range(3), one, strict=False)]
    other = Loader(Squares(), 7, shuffle=True)
    other.load_state_dict(one.state_dict())
    assert same(whole, [*taken, *other])


def test_large_batches_and_large_arrays_go_through():
    x = np.random.default_rng(0).standard_normal((64, 30_000)).astype(np.float32)
    data = Dataset(x, np.arange(64)).map(doubled)
    got = list(Loader(data, 32, workers=1, prefetch=3))
    assert np.array_equal(np.concatenate([b[0] for b in got]), 2 * x)


def test_workers_load_nothing_of_the_compiler_and_no_script_that_they_do_not_need():
    loaded = set(next(iter(Loader(Modules(), 1, workers=1)))[0].split())
    assert "adjoint.data" in loaded
    heavy = {"llvmlite", "sklearn", "scipy", "pytest", "_pytest", "multiprocessing", "__mp_main__"}
    assert not loaded & (heavy | {f"adjoint.{p}" for p in ("schedule", "kernel", "codegen", "nn")})


def test_leaving_the_loop_ends_the_workers():
    before = children()
    for _ in Loader(Squares(400), 2, workers=2):
        assert len(children()) == len(before) + 2
        break
    assert children() == before


def test_an_error_of_the_user_ends_the_workers():
    def train():
        for _ in Loader(Squares(400), 2, workers=1):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train()


def test_an_error_in_a_sample_is_that_error_and_says_which_sample():
    with pytest.raises(ValueError, match="no picture in the file") as caught:
        list(Loader(Failing("raise_error"), 4, workers=2))
    notes = "\n".join(caught.value.__notes__)
    assert "while loading sample 17 (batch 4 of epoch 0)" in notes
    assert "in raise_error" in notes


def test_batches_before_an_error_are_given_out():
    got = []
    with pytest.raises(ValueError, match="no picture"):
        got += (batch for batch in Loader(Failing("raise_error"), 4, workers=2, prefetch=4))
    assert len(got) == 4


@pytest.mark.parametrize("how", ["raise_odd_error", "raise_stop"])
def test_an_error_that_cannot_be_sent_becomes_one_with_a_code(how):
    with pytest.raises(TrainingError) as caught:
        list(Loader(Failing(how), 4, workers=1))
    assert caught.value.code == "E9003"
    assert "sample 17" in "\n".join(caught.value.__notes__)


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ("leave", "ended with exit code 3"),
        ("leave_politely", "ended with exit code 5"),
        ("be_killed", r"was killed by SIGKILL \(exit code -9\)"),
        ("leave_a_child_behind", "ended with exit code 7"),
    ],
)
def test_a_worker_that_dies_is_an_error_at_once(how, match):
    begin = time.monotonic()
    with pytest.raises(TrainingError, match=match) as caught:
        list(Loader(Failing(how), 4, workers=1))
    assert caught.value.code == "E9004"
    assert "batch 4 of epoch 0 (samples 16, 17, 18 and 1 more)" in str(caught.value)
    assert time.monotonic() - begin < 200  # and not when a pipe or a timeout ends it


def test_a_worker_killed_from_outside_is_an_error():
    def train():
        for _ in Loader(Squares(10_000), 2, workers=1):
            os.kill(children()[-1], signal.SIGKILL)

    with pytest.raises(TrainingError, match="SIGKILL") as caught:
        train()
    assert caught.value.code == "E9004"


def test_a_sample_that_takes_too_long_is_an_error_and_its_worker_is_ended():
    """Batch 4 hangs; on a busy machine the start of the worker may take too long as well."""
    with pytest.raises(TrainingError, match=r"has not sent batch \d of epoch 0 .* in 2 s") as error:
        list(Loader(Failing("hang"), 4, workers=1, timeout=2))
    assert error.value.code == "E6007"


def test_a_function_that_cannot_be_sent_is_an_error():
    data = Dataset(np.arange(4)).map(lambda x: x)
    with pytest.raises(TrainingError, match="cannot be sent to worker processes") as caught:
        list(Loader(data, 2, workers=1))
    assert caught.value.code == "E9003"
    assert "workers=0" in caught.value.help


def test_a_sample_that_cannot_be_sent_is_an_error():
    with pytest.raises(Exception, match="pickle"):
        list(Loader(Unsendable(), 2, workers=1, collate=keep))


def _run(tmp_path, code, *arguments):
    file = tmp_path / "script.py"
    file.write_text(textwrap.dedent(code))
    return subprocess.run(
        [sys.executable, *(arguments or [file])], input=textwrap.dedent(code), capture_output=True,
        text=True, timeout=300, check=False,
    )  # fmt: skip


SCRIPT = """
    from adjoint.data import Loader

    class Mine:
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return index

    if __name__ == "__main__":
        print([b.tolist() for b in Loader(Mine(), 2, workers=1)])
"""


def test_a_dataset_of_the_main_script_is_found(tmp_path):
    assert _run(tmp_path, SCRIPT).stdout.strip() == "[[0, 1], [2, 3]]"


def test_a_dataset_typed_into_a_prompt_is_an_error(tmp_path):
    result = _run(tmp_path, SCRIPT, "-")
    assert (
        "E9003: Loader: the dataset or its collate function is written in a session"
        in result.stderr
    )


def test_a_script_without_a_guard_works_if_the_dataset_does_not_come_from_it(tmp_path):
    code = """
        import numpy as np
        from adjoint.data import Dataset, Loader
        print([x.tolist() for x, in Loader(Dataset(np.arange(4)), 2, workers=1)])
    """
    assert _run(tmp_path, code).stdout.strip() == "[[0, 1], [2, 3]]"


def test_a_script_without_a_guard_gets_an_error_and_no_flood_of_processes(tmp_path):
    code = SCRIPT.replace('if __name__ == "__main__":', "if True:")
    result = _run(tmp_path, code)
    assert result.returncode == 1
    assert "E9003: Loader: the script starts workers when it is imported" in result.stderr


def _interrupted(tmp_path, how):
    code = f"""
        import os, signal, sys, time
        from adjoint.data import Loader
        from tests.data.samples import Squares
        if __name__ == "__main__":
            for _ in Loader(Squares(100_000), 2, workers=2):
                print("ready", flush=True)
                {how}
    """
    file = tmp_path / "script.py"
    file.write_text(textwrap.dedent(code))
    process = subprocess.Popen(
        [sys.executable, file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, env={**os.environ, "PYTHONPATH": os.getcwd()},
    )  # fmt: skip
    assert process.stdout.readline() == "ready\n"
    return process


def _group(process):
    listed = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return [row for row in rows if row[0] == str(process.pid) and not row[1].startswith("Z")]


def _ends(process):
    """Whether all of a process's group end, as soon as a busy machine lets them."""
    limit = time.monotonic() + 300
    while _group(process) and time.monotonic() < limit:
        time.sleep(0.05)
    return _group(process) == []


def test_ctrl_c_ends_the_loader_and_its_workers_quietly(tmp_path):
    process = _interrupted(tmp_path, "time.sleep(600)")
    os.killpg(process.pid, signal.SIGINT)
    errors = process.communicate(timeout=300)[1]
    assert errors.count("KeyboardInterrupt") == 1
    assert errors.count("Traceback") == 1
    assert _ends(process)


def test_workers_end_when_the_loaders_process_is_killed(tmp_path):
    process = _interrupted(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)")
    process.communicate(timeout=300)
    assert _ends(process)
