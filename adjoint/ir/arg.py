"""`Arg`: the attributes of a node, as a frozen record that hashes at the speed of a tuple.

A subclass lists its fields as annotations, in order, with defaults; the fields are the op's keyword
arguments, the attributes of its text form, and its part of the node's key. Floats inside are kept
as `Real`, complex numbers as `Complex`; both compare by bits: 0.0 is not -0.0, 1.0 is not 1, and a
NaN equals itself, so two nodes are one exactly when they compute the same.
"""

from __future__ import annotations

import inspect
import struct
from functools import cache
from operator import itemgetter
from typing import Any, ClassVar, Self

import numpy as np

from adjoint.ir import sizes


class Real(float):
    """A float that is equal only to a float of the same bits. A NaN hashes by identity, so there is
    one object per NaN (`frozen` finds it); hashing is left to C, see `ir/weak.py`."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and struct.pack("d", self) == struct.pack("d", other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = float.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return frozen, (float(self),)

    def __repr__(self) -> str:
        return float.__repr__(self)


class Complex(complex):
    """A complex number that is equal only to one of the same bits; NaNs as above."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, complex) and _bits(self) == _bits(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = complex.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return frozen, (complex(self),)

    def __repr__(self) -> str:
        return complex.__repr__(self)


def _bits(value: complex) -> bytes:
    return struct.pack("dd", value.real, value.imag)


_nans: dict[tuple[type, bytes], Any] = {}  # the object for each NaN


def _kept(kind: Any, value: Any) -> Any:
    number = kind(value)
    return number if value == value else _nans.setdefault((kind, _bits(value)), number)


_PLAIN = frozenset({int, str, bool, type(None)})
_all_plain = _PLAIN.issuperset  # given types


def frozen(value: Any) -> Any:
    """A hashable form of an attribute: lists become tuples, NumPy scalars become Python's."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is float:
        return _kept(Real, value)
    if kind is tuple and _all_plain(map(type, value)):
        return value
    if kind in (list, tuple):
        return tuple(map(frozen, value))
    if kind is complex:
        return _kept(Complex, value)
    if isinstance(value, np.generic):
        return frozen(value.item())
    return value


def thawed(value: Any) -> Any:
    """The plain form of a frozen attribute."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is Real:
        return float(value)
    if kind is Complex:
        return complex(value)
    if kind is tuple and not _all_plain(map(type, value)):
        return tuple(map(thawed, value))
    return value


class Arg(tuple[Any, ...]):
    """Base of the attribute records."""

    __slots__ = ()
    fields: ClassVar[tuple[str, ...]] = ()
    defaults: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls, varying: bool = False) -> None:
        if varying:
            return
        names = tuple(n for n in inspect.get_annotations(cls) if n != "__slots__")
        cls.defaults = {n: cls.__dict__[n] for n in names if n in cls.__dict__}
        cls.fields = names
        for position, name in enumerate(names):
            setattr(cls, name, property(itemgetter(position)))

    def __new__(cls, *values: Any, **named: Any) -> Self:
        if named or len(values) != len(cls.fields):
            values = cls._bind(values, named)
        if _all_plain(map(type, values)):
            return tuple.__new__(cls, values)
        made = tuple.__new__(cls, map(frozen, values))
        if sizes.living and any(True for _ in sizes.sizes_in(made)):
            return tuple.__new__(_varying(cls), made)
        return made

    @classmethod
    def _bind(cls, values: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        given = dict(zip(cls.fields, values, strict=False)) | named
        if len(values) > len(cls.fields) or not set(given) <= set(cls.fields):
            raise TypeError(f"{cls.__name__} takes {', '.join(cls.fields)}; got {given}")
        bound = cls.defaults | given
        missing = [name for name in cls.fields if name not in bound]
        if missing:
            raise TypeError(f"{cls.__name__} lacks {', '.join(missing)}")
        return tuple(bound[name] for name in cls.fields)

    def items(self) -> list[tuple[str, Any]]:
        return list(zip(self.fields, self, strict=True))

    def asdict(self) -> dict[str, Any]:
        """The fields by name, with plain floats, which compare as floats do."""
        if len(self) == 1:  # so common in gradients that what follows is too slow by half
            return {self.fields[0]: thawed(self[0])}
        values = self if _all_plain(map(type, self)) else map(thawed, self)
        return dict(zip(self.fields, values))  # noqa: B905  # a strict zip takes twice as long

    def replace(self, **named: Any) -> Self:
        return self.kind()(**(self.asdict() | named))

    @classmethod
    def kind(cls) -> type[Self]:
        """The record that these are the attributes of."""
        return cls

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={value!r}" for name, value in self.items())
        return f"{self.kind().__name__}({inner})"

    def __reduce__(self) -> tuple[Any, ...]:
        return self.kind(), tuple(self)


class Varying(Arg, varying=True):
    """Attributes with dynamic sizes: equal to those whose sizes vary in the same way."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Varying) and tuple.__eq__(self, other) and _alike(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


def _alike(a: Arg, b: Arg) -> bool:
    pairs = zip(sizes.sizes_in(a), sizes.sizes_in(b), strict=False)
    return _shape_of(a) == _shape_of(b) and all(x.form == y.form for x, y in pairs)


def _shape_of(value: Any) -> Any:
    """Where the sizes that vary are."""
    if isinstance(value, tuple):
        return tuple(map(_shape_of, value))
    return type(value) is sizes.Size


@cache
def _varying(cls: Any) -> Any:
    """The class of such attributes of a record."""
    kind = classmethod(lambda _: cls)
    body = {"__slots__": (), "kind": kind, "__eq__": Varying.__eq__, "__ne__": Varying.__ne__}
    body["__hash__"] = tuple.__hash__
    return type(cls)(cls.__name__, (Varying, cls), body, varying=True)


def arg_type(name: str, fields: dict[str, Any], defaults: dict[str, Any]) -> type[Arg]:
    """An Arg subclass made from a function's keyword parameters."""
    body = {"__slots__": (), "__annotations__": fields, **defaults}
    return type(name, (Arg,), body)
