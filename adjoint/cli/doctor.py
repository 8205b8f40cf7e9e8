"""`adjoint doctor`: checks this installation, and says what to fix."""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from importlib import metadata

import numpy as np

import adjoint
from adjoint import config
from adjoint.cli.doctor_gpu import gpu_findings
from adjoint.cli.exits import FAILED, OK, add_json, say
from adjoint.cli.findings import Finding
from adjoint.errors import AdjointError, ArgumentError, did_you_mean
from adjoint.runtime import cache
from adjoint.runtime.cores import available_cores
from adjoint.runtime.device import Device
from adjoint.runtime.processor import processor
from adjoint.target import TARGETS
from adjoint.training.progress_text import number, size

EXAMPLES = """\
  adjoint doctor
  adjoint doctor --json
  adjoint doctor || echo "something is wrong"

Every line is ok, warn (works, but look at it) or fail; the exit code is 1 if something fails."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How to print."""
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Look at everything; 1 if something fails."""
    found: list[Finding] = []
    for finding in findings():
        found.append(finding)
        if not options.json:
            print(_line(finding), flush=True)
    counts = Counter(finding.status for finding in found)
    data = {
        "version": adjoint.__version__,
        "ok": not counts["fail"],
        "counts": {status: counts[status] for status in ("ok", "warn", "fail")},
        "checks": [asdict(finding) for finding in found],
    }
    say(options, data, _verdict(counts))
    return FAILED if counts["fail"] else OK


def _line(finding: Finding) -> str:
    fix = f"\n      fix: {finding.fix}" if finding.fix else ""
    return f"{finding.status:<4}  {finding.name:<12} {finding.text}{fix}"


def _verdict(counts: Counter[str]) -> str:
    if counts["fail"]:
        return f"{counts['fail']} failed, {counts['warn']} to look at\n"
    return f"all is well, {counts['warn']} to look at\n" if counts["warn"] else "all is well\n"


_SLOW_IMPORT = 1.5  # seconds
_LITTLE_DISK = 100e6  # bytes
_OLDEST = (3, 11)


def findings() -> Iterator[Finding]:
    """Everything, in the order in which one thing needs another."""
    first = (_python, _switches, _libraries, _extras)
    for check in (*first, _devices, _threads, _cache, _smoke, _gpu, _load):
        try:
            yield from check()
        except Exception as error:
            name = check.__name__.removeprefix("_")
            problem = str(error).partition("\n")[0]
            yield Finding(name, "fail", f"{type(error).__name__}: {problem}", _fix(error))


def _fix(error: BaseException) -> str:
    if isinstance(error, ImportError):
        return f"pip install --force-reinstall adjoint   # {getattr(error, 'name', '') or 'module'}"
    return error.help if isinstance(error, AdjointError) else ""


def _python() -> Iterator[Finding]:
    found = f"Adjoint {adjoint.__version__}, Python {platform.python_version()}, "
    found += f"{platform.system()} {platform.machine()}"
    fix = "" if sys.version_info[:2] >= _OLDEST else "install Python 3.11 or newer"
    yield Finding("python", "fail" if fix else "ok", found, fix)


def _switches() -> Iterator[Finding]:
    known = {option.variable: option for option in config.OPTIONS}
    for name in config.variables():
        if name not in known:
            hint = did_you_mean(name, known) or f"unset {name}"
            yield Finding("switches", "warn", f"{name} is set, which Adjoint does not know", hint)
    for option in config.OPTIONS:
        if option.given() is not None:
            yield _switch(option)


def _switch(option: config.Option) -> Finding:
    try:
        option.value()
    except ArgumentError as error:
        return Finding("switches", "fail", error.problem, f"unset {option.variable}")
    return Finding("switches", "ok", f"{option.variable}={option.given()}: {option.doc}")


# ---- libraries


def _libraries() -> Iterator[Finding]:
    if not _requirements():
        text = "Adjoint runs from its source, so it is not known which versions it needs"
        yield Finding("library", "warn", text, "pip install -e . in the repository")
    for name, least, extra in _requirements():
        if not extra:
            yield _library(name, least, "fail", f"pip install '{name}>={least}'")


def _extras() -> Iterator[Finding]:
    """What is not installed is no fault: it belongs to an extra."""
    for name, least, extra in _requirements():
        if extra and extra != "dev":
            install = f"pip install 'adjoint[{extra}]'"
            found = _library(name, least, "warn", install)
            missing = _version(name) is None
            text = f"{name} is not installed; only adjoint[{extra}] needs it: {install}"
            yield Finding("extra", "ok", text) if missing else found


def _library(name: str, least: str, status: str, install: str) -> Finding:
    found = _version(name)
    if found is None:
        return Finding("library", status, f"{name} is not installed", install)
    if _parts(found) < _parts(least):
        return Finding("library", status, f"{name} {found} is older than {least}", install)
    return Finding("library", "ok", f"{name} {found}")


def _requirements() -> list[tuple[str, str, str]]:
    """(name, least version, extra) of everything that the installed package asks for."""
    try:
        lines = metadata.requires("adjoint") or []
    except metadata.PackageNotFoundError:
        lines = []
    form = re.compile(r"([\w.-]+)\s*>=\s*([\w.]+)(?:.*extra\s*==\s*['\"]([\w-]+))?")
    return [(m[1], m[2], m[3] or "") for m in map(form.match, lines) if m]


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _parts(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)[:3]]


# ---- the machine


def _devices() -> Iterator[Finding]:
    vectors = f"vectors of {processor().width} bits, {available_cores()} cores"
    about = {"CPU": f"compiled, {vectors}", "REF": "NumPy, the reference", "DISK": "files"}
    runs = Device.available()
    for name in (n for n, target in TARGETS.items() if not target.gpu):
        if name in runs:
            default = ", the default" if name == Device.DEFAULT.partition(":")[0] else ""
            yield Finding("device", "ok", f"{name}: {about.get(name, 'available')}{default}")
        else:
            yield Finding("device", "ok", f"{name}: not available; nothing needs it")


def _gpu() -> Iterator[Finding]:
    """Found by itself: it needs what the others look at."""
    yield from gpu_findings(_gradient)


def _threads() -> Iterator[Finding]:
    asked, cores = config.THREADS.value(), available_cores()
    if asked is not None and asked > cores:
        fix = "unset ADJOINT_THREADS, or ask for no more than the cores"
        yield Finding("threads", "warn", f"{asked} threads on {cores} cores", fix)
    else:
        yield Finding("threads", "ok", f"{asked or cores} threads on {cores} cores")


def _cache() -> Iterator[Finding]:
    folder = cache.directory()
    if not config.CACHE.value():
        text = "compiled code is not kept; every process compiles again"
        yield Finding("cache", "warn", text, "unset ADJOINT_CACHE")
        return
    problem = cache.problem()
    if problem:
        fix = f"chmod 700 {folder} and adjoint cache clear, or set ADJOINT_CACHE_DIR to your own"
        yield Finding("cache", "warn", f"{folder} {problem}; compiled code is not kept", fix)
        return
    foreign = cache.distrusted()
    if foreign:
        text = f"{len(foreign)} files of {folder} are not trusted and will not run: {foreign[0]}"
        yield Finding("cache", "warn", text, "adjoint cache clear")
    found = cache.entries()
    total, limit = sum(entry.size for entry in found), config.CACHE_LIMIT.value()
    mode = f"mode {os.stat(folder).st_mode & 0o777:o}"
    text = f"{folder}: {len(found)} objects, {size(total)} of at most {size(limit)}, {mode}"
    yield Finding("cache", "ok", text)
    free = shutil.disk_usage(folder).free
    if free < _LITTLE_DISK:
        yield Finding("disk", "warn", f"{size(free)} free at {folder}", "make room")


# ---- does it work


def _smoke() -> Iterator[Finding]:
    """A gradient through a matrix product and a softmax, compiled, against the interpreter."""
    began = time.perf_counter()
    compiled, expected = _gradient("CPU"), _gradient("REF")
    taken = time.perf_counter() - began
    error = float(np.abs(compiled - expected).max())
    text = f"compiled a gradient in {number(taken)} s; differs from REF by {error:.1e}"
    if np.isfinite(compiled).all() and error < 1e-5:
        yield Finding("smoke test", "ok", text)
    else:
        fix = "adjoint cache clear, then try again; if it stays, please report it"
        yield Finding("smoke test", "fail", text, fix)


def _gradient(device: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    generator = np.random.default_rng(0)
    x = adjoint.Tensor(generator.standard_normal((8, 16), np.float32), device=device)
    w = adjoint.Tensor(generator.standard_normal((16, 4), np.float32), device=device)
    found = adjoint.grad(lambda w: ((x @ w).softmax(-1) * (x @ w).tanh()).sum())(w)
    return np.array(found.numpy())


def _load() -> Iterator[Finding]:
    """The time of `import adjoint` in a process of its own."""
    code = "import time; t = time.perf_counter(); import adjoint; print(time.perf_counter() - t)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        yield Finding("import", "fail", f"import adjoint fails in a new process: {lines[-1]}")
        return
    taken = float(done.stdout.split()[-1])
    slow = taken > _SLOW_IMPORT
    fix = "python -m compileall on the package, or move it to a faster disk" if slow else ""
    text = f"import adjoint takes {number(taken)} s"
    yield Finding("import", "warn" if slow else "ok", text, fix)
