"""Three settings that allow products, and sums by index, to change their bits.

A program compiled under such a setting may use it, so the settings are part of the key of every
program. What may live here: the settings. What may not: their readers (`schedule/word_products.py`,
`schedule/layout.py`, `kernel/algorithms/atomics.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import ClassVar, Self

from adjoint import config
from adjoint.ir.memory_limit import current_limit


class _Switch:
    """On from now on, or inside a `with`; the environment sets the initial state."""

    option: ClassVar[config.Option]
    said: ClassVar[dict[str, bool]] = {}  # in this process

    def __init__(self, enabled: bool = True):
        self._before = self.allowed()
        self._set(bool(enabled))

    @classmethod
    def _set(cls, enabled: bool) -> None:
        cls.said[cls.__name__] = enabled
        _switches.cache_clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._set(self._before)

    @classmethod
    def allowed(cls) -> bool:
        """Whether it is on."""
        if cls.__name__ not in cls.said:
            cls.said[cls.__name__] = cls.option.value()
        return cls.said[cls.__name__]


class native_bfloat16(_Switch):
    """Allow the processor's own products of bfloat16 from now on, or inside: `with
    native_bfloat16(): ...`; `native_bfloat16(False)` ends it.

    By default products of bfloat16 accumulate in float32 by fused multiply-adds in a fixed order,
    with the same bits on every processor. The instruction (AVX-512 BF16) adds two products at once,
    in float32 too, but in an order of its own, and treats subnormals as zero: about twice as fast,
    with other last bits. On processors without it, nothing changes. The setting counts when values
    are computed, by a jitted function or by a read, not when the graph is built; programs of both
    kinds are kept apart.
    """

    option = config.NATIVE_BFLOAT16


class allow_tf32(_Switch):
    """Allow products of float32 on a GPU to round their operands to 11 bits of precision (tf32)
    from now on, or inside: `with allow_tf32(): ...`; `allow_tf32(False)` ends it.

    Products still accumulate in float32, on tensor cores: several times as fast, with errors of
    about 1e-3 of the operands. It is off by default, and changes nothing on a CPU. The setting
    counts when values are computed; programs of both kinds are kept apart.
    """

    option = config.TF32


class deterministic(_Switch):
    """Whether a GPU gives results the same bits from run to run, as it does by default:
    `deterministic(False)` also allows ways that add parts up in any order, in products by a library
    and in sums of floats by index.

    Sums by index then treat subnormal float32 numbers as zeros. Nothing changes on a CPU. What
    counts is when values are computed; programs of both kinds are kept apart.
    """

    option = config.DETERMINISTIC


_SWITCHES = (native_bfloat16, allow_tf32, deterministic)


@cache
def _switches() -> tuple[str, ...]:
    return tuple(s.__name__ for s in _SWITCHES if s.allowed() != s.option.default)


def settings() -> tuple[str, ...]:
    """The names of the settings that differ from their defaults, and other context of compilation:
    a part of every key.
    """
    limit = current_limit()
    if limit is None and not _steady.get():
        return _switches()
    return (*_switches(), *(["steady"] if _steady.get() else ()), *([limit.key] if limit else ()))


_steady: ContextVar[bool] = ContextVar("steady_products", default=False)


@contextmanager
def steady_products() -> Iterator[None]:
    """Programs compiled inside add products of floats in an order that depends on their number
    alone, not on rows and columns: tiles compute them whatever their size, if a target has tiles. A
    part of a product then has the bits of the whole.
    """
    token = _steady.set(True)
    try:
        yield
    finally:
        _steady.reset(token)


def products_are_steady() -> bool:
    """Whether `steady_products` is active."""
    return _steady.get()
