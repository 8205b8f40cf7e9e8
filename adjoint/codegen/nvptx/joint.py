"""A kernel that one launch may give several sets of arguments, each with a grid of its own.

Its only parameter is a table: a row has the arguments of one launch, and the first block that works
for it; unused rows have no block. A block searches for its row, and continues with that row's
arguments as if it were one of that row's launch. What may live here: the table, and the code that
reads it.
"""

from __future__ import annotations

from adjoint.codegen.llvm.writer import Writer

_TABLE_BYTES = 4096 - 256  # that a launch can have as parameters, and some the driver needs
_MOST_ROWS = 64
NO_BLOCK = (1 << 31) - 1  # where a row begins that is not used


def rows_of(count: int) -> int:
    """How many rows of so many arguments, and the end of their grid, a table has."""
    return min(_MOST_ROWS, _TABLE_BYTES // (8 * (count + 2)))


class Table:
    """The parameter of a kernel with this many arguments, and a block's reads of it."""

    def __init__(self, w: Writer, count: int):
        self.w, self.count, self.rows = w, count, rows_of(count)
        self.kind = f"[{self.rows} x [{count + 2} x i64]]"

    def parameter(self) -> str:
        """The parameter in the signature of the kernel."""
        return f"ptr byval({self.kind}) align 8 %table"

    def read(self, buffers: int, block: str) -> str:
        """Give the arguments their names; the number of the block in its row."""
        row = self._row(block)
        w = self.w
        for i in range(self.count):
            value = self._cell(row, i)
            if i < buffers:
                w.effect(f"%a{i} = inttoptr i64 {value} to ptr addrspace(1)")
            else:
                w.effect(f"%a{i} = add i64 {value}, 0")
        w.effect(f"%end = add i64 {self._cell(row, self.count)}, 0")
        first = w.emit(f"trunc i64 {self._cell(row, self.count + 1)} to i32")
        return w.emit(f"sub i32 {block}, {first}")

    def _row(self, block: str) -> str:
        """The last row that begins at this block or before it: by halving."""
        w, row = self.w, "0"
        step = 1 << (self.rows - 1).bit_length()
        while step > 1:
            step //= 2
            other = w.emit(f"add i32 {row}, {step}")
            there = w.emit(f"icmp ult i32 {other}, {self.rows}")
            inside = w.emit(f"select i1 {there}, i32 {other}, i32 0")
            first = w.emit(f"trunc i64 {self._cell(inside, self.count + 1)} to i32")
            begun = w.emit(f"icmp sle i32 {first}, {block}")
            both = w.emit(f"and i1 {there}, {begun}")
            row = w.emit(f"select i1 {both}, i32 {other}, i32 {row}")
        return row

    def _cell(self, row: str, column: int) -> str:
        place = f"getelementptr {self.kind}, ptr %table, i32 0, i32 {row}, i32 {column}"
        return self.w.emit(f"load i64, ptr {self.w.emit(place)}, align 8")
