"""check_grads: both modes against central differences. eval_shape: types without values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, AutodiffError
from adjoint.ir.dtype import DType, as_dtype, dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.storage import storage_error
from adjoint.ops.leaves import checked_shape
from adjoint.tensor import Tensor
from adjoint.tensor.tracing import DROPPED, scope
from adjoint.transforms.call import Fn, as_tensor, check_inexact, name_of, tensor_leaves
from adjoint.transforms.forward import jvp
from adjoint.transforms.pytree import tree_flatten, tree_map, tree_unflatten
from adjoint.transforms.reverse import vjp

Array = np.ndarray[Any, Any]
MAX_CHECKED_ELEMENTS = 200  # of one argument in reverse mode; of more, a sample
# Step and tolerance by dtype: the step balances the difference's own error against rounding.
STEPS = {"float64": 1e-5, "float32": 1e-2, "float16": 0.1, "bfloat16": 0.3}
TOLERANCES = {"float64": 1e-6, "float32": 2e-2, "float16": 0.1, "bfloat16": 0.3}


class ShapeDtype:
    """The type of a tensor: a shape and a dtype."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Sequence[int], dtype: Any):
        self.shape: tuple[int, ...] = checked_shape("ShapeDtype", shape)
        self.dtype: DType = as_dtype(dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ShapeDtype):
            return NotImplemented
        return self.shape == other.shape and self.dtype is other.dtype

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"ShapeDtype({self.dtype.short}{list(self.shape)})"


def eval_shape(fn: Fn, *args: Any) -> Any:
    """The types of what the function returns for arguments of these types; nothing is computed.

    Arguments are tensors, arrays, or `ShapeDtype`s.
    """
    op = f"eval_shape of {name_of(fn)}"
    with scope(op) as inner:
        inner.effects = DROPPED
        symbols = tree_map(_symbol, args)
        inner.variables.update(t.uop for t in tree_flatten(symbols)[0] if isinstance(t, Tensor))
        leaves, treedef = tensor_leaves(op, fn(*symbols))
        types = [ShapeDtype(leaf.shape, leaf.dtype) for leaf in leaves]
    return tree_unflatten(treedef, types)


def _symbol(leaf: Any) -> Any:
    if not isinstance(leaf, (Tensor, np.ndarray, ShapeDtype)):
        return leaf
    kind = leaf.dtype if not isinstance(leaf, np.ndarray) else as_dtype(leaf.dtype)
    device = leaf.uop.device if isinstance(leaf, Tensor) else None
    node = OPS["input"]("argument", tuple(leaf.shape), kind, device)
    return Tensor(OPS["unique_identity"](node))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Check:
    """How far a derivative may be from a difference, and where we are."""

    where: str
    modes: tuple[str, ...]
    step: float
    atol: float
    rtol: float
    rng: np.random.Generator

    def inside(self, mode: str) -> _Check:
        return replace(self, where=f"{mode} of {self.where}")


