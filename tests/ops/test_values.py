"""Every op, sample and dtype against NumPy: values, dtypes, shapes; and every error sample."""

import numpy as np
import pytest

import adjoint
from adjoint import dtypes
from tests.ops.cases import (
    RECORDS,
    adapted,
    call,
    check,
    dtypes_of,
    expected,
    outputs,
)

CASES = [pytest.param(r, d, id=f"{r.name}-{d.short}") for r in RECORDS for d in dtypes_of(r)]
ERRORS = [
    pytest.param(r, bad, id=f"{r.name}-{i}-{bad.code}")
    for r in RECORDS
    for i, bad in enumerate(r.bad_calls())
]
DTYPE_NAMES = ["dtype", *(n for d in dtypes.fields().values() for n in (d.name, d.short))]
PYTHONS = (ValueError, TypeError, IndexError, RuntimeError, ArithmeticError)


@pytest.mark.parametrize(("record", "dtype"), CASES)
def test_value_dtype_and_shape_are_numpys(record, dtype):
    for number, raw in enumerate(record.samples()):
        sample = adapted(raw, dtype)
        where = f"{record.name} sample {number} as {dtype}"
        got, wanted = outputs(call(record, sample)), outputs(expected(record, sample, dtype))
        assert len(got) == len(wanted), where
        for g, w in zip(got, wanted, strict=True):
            check(g, w, dtype, sample, where)


@pytest.mark.parametrize(("record", "bad"), ERRORS)
def test_error_has_its_code_and_names_the_problem(record, bad):
    with pytest.raises(adjoint.AdjointError) as caught:
        _computed(record, bad)
    assert caught.value.code == bad.code
    assert isinstance(caught.value, PYTHONS)
    assert bad.match in str(caught.value)
    if isinstance(caught.value, adjoint.DTypeError):
        assert any(name in str(caught.value) for name in DTYPE_NAMES)


def _computed(record, bad):
    return [result.realize() for result in outputs(call(record, bad))]


def test_every_record_has_samples_a_reference_and_a_derivative_declaration():
    for record in RECORDS:
        assert list(record.samples()), record.name
        assert callable(record.reference), record.name
        assert record.ad is not None, record.name
        assert record.doc.strip(), record.name


def test_reference_results_are_arrays():
    with np.errstate(all="ignore"):
        for record in RECORDS:
            sample = next(iter(record.samples()))
            assert record.reference(*sample.args, **sample.kwargs) is not None
