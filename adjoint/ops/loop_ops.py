"""The kernel level: loops, memory and threads, below the tensor ops.

Arithmetic is shared with the tensor level (records of level "both"); here are the leaves, memory
and structure of one kernel. A value is a scalar, or a vector register of shape (n,). An op without
a value has dtype void; such a node is an effect. Effects are ordered by the graph alone: END_RANGE
and ENDIF list what happens inside, AFTER makes a reader wait, SINK holds what a kernel does. A
flat list of nodes in running order, as hand-built graphs have it, may leave those lists empty.

These records are no methods of nodes or tensors, have no derivative (gradients are taken before
lowering), and are not run by the interpreter of tensor graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.errors import ArgumentError, DeviceError, IndexKindError, ShapeError, class_of
from adjoint.ir.arg import Arg
from adjoint.ir.bounds import Ranged
from adjoint.ir.derivative import NotDifferentiable
from adjoint.ir.dtype import VOID, DType, PtrDType, as_dtype, dtypes, fits, pointer
from adjoint.ir.kernel_kind import (
    ACCUMULATOR,
    AFTER,
    ASK,
    ATOMIC,
    BARRIER,
    COUNT,
    END_IF,
    END_RANGE,
    GLOBAL,
    IF,
    LOAD,
    LOCAL,
    LOOP_LEVEL,
    PHI,
    RANGE,
    SINK,
    STORE,
    SUM,
    THREAD,
    VARIABLE,
    LoopLevel,
)
from adjoint.ir.opdef import OpDef, register
from adjoint.ir.uop import UOp

Types = tuple[Any, Any]
Nodes = tuple[UOp, ...]


def _never_run(*operands: Any, **attrs: Any) -> Any:
    problem = "belongs to the kernel level; the interpreter of tensor graphs does not run it"
    raise DeviceError("E6003", problem, op="kernel")


def _kernel(
    name: str,
    doc: str,
    call: Any,
    infer: Any,
    arg: type[Arg] | None = None,
    kernel: LoopLevel = LOOP_LEVEL,
) -> OpDef:
    record = OpDef(
        name,
        doc,
        "primitive",
        call=call,
        infer=infer,
        arg=arg,
        ad=NotDifferentiable("kernel level: derivatives are taken before lowering"),
        reference=_never_run,
        samples=list,
        level="kernel",
        kernel=kernel,
        public=False,
        opcode=False,
        signature=call,
    )
    return register(record, method=False)


def _wrong(op: str, code: str, problem: str, src: Sequence[UOp]) -> Exception:
    operands = [(f"operand {i}", s) for i, s in enumerate(src)]
    kind = IndexKindError if code == "E4011" else class_of(code)
    return kind(code, problem, op=op, operands=operands)


def _need(op: str, holds: bool, problem: str, src: Sequence[UOp], code: str = "E2001") -> None:
    if not holds:
        raise _wrong(op, code, problem, src)


def _effects(op: str, nodes: Sequence[UOp], src: Sequence[UOp]) -> None:
    problem = "lists effects: store, end_range, endif, barrier"
    _need(op, all(n.dtype is VOID and n.op.name != "if" for n in nodes), problem, src)


# ---- leaves: what the surroundings give a kernel


class RangeArg(Ranged):
    id: int
    size: int
    start: int
    dtype: DType
    lanes: int = 1  # how many consecutive iterations are done side by side
    grid: bool = False  # whether its iterations are divided among threads

    @property
    def bounds(self) -> tuple[int, int]:
        return self.start, self.start + max(self.size, 1) - 1


class VariableArg(Ranged):
    name: str
    lo: int
    hi: int
    dtype: DType

    @property
    def bounds(self) -> tuple[int, int]:
        return self.lo, self.hi


class SpecialArg(Ranged):
    name: str
    size: int
    dtype: DType

    @property
    def bounds(self) -> tuple[int, int]:
        return 0, self.size - 1


def _index_type(src: Nodes, arg: Any) -> Types:
    lo, hi = arg.bounds
    if not arg.dtype.is_int or not (fits(lo, arg.dtype) and fits(hi, arg.dtype)):
        problem = f"{lo} to {hi} are not values of {arg.dtype.name}"
        raise ArgumentError("E2006", problem, op="index", help="use a wider integer dtype")
    if lo > hi:
        raise ShapeError("E3006", f"the range from {lo} to {hi} is empty", op="index")
    return (), arg.dtype


def _range(
    id: int,
    size: int,
    start: int = 0,
    dtype: Any = dtypes.int32,
    lanes: int = 1,
    grid: bool = False,
    count: UOp | None = None,
) -> UOp:
    if size < 0 or lanes < 1:
        raise ShapeError("E3006", f"a loop runs {size} times, {lanes} side by side", op="range")
    src = () if count is None else (count,)
    return UOp(range_, src, RangeArg(id, size, start, as_dtype(dtype), lanes, grid))


def _range_type(src: Nodes, arg: RangeArg) -> Types:
    integer = all(isinstance(s.dtype, DType) and s.dtype.is_int for s in src)
    _need("range", len(src) < 2 and integer, "takes at most its length, an integer", src)
    return _index_type(src, arg)


def _variable(name: str, lo: int, hi: int, dtype: Any = dtypes.int32) -> UOp:
    return UOp(variable, (), VariableArg(name, lo, hi, as_dtype(dtype)))


def _special(name: str, size: int, dtype: Any = dtypes.int32) -> UOp:
    return UOp(special, (), SpecialArg(name, size, as_dtype(dtype)))


range_ = _kernel(
    "range",
    "The counter of a loop: `size` values from `start` on, or `count` of them if that is known "
    "only when it runs. Nodes that use it are inside; `id` tells loops of one size apart. With "
    "`lanes` > 1 that many consecutive iterations run side by side, and an accumulator of the loop "
    "has a value per lane, joined by halving at the end.",
    _range,
    _range_type,
    RangeArg,
    kernel=RANGE,
)
variable = _kernel(
    "variable",
    "An integer that is known when the kernel is launched, between `lo` and `hi`.",
    _variable,
    _index_type,
    VariableArg,
    kernel=VARIABLE,
)
special = _kernel(
    "special",
    "The position of this thread: `gidx0` of its group in the grid, `lidx0` inside the group; "
    "`size` is how many there are.",
    _special,
    _index_type,
    SpecialArg,
    kernel=THREAD,
)


# ---- memory


class GlobalArg(Arg):
    index: int  # type: ignore[assignment]
    name: str
    mutable: bool
    dtype: DType
    size: int | None = None


class LocalArg(Arg):
    name: str
    dtype: DType
    size: int


class AccArg(Arg):
    id: int


def _define_global(
    index: int, name: str, mutable: bool, dtype: Any, size: int | None = None
) -> UOp:
    return UOp(define_global, (), GlobalArg(index, name, bool(mutable), as_dtype(dtype), size))


def _define_local(name: str, dtype: Any, size: int) -> UOp:
    return UOp(define_local, (), LocalArg(name, as_dtype(dtype), size))


def _define_acc(init: UOp, id: int) -> UOp:
    return UOp(define_acc, (init,), AccArg(id))


def _acc_type(src: Nodes, arg: AccArg) -> Types:
    _need("define_acc", len(src) == 1, "takes the value it starts from", src, "E2007")
    _need(
        "define_acc",
        isinstance(src[0].dtype, DType) and src[0].dtype is not VOID,
        "holds numbers",
        src,
    )
    return src[0].shape, src[0].dtype


define_global = _kernel(
    "define_global",
    "A parameter of the kernel: memory with `size` elements (None: not known), the parameter "
    "number `index` of the list.",
    _define_global,
    lambda src, arg: ((), pointer(arg.dtype, arg.mutable)),
    GlobalArg,
    kernel=GLOBAL,
)
define_local = _kernel(
    "define_local",
    "Memory that the threads of one group share while the kernel runs.",
    _define_local,
    lambda src, arg: ((), pointer(arg.dtype, True, True)),
    LocalArg,
    kernel=LOCAL,
)
define_acc = _kernel(
    "define_acc",
    "A register that a loop updates, with its value before the loop. Inside the loop it reads as "
    "the value so far; PHI gives the next one.",
    _define_acc,
    _acc_type,
    AccArg,
    kernel=ACCUMULATOR,
)


class LoadArg(Arg):
    width: int = 1
    order: int = 0  # tells loads of one place apart that stand at different points of a list


def _load(buffer: UOp, index: Any, gate: Any = None, alt: Any = None, width: int = 1) -> UOp:
    given = tuple(n for n in (gate, alt) if n is not None)
    return UOp(load, (buffer, _as_index(index), *given), LoadArg(width))


def _as_index(index: Any) -> UOp:
    return index if isinstance(index, UOp) else UOp._apply("const", index, dtypes.int32, (), None)


def _check_access(op: str, src: Nodes) -> PtrDType:
    _need(op, len(src) >= 2, "takes a buffer and an index", src, "E2007")
    buffer, index = src[:2]
    kind = buffer.dtype
    if not isinstance(kind, PtrDType):
        raise _wrong(op, "E2001", "the first operand is memory: define_global or define_local", src)
    integer = isinstance(index.dtype, DType) and index.dtype.is_int
    _need(op, integer, "the index is an integer", src, "E4011")
    _need(
        op, index.shape == (), "the index is a scalar; a vector access is consecutive", src, "E3002"
    )
    return kind


def _is_gate(node: UOp) -> bool:
    return node.op.name == "if" or (node.dtype is dtypes.bool_ and node.shape == ())


def _load_type(src: Nodes, arg: LoadArg) -> Types:
    base = _check_access("load", src).base
    _need("load", arg.width >= 1, "reads at least one element", src, "E3006")
    shape = () if arg.width == 1 else (arg.width,)
    gates, alts = src[2:3], src[3:]
    _need("load", all(map(_is_gate, gates)), "the gate is a scalar bool, or the IF around it", src)
    plain = len(src) == 2 or (len(src) == 3 and gates[0].op.name == "if")
    if not plain:
        fits_in = len(alts) == 1 and alts[0].dtype is base and alts[0].shape == shape
        problem = "a gated load has an alternative of the type it loads"
        _need("load", fits_in, problem, src, "E2004" if len(alts) == 1 else "E2007")
    return shape, base


def _store(buffer: UOp, index: Any, value: UOp, gate: Any = None) -> UOp:
    return UOp(store, (buffer, _as_index(index), value, *(() if gate is None else (gate,))))


def _store_type(src: Nodes, arg: Any) -> Types:
    kind = _check_access("store", src)
    _need("store", len(src) in (3, 4), "takes a buffer, an index, a value and a gate", src, "E2007")
    _need("store", kind.mutable, "the buffer is read-only", src)
    _need("store", src[2].dtype is kind.base, "the value has another dtype", src, "E2004")
    gate = all(map(_is_gate, src[3:]))
    _need("store", gate, "the gate is a scalar bool, or the IF around it", src)
    return (), VOID


load = _kernel(
    "load",
    "The element at `index`, or `width` elements from there on as a vector: wide accesses are what "
    "memory is fast at. With a gate that does not hold, `alt`, and memory is not touched.",
    _load,
    _load_type,
    LoadArg,
    kernel=LOAD,
)
store = _kernel(
    "store",
    "Write a value at `index`, a vector to consecutive elements. With a gate, only where it holds.",
    _store,
    _store_type,
    kernel=STORE,
)


def _count_up_type(src: Nodes, arg: Any) -> Types:
    kind = _check_access("count_up", src)
    _need("count_up", len(src) == 2, "takes a buffer and an index", src, "E2007")
    _need("count_up", kind.mutable, "the buffer is read-only", src)
    _need("count_up", kind.base is dtypes.int32, "counts are int32", src, "E2004")
    return (), dtypes.int32


count_up: OpDef = _kernel(
    "count_up",
    "The count at `index`, which then is one more. The lanes of a loop do so one after another in "
    "their order, so that equal indices get numbers of their own. Every 32 lanes have a part of "
    "the buffer that no others touch meanwhile, the first part the first lanes, and so on.",
    lambda buffer, index: UOp(count_up, (buffer, _as_index(index))),
    _count_up_type,
    kernel=COUNT,
)


def _sum_up(buffer: UOp, index: Any, value: UOp, gate: UOp | None = None) -> UOp:
    given = (buffer, _as_index(index), value)
    return UOp(sum_up, given if gate is None else (*given, gate))


def _sum_up_type(src: Nodes, arg: Any) -> Types:
    kind = _check_access("sum_up", src)
    taken = "takes a buffer, an index, a value and a gate"
    _need("sum_up", len(src) in (3, 4), taken, src, "E2007")
    _need("sum_up", kind.mutable, "the buffer is read-only", src)
    _need("sum_up", src[2].dtype is kind.base, "the value has another dtype", src, "E2004")
    _need("sum_up", kind.base is dtypes.float32, "sums are float32", src, "E2005")
    _need("sum_up", all(map(_is_gate, src[3:])), "the gate is a scalar bool", src)
    return (), VOID


sum_up: OpDef = _kernel(
    "sum_up",
    "A value is added to what lies at `index`. The lanes of a loop do so one after another in "
    "their order, so that a sum has one order of additions. Every 32 lanes have a part of the "
    "buffer that no others touch meanwhile, the first part the first lanes, and so on. With a "
    "gate, only where it holds.",
    _sum_up,
    _sum_up_type,
    kernel=SUM,
)


class AtomicArg(Arg):
    join: str


def _atomic(buffer: UOp, index: Any, value: UOp, join: str, gate: UOp | None = None) -> UOp:
    given = (buffer, _as_index(index), value)
    return UOp(atomic, given if gate is None else (*given, gate), AtomicArg(join))


def _atomic_type(src: Nodes, arg: AtomicArg) -> Types:
    kind = _check_access("atomic", src)
    taken = "takes a buffer, an index, a value and a gate"
    _need("atomic", len(src) in (3, 4), taken, src, "E2007")
    _need("atomic", kind.mutable, "the buffer is read-only", src)
    _need("atomic", src[2].dtype is kind.base, "the value has another dtype", src, "E2004")
    known = arg.join in (("add",) if kind.base.is_float else ("add", "maximum", "minimum"))
    _need("atomic", known, "floats are added; integers also have extremes", src, "E2005")
    wide = kind.base.kind in "iuf" and kind.base.itemsize >= 4
    _need("atomic", wide, "numbers have 32 or 64 bits", src, "E2005")
    _need("atomic", all(map(_is_gate, src[3:])), "the gate is a scalar bool", src)
    return (), VOID


atomic: OpDef = _kernel(
    "atomic",
    "A value is joined with what lies at `index`, by `join`: the sum, or for integers also the "
    "maximum or minimum. Other threads may do the same at that moment, and the order is not "
    "defined. With a gate, only where it holds.",
    _atomic,
    _atomic_type,
    AtomicArg,
    kernel=ATOMIC,
)


def _ask_type(src: Nodes, arg: Any) -> Types:
    _check_access("ask", src)
    _need("ask", len(src) == 2, "takes a buffer and an index", src, "E2007")
    return (), VOID


ask: OpDef = _kernel(
    "ask",
    "Memory is asked for the element at `index`, which will be read soon, so that it is near then. "
    "It need not exist: nothing depends on it.",
    lambda buffer, index: UOp(ask, (buffer, _as_index(index))),
    _ask_type,
    kernel=ASK,
)


# ---- arithmetic that tensors do without


def _fma_type(src: Nodes, arg: Any) -> Types:
    _need("fma", len(src) == 3, "takes three operands", src, "E2007")
    kind = src[0].dtype
    _need("fma", isinstance(kind, DType) and kind.is_float, "multiplies floats", src, "E2005")
    same = all(s.dtype is kind and s.shape == src[0].shape for s in src)
    _need("fma", same, "the types of the operands differ", src, "E2004")
    return src[0].shape, kind


fma: OpDef = _kernel(
    "fma",
    "`a * b + c` rounded once.",
    lambda a, b, c: UOp(fma, (a, b, c)),
    _fma_type,
)


def _inverse_type(src: Nodes, arg: Any) -> Types:
    _need("inverse", len(src) == 1, "takes one operand", src, "E2007")
    kind = src[0].dtype
    _need("inverse", isinstance(kind, DType) and kind.is_float, "divides floats", src, "E2005")
    return src[0].shape, kind


inverse: OpDef = _kernel(
    "inverse",
    "`1 / x` as IEEE rounds it, for NaN and for numbers of 2^-60 to 2^60 alone: where a division "
    "takes many instructions it need not look at the ends of the range.",
    lambda x: UOp(inverse, (x,)),
    _inverse_type,
)


class DotArg(Arg):
    dtype: DType  # of the numbers in a word: int8, where those of the first are uint8; bfloat16


def _dot_type(src: Nodes, arg: DotArg) -> Types:
    _need("dot_words", len(src) == 3, "takes three operands", src, "E2007")
    words = all(s.dtype is dtypes.uint32 and s.shape == src[2].shape for s in src[:2])
    _need("dot_words", words, "multiplies the numbers of two words", src, "E2004")
    sums = {dtypes.int8: dtypes.int32, dtypes.bfloat16: dtypes.float32}.get(arg.dtype)
    _need(
        "dot_words", src[2].dtype is sums, "adds bytes in int32, bfloat16 in float32", src, "E2004"
    )
    return src[2].shape, src[2].dtype


dot: OpDef = _kernel(
    "dot_words",
    "`c` and the products of the numbers of two words: four bytes, of which those of `a` have no "
    "sign, added up modulo 2^32; or two bfloat16, as the instruction of the processor adds them.",
    lambda a, b, c, dtype: UOp(dot, (a, b, c), DotArg(dtype)),
    _dot_type,
    DotArg,
)


# ---- structure


def _end_type(op: str, start: str, problem: str) -> Any:
    def infer(src: Nodes, arg: Any) -> Types:
        first = src[0].op.name if src else ""
        _need(op, first == start, problem, src, "E2001" if src else "E2007")
        _effects(op, src[1:], src)
        return (), VOID

    return infer


def _if_type(src: Nodes, arg: Any) -> Types:
    _need("if", len(src) == 1, "takes one condition", src, "E2007")
    bool_ = src[0].dtype is dtypes.bool_ and src[0].shape == ()
    _need("if", bool_, "the condition is a scalar bool", src, "E2005")
    return (), VOID


def _effects_type(op: str) -> Any:
    def infer(src: Nodes, arg: Any) -> Types:
        _effects(op, src, src)
        return (), VOID

    return infer


def _after_type(src: Nodes, arg: Any) -> Types:
    _need("after", len(src) >= 2, "takes a value and effects", src, "E2007")
    _need("after", src[0].dtype is not VOID, "the first operand has a value", src)
    _effects("after", src[1:], src)
    return src[0].shape, src[0].dtype


def _phi_type(src: Nodes, arg: Any) -> Types:
    _need("phi", len(src) >= 3, "takes an accumulator, its next value and loops", src, "E2007")
    acc, value, *loops = src
    _need("phi", acc.op.name == "define_acc", "the first operand is define_acc", src)
    _need("phi", value.dtype is acc.dtype, "the next value has another dtype", src, "E2004")
    _need("phi", value.shape == acc.shape, "the next value has another shape", src, "E3003")
    _need("phi", all(n.op.name == "range" for n in loops), "updates in ranges", src)
    return acc.shape, acc.dtype


end_range: OpDef = _kernel(
    "end_range",
    "The end of a loop around these effects.",
    lambda loop, *effects: UOp(end_range, (loop, *effects)),
    _end_type("end_range", "range", "ends a range"),
    kernel=END_RANGE,
)
if_: OpDef = _kernel(
    "if",
    "What follows is done only where the condition holds; loads and stores name it as their gate.",
    lambda cond: UOp(if_, (cond,)),
    _if_type,
    kernel=IF,
)
endif: OpDef = _kernel(
    "endif",
    "The end of an IF around these effects.",
    lambda start, *effects: UOp(endif, (start, *effects)),
    _end_type("endif", "if", "ends an if"),
    kernel=END_IF,
)
barrier: OpDef = _kernel(
    "barrier",
    "The threads of a group wait until each of them sees these effects of all.",
    lambda *effects: UOp(barrier, effects),
    _effects_type("barrier"),
    kernel=BARRIER,
)
after: OpDef = _kernel(
    "after",
    "A value or memory as it is after these effects: the edge that keeps a load behind a store.",
    lambda x, *effects: UOp(after, (x, *effects)),
    _after_type,
    kernel=AFTER,
)
phi: OpDef = _kernel(
    "phi",
    "Inside the loops, the next value of the accumulator; outside them, its value at the end.",
    lambda acc, value, *loops: UOp(phi, (acc, value, *loops)),
    _phi_type,
    kernel=PHI,
)


class SinkArg(Arg):
    name: str = "kernel"


sink: OpDef = _kernel(
    "sink",
    "A whole kernel: everything it does, under its name.",
    lambda *effects, name="kernel": UOp(sink, effects, SinkArg(name)),
    _effects_type("sink"),
    SinkArg,
    kernel=SINK,
)


# ---- vectors: registers of several elements, which the CPU's loops are made of


class GepArg(Arg):
    index: int  # type: ignore[assignment]


def _vectorize_type(src: Nodes, arg: Any) -> Types:
    _need("vectorize", len(src) >= 2, "takes at least two scalars", src, "E2007")
    _need("vectorize", all(s.shape == () for s in src), "takes scalars", src, "E3002")
    same = isinstance(src[0].dtype, DType) and all(s.dtype is src[0].dtype for s in src)
    _need("vectorize", same, "the dtypes differ", src, "E2004")
    return (len(src),), src[0].dtype


def _gep_type(src: Nodes, arg: GepArg) -> Types:
    _need("gep", len(src) == 1, "takes one vector", src, "E2007")
    _need("gep", len(src[0].shape) == 1, "takes a vector", src, "E3002")
    inside = 0 <= arg.index < src[0].shape[0]
    _need("gep", inside, f"element {arg.index} is outside", src, "E6001")
    return (), src[0].dtype


vectorize: OpDef = _kernel(
    "vectorize",
    "Scalars as one vector register; the same scalar repeated is a broadcast.",
    lambda *scalars: UOp(vectorize, scalars),
    _vectorize_type,
)
gep: OpDef = _kernel(
    "gep",
    "One element of a vector register; a reduction ends by adding these.",
    lambda x, index: UOp(gep, (x,), GepArg(index)),
    _gep_type,
    GepArg,
)
