"""One column of a table while it is read: cells become numbers, or numbers of words."""

from __future__ import annotations

from array import array
from math import isnan, nan
from typing import Any

import numpy as np

from adjoint.data.table_rows import TableRow
from adjoint.errors import TrainingError

_MISSING = frozenset(("", "?", "-", "na", "n/a", "nan", "null", "none", "nil", "missing"))


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
                raise self._misfit(row, "the value is missing", self._advice())
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

    def _advice(self) -> str:
        return "missing='drop' leaves such rows out; 'nan' or a number fills features"

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
            raise TrainingError("E9003", problem, op="read_csv", help="dtype='float64' holds it")
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
