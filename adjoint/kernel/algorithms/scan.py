"""SCAN as loops: serial along its axis, everything else side by side.

The sums are those of the reference, in its order. Sums and products of floats are kept in float64
along the way; every element of them is rounded to float32, and to a narrower dtype from there.
"""

from __future__ import annotations

from math import prod
from typing import Any

from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.kernel_kind import kernel_of
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import (
    AlgorithmKernel,
    Loops,
    index_sum,
    lanes_for,
    number,
    split,
)
from adjoint.target import Target

_BOOL = {"maximum": "logical_or", "minimum": "logical_and", "add": "logical_or"}


def held(dtype: DType) -> DType:
    """The dtype in which a kernel computes with values of a dtype."""
    return dtypes.float32 if dtype.is_float and dtype.itemsize < 4 else dtype


def join_of(node: UOp) -> str:
    """The op that a scan joins with."""
    return kernel_of(node).join(node)  # type: ignore[attr-defined]


def running(node: UOp) -> DType:
    """The dtype of a scan's running value."""
    adds = join_of(node) in ("add", "mul") and node.dtype.is_float
    return dtypes.float64 if adds else held(node.dtype)


def neutral(op: str, dtype: DType) -> Any:
    """The value that changes nothing: for sums -0.0, since 0.0 + -0.0 is 0.0."""
    if op == "add":
        return -0.0 if dtype.is_float else 0
    if op == "mul":
        return 1
    return dtype.min if op == "maximum" else dtype.max


def combined(op: str, a: UOp, b: UOp) -> UOp:
    """The op on two values; on bools the extremes are logic."""
    name = _BOOL.get(op, "logical_and") if a.dtype.is_bool else op
    return UOp._apply(name, a, b)


def build_scan(node: UOp, target: Target, name: str = "") -> AlgorithmKernel:
    """The kernel of scan_sum, scan_prod, scan_max or scan_min on one contiguous operand."""
    x, axis, op = node.src[0], node.arg.axis, join_of(node)
    n, inner = x.shape[axis], prod(x.shape[axis + 1 :])
    kind = running(node)
    lanes = lanes_for(inner, kind, target)
    blocks = -(-inner // lanes)
    loops = Loops()
    out = loops.buffer("out", node.dtype, node.size, mutable=True)
    given = loops.buffer("x", x.dtype, x.size)
    sizes = (prod(x.shape[:axis]), blocks)
    with loops.grid(prod(sizes)) as position:
        outer, block = split(position, sizes)
        with loops.block(inner, lanes, block) as lane:
            start = index_sum((outer, n * inner), (block, lanes), (lane, 1))
            register = loops.register(number(neutral(op, kind), kind))
            with loops.loop(n) as k:
                at = index_sum((start, 1), (n - 1 - k if node.arg.reverse else k, inner))
                value = loops.load(given, at).cast(held(x.dtype)).cast(kind)
                total = loops.update(register, combined(op, register, value), k)
                loops.store(out, at, total.cast(held(node.dtype)).cast(node.dtype))
    return AlgorithmKernel(loops.program(node, name, 2 * n * lanes))
