"""The options of a training run: `adjoint train` has them, and so has a script by `run(main)`.

What may live here: what the options are, and what they do before the program begins. What may not:
what loops do with them (see cli_options.py and loop.py).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from adjoint import config
from adjoint.errors import AdjointError, ShardingError
from adjoint.ir.mesh import PIPELINE_AXIS, SCHEDULES, Mesh
from adjoint.runtime.device import Device, runnable
from adjoint.tensor import Tensor
from adjoint.training import cli_options
from adjoint.training.cli_options import RunOptions, use

RUNS = "runs"  # where pages and logs go unless told otherwise


def run(main: Callable[[], Any]) -> Any:
    """Call the main function of a script, which then has the options of `adjoint train`: `python
    script.py --device GPU --steps 100`. A script that `adjoint train` runs has them from there.
    Arguments behind `--` are for the script, which finds them in `sys.argv`.
    """
    if cli_options.is_set():
        return main()
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    options = _parsed(getattr(main, "__globals__", {}).get("__doc__") or "", words[:cut])
    sys.argv[1:] = words[cut + 1 :]
    prepare(options)
    context = options_of(options, cli_options.program_name(), arguments=tuple(sys.argv[1:]))
    with use(context):
        return main()


def _parsed(about: str, words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    add_options(parser)
    return parser.parse_args(words)


def add_options(parser: argparse.ArgumentParser) -> None:
    """All of them."""
    add_device(parser)
    parser.add_argument("--steps", type=_count, metavar="N", help="steps of every loop")
    parser.add_argument("--seed", type=_seed, metavar="N", help="seed of the random numbers")
    parser.add_argument("--resume", metavar="FILE", help="go on from this checkpoint")
    parser.add_argument("--checkpoint", metavar="FILE", help="save here, at the end and on Ctrl-C")
    parser.add_argument("--threads", type=_threads, metavar="N", help="threads that compute")
    about = "axes of a mesh: dp=2,tp=2; processes of `adjoint launch`, or simulated devices"
    parser.add_argument("--mesh", type=_mesh, metavar="AXES", help=about)
    about = "in how many parts a batch goes through the stages along pp (default: twice as many)"
    parser.add_argument("--microbatches", type=_microbatches, metavar="N", help=about)
    about = "in which order stages compute: 1f1b (default) or gpipe"
    parser.add_argument("--schedule", choices=SCHEDULES, help=about)
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    about = "write a page that follows the run, and its log"
    parser.add_argument("--watch", action="store_true", help=about)
    about = "where pages and logs go (default: runs); implies --watch"
    parser.add_argument("--runs", metavar="FOLDER", help=about)
    about = "event files for TensorBoard there, too; implies --watch"
    parser.add_argument("--tensorboard", action="store_true", help=about)


def add_device(parser: argparse.ArgumentParser) -> None:
    """The default device of tensors."""
    about = "where tensors go unless told otherwise: CPU, GPU, …"
    parser.add_argument("--device", type=_device, metavar="NAME", help=about)


def prepare(options: argparse.Namespace) -> None:
    """Apply the settings of the whole process."""
    asked = [n for n in ("microbatches", "schedule") if getattr(options, n, None) is not None]
    if asked and PIPELINE_AXIS not in (options.mesh or {}):
        problem = f"--{asked[0]} is for stages: give a mesh with them"
        raise ShardingError("E7001", problem, op="train", help="--mesh pp=2")
    if options.device is not None:
        Device.DEFAULT = options.device
    if options.threads is not None:
        config.THREADS.set(str(options.threads))
    if options.seed is not None:
        Tensor.manual_seed(options.seed)


def options_of(
    options: argparse.Namespace, program: str, name: str = "", arguments: tuple[str, ...] = ()
) -> RunOptions:
    """The options for the loops of a program."""
    return RunOptions(
        name=name,
        command=("adjoint", "train", program, *_repeated(options)),
        arguments=arguments,
        steps=options.steps,
        seed=options.seed,
        resume=options.resume,
        checkpoint=options.checkpoint,
        quiet=options.quiet,
        watch=_watched(options),
        tensorboard=options.tensorboard,
        mesh=options.mesh,
        microbatches=options.microbatches,
        schedule=options.schedule,
    )


def _watched(options: argparse.Namespace) -> str | None:
    """Where the loops' pages go, if they are wanted."""
    wanted = options.watch or options.tensorboard or options.runs is not None
    return (options.runs or RUNS) if wanted else None


def _repeated(options: argparse.Namespace) -> list[str]:
    """The options that a resumed run needs again."""
    names = ("device", "steps", "seed", "checkpoint", "microbatches", "schedule")
    kept = {f"--{name}": getattr(options, name) for name in (*names, "runs")}
    if options.mesh is not None:
        kept["--mesh"] = ",".join(f"{name}={size}" for name, size in options.mesh.items())
    words = [str(word) for pair in kept.items() if pair[1] is not None for word in pair]
    return [*words, *(f"--{name}" for name in ("watch", "tensorboard") if getattr(options, name))]


# ---- what options say


def _device(text: str) -> str:
    try:
        return runnable(text)
    except AdjointError as error:
        raise argparse.ArgumentTypeError(f"{error.code}: {error.problem}; {error.help}") from None


def _mesh(text: str) -> dict[str, int]:
    """`dp=2,tp=4`: sizes by the names of axes."""
    try:
        pairs = [part.split("=") for part in text.split(",")]
        sizes = {name.strip(): int(size) for name, size in pairs}
        Mesh(sizes)
    except (ValueError, AdjointError) as error:
        problem = f"expected axes like dp=2,tp=2, got {text!r}"
        problem += f": {error.problem}" if isinstance(error, AdjointError) else ""
        raise argparse.ArgumentTypeError(problem) from None
    return sizes


def _number(text: str, least: int, what: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"expected {what}, got {text!r}")
    return number


def _count(text: str) -> int:
    return _number(text, 0, "a number of steps")


def _seed(text: str) -> int:
    return _number(text, 0, "a number of at least 0")


def _microbatches(text: str) -> int:
    return _number(text, 2, "a number of at least 2")


def _threads(text: str) -> int:
    return _number(text, 1, "a number of at least 1")
