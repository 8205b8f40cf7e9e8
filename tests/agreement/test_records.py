"""Every op of the records on CPU against REF: values, gradients, tangents, and errors at run time.

All samples of a record and dtype are one graph, realized at once. Integers and truth values are
equal; a float differs by few units in the last place: relative to itself where an element depends
on one element of each operand, relative to the largest of its array where things are summed.
"""

import numpy as np
import pytest

import adjoint
from tests.agreement.records import (
    DERIVATIVES_IN_TURNS,
    LATE,
    VALUES_IN_TURNS,
    gradients,
    values,
)
from tests.ops.cases import call, outputs
from tests.support.devices import SUMMED, on, same, together


def both(make, *args):
    """What is made on REF and on CPU."""
    found = []
    for device in ("REF", "CPU"):
        with on(device), np.errstate(all="ignore"):
            found.append(make(*args))
    assert list(found[0]) == list(found[1])
    return found


@pytest.mark.parametrize(("record", "dtype"), VALUES_IN_TURNS)
def test_values_are_those_of_the_reference(record, dtype):
    ref, cpu = both(values, record, dtype)
    for name, wanted in ref.items():
        same(wanted, cpu[name], f"{record.name} as {dtype}, {name}", summed=record.level != "both")


@pytest.mark.parametrize(("record", "dtype"), DERIVATIVES_IN_TURNS)
def test_derivatives_are_those_of_the_reference(record, dtype):
    ref, cpu = both(gradients, record, dtype)
    for name, wanted in ref.items():
        same(wanted, cpu[name], f"{record.name} as {dtype}, {name}", SUMMED)


@pytest.mark.parametrize(("record", "bad"), LATE)
def test_an_index_out_of_range_is_an_error_when_it_runs(record, bad):
    with on("CPU"), pytest.raises(adjoint.AdjointError) as caught:
        together(dict(enumerate(outputs(call(record, bad)))))
    assert caught.value.code == bad.code
    assert bad.match in str(caught.value)
