"""THREEFRY and the random bits and numbers made from it.

Threefry-2x32 with 20 rounds, bit for bit the published generator. An element's bits depend on the
key and on its global position alone, so whole and sharded draws, and draws of any shape with the
same prefix, agree.
"""

from __future__ import annotations

from math import pi, prod
from typing import Any

import numpy as np

from adjoint.ir.broadcast import elementwise
from adjoint.ir.derivative import NotDifferentiable, ZeroGradient
from adjoint.ir.dtype import DType, as_dtype, dtypes
from adjoint.ir.kernel_kind import EXPENSIVE
from adjoint.ir.opdef import Bad, composite
from adjoint.ir.storage import storage_error
from adjoint.ir.uop import UOp
from adjoint.ops.mathematics.exact import threefry as threefry_of
from adjoint.ops.samples import given, real, rough

Array = np.ndarray[Any, Any]
_WORD = 0xFFFFFFFF
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry2x32(x: Any, key: Any) -> Any:
    """The block cipher on uint64: low word first in the counter, the key and the result.

    Takes arrays of uint64, or Python's integers, which are ten times as fast for one number.
    """
    low, high, k0, k1 = x & _WORD, x >> 32, key & _WORD, key >> 32
    keys = (k0, k1, k0 ^ k1 ^ 0x1BD11BDA)
    low, high = (low + k0) & _WORD, (high + k1) & _WORD
    for group in range(5):
        for by in _ROTATIONS[group % 2]:
            low = (low + high) & _WORD
            high = ((high << by) & _WORD | high >> (32 - by)) ^ low
        low = (low + keys[(group + 1) % 3]) & _WORD
        high = (high + keys[(group + 2) % 3] + (group + 1)) & _WORD
    return low | high << 32


def _threefry_reference(x: Any, key: Any) -> Array:
    x, key = np.broadcast_arrays(np.asarray(x, np.uint64), np.asarray(key, np.uint64))
    with np.errstate(over="ignore"):
        return threefry2x32(x, key)


threefry = elementwise(
    "threefry",
    "Threefry-2x32-20 of 64-bit counters under 64-bit keys.",
    kinds="u",
    cost=EXPENSIVE,
    body=threefry_of,
    exact=True,
    ad=ZeroGradient("bits are not numbers"),
    reference=_threefry_reference,
    samples=given(rough(np.arange(4, dtype=np.uint64), np.array([7], np.uint64))),
    cast=lambda dtype: dtypes.uint64 if dtype.is_int else dtype,
    sample_kinds="u",
    errors=(Bad("E2005", (real(2), real(2)), match="float"),),
)


def _bits(shape: tuple[int, ...], key: Any) -> Array:
    count = np.arange(int(prod(shape)), dtype=np.uint64).reshape(shape)
    return _threefry_reference(count, np.asarray(key, np.uint64))


_KEY = np.array(42, np.uint64)
_SAMPLES = given(rough(_KEY, (2, 3)), rough(_KEY, (0,)))
_RANDOM = NotDifferentiable("random bits depend on no differentiable value")


@composite(reference=lambda key, shape: _bits(shape, key), samples=_SAMPLES, ad=_RANDOM, kinds="u")
def random_bits(key: UOp, shape: tuple[int, ...]) -> UOp:
    """64 random bits per element, by position under the key."""
    count = UOp._apply("const", 1, dtypes.uint64, (prod(shape),), key.device).scan_sum(0) - 1
    return count.reshape(shape).threefry(key)


def _uniform_bits(dtype: DType) -> int:
    """How many random bits fill the dtype's significand."""
    if dtype.is_storage:
        raise storage_error("rand", dtype)
    return {2: 8 if dtype is dtypes.bfloat16 else 11, 4: 24, 8: 53}[dtype.itemsize]


def _rand_reference(key: Any, shape: tuple[int, ...], dtype: Any = None) -> Array:
    kind = as_dtype(dtype or dtypes.default_float)
    take = _uniform_bits(kind)
    top = (_bits(shape, key) >> np.uint64(64 - take)).astype(np.float64)
    return (top * 2.0**-take).astype(kind.np)


@composite(reference=_rand_reference, samples=_SAMPLES, ad=_RANDOM, kinds="u")
def random_uniform(key: UOp, shape: tuple[int, ...], dtype: DType = dtypes.float32) -> UOp:
    """Uniform in [0, 1): the leading bits of each element's 64, scaled."""
    take = _uniform_bits(dtype)
    wide = dtypes.float64 if dtype is dtypes.float64 else dtypes.float32
    top = (key.random_bits(shape) >> (64 - take)).cast(wide)
    return (top * 2.0**-take).cast(dtype)


def _randn_reference(key: Any, shape: tuple[int, ...], dtype: Any = None) -> Array:
    kind = as_dtype(dtype or dtypes.default_float)
    bits = _bits(shape, key)
    first = ((bits & np.uint64(0xFFFFFFFF)).astype(np.float64) + 1) * 2.0**-32
    second = (bits >> np.uint64(32)).astype(np.float64) * 2.0**-32
    return (np.sqrt(-2 * np.log(first)) * np.cos(2 * pi * second)).astype(kind.np)


@composite(reference=_randn_reference, samples=_SAMPLES, ad=_RANDOM, kinds="u")
def random_normal(key: UOp, shape: tuple[int, ...], dtype: DType = dtypes.float32) -> UOp:
    """Standard normal by Box and Muller, a word of the element's bits for each of its two draws."""
    wide = dtypes.float64 if dtype is dtypes.float64 else dtypes.float32
    bits = key.random_bits(shape)
    radius = ((bits & 0xFFFFFFFF).cast(wide) + 1) * 2.0**-32
    angle = (bits >> 32).cast(wide) * (2 * pi * 2.0**-32)
    return ((radius.log() * -2).sqrt() * angle.cos()).cast(dtype)
