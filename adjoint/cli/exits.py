"""How commands answer: exit codes, wrong usage, text for people or JSON for programs."""

from __future__ import annotations

import argparse
import json
import math
from typing import Any

from adjoint.errors import AdjointError

OK, FAILED, WRONG_USAGE, NO_READER = 0, 1, 2, 141
EXIT_CODES = (
    "exit codes: 0 fine, 1 failed, 2 wrong usage, 130 interrupted, 141 the output has no reader"
)


class UsageError(Exception):
    """The command line asks for something that cannot be done: a sentence, or a coded error."""

    def __init__(self, problem: str | AdjointError):
        super().__init__(problem)
        self.problem = problem


def say(options: argparse.Namespace, data: Any, text: str) -> None:
    """Print the data as JSON if that was asked for, else the text."""
    print(json.dumps(data) + "\n" if options.json else text, end="")


def plain(value: Any) -> Any:
    """What JSON can say: a complex number is a pair, what is not finite a string."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def add_json(parser: argparse.ArgumentParser, what: str = "results and errors") -> None:
    """The option `--json`."""
    parser.add_argument("--json", action="store_true", help=f"{what} as JSON on stdout")


def names(text: str) -> list[str]:
    """The words between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]
