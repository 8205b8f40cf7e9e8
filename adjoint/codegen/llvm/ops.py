"""The table from op to LLVM instruction, for scalars and vectors alike.

A line of the table is an instruction with `{t}` for the type of the operands and `%s` for each of
them; an intrinsic, by its name; or a function for what takes more than one instruction. No
fast-math flags, no contraction: every instruction rounds as IEEE says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from adjoint.codegen.llvm import types as ty
from adjoint.codegen.llvm.cast import convert, reinterpret
from adjoint.codegen.llvm.dots import dot_words
from adjoint.codegen.llvm.index import COMPARISONS, DIVISIONS, are_small, compared, divided
from adjoint.codegen.llvm.soft import SOFT
from adjoint.codegen.llvm.writer import Value, Writer
from adjoint.errors import InternalError
from adjoint.ir.dtype import DType
from adjoint.ir.uop import UOp

Names = Sequence[str]

_ANY_INT = "iu"
_BITS = "iub"

# op → kinds of the operands → instruction
INSTRUCTIONS: dict[str, dict[str, str]] = {
    "add": {"f": "fadd {t} %s, %s", _ANY_INT: "add {t} %s, %s", "b": "or {t} %s, %s"},
    "sub": {"f": "fsub {t} %s, %s", _ANY_INT: "sub {t} %s, %s"},
    "mul": {"f": "fmul {t} %s, %s", _ANY_INT: "mul {t} %s, %s", "b": "and {t} %s, %s"},
    "true_div": {"f": "fdiv {t} %s, %s"},
    "neg": {"f": "fneg {t} %s", _ANY_INT: "sub {t} zeroinitializer, %s"},
    "idiv": {"i": "sdiv {t} %s, %s", "u": "udiv {t} %s, %s"},
    "fmod": {"i": "srem {t} %s, %s", "u": "urem {t} %s, %s"},
    "floordiv": {_ANY_INT: "udiv {t} %s, %s"},  # of indices, which are not negative
    "mod": {_ANY_INT: "urem {t} %s, %s"},
    "lt": {"f": "fcmp olt {t} %s, %s", "i": "icmp slt {t} %s, %s", "ub": "icmp ult {t} %s, %s"},
    "le": {"f": "fcmp ole {t} %s, %s", "i": "icmp sle {t} %s, %s", "ub": "icmp ule {t} %s, %s"},
    "eq": {"f": "fcmp oeq {t} %s, %s", _BITS: "icmp eq {t} %s, %s"},
    "ne": {"f": "fcmp une {t} %s, %s", _BITS: "icmp ne {t} %s, %s"},
    "logical_not": {
        "f": "fcmp oeq {t} %s, zeroinitializer",
        _BITS: "icmp eq {t} %s, zeroinitializer",
    },
    "logical_and": {"b": "and {t} %s, %s"},
    "logical_or": {"b": "or {t} %s, %s"},
    "logical_xor": {"b": "xor {t} %s, %s"},
    "bitwise_and": {_BITS: "and {t} %s, %s"},
    "bitwise_or": {_BITS: "or {t} %s, %s"},
    "bitwise_xor": {_BITS: "xor {t} %s, %s"},
    "lshift": {_ANY_INT: "shl {t} %s, %s"},
    "rshift": {"i": "ashr {t} %s, %s", "u": "lshr {t} %s, %s"},
    "maximum": {"b": "or {t} %s, %s"},
    "minimum": {"b": "and {t} %s, %s"},
}

# op → kinds → intrinsic of that many operands of one type
INTRINSICS: dict[str, dict[str, str]] = {
    "sqrt": {"f": "llvm.sqrt"},
    "abs": {"f": "llvm.fabs"},
    "floor": {"f": "llvm.floor"},
    "ceil": {"f": "llvm.ceil"},
    "trunc": {"f": "llvm.trunc"},
    "round": {"f": "llvm.roundeven"},
    "copysign": {"f": "llvm.copysign"},
    "fma": {"f": "llvm.fma"},
    "maximum": {"i": "llvm.smax", "u": "llvm.umax"},
    "minimum": {"i": "llvm.smin", "u": "llvm.umin"},
}


_ARITY = {"copysign": 2, "maximum": 2, "minimum": 2, "fma": 3}


def _by_kind(table: dict[str, dict[str, str]]) -> dict[tuple[str, str], str]:
    return {
        (op, k): text for op, row in table.items() for kinds, text in row.items() for k in kinds
    }


_INSTRUCTION = _by_kind(INSTRUCTIONS)
_INTRINSIC = _by_kind(INTRINSICS)


class _Form(NamedTuple):
    """An instruction that lacks only its operands, and the function it calls with its type."""

    text: str
    callee: str = ""
    declaration: str = ""


Rows = Callable[[Writer, DType, Names, int], str]


@cache
def _form(op: str, dtype: DType, lanes: int) -> _Form | Rows:
    """The table's entry for an op on registers of a dtype."""
    key, kind = (op, dtype.kind), ty.type_of(dtype, lanes)
    if key in _INSTRUCTION:
        return _Form(_INSTRUCTION[key].format(t=kind))
    if key in _INTRINSIC:
        name, arity = _INTRINSIC[key], _ARITY.get(op, 1)
        return _intrinsic(name, dtype, lanes, [kind] * arity)
    if key not in _SPECIAL:
        raise InternalError(f"{op} on {dtype} is not an op of kernels")
    return _SPECIAL[key]


