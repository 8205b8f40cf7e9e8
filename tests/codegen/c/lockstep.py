"""A plain interpreter of hand-built graphs: all threads go through the nodes in step.

Every value is an array with an element per thread, so a barrier has nothing to do; inside an IF the
threads that did not go in neither write nor update. It reads the nodes as they were added: no pass
of the compiler has touched them. What may live here: what each kind of node means.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from adjoint.handbuilt.uops import BinaryOps, TernaryOps, UnaryOps, UOpGraph, UOps
from adjoint.ir.dtype import DType
from tests.codegen.c.corpus import Array


def run(graph: UOpGraph, arrays: Sequence[Array]) -> None:
    """The graph on one array per DEFINE_GLOBAL; those that it may write are written."""
    with np.errstate(all="ignore"):
        threads = _Threads(graph, arrays)
        threads.block(0, len(graph.nodes))


class _Threads:
    def __init__(self, graph: UOpGraph, arrays: Sequence[Array]) -> None:
        self.nodes = graph.nodes
        self.values: dict[Any, Array] = {}
        self.registers: dict[Any, Array] = {}
        specials = {n.arg[1]: n.arg[2] for n in self.nodes if n.kind is UOps.SPECIAL}
        names = sorted(specials)
        self.group = [n for n in names if n[0] == "g"]
        self.count = int(np.prod([specials[n] for n in names]))
        places = np.unravel_index(np.arange(self.count), [specials[n] for n in names] or [1])
        self.places = dict(zip(names, places, strict=False))
        self.number = np.zeros(self.count, int)
        for name in self.group:
            self.number = self.number * specials[name] + self.places[name]
        self.groups = int(self.number.max()) + 1
        self.active = np.ones(self.count, bool)
        given = iter(arrays)
        self.memory = {n: next(given) for n in self.nodes if n.kind is UOps.DEFINE_GLOBAL}
        self.ends = self.matched()

    def matched(self) -> dict[int, int]:
        """Where every LOOP and IF ends."""
        found, open_ = {}, []
        for node in self.nodes:
            if node.kind in (UOps.LOOP, UOps.IF):
                open_.append(node.number)
            elif node.kind in (UOps.ENDLOOP, UOps.ENDIF):
                found[open_.pop()] = node.number
        return found

    def block(self, first: int, last: int) -> None:
        at = first
        while at < last:
            node = self.nodes[at]
            if node.kind is UOps.LOOP:
                for turn in range(node.vin[0].arg, node.vin[1].arg):
                    self.values[node] = self.full(turn, node.dtype)
                    self.block(at + 1, self.ends[at])
                at = self.ends[at]
            elif node.kind is UOps.IF:
                before = self.active
                self.active = before & self.get(node.vin[0])
                self.block(at + 1, self.ends[at])
                self.active = before
                at = self.ends[at]
            else:
                self.step(node)
            at += 1

    def full(self, value: Any, dtype: DType) -> Array:
        return np.full(self.count, np.asarray(value).astype(dtype.np))

    def get(self, node: Any) -> Array:
        """What a node is now: of a register, what it holds."""
        if node.kind is UOps.PHI:
            node = node.vin[0]
        return self.registers[node] if node.kind is UOps.DEFINE_ACC else self.values[node]

    def step(self, node: Any) -> None:
        match node.kind:
            case UOps.CONST:
                self.values[node] = self.full(node.arg, node.dtype)
            case UOps.SPECIAL:
                self.values[node] = self.places[node.arg[1]].astype(node.dtype.np)
            case UOps.DEFINE_LOCAL:
                shape = self.groups, node.arg[1]
                self.memory[node] = np.zeros(shape, node.dtype.base.np)
            case UOps.DEFINE_ACC:
                start = self.get(node.vin[0]) if node.vin else self.full(node.arg, node.dtype)
                self.registers[node] = start.copy()
            case UOps.PHI:
                acc = node.vin[0]
                self.registers[acc] = np.where(
                    self.active, self.get(node.vin[1]), self.registers[acc]
                )
            case UOps.LOAD:
                self.values[node] = self.load(node)
            case UOps.STORE:
                self.store(node)
            case UOps.ALU | UOps.CAST | UOps.BITCAST:
                self.values[node] = _computed(node, [self.get(n) for n in node.vin])

    # ---- memory

    def place(self, node: Any, inside: Array) -> Any:
        """The elements that these threads mean."""
        at = self.get(node.vin[1])[inside].astype(int)
        local = node.vin[0].kind is UOps.DEFINE_LOCAL
        return (self.number[inside], at) if local else at

    def load(self, node: Any) -> Array:
        inside, found = self.active, np.zeros(self.count, node.dtype.np)
        if len(node.vin) == 4:
            inside, found = inside & self.get(node.vin[2]), self.get(node.vin[3]).copy()
        found[inside] = self.memory[node.vin[0]][self.place(node, inside)]
        return found

    def store(self, node: Any) -> None:
        gated = len(node.vin) == 4
        inside = self.active & self.get(node.vin[3]) if gated else self.active
        self.memory[node.vin[0]][self.place(node, inside)] = self.get(node.vin[2])[inside]


# ---- arithmetic


def _computed(node: Any, x: list[Array]) -> Array:
    if node.kind is UOps.CAST:
        return _cast(x[0], node.dtype)
    if node.kind is UOps.BITCAST:
        return x[0].view(node.dtype.np)
    op = node.arg
    if op is TernaryOps.WHERE:
        return np.where(*x)
    if op is TernaryOps.MULACC:
        return _fused(*x) if node.dtype.is_float else x[0] * x[1] + x[2]
    kind = "whole" if node.vin[0].dtype.is_int else "other"
    found = _OPS.get((op, kind)) or _OPS[op, "any"]
    return np.asarray(found(*x)).astype(node.dtype.np, copy=False)


def _cast(x: Array, dtype: DType) -> Array:
    """Floats saturate into integers, NaN becomes 0; integers wrap around."""
    floating = x.dtype.kind not in "biu"
    if dtype.is_bool:
        return x != 0
    if not dtype.is_int or not floating:
        return x.astype(dtype.np)
    low, high = int(dtype.min), int(dtype.max)
    whole = [0 if v != v else low if v < low else high if v > high else int(v) for v in _reals(x)]
    return np.array(whole, dtype.np)


def _reals(x: Array) -> list[float]:
    return [float(v) for v in x]


def _quotient(a: Array, b: Array) -> Array:
    """Towards zero; by zero it is 0, and what the dtype does not hold wraps around."""
    pairs = [(int(p), int(q)) for p, q in zip(a, b, strict=True)]
    found = [abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1) if q else 0 for p, q in pairs]
    return np.array([v & (2 ** (8 * a.itemsize) - 1) for v in found], f"u{a.itemsize}").view(
        a.dtype
    )


def _rest(a: Array, b: Array) -> Array:
    """What such a quotient leaves, with the sign of a; by zero it is 0."""
    return np.where(b == 0, a.dtype.type(0), a - _quotient(a, b) * b)


def _shift(to_left: bool) -> Any:
    """All bits are shifted out by a number that is not below the width."""

    def shifted(a: Array, b: Array) -> Array:
        bits = 8 * a.itemsize
        few = (b >= 0) & (b < bits)
        by = np.where(few, b, 0).astype(a.dtype)
        spent = a * 0 if to_left else np.where(a < 0, -1, 0).astype(a.dtype)
        return np.where(few, a << by if to_left else a >> by, spent)

    return shifted


@cache
def _library(name: str, kind: Any) -> Any:
    function = ctypes.CDLL(None if os.name == "posix" else "ucrtbase")[name]
    function.argtypes, function.restype = [kind] * 3, kind
    return function


def _fused(a: Array, b: Array, c: Array) -> Array:
    """Rounded once; floats of 16 bits are computed in 32 and rounded again."""
    wide = a.dtype == np.float64
    function = _library("fma", ctypes.c_double) if wide else _library("fmaf", ctypes.c_float)
    rows = zip(_reals(a), _reals(b), _reals(c), strict=True)
    found = np.array([function(*row) for row in rows], np.float64 if wide else np.float32)
    return found.astype(a.dtype)


def _extreme(larger: bool) -> Any:
    def chosen(a: Array, b: Array) -> Array:
        first = a > b if larger else a < b
        return np.where(first | (a != a), a, b)

    return chosen


_OPS: dict[tuple[Any, str], Any] = {
    (UnaryOps.NEG, "any"): np.negative,
    (UnaryOps.NOT, "any"): np.logical_not,
    (UnaryOps.NOT, "whole"): np.invert,
    (UnaryOps.ABS, "any"): np.abs,
    (UnaryOps.SQRT, "any"): np.sqrt,
    (UnaryOps.RECIP, "any"): lambda x: x.dtype.type(1) / x,
    (UnaryOps.FLOOR, "any"): np.floor,
    (UnaryOps.CEIL, "any"): np.ceil,
    (UnaryOps.TRUNC, "any"): np.trunc,
    (UnaryOps.ROUND, "any"): np.rint,
    (BinaryOps.ADD, "any"): np.add,
    (BinaryOps.SUB, "any"): np.subtract,
    (BinaryOps.MUL, "any"): np.multiply,
    (BinaryOps.DIV, "any"): np.true_divide,
    (BinaryOps.DIV, "whole"): _quotient,
    (BinaryOps.MOD, "any"): np.fmod,
    (BinaryOps.MOD, "whole"): _rest,
    (BinaryOps.MAX, "any"): _extreme(True),
    (BinaryOps.MIN, "any"): _extreme(False),
    (BinaryOps.CMPLT, "any"): np.less,
    (BinaryOps.CMPLE, "any"): np.less_equal,
    (BinaryOps.CMPEQ, "any"): np.equal,
    (BinaryOps.CMPNE, "any"): np.not_equal,
    (BinaryOps.AND, "any"): np.bitwise_and,
    (BinaryOps.OR, "any"): np.bitwise_or,
    (BinaryOps.XOR, "any"): np.bitwise_xor,
    (BinaryOps.SHL, "any"): _shift(True),
    (BinaryOps.SHR, "any"): _shift(False),
}
