"""Whether products may have other bits than those that all processors give: one setting.

Whatever is compiled while it is on may use it, so it is part of the key of every program. What may
live here: the setting. What may not: who reads it (`schedule/word_products.py`).
"""

from __future__ import annotations

from adjoint import config


class _Setting:
    native_bfloat16: bool | None = None  # None: as the environment says


class native_bfloat16:
    """Allow the processor's own products of bfloat16 from here on, or inside: `with
    native_bfloat16(): ...`; `native_bfloat16(False)` ends it.

    By default products of bfloat16 are added up in float32 by fused multiply-adds in a fixed order,
    with the same bits on every processor. The instruction (AVX-512 BF16) adds two products at once,
    in float32 too, but in an order of its own, and takes subnormal numbers for zero: about twice as
    fast, with other last bits. Where the processor has none, nothing changes. What counts is when
    values are computed, by a jitted function or because they are looked at, not when a product is
    written down; programs of both kinds are kept apart.
    """

    def __init__(self, enabled: bool = True):
        self._before = _Setting.native_bfloat16
        _Setting.native_bfloat16 = bool(enabled)

    def __enter__(self) -> native_bfloat16:
        return self

    def __exit__(self, *exc: object) -> None:
        _Setting.native_bfloat16 = self._before


def allows_native_bfloat16() -> bool:
    """Whether products of bfloat16 may be those of the processor."""
    if _Setting.native_bfloat16 is None:
        _Setting.native_bfloat16 = config.NATIVE_BFLOAT16.value()
    return _Setting.native_bfloat16
