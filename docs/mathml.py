"""Formulas as MathML: `y = u / Σ₁(u)`, as `docs/formula.py` writes it, typeset by the browser.

Made when the site is built, so that no script and no font is needed to read it. What may live here:
the grammar of formulas and their markup. What may not: where formulas come from.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

LONGEST = 150  # characters of a line; a longer one is left as text, which can break
_TOKEN = re.compile(
    r"\s*(\d+(?:\.\d+)?(?:e[−+-]?\d+)?|\"[^\"]*\"|[A-Za-zΣΠπ∞_][A-Za-z_0-9]*|[₀-₉,]*[₀-₉]|"
    r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+|ᵀ|->|.)"
)
_LOWER = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789−")
_COMPARE = ["=", "<", ">", "≤", "≥", "≠"]
_CLOSING = {"(": ")", "[": "]", "⌊": "⌋", "⌈": "⌉", "|": "|"}
_SPACE = '<mspace width="0.2em"></mspace>'
_BIG = {"Σ": "∑", "Π": "∏"}


class FormulaError(ValueError):
    """The text is no formula."""


def formula_html(lines: list[str]) -> str:
    """A block of formulas; lines that are too long or no formulas stay as they are."""
    return f'<div class="formula" markdown="0">{"".join(map(_line_html, lines))}</div>'


def _line_html(line: str) -> str:
    try:
        if len(line) > LONGEST:
            raise FormulaError("too long")
        inside = mathml(line)
    except FormulaError:
        return f"<pre>{escape(line)}</pre>"
    return f'<math display="block" xmlns="http://www.w3.org/1998/Math/MathML">{inside}</math>'


def mathml(text: str) -> str:
    """The markup of one formula."""
    parser = _Parser([t for t in _TOKEN.findall(text) if t.strip()])
    found = parser.logic()
    if parser.rest:
        raise FormulaError(f"{text!r} does not end at {parser.rest[0]!r}")
    return found


def _tag(name: str, *inside: str) -> str:
    return f"<{name}>{''.join(inside)}</{name}>"


def _row(*inside: str) -> str:
    return inside[0] if len(inside) == 1 else _tag("mrow", *inside)


def _sign(text: str) -> str:
    return _tag("mo", escape(text))


class _Parser:
    """Recursive descent, loosest first; every method gives markup."""

    def __init__(self, tokens: list[str]):
        self.rest = tokens

    def next(self) -> str:
        return self.rest[0] if self.rest else ""

    def take(self, wanted: str = "") -> str:
        if not self.rest or (wanted and self.rest[0] != wanted):
            raise FormulaError(f"expected {wanted or 'more'}, found {self.next() or 'the end'!r}")
        return self.rest.pop(0)

    def _chain(self, inner: Callable[[], str], signs: list[str]) -> str:
        parts = [inner()]
        while self.next() in signs:
            parts += [_sign(self.take()), inner()]
        return _row(*parts)

    def logic(self) -> str:
        return self._chain(self._and, ["∨"])

    def _and(self) -> str:
        return self._chain(self._comparison, ["∧"])

    def _comparison(self) -> str:
        return self._chain(self._sum, _COMPARE)

    def _sum(self) -> str:
        first = [_tag("mo", "−")] if self.next() == "−" else []
        if first:
            self.take()
        return _row(*first, self._chain(self._product, ["+", "−"]))

    def _product(self) -> str:
        """Products, and quotients as fractions: all that stands before the stroke is above it."""
        above = [self._power()]
        while self.next() in ("·", "/"):
            if self.take() == "·":
                above += [_tag("mo", "·"), self._power()]
            else:
                above = [_tag("mfrac", _bare(_row(*above)), _bare(self._power()))]
        return _row(*above)

    def _power(self) -> str:
        base = self._postfix()
        if self.next() == "^":
            self.take()
            return _tag("msup", base, self._postfix())
        return base

    def _postfix(self) -> str:
        found = self._atom()
        while True:
            token = self.next()
            if token == "[":
                found = _row(found, self._bracketed("["))
            elif token == "ᵀ":
                found = _tag("msup", found, _tag("mi", self.take().translate({ord("ᵀ"): "T"})))
            elif token and token[0] in "⁰¹²³⁴⁵⁶⁷⁸⁹⁻":
                found = _tag("msup", found, _tag("mn", self.take().translate(_RAISED)))
            else:
                return found

    def _atom(self) -> str:
        token = self.next()
        if token in _CLOSING:
            return self._bracketed(token)
        self.take() if token else self.take("a term")
        match token:
            case "√":
                return _tag("msqrt", _bare(self._atom()))
            case "¬" | "−":
                return _row(_sign(token), self._postfix())
            case "∞" | "π":
                return _tag("mi", token)
        if token[0].isdigit():
            number = _number(token)
            return _row(number, self._atom()) if self.next() in ("√", "π") else number
        if token[0] == '"':
            return _tag("mtext", escape(token))
        if token[0].isalpha() or token[0] == "_":
            return self._name(token)
        raise FormulaError(f"unexpected {token!r}")

    def _name(self, word: str) -> str:
        lower = ""
        if self.next() and self.next()[0] in "₀₁₂₃₄₅₆₇₈₉":
            lower = self.take().translate(_LOWER)
        if word == "ln" and self.next()[:1].isdigit():
            return _row(_identifier(word, True), _SPACE, _number(self.take()))
        called = self.next() == "("
        if word == "where" and self.rest and self._is_whole():
            return self._cases()
        found = _tag("mo", _BIG[word]) if word in _BIG else _identifier(word, called)
        if lower:
            found = _tag("msub", found, _tag("mn", lower))
        return _row(found, self._bracketed("(")) if called else found

    def _is_whole(self) -> bool:
        """Whether the brackets that open here close at the end: not beside or inside of others."""
        depth = 0
        for place, token in enumerate(self.rest):
            depth += (token in "([") - (token in ")]")
            if depth <= 0:
                return place == len(self.rest) - 1
        return False

    def _bracketed(self, opening: str) -> str:
        """What stands between brackets; words in a row, slices and options among them."""
        closing = _CLOSING[opening]
        self.take(opening)
        parts: list[str] = []
        while self.next() != closing:
            if self.next() in (",", ":"):
                sign = self.take()
                parts.append(_sign(sign) if sign == ":" else f'<mo separator="true">{sign}</mo>')
            else:
                parts.append(self.logic())
        self.take(closing)
        return _tag("mrow", _fence(opening), *parts, _fence(closing))

    def _cases(self) -> str:
        """`where(p, a, b)`: a if p, else b, one above the other."""
        self.take("(")
        condition = self.logic()
        self.take(",")
        chosen = self.logic()
        self.take(",")
        other = self.logic()
        self.take(")")
        space = '<mspace width="0.6em"></mspace>'
        first = _tag("mtd", space, _tag("mtext", "if"), _SPACE, _SPACE, condition)
        second = _tag("mtd", space, _tag("mtext", "else"))
        lines = [
            _tag("mtr", _tag("mtd", value), when)
            for value, when in ((chosen, first), (other, second))
        ]
        return _tag("mrow", _fence("{"), _tag("mtable", *lines))


def _fence(sign: str) -> str:
    return f'<mo fence="true">{escape(sign)}</mo>'


def _number(token: str) -> str:
    digits, _, power = token.partition("e")
    if not power:
        return _tag("mn", digits)
    exponent = _tag("mn", power.lstrip("+").replace("-", "−"))
    factor = [] if digits == "1" else [_tag("mn", digits), _tag("mo", "·")]
    return _row(*factor, _tag("msup", _tag("mn", "10"), exponent))


def _identifier(word: str, called: bool) -> str:
    """A variable in italics, a function upright; `dx` is the derivative by x."""
    if called or word in ("true", "false"):
        return f'<mi mathvariant="normal">{escape(word)}</mi>'
    if word == "NaN" or (len(word) > 1 and word[0] == "d" and word not in ("dim", "dtype")):
        return _derivative(word) if word != "NaN" else _tag("mi", word)
    return _tag("mi", escape(word))


def _derivative(word: str) -> str:
    return _tag("mrow", '<mi mathvariant="normal">d</mi>', _tag("mi", escape(word[1:])))


_PARENTHESES = re.compile(r'<mrow><mo fence="true">\(</mo>(.*)<mo fence="true">\)</mo></mrow>')


def _bare(markup: str) -> str:
    """Without parentheses around the whole, which a bar or a root replaces."""
    found = _PARENTHESES.fullmatch(markup)
    if found is None or not _is_balanced(found[1]):
        return markup
    return _tag("mrow", found[1])


def _is_balanced(inside: str) -> bool:
    """Whether no bracket inside is closed before it is opened."""
    depth = 0
    for sign in re.findall(r'<mo fence="true">([()])</mo>', inside):
        depth += 1 if sign == "(" else -1
        if depth < 0:
            return False
    return True
