"""Characters → lines → rows of cells, with bounded memory."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

from adjoint.errors import FileError, Span, TrainingError

_OP = "read_csv"
_DELIMITERS = "\t;|, "  # a comma may also be a decimal point, and a space belong to a text
_LONGEST = 1 << 24  # characters in a line
_BOMS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


@dataclass(slots=True)
class TableRow:
    """The cells of a row, and the line where it ends."""

    line: int
    cells: list[str]

    def error(self, code: str, problem: str, column: int, fix: str) -> TrainingError:
        """An error about one of its columns, which count from 1."""
        error = TrainingError(code, problem, op=_OP, help=fix)
        error.span = Span(self.line, column)
        return error


class Lines:
    """The lines of a file, the first of which can be looked at before."""

    def __init__(self, file: Path, lines: Iterator[str]):
        self.file, self._lines = file, lines

    def sample(self, most: int) -> list[str]:
        """The first lines, which will come again."""
        first = list(islice(self._lines, most))
        self._lines = chain(first, self._lines)
        return first

    def split(self, delimiter: str) -> Iterator[TableRow]:
        """The rows; empty ones are left out."""
        if len(delimiter) != 1:
            problem = f"delimiter is {delimiter!r}; it is one character"
            raise TrainingError("E9003", problem, op=_OP)
        reader = _reader(self._lines, delimiter)
        try:
            for cells in reader:
                if any(cell.strip() for cell in cells) or len(cells) > 1:
                    yield TableRow(reader.line_num, cells)
        except csv.Error as error:
            problem = f"{self.file}, line {reader.line_num}: {error}"
            fix = "see whether a quotation mark has no partner"
            raise TableRow(reader.line_num, []).error("E9003", problem, 1, fix) from None


def _reader(lines: Any, delimiter: str) -> Any:
    spaces = delimiter == " "
    kept = (line.strip() + "\n" for line in lines) if spaces else lines
    return csv.reader(kept, delimiter=delimiter, skipinitialspace=True, strict=True)


@contextmanager
def lines_of(file: Path, encoding: str, limit: int) -> Iterator[Lines]:
    """The file's lines, decoded, while it is open."""
    with _binary(file) as stream, _decoded(stream, encoding) as text:
        yield Lines(file, _lines(file, text, limit))


def _binary(file: Path) -> Any:
    return gzip.open(file) if file.suffix == ".gz" else open(file, "rb")


def _decoded(stream: Any, encoding: str) -> TextIOWrapper:
    plain = encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    try:
        return TextIOWrapper(stream, "utf-8-sig" if plain else encoding, newline=None)
    except LookupError:
        raise FileError("E9006", f"there is no encoding {encoding!r}", op=_OP) from None


def _lines(file: Path, text: TextIOWrapper, limit: int) -> Iterator[str]:
    try:
        yield from _bounded(file, text, limit)
    except UnicodeError as error:
        raise _not_decoded(file, text.encoding.removesuffix("-sig"), error) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FileError("E9001", f"{file}: {error}", op=_OP) from None


def _bounded(file: Path, stream: TextIOWrapper, limit: int) -> Iterator[str]:
    read = 0
    for number in count(1):
        line = stream.readline(_LONGEST)
        if not line:
            return
        read += len(line)
        if read > limit or (len(line) == _LONGEST and not line.endswith("\n")):
            what = f"more than {limit:,} characters" if read > limit else "a line without an end"
            fix = "raise limit=" if read > limit else "is it a table in text?"
            problem = f"{file} has {what} (line {number})"
            raise TrainingError("E9003", problem, op=_OP, help=fix)
        yield line


def _not_decoded(file: Path, encoding: str, error: UnicodeError) -> FileError:
    """Which line it was, found by reading the file once more."""
    with _binary(file) as stream:
        start = stream.read(4)
    guess = next((name for bom, name in _BOMS.items() if start.startswith(bom)), "latin-1")
    place = _bad_line(file, encoding) if "a\n".encode(encoding) == b"a\n" else None
    where = "" if place is None else f", line {place.line}, byte {place.column}"
    fix = f"encoding={guess!r} may be right"
    problem = f"{file}{where} is not {encoding}: {getattr(error, 'reason', error)}"
    found = FileError("E9006", problem, op=_OP, help=fix)
    found.span = place
    return found


def _bad_line(file: Path, encoding: str) -> Span | None:
    with _binary(file) as stream:
        for number in count(1):
            line = stream.readline(_LONGEST)
            try:
                line.decode(encoding)
            except UnicodeDecodeError as error:
                return Span(number, error.start + 1)
            if not line:
                return None
    return None


def delimiter_of(lines: list[str]) -> str:
    """The separator of columns in these lines: the one that gives most of them one number of
    columns above one; a comma if none does.
    """
    best = max(_DELIMITERS, key=lambda delimiter: _agreement(lines, delimiter))
    return best if _agreement(lines, best) > 0 else ","


def _agreement(lines: list[str], delimiter: str) -> float:
    """The share of rows with the most common number of columns, 0 if that is one."""
    widths = _widths(lines, delimiter)
    width, most = Counter(widths).most_common(1)[0] if widths else (1, 0)
    return most / len(widths) if width > 1 else 0.0


def _widths(lines: list[str], delimiter: str) -> list[int]:
    found = []
    try:
        for cells in _reader(lines, delimiter):
            if cells:
                found.append(len(cells))
    except csv.Error:
        return found  # the last of the lines may end inside quotation marks
    return found
