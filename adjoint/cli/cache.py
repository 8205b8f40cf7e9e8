"""`adjoint cache ls|clear`: the compiled code that is kept on disk.

Elsewhere: keeping it (see `runtime/cache.py`).
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from adjoint import config
from adjoint.cli.exits import OK, add_json, say
from adjoint.cli.parser import add_subparser, subparsers
from adjoint.runtime import cache
from adjoint.training.progress_text import size

EXAMPLES = """\
  adjoint cache ls
  adjoint cache ls --json
  adjoint cache clear"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The commands of `cache` and their options."""
    commands = subparsers(parser)
    listing = add_subparser(commands, "ls", "list what is kept, the oldest first")
    listing.set_defaults(command=_ls)
    listing.add_argument("--long", action="store_true", help="a line for every entry")
    clearing = add_subparser(commands, "clear", "remove what is kept; it is compiled again")
    clearing.set_defaults(command=_clear)
    for command in (listing, clearing):
        add_json(command)


def run(options: argparse.Namespace) -> int:
    """Run the command of `cache` that was asked for."""
    return int(options.command(options))


def _ls(options: argparse.Namespace) -> int:
    found, now = cache.entries(), time.time()
    rows: list[dict[str, Any]] = [
        {"name": entry.name, "bytes": entry.size, "age_seconds": max(round(now - entry.used), 0)}
        for entry in found
    ]
    data = _summary(len(found), sum(entry.size for entry in found)) | {"entries": rows}
    lines = [f"{size(r['bytes']):>10}  {_age(r['age_seconds']):>8}  {r['name']}" for r in rows]
    say(options, data, "\n".join([*(lines if options.long else []), _text(data, rows), ""]))
    return OK


def _clear(options: argparse.Namespace) -> int:
    total = cache.total_size()
    removed = cache.clear()
    data = _summary(removed, total)
    text = f"removed {removed} objects, {size(total)}, from {data['directory']}\n"
    say(options, data, text)
    return OK


def _summary(count: int, total: int) -> dict[str, Any]:
    return {
        "directory": str(cache.directory()),
        "enabled": config.CACHE.value(),
        "objects": count,
        "bytes": total,
        "limit_bytes": config.CACHE_LIMIT.value(),
    }


def _text(data: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    ages = [row["age_seconds"] for row in rows]
    when = f", used {_age(min(ages))} to {_age(max(ages))} ago" if ages else ""
    off = "" if data["enabled"] else " (turned off by ADJOINT_CACHE)"
    return (
        f"{data['directory']}{off}: {data['objects']} objects, {size(data['bytes'])}"
        f" of at most {size(data['limit_bytes'])}{when}"
    )


def _age(seconds: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
