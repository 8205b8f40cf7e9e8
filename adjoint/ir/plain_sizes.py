"""Graphs without variables: every dynamic size becomes its current number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from adjoint.ir.arg import Varying
from adjoint.ir.expand import expand
from adjoint.ir.function import Function
from adjoint.ir.opdef import OPS
from adjoint.ir.origin import origin_scope
from adjoint.ir.sizes import Size
from adjoint.ir.uop import UOp, toposort
from adjoint.ir.values import is_known, is_size

_CONST, _CAST = OPS["const"], OPS["cast"]


def with_plain_sizes(
    nodes: Iterable[UOp], given: Mapping[UOp, UOp], whole: bool = False
) -> dict[UOp, UOp]:
    """For every node the one that plain ints would have built; `given` are some that are known.

    Functions are in primitives then, unless composites stay `whole`.
    """
    new: dict[UOp, UOp] = dict(given)
    for node in toposort(nodes, stop=new.__contains__):
        if node not in new:
            src = tuple(new[s] for s in node.src)
            with origin_scope(node.raw_origin):
                new[node] = node if is_known(node) else _plain(node, src, whole)
    return new


def _plain(node: UOp, src: tuple[UOp, ...], whole: bool) -> UOp:
    if node.op is _CAST and is_size(node.src[0]):  # a number beside floats
        value = float(node.src[0].arg.value)
        return _CONST.call(value, node.dtype, src[0].shape, src[0].device)
    arg = node.arg
    if isinstance(arg, Varying) or node.op.takes_functions:
        arg = arg.kind()(*[plain_value(value, whole) for value in arg])
    return node if src == node.src and arg == node.arg else UOp(node.op, src, arg)


def plain_value(value: Any, whole: bool = False) -> Any:
    """An attribute with plain sizes; functions with plain sizes inside."""
    if isinstance(value, Function):
        outputs = value.outputs if whole else tuple(expand(value.outputs))
        new = with_plain_sizes([*outputs, *value.inputs], {}, whole)
        found = Function(tuple(new[n] for n in value.inputs), tuple(new[n] for n in outputs))
        return value if found == (value.inputs, outputs) else found
    if isinstance(value, tuple):
        return tuple([plain_value(part, whole) for part in value])
    return int(value) if type(value) is Size else value
