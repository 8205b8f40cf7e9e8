"""Writes the tables of `docs/core.md` from the opcodes' records and the codes. Run by `make docs`.

Nothing between the marks of the page is written by hand: the forms, the texts, the errors and the
derivatives are those of the records in `adjoint.module`, the codes those of `adjoint.errors`.
"""

from __future__ import annotations

import re
from pathlib import Path

from adjoint.errors import CODES, PHASES
from adjoint.module.opcode import OPCODES, Opcode

PAGE = Path(__file__).parent / "core.md"
_MARKED = r"<!-- {0} -->\n.*?<!-- end {0} -->"
_SHOWN = {
    "name": "KIND",
    "ints": "[i, ..]",
    "flag": "FLAG",
    "number": "NUMBER",
    "literal": "LITERAL",
    "slices": "[s:e:st, ..]",
    "padding": "PADDING",
}
_OPERANDS = ("%a", "%b", "%c")


def written() -> str:
    """The page as the records want it."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in (("core-v1", _table(True)), ("core+g", _table(False)), ("codes", _codes())):
        block = f"<!-- {name} -->\n{table}\n<!-- end {name} -->"
        text = re.sub(_MARKED.format(re.escape(name)), block.replace("\\", r"\\"), text, flags=re.S)
    return text


def _table(strict: bool) -> str:
    rows = [_row(o) for o in OPCODES.values() if o.strict is strict and o.record is None]
    head = ["| opcode | what it is | errors | gradient, for each operand |", "|---|---|---|---|"]
    return "\n".join(head + rows)


def _row(opcode: Opcode) -> str:
    only = "" if opcode.strict_pull or not opcode.strict else " (core+g only)"
    cells = (f"`{form(opcode)}`", opcode.doc, " ".join(opcode.codes), opcode.rule + only)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def form(opcode: Opcode) -> str:
    """`Sum(%a, [i, ..], FLAG)`."""
    operands = iter(_OPERANDS)
    if opcode.name == "Input":
        return 'Input() {name: "x"}'
    shown = (next(operands) if kind == "value" else _SHOWN[kind] for kind in opcode.args)
    return f"{opcode.name}({', '.join(shown)})"


def _codes() -> str:
    rows = [
        f"| {code} | {PHASES[code[1]]} | {text} |" for code, text in CODES.items() if code[1] != "7"
    ]
    return "\n".join(["| code | phase | |", "|---|---|---|", *rows])


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
