"""Every op under vmap against a loop: with all operands batched, and with only the first."""

import numpy as np
import pytest

from adjoint import Tensor
from adjoint.batching import batch
from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS, Sample
from tests.ops.cases import RECORDS, adapted, call, outputs

SIZE = 3


def _leaves(value):
    if isinstance(value, (tuple, list)):
        return [leaf for v in value for leaf in _leaves(v)]
    return [value]


def _variables(sample):
    leaves = _leaves(sample.args) + _leaves(list(sample.kwargs.values()))
    return [a for a in leaves if isinstance(a, np.ndarray) and a.dtype.kind == "f"]


def _bound(sample, values):
    fresh = iter(values)

    def walk(value):
        if isinstance(value, (tuple, list)):
            return type(value)(walk(v) for v in value)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            return next(fresh)
        return value

    return Sample(walk(sample.args), {k: walk(v) for k, v in sample.kwargs.items()})


def _check(record, sample, which, where):
    arrays = _variables(sample)
    stacks = [np.stack([a * (1 - 0.05 * i) for i in range(SIZE)]) for a in arrays]
    symbols = [OPS["input"](f"x{i}", a.shape, "float64", "REF") for i, a in enumerate(arrays)]
    inputs = [Tensor(s if i in which else Tensor(arrays[i]).uop) for i, s in enumerate(symbols)]
    roots = [t.uop for t in outputs(call(record, _bound(sample, inputs)))]
    given = {symbols[i]: Tensor(stacks[i]).uop for i in which}
    for place, (root, batched) in enumerate(batch(roots, given, SIZE)):
        got = Tensor(root).numpy()
        for i in range(SIZE):
            point = [np.asarray(stacks[j][i]) if j in which else a for j, a in enumerate(arrays)]
            wanted = outputs(call(record, _bound(sample, point)))[place].numpy()
            one = got[i] if batched else got
            np.testing.assert_allclose(one, wanted, 1e-9, 1e-9, err_msg=f"{where}, element {i}")


@pytest.mark.parametrize("record", [pytest.param(r, id=r.name) for r in RECORDS if "f" in r.kinds])
def test_vmap_is_a_loop(record):
    for number, raw in enumerate(record.samples()):
        sample = adapted(raw, dtypes.float64)
        count = len(_variables(sample))
        for which in {tuple(range(count)), (0,)} if count else ():
            _check(record, sample, which, f"{record.name} sample {number} batched in {which}")
