"""The records under transforms and at the ends of their range, for two devices to compute.

vmap of every op and of every gradient, second derivatives in two orders, and zeros of both signs,
infinities, NaN, subnormal and the largest numbers through every function of elements and along
rows. What may live here: what is computed. What may not: comparing (agreement.py).
"""

import numpy as np

from adjoint import Tensor, dtypes, grad, jvp, vmap
from adjoint.batching import batch
from adjoint.ir.kernel_kind import Pointwise
from adjoint.ir.opdef import OPS
from tests.ops.batches import SIZE, bound, dtype_of, stacked, variables
from tests.ops.cases import RECORDS, adapted, call, outputs
from tests.ops.coverage import reason_for
from tests.ops.points import dot, points
from tests.support.devices import together

FLOATS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
ENDS = [np.nan, -0.0, 0.0, np.inf, -np.inf, 1.5, -1.5, 0.5, 1, 2, -3, 7e4, -7e4, 1e-5, 88.5, -104]
FURTHER = {"float16": (6e-8, 65504.0), "bfloat16": (9e-41, 3.3e38), "float32": (1e-45, 3.4e38)}
FURTHER |= {"float64": (5e-324, 1.7e308)}
ROWS = {
    "sum": lambda x: x.sum(-1),
    "product": lambda x: x.prod(-1),
    "largest": lambda x: [x.max(-1), x.min(-1)],
    "where the largest is": lambda x: [x.argmax(-1), x.argmin(-1)],
    "softmax": lambda x: [x.softmax(-1), x.log_softmax(-1), x.logsumexp(-1)],
    "variance": lambda x: [x.var(-1), x.mean(-1), x.layernorm(-1)],
    "running": lambda x: [x.cumsum(-1), x.cumprod(-1), x.cummax(-1)[0]],
    "in order": lambda x: [*x.sort(-1), *x.topk(5, -1)],
    "truth": lambda x: [(x != 0).any(-1), (x == x).all(-1), x.isnan().sum(-1)],
    "columns": lambda x: [x.sum(0), x.max(0), x.cumsum(0)],
    "casts": lambda x: [x.cast(d) for d in ("int32", "uint8", "bool", "float64", "bfloat16")],
    "8-bit floats": lambda x: [x.cast(d).cast("float32") for d in ("float8_e4m3fn", "float8_e5m2")],
}


def vmapped(record):
    """Every sample under vmap: all operands batched, and the first alone."""
    found, dtype = {}, dtype_of(record)
    for number, raw in enumerate(record.samples()):
        sample = adapted(raw, dtype)
        arrays = variables(sample, dtype)
        for which in dict.fromkeys([tuple(range(len(arrays))), (0,)]) if arrays else ():
            for place, root in enumerate(_batched(record, sample, which)):
                found[f"sample {number} in {which}, result {place}"] = root
    return together(found)


def _batched(record, sample, which):
    dtype = dtype_of(record)
    arrays = [Tensor(a) for a in variables(sample, dtype)]
    symbols = [OPS["input"](f"x{i}", a.shape, a.dtype, a.device) for i, a in enumerate(arrays)]
    inputs = [Tensor(s) if i in which else arrays[i] for i, s in enumerate(symbols)]
    roots = [t.uop for t in outputs(call(record, bound(sample, inputs, dtype)))]
    stacks = [stacked(a) for a in variables(sample, dtype)]
    given = {symbols[i]: Tensor(stacks[i]).uop for i in which}
    return [Tensor(root) for root, _ in batch(roots, given, SIZE)]


def vmapped_gradients(record):
    """The gradient at every smooth sample under vmap."""
    found = {}
    for where, point in points(record):
        stacks = [Tensor(np.stack([a * (1 - 0.05 * i) for i in range(SIZE)])) for a in point.arrays]
        for place, result in enumerate(vmap(grad(point.at, point.argnums))(*stacks)):
            found[f"{where}, argument {place}"] = result
    return together(found)


def second(record):
    """Second derivatives at every smooth sample: reverse over reverse, forward over reverse."""
    found = {}
    for where, point in points(record):
        s, t = ([Tensor(d) for d in point.direction(seed)] for seed in (1, 2))
        gradient = grad(point.at, point.argnums)

        def pulled(*x, gradient=gradient, s=s):
            return dot(gradient(*x), s)

        for place, result in enumerate(grad(pulled, point.argnums)(*point.tensors)):
            found[f"{where}, argument {place}"] = result
        found[f"{where}, along t"] = jvp(pulled, point.tensors, t)[1]
    return together(found)


def ends(dtype):
    """Numbers at the ends of a dtype's range."""
    few, large = FURTHER[dtype.name]
    with np.errstate(all="ignore"):
        return np.array([*ENDS, few, -few, large, -large], dtype.np)


def at_the_ends(record, dtype):
    """A function of elements on all pairs of such numbers, or on as many as it has operands."""
    count, one = len(record.samples()[0].args), ends(dtype)
    grids = np.meshgrid(*[one] * count) if count < 3 else [np.roll(one, i) for i in range(count)]
    given = [Tensor(np.ascontiguousarray(g.ravel())) for g in grids]
    return together({"result": Tensor(record(*[t.uop for t in given]))})


def rows_at_the_ends(fn, dtype):
    """A function of rows that hold such numbers, at each place of a row once."""
    one = ends(dtype)
    finite = one[np.isfinite(one.astype(np.float64))]
    lines = [np.roll(a, i) for a in (np.resize(one, 40), np.resize(finite, 40)) for i in range(9)]
    both = [] if fn is ROWS["largest"] else [[0.0, -0.0]]  # whose sign IEEE 754 leaves open
    lines += [np.resize(np.array(z, dtype.np), 40) for z in (*both, [0.0], [-0.0], [np.nan])]
    found = fn(Tensor(np.stack(lines)))
    tensors = found if isinstance(found, (list, tuple)) else [found]
    return together(dict(enumerate(tensors)))


def _pointwise(record):
    """Whether all operands of a record's calls are elements of floats."""
    if type(record.kernel) is not Pointwise or "f" not in record.kinds:
        return False
    first = record.samples()[0]
    return not first.kwargs and all(
        isinstance(a, np.ndarray) and a.dtype.kind == "f" for a in first.args
    )


def cases():
    """Names with a function and its arguments."""
    for record in RECORDS:
        if reason_for(record.name, "vmap") is None:
            yield f"vmap {record.name}", vmapped, (record,)
        if reason_for(record.name, "vmap of grad") is None:
            yield f"vmap of grad {record.name}", vmapped_gradients, (record,)
        if reason_for(record.name, "second order") is None:
            yield f"second order {record.name}", second, (record,)
        if _pointwise(record):
            for dtype in FLOATS:
                yield f"ends {record.name}-{dtype.short}", at_the_ends, (record, dtype)
    for name, fn in ROWS.items():
        for dtype in FLOATS:
            yield f"ends of rows, {name}-{dtype.short}", rows_at_the_ends, (fn, dtype)
