"""`adjoint bench`: what this machine does, measured in a few seconds; or what a function does.

Elsewhere: comparisons (see `bench/` of the repository).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import adjoint
from adjoint import Tensor, jit, value_and_grad
from adjoint.backends.protocol import Backend
from adjoint.cli.exits import FAILED, OK, UsageError, add_json, names, say
from adjoint.cli.function import ARGUMENTS, arguments, loaded, split
from adjoint.cli.program import show_error
from adjoint.engine.explain import costs_text
from adjoint.engine.graph_key import backend_name
from adjoint.engine.program_cache import load_backend
from adjoint.engine.roofline import measured_again
from adjoint.engine.step_costs import StepCost
from adjoint.errors import AdjointError, did_you_mean
from adjoint.runtime.cores import thread_count
from adjoint.runtime.device import Device
from adjoint.runtime.processor import processor
from adjoint.runtime.spans import by_the_clock
from adjoint.target import DEFAULT_BACKEND, Target
from adjoint.training.command_line import add_device
from adjoint.training.progress_text import number
from adjoint.transforms.lower import lower

EXAMPLES = f"""\
  adjoint bench
  adjoint bench --only matmul,bandwidth --seconds 1
  adjoint bench --json
  adjoint bench model.py:step --args "f32[128,784]" "f32[784,10]"
  adjoint bench model.py:step --device GPU

With a function: its steps when it is jitted, each with how and why it is computed so, operations on
floats, bytes, time, and the share of the roofline, which is the time that this machine's arithmetic
or memory needs at least. {ARGUMENTS}
Floats are drawn, integers are 0."""
_MIN_RUNS = 3  # runs of everything


@dataclass(frozen=True, slots=True)
class Measured:
    """A number, and what it is a number of."""

    name: str
    value: float
    unit: str
    what: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to measure and for how long."""
    parser.add_argument(
        "function", nargs="?", metavar="FILE.py:FUNCTION", help="or package.module:FUNCTION"
    )
    parser.add_argument(
        "--args", nargs="+", action="extend", default=[], metavar="TYPE", help="of the function"
    )
    add_device(parser)
    parser.add_argument(
        "--again", action="store_true", help="measure the roofline again, which is kept on disk"
    )
    parser.add_argument("--only", type=names, metavar="a,b", help=f"of {', '.join(_ALL)}")
    parser.add_argument(
        "--seconds", type=_seconds, default=0.3, metavar="S", help="for each (default: 0.3)"
    )
    add_json(parser)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 3600:
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, got {text!r}")
    return value


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    if options.device is not None:
        Device.DEFAULT = options.device
    if options.again:
        measured_again(_backend())
    if options.function is not None:
        return _function(options)
    if options.args:
        raise UsageError("--args are for a function: adjoint bench FILE.py:FUNCTION --args ...")
    chosen = options.only or list(_ALL)
    for name in chosen:
        if name not in _ALL:
            hint = did_you_mean(name, _ALL) or f"there are {', '.join(_ALL)}"
            raise UsageError(f"--only {name}: no such measurement; {hint}")
    rows: list[Measured] = []
    for name in chosen:
        found = _measured(name, options.seconds)
        rows.append(found)
        if not options.json:
            print(f"{found.what:<44} {number(found.value):>8} {found.unit}", flush=True)
    if options.json:
        say(options, _machine() | {"results": [asdict(row) for row in rows]}, "")
    return OK


def _measured(name: str, seconds: float) -> Measured:
    unit, what, make, value, clock = _ALL[name]
    target = _backend().target
    sizes = {"side": target.probe_side, "bytes": 4e-6 * target.probe_numbers}
    taken = _time(make(target), seconds, by_the_clock if clock else _backend().timed)
    return Measured(name, value(taken, target), unit, what.format(**sizes))


def _backend() -> Backend:
    """That of the default device; the CPU's where that is interpreted."""
    return load_backend(backend_name(Device.DEFAULT) or DEFAULT_BACKEND)


def _machine() -> dict[str, Any]:
    return {
        "version": adjoint.__version__,
        "device": Device.DEFAULT,
        "machine": Device.facts().name,
        "threads": thread_count(),
        "vector_bits": processor().width,
    }


def _time(call: Callable[[], Any], seconds: float, timed: Any) -> float:
    """The median of single calls, after one that compiles."""
    call()
    taken: list[float] = []
    until = time.perf_counter() + seconds
    while len(taken) < _MIN_RUNS or time.perf_counter() < until:
        taken.append(timed(call)[1])
    return median(taken)


# ---- a function


