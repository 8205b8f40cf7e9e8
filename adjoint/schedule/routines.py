"""The table of library calls for nodes that a library computes whole.

What may live here: a row per op. What may not: which nodes become such ops.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from adjoint.ir.dtype import dtypes
from adjoint.ir.exactness import allow_tf32, deterministic
from adjoint.ir.opdef import OpDef
from adjoint.ir.uop import UOp
from adjoint.ops.convolve import convolve, three_shapes
from adjoint.ops.factor import TRIANGULAR, factor
from adjoint.ops.transform import transform
from adjoint.stages import Convolution, Factorisation, FourierTransform, LibraryCall


def _convolution(node: UOp) -> Convolution:
    arg, (a, b) = node.arg, node.src
    picture, weights, out = three_shapes(arg, *(tuple(map(int, n.shape)) for n in (a, b, node)))
    rest = (arg.stride, arg.padding, arg.dilation, arg.groups, arg.channels_last)
    tf32 = node.dtype is dtypes.float32 and allow_tf32.allowed()
    how = (tf32, deterministic.allowed())
    return Convolution(node.dtype, arg.wanted, picture, weights, out, *rest, *how)


def _transform(node: UOp) -> FourierTransform:
    (x,), arg = node.src, node.arg
    batch = prod(map(int, x.shape[: len(x.shape) - len(arg.lengths)]))
    return FourierTransform(x.dtype, arg.form, arg.lengths, batch, arg.inverse)


def _factorisation(node: UOp) -> Factorisation:
    (x, *rest), (what, *how) = node.src, node.arg
    *batch, rows, columns = map(int, x.shape)
    upper, left, unit = how
    side = [] if not rest else list(map(int, rest[0].shape))
    others = side[-1 if what == TRIANGULAR and left else -2] if side else 0
    return Factorisation(x.dtype, what, prod(batch), rows, columns, others, (upper, left, unit))


CALLS: dict[OpDef, Callable[[UOp], LibraryCall]] = {
    convolve: _convolution,
    transform: _transform,
    factor: _factorisation,
}


def routine_of(node: UOp) -> LibraryCall:
    """The call that computes a node."""
    return CALLS[node.op](node)
