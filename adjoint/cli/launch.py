"""`adjoint launch -n N PROGRAM`: run a program as N processes of MPI, and end them all.

What may live here: mpirun's command line, and the end of what it starts. What may not: anything
that the processes do; they find themselves by MPI, under any scheduler's own mpirun as well.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from adjoint import config, start
from adjoint.cli.exits import FAILED, OK, UsageError
from adjoint.errors import CommunicationError
from adjoint.runtime.cores import available_cores

EXAMPLES = """\
  adjoint launch -n 4 train.py --learning-rate 0.1
  adjoint launch -n 2 -m my_package.train
  adjoint launch -n 16 --mpirun-options "--hostfile hosts --map-by node" train.py

The processes ask `adjoint.distributed` who they are. A scheduler's own mpirun or srun starts them
as well: `mpirun -n 4 python train.py`."""
_SUBREAPER, _DEATH_SIGNAL = 36, 1  # of Linux's prctl
_OPEN_MPI = ["--oversubscribe", "--bind-to", "none"]
_KEEP_ON = ["--runtime-options", "recoverable,continuous"]  # though a process was lost
_KEEPS_ON = 5  # the version from which on Open MPI that keeps on tells of it by its exit code
_PATIENCE = 10.0  # seconds that mpirun has for ending what it started


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How many processes, and what they run."""
    parser.usage = "adjoint launch -n N [options] [-m] PROGRAM [arguments of the program]"
    parser.add_argument("-n", type=int, required=True, metavar="N", help="how many processes")
    parser.add_argument("-m", action="store_true", help="PROGRAM is a module")
    parser.add_argument("--threads", type=int, help="threads of each (default: cores / N)")
    parser.add_argument("--mpirun", help="the program that starts them (default: that of openmpi)")
    parser.add_argument("--mpirun-options", default="", metavar="TEXT", help="more options for it")
    parser.add_argument("program", metavar="PROGRAM", help="a script's path")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    """Start the processes, wait, and leave none behind."""
    _check(options)
    mpirun = _found(options.mpirun)
    extra = shlex.split(options.mpirun_options)
    words = [mpirun, *_own_options(mpirun), *extra, "-n", str(options.n), *_program(options)]
    _set_up(options)
    _prctl(_SUBREAPER)
    before = _children()
    started = subprocess.Popen(words, preexec_fn=_die_with_parent)
    try:
        return _code(started.wait())
    except KeyboardInterrupt:
        return start.INTERRUPTED
    finally:
        _end(started, before)


def _check(options: argparse.Namespace) -> None:
    if options.n < 1:
        raise UsageError(f"-n {options.n}: there is at least one process")
    if options.threads is not None and options.threads < 1:
        raise UsageError(f"--threads {options.threads}: there is at least one thread")
    if not options.m and not Path(options.program).is_file():
        raise UsageError(f"no script {options.program}; a module is run with -m")


def _found(given: str | None) -> str:
    """mpirun: the one asked for, that of this environment, or that of the path."""
    beside = str(Path(sys.executable).parent)
    found = shutil.which(given) if given else shutil.which("mpirun", path=beside)
    if found := found or (None if given else shutil.which("mpirun")):
        return found
    problem = f"no program {given}" if given else "no mpirun in this environment or on the path"
    raise CommunicationError("E7024", problem, op="launch", help="pip install 'adjoint[mpi]'")


def _own_options(mpirun: str) -> list[str]:
    """What makes Open MPI leave it to the processes to say who was lost. Version 4 would end such a
    run as if all were well, so it ends the others itself; they have told by then."""
    text = subprocess.run([mpirun, "--version"], capture_output=True, text=True).stdout
    found = re.search(r"Open MPI\D*(\d+)", text)
    if found is None:
        return []
    return _OPEN_MPI + (_KEEP_ON if int(found[1]) >= _KEEPS_ON else [])


def _program(options: argparse.Namespace) -> list[str]:
    named = ["-m", options.program] if options.m else [options.program]
    return [sys.executable, *named, *options.arguments]


def _set_up(options: argparse.Namespace) -> None:
    """The environment of the processes: a share of the cores, unless another number was given."""
    threads = options.threads or (
        None if config.THREADS.given() else available_cores() // options.n
    )
    if threads is not None:
        config.THREADS.set(str(max(threads, 1)))
    if os.geteuid() == 0:
        config.allow_mpi_as_root()


def _code(code: int) -> int:
    return OK if code == 0 else code if 0 < code < 256 else FAILED


def _end(started: subprocess.Popen[bytes], before: set[int]) -> None:
    """End mpirun if it runs, and then every process that it left behind, stopped ones too."""
    if started.poll() is None:
        started.terminate()
        try:
            started.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()
    for _ in range(100):
        left = _children() - before
        for pid in left:
            _kill(pid)
        if not left:
            return
        time.sleep(0.01)


def _children() -> set[int]:
    """Children of this process, among which are the orphans of mpirun."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent, *_ = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(parent) == os.getpid() and state != "Z":
            found.add(int(folder.name))
    return found


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _die_with_parent() -> None:
    _prctl(_DEATH_SIGNAL, signal.SIGTERM)


def _prctl(what: int, value: int = 1) -> None:
    """Tell Linux something about this process; elsewhere there is nothing to tell."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(what, value, 0, 0, 0)
