"""Every op under vmap against a loop: with all operands batched, and with only the first."""

import numpy as np
import pytest

from adjoint import Tensor, dtypes
from adjoint.batching import batch
from adjoint.ir.opdef import OPS, Sample
from tests.ops.cases import adapted, call, outputs
from tests.ops.coverage import reason_for
from tests.ops.points import EVERY

SIZE = 3
# What an op's arrays are batched as: the first of these that it takes.
KINDS = {"f": dtypes.float64, "c": dtypes.complex128, "i": dtypes.int64, "u": dtypes.uint64}
KINDS |= {"b": dtypes.bool_}


def _dtype(record):
    return next(dtype for kind, dtype in KINDS.items() if kind in record.kinds)


def _leaves(value):
    if isinstance(value, (tuple, list)):
        return [leaf for v in value for leaf in _leaves(v)]
    return [value]


def _varies(value, dtype):
    return isinstance(value, np.ndarray) and value.dtype.kind == dtype.kind


def _variables(sample, dtype):
    leaves = _leaves(sample.args) + _leaves(list(sample.kwargs.values()))
    return [a for a in leaves if _varies(a, dtype)]


def _bound(sample, values, dtype):
    fresh = iter(values)

    def walk(value):
        if isinstance(value, (tuple, list)):
            return type(value)(walk(v) for v in value)
        return next(fresh) if _varies(value, dtype) else value

    return Sample(walk(sample.args), {k: walk(v) for k, v in sample.kwargs.items()})


def _stack(array):
    """Examples that differ but stay where the op is defined."""
    if array.dtype.kind in "fc":
        with np.errstate(invalid="ignore"):  # a complex infinity times a number
            return np.stack([array * (1 - 0.05 * i) for i in range(SIZE)])
    return np.stack([np.roll(array.ravel(), i).reshape(array.shape) for i in range(SIZE)])


def _check(record, sample, which, where):
    dtype = _dtype(record)
    arrays = _variables(sample, dtype)
    stacks = [_stack(a) for a in arrays]
    symbols = [
        OPS["input"](f"x{i}", a.shape, Tensor(a).dtype, Tensor(a).device)
        for i, a in enumerate(arrays)
    ]
    inputs = [Tensor(s if i in which else Tensor(arrays[i]).uop) for i, s in enumerate(symbols)]
    roots = [t.uop for t in outputs(call(record, _bound(sample, inputs, dtype)))]
    given = {symbols[i]: Tensor(stacks[i]).uop for i in which}
    for place, (root, batched) in enumerate(batch(roots, given, SIZE)):
        got = Tensor(root).numpy()
        for i in range(SIZE):
            point = [np.asarray(stacks[j][i]) if j in which else a for j, a in enumerate(arrays)]
            wanted = outputs(call(record, _bound(sample, point, dtype)))[place].numpy()
            one = got[i] if batched else got
            np.testing.assert_allclose(one, wanted, 1e-9, 1e-9, err_msg=f"{where}, element {i}")


@pytest.mark.parametrize("record", EVERY)
def test_vmap_is_a_loop(record):
    checked = 0
    for number, raw in enumerate(record.samples()):
        sample = adapted(raw, _dtype(record))
        count = len(_variables(sample, _dtype(record)))
        for which in dict.fromkeys([tuple(range(count)), (0,)]) if count else ():
            _check(record, sample, which, f"{record.name} sample {number} batched in {which}")
            checked += 1
    assert bool(checked) is (reason_for(record.name, "vmap") is None), checked
