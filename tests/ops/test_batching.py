"""Every op under vmap against a loop: with all operands batched, and with only the first."""

import numpy as np
import pytest

from adjoint import Tensor
from adjoint.batching import batch
from adjoint.ir.opdef import OPS
from tests.ops.batches import SIZE, bound, dtype_of, stacked, variables
from tests.ops.cases import adapted, call, outputs
from tests.ops.coverage import reason_for
from tests.ops.points import EVERY


def _check(record, sample, which, where):
    dtype = dtype_of(record)
    arrays = variables(sample, dtype)
    stacks = [stacked(a) for a in arrays]
    symbols = [
        OPS["input"](f"x{i}", a.shape, Tensor(a).dtype, Tensor(a).device)
        for i, a in enumerate(arrays)
    ]
    inputs = [Tensor(s if i in which else Tensor(arrays[i]).uop) for i, s in enumerate(symbols)]
    roots = [t.uop for t in outputs(call(record, bound(sample, inputs, dtype)))]
    given = {symbols[i]: Tensor(stacks[i]).uop for i in which}
    for place, (root, batched) in enumerate(batch(roots, given, SIZE)):
        got = Tensor(root).numpy()
        for i in range(SIZE):
            point = [np.asarray(stacks[j][i]) if j in which else a for j, a in enumerate(arrays)]
            wanted = outputs(call(record, bound(sample, point, dtype)))[place].numpy()
            one = got[i] if batched else got
            np.testing.assert_allclose(one, wanted, 1e-9, 1e-9, err_msg=f"{where}, element {i}")


@pytest.mark.parametrize("record", EVERY)
def test_vmap_is_a_loop(record):
    checked = 0
    for number, raw in enumerate(record.samples()):
        sample = adapted(raw, dtype_of(record))
        count = len(variables(sample, dtype_of(record)))
        for which in dict.fromkeys([tuple(range(count)), (0,)]) if count else ():
            _check(record, sample, which, f"{record.name} sample {number} batched in {which}")
            checked += 1
    assert bool(checked) is (reason_for(record.name, "vmap") is None), checked
