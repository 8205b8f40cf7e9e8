"""A kernel that adds a number to a cell: the smallest one whose code can be told from others."""

from __future__ import annotations

import ctypes

from adjoint.stages import Source

ADD = """
define void @NAME(ptr %args, i64 %begin, i64 %end) {
  %cell = load ptr, ptr %args
  %old = load i64, ptr %cell
  %new = add i64 %old, NUMBER
  store i64 %new, ptr %cell
  ret void
}
"""


def adder(number: int, name: str = "add") -> Source:
    return Source("llvm", name, ADD.replace("NUMBER", str(number)).replace("NAME", name))


def call(address: int, *cells: int, begin: int = 0, end: int = 1) -> None:
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    arguments = (ctypes.c_int64 * len(cells))(*cells)
    kind(address)(ctypes.addressof(arguments), begin, end)


def added(address: int, start: int = 0) -> int:
    value = ctypes.c_int64(start)
    call(address, ctypes.addressof(value))
    return value.value
