"""Text → graph: the reader of what `text.py` prints.

    %ID = op(%a, %b) {key: value, ...} : Tensor<f32, [2, 3]>
    outputs: %a, %b

`#` starts a comment, `/* */` encloses one, trailing commas are allowed inside lists, an ID is an
integer or a name. The text is not trusted: whatever it says, the answer is a graph or an error with
its line and column. Every node is built by its record, which checks it, and must have the type the
text declares.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from adjoint.errors import AdjointError, TextError, did_you_mean
from adjoint.ir.dtype import ALL, STORAGE, VOID, DType, PtrDType, pointer
from adjoint.ir.opdef import OPS, OpDef
from adjoint.ir.text import ESCAPES, type_text
from adjoint.ir.uop import UOp
from adjoint.target import canonical_device

_TOKEN = re.compile(
    r"""(?P<space>(?:\s|\#[^\n]*)+)
      | (?P<comment>/\*.*?\*/)
      | (?P<number>-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)
      | (?P<word>[A-Za-z_][A-Za-z_0-9]*)
      | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
      | (?P<sign>[%=(){}\[\]:,<>-])""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_UNESCAPE = {escaped: ch for ch, escaped in ESCAPES.items()}
_DTYPES = {dtype.short: dtype for dtype in (*ALL, *STORAGE)}
_LONGEST_INTEGER = 400  # digits; Python's own reader gives up at a few thousand, with its own error
_DEEPEST = 40  # nested lists


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text and where it begins."""

    kind: str
    text: str
    line: int
    column: int


def parse(source: str | bytes) -> list[UOp]:
    """The outputs of the graph that the text describes."""
    return _Reader(_tokens(_decoded(source))).graph()


def _decoded(source: str | bytes) -> str:
    if isinstance(source, str):
        return source
    try:
        return source.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TextError("E1001", f"byte {error.start} is not UTF-8") from None


def _fail(code: str, token: Token, problem: str, help: str = "") -> NoReturn:
    raise TextError(code, f"{token.line}:{token.column}: {problem}", help=help)


def _tokens(source: str) -> list[Token]:
    tokens, at, line, start = [], 0, 1, 0
    while at < len(source):
        found = _TOKEN.match(source, at)
        if found is None:
            _reject(source, at, Token("", source[at], line, at - start + 1))
        kind, piece = str(found.lastgroup), found.group()
        if kind not in ("space", "comment"):
            tokens.append(Token(kind, piece, line, at - start + 1))
        at = found.end()
        if "\n" in piece:
            line, start = line + piece.count("\n"), at - len(piece) + piece.rindex("\n") + 1
    return [*tokens, Token("end", "the end of the text", line, at - start + 1)]


def _reject(source: str, at: int, token: Token) -> NoReturn:
    if source.startswith("/*", at):
        _fail("E1006", token, "the comment is not closed")
    if source[at] == '"':
        _fail("E1003", token, "the string is not closed")
    _fail("E1002", token, f"character {source[at]!r} is not allowed here")


class _Reader:
    """Reads tokens from left to right; every method takes what it is named after."""

    __slots__ = ("at", "nodes", "tokens")

    def __init__(self, tokens: list[Token]):
        self.tokens, self.at = tokens, 0
        self.nodes: dict[str, UOp] = {}

    # ---- tokens

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        token = self.next
        if token.kind != "end":
            self.at += 1
        return token

    def expect(self, text: str) -> Token:
        if self.next.text != text:
            _fail("E2001", self.next, f"expected {text!r}, found {self.next.text!r}")
        return self.take()

    def expect_a(self, kind: str) -> Token:
        if self.next.kind != kind:
            _fail("E2001", self.next, f"expected a {kind}, found {self.next.text!r}")
        return self.take()

    def has(self, text: str) -> bool:
        if self.next.text != text:
            return False
        self.at += 1
        return True

    def listed(self, close: str, item: Callable[[], Any]) -> list[Any]:
        """Items with commas between them, up to the closing sign."""
        items: list[Any] = []
        while not self.has(close):
            items.append(item())
            if not self.has(","):
                self.expect(close)
                break
        return items

    # ---- grammar

    def graph(self) -> list[UOp]:
        while self.has("%"):
            self.instruction()
        token = self.expect_a("word")
        if token.text != "outputs":
            _fail("E4003", token, f"expected 'outputs' or '%', found {token.text!r}")
        self.expect(":")
        outputs = [self.output()]
        while self.has(",") and self.next.kind != "end":
            outputs.append(self.output())
        if self.next.kind != "end":
            _fail("E2001", self.next, f"expected the end, found {self.next.text!r}")
        return outputs

    def output(self) -> UOp:
        self.expect("%")
        return self.value("E4003", "the output")

    def value(self, code: str, what: str) -> UOp:
        token = self.identifier()
        node = self.nodes.get(token.text)
        if node is None:
            _fail(code, token, f"{what} %{token.text} is not defined before this")
        return node

    def identifier(self) -> Token:
        token = self.take()
        if token.kind == "word" or (token.kind == "number" and token.text.isdigit()):
            return token
        _fail("E1002", token, f"{token.text!r} is no name of a value")

    def instruction(self) -> None:
        name = self.identifier()
        self.expect("=")
        op = self.expect_a("word")
        record = _record(op)
        self.expect("(")
        src = self.listed(")", self.operand)
        attrs = self.attributes() if self.has("{") else {}
        self.expect(":")
        token = self.next
        declared = self.type()
        if name.text in self.nodes:
            _fail("E4002", name, f"%{name.text} is defined twice")
        node = _built(op, record, tuple(src), attrs, declared)
        if not _is_typed(node.shape, node.dtype):
            _fail("E2001", op, f"{op.text}: its attributes give no shape and dtype")
        if (node.shape, node.dtype) != declared:
            found = type_text(node.shape, node.dtype)
            _fail("E2001", token, f"{op.text} gives {found}, declared is {type_text(*declared)}")
        self.nodes[name.text] = node

    def operand(self) -> UOp:
        self.expect("%")
        return self.value("E4001", "the operand")

    def attributes(self) -> dict[str, Any]:
        found: dict[str, Any] = {}

        def attribute() -> None:
            name = self.expect_a("word")
            if name.text in found:
                _fail("E4002", name, f"attribute {name.text!r} is given twice")
            self.expect(":")
            found[name.text] = self.plain(0)

        self.listed("}", attribute)
        return found

    def plain(self, depth: int) -> Any:
        """A value of an attribute."""
        token = self.take()
        if token.text == "[" and token.kind == "sign":
            if depth >= _DEEPEST:
                _fail("E2001", token, "lists are nested too deeply")
            return tuple(self.listed("]", lambda: self.plain(depth + 1)))
        if token.kind == "number":
            return _number(token)
        if token.kind == "string":
            return _string(token)
        if token.text == "-" and self.has("inf"):
            return -float("inf")
        if token.kind == "word":
            return self.named(token)
        _fail("E2001", token, f"expected a value, found {token.text!r}")

    def named(self, token: Token) -> Any:
        known = {"null": None, "true": True, "false": False, "inf": float("inf")} | _DTYPES
        if token.text in known:
            return known[token.text]
        if token.text == "nan":
            return self.nan(token)
        if token.text == "complex":
            return self.complex(token)
        _fail("E2002", token, f"unknown value {token.text!r}", did_you_mean(token.text, known))

    def nan(self, token: Token) -> float:
        if not self.has("("):
            return float("nan")
        bits = _number(self.expect_a("number"))
        self.expect(")")
        if not isinstance(bits, int) or not 0 <= bits < 2**64:
            _fail("E1005", token, "the bits of a NaN are an integer of 64 bits")
        return float(struct.unpack(">d", bits.to_bytes(8, "big"))[0])

    def complex(self, token: Token) -> complex:
        self.expect("(")
        parts = self.listed(")", lambda: self.plain(_DEEPEST))
        if len(parts) != 2 or any(type(p) not in (int, float) for p in parts):
            _fail("E1005", token, "a complex number has two real parts")
        return complex(*(_as_float(p, token) for p in parts))

    def type(self) -> tuple[Any, Any]:
        if not self.has("("):
            return self.single_type()
        parts = self.listed(")", self.single_type)
        return tuple(p[0] for p in parts), tuple(p[1] for p in parts)

    def single_type(self) -> tuple[Any, Any]:
        token = self.take()
        if token.text == "Void":
            return (), VOID
        if token.text == "Ptr":
            return (), self.pointer()
        if token.text != "Tensor":
            _fail("E2001", token, f"expected a type, found {token.text!r}")
        self.expect("<")
        dtype = self.dtype()
        self.expect(",")
        self.expect("[")
        shape = tuple(self.listed("]", self.extent))
        self.expect(">")
        return shape, dtype

    def pointer(self) -> Any:
        self.expect("<")
        base = self.dtype()
        self.has(",")
        flags = [word.text for word in self.listed(">", lambda: self.expect_a("word"))]
        if flags not in ([], ["mutable"], ["local"], ["local", "mutable"]):
            _fail("E2001", self.next, f"a pointer is local, mutable, or both, not {flags}")
        return pointer(base, "mutable" in flags, "local" in flags)

    def dtype(self) -> Any:
        token = self.expect_a("word")
        if token.text not in _DTYPES:
            help = did_you_mean(token.text, _DTYPES) or f"known: {', '.join(_DTYPES)}"
            _fail("E2002", token, f"unknown dtype {token.text!r}", help)
        return _DTYPES[token.text]

    def extent(self) -> int:
        token = self.expect_a("number")
        value = _number(token)
        if not isinstance(value, int) or not 0 <= value < 2**63:
            _fail("E3006", token, f"{token.text} is no extent of a dimension")
        return value


def _number(token: Token) -> int | float:
    if re.fullmatch(r"-?\d+", token.text) is None:
        return float(token.text)
    if len(token.text) > _LONGEST_INTEGER:
        _fail("E1005", token, "the integer is too long")
    return int(token.text)


def _as_float(value: int | float, token: Token) -> float:
    try:
        return float(value)
    except OverflowError:
        _fail("E1005", token, "the integer is too long for a float")


def _string(token: Token) -> str:
    def plain(found: re.Match[str]) -> str:
        if found.group() not in _UNESCAPE:
            _fail("E1004", token, f"unknown escape {found.group()}")
        return _UNESCAPE[found.group()]

    return re.sub(r"\\.", plain, token.text[1:-1])


def _record(token: Token) -> OpDef:
    record = OPS.get(token.text)
    if record is None or record.kind == "derived" or token.text == "buffer":
        nodes = [name for name, op in OPS.items() if op.kind != "derived"]
        _fail("E2002", token, f"no op is called {token.text!r}", did_you_mean(token.text, nodes))
    return record


def _is_typed(shape: Any, dtype: Any) -> bool:
    """Whether a node has a type at all: attributes of the wrong kind can leave it without."""
    if isinstance(dtype, tuple):
        return all(_is_typed(s, d) for s, d in zip(shape, dtype, strict=True))
    extents = isinstance(shape, tuple) and all(type(s) is int and s >= 0 for s in shape)
    return extents and isinstance(dtype, (DType, PtrDType))


def _built(
    op: Token, record: OpDef, src: tuple[UOp, ...], attrs: dict[str, Any], declared: tuple[Any, Any]
) -> UOp:
    """The node, made and checked by its record. Attributes may hold anything, and then so may the
    errors of the functions that meet them: all are the text's fault."""
    try:
        return _made(op, record, src, attrs, declared)
    except TextError:
        raise
    except AdjointError as error:
        _fail(error.code, op, f"{op.text}: {error.problem}", error.help)
    except Exception as error:
        _fail("E2001", op, f"{op.text}: its operands or attributes do not fit: {error}")


def _made(
    op: Token, record: OpDef, src: tuple[UOp, ...], attrs: dict[str, Any], declared: tuple[Any, Any]
) -> UOp:
    if record.arg is None or not record.arg.fields:
        if attrs:
            _fail("E2007", op, f"{op.text} has no attributes, got {', '.join(attrs)}")
        return UOp(record, src)
    unknown = [name for name in attrs if name not in record.arg.fields]
    if unknown:
        _fail("E2007", op, f"{op.text} has no attribute {unknown[0]!r}")
    values = {name: attrs.get(name, record.arg.defaults.get(name)) for name in record.arg.fields}
    if src or op.text not in _FROM_CALL:
        return UOp(record, src, record.arg(**values))
    for name, value in zip(("shape", "dtype"), declared, strict=True):
        if name in values and name not in attrs:
            values[name] = value
    device = values.get("device")
    if isinstance(device, str):
        canonical_device(device)
    return record(**values)


_FROM_CALL = ("const", "input", "range", "variable", "special", "define_global", "define_local")
