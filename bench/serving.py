"""The loop of a worker process: a request a line, an answer a line.

What may live here: that loop. Needs the standard library alone: it runs where peers are installed.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from typing import Any


def serve(version: str, answer: Callable[[dict[str, Any]], Any]) -> None:
    """Say the version, then answer until the input ends."""
    print(json.dumps(version), flush=True)
    for line in sys.stdin:
        try:
            found = answer(json.loads(line))
        except Exception as problem:  # whatever a library raises is its result
            traceback.print_exc()
            found = {"failed": f"{type(problem).__name__}: {problem}".splitlines()[0][:60]}
        print(json.dumps(found), flush=True)
