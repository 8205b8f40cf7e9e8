"""`.csv` files → datasets: which columns there are and what becomes of their cells.

Elsewhere: characters, quotes and lines (`table_rows.py`).
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from itertools import chain
from math import isnan, nan
from pathlib import Path
from typing import Any, Literal

import numpy as np

from adjoint.data.dataset import Dataset
from adjoint.data.open_file import reading
from adjoint.data.table_rows import TableRow, delimiter_of, lines_of
from adjoint.errors import TrainingError, did_you_mean

_OP = "read_csv"
_MISSING = frozenset(("", "?", "-", "na", "n/a", "nan", "null", "none", "nil", "missing"))
_ADVICE = "missing='drop' leaves such rows out; 'nan' or a number fills features"
_SAMPLE = 100  # rows that decide about the delimiter, the header and the kinds of columns


def read_csv(
    path: str | os.PathLike[str],
    label: str | int | None = None,
    *,
    columns: Sequence[str | int] | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    missing: Literal["error", "nan", "drop"] | float = "error",
    text: Literal["error", "codes"] = "error",
    dtype: Any = np.float32,
    limit: int = 1 << 34,
) -> Dataset:
    """The rows of a `.csv` or `.csv.gz` file as samples: x is the numbers of a row, y its `label`.

    `label` and `columns` are names or numbers of columns, from 0; negative ones count from the end.
    Whether there is a header and what separates the columns is found out unless it is given. Labels
    in words are numbered in alphabetical order (`class_names`), whole numbers are int64, others
    `dtype`. A column of words is an error, or numbered likewise with text="codes". `missing` says
    what becomes of empty cells, `NA`, `?` and the like: an error, NaN, a row less, or a number.
    `limit` is the most bytes of text that are read.
    """
    _check_choice("missing", missing, ("error", "nan", "drop"))
    _check_choice("text", text, ("error", "codes"))
    with reading(path, _OP) as file, lines_of(file, encoding, limit) as lines:
        between = delimiter_of(lines.sample(_SAMPLE)) if delimiter is None else delimiter
        table = _Table(file, lines.split(between), header, label)
        features = table.chosen(columns)
        read = [*features, *([] if table.label is None else [table.label])]
        found = [table.column(i, text, missing) for i in read]
        _fill(table, found)
    return _dataset(found, table, dtype)


class _Table:
    """Rows whose header is known."""

    def __init__(self, file: Path, rows: Any, header: bool | None, label: str | int | None):
        self.file = file
        self.sample: list[TableRow] = [row for _, row in zip(range(_SAMPLE), rows, strict=False)]
        if not self.sample:
            raise TrainingError("E9003", f"{file} is empty", op=_OP)
        self.width = len(self.sample[0].cells)
        has = _has_header(self.sample, label) if header is None else header
        self.names = self.sample.pop(0).cells if has else [""] * self.width
        if not self.sample:
            raise TrainingError("E9003", f"{file} has a header and no rows", op=_OP)
        self.rows = chain(self.sample, rows)
        self.label = None if label is None else self._index(label)

    def _index(self, which: str | int) -> int:
        names = [name for name in self.names if name]
        if isinstance(which, str):
            if self.names.count(which) == 1:
                return self.names.index(which)
            several = f"has {self.names.count(which)} columns" if names else "has no header to find"
            problem = f"{self.file} {several if which in names or not names else 'has no column'}"
            near = did_you_mean(which, names) or f"its columns are {', '.join(names[:20])}"
            fix = near if names else "give the column's number"
            raise TrainingError("E9003", f"{problem} {which!r}", op=_OP, help=fix)
        if not -self.width <= which < self.width:
            problem = f"column {which} of {self.width} in {self.file}"
            raise TrainingError("E9003", problem, op=_OP, help="columns count from 0")
        return which % self.width

    def chosen(self, columns: Sequence[str | int] | None) -> list[int]:
        """The columns of x."""
        if columns is not None:
            return [self._index(which) for which in columns]
        rest = [i for i in range(self.width) if i != self.label]
        if not rest:
            problem = f"{self.file} has one column, the label, and nothing to learn it from"
            raise TrainingError("E9003", problem, op=_OP)
        return rest

    def column(self, index: int, text: str, missing: Any) -> Column:
        """A column to be filled."""
        cells = [row.cells[index] for row in self.sample if len(row.cells) > index]
        words = (index == self.label or text == "codes") and not all(map(_is_number, cells))
        rule = "error" if index == self.label and missing != "drop" else missing
        return Column(str(self.file), index, self.names[index], words, rule)


def _check_choice(name: str, value: Any, words: tuple[str, ...]) -> None:
    if value not in words if isinstance(value, str) else name == "text":
        problem = f"{name} is {value!r}; it is one of {', '.join(words)}"
        raise TrainingError("E9003", problem, op=_OP, help=did_you_mean(str(value), words))


def _is_number(cell: str) -> bool:
    """Whether it is no word: missing values are not."""
    try:
        number(cell)
    except ValueError:
        return False
    return True


def _has_header(rows: list[TableRow], label: str | int | None) -> bool:
    """Whether the first row has words above numbers, or the label's name."""
    first, below = rows[0].cells, rows[1:20]
    if isinstance(label, str) and label in first:
        return True
    words = [i for i, cell in enumerate(first) if not _is_number(cell)]
    if not below:
        return len(words) == len(first)
    return any(all(len(row.cells) > i and _is_number(row.cells[i]) for row in below) for i in words)


