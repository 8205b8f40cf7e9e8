"""The nodes of hand-built graphs, kind by kind: what each takes, and what it is at kernel level.

`MAKERS` has a function for each kind; it takes a `Draft`, checks it, and gives what was made. Every
error names the node by its number, its kind and the user's line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adjoint.errors import AdjointError, class_of, did_you_mean
from adjoint.handbuilt.vocabulary import (
    ARITY,
    COMPARISONS,
    Alu,
    TernaryOps,
    UOps,
    kinds_of,
    op_name,
)
from adjoint.ir.bounds import bounds
from adjoint.ir.dtype import VOID, DType, as_dtype, dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.origin import Site, resolve
from adjoint.ir.uop import UOp
from adjoint.ops.casts import CastArg
from adjoint.ops.loop_ops import LoadArg

if TYPE_CHECKING:
    from adjoint.handbuilt.graph import Node, UOpGraph

_DEEPEST = 64  # loops and conditions inside one another; compilers have such limits, too
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_SPECIAL = re.compile(r"[gl]idx[0-2]")


def fault(
    code: str, node: Any, problem: str, operands: Sequence[Any] = (), help: str = ""
) -> AdjointError:
    """The error about a node, or a draft of one: its number, kind and line, and its operands."""
    kind = class_of(code)
    shown = [(f"node {n.number} {n.kind.name}", n) for n in operands if hasattr(n, "number")]
    if node is None:
        return kind(code, problem, op="UOpGraph", operands=shown, help=help)
    place = resolve(node.raw)
    where = f" at {place.file}:{place.line}" if place is not None else ""
    return kind(
        code, f"node {node.number}{where}: {problem}", op=_title(node), operands=shown, help=help
    )


def _title(node: Any) -> str:
    name = getattr(node.kind, "name", str(node.kind))
    return f"{name} {node.arg.name}" if node.kind is UOps.ALU and _is_alu(node.arg) else name


def _is_alu(arg: Any) -> bool:
    return type(arg) in ARITY


class Made(NamedTuple):
    """A node of the kernel level; whether an equal one may take its place; whether it is known
    in the whole kernel."""

    value: UOp
    shared: bool = False
    at_top: bool = False


class Draft:
    """What `add` was called with."""

    __slots__ = ("arg", "dtype", "graph", "kind", "number", "raw", "vin")

    def __init__(
        self, graph: UOpGraph, number: int, kind: Any, vin: Any, arg: Any, raw: Site | None
    ):
        self.graph, self.number, self.kind = graph, number, kind
        self.vin: tuple[Node, ...] = vin if isinstance(vin, tuple) else (vin,)
        if isinstance(vin, list):
            self.vin = tuple(vin)
        self.arg, self.raw = arg, raw
        self.dtype: DType | None = None

    def check(self, dtype: Any) -> None:
        """What holds for every kind: it exists, and its operands are nodes that are known here."""
        if not isinstance(self.kind, UOps):
            near = did_you_mean(str(self.kind).rpartition(".")[2].upper(), UOps.__members__)
            raise self.wrong("E2002", f"{self.kind!r} is no member of UOps", near)
        with self.blamed():
            self.dtype = None if dtype is None else as_dtype(getattr(dtype, "base", dtype))
        if self.dtype is not None and self.dtype.is_complex:
            raise self.wrong("E2005", "kernels compute with real numbers")
        for place, node in enumerate(self.vin):
            self._check_operand(place, node)

    def _check_operand(self, place: int, node: Any) -> None:
        if getattr(node, "graph", None) is None or not hasattr(node, "block"):
            fix = "operands are what add() returned; a number is UOps.CONST"
            raise self.wrong("E2001", f"operand {place} is {node!r}, no node of a graph", fix)
        if node.graph is not self.graph:
            raise self.wrong("E4001", f"operand {place} is a node of another graph")
        if not self.graph.is_open(node.block):
            head = self.graph.head_of(node.block)
            problem = f"node {node.number} is used outside the {head.kind.name} it was added in"
            fix = f"the {head.kind.name} (node {head.number}) has ended; carry the value out with "
            raise self.wrong("E4001", problem, fix + "DEFINE_ACC and PHI, or STORE it")

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Errors of the kernel level, about this node."""
        try:
            yield
        except AdjointError as error:
            if error.problem.startswith("node "):
                raise
            raise self.wrong(error.code, error.problem, error.help) from None

    def wrong(self, code: str, problem: str, help: str = "") -> AdjointError:
        return fault(code, self, problem, self.vin, help)

    def need(self, holds: bool, code: str, problem: str, help: str = "") -> None:
        if not holds:
            raise self.wrong(code, problem, help)

    def arity(self, *counts: int) -> None:
        words = " or ".join(map(str, counts))
        given = len(self.vin)
        self.need(given in counts, "E2007", f"takes {words} operands, got {given}")

    def typed(self, dtype: DType) -> None:
        """The dtype that was given, if any, is the one that comes out."""
        if self.dtype is not None and self.dtype is not dtype:
            problem = f"gives {dtype.name}, not {self.dtype.name}"
            raise self.wrong("E2001", problem, "name that dtype, or leave it out; CAST converts")

    def given(self) -> DType:
        """The dtype, if nothing else determines it."""
        self.need(self.dtype is not None, "E2003", "needs a dtype")
        assert self.dtype is not None
        return self.dtype

    def fields(self, words: str, *kinds: type) -> tuple[Any, ...]:
        """The parts of `arg`, of these types."""
        arg = self.arg if isinstance(self.arg, (tuple, list)) else ()
        fits = len(arg) >= len(kinds) and all(map(_is_a, arg, kinds))
        self.need(fits, "E2007", f"arg is ({words}), got {self.arg!r}")
        return tuple(arg)

    def read(self, first: int = 0) -> list[UOp]:
        """The values of the operands from the first on; each must have one."""
        for place, node in enumerate(self.vin[first:], first):
            value = isinstance(node.dtype, DType) and node.dtype is not VOID
            self.need(value, "E2001", f"operand {place}, {node.kind.name}, has no value")
        return [self.graph.read(n) for n in self.vin[first:]]


