"""CONVOLVE: a convolution, or one of its two gradients, as a library computes it whole.

What may live here: the op. Which contractions and folds become one is decided in
`schedule/convolutions.py`; nodes of it are made there alone. Pictures are (batch, channels,
*places), weights (results, channels of a group, *taps); with `channels_last` the channels of all
three stand behind the places instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from adjoint.errors import InternalError
from adjoint.ir.arg import Arg
from adjoint.ir.derivative import NotDifferentiable
from adjoint.ir.kernel_kind import Routine
from adjoint.ir.opdef import OpDef, internal
from adjoint.ir.uop import UOp

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
FORWARD, PICTURE, WEIGHTS = "forward", "picture", "weights"  # what is computed from the other two


class ConvolveArg(Arg):
    wanted: str  # one of these three
    size: Shape  # of the result, along its places or taps
    stride: Shape
    padding: Shape  # zeros before the picture and behind it, along each axis
    dilation: Shape
    groups: int = 1
    channels_last: bool = False


def last_order(rank: int) -> Shape:
    """The order of axes that puts the second one behind all others."""
    return (0, *range(2, rank), 1)


def three_shapes(
    arg: ConvolveArg, first: Shape, second: Shape, result: Shape
) -> tuple[Shape, Shape, Shape]:
    """The shapes of picture, weights and result of the convolution, channels second."""
    shapes = [first, second, result]
    if arg.channels_last:
        shapes = [(s[0], s[-1], *s[1:-1]) for s in shapes]
    a, b, c = shapes
    order = {FORWARD: (a, b, c), PICTURE: (c, b, a), WEIGHTS: (a, c, b)}
    return order[arg.wanted]


def product_count(arg: ConvolveArg, first: Shape, second: Shape, result: Shape) -> int:
    """How many products are added up in all."""
    _, weights, out = three_shapes(arg, first, second, result)
    return prod(out) * prod(weights[1:])


def _type(src: tuple[UOp, ...], arg: ConvolveArg) -> tuple[Shape, Any]:
    a, b = (s.shape for s in src)
    if arg.channels_last:
        a, b = ((s[0], s[-1], *s[1:-1]) for s in (a, b))
    rows = {FORWARD: (a[0], b[0]), PICTURE: (a[0], arg.groups * b[1])}
    lead = rows.get(arg.wanted) or (b[1], a[1] // arg.groups)
    shape = (*lead, *arg.size)
    shape = (shape[0], *shape[2:], shape[1]) if arg.channels_last else shape
    if not _fits(arg, *three_shapes(arg, src[0].shape, src[1].shape, shape)):
        raise InternalError(f"no convolution has operands like {[s.shape for s in src]}: {arg}")
    return shape, src[0].dtype


def _fits(arg: ConvolveArg, picture: Shape, weights: Shape, out: Shape) -> bool:
    rows = zip(picture[2:], weights[2:], arg.stride, arg.padding, arg.dilation, strict=True)
    places = tuple((n + 2 * p - (k - 1) * d - 1) // s + 1 for n, k, s, p, d in rows)
    channels = picture[1] == weights[1] * arg.groups and out[1] == weights[0]
    return channels and places == out[2:] and out[0] == picture[0] and weights[0] % arg.groups == 0


def convolved(a: Array, b: Array, arg: ConvolveArg) -> Array:
    """What the node is, tap by tap, added up in float64."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if arg.channels_last:
        a, b = np.moveaxis(a, -1, 1), np.moveaxis(b, -1, 1)
    found = {FORWARD: _forward, PICTURE: _picture, WEIGHTS: _weights}[arg.wanted](a, b, arg)
    return np.moveaxis(found, 1, -1) if arg.channels_last else found


def _taps(arg: ConvolveArg, kernel: Shape, out: Shape) -> Iterator[tuple[Any, Any]]:
    """Every tap, and the places of a picture with its margin that it meets."""
    for tap in np.ndindex(*kernel):
        rows = zip(tap, arg.dilation, arg.stride, out, strict=True)
        places = [slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, s, n in rows]
        yield (..., *tap), (..., *places)


def _grouped(x: Array, axis: int, groups: int) -> Array:
    return x.reshape(*x.shape[:axis], groups, -1, *x.shape[axis + 1 :])


def _bordered(x: Array, arg: ConvolveArg) -> Array:
    return np.pad(x, [(0, 0), (0, 0), *((p, p) for p in arg.padding)])


def _forward(x: Array, w: Array, arg: ConvolveArg) -> Array:
    taps, picture = _grouped(w, 0, arg.groups), _grouped(_bordered(x, arg), 1, arg.groups)
    total: Any = 0.0
    for tap, places in _taps(arg, w.shape[2:], arg.size):
        total = total + np.einsum("goc,bgc...->bgo...", taps[tap], picture[places])
    return np.reshape(total, (x.shape[0], w.shape[0], *arg.size))


def _picture(g: Array, w: Array, arg: ConvolveArg) -> Array:
    taps, given = _grouped(w, 0, arg.groups), _grouped(g, 1, arg.groups)
    sizes = [n + 2 * p for n, p in zip(arg.size, arg.padding, strict=True)]
    total = np.zeros((g.shape[0], arg.groups, w.shape[1], *sizes))
    for tap, places in _taps(arg, w.shape[2:], g.shape[2:]):
        total[places] += np.einsum("goc,bgo...->bgc...", taps[tap], given)
    inside = [slice(p, p + n) for p, n in zip(arg.padding, arg.size, strict=True)]
    return total.reshape(g.shape[0], -1, *sizes)[(slice(None), slice(None), *inside)]


def _weights(x: Array, g: Array, arg: ConvolveArg) -> Array:
    picture, given = (_grouped(v, 1, arg.groups) for v in (_bordered(x, arg), g))
    total = np.zeros((arg.groups, given.shape[2], picture.shape[2], *arg.size))
    for tap, places in _taps(arg, arg.size, g.shape[2:]):
        total[tap] = np.einsum("bgon,bgcn->goc", _flat(given), _flat(picture[places]))
    return total.reshape(-1, *total.shape[2:])


def _flat(x: Array) -> Array:
    """All places of a picture in groups as one axis."""
    return x.reshape(*x.shape[:3], -1)


def _reference(a: Any, b: Any, **values: Any) -> Array:
    return convolved(a, b, ConvolveArg(**values)).astype(np.asarray(a).dtype)


convolve: OpDef = internal(
    "convolve",
    "A convolution, or its gradient by the picture or by the weights, as a library computes it.",
    "primitive",
    call=lambda a, b, *values: UOp(convolve, (a, b), ConvolveArg(*values)),
    infer=_type,
    arg=ConvolveArg,
    ad=NotDifferentiable("made of products when a program is compiled, behind all derivatives"),
    reference=_reference,
    opcode=False,
    kernel=Routine(),
)
