"""NumPy's functions that Adjoint has under another name, or that are made of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint
from adjoint import Tensor

from ..dispatch import as_operand, dispatched, followed

ALIASES = {
    "absolute": "abs",
    "amax": "max",
    "amin": "min",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "concatenate": "concat",
    "conjugate": "conj",
    "degrees": "rad2deg",
    "fabs": "abs",
    "mod": "remainder",
    "power": "pow",
    "radians": "deg2rad",
    "true_divide": "divide",
    "transpose": "permute_dims",
}


def array(value: Any, *args: Any, **kwargs: Any) -> Tensor:
    """A tensor of what may be nested lists of tensors and numbers."""
    if isinstance(value, Tensor):
        return value * 1
    rows = [array(v) if followed(v) else as_operand(np.asarray(v)) for v in value]
    return adjoint.stack(rows, axis=0)


def _reduction(name: str) -> Callable[..., Tensor]:
    def call(x: Any, axis: Any = None, keepdims: bool = False, **named: Any) -> Tensor:
        if "ddof" in named:
            named["correction"] = named.pop("ddof")
        named = {k: v for k, v in named.items() if k == "correction"}
        return getattr(adjoint, name)(array(x), axis=axis, keepdims=keepdims, **named)

    return call


def _transpose(x: Tensor, axes: Any = None) -> Tensor:
    return adjoint.permute_dims(x, tuple(range(x.ndim))[::-1] if axes is None else tuple(axes))


def _dot(a: Any, b: Any) -> Tensor:
    a, b = adjoint.asarray(a), adjoint.asarray(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return adjoint.tensordot(a, b, axes=((a.ndim - 1,), (max(b.ndim - 2, 0),)))


def _inner(a: Any, b: Any) -> Tensor:
    a, b = adjoint.asarray(a), adjoint.asarray(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return adjoint.tensordot(a, b, axes=((a.ndim - 1,), (b.ndim - 1,)))


def _outer(a: Any, b: Any) -> Tensor:
    a, b = adjoint.asarray(a), adjoint.asarray(b)
    return a.reshape(-1, 1) * b.reshape(1, -1)


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    axes = axes if isinstance(axes, int) else tuple((x,) if isinstance(x, int) else x for x in axes)
    return adjoint.tensordot(adjoint.asarray(a), adjoint.asarray(b), axes=axes)


def _split(x: Tensor, parts: Any, axis: int = 0) -> list[Tensor]:
    edges = np.array_split(np.arange(x.shape[axis]), parts)
    where: Any = [slice(None)] * x.ndim
    found = []
    for part in edges:
        where[axis] = slice(int(part[0]), int(part[-1]) + 1) if len(part) else slice(0, 0)
        found.append(x[tuple(where)])
    return found


def _along(axis: int) -> Callable[..., list[Tensor]]:
    return lambda x, parts: _split(x, parts, axis if x.ndim > 1 else 0)


def _atleast(count: int) -> Callable[..., Any]:
    def call(*values: Any) -> Any:
        found = [_with_axes(adjoint.asarray(v), count) for v in values]
        return found[0] if len(found) == 1 else found

    return call


def _with_axes(x: Tensor, count: int) -> Tensor:
    if count == 3 and x.ndim == 2:
        return x.reshape(*x.shape, 1)
    if count == 3 and x.ndim == 1:
        return x.reshape(1, -1, 1)
    return x.reshape(*(1,) * (count - x.ndim), *x.shape) if x.ndim < count else x


def _joined(rows: Any, axis: int, least: int) -> Tensor:
    return adjoint.concat([_with_axes(adjoint.asarray(r), least) for r in rows], axis=axis)


def _hstack(rows: Any) -> Tensor:
    first = adjoint.asarray(rows[0])
    return _joined(rows, 0 if first.ndim < 2 else 1, 1)


def _column_stack(rows: Any) -> Tensor:
    columns = [adjoint.asarray(r) for r in rows]
    return adjoint.concat([c.reshape(-1, 1) if c.ndim < 2 else c for c in columns], axis=1)


def _append(x: Any, values: Any, axis: int | None = None) -> Tensor:
    x, values = adjoint.asarray(x), adjoint.asarray(values)
    if axis is None:
        x, values, axis = x.reshape(-1), values.reshape(-1), 0
    return adjoint.concat([x, values], axis=axis)


def _einsum(*args: Any, **named: Any) -> Tensor:
    if isinstance(args[0], str):
        return Tensor.einsum(*args)
    operands, labels = args[: len(args) // 2 * 2 : 2], args[1::2]
    formula = ",".join(map(_letters, labels))
    formula += "->" + _letters(args[-1]) if len(args) % 2 else ""
    return Tensor.einsum(formula, *operands)


def _letters(numbers: Any) -> str:
    return "".join("..." if n is Ellipsis else chr(ord("a") + n) for n in numbers)


def _gradient(x: Tensor, *spacing: Any, axis: Any = None) -> Any:
    axes = range(x.ndim) if axis is None else (axis if isinstance(axis, tuple) else (axis,))
    found = tuple(_gradient_along(x, a) for a in axes)
    return found[0] if len(found) == 1 else found


def _gradient_along(x: Tensor, axis: int) -> Tensor:
    x = adjoint.moveaxis(x, axis, 0)
    inner = (x[2:] - x[:-2]) / 2
    whole = adjoint.concat([x[1:2] - x[:1], inner, x[-1:] - x[-2:-1]], axis=0)
    return adjoint.moveaxis(whole, 0, axis)


def _select(conditions: Any, choices: Any, default: Any = 0) -> Tensor:
    result = adjoint.asarray(default)
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        result = adjoint.where(adjoint.asarray(condition), choice, result)
    return result


def _repeat(x: Tensor, repeats: Any, axis: int | None = None) -> Tensor:
    return adjoint.repeat(x, repeats, axis=axis)


def _cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, **axis: Any
) -> Tensor:
    a, b = adjoint.asarray(a), adjoint.asarray(b)
    one = axis.get("axis")
    if one is not None:
        axisa = axisb = axisc = one
    a, b = adjoint.moveaxis(a, axisa, -1), adjoint.moveaxis(b, axisb, -1)
    return adjoint.moveaxis(adjoint.linalg.cross(a, b, axis=-1), -1, axisc)


def _rollaxis(x: Tensor, axis: int, start: int = 0) -> Tensor:
    axis %= x.ndim
    return adjoint.moveaxis(x, axis, start - 1 if axis < start else start)


def _partition(x: Tensor, kth: int, axis: int = -1) -> Tensor:
    order = np.argpartition(x.detach().numpy(), kth, axis=axis)
    return adjoint.take_along_axis(x, adjoint.asarray(order), axis=axis)


def _pad(x: Tensor, width: Any, mode: str = "constant", **named: Any) -> Tensor:
    pairs = np.broadcast_to(np.asarray(width), (x.ndim, 2)).tolist()
    return x.pad(tuple(map(tuple, pairs)), mode=mode)


def _clip(x: Any, a_min: Any = None, a_max: Any = None) -> Tensor:
    return adjoint.clip(adjoint.asarray(x), a_min, a_max)


def _cumsum(x: Tensor, axis: int | None = None) -> Tensor:
    return adjoint.cumulative_sum(x.reshape(-1) if axis is None else x, axis=axis or 0)


def _squeeze(x: Tensor, axis: Any = None) -> Tensor:
    ones = tuple(i for i, size in enumerate(x.shape) if size == 1)
    return adjoint.squeeze(x, axis=ones if axis is None else axis)


def _linspace(start: Any, stop: Any, num: int = 50) -> Tensor:
    start, stop = adjoint.asarray(start), adjoint.asarray(stop)
    return start + adjoint.asarray(np.linspace(0.0, 1.0, num)) * (stop - start)


def _sort(x: Tensor, axis: int = -1, **named: Any) -> Tensor:
    return adjoint.sort(x, axis=axis)


def _where(condition: Any, *sides: Any) -> Any:
    if not sides:
        return np.nonzero(condition.numpy())
    return adjoint.where(adjoint.asarray(condition), *map(adjoint.asarray, sides))


def _real_only(name: str) -> Callable[..., Any]:
    """`real`, `imag` and `angle` of real numbers, which the standard leaves out."""

    def call(x: Tensor) -> Tensor:
        if x.dtype.is_complex:
            return getattr(adjoint, name)(x)
        return x if name == "real" else x * 0

    return call


def _angle(x: Tensor, deg: bool = False) -> Tensor:
    y, x = (adjoint.imag(x), adjoint.real(x)) if x.dtype.is_complex else (x * 0, x)
    angle = adjoint.atan2(y, x)
    return adjoint.rad2deg(angle) if deg else angle


def _diag(x: Tensor, k: int = 0) -> Tensor:
    return make_diagonal(x, k) if x.ndim == 1 else _diagonal(x, k)


def _diagonal(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    return adjoint.linalg.diagonal(adjoint.moveaxis(x, (axis1, axis2), (-2, -1)), offset=offset)


def _trace(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, **named: Any) -> Tensor:
    return adjoint.sum(_diagonal(x, offset, axis1, axis2), axis=-1)


def make_diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Matrices with given diagonals: autograd's own function."""
    x = adjoint.asarray(x)
    size = x.shape[-1] + abs(offset)
    rows = np.arange(x.shape[-1]) + max(-offset, 0)
    matrix = adjoint.zeros((*x.shape[:-1], size, size), dtype=x.dtype)
    matrix[..., adjoint.asarray(rows), adjoint.asarray(rows + offset)] = x
    return adjoint.moveaxis(matrix, (-2, -1), (axis1, axis2))


