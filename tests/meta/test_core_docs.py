"""`docs/core.md` says what the opcodes' records say; the tutorial prints what it shows."""

import contextlib
import io
import re
import textwrap

from adjoint.module import instruction, parse
from adjoint.module.opcode import OPCODES
from docs.build_core import PAGE, form, written

TUTORIAL = PAGE.with_name("core_tutorial.md")
STEP = re.compile(r"^```python\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
MODULE = re.compile(r"^```\n(.*?outputs: .*?)^```", re.MULTILINE | re.DOTALL)


def test_the_tables_are_what_the_records_say():
    assert PAGE.read_text(encoding="utf-8") == written(), "docs/core.md is stale: run `make docs`"


def test_every_opcode_of_the_format_has_a_row():
    text = PAGE.read_text(encoding="utf-8")
    for opcode in OPCODES.values():
        if opcode.record is None:
            assert f"| `{form(opcode)}` |" in text


def test_the_first_example_of_the_page_is_a_module():
    text = MODULE.search(PAGE.read_text(encoding="utf-8")).group(1)
    assert parse(text, "core-v1").text() in text


def test_the_limits_are_those_of_the_reader():
    text = PAGE.read_text(encoding="utf-8").partition("## Limits")[2].partition("## ")[0]
    assert f"{instruction.MAX_TEXT // 2**20} Mi characters" in text
    assert f"{instruction.MAX_INSTRUCTIONS:,} instructions" in text
    assert f"rank {instruction.MAX_RANK}" in text
    assert f"nested {instruction.MAX_NESTING} deep" in text
    assert f"{instruction.MAX_LITERAL // 2**20} Mi numbers" in text
    assert f"{instruction.MAX_DIGITS} digits" in text
    assert instruction.MAX_EXTENT == 2**31 - 1


def test_the_tutorial_prints_what_it_shows():
    namespace = {"__name__": "__main__"}
    for program, shown in STEP.findall(TUTORIAL.read_text(encoding="utf-8")):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(textwrap.dedent(program), str(TUTORIAL), "exec"), namespace)
        assert printed.getvalue().strip() == shown.strip()