def _function(options: argparse.Namespace) -> int:
    """The steps of a user's function and what they cost."""
    if options.only:
        raise UsageError("--only is for the machine; a function is measured as a whole")
    file, name = split(options.function)
    code, function = loaded(file, name)
    if function is None:
        return code
    found = arguments(function, options.args, _drawn)
    positional = [a.value for a in found if a.positional]
    named = {a.name: a.value for a in found if not a.positional}
    try:
        lowered = lower(function)(*positional, **named)
        rows = lowered.costs(lowered.seconds(options.seconds))
    except Exception as error:
        if options.json and isinstance(error, AdjointError):
            raise
        show_error(error, getattr(getattr(function, "__code__", None), "co_filename", file))
        return FAILED
    text = costs_text(lowered.plan, rows)
    say(options, _machine() | {"steps": [_row(row) for row in rows]}, f"{text}\n")
    return OK


def _drawn(*shape: int, dtype: Any) -> Tensor:
    """Floats between -1 and 1; integers and truths are 0, which is an index of everything."""
    if not dtype.is_float:
        return Tensor.zeros(*shape, dtype=dtype)
    return (Tensor.rand(*shape) * 2 - 1).cast(dtype).realize()


def _row(row: StepCost) -> dict[str, Any]:
    strategy = row.step.strategy
    return {
        "step": str(row.step),
        "strategy": "" if strategy is None else strategy.name,
        "why": "" if strategy is None else strategy.why,
        "flops": row.flops,
        "bytes": row.bytes,
        "seconds": row.seconds,
        "roofline_seconds": row.least,
        "bound": row.bound,
        "share": row.share,
    }


# ---- what is measured


def _filled(*shape: int) -> Tensor:
    return Tensor.rand(*shape).realize()


def _matmul(target: Target) -> Callable[[], Any]:
    a, b = (_filled(target.probe_side, target.probe_side) for _ in range(2))
    return lambda: (a @ b).realize()


def _bandwidth(target: Target) -> Callable[[], Any]:
    x = _filled(target.probe_numbers)
    return lambda: (x + 1.0).realize()


def _realize(target: Target) -> Callable[[], Any]:
    a, b = _filled(16), _filled(16)
    return lambda: (a + b).realize()


def _jit(target: Target) -> Callable[[], Any]:
    a, b = _filled(16), _filled(16)
    add = jit(lambda a, b: a + b)
    return lambda: add(a, b)


def _gradient(target: Target) -> Callable[[], Any]:
    x = _filled(64).requires_grad_(True)

    def build() -> Any:
        x.grad = None
        (x.tanh() * x).sum().backward()
        return x.grad

    return build


def _step(target: Target) -> Callable[[], Any]:
    """One step of a classifier: 128 rows, 256 inputs, 256 hidden, 10 classes; gradient descent."""
    x, y = _filled(128, 256), (Tensor.rand(128) * 10).cast("int32").realize()
    weights = [(_filled(256, 256) - 0.5) * 0.1, (_filled(256, 10) - 0.5) * 0.1]

    def loss(weights: list[Tensor]) -> Any:
        return ((x @ weights[0]).relu() @ weights[1]).sparse_categorical_crossentropy(y)

    def step(weights: list[Tensor]) -> Any:
        value, grads = value_and_grad(loss)(weights)
        return value, [w - 0.01 * g for w, g in zip(weights, grads, strict=True)]

    compiled, now = jit(step), [weights]

    def call() -> Any:
        value, now[0] = compiled(now[0])
        return value

    return call


def _micro(seconds: float, target: Target) -> float:
    return 1e6 * seconds


# Unit, what it says, what makes the call, the value of so many seconds a call, and whether those
# are the host's: an overhead is.
_Row = tuple[
    str, str, Callable[[Target], Callable[[], Any]], Callable[[float, Target], float], bool
]
_ALL: dict[str, _Row] = {
    "matmul": (
        "GFLOP/s",
        "float32 product of {side} × {side}",
        _matmul,
        lambda seconds, target: 2e-9 * target.probe_side**3 / seconds,
        False,
    ),
    "bandwidth": (
        "GB/s",
        "read and write of {bytes:.0f} MB each",
        _bandwidth,
        lambda seconds, target: 8e-9 * target.probe_numbers / seconds,
        False,
    ),
    "realize": ("µs", "realize of a small sum (overhead)", _realize, _micro, True),
    "jit": ("µs", "call of a small jitted sum (overhead)", _jit, _micro, True),
    "gradient": ("µs", "building a small gradient, not running it", _gradient, _micro, True),
    "step": (
        "ms",
        "training step, 128 × 256 → 256 → 10, jitted",
        _step,
        lambda seconds, target: 1e3 * seconds,
        False,
    ),
}
