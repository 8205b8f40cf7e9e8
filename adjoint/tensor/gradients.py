"""Gradients on tensors: `requires_grad`, `.grad`, `.backward()`, `.gradient()`.

What may live here: who wants a gradient, and how it is handed over. What may not: derivatives.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Self

from adjoint.autodiff.reverse import compute_gradient
from adjoint.errors import AutodiffError, DTypeError, ShapeError
from adjoint.ir.derivative import Stop
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, toposort
from adjoint.tensor.tracing import open_scopes, touch_gradient

# Tensors that somebody marked with requires_grad=True, by id: backward() fills their .grad.
_wanting: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
_OWN = ("buffer", "unique_identity")  # nodes that belong to one tensor alone


class Gradients:
    """Mixed into Tensor."""

    __slots__ = ()
    if TYPE_CHECKING:
        _requires_grad: Any
        _grad: Any
        uop: Any

    @property
    def grad(self) -> Any:
        """What `.backward()` has added up, or None."""
        if open_scopes.get():
            touch_gradient(self, read=True)
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if open_scopes.get():
            touch_gradient(self, read=False)
        self._grad = value

    @property
    def requires_grad(self) -> bool | None:
        """True: gradients are wanted; False: never; None: until an optimizer asks."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self: Any, value: bool | None) -> None:
        if value not in (True, False, None):
            raise DTypeError("E2001", f"requires_grad is True, False or None, not {value!r}")
        if value and not is_marked(self):
            _check_float("requires_grad", self.uop)
            if not has_own_node(self):
                self.uop = OPS["unique_identity"](self.uop)
            _wanting[id(self)] = self
        self._requires_grad = value

    def requires_grad_(self, requires_grad: bool | None = True) -> Self:
        """Set `requires_grad`, and return the tensor."""
        self.requires_grad = requires_grad
        return self

    def backward(self: Any, gradient: Any = None) -> Any:
        """Add the gradient of this scalar to `.grad` of every tensor that requires it."""
        seed = _seed(self, gradient)
        wanting = [t for t in _wanting.values() if t._requires_grad]
        grads = compute_gradient(self.uop, seed, {t.uop for t in wanting})
        reached = [t for t in wanting if t.uop in grads]
        if not reached and not _any_below(self.uop, wanting):
            problem = "no tensor below this one requires a gradient"
            fix = "make parameters with requires_grad=True; .detach() and .assign() end a history"
            raise AutodiffError(
                "E5005", problem, op="backward", operands=[("root", self)], help=fix
            )
        for tensor in reached:
            new = type(tensor)(grads[tensor.uop]).requires_grad_(False)
            tensor.grad = new if tensor.grad is None else tensor.grad + new
        return self

    def gradient(self: Any, *targets: Any, gradient: Any = None) -> list[Any]:
        """The gradients of this scalar with respect to targets; zeros where no path leads."""
        for target in targets:
            _check_float("gradient", target.uop)
        grads = compute_gradient(self.uop, _seed(self, gradient), {t.uop for t in targets})
        return [type(self)(grads[t.uop]) if t.uop in grads else t.zeros_like() for t in targets]


def is_marked(tensor: Any) -> bool:
    """Whether somebody has ever asked for gradients of this tensor."""
    return id(tensor) in _wanting


def has_own_node(tensor: Any) -> bool:
    """Whether its node belongs to it alone, so that a gradient of the node is its gradient."""
    return tensor.uop.op.name in _OWN


def _any_below(root: UOp, tensors: list[Any]) -> bool:
    """Whether one of them is in the root's history, though no gradient comes to it."""
    below = set(toposort([root], stop=lambda n: isinstance(n.op.ad, Stop)))
    return any(t.uop in below for t in tensors)


def _seed(root: Any, gradient: Any) -> UOp:
    """The cotangent of the root: what is given, or 1 for a scalar."""
    node = root.uop
    _check_float("backward", node)
    if gradient is None:
        if node.shape != ():
            problem = f"the root has {node.size} elements; only a scalar has one gradient"
            fix = "reduce it first (.sum(), .mean()), or pass gradient= of the root's shape"
            raise AutodiffError(
                "E5004", problem, op="backward", operands=[("root", root)], help=fix
            )
        if node.dtype.is_complex:
            problem = f"the root is {node.dtype.name}; a gradient is of a real number"
            fix = "take .real(), .imag() or .abs() first, or pass gradient="
            raise AutodiffError(
                "E5005", problem, op="backward", operands=[("root", root)], help=fix
            )
        return OPS["const"](1, node.dtype, (), node.device)
    given = gradient.uop if hasattr(gradient, "uop") else type(root)(gradient, root.device).uop
    if given.shape != node.shape:
        operands = [("root", root), ("gradient", given)]
        raise ShapeError("E3003", "shapes differ", op="backward", operands=operands)
    return given.cast(node.dtype)


def _check_float(op: str, node: UOp) -> None:
    if not node.dtype.is_inexact:
        problem = f"a gradient needs a float dtype, not {node.dtype.name}"
        fix = ".cast('float32') first"
        raise AutodiffError("E5005", problem, op=op, operands=[("x", node)], help=fix)
