"""A record as the source of a method: its signature in terms of `Tensor`, its text, its body."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from adjoint.ir.dtype import DType
from adjoint.ir.opdef import OpDef, Sample
from adjoint.ir.spelling import spelling_of
from docs.build_ops import type_lines
from docs.method_types import (
    ALL_AXES,
    ANNOTATIONS,
    BY_NAME,
    BY_OP,
    CASES,
    GLOSSARY,
    RESULTS,
    SEVERAL_AXES,
    TWINS,
    VARIADIC,
)
from docs.op_calls import on_nodes

WIDTH = 100
MOST_EXAMPLES = 2
_POSITIONAL = inspect.Parameter.VAR_POSITIONAL
_KEYWORD = inspect.Parameter.VAR_KEYWORD
_SEVERAL = ("Axis", "Axes", "Sizes", "Extents")  # types of one axis or of several


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a method."""

    name: str
    type: str
    kind: Any
    default: str | None = None  # as source

    def source(self) -> str:
        """As it stands in a signature."""
        stars = {_POSITIONAL: "*", _KEYWORD: "**"}.get(self.kind, "")
        given = "" if self.default is None else f" = {self.default}"
        return f"{stars}{self.name}: {self.type}{given}"


@dataclass(frozen=True, slots=True)
class Names:
    """The other names of a method's options, with their types: a TypedDict of that title."""

    title: str
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Method:
    """A method of `Tensor`, and the function of the same name."""

    name: str
    record: OpDef
    first: Parameter | None  # the tensor that it is a method of; None for a static one
    rest: tuple[Parameter, ...]
    result: str
    text: str
    names: Names | None
    by_hand: bool  # a class of `Tensor` has it

    def as_method(self) -> str:
        """The definition inside a class."""
        if self.first is None:
            return "@staticmethod\n" + self._definition(self.name, [], self.result, self._call(""))
        first = "self: Any" if "Sequence" in self.first.type else "self"
        cases = "".join(self._case(case, [first]) for case in self._cases())
        return cases + self._definition(self.name, [first], self._whole(), self._call("self"))

    def as_function(self) -> str:
        """The definition outside."""
        first = [] if self.first is None else [self.first.source()]
        x = "" if self.first is None else self.first.name
        call = (f"Tensor.{self.name}", self._given(x)) if self.by_hand else self._call(x)
        cases = "".join(self._case(case, first) for case in self._cases())
        return cases + self._definition(self.name, first, self._whole(), call, 0)

    def as_twin(self) -> str:
        """The definition of the method in place."""
        given = ", ".join(self._given(""))
        call = "self._update", [f"self.{self.name}({given})", f'"{self.name}_"']
        return self._definition(f"{self.name}_", ["self"], "Self", call, text="In place: ")

    def _definition(
        self,
        name: str,
        first: list[str],
        result: str,
        call: tuple[str, list[str]],
        depth: int = 4,
        text: str = "",
    ) -> str:
        head = laid_out(f"def {name}", [*first, *self._parameters()], f" -> {result}:", depth)
        deep = depth + (8 if text else 4)
        done = laid_out(f"return {call[0]}", call[1], "", deep)
        last = f"with writing:\n{indented(done)}" if text else done
        body = [docstring(text + self.text, depth + 4), last]
        return f"{head}\n{textwrap.indent(chr(10).join(body), '    ')}\n"

    def _parameters(self) -> list[str]:
        sources: list[str] = []
        starred = False
        for p in self.rest:
            if p.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
                sources.append("*")
            starred = starred or p.kind in (_POSITIONAL, inspect.Parameter.KEYWORD_ONLY)
            sources.append(p.source())
        named = [f"**names: Unpack[{self.names.title}]"] if self.names else []
        return [*sources, *named]

    def _whole(self) -> str:
        """The result where it depends on an option: one of those of the cases."""
        found = CASES.get(self.record.name, ("", ()))[1]
        return " | ".join(result for _, result in found) or self.result

    def _cases(self) -> list[tuple[str, str]]:
        """The result for each kind of the option, and for one that a checker does not know."""
        option, found = CASES.get(self.record.name, ("", ()))
        unknown = [(p.type, self._whole()) for p in self.rest if p.name == option]
        return [*found, *unknown]

    def _case(self, case: tuple[str, str], first: list[str]) -> str:
        """An overload: the option is what it is by default, or must be given."""
        option, (default, _) = CASES[self.record.name]
        sources: list[str] = []
        for p in self.rest:
            if p.name != option or case[0] == p.type:
                sources.append(p.source())
            elif case == default:
                sources.append(f"{p.name}: {case[0]} = {p.default}")
            else:
                sources += [*(["*"] if sources else []), f"{p.name}: {case[0]}"]
        named = [f"**names: Unpack[{self.names.title}]"] if self.names else []
        depth = 4 if first == ["self"] else 0
        head = laid_out(
            f"def {self.name}", [*first, *sources, *named], f" -> {case[1]}: ...", depth
        )
        return f"@overload\n{head}\n"

    def _given(self, first: str) -> list[str]:
        """The arguments of a call that passes everything on."""
        words = [first] if first else []
        for p in self.rest:
            star = {_POSITIONAL: "*", _KEYWORD: "**"}.get(p.kind, "")
            by_name = p.kind is inspect.Parameter.KEYWORD_ONLY
            value = "Device.canonicalize(device)" if p.name == "device" else p.name
            words.append(f"{p.name}={value}" if by_name else f"{star}{value}")
        return [*words, *(["**names"] if self.names else [])]

    def _call(self, x: str) -> tuple[str, list[str]]:
        """The op on what was given: a function, and its arguments."""
        words = self._given(x)
        types = [p.type for p in self.rest if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        form = "view" if self.record.views else "op"
        if form == "op" and self.result == "Tensor" and words == [x]:
            form = "one"
        elif form == "op" and self.result == "Tensor" and len(words) == 2 and types == ["Operand"]:
            form = "two"
        return f"lift.{form}", [f'"{self.record.name}"', *words]


def method_of(name: str, record: OpDef, by_hand: Callable[..., Any] | None = None) -> Method:
    """The method of a record, or one that is written by hand."""
    own = record.signature or record.call
    every = inspect.signature(by_hand or own).parameters
    found = [p for p in every.values() if p.name != "names"]
    operand = "UOp" in str(found[0].annotation) or found[0].name in ("x", "self")
    parameters = [_parameter(record, p, i == 0) for i, p in enumerate(found)]
    first = parameters[0] if operand else None
    if first is not None and first.name == "self":
        first = Parameter("x", "Tensor", first.kind)
    rest = tuple(_renamed(p) for p in (parameters[1:] if operand else parameters))
    result = _result(record, inspect.signature(by_hand or own).return_annotation)
    names = _names(record, found) if by_hand is None or "names" in every else None
    text = _text(record, rest, by_hand)
    return Method(name, record, first, rest, result, text, names, by_hand is not None)


def _renamed(p: Parameter) -> Parameter:
    """The many values of a parameter under a name that their list does not have."""
    several = p.kind is _POSITIONAL and p.type in _SEVERAL
    return replace(p, name=VARIADIC[p.name]) if several else p


def _parameter(record: OpDef, p: inspect.Parameter, first: bool) -> Parameter:
    default = None if p.default is p.empty else _source(p.default)
    said = "" if p.annotation is p.empty else str(p.annotation)
    kind = ANNOTATIONS.get(said, said)
    if said in ("", "Any"):
        kind = "Operand" if first else BY_OP.get((record.name, p.name)) or BY_NAME[p.name]
    if default == "None" and "None" not in kind and kind not in ("Axis", "Extents"):
        kind += " | None"
    return Parameter(p.name, kind, p.kind, default)


def _source(value: Any) -> str:
    if isinstance(value, DType):
        return f"dtypes.{value.name}"
    return repr(value).replace("'", '"')


def _result(record: OpDef, annotation: Any) -> str:
    if record.name in CASES:
        return "Any"
    if annotation is inspect.Parameter.empty:  # one result or several: the first sample tells
        sample: Sample = next(iter(record.samples()))
        made, _ = on_nodes(record, sample)
        several = isinstance(made, tuple)
        return f"tuple[{', '.join(['Tensor'] * len(made))}]" if several else "Tensor"
    return RESULTS.get(str(annotation), str(annotation))


def _names(record: OpDef, found: list[inspect.Parameter]) -> Names | None:
    """The other names of the options, as far as the record takes them."""
    others = spelling_of(record.name, record.signature or record.call).own
    fields: dict[str, str] = {}
    for p in found[1:]:
        typed = _parameter(record, p, False)
        several = typed.type in _SEVERAL
        if p.kind is _POSITIONAL and several:
            fields[p.name] = typed.type  # all of them in a list
        kind = "Axis" if typed.type == "Axes" else typed.type
        for other in TWINS.get(p.name, ()):
            plural = other in ("dims", "axes")
            if others.get(other) == p.name and (several or plural == (p.name == "dims")):
                fields[other] = kind
    if not fields:
        return None
    suffix = "OrNone" if "int | None" in fields.values() else ""
    if any("Sequence" in kind for kind in fields.values()):  # a type of its own
        suffix = f"Of{record.name.title()}"
    title = f"By{''.join(k.title() for k in fields)}{suffix}"
    return Names(title, tuple(fields.items()))


def typed_dicts(made: list[Method]) -> str:
    """The TypedDicts of the other names, each once."""
    found = {m.names.title: m.names for m in made if m.names}
    for m in made:
        assert m.names is None or found[m.names.title] == m.names, (m.names, found[m.names.title])
    parts = []
    for title, names in sorted(found.items()):
        fields = "\n".join(f"    {k}: {v}" for k, v in names.fields)
        parts.append(f"class {title}(TypedDict, total=False):\n{fields}\n")
    return "\n\n".join(parts)


def _text(record: OpDef, rest: tuple[Parameter, ...], by_hand: Callable[..., Any] | None) -> str:
    """The record's text, parameters that it does not mention, and examples of types."""
    text = inspect.cleandoc((by_hand.__doc__ if by_hand else None) or record.doc)
    said = [f"{p.name}: {_meaning(p)}" for p in rest if not re.search(rf"\b{p.name}\b", text)]
    known = [line for line in said if not line.endswith(": ")]
    shown = type_lines(record)[:MOST_EXAMPLES] if any(p.type != "Operand" for p in rest) else []
    blocks = [text, *(["\n".join(known)] if known else []), *(["\n".join(shown)] if shown else [])]
    return "\n\n".join(blocks)


def _meaning(p: Parameter) -> str:
    if p.name in ("axis", "dim", "dims") and p.type == "Axis":
        return ALL_AXES if p.default == "None" else SEVERAL_AXES
    return GLOSSARY.get(p.name, "")


def laid_out(head: str, words: list[str], tail: str, depth: int) -> str:
    """`head(words)tail` as ruff lays it out: on a line, the words on one, or one for each."""
    room = WIDTH - depth
    one = f"{head}({', '.join(words)}){tail}"
    if len(one) <= room:
        return one
    inside = f"    {', '.join(words)}"
    if len(inside) <= room and not words[-1].startswith("**"):
        return f"{head}(\n{inside}\n){tail}"
    lines = "".join(f"    {word},\n" for word in words)
    return f"{head}(\n{lines}){tail}"


def docstring(text: str, depth: int) -> str:
    """The text between quotes, its paragraphs filled."""
    mark = 'r"""' if "\\" in text else '"""'
    first, *others = text.split("\n\n")
    head = _filled(first, WIDTH - depth - len(mark) - (0 if others else 3))
    blocks = [head, *(_filled(block, WIDTH - depth) for block in others)]
    return mark + "\n\n".join(blocks) + ("\n" if others else "") + '"""'


def _filled(block: str, width: int) -> str:
    lines = block.split("\n")
    listed = all(re.match(r"\w+(: |\()", line) for line in lines)
    if listed:
        return "\n".join(textwrap.fill(line, width, subsequent_indent="    ") for line in lines)
    return textwrap.fill(" ".join(line.strip() for line in lines), width, break_on_hyphens=False)


def indented(text: str) -> str:
    """Inside a class."""
    return textwrap.indent(text, "    ")
