"""Arrays as images: which arrays are, their pixels, and PNG files, written by hand.

What may live here: arrays and bytes. What may not: tensors, markup.
"""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np

MOST = 256  # pixels of a side; of more, every second, third, …
_SMALLEST = 8  # a matrix with a shorter side is read, not looked at
_KINDS = {1: 0, 3: 2, 4: 6}  # PNG's words for grey, colours, and these with opacity
Array = np.ndarray[Any, Any]


def thinned(values: Array, most: int) -> Array:
    """At most so many values along the first axis, evenly chosen."""
    return values[:: max(-(-len(values) // most), 1)]


def pixels(array: Array) -> Array | None:
    """The array as bytes of grey or colours, if it is an image: bytes, or colours from 0 to 1, in
    either order of axes; a matrix of other numbers from its least (black) to its greatest."""
    colours = _channels_last(array)
    if colours is None or min(colours.shape[:2]) < _SMALLEST or colours.dtype.kind not in "fiub":
        return None
    rows = thinned(colours, MOST)
    small = thinned(rows.swapaxes(0, 1), MOST).swapaxes(0, 1)
    if array.dtype == np.uint8:
        return np.ascontiguousarray(small)
    return _bytes(np.asarray(small, np.float64), array.ndim == 2)


def _channels_last(array: Array) -> Array | None:
    if array.ndim == 2:
        return array[:, :, None]
    if array.ndim == 3 and array.shape[2] in (3, 4) and array.dtype.kind in "fu":
        return array
    if array.ndim == 3 and array.shape[0] in (1, 3, 4) and array.dtype.kind in "fu":
        return array.transpose(1, 2, 0)
    return None


def _bytes(values: Array, any_range: bool) -> Array | None:
    finite = np.isfinite(values)
    if not finite.any():
        return None
    low, high = values[finite].min(), values[finite].max()
    if not any_range and (low < 0 or high > 1):
        return None
    share = shares(values, low, high) if any_range else values
    return np.where(finite, np.clip(share, 0, 1) * 255, 0).round().astype(np.uint8)


def shares(numbers: Array, low: float, high: float) -> Array:
    """Where each stands between the least and the greatest; in the middle if these are one."""
    half = high / 2 - low / 2  # the difference of two large numbers may be infinite
    if half == 0:
        return np.full(numbers.shape, 0.5)
    with np.errstate(invalid="ignore", over="ignore"):
        return (numbers / 2 - low / 2) / half


def png(colours: Array) -> bytes:
    """Bytes of height × width × 1, 3 or 4 as a PNG file."""
    height, width, channels = colours.shape
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # each row begins with its filter
    rows[:, 1:] = colours.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, _KINDS[channels], 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def data_address(colours: Array) -> str:
    """The PNG file as an address that holds it."""
    return f"data:image/png;base64,{base64.b64encode(png(colours)).decode('ascii')}"
