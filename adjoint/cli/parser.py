"""The parser of commands: argparse, with near names when a word is wrong."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from adjoint.cli.exits import EXIT_CODES
from adjoint.errors import did_you_mean


class Parser(argparse.ArgumentParser):
    """Long options are never guessed from their beginnings; help keeps its lines."""

    def __init__(self, prog: str, **named: Any):
        named.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        named.setdefault("allow_abbrev", False)
        super().__init__(prog, **named)

    def error(self, message: str) -> NoReturn:
        """Wrong usage: what, the nearest word that would do, exit code 2."""
        hint = self._hint(message)
        super().error(f"{message}; {hint}" if hint else message)

    def _hint(self, message: str) -> str:
        option = re.match(r"unrecognized arguments: (--?[\w-]+)", message)
        if option:
            return did_you_mean(option[1], self._option_string_actions)
        choice = re.search(r"invalid choice: '([^']*)'", message)
        choices = [str(c) for action in self._actions for c in action.choices or ()]
        return did_you_mean(choice[1], choices) if choice else ""


def parser(name: str, doc: str, examples: str, **named: Any) -> Parser:
    """A parser whose help ends with examples and the exit codes."""
    epilog = f"examples:\n{examples}\n\n{EXIT_CODES}"
    return Parser(name, description=doc, epilog=epilog, **named)


def subparsers(parent: argparse.ArgumentParser, metavar: str = "COMMAND") -> Any:
    """Where commands of a command go."""
    return parent.add_subparsers(required=True, metavar=metavar, parser_class=Parser)


def add_subparser(commands: Any, name: str, doc: str) -> Any:
    """A command of a command."""
    return commands.add_parser(name, help=doc, description=f"{doc}.", epilog=EXIT_CODES)
