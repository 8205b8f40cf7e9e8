"""Dtypes and the promotion lattice.

Promotion follows the array API standard where it speaks (same kind: the wider; signed with
unsigned: the next wider signed) and the practice of the field where it does not: an integer with a
float gives that float; float16 with bfloat16 gives float32; int64 with uint64 gives float64. Python
scalars are weak: they take the dtype of the array unless their kind is higher.

The 8-bit floats are storage dtypes: ops that only move values accept them, casts convert them, and
all other ops raise an error. With another float they promote to that float, with each other to
float32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from adjoint.errors import ArgumentError, DTypeError, did_you_mean

Scalar = bool | int | float | complex


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DType:
    """An element type. There is one object per type, so `is` compares."""

    name: str
    short: str
    kind: str  # b bool, i signed, u unsigned, f float, c complex
    np: np.dtype[Any]
    itemsize: int = field(init=False)
    bits: int = field(init=False)
    is_bool: bool = field(init=False)
    is_int: bool = field(init=False)
    is_float: bool = field(init=False)
    is_complex: bool = field(init=False)
    is_inexact: bool = field(init=False)  # a float or complex
    is_storage: bool = field(init=False)  # values are held and moved: arithmetic needs a cast first

    def __post_init__(self) -> None:
        kind, size = self.kind, self.np.itemsize
        facts = {
            "itemsize": size,
            "bits": 1 if kind == "b" else 8 * size,
            "is_bool": kind == "b",
            "is_int": kind in "iu",
            "is_float": kind == "f",
            "is_complex": kind == "c",
            "is_inexact": kind in "fc",
            "is_storage": kind == "f" and size == 1,
        }
        for name, value in facts.items():
            object.__setattr__(self, name, value)

    @property
    def dtype(self) -> Any:
        """NumPy's own, which it looks for under this name: `np.zeros(3, dtype=x.dtype)` works."""
        return self.np

    @property
    def min(self) -> Any:
        """The least value: -inf for floats that have it, False for bool."""
        return _limits(self)[0]

    @property
    def max(self) -> Any:
        """The greatest value: inf for floats that have it, True for bool."""
        return _limits(self)[1]

    def __repr__(self) -> str:
        return f"dtypes.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


@cache
def _limits(dtype: DType) -> tuple[Any, Any]:
    if dtype is dtypes.float8_e4m3fn:  # has no infinity
        return -448.0, 448.0
    if dtype.is_inexact:
        return -np.inf, np.inf
    if dtype.is_bool:
        return False, True
    info = np.iinfo(dtype.np)
    return int(info.min), int(info.max)


def _make(name: str, short: str, kind: str, np_type: Any = None) -> DType:
    return DType(name, short, kind, np.dtype(np_type or name))


class _Defaults(type):
    """Lets `dtypes.default_int` and `dtypes.default_float` be set, to what they can be."""

    default_int: DType
    default_float: DType

    @property
    def default_complex(cls) -> DType:
        """The complex dtype whose parts are the default float, or complex64 for a narrower one."""
        return complex_of(cls.default_float)

    def __setattr__(cls, name: str, value: Any) -> None:
        allowed = _DEFAULTS.get(name)
        if allowed is None:
            fix = "only dtypes.default_int and dtypes.default_float can be set"
            raise ArgumentError("E2008", f"dtypes.{name} is fixed", op="dtypes", help=fix)
        kind = as_dtype(value)
        if kind.name not in allowed:
            problem = f"{name} is one of {', '.join(allowed)}, not {kind.name}"
            raise ArgumentError("E2008", problem, op="dtypes")
        super().__setattr__(name, kind)
        for forget in on_new_defaults:
            forget()


_DEFAULTS = {
    "default_int": ("int32", "int64"),
    "default_float": ("float16", "bfloat16", "float32", "float64"),
}
on_new_defaults: list[Callable[[], None]] = []  # what must be forgotten when a default changes


