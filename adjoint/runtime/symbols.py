"""The undefined symbols of an object, whatever system it is for: ELF, Mach-O, COFF."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from adjoint.errors import InternalError

_ELF, _MACH_O = b"\x7fELF\x02\x01", b"\xcf\xfa\xed\xfe"  # 64 bits, little endian
_COFF = {b"\x64\x86", b"\x64\xaa"}  # x86-64, arm64
_SYMTAB, _LC_SYMTAB = 2, 2


def undefined(data: bytes) -> list[str]:
    """The names that an object does not define itself, as C spells them."""
    try:
        if data.startswith(_ELF):
            return list(_elf(data))
        if data.startswith(_MACH_O):
            return [name.removeprefix("_") for name in _mach_o(data)]
        if data[:2] in _COFF:
            return list(_coff(data))
    except (struct.error, ValueError, IndexError):
        raise InternalError("an object of compiled code is damaged") from None
    raise InternalError("not an object of compiled code")


def text_at(data: bytes, start: int) -> str:
    """The text from there to the next zero."""
    return data[start : data.index(0, start)].decode()


def _elf(data: bytes) -> Iterator[str]:
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, start + i * size) for i in range(count)]
    for section in sections:
        if section[1] == _SYMTAB:
            names = sections[section[6]][4]
            for at in range(section[4], section[4] + section[5], 24):
                name, _, _, where = struct.unpack_from("<IBBH", data, at)
                if name and not where:
                    yield text_at(data, names + name)


def _mach_o(data: bytes) -> Iterator[str]:
    commands, at = struct.unpack_from("<I", data, 16)[0], 32
    for _ in range(commands):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == _LC_SYMTAB:
            first, count, names = struct.unpack_from("<III", data, at + 8)
            for i in range(count):
                name, flags = struct.unpack_from("<IB", data, first + 16 * i)
                if flags & 0xEF == 0x01:  # external, of no section
                    yield text_at(data, names + name)
        at += size


def _coff(data: bytes) -> Iterator[str]:
    first, count = struct.unpack_from("<II", data, 8)
    names, i = first + 18 * count, 0
    while i < count:
        at = first + 18 * i
        value, section, _, storage, more = struct.unpack_from("<IhHBB", data, at + 8)
        if section == 0 and storage == 2 and value == 0:
            zero, place = struct.unpack_from("<II", data, at)
            short = data[at : at + 8].rstrip(b"\0").decode()
            yield short if zero else text_at(data, names + place)
        i += 1 + more