def _intrinsic(name: str, dtype: DType, lanes: int, kinds: list[str]) -> _Form:
    callee = f"{name}.{ty.suffix(ty.scalar_type(dtype), lanes)}"
    operands = ", ".join(f"{kind} %s" for kind in kinds)
    declaration = f"declare {kinds[0]} @{callee}({', '.join(kinds)})"
    return _Form(f"call {kinds[0]} @{callee}({operands})", callee, declaration)


def apply(w: Writer, op: str, dtype: DType, names: Names, lanes: int) -> str:
    """The op on registers of one dtype; the name of the result."""
    if op in w.lacking and dtype.is_float:
        return SOFT[op](w, op, dtype, names, lanes)
    form = _form(op, dtype, lanes)
    if not isinstance(form, _Form):
        return form(w, dtype, names, lanes)
    if form.callee:
        w.declared[form.callee] = form.declaration
    return w.emit(form.text % tuple(names))


def _extreme(test: str) -> Rows:
    """maximum and minimum of floats: what x86 does in one instruction returns the second operand
    where either is NaN, so only a NaN in the first has to be picked by hand; a constant is none."""

    def emit(w: Writer, dtype: DType, names: Names, lanes: int) -> str:
        a, b = names
        if _is_number(b):
            a, b = b, a
        kind, truth = ty.type_of(dtype, lanes), ty.vector_of("i1", lanes)
        first = w.emit(f"fcmp {test} {kind} {a}, {b}")
        picked = w.emit(f"select {truth} {first}, {kind} {a}, {kind} {b}")
        if _is_number(a):
            return picked
        nan = w.emit(f"fcmp uno {kind} {a}, zeroinitializer")
        return w.emit(f"select {truth} {nan}, {kind} {a}, {kind} {picked}")

    return emit


def _is_number(name: str) -> bool:
    """Whether the operand is a constant other than NaN."""
    if name[0] == "%":
        return False
    at = name.index("0x") + 2
    return int(name[at : at + 16], 16) & (2**63 - 1) <= 0x7FF << 52


def _flip(w: Writer, dtype: DType, names: Names, lanes: int) -> str:
    ones = "true" if dtype.is_bool else "-1"
    mask = ones if lanes == 1 else f"splat ({ty.scalar_type(dtype)} {ones})"
    return w.emit(f"xor {ty.type_of(dtype, lanes)} {names[0]}, {mask}")


def _abs_int(w: Writer, dtype: DType, names: Names, lanes: int) -> str:
    form = _intrinsic("llvm.abs", dtype, lanes, [ty.type_of(dtype, lanes), "i1"])
    w.declared[form.callee] = form.declaration
    return w.emit(form.text % (names[0], "false"))


def _inverse(w: Writer, dtype: DType, names: Names, lanes: int) -> str:
    one = ty.constant(1, dtype)
    ones = one if lanes == 1 else f"splat ({ty.scalar_type(dtype)} {one})"
    return w.emit(f"fdiv {ty.type_of(dtype, lanes)} {ones}, {names[0]}")


def _same(w: Writer, dtype: DType, names: Names, lanes: int) -> str:
    return names[0]


