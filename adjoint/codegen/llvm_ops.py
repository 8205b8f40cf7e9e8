"""The table from op to LLVM instruction, for scalars and vectors alike.

A line of the table is an instruction with `{t}` for the type of the operands and `{0}` … for them;
an intrinsic, by its name; or a function for what takes more than one instruction. No fast-math
flags, no contraction: every instruction rounds as IEEE says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adjoint.codegen import llvm_types as ty
from adjoint.codegen.llvm_cast import convert, reinterpret
from adjoint.codegen.llvm_writer import Value, Writer
from adjoint.errors import InternalError
from adjoint.ir.dtype import DType
from adjoint.ir.uop import UOp

Names = Sequence[str]

_ANY_INT = "iu"
_BITS = "iub"

# op → kinds of the operands → instruction
INSTRUCTIONS: dict[str, dict[str, str]] = {
    "add": {"f": "fadd {t} {0}, {1}", _ANY_INT: "add {t} {0}, {1}", "b": "or {t} {0}, {1}"},
    "sub": {"f": "fsub {t} {0}, {1}", _ANY_INT: "sub {t} {0}, {1}"},
    "mul": {"f": "fmul {t} {0}, {1}", _ANY_INT: "mul {t} {0}, {1}", "b": "and {t} {0}, {1}"},
    "true_div": {"f": "fdiv {t} {0}, {1}"},
    "neg": {"f": "fneg {t} {0}", _ANY_INT: "sub {t} zeroinitializer, {0}"},
    "idiv": {"i": "sdiv {t} {0}, {1}", "u": "udiv {t} {0}, {1}"},
    "fmod": {"i": "srem {t} {0}, {1}", "u": "urem {t} {0}, {1}"},
    "floordiv": {_ANY_INT: "udiv {t} {0}, {1}"},  # of indices, which are not negative
    "mod": {_ANY_INT: "urem {t} {0}, {1}"},
    "lt": {
        "f": "fcmp olt {t} {0}, {1}",
        "i": "icmp slt {t} {0}, {1}",
        "ub": "icmp ult {t} {0}, {1}",
    },
    "le": {
        "f": "fcmp ole {t} {0}, {1}",
        "i": "icmp sle {t} {0}, {1}",
        "ub": "icmp ule {t} {0}, {1}",
    },
    "eq": {"f": "fcmp oeq {t} {0}, {1}", _BITS: "icmp eq {t} {0}, {1}"},
    "ne": {"f": "fcmp une {t} {0}, {1}", _BITS: "icmp ne {t} {0}, {1}"},
    "logical_not": {
        "f": "fcmp oeq {t} {0}, zeroinitializer",
        _BITS: "icmp eq {t} {0}, zeroinitializer",
    },
    "logical_and": {"b": "and {t} {0}, {1}"},
    "logical_or": {"b": "or {t} {0}, {1}"},
    "logical_xor": {"b": "xor {t} {0}, {1}"},
    "bitwise_and": {_BITS: "and {t} {0}, {1}"},
    "bitwise_or": {_BITS: "or {t} {0}, {1}"},
    "bitwise_xor": {_BITS: "xor {t} {0}, {1}"},
    "lshift": {_ANY_INT: "shl {t} {0}, {1}"},
    "rshift": {"i": "ashr {t} {0}, {1}", "u": "lshr {t} {0}, {1}"},
    "maximum": {"b": "or {t} {0}, {1}"},
    "minimum": {"b": "and {t} {0}, {1}"},
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


def _by_kind(table: dict[str, dict[str, str]]) -> dict[tuple[str, str], str]:
    return {
        (op, k): text for op, row in table.items() for kinds, text in row.items() for k in kinds
    }


_INSTRUCTION = _by_kind(INSTRUCTIONS)
_INTRINSIC = _by_kind(INTRINSICS)


def apply(w: Writer, op: str, dtype: DType, names: Names, lanes: int) -> str:
    """The op on registers of one dtype; the name of the result."""
    key = (op, dtype.kind)
    text = _INSTRUCTION.get(key)
    if text is not None:
        return w.emit(text.format(*names, t=ty.type_of(dtype, lanes)))
    intrinsic = _INTRINSIC.get(key)
    if intrinsic is not None:
        return _call(w, intrinsic, dtype, names, lanes)
    special = _SPECIAL.get(key)
    if special is None:
        raise InternalError(f"{op} on {dtype} is not an op of kernels")
    return special(w, dtype, names, lanes)


def _call(w: Writer, intrinsic: str, dtype: DType, names: Names, lanes: int, tail: str = "") -> str:
    kind = ty.type_of(dtype, lanes)
    name = f"{intrinsic}.{ty.suffix(ty.scalar_type(dtype), lanes)}"
    operands = [f"{kind} {n}" for n in names]
    return w.emit(w.call(kind, name, *operands, *([tail] if tail else [])))


def _extreme(test: str) -> Callable[[Writer, DType, Names, int], str]:
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
    return _call(w, "llvm.abs", dtype, names, lanes, "i1 false")


def _same(w: Writer, dtype: DType, names: Names, lanes: int) -> str:
    return names[0]


_SPECIAL: dict[tuple[str, str], Callable[[Writer, DType, Names, int], str]] = {
    ("maximum", "f"): _extreme("ogt"),
    ("minimum", "f"): _extreme("olt"),
    ("abs", "i"): _abs_int,
    ("abs", "u"): _same,
    ("abs", "b"): _same,
    **{("bitwise_not", k): _flip for k in _BITS},
}

# ---- one node


def node_value(w: Writer, node: UOp, operands: list[Value]) -> Value:
    """An arithmetic node, by the form its operands have."""
    even = True  # whether all lanes hold the same
    for value in operands:
        if value.stride != 0:
            even = False
            break
    if even:
        return Value(_node_text(w, node, [v.name for v in operands], 1), 0, w.level)
    stride = _stride(node, operands)
    if stride is not None:
        return Value(_node_text(w, node, [v.name for v in operands], 1), stride, w.level)
    if node.op.name == "where" and operands[0].stride == 0:
        return _choose(w, node, operands)
    names = [w.vector(v, s.dtype) for v, s in zip(operands, node.src, strict=True)]
    return Value(_node_text(w, node, names, w.lanes), None, w.level)


def _node_text(w: Writer, node: UOp, names: list[str], lanes: int) -> str:
    op = node.op.name
    if op == "cast":
        return convert(w, names[0], node.src[0].dtype, node.dtype, lanes)
    if op == "bitcast":
        return reinterpret(w, names[0], node.src[0].dtype, node.dtype, lanes)
    if op == "where":
        kind, truth = ty.type_of(node.dtype, lanes), ty.vector_of("i1", lanes)
        return w.emit(f"select {truth} {names[0]}, {kind} {names[1]}, {kind} {names[2]}")
    return apply(w, op, node.src[0].dtype, names, lanes)


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
