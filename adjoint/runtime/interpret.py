"""A plain interpreter of loop programs: every renderer must reproduce its results, bit for bit.

It executes the nodes one by one with NumPy scalars, lanes one after another; only an accumulator
that belongs to a loop with lanes has a value per lane, joined by halving when the loop ends. It is
slow on purpose, because it must be simple.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from adjoint.errors import BoundsError, DeviceError, InternalError
from adjoint.ir.dtype import DType, PtrDType
from adjoint.ir.kernel_kind import (
    ASK,
    ATOMIC,
    COUNT,
    JOINS,
    PHI,
    RANGE,
    SUM,
    THREAD,
    VARIABLE,
    gate_of,
)
from adjoint.ir.loop_tree import Block, nested
from adjoint.ir.uop import UOp
from adjoint.ops.casts import convert
from adjoint.runtime.reference import evaluate
from adjoint.stages import LoopProgram

Array = np.ndarray[Any, Any]


def interpret(
    program: LoopProgram,
    arrays: Sequence[Array],
    variables: Mapping[str, int] | None = None,
    begin: int | None = None,
    end: int | None = None,
) -> None:
    """Run a kernel on one array per buffer, in order; the mutable ones are written.

    `begin` and `end` choose a part of the grid; without them, or without a grid, all of it runs.
    """
    run = _Run(program, arrays, variables or {}, begin, end)
    with np.errstate(all="ignore"):
        run.block(nested(program.body))


class _Run:
    def __init__(
        self,
        program: LoopProgram,
        arrays: Sequence[Array],
        variables: Mapping[str, int],
        begin: int | None,
        end: int | None,
    ) -> None:
        self.part = begin, end
        self.variables = variables
        self.values: dict[UOp, Any] = {}
        self.memory: dict[UOp, Array] = {
            b: _flat(b, a) for b, a in zip(program.buffers, arrays, strict=True)
        }
        self.phis = {n.src[0]: n for n in program.body if n.op.kernel is PHI}
        opened = {n: i for i, n in enumerate(program.body) if n.op.kernel is RANGE}
        self.outermost = {p: min(p.src[2:], key=opened.__getitem__) for p in self.phis.values()}
        self.registers: dict[UOp, list[Any]] = {}  # one value per lane, or a single one
        self.lane: dict[UOp, int] = {}  # of every open range that has lanes

    def block(self, block: Block) -> None:
        for item in block.items:
            if isinstance(item, UOp):
                self.step(item)
            elif item.is_loop:
                self.loop(item)
            elif item.head is not None and self.get(item.head.src[0]):
                self.block(item)

    def loop(self, inside: Block) -> None:
        counter: Any = inside.head
        arg = counter.arg
        size = int(self.get(counter.src[0])) if counter.src else arg.size
        first, last = self.part if arg.grid else (None, None)
        for i in range(first or 0, size if last is None else last):
            self.values[counter] = arg.dtype.np.type(arg.start + i)
            if arg.lanes > 1:
                self.lane[counter] = i % arg.lanes
            self.block(inside)
        self.lane.pop(counter, None)
        for phi in self.phis.values():
            if self.outermost[phi] is counter:
                self.finish(phi)

    def finish(self, phi: UOp) -> None:
        """Outside its loops a PHI has the value of the accumulator; halving joins lanes."""
        register = self.registers[phi.src[0]]
        while len(register) > 1:
            half = len(register) // 2
            pairs = zip(register[:half], register[half:], strict=True)
            register = [_join(phi, a, b) for a, b in pairs]
        self.values[phi] = register[0]

    def step(self, node: UOp) -> None:
        name = node.op.name
        if name == "define_local":
            self.memory[node] = _poison(node.arg.dtype, node.arg.size)
        elif name == "define_acc":
            lanes = [r.arg.lanes for r in self.phis[node].src[2:] if r.arg.lanes > 1]
            self.registers[node] = [self.get(node.src[0])] * (lanes[0] if lanes else 1)
            self.values[self.phis[node]] = self.get(node.src[0])  # until a loop has run
        elif name == "phi":
            self.values[node] = self.get(node.src[1])
            self.registers[node.src[0]][self.lane_of(node)] = self.values[node]
        elif name == "load":
            self.values[node] = self.load(node)
        elif name == "store":
            self.store(node)
        elif node.op.kernel is COUNT:
            cell = self.memory[node.src[0]][self.place(node, 1)]
            self.values[node] = cell[0]
            cell += 1
        elif node.op.kernel is SUM:
            if not self.is_shut(node):
                self.memory[node.src[0]][self.place(node, 1)] += self.get(node.src[2])
        elif node.op.kernel is ATOMIC:
            self.atomic(node)
        elif node.op.kernel is not ASK:
            self.values[node] = _compute(node, [self.get(s) for s in node.src])

    def lane_of(self, phi: UOp) -> int:
        return next((self.lane[r] for r in phi.src[2:] if r in self.lane), 0)

    def get(self, node: UOp) -> Any:
        name = node.op.name
        if name == "define_acc":
            return self.registers[node][self.lane_of(self.phis[node])]
        if node not in self.values:
            self.values[node] = self.leaf(node)
        return self.values[node]

    def leaf(self, node: UOp) -> Any:
        given = node.op.kernel in (VARIABLE, THREAD)
        value = self.variables[node.arg.name] if given else node.arg.value
        return np.asarray(value).astype(node.dtype.np)[()]

    def load(self, node: UOp) -> Any:
        if self.is_shut(node):
            return self.get(node.src[3])
        place = self.place(node, node.arg.width)
        found = self.memory[node.src[0]][place]
        return found.copy() if node.arg.width > 1 else found[0]

    def store(self, node: UOp) -> None:
        if not self.is_shut(node):
            value = self.get(node.src[2])
            self.memory[node.src[0]][self.place(node, np.size(value))] = value

    def atomic(self, node: UOp) -> None:
        if not self.is_shut(node):
            cell = self.memory[node.src[0]][self.place(node, 1)]
            cell[:] = _BASIC[node.arg.join](cell, self.get(node.src[2]))

    def is_shut(self, node: UOp) -> bool:
        gate = gate_of(node)
        return gate is not None and not self.get(gate)

    def place(self, node: UOp, width: int) -> slice:
        at, memory = int(self.get(node.src[1])), self.memory[node.src[0]]
        if at < 0 or at + width > memory.size:
            problem = f"index {at} is outside a buffer of {memory.size} elements"
            raise BoundsError("E6001", problem, op=node.op.name)
        return slice(at, at + width)


def _flat(buffer: UOp, array: Array) -> Array:
    """The array as the memory of a buffer."""
    kind = buffer.dtype
    fits = isinstance(kind, PtrDType) and array.dtype == kind.base.np and array.flags.c_contiguous
    if not fits:
        problem = f"buffer {buffer.arg.name} is a contiguous array of {kind.base.name}"
        raise DeviceError("E6003", f"{problem}, not {array.dtype}", op="interpret")
    return array.reshape(-1)


def _poison(dtype: DType, size: int) -> Array:
    """Memory that no store has written: a pattern that shows when it is read."""
    if dtype.is_bool:
        return np.ones(size, np.bool_)
    return np.full(size * dtype.itemsize, 0xA5, np.uint8).view(dtype.np)


def _join(phi: UOp, a: Any, b: Any) -> Any:
    """Two lanes of a register as one; a fused product is joined by its sum."""
    name = phi.src[1].op.name
    name = "add" if name in ("fma", "dot_words") else name
    if name not in JOINS:
        raise InternalError(f"a register of lanes is not joined by {name!r}")
    return _BASIC[name](a, b)


def _either(number: Callable[..., Any], truth: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: truth(a, b) if a.dtype == np.bool_ else number(a, b)


def _quotient(a: Any, b: Any) -> Any:
    down = np.floor_divide(a, b)
    return down + a.dtype.type((down < 0) & (down * b != a))


# The ops renderers know; any other is run by its record's reference.
_BASIC: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("sqrt", "abs", "maximum", "minimum", "copysign")},
    **{f"logical_{name}": getattr(np, f"logical_{name}") for name in ("and", "or", "xor", "not")},
    **{f"bitwise_{name}": getattr(np, f"bitwise_{name}") for name in ("and", "or", "xor", "not")},
    "add": _either(np.add, np.logical_or),
    "sub": np.subtract,
    "mul": _either(np.multiply, np.logical_and),
    "neg": np.negative,
    "inverse": lambda x: np.true_divide(x.dtype.type(1), x),
    "true_div": np.true_divide,
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
}


def _compute(node: UOp, operands: list[Any]) -> Any:
    name = node.op.name
    if name == "where":
        return np.where(*operands)[()] if node.shape else operands[1 if operands[0] else 2]
    if name == "cast":
        return np.asarray(convert(operands[0], node.dtype))[()]
    if name == "bitcast":
        return np.asarray(operands[0]).view(node.dtype.np)[()]
    if name in ("fma", "dot_words"):
        return _fma(*operands) if node.arg is None else _dot(node.arg.dtype, *operands)
    if name == "vectorize":
        return np.array(operands, node.dtype.np)
    if name == "gep":
        return operands[0][node.arg.index]
    if name == "idiv" and node.dtype.is_int:
        return _quotient(*operands)
    narrow = node.dtype.is_float and node.dtype.itemsize < 4
    if name in _BASIC and not narrow:
        return _BASIC[name](*operands)
    return evaluate(node, [np.asarray(x) for x in operands], _no_functions)[()]


def _no_functions(function: Any, operands: list[Any]) -> list[Any]:
    raise InternalError("a kernel calls no functions")


def _dot(dtype: DType, a: Any, b: Any, c: Any) -> Any:
    """`c` and the products of the numbers of two words; of bytes, those of `a` have no sign."""
    kinds = (np.dtype(np.uint8), dtype.np) if dtype.is_int else (dtype.np, dtype.np)
    wide = np.int64 if dtype.is_int else np.float64
    pairs = zip((a, b), kinds, strict=True)
    left, right = (np.array(x)[..., None].view(kind).astype(wide) for x, kind in pairs)
    return (c.astype(wide) + (left * right).sum(-1)).astype(c.dtype)[()]


@cache
def _fused(name: str, kind: Any) -> Any:
    """`fma` or `fmaf` of the C library: one rounding, in hardware or not."""
    library = ctypes.CDLL(None if os.name == "posix" else "ucrtbase")
    function = library[name]
    function.argtypes, function.restype = [kind] * 3, kind
    return function


def _fma(a: Any, b: Any, c: Any) -> Any:
    if np.ndim(a):
        return np.array([_fma(*row) for row in zip(a, b, c, strict=True)])
    single = a.dtype == np.float32
    function = _fused("fmaf", ctypes.c_float) if single else _fused("fma", ctypes.c_double)
    return a.dtype.type(function(float(a), float(b), float(c)))