def _is_a(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


# ---- leaves


def _const(d: Draft) -> Made:
    d.arity(0)
    kind = d.given()
    return Made(_number(d, d.arg, kind), shared=True, at_top=True)


def _number(d: Draft, arg: Any, kind: DType) -> UOp:
    """A constant that the dtype holds; of a float, the nearest."""
    value = arg.item() if isinstance(arg, np.generic) else arg
    d.need(isinstance(value, (bool, int, float)), "E2001", f"arg is a number, not {arg!r}")
    held = kind.is_float or (value in (0, 1) if kind.is_bool else value == value // 1)
    d.need(held, "E2006", f"{arg!r} is no value of {kind.name}")
    made: UOp = OPS["const"](value, kind, (), None)
    return made


def _free_name(d: Draft, name: str) -> None:
    d.need(_NAME.fullmatch(name) is not None, "E1002", f"{name!r} is no name of a parameter")
    taken = [n for n in d.graph.nodes if getattr(n.value.arg, "name", None) == name]
    d.need(not taken, "E4002", f"the name {name!r} is taken{_by(taken)}")


def _by(nodes: list[Node]) -> str:
    return f" by node {nodes[0].number}" if nodes else ""


def _define_global(d: Draft) -> Made:
    d.arity(0)
    index, name, mutable, *rest = d.fields("slot, name, mutable[, size]", int, str, bool)
    size = rest[0] if rest else None
    sized = len(rest) < 2 and (size is None or (_is_a(size, int) and size >= 0))
    d.need(sized, "E2007", f"arg is (slot, name, mutable[, size]), got {d.arg!r}")
    slots = {n.value.arg.index: n for n in d.graph.nodes if n.kind is UOps.DEFINE_GLOBAL}
    d.need(index >= 0, "E4004", f"slot {index} is no place in the list of parameters")
    same = [slots[index]] if index in slots else []
    d.need(not same, "E4002", f"slot {index} is taken{_by(same)}")
    last = max(slots, default=-1)
    d.need(index > last, "E4004", f"slot {index} comes after slot {last}", "add them in order")
    _free_name(d, name)
    return Made(OPS["define_global"](index, name, mutable, d.given(), size), at_top=True)


def _define_local(d: Draft) -> Made:
    d.arity(0)
    name, size, *_ = d.fields("name, size", str, int)
    d.need(size > 0, "E3006", f"{size} elements are no memory")
    top = "memory of a group is declared before the first LOOP or IF"
    d.need(d.graph.innermost is None, "E4001", top)
    _free_name(d, name)
    return Made(OPS["define_local"](name, d.given(), size), at_top=True)


def _special(d: Draft) -> Made:
    d.arity(0)
    number, name, size, *_ = d.fields("number, name, size", int, str, int)
    known = _SPECIAL.fullmatch(name) is not None
    d.need(known, "E2002", f"{name!r} is no index of a thread", "gidx0 to gidx2, lidx0 to lidx2")
    d.need(number >= 0, "E2007", f"{number} is no number of an index")
    d.need(size > 0, "E3006", f"a grid of {size} has no threads")
    value = OPS["special"](name, size, d.dtype or dtypes.int32)
    others = [n for n in d.graph.nodes if n.kind is UOps.SPECIAL and n.value is not value]
    taken = [n for n in others if n.value.arg.name == name]
    d.need(not taken, "E4002", f"{name} has another size or dtype{_by(taken)}")
    return Made(value, shared=True, at_top=True)


# ---- structure


def _check_depth(d: Draft) -> None:
    """Before another LOOP or IF is opened."""
    around = len(d.graph.around)
    d.need(around < _DEEPEST, "E6003", f"stands inside {around} loops and conditions already")


def _loop(d: Draft) -> Made:
    d.arity(2)
    _check_depth(d)
    for place, node in enumerate(d.vin):
        problem = f"operand {place} is {node.kind.name}; a loop goes from a CONST to a CONST"
        d.need(node.kind is UOps.CONST, "E2001", problem)
        d.need(node.dtype.is_int, "E2005", f"operand {place} is {node.dtype.name}, no integer")
    start, stop = (n.value.arg.value for n in d.vin)
    d.need(start < stop, "E3006", f"a loop from {start} to {stop} never runs")
    kind = d.dtype or d.vin[0].dtype
    number = d.graph.count(UOps.LOOP)
    return Made(OPS["range"](number, stop - start, start, kind))


def _end(kind: UOps, op: str) -> Callable[[Draft], Made]:
    def make(d: Draft) -> Made:
        d.arity(1)
        (head,) = d.vin
        d.need(head.kind is kind, "E2001", f"ends a {kind.name}, not a {head.kind.name}")
        inner = d.graph.innermost
        if inner is not head:
            assert inner is not None
            problem = f"the {inner.kind.name} of node {inner.number} is inside and has not ended"
            raise d.wrong("E4001", problem, f"end node {inner.number} first")
        return Made(OPS[op](head.value))

    return make


def _if(d: Draft) -> Made:
    d.arity(1)
    _check_depth(d)
    return Made(OPS["if"](*d.read()))


def _barrier(d: Draft) -> Made:
    inside = [n for n in d.graph.around if n.kind is UOps.IF]
    problem = "stands in an IF: threads that do not go in would be waited for forever"
    d.need(not inside, "E4001", problem, "end the IF before the BARRIER")
    return Made(OPS["barrier"](*d.graph.effects))


def _define_acc(d: Draft) -> Made:
    values = [n for n in d.vin if n.kind is not UOps.LOOP]
    d.need(len(values) <= 1, "E2007", f"takes one value to start from, got {len(values)}")
    d.need(bool(values) != (d.arg is not None), "E2007", "starts from arg or from an operand")
    if values:
        start = d.graph.read(values[0])
        d.typed(start.dtype)
    else:
        start = _number(d, d.arg, d.given())
    return Made(OPS["define_acc"](start, d.graph.count(UOps.DEFINE_ACC)))


def _phi(d: Draft) -> Made:
    d.need(len(d.vin) >= 2, "E2007", f"takes an accumulator and a value, got {len(d.vin)} operands")
    acc, value, *named = d.vin
    d.need(acc.kind is UOps.DEFINE_ACC, "E2001", f"updates a DEFINE_ACC, not a {acc.kind.name}")
    before = d.graph.update_of(acc)
    d.need(
        before is None, "E4002", "the accumulator is updated" + (_by([before]) if before else "")
    )
    loops = d.graph.loops_since(acc)
    problem = "no loop is open around it that was opened after the DEFINE_ACC"
    d.need(bool(loops), "E4001", problem, "add the LOOP between DEFINE_ACC and PHI")
    stray = [n for n in named if n not in loops]
    problem = "operands after the second are loops around it, opened after the DEFINE_ACC"
    d.need(not stray, "E4001", problem)
    d.typed(acc.dtype)
    new = d.graph.read(value)
    return Made(OPS["phi"](acc.value, new, *(n.value for n in loops)))


# ---- memory


def _check_inside(d: Draft, index: UOp) -> None:
    size = d.vin[0].value.arg.size
    if size is None or not index.dtype.is_int:
        return
    lo, hi = bounds(index)
    span = str(lo) if lo == hi else f"{lo} to {hi}"
    d.need(hi >= 0 and lo < size, "E6001", f"index {span} is outside memory of {size} elements")


def _memory(d: Draft) -> list[UOp]:
    """Memory and the operands after it."""
    buffer, kinds = d.vin[0], (UOps.DEFINE_GLOBAL, UOps.DEFINE_LOCAL)
    problem = f"the first operand is {buffer.kind.name}, not DEFINE_GLOBAL or DEFINE_LOCAL"
    d.need(buffer.kind in kinds, "E2001", problem)
    return [buffer.value, *d.read(1)]


def _load(d: Draft) -> Made:
    d.arity(2, 4)
    src = _memory(d)
    value = UOp(OPS["load"], tuple(src), LoadArg(1, d.graph.count(UOps.LOAD)))
    d.typed(value.dtype)
    if len(src) == 2:
        _check_inside(d, src[1])
    return Made(value)


def _store(d: Draft) -> Made:
    d.arity(3, 4)
    d.need(d.dtype is None or d.dtype is d.vin[2].dtype, "E2001", "has no value, so no dtype")
    src = _memory(d)
    value = UOp(OPS["store"], tuple(src))
    if len(src) == 3:
        _check_inside(d, src[1])
    return Made(value)


# ---- arithmetic


def _alu(d: Draft) -> Made:
    d.need(_is_alu(d.arg), "E2002", "arg is a member of UnaryOps, BinaryOps or TernaryOps")
    op: Alu = d.arg
    d.arity(ARITY[type(op)])
    src = d.read()
    if op is TernaryOps.WHERE:
        condition, *numbers = src
        d.need(condition.dtype is dtypes.bool_, "E2005", f"chooses by {condition.dtype.name}")
    else:
        numbers = src
    kind = numbers[0].dtype
    same = all(s.dtype is kind for s in numbers)
    d.need(same, "E2004", "the dtypes differ: " + ", ".join(s.dtype.name for s in numbers))
    name = op_name(op, kind)
    if name is None:
        raise d.wrong("E2005", f"takes {kinds_of(op)}, not {kind.name}")
    d.typed(dtypes.bool_ if op in COMPARISONS else kind)
    if op is TernaryOps.MULACC and name == "mul":
        return Made(OPS["add"](OPS["mul"](*src[:2]), src[2]), shared=True)
    return Made(UOp(OPS[name], tuple(src)), shared=True)


def _cast(d: Draft) -> Made:
    d.arity(1)
    src = d.read()
    return Made(UOp(OPS["cast"], tuple(src), CastArg(d.given())), shared=True)


def _bitcast(d: Draft) -> Made:
    d.arity(1)
    src, kind = d.read(), d.given()
    if src[0].dtype.itemsize != kind.itemsize or kind.is_bool or src[0].dtype.is_bool:
        raise d.wrong("E2005", f"the bits of {src[0].dtype.name} are no {kind.name}")
    return Made(UOp(OPS["bitcast"], tuple(src), CastArg(kind)), shared=True)


MAKERS: dict[UOps, Callable[[Draft], Made]] = {
    UOps.CONST: _const,
    UOps.DEFINE_GLOBAL: _define_global,
    UOps.DEFINE_LOCAL: _define_local,
    UOps.DEFINE_ACC: _define_acc,
    UOps.SPECIAL: _special,
    UOps.LOOP: _loop,
    UOps.ENDLOOP: _end(UOps.LOOP, "end_range"),
    UOps.IF: _if,
    UOps.ENDIF: _end(UOps.IF, "endif"),
    UOps.LOAD: _load,
    UOps.STORE: _store,
    UOps.ALU: _alu,
    UOps.CAST: _cast,
    UOps.BITCAST: _bitcast,
    UOps.PHI: _phi,
    UOps.BARRIER: _barrier,
}
