"""Clipping of gradients, by norm or by value: of parameters, and of a pytree."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from adjoint.errors import ArgumentError, TrainingError
from adjoint.ir.dtype import dtypes
from adjoint.tensor import Tensor
from adjoint.transforms.pytree import tree_leaves, tree_map

_NEARLY = 1e-6  # added to the norm, so that nothing is divided by 0


def global_norm(grads: Any, norm_type: float = 2.0) -> Tensor:
    """The norm of all elements of a pytree together."""
    return _norm("global_norm", tree_leaves(grads), float(norm_type))


def _norm(op: str, grads: Sequence[Tensor], power: float) -> Tensor:
    if not power > 0:
        raise ArgumentError("E2006", f"norm_type is above 0 (inf: the largest), not {power}", op=op)
    if not grads:
        return Tensor.zeros(())
    wide = [g.cast(dtypes.float32) if g.dtype.itemsize < 4 else g for g in grads]
    if math.isinf(power):
        parts = [g.abs().max() if g.numel() else Tensor.zeros((), dtype=g.dtype) for g in wide]
        return _joined(parts, lambda a, b: a.maximum(b))
    squares = power == 2.0
    total = _joined([(g * g if squares else g.abs() ** power).sum() for g in wide], _plus)
    return total.sqrt() if squares else total ** (1.0 / power)


def _plus(a: Tensor, b: Tensor) -> Tensor:
    return a + b


def _joined(parts: Sequence[Tensor], join: Any) -> Tensor:
    """One number from the parts, on the device of the first."""
    total = parts[0]
    for part in parts[1:]:
        total = join(total, part if part.device == total.device else part.to(total.device))
    return total


def clip_by_global_norm(grads: Any, max_norm: float) -> Any:
    """The same pytree, scaled down so that the norm of all of it is at most `max_norm`."""
    scale = _scale(global_norm(grads), max_norm)
    return tree_map(lambda g: _scaled(g, scale), grads)


def clip_by_value(grads: Any, clip_value: float) -> Any:
    """The same pytree with all elements between `-clip_value` and `clip_value`."""
    return tree_map(lambda g: g.clip(-clip_value, clip_value), grads)


def _scale(norm: Tensor, max_norm: float) -> Tensor:
    return (max_norm / (norm + _NEARLY)).minimum(1.0)


def _scaled(g: Tensor, scale: Tensor) -> Tensor:
    return g * (scale if scale.device == g.device else scale.to(g.device)).cast(g.dtype)


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scale the gradients of parameters so that their norm is at most `max_norm`.

    Gives the norm that they had. Parameters without a gradient do not count.
    """
    chosen = _with_gradients(parameters)
    norm = _norm("clip_grad_norm_", [p.grad for p in chosen if p.grad is not None], norm_type)
    if error_if_nonfinite and not math.isfinite(norm.item()):
        problem = f"the norm of the gradients is {norm.item()}"
        fix = "adjoint.debug_nans() tells where it comes from; error_if_nonfinite=False goes on"
        raise TrainingError("E9005", problem, op="clip_grad_norm_", help=fix)
    scale = _scale(norm, max_norm)
    for p in chosen:
        if p.grad is not None:
            p.grad = _scaled(p.grad, scale)
    return norm


def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Bring the elements of all gradients between `-clip_value` and `clip_value`."""
    for p in _with_gradients(parameters):
        p.grad = clip_by_value(p.grad, clip_value)


def _with_gradients(parameters: Any) -> list[Tensor]:
    if isinstance(parameters, Tensor):
        parameters = [parameters]
    if not isinstance(parameters, Iterable):
        problem = f"parameters are tensors, not a {type(parameters).__name__}"
        raise ArgumentError("E2001", problem, op="clip_grad", help="give model.parameters()")
    return [p for p in parameters if p.grad is not None]
