"""The SHA-256 sums of the gradient text of many modules, for comparison between processes.

Run as `python -m tests.module.sums` to print them; `python -m tests.module.sums --write` stores
them in `gradient_sums.json`, which is done once, when a change of the text is meant.
"""

import hashlib
import json
import sys
from pathlib import Path

from adjoint import capture
from adjoint.module import differentiate
from tests.module.captured import SCALARS
from tests.module.rules import RULES

STORED = Path(__file__).with_name("gradient_sums.json")


def modules():
    """Captured functions, and a hand-written module for every gradient rule."""
    found = {f"captured {name}": capture(fn, *args) for name, (fn, args) in SCALARS.items()}
    return found | {f"rule {name}": entry[0] for name, entry in RULES.items()}


def gradient_text(module) -> str:
    return differentiate(module).gradient_module.text()


def sums(found=None) -> dict[str, str]:
    result = {}
    for name, module in (found or modules()).items():
        text = gradient_text(module)
        assert text.strip(), name
        result[name] = hashlib.sha256(text.encode()).hexdigest()
    return result


if __name__ == "__main__":
    text = json.dumps(sums(), indent=1, sort_keys=True) + "\n"
    if "--write" in sys.argv:
        STORED.write_text(text, encoding="utf-8")
    else:
        print(text)
