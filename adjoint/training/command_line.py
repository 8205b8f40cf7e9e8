"""The options of a training run: `adjoint train` has them, and so has a script by `run(main)`.

What may live here: what the options are, and what they do before the program begins. What may not:
what loops do with them (see cli_options.py and loop.py).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from adjoint import config
from adjoint.errors import AdjointError
from adjoint.runtime.device import Device, runnable
from adjoint.tensor import Tensor
from adjoint.training import cli_options
from adjoint.training.cli_options import RunOptions, use


def run(main: Callable[[], Any]) -> Any:
    """Call the main function of a script, which has the options of `adjoint train` so:
    `python script.py --device GPU --steps 100`. What `adjoint train` runs has them from there."""
    if cli_options.is_set():
        return main()
    options = _parsed(getattr(main, "__globals__", {}).get("__doc__") or "")
    prepare(options)
    with use(options_of(options, cli_options.program_name())):
        return main()


def _parsed(about: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    add_options(parser)
    return parser.parse_args()


def add_options(parser: argparse.ArgumentParser) -> None:
    """All of them."""
    add_device(parser)
    parser.add_argument("--steps", type=_count, metavar="N", help="steps of every loop")
    parser.add_argument("--seed", type=_seed, metavar="N", help="seed of the random numbers")
    parser.add_argument("--resume", metavar="FILE", help="go on from this checkpoint")
    parser.add_argument("--checkpoint", metavar="FILE", help="save here, at the end and on Ctrl-C")
    parser.add_argument("--threads", type=_threads, metavar="N", help="threads that compute")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def add_device(parser: argparse.ArgumentParser) -> None:
    """Where tensors go unless told otherwise."""
    about = "where tensors go unless told otherwise: CPU, GPU, …"
    parser.add_argument("--device", type=_device, metavar="NAME", help=about)


def prepare(options: argparse.Namespace) -> None:
    """What is set for the whole process."""
    if options.device is not None:
        Device.DEFAULT = options.device
    if options.threads is not None:
        config.THREADS.set(str(options.threads))
    if options.seed is not None:
        Tensor.manual_seed(options.seed)


def options_of(
    options: argparse.Namespace, program: str, name: str = "", arguments: tuple[str, ...] = ()
) -> RunOptions:
    """What the loops of a program are told."""
    return RunOptions(
        name=name,
        command=("adjoint", "train", program, *_repeated(options)),
        arguments=arguments,
        steps=options.steps,
        seed=options.seed,
        resume=options.resume,
        checkpoint=options.checkpoint,
        quiet=options.quiet,
    )


def _repeated(options: argparse.Namespace) -> list[str]:
    """The options that a resumed run needs again."""
    names = ("device", "steps", "seed", "checkpoint")
    kept = {f"--{name}": getattr(options, name) for name in names}
    return [str(word) for pair in kept.items() if pair[1] is not None for word in pair]


# ---- what options say


def _device(text: str) -> str:
    try:
        return runnable(text)
    except AdjointError as error:
        raise argparse.ArgumentTypeError(f"{error.code}: {error.problem}; {error.help}") from None


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


def _threads(text: str) -> int:
    return _number(text, 1, "a number of at least 1")
