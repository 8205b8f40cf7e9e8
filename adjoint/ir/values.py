"""Facts at which every walk over a graph stops: whether a node has a value, which, and what the
graph's variables are bound to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from adjoint.ir import sizes
from adjoint.ir.arg import Varying
from adjoint.ir.kernel_kind import CONSTANT, STORED, Pointwise, View
from adjoint.ir.mesh import Mesh, Sharding
from adjoint.ir.uop import UOp, toposort

_FEW = 16  # nodes that are computed sooner than their value is read


def is_known(node: UOp) -> bool:
    """Whether the node's value exists already."""
    return node.realized is not None or node.op.kernel is STORED


def storage(node: UOp) -> Any:
    """The `Buffer` of a node whose value exists."""
    return node.arg.buffer if node.op.kernel is STORED else node.realized


def is_constant(node: UOp) -> bool:
    """Whether a node consists of a few views and arithmetic ops on constants alone: computing it in
    a kernel costs less than reading its value.
    """
    stack, left = [node], _FEW
    while stack:
        node = stack.pop()
        kernel = node.op.kernel
        if sizes.living and (sizes.varies(*node.shape) or isinstance(node.arg, Varying)):
            return False
        if kernel is not CONSTANT:
            left -= 1
            if type(kernel) not in (View, Pointwise) or node.realized is not None or not left:
                return False
            stack += node.src
    return True


def known_value(node: UOp) -> Any:
    """The array of a node whose value exists."""
    return storage(node).array()


def mesh_among(nodes: Iterable[UOp]) -> Mesh | None:
    """The mesh that some of the nodes are on, or have values on."""
    for node in nodes:
        place = storage(node).device if is_known(node) else node.device
        if type(place) is Sharding:
            return place.mesh
    return None


# ---- variables


def bindings_of(roots: Iterable[UOp]) -> dict[str, int]:
    """The value of every variable in the uncomputed part of the graph; each has one, or E3003."""
    return sizes.merged(_sizes(roots)) if sizes.living else {}


def _sizes(roots: Iterable[UOp]) -> Iterator[sizes.Size]:
    for node in toposort(roots, stop=is_known):
        if isinstance(node.arg, Varying) and not is_known(node):
            yield from sizes.sizes_in(node.arg)


def is_size(node: UOp) -> bool:
    """Whether the node is a constant that varies: a size."""
    return node.op.kernel is CONSTANT and sizes.varies(node.arg.value)


def by_name(given: Any) -> dict[str, int]:
    """Bindings as a user gives them: by name, or by variable."""
    return {str(getattr(key, "name", key)): int(value) for key, value in dict(given).items()}
