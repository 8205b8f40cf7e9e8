"""Gradients on tensors: `requires_grad`, `.grad`, `.backward()`, `.gradient()`.

What may live here: which tensors want gradients and how they get them. What may not: derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Self

from adjoint.autodiff.reverse import compute_gradient
from adjoint.errors import ArgumentError, AutodiffError, ShapeError
from adjoint.ir.derivative import Stop
from adjoint.ir.mesh import Sharding
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, toposort
from adjoint.tensor.layouts import conformed
from adjoint.tensor.marked import has_own_node, is_marked, mark, versions, wanting
from adjoint.tensor.tracing import open_scopes, touch_gradient
from adjoint.tensor.views import put_back

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
    from adjoint.tensor.types import Operand


class Gradients:
    """Mixed into Tensor."""

    __slots__ = ()
    if TYPE_CHECKING:
        _requires_grad: bool | None
        _grad: Tensor | None
        uop: UOp

    @property
    def grad(self) -> Tensor | None:
        """What `.backward()` has added up, or None."""
        if open_scopes.get():
            touch_gradient(self, read=True)
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if open_scopes.get():
            touch_gradient(self, read=False)
        self._grad = value  # type: ignore[misc]  # a slot of Tensor

    @property
    def requires_grad(self) -> bool | None:
        """True: gradients are needed; False: never; None: until an optimizer requests them."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self: Any, value: bool | None) -> None:
        if value not in (True, False, None):
            raise ArgumentError("E2001", f"requires_grad is True, False or None, not {value!r}")
        if value and not is_marked(self):
            _check_float("requires_grad", self.uop)
            if not has_own_node(self):
                put_back(self, OPS["unique_identity"](self.uop))
            mark(self)
        self._requires_grad = value

    def requires_grad_(self, requires_grad: bool | None = True) -> Self:
        """Set `requires_grad`, and return the tensor."""
        self.requires_grad = requires_grad
        return self

    def backward(self: Any, gradient: Operand | None = None) -> Tensor:
        """Add the gradient of this scalar to `.grad` of every tensor that requires it."""
        seed = _seed(self, gradient)
        targets = [t for t in wanting.all() if t._requires_grad]
        grads = _gradients(self.uop, seed, targets)
        if not any(g is not None for g in grads) and not _any_below(self.uop, targets):
            problem = "no tensor below this one requires a gradient"
            fix = "make parameters with requires_grad=True; .detach() and .assign() end a history"
            operands = [("root", self)]
            raise AutodiffError("E5005", problem, op="backward", operands=operands, help=fix)
        for tensor, found in zip(targets, grads, strict=True):
            if found is not None:
                new = type(tensor)(found).requires_grad_(False)
                tensor.grad = new if tensor.grad is None else tensor.grad + new
        return self

    def gradient(self: Any, *targets: Tensor, gradient: Operand | None = None) -> list[Tensor]:
        """The gradients of this scalar with respect to targets; zeros where no path leads."""
        for target in targets:
            _check_float("gradient", target.uop)
        grads = _gradients(self.uop, _seed(self, gradient), targets)
        pairs = zip(grads, targets, strict=True)
        return [t.zeros_like() if g is None else type(self)(g) for g, t in pairs]


def _gradients(root: UOp, seed: UOp, tensors: Sequence[Any]) -> list[UOp | None]:
    """The gradient of each tensor, None where no path leads: at the node that was used, which may
    be one that the tensor had before an assignment."""
    nodes = [versions(t) for t in tensors]
    grads = compute_gradient(root, seed, {n for own in nodes for n in own})
    return [_total(root, seed, [n for n in own if n in grads], grads) for own in nodes]


def _total(root: UOp, seed: UOp, reached: list[UOp], grads: dict[UOp, UOp]) -> UOp | None:
    """If several nodes of one tensor are on a path from the root, the path belongs to the first."""
    if len(reached) > 1:
        grads = compute_gradient(root, seed, reached, reached)
    found = [grads[n] for n in reached if n in grads]
    total = reduce(lambda a, b: a + b, found) if found else None
    if total is None or (type(total.device) is not Sharding and type(root.device) is not Sharding):
        return total
    return conformed(total, reached[0])


def _any_below(root: UOp, tensors: list[Any]) -> bool:
    """Whether one of them is in the root's history, though no gradient comes to it."""
    below = set(toposort([root], stop=lambda n: isinstance(n.op.ad, Stop)))
    return any(node in below for t in tensors for node in versions(t))


def _seed(root: Any, gradient: Any) -> UOp:
    """The cotangent of the root: the given one, or 1 for a scalar."""
    node, operands = root.uop, [("root", root)]
    _check_float("backward", node)
    if gradient is None:
        if node.shape != ():
            problem = f"the root has {node.size} elements; only a scalar has one gradient"
            fix = "reduce it first (.sum(), .mean()), or pass gradient= of the root's shape"
            raise AutodiffError("E5004", problem, op="backward", operands=operands, help=fix)
        if node.dtype.is_complex:
            problem = f"the root is {node.dtype.name}; a gradient is of a real number"
            fix = "take .real(), .imag() or .abs() first, or pass gradient="
            raise AutodiffError("E5005", problem, op="backward", operands=operands, help=fix)
        return OPS["const"](1, node.dtype, (), node.device)
    given = gradient.uop if hasattr(gradient, "uop") else type(root)(gradient, root.device).uop
    if given.shape != node.shape:
        operands.append(("gradient", given))
        raise ShapeError("E3003", "shapes differ", op="backward", operands=operands)
    return given.cast(node.dtype)


def _check_float(op: str, node: UOp) -> None:
    if not node.dtype.is_inexact:
        problem = f"a gradient needs a float dtype, not {node.dtype.name}"
        fix = ".cast('float32') first"
        raise AutodiffError("E5005", problem, op=op, operands=[("x", node)], help=fix)