class dtypes(metaclass=_Defaults):
    """The dtypes by name. `dtypes.float` and friends are the familiar short names.

    `dtypes.default_int` and `dtypes.default_float` are what Python numbers, and functions of
    integers with real results, give; they can be set. Indices are `dtypes.index`, sums and products
    of integers have 64 bits, whatever the defaults are.
    """

    bool_ = _make("bool", "bool", "b")
    int8 = _make("int8", "i8", "i")
    int16 = _make("int16", "i16", "i")
    int32 = _make("int32", "i32", "i")
    int64 = _make("int64", "i64", "i")
    uint8 = _make("uint8", "u8", "u")
    uint16 = _make("uint16", "u16", "u")
    uint32 = _make("uint32", "u32", "u")
    uint64 = _make("uint64", "u64", "u")
    float16 = _make("float16", "f16", "f")
    bfloat16 = _make("bfloat16", "bf16", "f", ml_dtypes.bfloat16)
    float32 = _make("float32", "f32", "f")
    float64 = _make("float64", "f64", "f")
    float8_e4m3fn = _make("float8_e4m3fn", "f8e4m3", "f", ml_dtypes.float8_e4m3fn)
    float8_e5m2 = _make("float8_e5m2", "f8e5m2", "f", ml_dtypes.float8_e5m2)
    complex64 = _make("complex64", "c64", "c")
    complex128 = _make("complex128", "c128", "c")

    bool = bool_
    char, short, int, long = int8, int16, int32, int64
    uchar, ushort, uint, ulong = uint8, uint16, uint32, uint64
    half, float, double = float16, float32, float64
    fp8e4m3, fp8e5m2 = float8_e4m3fn, float8_e5m2
    default_float, default_int = float32, int32
    index = int64  # of argmax, argsort, nonzero, … and of counts

    bools = (bool_,)
    sints, uints = (int8, int16, int32, int64), (uint8, uint16, uint32, uint64)
    fp8s = (float8_e4m3fn, float8_e5m2)
    ints, floats = (*sints, *uints), (*fp8s, float16, bfloat16, float32, float64)
    complexes = (complex64, complex128)
    all = (*bools, *ints, *floats, *complexes)

    @staticmethod
    def min(dtype: Any) -> Any:
        """The least value of a dtype: -inf for floats, False for bool."""
        return as_dtype(dtype).min

    @staticmethod
    def max(dtype: Any) -> Any:
        """The greatest value of a dtype: inf for floats, True for bool."""
        return as_dtype(dtype).max

    @staticmethod
    def fields() -> dict[str, DType]:
        """Every dtype by its name."""
        return {d.name: d for d in (*ALL, *STORAGE)}

    @staticmethod
    def finfo(dtype: Any) -> tuple[Any, Any]:
        """How many bits of a float dtype are its exponent, and how many its significand."""
        kind = as_dtype(dtype)
        if not kind.is_float:
            raise DTypeError("E2005", f"takes a float dtype, not {kind.name}", op="finfo")
        info: Any = ml_dtypes.finfo(kind.np)
        return info.nexp, info.nmant

    @staticmethod
    def is_float(dtype: DType) -> Any:
        return dtype.is_float

    @staticmethod
    def is_int(dtype: DType) -> Any:
        return dtype.is_int

    @staticmethod
    def is_unsigned(dtype: DType) -> Any:
        return dtype.kind == "u"


_NAMED = [v for k, v in vars(dtypes).items() if isinstance(v, DType) and v.name == k]
STORAGE = dtypes.fp8s  # these hold values and do not compute, so ALL, whose members do, is without
ALL: tuple[DType, ...] = tuple(d for d in _NAMED if not d.is_storage)
BOOL = (dtypes.bool_,)
INTS = tuple(d for d in ALL if d.is_int)
FLOATS = tuple(d for d in ALL if d.is_float)
COMPLEXES = tuple(d for d in ALL if d.is_complex)
_BY_NUMPY = {d.np: d for d in (*ALL, *STORAGE)}
_BY_NAME = {name: d for d in (*ALL, *STORAGE) for name in (d.name, d.short)}
_BY_NAME |= {k: v for k, v in vars(dtypes).items() if isinstance(v, DType)}
_BY_PYTHON: dict[Any, Callable[[], DType]] = {
    bool: lambda: dtypes.bool_,
    int: lambda: dtypes.default_int,
    float: lambda: dtypes.default_float,
    complex: lambda: dtypes.default_complex,
}

_FOREIGN = tuple(d.np for d in (dtypes.bfloat16, *STORAGE))


def is_foreign(dtype: np.dtype[Any]) -> bool:
    """Whether the dtype is none of NumPy's own: its functions, and Python's, may not know it."""
    return dtype in _FOREIGN


def plain(array: Any) -> Any:
    """The values in a dtype of NumPy's own: exact."""
    return array.astype(np.float32) if is_foreign(array.dtype) else array


def raw_bits(array: Any) -> Any:
    """The array, or of a dtype that is none of NumPy's own, its bits as unsigned integers."""
    return array.view(f"u{array.dtype.itemsize}") if is_foreign(array.dtype) else array


# Kernel level only: neither is the type of a tensor, so neither is in ALL or has a public name.
VOID = DType("void", "void", "v", np.dtype("V"))  # the result of an op that is run for its effect


@dataclass(frozen=True, slots=True, repr=False)
class PtrDType:
    """The type of memory that a kernel reads and, if `mutable`, writes; `local` to a workgroup."""

    base: DType
    mutable: bool = False
    local: bool = False
    kind = "p"

    @property
    def name(self) -> str:
        return f"{self.base.name} pointer"

    @property
    def short(self) -> str:
        words = ["local"] * self.local + ["mutable"] * self.mutable
        return f"Ptr<{', '.join([self.base.short, *words])}>"

    def __repr__(self) -> str:
        return self.short

    def __reduce__(self) -> tuple[Any, ...]:
        return pointer, (self.base, self.mutable, self.local)