def _fill(table: _Table, columns: list[Column]) -> None:
    for row in table.rows:
        if len(row.cells) != table.width:
            problem = f"{table.file}, line {row.line}: {len(row.cells)} columns, not {table.width}"
            fix = "every row has as many as the first; see that texts with delimiters are quoted"
            raise row.error("E9003", problem, min(len(row.cells), table.width) + 1, fix)
        if all(column.accepts(row) for column in columns):
            for column in columns:
                column.keep()


def _dataset(columns: list[Column], table: _Table, dtype: Any) -> Dataset:
    features = columns if table.label is None else columns[:-1]
    if not columns[0].count:
        raise TrainingError("E9003", f"{table.file}: a value is missing in every row", op=_OP)
    x = np.stack([column.numbers(dtype) for column in features], 1)
    names = [column.name or f"column {column.index}" for column in features]
    if table.label is None:
        return Dataset(x).named(names)
    y, classes = columns[-1].labels(dtype)
    return Dataset(x, y).named(names, classes)


# ---- columns: cells become numbers, or numbers of words


def number(cell: str) -> float:
    """The number in a cell, NaN if it is missing; ValueError for a word."""
    if "_" not in cell:  # Python reads 1_000 as a thousand; in data it is a name
        try:
            return float(cell)
        except ValueError:
            pass
    if cell.strip().lower() in _MISSING:
        return nan
    raise ValueError(cell)


class Column:
    """Cells of one column, as numbers, 8 bytes each."""

    def __init__(self, file: str, index: int, name: str, words: bool, missing: Any):
        self.index, self.name = index, name
        self._file, self._words, self._missing = file, words, missing
        self._values, self._next, self._word = array("d"), 0.0, ""
        self._codes: dict[str, int] = {}  # words → numbers, as they came

    @property
    def count(self) -> int:
        """How many rows were kept."""
        return len(self._values)

    def accepts(self, row: TableRow) -> bool:
        """Read the row's cell; False if the row is to be left out."""
        cell = row.cells[self.index]
        value = self._read_word(cell) if self._words else self._number(cell, row)
        if isnan(value):
            if self._missing == "error":
                raise self._misfit(row, "the value is missing", _ADVICE)
            if isinstance(self._missing, (int, float)):
                value = float(self._missing)
        self._next = value
        return not (isnan(value) and self._missing == "drop")

    def keep(self) -> None:
        """Take what was read."""
        if self._word:
            self._next = float(self._codes.setdefault(self._word, len(self._codes)))
        self._values.append(self._next)

    def _number(self, cell: str, row: TableRow) -> float:
        try:
            return number(cell)
        except ValueError:
            fix = "choose columns=, or text='codes' for categories"
            if "," in cell:
                fix = "numbers have a point, and no comma"
            raise self._misfit(row, f"{_short(cell)} is not a number", fix) from None

    def _read_word(self, cell: str) -> float:
        word = cell.strip()
        self._word = "" if word.lower() in _MISSING else word
        return 0.0 if self._word else nan

    def _misfit(self, row: TableRow, what: str, fix: str) -> TrainingError:
        name = f" ({self.name!r})" if self.name else ""
        place = f"{self._file}, line {row.line}, column {self.index + 1}{name}"
        return row.error("E9003", f"{place}: {what}", self.index + 1, fix)

    def numbers(self, dtype: Any) -> np.ndarray:
        """The column; words by their place in the alphabet."""
        values = np.frombuffer(self._values, np.float64)
        if self._words:
            values = self._sorted(values)
        with np.errstate(over="ignore"):
            cast = values.astype(dtype)
        if cast.dtype.kind == "f" and not np.array_equal(np.isinf(cast), np.isinf(values)):
            largest = values[np.argmax(np.abs(np.where(np.isinf(values), 0, values)))]
            problem = f"{self._file}, column {self.index + 1}: {largest} does not fit {cast.dtype}"
            raise TrainingError("E9003", problem, op=_OP, help="dtype='float64' holds it")
        return cast

    def labels(self, dtype: Any) -> tuple[np.ndarray, list[str]]:
        """The column as labels, and the names of the classes if it is words."""
        values = np.frombuffer(self._values, np.float64)
        if self._words:
            return self._sorted(values).astype(np.int64), sorted(self._codes)
        whole = bool(np.all(values == np.floor(values)) and np.all(np.abs(values) < 2**53))
        return (values.astype(np.int64) if whole else self.numbers(dtype)), []

    def _sorted(self, values: np.ndarray) -> np.ndarray:
        """Numbers in the order of the alphabet for those in the order of the file."""
        place = {word: i for i, word in enumerate(sorted(self._codes))}
        table = np.array([place[word] for word in self._codes], np.float64)
        known = ~np.isnan(values)
        ordered = values.copy()
        ordered[known] = table[values[known].astype(np.int64)]
        return ordered


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else cell[:37] + "...")
