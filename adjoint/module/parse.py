"""Text → module: the reader of what `text.py` prints.

    %ID = OPCODE(ARGS) {key: value, ...} : Tensor<f32, [2, 3]>
    outputs: %a, %b

`#` starts a comment, `/* */` encloses one, trailing commas are allowed inside lists, an id is an
integer or a name. The text is not trusted: whatever it says, the answer is a verified module or an
error with a code and a place. Time and memory grow with the length of the text, and the limits of
`instruction.py` bound its length, its instructions, the nesting of lists, ranks, dimensions and the
numbers in literals. No recursion goes deeper than the nesting of lists.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from adjoint.errors import AdjointError, Span, did_you_mean
from adjoint.ir.dtype import ALL
from adjoint.module.functions import attributes_of
from adjoint.module.generic import near_opcode, opcode_named
from adjoint.module.instruction import (
    MAX_EXTENT,
    MAX_INSTRUCTIONS,
    MAX_NESTING,
    MAX_RANK,
    Block,
    Instruction,
    TensorType,
    fault,
    make,
    make_block,
    placed,
)
from adjoint.module.literal import Literal, read_literal
from adjoint.module.module import Module
from adjoint.module.numbers import exact, written_complex
from adjoint.module.opcode import OPCODES, Opcode
from adjoint.module.tokens import Tokens, decoded
from adjoint.module.verify import check, is_strict

_DTYPES = {dtype.short: dtype for dtype in ALL}
_CONSTANTS = {"null": None, "true": True, "false": False, "inf": float("inf"), "nan": float("nan")}


def parse(text: str | bytes, profile: str = "core+g", *, verified: bool = True) -> Module:
    """The module that the text describes, checked; `verified=False` reads it only."""
    strict = is_strict(profile)
    reader = _Reader(Tokens(decoded(text)), strict)
    module, place = reader.module()
    if verified:
        try:
            check(module.instructions, module.outputs, strict, module.names)
        except AdjointError as error:
            raise placed(error, place) from None
    return module


class _Reader:
    """Reads tokens from left to right; every method takes what it is named after."""

    __slots__ = ("_types", "depth", "names", "strict", "t")

    def __init__(self, tokens: Tokens, strict: bool):
        self.t, self.strict, self.depth = tokens, strict, 0
        self.names: dict[str, int] = {}  # words as ids: negative until all integers are known
        self._types: dict[str, TensorType] = {}

    # ---- the module

    def module(self) -> tuple[Module, Span]:
        """The module, and where its outputs are."""
        rows, outputs, place = self.block()
        if self.t.kind != "end":
            self.t.fail("E2001", f"expected the end, found {self.t.shown()}")
        return self._numbered(rows, outputs), place

    def block(self) -> tuple[list[Instruction], list[int], Span]:
        """Instructions, and the line of outputs."""
        t = self.t
        rows: list[Instruction] = []
        while t.kind == "value":
            if len(rows) >= MAX_INSTRUCTIONS:
                t.fail("E2006", f"more than {MAX_INSTRUCTIONS} instructions")
            rows.append(self.instruction())
            if not (self.depth and t.has(";")) and not t.begins_line() and t.kind != "end":
                t.fail("E2001", f"expected the end of the line, found {t.shown()}")
        if t.text != "outputs" or t.kind != "word":
            t.fail("E4003", f"expected '%' or 'outputs:', found {t.shown()}")
        place = t.span()
        t.advance()
        t.expect(":")
        outputs = self.values()
        if not outputs and t.kind not in ("end", "sign"):
            t.fail("E2001", f"expected an id, found {t.shown()}")
        return rows, outputs, place

    def value(self) -> int:
        """The number of an id."""
        found = self.t.identifier()
        if isinstance(found, int):
            return found
        return self.names.setdefault(found, -1 - len(self.names))

    def values(self) -> list[int]:
        """The numbers of ids with commas between them."""
        found: list[int] = []
        while self.t.kind == "value":
            found.append(self.value())
            if not self.t.has(","):
                break
        return found

    def _numbered(self, rows: list[Instruction], outputs: list[int]) -> Module:
        """Words become integers past all that the text uses, in the order in which they appear."""
        if not self.names:
            return Module(tuple(rows), tuple(outputs))
        first = 1 + max([-1, *outputs, *(n for row in rows for n in (row.id, *row.operands))])

        def number(n: int) -> int:
            return n if n >= 0 else first - 1 - n

        instructions = tuple(
            row._replace(id=number(row.id), operands=tuple(map(number, row.operands)))
            for row in rows
        )
        names = {number(n): word for word, n in self.names.items()}
        return Module(instructions, tuple(map(number, outputs)), names)

    # ---- an instruction

    def instruction(self) -> Instruction:
        """One definition."""
        t = self.t
        span = t.span()
        number = self.value()
        t.expect("=")
        name, record = self.opcode()
        t.expect("(")
        attrs: Any = []
        if record.args == ("values",):
            operands = self.values()
            t.expect(")")
        else:
            operands = self._arguments(record, attrs)
        if t.has("{"):
            attrs = self._braced(record, attrs)
        elif record.braces:
            attrs = () if name == "Input" else self._arg(record, {})
        else:
            attrs = tuple(attrs)
        t.expect(":")
        kind = self.type(name)
        if (attrs and type(attrs[0]) is Literal) or name in _SCALARS:
            attrs = self._constant(name, attrs, kind, span)
        return make((number, name, tuple(operands), attrs, kind, span))

    def opcode(self) -> tuple[str, Opcode]:
        """The opcode's name and record."""
        t = self.t
        record = OPCODES.get(t.text) or (opcode_named(t.text) if t.kind == "word" else None)
        if record is None:
            if t.kind != "word":
                t.fail("E2001", f"expected an opcode, found {t.shown()}")
            t.fail("E2002", f"no opcode is called {t.shown()}", near_opcode(t.text))
        if self.strict and not record.strict:
            t.fail("E2002", f"{t.text} is not in core-v1", 'use profile "core+g"')
        t.advance()
        return record.name, record

    def _arguments(self, record: Opcode, attrs: list[Any]) -> list[int]:
        """The operands; attributes are put behind those there are."""
        t, operands = self.t, list[int]()
        for position, kind in enumerate(record.args):
            if position and not t.has(","):
                self._wrong_count(record)
            if t.text == ")" and t.kind == "sign":
                self._wrong_count(record)
            if kind == "value":
                if t.kind != "value":
                    t.fail("E2001", f"{record.name}: expected a value, found {t.shown()}")
                operands.append(self.value())
            else:
                attrs.append(_READ[kind](self, record.name))
        t.has(",")
        if not t.has(")"):
            self._wrong_count(record)
        return operands

    def _wrong_count(self, record: Opcode) -> None:
        t = self.t
        code = "E2007" if t.text in (")", ",") or t.kind in ("value", "number") else "E2001"
        takes = f"{record.name} takes {len(record.args)} arguments: {', '.join(record.args)}"
        t.fail(code, f"{takes or 'none'}; found {t.shown()}")

    def _constant(self, name: str, attrs: Any, kind: TensorType, span: Span) -> Any:
        """The value of a constant, as its type has it."""
        try:
            if name in _SCALARS:
                return (exact(attrs[0], _SCALARS[name]),)
            return (attrs[0].data(kind),)
        except AdjointError as error:
            again = fault(error.code, f"{name}: {error.problem}", error.help)
            raise placed(again, span) from None

    # ---- attributes in braces

    def _braced(self, record: Opcode, attrs: Any) -> Any:
        t, start, found = self.t, self.t.start, dict[str, Any]()

        def attribute() -> None:
            if t.kind != "word":
                t.fail("E2001", f"expected the name of an attribute, found {t.shown()}")
            name = t.take()
            if name in found:
                t.fail("E4002", f"attribute {name!r} is given twice", start=start)
            t.expect(":")
            found[name] = self.plain()

        self.listed(attribute, "}")
        if record.name == "Input":
            if found.keys() != {"name"} or type(found["name"]) is not str:
                t.fail("E4004", "Input: its attribute is a name", 'write {name: "x"}', start=start)
            return (found["name"],)
        if record.record is None:
            if found:
                known = next(iter(found))
                t.fail("E2007", f"{record.name} has no attribute {known!r}", start=start)
            return tuple(attrs)
        return self._arg(record, found, start)

    def _arg(self, record: Opcode, found: dict[str, Any], start: int | None = None) -> Any:
        """The attribute record of an op."""
        assert record.record is not None
        kind = attributes_of(record.record)
        fields = () if kind is None else kind.fields
        unknown = [name for name in found if name not in fields]
        if unknown:
            near = did_you_mean(unknown[0], fields)
            self.t.fail("E2007", f"{record.name} has no attribute {unknown[0]!r}", near, start)
        if kind is None or not fields:
            return None
        return kind(*(found.get(name, kind.defaults.get(name)) for name in fields))

    def plain(self) -> Any:
        """The value of an attribute."""
        t = self.t
        if t.kind == "number":
            value = t.number()
            return value if type(value) is int else float(value)
        if t.kind == "string":
            return t.string()
        if t.kind == "word":
            word = self._word()
            return complex(word) if isinstance(word, complex) else word
        if t.has("-"):
            return -self._infinity()
        if t.text not in ("[", "{") or t.kind != "sign":
            t.fail("E2001", f"expected a value, found {t.shown()}")
        if self.depth >= MAX_NESTING:
            t.fail("E2006", f"nested more than {MAX_NESTING} deep")
        self.depth += 1
        result = self._block() if t.take() == "{" else tuple(self.listed(self.plain))
        self.depth -= 1
        return result

    def listed(self, item: Callable[[], Any], close: str = "]") -> list[Any]:
        """Items up to a closing bracket; the opening one is read."""
        t, items = self.t, []
        while not t.has(close):
            items.append(item())
            if not t.has(","):
                t.expect(close)
                break
        return items

    def _infinity(self) -> float:
        if self.t.text != "inf":
            self.t.fail("E1005", f"expected a number, found {self.t.shown()}")
        self.t.advance()
        return float("inf")

    def _word(self) -> Any:
        t = self.t
        if t.text in _DTYPES:
            return _DTYPES[t.take()]
        if t.text == "complex":
            t.advance()
            return self._complex()
        if t.text not in _CONSTANTS:
            t.fail("E2002", f"unknown value {t.shown()}", did_you_mean(t.text, _CONSTANTS))
        word = t.take()
        return self._nan() if word == "nan" and t.has("(") else _CONSTANTS[word]

    def _nan(self) -> float:
        """A NaN with these bits."""
        bits = self.t.number() if self.t.kind == "number" else -1
        if type(bits) is not int or not 0 <= bits < 2**64:
            self.t.fail("E1005", "the bits of a NaN are an integer of 64 bits")
        self.t.expect(")")
        return float(struct.unpack(">d", bits.to_bytes(8, "big"))[0])

    def _complex(self) -> complex:
        t = self.t
        t.expect("(")
        real = self._real()
        t.expect(",")
        imaginary = self._real()
        t.expect(")")
        return written_complex(real, imaginary)

    def _real(self) -> float:
        value = self.element("complex")
        if type(value) is bool or type(value) is complex:
            self.t.fail("E1005", "the parts of a complex number are real")
        try:
            return value if isinstance(value, float) else float(value)
        except OverflowError:
            self.t.fail("E1005", "the integer is too long for a float")

    def _block(self) -> Block:
        """A module in braces: a function."""
        t, span = self.t, self.t.span()
        inner = _Reader(t, self.strict)
        inner.depth = self.depth
        rows, outputs, _ = inner.block()
        t.expect("}")
        module = inner._numbered(rows, outputs)
        try:
            check(module.instructions, module.outputs, self.strict, module.names)
        except AdjointError as error:
            raise placed(error, span) from None
        return make_block([ins._replace(span=None) for ins in module.instructions], module.outputs)

    # ---- arguments

    def element(self, op: str) -> Any:
        """A number, or a word that stands for one."""
        t = self.t
        if t.kind == "number":
            return t.number()
        if self.strict:
            t.fail("E1005", f"{op}: expected a number, found {t.shown()}")
        if t.has("-"):
            return -self._infinity()
        if t.text not in ("true", "false", "inf", "nan", "complex") or t.kind != "word":
            t.fail("E1005", f"{op}: expected a number, found {t.shown()}")
        return self._word()

    def name(self, op: str) -> str:
        """A word."""
        if self.t.kind != "word":
            self.t.fail("E2001", f"{op}: expected a word, found {self.t.shown()}")
        return self.t.take()

    def flag(self, op: str) -> bool:
        """true or false."""
        if self.t.text not in ("true", "false"):
            self.t.fail("E2001", f"{op}: expected true or false, found {self.t.shown()}")
        return self.t.take() == "true"

    def integer(self, op: str) -> int:
        """A whole number."""
        t, start = self.t, self.t.start
        value = t.number() if t.kind == "number" else None
        if type(value) is not int:
            t.fail("E2001", f"{op}: expected an integer", start=start)
        return value

    def ints(self, op: str) -> tuple[int, ...]:
        """[1, 2]"""
        self.open_list(op)
        return tuple(self.listed(lambda: self.integer(op)))

    def open_list(self, op: str) -> None:
        """The bracket that begins a list."""
        if not self.t.has("["):
            self.t.fail("E2001", f"{op}: expected a list, found {self.t.shown()}")

    def slices(self, op: str) -> Any:
        """[0:2:1, 1:3]"""
        self.open_list(op)
        parts = self.listed(lambda: self._slice(op))
        return tuple(tuple(part[i] for part in parts) for i in range(3))

    def _slice(self, op: str) -> tuple[int, int, int | None]:
        start = self.integer(op)
        self.t.expect(":")
        end = self.integer(op)
        return start, end, self.integer(op) if self.t.has(":") else None

    def padding(self, op: str) -> Any:
        """Same, Valid, Custom([[2, 2], [3, 3]])"""
        t = self.t
        if t.text not in ("Same", "Valid", "Custom") or t.kind != "word":
            t.fail("E2002", f"{op}: expected Same, Valid or Custom, found {t.shown()}")
        word = t.take()
        if word != "Custom":
            return word
        t.expect("(")
        self.open_list(op)
        pairs = tuple(self.listed(lambda: self.ints(op)))
        t.has(",")
        t.expect(")")
        if [len(pair) for pair in pairs] != [2, 2]:
            t.fail("E2001", f"{op}: a custom padding is two pairs of integers")
        return pairs

    def literal(self, op: str) -> Literal:
        """[[1.0, 2.0], [3.0, 4.0]]"""
        return read_literal(self.t, lambda: self.element(op))

    # ---- types

    def type(self, opcode: str) -> TensorType:
        """Tensor<f32, [2, 3]>, or several in parentheses."""
        t = self.t
        if t.kind == "type":
            known = self._types.get(t.text)
            if known is None:
                known = self._types[t.text] = self._whole_type(opcode)
            t.advance()
            return known
        if not t.has("("):
            return self._pieces(opcode)
        one = lambda: self.type(opcode) if t.kind == "type" else self._pieces(opcode)  # noqa: E731
        parts = self.listed(one, ")")
        return TensorType(tuple(p.dtype for p in parts), tuple(p.shape for p in parts))

    def _whole_type(self, opcode: str) -> TensorType:
        """A type that is one token."""
        t = self.t
        name, _, rest = t.text[7:-1].partition(",")
        pieces = rest.strip()[1:-1].split(",")
        if not pieces[-1].strip():
            pieces.pop()
        if not all(piece.strip().isdigit() for piece in pieces):
            t.fail("E2001", "a shape is a list of integers")
        return TensorType(self._dtype(name, opcode), self._shape([p.strip() for p in pieces]))

    def _pieces(self, opcode: str) -> TensorType:
        """A type with spaces or comments inside, or with something wrong."""
        t = self.t
        if t.text != "Tensor" or t.kind != "word":
            t.fail("E2001", f"expected a type, found {t.shown()}")
        t.advance()
        t.expect("<")
        if t.kind != "word":
            t.fail("E2001", f"expected a dtype, found {t.shown()}")
        dtype = self._dtype(t.text, opcode)
        t.advance()
        t.expect(",")
        self.open_list("Tensor")
        shape = self._shape(self.listed(self._extent))
        t.expect(">")
        return TensorType(dtype, shape)

    def _extent(self) -> str:
        if self.t.kind != "number":
            self.t.fail("E2001", f"expected an extent, found {self.t.shown()}")
        start = self.t.start
        value = self.t.number()
        if type(value) is not int or value < 0:
            self.t.fail("E3006", f"{value} is no extent of a dimension", start=start)
        return str(value)

    def _dtype(self, name: str, opcode: str) -> Any:
        if name not in _DTYPES:
            code = "E4004" if opcode == "Input" else "E2002"
            help = did_you_mean(name, _DTYPES) or f"known: {', '.join(_DTYPES)}"
            self.t.fail(code, f"{opcode}: unknown dtype {self.t.shown()}", help)
        return _DTYPES[name]

    def _shape(self, pieces: list[str]) -> tuple[int, ...]:
        if len(pieces) > MAX_RANK:
            self.t.fail("E3002", f"rank {len(pieces)} is more than {MAX_RANK}")
        shape = tuple(int(p) if len(p) < 20 else MAX_EXTENT + 1 for p in pieces)
        if max(shape, default=0) > MAX_EXTENT:
            self.t.fail("E3006", f"a dimension is more than {MAX_EXTENT}")
        return shape


_SCALARS = {"ConstI64": _DTYPES["i64"], "ConstF32": _DTYPES["f32"], "ConstF64": _DTYPES["f64"]}
_READ: dict[str, Callable[[_Reader, str], Any]] = {
    "name": _Reader.name,
    "ints": _Reader.ints,
    "flag": _Reader.flag,
    "number": _Reader.element,
    "literal": _Reader.literal,
    "slices": _Reader.slices,
    "padding": _Reader.padding,
}
