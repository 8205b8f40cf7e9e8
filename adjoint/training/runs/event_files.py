"""TensorBoard's event files: scalars and images of a run, written without any library.

A file is records; a record is a length, a checksum of the length, an `Event` message and a checksum
of that. Checksums are CRC-32C, turned and shifted ("masked"). Messages are protocol buffers, of
which only what is needed is spelled here: fields are a key (number × 8 + kind) and a value.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from pathlib import Path

from adjoint.training.runs.log import refused

_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5  # how a value of a field is written
_VERSION = "brain.Event:2"
_MASK = 0xA282EAD8


class EventFile:
    """One file in a folder that TensorBoard looks into."""

    def __init__(self, folder: Path, wall_time: float | None = None):
        began = time.time() if wall_time is None else wall_time
        host = socket.gethostname() or "here"
        path = folder / f"events.out.tfevents.{int(began)}.{host}.{os.getpid()}.0"
        try:
            self._file = open(path, "ab")  # noqa: SIM115 - until it is closed
        except OSError as error:
            raise refused(path, error) from None
        self._write(_double(1, began) + _string(3, _VERSION))

    def scalar(self, tag: str, value: float, step: int, wall_time: float) -> None:
        """A number at a step."""
        self._summary(_string(1, tag) + _float(2, value), step, wall_time)

    def image(self, tag: str, png: bytes, size: tuple[int, int, int], step: int, at: float) -> None:
        """A picture (height, width, channels) at a step."""
        height, width, channels = size
        inside = _whole(1, height) + _whole(2, width) + _whole(3, channels) + _bytes(4, png)
        self._summary(_string(1, tag) + _bytes(4, inside), step, at)

    def close(self) -> None:
        self._file.close()

    def _summary(self, value: bytes, step: int, wall_time: float) -> None:
        self._write(_double(1, wall_time) + _whole(2, step) + _bytes(5, _bytes(1, value)))

    def _write(self, event: bytes) -> None:
        self._file.write(record(event))
        self._file.flush()


def record(data: bytes) -> bytes:
    """Length, checksum, data, checksum."""
    length = struct.pack("<Q", len(data))
    return length + _checksum(length) + data + _checksum(data)


def _checksum(data: bytes) -> bytes:
    found = crc32c(data)
    turned = (found >> 15) | (found << 17)
    return struct.pack("<I", (turned + _MASK) & 0xFFFFFFFF)


# ---- CRC-32C


def _table() -> list[int]:
    found = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ 0x82F63B78 * (byte & 1)
        found.append(byte)
    return found


_TABLE = _table()


def crc32c(data: bytes) -> int:
    """Castagnoli's checksum."""
    found = 0xFFFFFFFF
    for byte in data:
        found = _TABLE[(found ^ byte) & 0xFF] ^ found >> 8
    return found ^ 0xFFFFFFFF


# ---- fields of messages


def _varint(number: int) -> bytes:
    """Seven bits to a byte, the lowest first; a negative number as its 64 bits."""
    number &= (1 << 64) - 1
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _key(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _whole(field: int, value: int) -> bytes:
    return _key(field, _VARINT) + _varint(value)


def _double(field: int, value: float) -> bytes:
    return _key(field, _DOUBLE) + struct.pack("<d", value)


def _float(field: int, value: float) -> bytes:
    try:
        return _key(field, _FLOAT) + struct.pack("<f", value)
    except OverflowError:  # more than a float32 can be
        return _key(field, _FLOAT) + struct.pack("<f", float("inf") if value > 0 else -float("inf"))


def _bytes(field: int, value: bytes) -> bytes:
    return _key(field, _BYTES) + _varint(len(value)) + value


def _string(field: int, value: str) -> bytes:
    return _bytes(field, value.encode("utf-8", "replace"))