def pointer(base: DType, mutable: bool = False, local: bool = False) -> PtrDType:
    """The pointer type; one object per type, so `is` compares."""
    return _POINTERS.setdefault((base, mutable, local), PtrDType(base, mutable, local))


_POINTERS: dict[tuple[DType, bool, bool], PtrDType] = {}


def as_dtype(value: Any) -> DType:
    """A DType from a DType, a name (`"float32"`, `"f32"`), a NumPy dtype, or bool/int/float."""
    if isinstance(value, DType):
        return value
    if isinstance(value, str) and value in _BY_NAME:
        return _BY_NAME[value]
    if isinstance(value, type) and value in _BY_PYTHON:
        return _BY_PYTHON[value]()
    try:
        return _BY_NUMPY[np.dtype(value if value is not None else "none")]  # NumPy's is float64
    except (TypeError, KeyError):
        near = did_you_mean(str(value), _BY_NAME)
        known = "known dtypes: " + ", ".join(dtypes.fields())
        raise DTypeError("E2001", f"{value!r} is not a dtype", help=near or known) from None


def is_dtype(value: Any) -> bool:
    """Whether `as_dtype` takes the value; a name is looked up, anything else is judged by kind."""
    if isinstance(value, str):
        return value in _BY_NAME
    return isinstance(value, (DType, np.dtype, type))


def dtype_of_scalar(value: Scalar) -> DType:
    """The dtype a Python scalar has on its own; an int too wide for the default takes 64 bits."""
    if isinstance(value, (bool, np.bool_)):
        return dtypes.bool_
    if isinstance(value, (int, np.integer)):
        choices = (dtypes.default_int, dtypes.int64)
        return next((d for d in choices if fits(value, d)), dtypes.uint64)
    return dtypes.default_complex if isinstance(value, complex) else dtypes.default_float


_KIND_ORDER = "biufc"


def fits(value: int, dtype: DType) -> bool:
    """Whether the integer is a value of the dtype."""
    return dtype.is_inexact or bool(dtype.min <= value <= dtype.max)


@cache
def promote(a: DType, b: DType) -> DType:
    """The dtype of `a op b`."""
    if a is b:
        return a
    if _rank(a) > _rank(b):
        a, b = b, a
    if b.is_complex:
        wide = dtypes.complex128 in (a, b) or a is dtypes.float64
        return dtypes.complex128 if wide else dtypes.complex64
    if b.is_float:
        return _promote_float(a, b)
    return b if a.is_bool else _promote_int(a, b)


def _rank(dtype: DType) -> tuple[int, int]:
    return _KIND_ORDER.index(dtype.kind), dtype.itemsize


def _promote_float(a: DType, b: DType) -> DType:
    if not a.is_float:
        return b
    return dtypes.float32 if a.itemsize == b.itemsize else b


def _promote_int(a: DType, b: DType) -> DType:
    if a.kind == b.kind:
        return a if a.itemsize > b.itemsize else b
    signed, unsigned = (a, b) if a.kind == "i" else (b, a)
    if signed.itemsize > unsigned.itemsize:
        return signed
    wider = {1: dtypes.int16, 2: dtypes.int32, 4: dtypes.int64, 8: dtypes.float64}
    return wider[unsigned.itemsize]


def promote_scalar(dtype: DType, value: Scalar) -> DType:
    """The dtype of `array op python_scalar`: the array's own unless the scalar's kind is higher."""
    if isinstance(value, bool):
        return dtype
    if isinstance(value, int):
        return dtypes.default_int if dtype.is_bool else dtype
    if isinstance(value, float):
        return dtype if dtype.is_inexact else dtypes.default_float
    if dtype.is_complex:
        return dtype
    return complex_of(dtype) if dtype.is_float else dtypes.default_complex


def to_float(dtype: DType) -> DType:
    """The dtype of a real function of it: itself if inexact, else the default float."""
    return dtype if dtype.is_inexact else dtypes.default_float


def real_of(dtype: DType) -> DType:
    """The dtype of the real part."""
    if not dtype.is_complex:
        return dtype
    return dtypes.float32 if dtype is dtypes.complex64 else dtypes.float64


def complex_of(dtype: DType) -> DType:
    """The complex dtype whose parts hold a value of this dtype."""
    if dtype.is_complex:
        return dtype
    part = to_float(dtype)
    return dtypes.complex128 if part is dtypes.float64 else dtypes.complex64


def total_dtype(dtype: DType) -> DType:
    """The dtype of a sum or product that the caller does not name: integers have 64 bits."""
    if dtype.is_inexact:
        return dtype
    return dtypes.uint64 if dtype.kind == "u" else dtypes.int64


def accumulator(dtype: DType) -> DType:
    """The dtype in which sums are kept: at least 32 bits wide."""
    if dtype.is_bool or (dtype.kind == "i" and dtype.itemsize < 4):
        return dtypes.int32
    if dtype.kind == "u" and dtype.itemsize < 4:
        return dtypes.uint32
    return dtypes.float32 if dtype.is_float and dtype.itemsize < 4 else dtype
