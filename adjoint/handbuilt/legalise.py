"""A hand-written list of kernel nodes → a loop program of basic ops.

    before: load(f16), exp2, store          after: load, cast to f32, polynomial, cast, store

Arithmetic is decomposed as that of tensors is, so a kernel computes the same bits in every
language. Loads and effects stay where they were written. Arithmetic that was asked for in several
scopes is one node and moves to the scope around all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.handbuilt.written import WrittenKernel, cost_of
from adjoint.ir.kernel_kind import PHI
from adjoint.ir.uop import UOp, rebuild, toposort
from adjoint.kernel.decompose import decompose_node
from adjoint.ops.mathematics.nodes import NARROW, cast, compute_dtype, number, rounded
from adjoint.stages import LoopProgram


def legalise(name: str, buffers: Sequence[UOp], nodes: Sequence[UOp]) -> LoopProgram:
    """The program of nodes in execution order; an arithmetic node may be requested again."""
    settler = _Settler(nodes)
    for node in nodes:
        settler.add(node)
    root = settler.out.root
    return LoopProgram(name, tuple(buffers), (), tuple(root.flat()), None, cost_of(root))


class _Settler:
    def __init__(self, nodes: Sequence[UOp]) -> None:
        self.out = WrittenKernel()
        self.new: dict[UOp, UOp] = {}
        self.updated = {n.src[0] for n in nodes if n.op.kernel is PHI}

    def add(self, node: UOp) -> None:
        match node.op.name:
            case "range":
                self.put(node, node)
            case "if":
                self.put(node, rebuild(node, (self.value(node.src[0]),)))
            case "end_range" | "endif":
                self.put(node, rebuild(node, (self.new[node.src[0]],)))
            case "load":
                self.load(node)
            case "store":
                self.store(node)
            case "define_acc":
                self.register(node)
            case "phi" | "barrier" | "define_local":
                self.put(node, rebuild(node, tuple(self.value(s) for s in node.src)))
            case _:
                self.value(node)

    def put(self, node: UOp, new: UOp) -> None:
        self.new[node] = new
        self.out.put(new)

    def load(self, node: UOp) -> None:
        buffer, index, *gated = (self.value(s) for s in node.src)
        narrow = node.dtype in NARROW
        if gated and narrow:
            gated[1] = self.placed(cast(gated[1], node.dtype))
        raw = UOp(node.op, (buffer, index, *gated), node.arg)
        self.put(node, raw)
        if narrow:
            self.new[node] = self.placed(cast(raw, compute_dtype(node.dtype)))

    def store(self, node: UOp) -> None:
        buffer, index, value, *gate = (self.value(s) for s in node.src)
        kind = node.src[2].dtype
        if kind in NARROW:
            value = self.placed(cast(value, kind))
        self.put(node, rebuild(node, (buffer, index, value, *gate)))

    def register(self, node: UOp) -> None:
        start = self.value(node.src[0])
        if node in self.updated:
            self.put(node, rebuild(node, (start,)))
        else:
            self.new[node] = start

    # ---- arithmetic

    def value(self, node: UOp) -> UOp:
        """The node in basic ops, known in this scope."""
        found = self.new.get(node)
        if found is None:
            found = self.new[node] = self.computed(node)
        return self.placed(found) if found.dtype.kind not in "vp" else found

    def computed(self, node: UOp) -> UOp:
        name = node.op.name
        if name == "const":
            return _constant(node)
        if name in ("define_global", "special"):
            return node
        src = tuple(self.value(s) for s in node.src)
        if name == "fma":
            return rounded(UOp(node.op, src), node.dtype)
        return decompose_node(node, src)

    def placed(self, node: UOp) -> UOp:
        self.out.put(*(n for n in toposort([node], stop=self.out.knows) if not self.out.knows(n)))
        return node


def _constant(node: UOp) -> UOp:
    kind, value = node.dtype, node.arg.value
    if kind in NARROW:
        with np.errstate(over="ignore"):  # the nearest value may be an infinity
            value = float(kind.np.type(value))
    return number(value, compute_dtype(kind))
