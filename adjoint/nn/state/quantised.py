"""The block formats of GGUF files, as float32.

A block is a run of elements that share scales; a format is a function from the bytes of many blocks
to their values, row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_AT_ONCE = 1 << 20  # elements: what is needed beside the result stays small
_TWO_BITS = np.array([0, 2, 4, 6], np.uint8)
_NIBBLES = np.array([0, 4], np.uint8)
_BITS = np.arange(8, dtype=np.uint8)
_UNEVEN = np.array(
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float32
)
# Twice the values of a float with two bits of exponent and one of fraction.
_TINY = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], np.float32)


@dataclass(frozen=True, slots=True)
class BlockFormat:
    """`size` elements in `stored` bytes. `decode`: bytes[blocks, stored] to f32[blocks, size]."""

    size: int
    stored: int
    decode: Callable[[Array], Array]

    def values(self, raw: Array) -> Array:
        """All elements of many blocks."""
        blocks = raw.reshape(-1, self.stored)
        found = np.empty((len(blocks), self.size), np.float32)
        step = _AT_ONCE // self.size
        # A scale may be infinite: the value is what the arithmetic gives, as in other readers.
        with np.errstate(all="ignore"):
            for start in range(0, len(blocks), step):
                part = blocks[start : start + step]
                found[start : start + step] = self.decode(part).reshape(len(part), self.size)
        return found.reshape(-1)


def _half(raw: Array, at: int) -> Array:
    """A float16 of every block, as a column."""
    two: Array = np.ascontiguousarray(raw[:, at : at + 2]).view(np.float16)
    return two.astype(np.float32)


def _signed(raw: Array) -> Array:
    return raw.view(np.int8).astype(np.float32)


def _nibbles(raw: Array) -> Array:
    """The low halves of all bytes, then the high ones."""
    return ((raw[:, None, :] >> _NIBBLES[:, None]) & 15).reshape(len(raw), -1)


def _fifth_bits(raw: Array, at: int) -> Array:
    """One bit per element, of 32 bits with the lowest first, as 16 or 0."""
    return np.unpackbits(raw[:, at : at + 4], axis=1, bitorder="little") << 4


# ---- blocks of 32


def _q4_0(raw: Array) -> Array:
    return _half(raw, 0) * (_nibbles(raw[:, 2:]).astype(np.float32) - 8)


def _q4_1(raw: Array) -> Array:
    return _half(raw, 0) * _nibbles(raw[:, 4:]).astype(np.float32) + _half(raw, 2)


def _q5_0(raw: Array) -> Array:
    return _half(raw, 0) * ((_nibbles(raw[:, 6:]) | _fifth_bits(raw, 2)).astype(np.float32) - 16)


def _q5_1(raw: Array) -> Array:
    found = (_nibbles(raw[:, 8:]) | _fifth_bits(raw, 4)).astype(np.float32)
    return _half(raw, 0) * found + _half(raw, 2)


def _q8_0(raw: Array) -> Array:
    return _half(raw, 0) * _signed(raw[:, 2:])


def _q8_1(raw: Array) -> Array:
    return _half(raw, 0) * _signed(raw[:, 4:])


def _iq4_nl(raw: Array) -> Array:
    return _half(raw, 0) * _UNEVEN[_nibbles(raw[:, 2:])]


def _mxfp4(raw: Array) -> Array:
    scale = np.ldexp(np.float32(1), raw[:, :1].astype(np.int32) - 128).astype(np.float32)
    return scale * _TINY[_nibbles(raw[:, 1:])]


# ---- blocks of 256, in which runs of 16 or 32 have scales of their own


def _scaled(numbers: Array, scales: Array, lows: Array | None = None) -> Array:
    """Runs of elements times their scales, less their minima."""
    runs = numbers.reshape(*scales.shape, -1).astype(np.float32) * scales[:, :, None]
    return runs if lows is None else runs - lows[:, :, None]


def _pairs(raw: Array) -> Array:
    """Two bits per element: of every 32 bytes first the lowest pairs, then the next."""
    runs = raw.reshape(len(raw), -1, 1, 32)
    return ((runs >> _TWO_BITS[:, None]) & 3).reshape(len(raw), -1)


def _nibbles_by_32(raw: Array) -> Array:
    """Four bits per element: of every 32 bytes first the low halves, then the high ones."""
    runs = raw.reshape(len(raw), -1, 1, 32)
    return ((runs >> _NIBBLES[:, None]) & 15).reshape(len(raw), -1)


def _high_bits(raw: Array) -> Array:
    """One bit per element: the lowest of all 32 bytes, then the next."""
    return ((raw[:, None, :] >> _BITS[:, None]) & 1).reshape(len(raw), -1)


def _six_bits(raw: Array) -> tuple[Array, Array]:
    """Eight scales and eight minima of six bits, in twelve bytes."""
    a, b, c = (raw[:, i : i + 4] for i in (0, 4, 8))
    scales = np.concatenate([a & 63, (c & 15) | (a >> 6 << 4)], 1)
    return scales, np.concatenate([b & 63, (c >> 4) | (b >> 6 << 4)], 1)


def _q2_k(raw: Array) -> Array:
    scales = raw[:, :16]
    large, low = _half(raw, 80) * (scales & 15), _half(raw, 82) * (scales >> 4)
    return _scaled(_pairs(raw[:, 16:80]), large, low)


def _q3_k(raw: Array) -> Array:
    high, packed = raw[:, :32], raw[:, 96:108]
    low = _nibbles(packed[:, :8])
    top = ((packed[:, None, 8:] >> _TWO_BITS[:, None]) & 3).reshape(len(raw), 16)
    scales = _half(raw, 108) * ((low | top << 4).astype(np.float32) - 32)
    numbers = (_pairs(raw[:, 32:96]) | _high_bits(high) << 2).astype(np.int8) - 4
    return _scaled(numbers, scales)


def _q4_k(raw: Array) -> Array:
    scales, lows = _six_bits(raw[:, 4:16])
    numbers = _nibbles_by_32(raw[:, 16:])
    return _scaled(numbers, _half(raw, 0) * scales, _half(raw, 2) * lows)


def _q5_k(raw: Array) -> Array:
    scales, lows = _six_bits(raw[:, 4:16])
    numbers = _nibbles_by_32(raw[:, 48:]) | _high_bits(raw[:, 16:48]) << 4
    return _scaled(numbers, _half(raw, 0) * scales, _half(raw, 2) * lows)


def _q6_k(raw: Array) -> Array:
    halves = raw[:, :128].reshape(len(raw), 2, 1, 64)
    low = ((halves >> _NIBBLES[:, None]) & 15).reshape(len(raw), 256)
    numbers = (low | _pairs(raw[:, 128:192]) << 4).astype(np.int8) - 32
    return _scaled(numbers, _half(raw, 208) * _signed(raw[:, 192:208]))


def _q8_k(raw: Array) -> Array:
    scale: Array = np.ascontiguousarray(raw[:, :4]).view(np.float32)
    return scale * _signed(raw[:, 4:260])


def _iq4_xs(raw: Array) -> Array:
    low = ((raw[:, 4:8, None] >> _NIBBLES) & 15).reshape(len(raw), 8)
    high = ((raw[:, 2:4, None] >> _TWO_BITS) & 3).reshape(len(raw), 8)
    scales = _half(raw, 0) * ((low | high << 4).astype(np.float32) - 32)
    runs = raw[:, 8:].reshape(len(raw), 8, 1, 16)
    return _scaled(_UNEVEN[(runs >> _NIBBLES[:, None]) & 15], scales)


FORMATS: dict[str, BlockFormat] = {
    "Q4_0": BlockFormat(32, 18, _q4_0),
    "Q4_1": BlockFormat(32, 20, _q4_1),
    "Q5_0": BlockFormat(32, 22, _q5_0),
    "Q5_1": BlockFormat(32, 24, _q5_1),
    "Q8_0": BlockFormat(32, 34, _q8_0),
    "Q8_1": BlockFormat(32, 36, _q8_1),
    "Q2_K": BlockFormat(256, 84, _q2_k),
    "Q3_K": BlockFormat(256, 110, _q3_k),
    "Q4_K": BlockFormat(256, 144, _q4_k),
    "Q5_K": BlockFormat(256, 176, _q5_k),
    "Q6_K": BlockFormat(256, 210, _q6_k),
    "Q8_K": BlockFormat(256, 292, _q8_k),
    "IQ4_NL": BlockFormat(32, 18, _iq4_nl),
    "IQ4_XS": BlockFormat(256, 136, _iq4_xs),
    "MXFP4": BlockFormat(32, 17, _mxfp4),
}
