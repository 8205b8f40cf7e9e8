"""Every op on a mesh, from its record: samples with arguments laid out in every way.

What may live here: layouts of samples, and running them. What may not: any one op.
"""

from __future__ import annotations

from random import Random

import numpy as np

from adjoint import Tensor
from adjoint.ir.dtype import dtypes
from adjoint.ir.mesh import Mesh, P
from adjoint.tensor.tensor import lift
from tests.ops.cases import RECORDS, _mapped, adapted, outputs

LINE = {n: Mesh(n, "d", [f"REF:{i}" for i in range(n)]) for n in (1, 2, 3, 4, 8)}
GRID = Mesh((2, 2), ("a", "b"), [f"REF:{i}" for i in range(4)])
HERE = "REF"
OUT = {"shard", "copy", "assign", "unique_identity", "random_bits", "threefry"}


def samples(record):
    """The samples of an op in a dtype that it takes."""
    kinds = [k for k in "fiubc" if k in record.kinds]
    names = {"f": "float64", "i": "int64", "u": "uint64", "b": "bool", "c": "complex128"}
    kind = getattr(dtypes, names[kinds[0]] if names[kinds[0]] != "bool" else "bool_")
    return [(i, adapted(s, kind)) for i, s in enumerate(record.samples())]


def arrays(sample) -> list:
    """The arrays among the arguments."""
    found: list = []
    _mapped((sample.args, sample.kwargs), lambda a: found.append(a) or a)
    return [a for a in found if isinstance(a, np.ndarray)]


def layouts(sample, meshes=None):
    """(mesh, what each array is split along): one array along each dimension in turn, then all of
    them; on two axes, each dimension along both and neighbours along one each."""
    given = arrays(sample)
    whole = [P()] * len(given)
    for mesh in meshes or (LINE[2], LINE[3], GRID):
        for number, array in enumerate(given):
            for d in range(array.ndim):
                front = (None,) * d
                names = mesh.names
                specs = [P(*front, names[0])]
                if len(names) > 1:
                    specs = [P(*front, names)]
                    if d + 1 < array.ndim:
                        specs.append(P(*front, *names))
                for spec in specs:
                    yield mesh, [*whole[:number], spec, *whole[number + 1 :]]
        if sum(a.ndim > 0 for a in given) > 1:
            yield mesh, [P(mesh.names[0]) if a.ndim else P() for a in given]
            if len(mesh.names) > 1:
                turn = [P(mesh.names[i % 2]) if a.ndim else P() for i, a in enumerate(given)]
                yield mesh, turn
        random = Random(len(given) * 100 + sum(a.size for a in given))
        for _ in range(2 if given else 0):
            yield mesh, [_drawn(a, mesh, random) for a in given]


def _drawn(array, mesh, random):
    """Each axis of the mesh along one of the dimensions, or along none."""
    dims = [[] for _ in array.shape]
    for axis in random.sample(mesh.names, len(mesh.names)):
        place = random.randrange(-1, len(dims))
        if place >= 0:
            dims[place].append(axis)
    return P(*map(tuple, dims))


def laid(sample, mesh=None, specs=()):
    """The arguments as tensors, on a mesh if one is given."""
    rest = iter(specs)

    def one(a):
        if not isinstance(a, np.ndarray):
            return a
        tensor = Tensor(a, device=HERE)
        return tensor if mesh is None else tensor.shard(mesh, next(rest))

    return _mapped(sample.args, one), _mapped(sample.kwargs, one)


def run(record, sample, mesh=None, specs=()) -> list:
    """The results as arrays."""
    args, kwargs = laid(sample, mesh, specs)
    found = [t for t in outputs(lift(record, args, kwargs)) if isinstance(t, Tensor)]
    return [t.numpy() for t in found]


def near(got, wanted, tolerance=1e-11):
    """Equal shapes and values, NaNs among them."""
    assert len(got) == len(wanted)
    for a, b in zip(got, wanted, strict=True):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        with np.errstate(all="ignore"):
            if a.dtype.kind in "fcV":
                np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
            else:
                np.testing.assert_array_equal(a, b)


EVERY = [r for r in RECORDS if r.name not in OUT]
