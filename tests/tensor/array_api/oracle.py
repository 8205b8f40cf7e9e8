"""What these tests share: arrays of every dtype, and the strict implementation as the oracle."""

from __future__ import annotations

import array_api_strict as strict
import numpy as np

import adjoint.tensor.array_api as xp
from adjoint import Tensor
from adjoint.ir.dtype import DType, dtypes

BOOL = ("bool",)
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTS = SIGNED + UNSIGNED
FLOATS = ("float32", "float64")
COMPLEXES = ("complex64", "complex128")
REALS = INTS + FLOATS
NUMBERS = REALS + COMPLEXES
ALL = BOOL + NUMBERS
SHAPES = ((), (0,), (3,), (2, 3))
PAIRS = (((2, 3), (2, 3)), ((2, 1), (3,)), ((), (3,)), ((0, 3), (3,)), ((), ()))
TOLERANCE = {"float32": 2e-5, "complex64": 2e-5, "float64": 1e-12, "complex128": 1e-12}


def array(shape, dtype: str, lo: float = -3.0, hi: float = 3.0, seed: int = 0):
    """Random values of a dtype; integers are spread over the same range."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in INTS:
        low = max(int(lo), 0) if dtype in UNSIGNED else int(lo)
        return np.asarray(rng.integers(low, max(int(hi), low) + 1, shape)).astype(dtype)
    values = rng.uniform(lo, hi, shape)
    if dtype in COMPLEXES:
        values = values + 1j * rng.uniform(lo, hi, shape)
    return np.asarray(values).astype(dtype)


def dtype_named(name: str) -> DType:
    return getattr(dtypes, "bool_" if name == "bool" else name)


def ours(value):
    """Arrays as tensors, wherever they are."""
    if isinstance(value, (list, tuple)):
        return type(value)(ours(v) for v in value)
    return Tensor(value) if isinstance(value, np.ndarray) else value


def theirs(value):
    """Arrays as the oracle's."""
    if isinstance(value, (list, tuple)):
        return type(value)(theirs(v) for v in value)
    return strict.asarray(value) if isinstance(value, np.ndarray) else value


def default(dtype: str, *inputs) -> str:
    """The oracle's default dtypes are 64 bits wide, ours 32."""
    wide = {np.asarray(v).dtype.name for v in inputs if isinstance(v, np.ndarray)}
    narrow = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}
    has = {"int64": {"int64"}, "uint64": {"uint64"}}.get(dtype, {"float64", "complex128"})
    return dtype if wide & has or dtype not in narrow else narrow[dtype]


def same(got, wanted, dtype: str = "", where: str = "") -> None:
    """Equal in shape, dtype and value."""
    wanted = np.asarray(wanted)
    assert isinstance(got, Tensor), f"{where}: {type(got)}"
    assert got.shape == wanted.shape, f"{where}: shape {got.shape}, expected {wanted.shape}"
    assert got.dtype.name == (dtype or wanted.dtype.name), f"{where}: {got.dtype}, {wanted.dtype}"
    tolerance = TOLERANCE.get(got.dtype.name, 0)
    np.testing.assert_allclose(got.numpy(), wanted, tolerance, tolerance, err_msg=where)


def agree(name: str, *args, dtype: str = "", namespace: str = "", **kwargs) -> None:
    """One function of both, on the same arguments."""
    mine = getattr(xp, namespace) if namespace else xp
    other = getattr(strict, namespace) if namespace else strict
    with np.errstate(all="ignore"):
        wanted = getattr(other, name)(*theirs(args), **{k: theirs(v) for k, v in kwargs.items()})
    got = getattr(mine, name)(*ours(args), **{k: ours(v) for k, v in kwargs.items()})
    several = isinstance(wanted, tuple)
    where = f"{name}{[getattr(a, 'shape', a) for a in args]}{kwargs}"
    for g, w in zip(got if several else [got], wanted if several else [wanted], strict=True):
        w = np.asarray(w)
        same(g, w, dtype or default(w.dtype.name, *args, *kwargs.values()), where)
