"""Ops that round nothing give REF's bits at zeros of both signs, infinities, NaN and the ends."""

import numpy as np
import pytest

from adjoint import Tensor
from adjoint.ir.kernel_kind import Pointwise
from adjoint.ir.opdef import OPS, is_shipped

ENDS = [np.nan, -0.0, 0.0, np.inf, -np.inf, 1.5, -1.5, 1e-45, -1e-45, 3.4e38, -3.4e38, 0.5, 1, 2]
ONE = np.array(ENDS, np.float32)
TWO = [np.ascontiguousarray(x.ravel()) for x in np.meshgrid(ONE, ONE)]
EXACT = [
    "relu",
    "neg",
    "abs",
    "sign",
    "floor",
    "ceil",
    "trunc",
    "round",
    "maximum",
    "minimum",
    "add",
    "sub",
    "mul",
    "true_div",
    "sqrt",
]


def bits(name, device, arrays):
    found = Tensor(OPS[name](*[Tensor(a, device=device).uop for a in arrays])).numpy()
    return np.where(np.isnan(found), np.float32(np.nan), found).tobytes()


@pytest.mark.parametrize("name", EXACT)
def test_an_exact_op_has_one_answer_at_the_ends(name):
    assert type(OPS[name].kernel) is Pointwise
    assert is_shipped(OPS[name])
    binary = name in ("maximum", "minimum", "add", "sub", "mul", "true_div")
    arrays = TWO if binary else [ONE]
    with np.errstate(all="ignore"):
        assert bits(name, "REF", arrays) == bits(name, "CPU", arrays)
