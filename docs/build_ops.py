"""Writes `docs/ops/`: a page per op from its record, and an index. Run by `make docs`.

Nothing on a page is written by hand: text, signature, types, errors, derivative, picture, example
all come from the record, by building and running it. Beside the records there are three tables: the
points at which a convention decides what the gradient is (`docs/op_kinks.py`), the groups of the
index (`docs/op_groups.py`), and what an op is called elsewhere (`docs/op_peers.py`).
"""

from __future__ import annotations

import inspect
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from adjoint.errors import AdjointError
from adjoint.ir.derivative import NotDifferentiable, Stop, ZeroGradient
from adjoint.ir.dtype import ALL, DType
from adjoint.ir.opdef import OPS, Bad, OpDef, Sample
from adjoint.ir.uop import UOp, _functions
from docs.op_calls import (
    adapted,
    arrays_of,
    call_source,
    chosen,
    example,
    names_of,
    on_nodes,
    on_tensors,
    output_of,
    value_source,
)
from docs.op_derivatives import definition, derivative, gradients_at
from docs.op_groups import GROUPS, group_of
from docs.op_kinks import KINKS, Point
from docs.op_peers import links
from docs.op_pictures import picture

PAGES = Path(__file__).parent / "ops"
PICTURES = "pictures"  # beside the pages
MODULES = [
    module for name, module in sorted(sys.modules.items()) if name.startswith("adjoint.ops.")
]
MOST_TYPES = 6
_KEPT = r"(?i)gradient|\bties?\b"
_GROUPS = {"b": "bool", "i": "signed", "u": "unsigned", "f": "float", "c": "complex"}
_READING = (
    "`g` is the cotangent of the result `y`, `dx` the gradient by `x`. Σ₁ sums over axis 1 and Σ "
    "over all axes, [p] is 1 where p holds and else 0, i₁ is the index along axis 1. What is "
    "repeated along an axis, or reshaped by axes of size 1, is not marked. A formula is that of "
    "the operands in the example: sizes and options in it are theirs."
)


def _records() -> list[OpDef]:
    """The ops of `adjoint.ops` that are called by name; what has no sample is built by others."""
    own = {v.name for module in MODULES for v in vars(module).values() if isinstance(v, OpDef)}
    public = [r for r in OPS.values() if r.public]
    return [r for r in public if r.name in own and list(r.samples())]


RECORDS = _records()


@cache
def picture_of(record: OpDef) -> str | None:
    """The picture of the op, if it has one."""
    return picture(record)


def page(record: OpDef) -> str:
    """The page of one op."""
    sample = chosen(record)
    sections = [_head(record), *_picture(record), *_example(record, sample)]
    sections += [*_formulas(record, sample), *_kinks(record)]
    sections += [*_types(record), *_errors(record), *_elsewhere(record)]
    return "\n\n".join(sections) + "\n"


def _head(record: OpDef) -> str:
    module = _file(home(record))
    names = sorted(n for n, r in _functions.items() if r is record and n != record.name)
    also = f" · also {', '.join(f'`{n}`' for n in names)}" if names else ""
    group = group_of(record.name, home(record).__name__)
    place = f"[{group.title}](index.md#{group.anchor})"
    facts = f"{record.kind} · {place} · [{module}](../../{module}){also}"
    call = f"```python {{.signature}}\n{signature(record)}\n```"
    return f"# {record.name}\n\n{inspect.cleandoc(record.doc)}\n\n{call}\n\n{facts}"


def _picture(record: OpDef) -> list[str]:
    if picture_of(record) is None:
        return []
    return [f"![{record.name} and its derivative]({PICTURES}/{record.name}.svg)"]


def _elsewhere(record: OpDef) -> list[str]:
    found = links(record.name)
    return ["## Elsewhere", f"{' · '.join(found)}"] if found else []


def signature(record: OpDef) -> str:
    """`softmax(x, axis=-1)`, as the record's function declares it."""
    parameters = inspect.signature(record.signature or record.call).parameters.values()
    shown = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    return f"{record.name}{inspect.Signature(shown)}"


def _formulas(record: OpDef, sample: Sample | None) -> list[str]:
    if sample is None:
        return []
    lines = definition(record, sample)
    sentence, gradient = derivative(record, sample)
    first = ["## Definition", _block(lines, "formula")] if lines else []
    return [*first, "## Derivative", sentence, *([_block(gradient, "formula")] if gradient else [])]