_SPECIAL: dict[tuple[str, str], Rows] = {
    ("maximum", "f"): _extreme("ogt"),
    ("minimum", "f"): _extreme("olt"),
    ("abs", "i"): _abs_int,
    ("abs", "u"): _same,
    ("abs", "b"): _same,
    ("inverse", "f"): _inverse,
    **{("bitwise_not", k): _flip for k in _BITS},
}

# ---- one node


def node_value(w: Writer, node: UOp, operands: list[Value]) -> Value:
    """An arithmetic node, by the form its operands have."""
    even = whole = True  # whether all lanes hold the same; whether all operands are vectors
    for value in operands:
        if value.stride is None:
            even = False
        elif value.stride:
            even = whole = False
        else:
            whole = False
    if even:
        return Value(_computed(w, node, [v.name for v in operands], 1), 0, w.level)
    if whole:
        return Value(_computed(w, node, [v.name for v in operands], w.lanes), None, w.level)
    return _mixed(w, node, operands)


def _mixed(w: Writer, node: UOp, operands: list[Value]) -> Value:
    stride = _stride(node, operands)
    if stride is not None:
        return Value(_computed(w, node, [v.name for v in operands], 1), stride, w.level)
    if node.op.name in COMPARISONS:
        found = compared(w, node, operands)
        if found is not None:
            return found
    elif node.op.name == "where" and operands[0].stride == 0:
        return _choose(w, node, operands)
    names = [w.vector(v, s.dtype) for v, s in zip(operands, node.src, strict=True)]
    return Value(_computed(w, node, names, w.lanes), None, w.level)


def _divisor(w: Writer, dtype: DType, name: str) -> str:
    """1 in the lanes that do not run: a division by zero there would end the process."""
    truth, kind = ty.vector_of("i1", w.lanes), ty.type_of(dtype, w.lanes)
    one = f"splat ({ty.scalar_type(dtype)} 1)"
    return w.emit(f"select {truth} {w.mask}, {kind} {name}, {kind} {one}")


def _computed(w: Writer, node: UOp, names: list[str], lanes: int) -> str:
    op = node.op.name
    if w.mask is not None and op in DIVISIONS and names[1][0] == "%" and lanes > 1:
        names[1] = _divisor(w, node.dtype, names[1])
    dtype = node.src[0].dtype
    match op:
        case "cast":
            return convert(w, names[0], dtype, node.dtype, lanes)
        case "bitcast":
            return reinterpret(w, names[0], dtype, node.dtype, lanes)
        case "where":
            kind, truth = ty.type_of(node.dtype, lanes), ty.vector_of("i1", lanes)
            return w.emit(f"select {truth} {names[0]}, {kind} {names[1]}, {kind} {names[2]}")
        case "dot_words":
            return dot_words(w, node.arg.dtype, node.dtype, names, lanes)
        case "floordiv" | "mod" | "idiv" | "fmod" if lanes > 1 and are_small(node):
            return divided(w, node, names, lanes)
    return apply(w, op, dtype, names, lanes)


def _choose(w: Writer, node: UOp, operands: list[Value]) -> Value:
    condition, a, b = operands
    kind = ty.type_of(node.dtype, w.lanes)
    first, second = w.vector(a, node.dtype), w.vector(b, node.dtype)
    text = f"select i1 {condition.name}, {kind} {first}, {kind} {second}"
    return Value(w.emit(text), None, w.level)


def _stride(node: UOp, operands: list[Value]) -> int | None:
    """How the integer grows from lane to lane, if evenly: modulo its width this is exact."""
    if not node.dtype.is_int or any(v.stride is None for v in operands):
        return None
    a = operands[0].stride or 0
    b = (operands[1].stride or 0) if len(operands) > 1 else 0
    match node.op.name:
        case "add":
            return a + b
        case "sub":
            return a - b
        case "neg":
            return -a
        case "mul":
            return _scaled(a, operands[1]) if not b else _scaled(b, operands[0]) if not a else None
        case "cast" if node.src[0].dtype.is_int and node.dtype.bits <= node.src[0].dtype.bits:
            return a
        case _:
            return None


def _scaled(stride: int, factor: Value) -> int | None:
    return stride * int(factor.name) if factor.constant else None
