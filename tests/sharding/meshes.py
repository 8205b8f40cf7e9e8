"""Meshes of simulated devices, and what a graph on one says to its members."""

from __future__ import annotations

import numpy as np

from adjoint import Mesh, P, Tensor
from adjoint.engine.sharded import local_graph
from adjoint.ir.uop import toposort
from adjoint.ir.values import is_known


def line(n, name="d", kind="REF"):
    """A mesh of one axis."""
    return Mesh(n, name, [f"{kind}:{i}" for i in range(n)])


def grid(a, b, names=("dp", "tp"), kind="REF"):
    """A mesh of two."""
    return Mesh((a, b), names, [f"{kind}:{i}" for i in range(a * b)])


def values(*shape, seed=0, dtype=np.float32):
    """Numbers that differ."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def on(mesh, array, *spec):
    """An array on a mesh, split along what is named for each dimension."""
    return Tensor(array, device=mesh.devices[0]).shard(mesh, P(*spec)).realize()


def collectives(*tensors, order="fixed"):
    """The names of the collectives that computing the tensors together takes."""
    roots = [t.uop for t in tensors]
    leaves = [n for n in toposort(roots, stop=is_known) if is_known(n)]
    mesh = next(n.device.mesh for n in roots)
    return [n.op.name for n in local_graph(roots, leaves, mesh, order).collectives]
