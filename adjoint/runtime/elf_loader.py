"""Loads a compiled object into executable memory.

An x86-64 ELF object needs little: place its sections, resolve its relocations, make the pages
executable. With this loader, code from the disk cache runs without loading LLVM, and the pages of a
kernel are freed with the last program that calls it.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Mapping
from typing import NamedTuple

from adjoint.errors import InternalError
from adjoint.runtime import libc
from adjoint.runtime.symbols import text_at

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_MAGIC = b"\x7fELF\x02\x01\x01"  # 64 bits, little endian
_X86_64 = 62
_PROGBITS, _SYMTAB, _RELA, _NOBITS = 1, 2, 4, 8
_ALLOC = 2
_ABS64, _PC32, _PLT32, _PC64 = 1, 2, 4, 24
_GOT32 = (9, 41, 42)  # GOTPCREL, GOTPCRELX, REX_GOTPCRELX
_JUMP = b"\xff\x25\x00\x00\x00\x00"  # jmp [rip]: the address follows


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry: int


class _Symbol(NamedTuple):
    name: str
    section: int
    value: int


class Image:
    """Placed code. Its addresses are good for as long as the image lives."""

    __slots__ = ("_address", "_size", "_symbols")

    def __init__(self, data: bytes, given: Mapping[str, int]):
        layout = _ObjectLayout(data)
        self._size = libc.whole_pages(layout.size)
        self._address = libc.map_pages(self._size)
        code = layout.linked(self._address, given)
        ctypes.memmove(self._address, bytes(code), len(code))
        libc.protect_pages(self._address, self._size, libc.READ | libc.EXECUTE)
        self._symbols = {name: self._address + at for name, at in layout.exports.items()}

    def __getitem__(self, name: str) -> int:
        return self._symbols[name]

    def __contains__(self, name: str) -> bool:
        return name in self._symbols

    @property
    def size(self) -> int:
        return self._size

    def __del__(self) -> None:
        # At exit a thread may still be inside; the system takes the pages anyway. By then the
        # names of this module may be gone.
        if hasattr(self, "_address") and sys is not None and not sys.is_finalizing():
            libc.unmap_pages(self._address, self._size)


class _ObjectLayout:
    """Where the sections of an object go, and a slot for every symbol from outside."""

    def __init__(self, data: bytes):
        self.data = data
        self.sections = _sections(data)
        self.symbols = self._read_symbols()
        self.starts: dict[int, int] = {}
        self.size = self._place()
        self.slots = self._outside_slots()
        self.exports = {
            s.name: self.starts[s.section] + s.value
            for s in self.symbols
            if s.name and s.section in self.starts
        }

    def _read_symbols(self) -> list[_Symbol]:
        table = next((s for s in self.sections if s.kind == _SYMTAB), None)
        if table is None:
            return []
        names = self.sections[table.link]
        raw = self.data[table.offset : table.offset + table.size]
        return [
            _Symbol(text_at(self.data, names.offset + name), section, value)
            for name, _, _, section, value, _ in _SYMBOL.iter_unpack(raw)
        ]

    def _place(self) -> int:
        """Sections that occupy memory, in order, each at its alignment."""
        at = 0
        for index, section in enumerate(self.sections):
            if section.flags & _ALLOC and section.kind in (_PROGBITS, _NOBITS) and section.size:
                if section.flags & 1:
                    raise InternalError("compiled code may not have writable data")
                at = -(-at // max(1, section.align)) * max(1, section.align)
                self.starts[index] = at
                at += section.size
        return -(-at // 16) * 16

    def _outside_slots(self) -> dict[str, int]:
        """Sixteen bytes each: a jump through an address, which serves as call and as pointer."""
        slots = {}
        for symbol in self.symbols:
            if symbol.name and symbol.section == 0:
                slots[symbol.name] = self.size
                self.size += 16
        return slots

    def linked(self, base: int, given: Mapping[str, int]) -> bytearray:
        """The bytes to put at `base`."""
        code = bytearray(self.size)
        for index, start in self.starts.items():
            section = self.sections[index]
            if section.kind == _PROGBITS:
                code[start : start + section.size] = self.data[
                    section.offset : section.offset + section.size
                ]
        for name, slot in self.slots.items():
            code[slot : slot + 14] = _JUMP + struct.pack("<Q", _outside(name, given))
        for section in self.sections:
            if section.kind == _RELA and section.info in self.starts:
                self._relocate(code, section, base)
        return code

    def _relocate(self, code: bytearray, section: _Section, base: int) -> None:
        start = self.starts[section.info]
        raw = self.data[section.offset : section.offset + section.size]
        for offset, info, addend in _RELOCATION.iter_unpack(raw):
            at, kind = start + offset, info & 0xFFFFFFFF
            target = self._target(self.symbols[info >> 32], kind)
            if kind in (_PC32, _PLT32) or kind in _GOT32:
                struct.pack_into("<i", code, at, target + addend - at)
            elif kind == _PC64:
                struct.pack_into("<q", code, at, target + addend - at)
            elif kind == _ABS64:
                struct.pack_into("<Q", code, at, base + target + addend)
            else:
                raise InternalError(f"relocation {kind} of compiled code is not known")

    def _target(self, symbol: _Symbol, kind: int) -> int:
        if symbol.section in self.starts:
            if kind in _GOT32:
                raise InternalError(f"{symbol.name} is reached through a table it has no place in")
            return self.starts[symbol.section] + symbol.value
        return self.slots[symbol.name] + (len(_JUMP) if kind in _GOT32 else 0)


def _sections(data: bytes) -> list[_Section]:
    if data[:7] != _MAGIC or len(data) < _HEADER.size:
        raise InternalError("not an object of compiled code")
    header = _HEADER.unpack_from(data)
    if header[2] != _X86_64:
        raise InternalError("an object for another machine")
    start, entry, count = header[6], header[11], header[12]
    return [_Section(*_SECTION.unpack_from(data, start + i * entry)) for i in range(count)]


def _outside(name: str, given: Mapping[str, int]) -> int:
    address = given.get(name) or libc.outside().get(name)
    if not address:
        text = f"compiled code asks for {name!r}, which is not among what it may use"
        raise InternalError(text)
    return address