def _kinks(record: OpDef) -> list[str]:
    points = KINKS.get(record.name, [])
    without = (ZeroGradient, Stop, NotDifferentiable)
    if not points or isinstance(record.ad, without):
        return []
    sentences = re.split(r"(?<=[.;])\s+", inspect.cleandoc(record.doc))
    said = [s.rstrip(";.").strip() for s in sentences if re.search(_KEPT, s)]
    convention = [f"{'. '.join(s[0].upper() + s[1:] for s in said)}."] if said else []
    rows = [row for point in points for row in _kink_rows(record, point)]
    return ["## At the kinks", *convention, _table(("point", "call", "gradient"), rows)]


def _kink_rows(record: OpDef, point: Point) -> list[tuple[str, ...]]:
    what, args, kwargs = point
    sample = Sample(args, kwargs)
    names, arrays = names_of(record, sample), arrays_of(sample)
    spell = lambda a: _plain(a.tolist())  # noqa: E731
    given = [value_source(v, spell) for v in args]
    given += [f"{k}={value_source(v, spell)}" for k, v in kwargs.items()]
    floats = [n for n, a in zip(names, arrays, strict=True) if a.dtype.kind == "f"]
    with np.errstate(all="ignore"):
        values = gradients_at(record, args, kwargs)
    found = [f"d{n} = {_plain(v)}" for n, v in zip(floats, values, strict=True)]
    return [(what, f"`{record.name}({', '.join(given)})`", f"`{', '.join(found)}`")]


def _plain(value: Any) -> str:
    """Numbers in few digits, lists as lists."""
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def type_lines(record: OpDef) -> list[str]:
    """`softmax(f32[2, 3], 0) → f32[2, 3]`, one for each sample that differs."""
    samples = [adapted(s, _first(record)) for s in record.samples()]
    return list(dict.fromkeys(_type_line(record, s) for s in samples))


def _types(record: OpDef) -> list[str]:
    samples = [adapted(s, _first(record)) for s in record.samples()]
    lines = type_lines(record)[:MOST_TYPES]
    accepted = _dtypes(record, next((s for s in samples if arrays_of(s)), None))
    accepted += _precision(record)
    return ["## Types", *accepted, *([_block(lines)] if lines else [])]


def _precision(record: OpDef) -> list[str]:
    """What autocast makes of its operands, in the words of the rule."""
    if record.precision is None:
        return []
    said = inspect.cleandoc(record.precision.__doc__ or "").partition(":")[0]
    return [f"Under [autocast](../mixed_precision.md): {said[0].lower()}{said[1:]}."]


def _first(record: OpDef) -> DType:
    order = [d for kind in "fciub" for d in ALL if d.kind == kind and d.kind in record.kinds]
    plain = [d for d in order if d.name in ("float32", "complex64", "int32", "uint64", "bool")]
    return (plain or order)[0]


def _type_line(record: OpDef, sample: Sample) -> str:
    result, operands = on_nodes(record, sample)
    spelled = dict(zip(map(id, arrays_of(sample)), operands, strict=True))
    given = [value_source(v, lambda a: _type(spelled[id(a)])) for v in sample.args]
    given += [
        f"{k}={value_source(v, lambda a: _type(spelled[id(a)]))}" for k, v in sample.kwargs.items()
    ]
    return f"{record.name}({', '.join(given)}) → {_type(result)}"


def _type(node: Any) -> str:
    if isinstance(node, (tuple, list)):
        return ", ".join(map(_type, node))
    if not isinstance(node, UOp):
        return repr(node)
    if isinstance(node.dtype, tuple):
        return ", ".join(f"{d.short}{list(s)}" for s, d in zip(node.shape, node.dtype, strict=True))
    return f"{node.dtype.short}{list(node.shape)}"


def _dtypes(record: OpDef, sample: Sample | None) -> list[str]:
    """Which dtypes are taken and what they give, found by building the op with each."""
    given = next((s for s in record.samples() if arrays_of(s)), None)
    if sample is None or given is None:
        return []
    gives: dict[str, list[DType]] = {}
    for dtype in ALL:
        try:
            result, _ = on_nodes(record, _in(given, dtype))
        except AdjointError:
            continue
        kinds = [n.dtype for n in (result if isinstance(result, (tuple, list)) else [result])]
        first = kinds[0][0] if isinstance(kinds[0], tuple) else kinds[0]
        gives.setdefault("the same dtype" if first is dtype else first.name, []).append(dtype)
    sentences = [f"{_listed(taken)} → {result}" for result, taken in gives.items()]
    return ["; ".join(sentences) + "."] if sentences else []


def _listed(taken: list[DType]) -> str:
    """Names of dtypes, or of a kind where all of the kind are there."""
    words: list[str] = []
    for kind, word in _GROUPS.items():
        here = [d.name for d in taken if d.kind == kind]
        every = len(here) == sum(d.kind == kind for d in ALL) > 1
        words += [f"every {word}"] if every else here
    return ", ".join(words)


