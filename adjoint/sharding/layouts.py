"""The sharding of one node, as partitioning assigns it.

What may live here: the query. What may not: the rules.
"""

from __future__ import annotations

from adjoint.ir.expand import expand
from adjoint.ir.function import UniqueName
from adjoint.ir.kernel_kind import PARAMETER, Identity
from adjoint.ir.mesh import Mesh, Sharding
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, toposort
from adjoint.ir.values import is_known
from adjoint.sharding.order import current_order
from adjoint.sharding.partition import Partition, kept_whole
from adjoint.sharding.propagate import is_leaf, leaf_sharding

_SHARD = OPS["shard"]


def sharding_of(root: UOp) -> Sharding | None:
    """The sharding of a value on its mesh, now or once it is computed; None if it is on no mesh.
    Pending sums are still to be joined: a computed value has nothing pending.
    """
    if not isinstance(root.device, Sharding):
        return None
    mesh = root.device.mesh
    (node,) = expand([root], kept_whole)
    order = toposort([node], stop=lambda n: is_leaf(n) or _is_elsewhere(n, mesh))
    leaves = [n for n in order if _is_given(n) or _is_elsewhere(n, mesh)]
    parameters = {leaf: _part_of(leaf, mesh) for leaf in leaves}
    partition = Partition(mesh, current_order(), parameters)
    partition.plan([node])
    found = partition.layouts[node]
    return _at_its_stage(root, found) if mesh.stages else found


def _at_its_stage(root: UOp, layout: Sharding) -> Sharding:
    """A sharding with the stage, or the turns, of the value that a node is another name of."""
    while type(root.op.kernel) is Identity and root.op is not _SHARD and not is_known(root):
        root = root.src[root.op.kernel.operand]
    known = root.arg.sharding if root.op is _SHARD else leaf_sharding(root, layout.mesh)
    if root.op is not _SHARD and not is_leaf(root):
        return layout
    return Sharding(layout.mesh, layout.dims, layout.pending, known.stage, known.turns)


def _is_given(node: UOp) -> bool:
    return is_known(node) or node.op.kernel is PARAMETER


def _is_elsewhere(node: UOp, mesh: Mesh) -> bool:
    """Whether a node is computed on another mesh: a SHARD brings its value here."""
    return isinstance(node.device, Sharding) and node.device.mesh != mesh


def _part_of(leaf: UOp, mesh: Mesh) -> UOp:
    shape = leaf_sharding(leaf, mesh).local(leaf.shape)
    made: UOp = OPS["input"].call(UniqueName("part"), shape, leaf.dtype)
    return made
