"""Text → tokens, one at a time, with places. What may live here: the lexical grammar (E1)."""

from __future__ import annotations

import re
from math import isinf
from typing import Any, NoReturn

from adjoint.errors import AdjointError, Span, TextError
from adjoint.ir.text import ESCAPES
from adjoint.module.instruction import MAX_DIGITS, MAX_TEXT, placed
from adjoint.module.numbers import written

# The alternatives always match something, so the repetition in front is never tried twice.
_TOKEN = re.compile(
    r"""(?:\s+|\#[^\n]*|/\*.*?\*/)*
      (?: (?P<value>%[A-Za-z_0-9]+)
        | (?P<type>Tensor<[A-Za-z_0-9]+,[ ]?\[[0-9, ]*\]>)
        | (?P<number>-?[0-9](?:[eE][+-]|[A-Za-z_0-9.])*)
        | (?P<word>[A-Za-z_][A-Za-z_0-9]*)
        | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
        | (?P<sign>[=(){}\[\]:,<>;-])
        | (?P<end>\Z)
        | (?P<bad>.) )""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*", re.ASCII)
_UNESCAPE = {escaped: ch for ch, escaped in ESCAPES.items()}


def decoded(source: Any) -> str:
    """The text of a module, of a size that is allowed."""
    if not isinstance(source, (str, bytes)):
        problem = f"parse: expected text, got {type(source).__name__}"
        raise TextError("E2001", problem, help="read the file first: parse(path.read_text())")
    if len(source) > MAX_TEXT:
        raise TextError("E2006", f"the text is longer than {MAX_TEXT} characters")
    try:
        if isinstance(source, str):
            source.encode()
            return source
        return bytes(source).decode()
    except UnicodeDecodeError as error:
        raise _not_text(source, error.start, f"byte {error.start} is not UTF-8") from None
    except UnicodeEncodeError as error:
        problem = f"character {error.start} has no UTF-8 form"
        raise _not_text(source, error.start, problem) from None


def _not_text(source: Any, start: int, problem: str) -> AdjointError:
    newline = "\n" if isinstance(source, str) else b"\n"
    line, begin = source.count(newline, 0, start), source.rfind(newline, 0, start) + 1
    return placed(TextError("E1001", problem), Span(line + 1, start - begin + 1))


class Tokens:
    """The token under the eye: its kind, its text, its place."""

    __slots__ = ("_from", "_line", "_next", "_seen", "kind", "source", "start", "stop", "text")

    def __init__(self, source: str):
        self.source = source
        self._next = _TOKEN.scanner(source).match  # type: ignore[attr-defined]
        self._line, self._from, self._seen = 1, 0, 0  # line, where it begins, counted up to
        self.kind, self.text, self.start, self.stop = "", "", 0, 0
        self.advance()

    def advance(self) -> None:
        """Move to the next token."""
        found = self._next()
        if found is None:  # past the end: stay there
            return
        kind = found.lastgroup
        self.stop = self.start + len(self.text)  # where the token before ended
        self.kind, self.text, self.start = kind, found.group(kind), found.start(kind)
        if kind == "bad":
            self._reject()

    def take(self) -> str:
        """This token's text; move on."""
        text = self.text
        self.advance()
        return text

    def begins_line(self) -> bool:
        """Whether this token is on another line than the one before."""
        return "\n" in self.source[self.stop : self.start]

    def has(self, sign: str) -> bool:
        """Whether this token is the sign; if so, move on."""
        if self.text != sign or self.kind != "sign":
            return False
        self.advance()
        return True

    def expect(self, sign: str) -> None:
        """Move past the sign, which must be here."""
        if self.text != sign or self.kind != "sign":
            self.fail("E2001", f"expected {sign!r}, found {self.shown()}")
        self.advance()

    def shown(self) -> str:
        """The token, for messages: never more than a few characters of it."""
        if self.kind == "end":
            return "the end of the text"
        text = self.text
        return repr(text if len(text) <= 24 else f"{text[:21]}...")

    def span(self, start: int | None = None) -> Span:
        """Line and column of this token, or of an earlier place that is asked for in order."""
        at = self.start if start is None else start
        if at < self._seen:
            before = self.source.count("\n", 0, at)
            return Span(before + 1, at - self.source.rfind("\n", 0, at))
        lines = self.source.count("\n", self._seen, at)
        if lines:
            self._line += lines
            self._from = self.source.rfind("\n", self._seen, at) + 1
        self._seen = at
        return Span(self._line, at - self._from + 1)

    def fail(self, code: str, problem: str, help: str = "", start: int | None = None) -> NoReturn:
        """An error at this token."""
        raise placed(TextError(code, problem, help=help), self.span(start))

    def _reject(self) -> NoReturn:
        if self.source.startswith("/*", self.start):
            self.fail("E1006", "the comment is not closed")
        if self.text == '"':
            self.fail("E1003", "the string is not closed")
        self.fail("E1002", f"the character {self.text!r} is not allowed here")

    # ---- what a token stands for

    def number(self) -> int | float:
        """The number here; move on."""
        text = self.text
        if text.isdigit() and len(text) < 19:
            self.advance()
            return int(text)
        found = _NUMBER.fullmatch(text)
        if found is None:
            self.fail("E1005", f"{self.shown()} is no number")
        if found[1] is None and found[2] is None:
            return self._integer(text)
        value = written(text)
        if isinf(value):
            self.fail("E4005", "the number is too large for f64", "write inf if it is meant")
        self.advance()
        return value

    def _integer(self, text: str) -> int:
        if len(text) > MAX_DIGITS:
            self.fail("E1005", "the integer is too long")
        self.advance()
        return int(text)

    def identifier(self) -> int | str:
        """The id here, a number or a word; move on."""
        text = self.text[1:]
        if text.isdigit():
            return self._integer(text)
        if _NAME.fullmatch(text) is None:
            self.fail("E1002", f"{self.shown()} is no id: an id is an integer or a name")
        self.advance()
        return text

    def string(self) -> str:
        """The string here; move on."""
        text = self.text[1:-1]
        if "\\" in text:
            text = re.sub(r"\\.", self._plain, text)
        self.advance()
        return text

    def _plain(self, found: re.Match[str]) -> str:
        if found.group() not in _UNESCAPE:
            self.fail("E1004", f"unknown escape {found.group()}")
        return _UNESCAPE[found.group()]