def _in(sample: Sample, dtype: DType) -> Sample:
    """The sample with the arrays that carry its values in exactly this dtype."""
    floating = any(a.dtype.kind == "f" for a in arrays_of(sample))
    kinds = "f" if floating else "iufc"

    def cast(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return type(value)(cast(v) for v in value)
        if isinstance(value, np.ndarray) and value.dtype.kind in kinds:
            return np.zeros(value.shape, dtype.np)
        return value

    return Sample(cast(sample.args), {k: cast(v) for k, v in sample.kwargs.items()})


def _errors(record: OpDef) -> list[str]:
    rows = [_error_row(record, bad) for bad in record.errors]
    return ["## Errors", _table(("call", "error"), rows)] if rows else []


def _error_row(record: OpDef, bad: Bad) -> tuple[str, str]:
    spell = lambda a: f"{_short(a)}{list(a.shape)}"  # noqa: E731
    call = call_source(record, bad.args, bad.kwargs, spell)
    try:
        on_tensors(record, bad.args, bad.kwargs)
    except AdjointError as error:
        said = re.sub(r" \(built by .*\)$", "", str(error).splitlines()[0])
        return f"`{call}`", f"`{type(error).__name__} {said}`"
    raise AssertionError(f"{record.name}: {call} does not fail")


def _short(a: Any) -> str:
    return next(d.short for d in ALL if d.np == a.dtype)


def _example(record: OpDef, sample: Sample | None) -> list[str]:
    if sample is None:
        return []
    program = example(record, sample)
    return ["## Example", f"```python\n{program}\n```", f"```text\n{output_of(program)}\n```"]


def _block(lines: list[str], kind: str = "text") -> str:
    return "\n".join([f"```{kind}", *lines, "```"])


def _table(head: tuple[str, ...], rows: list[Any]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(
        f"| {' | '.join(c.replace('|', chr(92) + '|') for c in line)} |" for line in lines
    )


def home(record: OpDef) -> ModuleType:
    """The module of `adjoint.ops` that defines the op."""
    holders = [m for m in MODULES if any(v is record for v in vars(m).values())]
    made = [m for m in holders if _makes(m, record)]
    return (made or holders)[0]


def _makes(module: ModuleType, record: OpDef) -> bool:
    """Whether the module assigns or defines the record, and does not just import it."""
    names = [re.escape(n) for n, v in vars(module).items() if v is record]
    made = re.compile(rf"^({'|'.join(names)}) = |^def ({'|'.join(names)})\(", re.MULTILINE)
    return bool(names) and made.search(inspect.getsource(module)) is not None


def _file(module: ModuleType) -> str:
    return module.__name__.replace(".", "/") + ".py"


def index() -> str:
    """All ops by what people look for, a line each."""
    found: dict[str, list[OpDef]] = {group.title: [] for group in GROUPS}
    for record in RECORDS:
        found[group_of(record.name, home(record).__name__).title].append(record)
    parts = [
        f"# Ops\n\nEvery op, a page each, generated from its record (`make docs`).\n\n{_READING}"
    ]
    for group in GROUPS:
        lines = [f"- [`{r.name}`]({r.name}.md) {_sentence(r.doc)}" for r in found[group.title]]
        parts.append(f"## {group.title}\n\n{group.about}\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _sentence(doc: str) -> str:
    text = inspect.cleandoc(doc).split("\n\n")[0].replace("\n", " ")
    return re.split(r"(?<=[.])\s", text)[0]


def build() -> None:
    """Write every page, and remove those of ops that are gone."""
    PAGES.mkdir(exist_ok=True)
    wanted = {f"{r.name}.md": page(r) for r in RECORDS} | {"index.md": index()}
    for file in sorted(PAGES.glob("*.md")):
        if file.name not in wanted:
            file.unlink()
    for name, text in wanted.items():
        (PAGES / name).write_text(text, encoding="utf-8")
    count = _build_pictures()
    print(f"{len(wanted)} pages in {PAGES.name}/, {count} pictures")


def _build_pictures() -> int:
    folder = PAGES / PICTURES
    folder.mkdir(exist_ok=True)
    drawn = {f"{r.name}.svg": text for r in RECORDS if (text := picture_of(r)) is not None}
    for file in folder.glob("*.svg"):
        if file.name not in drawn:
            file.unlink()
    for name, text in drawn.items():
        (folder / name).write_text(text, encoding="utf-8")
    return len(drawn)


if __name__ == "__main__":
    build()