class _Join:
    """`np.r_` and `np.c_` of whole arrays; slices become ranges as in NumPy."""

    def __init__(self, theirs: Any, join: Callable[[list[Any]], Any]) -> None:
        self.theirs, self.join = theirs, join

    def __getitem__(self, parts: Any) -> Any:
        if not followed(parts):
            return self.theirs[parts]
        each = parts if isinstance(parts, tuple) else (parts,)
        return self.join([np.r_[p] if isinstance(p, slice) else p for p in each])


r_ = _Join(np.r_, lambda parts: _joined(parts, 0, 1))
c_ = _Join(np.c_, _column_stack)
make_diagonal = dispatched(make_diagonal, make_diagonal)

FUNCTIONS: dict[str, Any] = {
    "all": lambda x, **named: np.all(x.numpy(), **named),
    "allclose": lambda a, b, **named: np.allclose(*map(np.asarray, (a, b)), **named),
    "angle": _angle,
    "any": lambda x, **named: np.any(x.numpy(), **named),
    "append": _append,
    "array": array,
    "array_split": _split,
    "atleast_1d": _atleast(1),
    "atleast_2d": _atleast(2),
    "atleast_3d": _atleast(3),
    "clip": _clip,
    "column_stack": _column_stack,
    "concatenate": lambda rows, axis=0: adjoint.concat(
        [adjoint.asarray(r) for r in rows], axis=axis
    ),
    "cross": _cross,
    "cumsum": _cumsum,
    "diag": _diag,
    "diagonal": _diagonal,
    "dot": _dot,
    "dsplit": _along(2),
    "einsum": _einsum,
    "fliplr": lambda x: adjoint.flip(x, axis=1),
    "flipud": lambda x: adjoint.flip(x, axis=0),
    "fmax": lambda a, b: adjoint.maximum(adjoint.asarray(a), adjoint.asarray(b)),
    "fmin": lambda a, b: adjoint.minimum(adjoint.asarray(a), adjoint.asarray(b)),
    "gradient": _gradient,
    "hsplit": _along(1),
    "hstack": _hstack,
    "imag": _real_only("imag"),
    "inner": _inner,
    "iscomplex": lambda x: np.iscomplex(x.numpy()),
    "iscomplexobj": lambda x: x.dtype.is_complex,
    "isrealobj": lambda x: not x.dtype.is_complex,
    "linspace": _linspace,
    "logaddexp2": lambda a, b: (
        adjoint.logaddexp(adjoint.asarray(a) * np.log(2), adjoint.asarray(b) * np.log(2))
        / np.log(2)
    ),
    "ndim": lambda x: x.ndim,
    "outer": _outer,
    "pad": _pad,
    "partition": _partition,
    "ravel": lambda x, order="C": _transpose(x).reshape(-1) if order == "F" else x.reshape(-1),
    "real": _real_only("real"),
    "real_if_close": lambda x: x,
    "repeat": _repeat,
    "reshape": lambda x, shape, order="C": (
        _transpose(_transpose(x).reshape(tuple(np.atleast_1d(shape)[::-1].tolist())))
        if order == "F"
        else adjoint.reshape(x, tuple(np.atleast_1d(shape).tolist()))
    ),
    "rollaxis": _rollaxis,
    "row_stack": lambda rows: _joined(rows, 0, 2),
    "select": _select,
    "shape": lambda x: x.shape,
    "size": lambda x, axis=None: x.size if axis is None else x.shape[axis],
    "sort": _sort,
    "split": _split,
    "squeeze": _squeeze,
    "stack": lambda rows, axis=0: adjoint.stack([adjoint.asarray(r) for r in rows], axis=axis),
    "moveaxis": lambda x, source, destination: adjoint.moveaxis(x, source, destination),
    "swapaxes": lambda x, axis1, axis2: x if axis1 == axis2 else x.transpose(axis1, axis2),
    "tile": lambda x, reps: adjoint.tile(x, tuple(np.atleast_1d(reps).tolist())),
    "tensordot": _tensordot,
    "trace": _trace,
    "transpose": _transpose,
    "vsplit": _along(0),
    "vstack": lambda rows: _joined(rows, 0, 2),
    "where": _where,
    **{name: _reduction(name) for name in ("max", "mean", "min", "prod", "std", "sum", "var")},
    **{f"a{name}": _reduction(name) for name in ("max", "min")},
}
