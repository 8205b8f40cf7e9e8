"""Members that are processes: `adjoint launch`, collectives over MPI, and what goes wrong."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from adjoint.cli.launch import _found
from adjoint.engine import sharded
from adjoint.errors import CommunicationError
from tests.nn.parallel_training import MODELS, Run, mesh_of

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
COLLECTIVES = ["all_reduce", "long_all_reduce", "all_gather", "reduce_scatter", "all_to_all"]
OTHERS = ["permute", "receive", "barrier", "group"]


def reason():
    try:
        import mpi4py  # noqa: F401

        _found(None)
    except (ImportError, CommunicationError) as error:
        return f"no MPI here: {error}"
    return ""


pytestmark = pytest.mark.skipif(bool(reason()), reason=reason() or "MPI is here")


SOON = 200  # seconds, of a machine that may be busy: before the launcher gives up


def launch(size, program, *arguments, silence="20", threads="1", limit=300):
    """The exit code of `adjoint launch`, what was printed, and the seconds it took."""
    words = [sys.executable, "-m", "adjoint", "launch", "-n", str(size), "--threads", threads]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ADJOINT_SILENCE": silence}
    begin = time.monotonic()
    process = subprocess.Popen(
        [*words, str(program), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        start_new_session=True,
    )
    try:
        text, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return process.returncode, text, time.monotonic() - begin


def left_behind(text):
    """Processes of a run that are still there."""
    return [pid for pid in re.findall(r"^pid (\d+)$", text, re.MULTILINE) if _is_there(int(pid))]


def _is_there(pid):
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def check_collectives(size):
    code, text, _ = launch(size, HERE / "mpi_collectives.py")
    assert code == 0, text
    for rank in range(size):
        assert f"rank {rank} of {size} is through" in text


def test_collectives_of_two_processes():
    check_collectives(2)


@pytest.mark.mpi
@pytest.mark.parametrize("size", [1, 3, 4, 5])
def test_collectives_of_more_processes(size):
    check_collectives(size)


def check_fault(size, fault, collective):
    """Who is not the victim says what became of it and where it waited; no process stays."""
    code, text, seconds = launch(
        size, HERE / "mpi_fault.py", fault, collective, silence=SILENCE[fault]
    )
    assert code != 0, text
    assert "E7021: member 1 " in text, text
    called = {"long_all_reduce": "all_reduce", "group": "members [0, 1]"}.get(
        collective, collective
    )
    assert called in text, text
    if collective not in ("group", "end"):
        assert "train.py:7" in text, text
    assert re.search(SAID[fault], text), text
    assert not left_behind(text)
    assert seconds < SOON


SAID = {
    "killed": "member 1 was killed",
    "stopped": "member 1 has been silent for 5 s",
    "raises": "member 1 raised KeyError: 'lost'",
    "exits": "member 1 has ended",
}
# A busy machine may keep a process from its heartbeat for a while: only who is to be silent is.
SILENCE = dict.fromkeys(SAID, "20") | {"stopped": "5"}


@pytest.mark.parametrize("fault", ["killed", "raises"])
def test_a_process_is_lost_before_a_sum(fault):
    check_fault(2, fault, "all_reduce")


@pytest.mark.mpi
@pytest.mark.parametrize("collective", [*COLLECTIVES, *OTHERS])
@pytest.mark.parametrize("fault", SAID)
def test_a_process_is_lost_before_each_collective(fault, collective):
    check_fault(2, fault, collective)


@pytest.mark.mpi
@pytest.mark.parametrize("fault", ["killed", "stopped", "raises"])
def test_one_of_four_is_lost_and_each_other_says_so(fault):
    _, text, _ = launch(4, HERE / "mpi_fault.py", fault, "all_reduce", silence=SILENCE[fault])
    said = re.findall(r"E7021: member 1 .*, and member (\d) cannot go on with all_reduce", text)
    assert sorted(said) == ["0", "2", "3"], text
    assert not left_behind(text)


@pytest.mark.mpi
@pytest.mark.parametrize("fault", ["killed", "stopped", "raises"])
def test_a_process_is_lost_while_others_end(fault):
    check_fault(2, fault, "end")


@pytest.mark.parametrize("collective", ["all_reduce"])
def test_processes_that_call_different_things_are_told_both_places(collective):
    code, text, _ = launch(2, HERE / "mpi_fault.py", "other", collective)
    assert code != 0
    assert "E7020: members 0 and 1 call different collectives" in text, text
    assert "all_reduce sum float64[4] (train.py:7)" in text
    assert "all_reduce max float64[3] (train.py:9)" in text


@pytest.mark.mpi
@pytest.mark.parametrize("collective", [*COLLECTIVES[1:], *OTHERS])
def test_each_collective_is_told_from_another(collective):
    code, text, seconds = launch(2, HERE / "mpi_fault.py", "other", collective)
    assert code != 0
    assert "E7020" in text, text
    assert "all_reduce max float64[3] (train.py:9)" in text
    assert seconds < SOON


@pytest.mark.mpi
def test_processes_that_wait_in_different_groups_are_told_both_places():
    code, text, seconds = launch(3, HERE / "mpi_fault.py", "group", "all_reduce")
    assert code != 0
    assert "E7020" in text, text
    assert "train.py:7" in text
    assert "members [0, 1]" in text
    assert seconds < SOON


@pytest.mark.mpi
def test_a_process_that_is_slow_is_waited_for():
    code, text, _ = launch(2, HERE / "mpi_fault.py", "slow", "all_reduce", silence="5")
    assert code == 0, text


EARLY = {
    "exits": "E7021: member 1 ended before it joined",
    "killed": "E7021: member 1 ended before it joined",
    "stopped": "E7021: member 1 has been stopped for 5 s before it joined",
}


def check_early(fault):
    """MPI itself would wait for it without an end."""
    code, text, seconds = launch(2, HERE / "mpi_early.py", fault, silence="5")
    assert code != 0, text
    assert EARLY[fault] in text, text
    assert "member().barrier" in text, text
    assert "and member 0 cannot go on with the beginning of MPI" in text, text
    assert not left_behind(text)
    assert seconds < SOON


def test_a_process_that_ends_before_it_joins_is_named():
    check_early("exits")


@pytest.mark.mpi
@pytest.mark.parametrize("fault", ["killed", "stopped"])
def test_a_process_that_is_lost_before_it_joins_is_named(fault):
    check_early(fault)


@pytest.mark.mpi
def test_a_process_that_joins_late_is_waited_for():
    code, text, _ = launch(2, HERE / "mpi_early.py", "slow", silence="5")
    assert code == 0, text
    assert text.count("is through") == 2


@pytest.mark.mpi
def test_the_end_of_launch_is_the_end_of_all(tmp_path):
    script = tmp_path / "sleeps.py"
    script.write_text(
        "import os, time\nfrom adjoint import distributed\n"
        "distributed.member().barrier(label='')\n"
        "print('pid', os.getpid(), flush=True)\ntime.sleep(60)\n"
    )
    words = [sys.executable, "-m", "adjoint", "launch", "-n", "2", str(script)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
    lines = [process.stdout.readline() for _ in range(2)]
    process.send_signal(signal.SIGTERM)
    process.wait(300)
    process.stdout.close()
    deadline = time.monotonic() + 120
    while left_behind("".join(lines)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(lines) == 2
    assert not left_behind("".join(lines))


def trained(size, *arguments):
    code, text, _ = launch(size, ROOT / "tests" / "nn" / "parallel_training.py", *arguments)
    assert code == 0, text
    (line,) = [line for line in text.splitlines() if line.startswith("losses ")]
    return [float.fromhex(word) for word in line.split()[1:]]


def test_two_processes_train_with_the_bits_of_two_simulated_devices():
    here = Run("zero2", mesh_of("dp=2")).losses(2)
    assert trained(2, "zero2", "dp=2", "2") == here


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("size", "strategy", "mesh"),
    [
        (2, "", "dp=2"),
        (2, "zero1", "dp=2"),
        (2, "", "fsdp=2"),
        (2, "", "tp=2"),
        (2, "sequence", "tp=2"),
        (4, "", "dp=4"),
        (4, "", "dp=2,tp=2"),
        (2, "", "pp=2"),
        (4, "", "dp=2,pp=2"),
        (4, "", "fsdp=2,pp=2"),
        (4, "", "pp=2,tp=2"),
        (4, "deep", "pp=4"),
        (2, "experts", "ep=2"),
        (4, "experts", "ep=4"),
        (4, "experts", "dp=2,ep=2"),
        (4, "experts", "ep=2,pp=2"),
    ],
)
def test_processes_train_with_the_bits_of_simulated_devices(size, strategy, mesh):
    here = Run(strategy, mesh_of(mesh)).losses(3)
    np.testing.assert_allclose(
        here, Run(strategy if strategy in MODELS else "").losses(3), rtol=2e-6
    )
    assert trained(size, strategy, mesh, "3") == here


def test_two_processes_train_in_stages_with_the_bits_of_simulated_devices():
    here = Run("", mesh_of("pp=2")).losses(2)
    assert trained(2, "", "pp=2", "2") == here


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("strategy", "mesh"),
    [("", "pp=2"), ("", "dp=2,pp=2"), ("", "pp=2,tp=2"), ("experts", "ep=2,pp=2")],
)
def test_stages_send_the_bytes_that_were_counted(strategy, mesh, monkeypatch):
    programs, original = [], sharded.sharded_program

    def watched(*given, **named):
        programs.append(original(*given, **named))
        return programs[-1]

    monkeypatch.setattr(sharded, "sharded_program", watched)
    made = mesh_of(mesh)
    Run(strategy, made).losses(2)
    report = programs[-1].report()
    program = ROOT / "tests" / "nn" / "parallel_training.py"
    code, text, _ = launch(made.size, program, strategy, mesh, "3")
    assert code == 0, text
    sent = sorted(int(found) for found in re.findall(r"^sent (\d+)$", text, re.MULTILINE))
    counted = [report.stages[made.stage(m)] for m in range(made.size)]
    assert sent == sorted(s.sent + s.collective_bytes for s in counted)


@pytest.mark.mpi
def test_processes_in_stages_hold_their_parameters_alone(tmp_path):
    script = tmp_path / "held.py"
    script.write_text(
        "from tests.nn.parallel_training import MODELS, Run, mesh_of\n"
        "from adjoint import distributed\n"
        "from adjoint.ir.values import storage\n"
        "run = Run('', mesh_of('pp=2'))\n"
        "run.losses(1)\n"
        "state = {**run.model.state_dict(), **run.optimizer.state_dict()}\n"
        "own = [t for t in state.values() if t.sharding and t.sharding.stage is not None]\n"
        "parts = [storage(t.uop).parts for t in own]\n"
        "held = {t.sharding.stage for t, p in zip(own, parts, strict=True) if p}\n"
        "print('rank', distributed.rank(), 'holds', sorted(held), sum(map(len, parts)), len(own))\n"
    )
    code, text, _ = launch(2, script)
    assert code == 0, text
    rows = dict(re.findall(r"^rank (\d) holds \[(\d)\]", text, re.MULTILINE))
    assert rows == {"0": "0", "1": "1"}, text
    counts = re.findall(r"\] (\d+) (\d+)$", text, re.MULTILINE)
    assert sum(int(held) for held, _ in counts) == int(counts[0][1])


@pytest.mark.mpi
@pytest.mark.parametrize("mesh", ["pp=2", "dp=2,pp=2"])
def test_a_killed_stage_is_named_and_the_run_goes_on_from_its_checkpoint(mesh, tmp_path):
    whole, folder = Run("", mesh_of(mesh)).losses(4), str(tmp_path / "run.ckpt")
    script = ROOT / "tests" / "nn" / "parallel_training.py"
    size = mesh_of(mesh).size
    code, text, seconds = launch(size, script, "", mesh, "4", folder, "2")
    assert code != 0
    assert "E7021: member 1 was killed" in text, text
    assert "microbatch" in text
    assert seconds < SOON
    assert trained(size, "", mesh, "4", folder) == whole[2:]


@pytest.mark.mpi
def test_a_run_of_stages_goes_on_without_them(tmp_path):
    whole, folder = Run("", mesh_of("dp=1")).losses(4), str(tmp_path / "run.ckpt")
    assert trained(2, "", "pp=2", "2", folder) == whole[:2]
    assert trained(2, "", "dp=2", "3", folder) == whole[2:3]
    run = Run("", mesh_of("dp=1"))
    assert run.resume(folder) == 3
    assert run.losses(4, 3) == whole[3:]


@pytest.mark.mpi
def test_a_run_of_experts_in_stages_goes_on_in_one_process(tmp_path):
    whole, folder = Run("experts", mesh_of("ep=2,pp=2")).losses(3), str(tmp_path / "run.ckpt")
    assert trained(4, "experts", "ep=2,pp=2", "2", folder) == whole[:2]
    run = Run("experts", mesh_of("ep=2,pp=2"))
    assert run.resume(folder) == 2
    assert run.losses(3, 2) == whole[2:]


def test_processes_write_one_checkpoint_and_one_process_goes_on(tmp_path):
    whole = Run("", mesh_of("dp=2")).losses(3)
    folder = tmp_path / "run.ckpt"
    assert trained(2, "", "dp=2", "2", str(folder)) == whole[:2]
    assert len(list(folder.glob("*-of-00002.safetensors"))) == 2
    run = Run("", mesh_of("dp=2"))
    assert run.resume(folder) == 2
    assert run.losses(3, 2) == whole[2:]


@pytest.mark.mpi
def test_after_a_process_was_killed_the_run_goes_on_from_its_checkpoint(tmp_path):
    whole, folder = Run("", mesh_of("fsdp=2")).losses(4), str(tmp_path / "run.ckpt")
    script = ROOT / "tests" / "nn" / "parallel_training.py"
    code, text, _ = launch(2, script, "", "fsdp=2", "4", folder, "2")
    assert code != 0
    assert "member 1 was killed" in text, text
    assert trained(2, "", "fsdp=2", "4", folder) == whole[2:]


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("strategy", "mesh"), [("", "tp=2"), ("zero2", "dp=2"), ("", "fsdp=2"), ("experts", "ep=2")]
)
def test_processes_send_the_bytes_that_were_counted(strategy, mesh, monkeypatch):
    programs, original = [], sharded.sharded_program

    def watched(*given, **named):
        programs.append(original(*given, **named))
        return programs[-1]

    monkeypatch.setattr(sharded, "sharded_program", watched)
    Run(strategy, mesh_of(mesh)).losses(2)
    program = ROOT / "tests" / "nn" / "parallel_training.py"
    code, text, _ = launch(2, program, strategy, mesh, "3")
    assert code == 0, text
    sent = {int(found) for found in re.findall(r"^sent (\d+)$", text, re.MULTILINE)}
    assert sent == {programs[-1].graph.bytes_sent}


# ---- collectives beside kernels


@pytest.mark.mpi
def test_sums_beside_kernels_have_the_bits_of_one_process():
    found = set()
    for size in (1, 2):
        code, text, _ = launch(size, HERE / "mpi_overlap.py", "well")
        assert code == 0, text
        rows = re.findall(r"^rank \d began (\d+): (\S+)$", text, re.MULTILINE)
        assert len(rows) == size
        found |= {total for _, total in rows}
        assert {int(begun) for begun, _ in rows} == {0 if size == 1 else 18}
    assert len(found) == 1


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("killed", "E7021: all_reduce: member 1 was killed"),
        ("raises", "E7021: all_reduce: member 1 raised ValueError: no more"),
        ("stopped", "E7021: all_reduce: member 1 has been silent for 5 s"),
        ("other", "E7020: all_reduce: members 0 and 1 call different collectives"),
    ],
)
def test_a_process_that_is_lost_while_sums_are_on_their_way_is_named(how, said):
    silence = SILENCE.get(how, "20")
    exit_code, text, seconds = launch(2, HERE / "mpi_overlap.py", how, silence=silence)
    assert exit_code != 0
    assert said in text, text
    assert seconds < SOON
    assert not left_behind(text)