def check_grads(
    fn: Fn,
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Compare derivatives with central differences, up to an order, in every pairing of modes.

    Tensors of real floats among the arguments are moved, all else stays. The error shows the worst
    element. Steps and tolerances follow the narrowest dtype unless given.
    """
    if not set(modes) <= {"fwd", "rev"} or not modes:
        raise ArgumentError("E2008", f"modes are 'fwd' and 'rev', not {modes!r}", op="check_grads")
    leaves, treedef = tree_flatten(tuple(args))
    places = [i for i, leaf in enumerate(leaves) if _moves(leaf)]
    if not places:
        raise AutodiffError("E5005", "no argument is a float tensor", op="check_grads")
    tensors = [as_tensor("check_grads", leaves[i]) for i in places]

    def of_floats(*moved: Tensor) -> list[Tensor]:
        every = list(leaves)
        for i, value in zip(places, moved, strict=True):
            every[i] = value
        results = tensor_leaves("check_grads", fn(*tree_unflatten(treedef, every)))[0]
        return [t for t in results if t.dtype.is_inexact]

    kind = min((t.dtype for t in tensors), key=lambda d: (d.itemsize, d.name == "float16"))
    if kind.is_storage:
        raise storage_error("check_grads", kind, tensors)
    limit = TOLERANCES[kind.name]
    check = _Check(
        name_of(fn),
        tuple(modes),
        STEPS[kind.name] if eps is None else eps,
        limit if atol is None else atol,
        limit if rtol is None else rtol,
        np.random.default_rng(0),
    )
    _check(of_floats, tensors, order, check)


def _moves(leaf: Any) -> bool:
    tensor = isinstance(leaf, (Tensor, np.ndarray, float))
    kind = as_tensor("check_grads", leaf).dtype if tensor else dtypes.bool_
    if kind.is_complex:
        problem = "complex arguments have no difference quotient to compare with"
        raise AutodiffError("E5005", problem, op="check_grads", help="give real and imaginary part")
    return kind.is_float


def _check(fn: Fn, x: list[Tensor], order: int, check: _Check) -> None:
    if order < 1:
        return
    results = fn(*x)
    if not results:
        raise AutodiffError("E5005", f"{check.where} returns no float", op="check_grads")
    for result in results:
        check_inexact("check_grads", result, "the result")
    tangents = [_random(check, t) for t in x]
    weights = [_random(check, t) for t in results]
    if "fwd" in check.modes:
        _check_forward(fn, x, tangents, check.inside("jvp"))
        along = lambda *p: jvp(fn, p, tangents)[1]  # noqa: E731
        _check(along, x, order - 1, check.inside("jvp"))
    if "rev" in check.modes:
        _check_reverse(fn, x, weights, check.inside("vjp"))
        back = lambda *p: list(vjp(fn, *p)[1](weights))  # noqa: E731
        _check(back, x, order - 1, check.inside("vjp"))


def _random(check: _Check, like: Tensor) -> Tensor:
    values = check.rng.standard_normal(like.shape)
    return Tensor(values, device=like.device).cast(like.dtype)


def _values(tensors: Sequence[Tensor]) -> list[Array]:
    return [t.numpy().astype(np.float64) for t in tensors]


def _check_forward(fn: Fn, x: list[Tensor], tangents: list[Tensor], check: _Check) -> None:
    """Every element of the result's tangent along one direction."""
    computed = _values(jvp(fn, x, tangents)[1])
    ahead, behind = (
        _values(fn(*(p + t * h for p, t in zip(x, tangents, strict=True))))
        for h in (check.step, -check.step)
    )
    worst = _Worst()
    for number, (a, b, c) in enumerate(zip(ahead, behind, computed, strict=True)):
        numeric = (a - b) / (2 * check.step)
        for index in np.ndindex(c.shape):
            worst.see(f"result {number}", index, numeric[index], c[index], check)
    worst.judge(check)


def _check_reverse(fn: Fn, x: list[Tensor], weights: list[Tensor], check: _Check) -> None:
    """The gradient of a random weighting of the results, element by element."""
    computed = _values(vjp(fn, *x)[1](weights))
    factors = _values(weights)
    worst = _Worst()
    for number, gradient in enumerate(computed):
        for index in _indices(gradient.shape, check.rng):
            ahead, behind = (
                _weighted(fn, _nudged(x, number, index, h), factors)
                for h in (check.step, -check.step)
            )
            numeric = (ahead - behind) / (2 * check.step)
            worst.see(f"argument {number}", index, numeric, gradient[index], check)
    worst.judge(check)


def _indices(shape: tuple[int, ...], rng: np.random.Generator) -> list[tuple[int, ...]]:
    every = list(np.ndindex(shape))
    if len(every) <= MAX_CHECKED_ELEMENTS:
        return every
    return [every[i] for i in sorted(rng.choice(len(every), MAX_CHECKED_ELEMENTS, replace=False))]


def _nudged(x: list[Tensor], number: int, index: tuple[int, ...], step: float) -> list[Tensor]:
    array = x[number].numpy().copy()
    array[index] += step
    return [Tensor(array, device=t.device) if i == number else t for i, t in enumerate(x)]


def _weighted(fn: Fn, x: list[Tensor], factors: list[Array]) -> float:
    pairs = zip(_values(fn(*x)), factors, strict=True)
    return float(sum((value * factor).sum() for value, factor in pairs))


class _Worst:
    """The element with the largest difference relative to the tolerance."""

    def __init__(self) -> None:
        self.excess, self.line, self.failed, self.seen = -1.0, "", 0, 0

    def see(
        self, what: str, index: tuple[int, ...], numeric: Any, computed: Any, check: _Check
    ) -> None:
        difference = abs(float(numeric) - float(computed))
        excess = difference / (check.atol + check.rtol * abs(float(numeric)))
        self.seen += 1
        self.failed += not excess <= 1
        if excess > self.excess or excess != excess:
            relative = difference / abs(float(numeric)) if numeric else float("inf")
            self.excess = float("inf") if excess != excess else excess
            self.line = (
                f"{what} at {list(map(int, index))}: numeric {float(numeric):.9g}, "
                f"computed {float(computed):.9g}, absolute difference {difference:.3g}, "
                f"relative {relative:.3g}"
            )

    def judge(self, check: _Check) -> None:
        if self.failed:
            problem = (
                f"{check.where} disagrees with central differences in {self.failed} of "
                f"{self.seen} elements; the worst is {self.line}"
            )
            fix = f"step {check.step}, atol {check.atol}, rtol {check.rtol}; see eps, atol, rtol"
            raise AutodiffError("E5002", problem, op="check_grads", help=fix)


__all__ = ["ShapeDtype", "check_grads", "eval_shape"]
