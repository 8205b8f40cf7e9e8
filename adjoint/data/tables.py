"""`.csv` files → datasets: which columns there are and what becomes of them.

Elsewhere: characters, quotes and lines (`table_rows.py`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from adjoint.data.columns import Column, number
from adjoint.data.dataset import Dataset
from adjoint.data.open_file import reading
from adjoint.data.table_rows import TableRow, delimiter_of, lines_of
from adjoint.errors import TrainingError, did_you_mean

_OP = "read_csv"
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
