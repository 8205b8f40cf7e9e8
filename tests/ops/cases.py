"""What the tests derived from the records share: every op, its samples, and how to run them."""

from __future__ import annotations

import numpy as np

import adjoint
from adjoint import Tensor
from adjoint.ir.dtype import ALL, DType, as_dtype, dtypes
from adjoint.ir.opdef import OPS, OpDef, Sample
from adjoint.ir.uop import UOp
from adjoint.tensor.tensor import lift

RECORDS = [r for r in OPS.values() if r.public]
TOLERANCE = {"float64": 1e-11, "float32": 2e-5, "float16": 1e-2, "bfloat16": 6e-2}
TOLERANCE |= {"complex64": 2e-5, "complex128": 1e-11}


def dtypes_of(record: OpDef) -> list[DType]:
    """The dtypes an op's samples are tried with."""
    return [d for d in ALL if d.kind in record.kinds]


def adapted(sample: Sample, dtype: DType) -> Sample:
    """The sample with its arrays cast to the dtype under test.

    Float arrays become that dtype; integer arrays do so only where there is no float array, since
    beside one they are indices.
    """
    arrays = [a for a in _leaves((sample.args, sample.kwargs)) if isinstance(a, np.ndarray)]
    floating = any(a.dtype.kind == "f" for a in arrays)
    cast = lambda a: _cast(a, dtype, floating)  # noqa: E731
    return Sample(_mapped(sample.args, cast), _mapped(sample.kwargs, cast), sample.smooth)


def _leaves(value):
    if isinstance(value, (tuple, list)):
        return [leaf for v in value for leaf in _leaves(v)]
    if isinstance(value, dict):
        return [leaf for v in value.values() for leaf in _leaves(v)]
    return [value]


def _mapped(value, fn):
    if isinstance(value, (tuple, list)):
        made = [_mapped(v, fn) for v in value]
        return made if isinstance(value, list) else tuple(made)  # P(...) is a tuple, too
    if isinstance(value, dict):
        return {k: _mapped(v, fn) for k, v in value.items()}
    return fn(value)


def _cast(value, dtype, floating):
    if isinstance(value, DType) and dtype.is_complex and not value.is_complex:
        return dtypes.complex128  # any other would drop imaginary parts
    if not isinstance(value, np.ndarray) or value.dtype.kind in "bc":
        return value
    if value.dtype == np.uint64 or (floating and value.dtype.kind != "f"):
        return value
    with np.errstate(all="ignore"):
        if dtype.is_inexact:
            return value.astype(dtype.np)
        whole = np.nan_to_num(value, nan=0, posinf=7, neginf=-7).clip(-100, 100)
        return np.asarray(np.abs(whole) if dtype.kind == "u" else whole).astype(dtype.np)


def to_tensors(value):
    """Arrays as tensors, wherever they are in the arguments."""
    return _mapped(value, lambda a: Tensor(a) if isinstance(a, np.ndarray) else a)


def call(record: OpDef, sample: Sample):
    """The op on tensors."""
    return lift(record, to_tensors(sample.args), to_tensors(sample.kwargs))


def expected(record: OpDef, sample: Sample, dtype: DType):
    """NumPy's answer: floats worked out in float64, all else in the dtype itself."""
    if dtype.is_float:
        widen = lambda a: a.astype(np.float64) if _is(a, dtype) else a  # noqa: E731
        sample = Sample(_mapped(sample.args, widen), _mapped(sample.kwargs, widen))
    with np.errstate(all="ignore"):
        return record.reference(*sample.args, **sample.kwargs)


def _is(a, dtype):
    return isinstance(a, np.ndarray) and a.dtype == dtype.np


def outputs(result) -> list:
    """One result or several, as a list."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


def expected_dtype(wanted, dtype: DType, sample: Sample) -> DType | str:
    """The dtype a result must have, or the kind of it where the op chooses the width."""
    named = [a for a in _leaves((sample.args, sample.kwargs)) if isinstance(a, DType)]
    kind = np.asarray(wanted).dtype.kind
    kind = "f" if kind == "V" else kind
    if named:
        return named[0]
    if kind == "b":
        return dtypes.bool_
    if kind == "f":
        return dtype if dtype.is_float else "f"
    if kind in "iu":  # a bool beside a Python int is the default integer, which NumPy's is not
        return "iu" if dtype.is_bool else as_dtype(np.asarray(wanted).dtype)
    return "c"


def check(got: Tensor, wanted, dtype: DType, sample: Sample, where: str) -> None:
    """Equal in shape, dtype and value."""
    assert isinstance(got, Tensor), f"{where}: {type(got)}"
    wanted = np.asarray(wanted)
    assert got.shape == wanted.shape, f"{where}: shape {got.shape}, NumPy's {wanted.shape}"
    rule = expected_dtype(wanted, dtype, sample)
    fits = got.dtype.kind in rule if isinstance(rule, str) else got.dtype is rule
    assert fits, f"{where}: dtype {got.dtype}, expected {rule}"
    value = got.numpy()
    if got.dtype.is_float:
        with np.errstate(all="ignore"):
            wanted = wanted.astype(got.dtype.np).astype(np.float64)
        value = value.astype(np.float64)
    tolerance = TOLERANCE.get(got.dtype.name, 0)
    np.testing.assert_allclose(value, wanted, tolerance, tolerance, err_msg=where)


__all__ = ["RECORDS", "UOp", "adapted", "adjoint", "call", "check", "dtypes_of", "expected"]
