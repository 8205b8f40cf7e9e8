"""Zip archives for reading: the directory, checked, and the bytes of each entry.

Entries that are stored are mapped; entries that are compressed are unpacked up to a limit, and
nothing larger than their size can be.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.nn.state.mapped import MappedFile

Array = np.ndarray[Any, Any]
_END, _END64, _LOCATOR = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_CENTRAL, _LOCAL = b"PK\x01\x02", b"PK\x03\x04"
_STORED, _DEFLATED = 0, 8
_RATIO = 1032  # no deflated byte becomes more
_MAX32 = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class ZipEntry:
    """One file of the archive; `start` is where its bytes are."""

    name: str
    method: int
    crc: int  # 0: not known
    packed: int
    size: int
    header: int
    start: int = 0


class ZipDirectory:
    """The entries of an archive by name."""

    def __init__(self, file: MappedFile):
        self.file = file
        self.start, size, count = _central(file)
        found = _listed(file, self.start, size, count)
        self.entries = {entry.name: self._placed(entry) for entry in found}
        if len(self.entries) != len(found):
            raise file.damaged("two entries have one name", self.start)
        self._check_apart()

    def _placed(self, entry: ZipEntry) -> ZipEntry:
        """The entry with its place, which the header in front of it says."""
        file, at = self.file, entry.header
        if at + 30 > self.start:
            raise file.damaged("the entry is not before the directory", at, entry.name)
        local = file.read(at, 30, "the header of an entry", entry.name)
        length, extra = struct.unpack_from("<HH", local, 26)
        start = at + 30 + length + extra
        if local[:4] != _LOCAL or start + entry.packed > self.start:
            raise file.damaged("no such entry is there, or it is too long", at, entry.name)
        if file.read(at + 30, length, "the name of an entry") != entry.name.encode():
            raise file.damaged("the directory and the entry differ in the name", at, entry.name)
        places = (entry.packed, entry.size, entry.header, start)
        return ZipEntry(entry.name, entry.method, entry.crc, *places)

    def _check_apart(self) -> None:
        """Entries that overlap are how small files become large."""
        end = 0
        for entry in sorted(self.entries.values(), key=lambda e: e.header):
            if entry.header < end:
                raise self.file.damaged("the entry overlaps another", entry.header, entry.name)
            end = entry.start + entry.packed

    def read(self, entry: ZipEntry) -> Array:
        """The bytes of an entry, verified."""
        raw: Any = self.file.array(entry.start, entry.packed, "the entry", entry.name)
        if entry.method == _DEFLATED:
            raw = self._unpacked(entry, raw)
        if entry.crc and zlib.crc32(raw) != entry.crc:
            raise self.file.damaged("the checksum differs", entry.start, entry.name)
        return raw

    def _unpacked(self, entry: ZipEntry, packed: Any) -> Array:
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            found = unpacker.decompress(packed, entry.size + 1)
        except zlib.error as error:
            problem = f"it cannot be unpacked: {error}"
            raise self.file.damaged(problem, entry.start, entry.name) from None
        if len(found) != entry.size or not (unpacker.eof or not entry.size):
            problem = f"it does not unpack to the {entry.size} bytes it should have"
            raise self.file.damaged(problem, entry.start, entry.name)
        return np.frombuffer(found, np.uint8)


def _central(file: MappedFile) -> tuple[int, int, int]:
    """Where the directory is, its size, and the number of its entries."""
    tail = max(0, file.size - 65557)  # the record, and the longest comment there may be
    raw = file.read(tail, file.size - tail, "the end")
    at = raw.rfind(_END)
    while at >= 0:
        if len(raw) >= at + 22 and at + 22 + int.from_bytes(
            raw[at + 20 : at + 22], "little"
        ) == len(raw):
            break
        at = raw.rfind(_END, 0, at)
    if at < 0:
        fix = "the file was cut short, or is no zip archive"
        raise file.damaged("no directory at the end", max(file.size - 22, 0), help=fix)
    end = tail + at
    disk, first, here, count, size, start = struct.unpack_from("<HHHHII", raw, at + 4)
    if end >= 20 and file.read(end - 20, 4, "the end") == _LOCATOR:
        end, disk, first, here, count, size, start = _central64(file, end - 20)
    if disk or first or here != count:
        raise file.damaged("an archive in several parts", end)
    if start + size > end or count * 46 > size:
        problem = f"a directory of {count} entries in {size} bytes at {start} cannot be"
        raise file.damaged(problem, end)
    return start, size, count


def _central64(file: MappedFile, locator: int) -> tuple[int, ...]:
    disk, end, disks = struct.unpack("<IQI", file.read(locator + 4, 16, "the locator"))
    if disk or disks > 1 or end + 56 > locator:
        raise file.damaged("the directory is not where it is said to be", locator)
    record = file.read(end, 56, "the end of the directory")
    if record[:4] != _END64:
        raise file.damaged("the directory is not where it is said to be", end)
    return end, *struct.unpack_from("<IIQQQQ", record, 16)


def _listed(file: MappedFile, start: int, size: int, count: int) -> list[ZipEntry]:
    raw = file.read(start, size, "the directory")
    at, found = 0, []
    for _ in range(count):
        if raw[at : at + 4] != _CENTRAL or at + 46 > size:
            raise file.damaged("an entry of the directory is not there", start + at)
        flags, method, _, crc, packed, full = struct.unpack_from("<HHIIII", raw, at + 8)
        lengths = struct.unpack_from("<HHH", raw, at + 28)
        place = int.from_bytes(raw[at + 42 : at + 46], "little")
        end = at + 46 + sum(lengths)
        if end > size:
            raise file.damaged("an entry of the directory is too long", start + at)
        name = _name(file, raw[at + 46 : at + 46 + lengths[0]], start + at)
        extra = raw[at + 46 + lengths[0] : end - lengths[2]]
        full, packed, place = _wide(file, start + at, extra, [full, packed, place])
        entry = ZipEntry(name, method, crc, packed, full, place)
        _check(file, entry, flags, start + at)
        found.append(entry)
        at = end
    return found


def _name(file: MappedFile, raw: bytes, at: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise file.damaged("the name of an entry is not UTF-8", at) from None


def _wide(file: MappedFile, at: int, extra: bytes, numbers: list[int]) -> list[int]:
    """Numbers that do not fit 32 bits are in a field of their own, in this order."""
    if _MAX32 not in numbers:
        return numbers
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<HH", extra)
        body, extra = extra[4 : 4 + length], extra[4 + length :]
        if kind == 1:
            wide = [body[i : i + 8] for i in range(0, len(body) - 7, 8)]
            if len(wide) >= numbers.count(_MAX32):
                taken = iter(wide)
                return [
                    int.from_bytes(next(taken), "little") if n == _MAX32 else n for n in numbers
                ]
    raise file.damaged("the size of an entry is missing", at)


def _check(file: MappedFile, entry: ZipEntry, flags: int, at: int) -> None:
    if flags & 1:
        raise file.damaged("the entry is encrypted", at, entry.name)
    if entry.method not in (_STORED, _DEFLATED):
        raise file.damaged(f"unknown compression method {entry.method}", at, entry.name)
    most = entry.packed if entry.method == _STORED else entry.packed * _RATIO + 64
    exact = entry.method == _STORED and entry.size != entry.packed
    if entry.size > most or exact:
        raise file.damaged(f"{entry.packed} bytes cannot become {entry.size}", at, entry.name)
