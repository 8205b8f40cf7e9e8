"""The vocabulary of hand-built graphs: what `add` takes, and the op of the kernel level behind it.

Elsewhere: how a graph is put together (`graph.py`).
"""

from __future__ import annotations

from enum import Enum, auto

from adjoint.ir.dtype import DType


class UOps(Enum):
    """The kinds of nodes of a hand-built graph."""

    CONST = auto()
    DEFINE_GLOBAL = auto()
    DEFINE_LOCAL = auto()
    DEFINE_ACC = auto()
    SPECIAL = auto()
    LOOP = auto()
    ENDLOOP = auto()
    IF = auto()
    ENDIF = auto()
    LOAD = auto()
    STORE = auto()
    ALU = auto()
    CAST = auto()
    BITCAST = auto()
    PHI = auto()
    BARRIER = auto()


class UnaryOps(Enum):
    """Arithmetic of one operand."""

    NEG = auto()
    NOT = auto()
    ABS = auto()
    SQRT = auto()
    RECIP = auto()
    EXP2 = auto()
    LOG2 = auto()
    EXP = auto()
    LOG = auto()
    SIN = auto()
    COS = auto()
    TANH = auto()
    FLOOR = auto()
    CEIL = auto()
    TRUNC = auto()
    ROUND = auto()


class BinaryOps(Enum):
    """Arithmetic of two operands. DIV and MOD of integers round towards zero, as C does."""

    ADD = auto()
    SUB = auto()
    MUL = auto()
    DIV = auto()
    MOD = auto()
    MAX = auto()
    MIN = auto()
    CMPLT = auto()
    CMPLE = auto()
    CMPEQ = auto()
    CMPNE = auto()
    AND = auto()
    OR = auto()
    XOR = auto()
    SHL = auto()
    SHR = auto()


class TernaryOps(Enum):
    """Arithmetic of three operands. MULACC is `a * b + c`, of floats rounded once."""

    WHERE = auto()
    MULACC = auto()


Alu = UnaryOps | BinaryOps | TernaryOps
ARITY: dict[type[Enum], int] = {UnaryOps: 1, BinaryOps: 2, TernaryOps: 3}
COMPARISONS = (BinaryOps.CMPLT, BinaryOps.CMPLE, BinaryOps.CMPEQ, BinaryOps.CMPNE)

# name → kinds of dtype (b bool, i signed, u unsigned, f float) → op of the kernel level
_FUNCTIONS = "SQRT EXP2 LOG2 EXP LOG SIN COS TANH FLOOR CEIL TRUNC ROUND"
_OPS: dict[Alu, dict[str, str]] = {
    **{UnaryOps[name]: {"f": name.lower()} for name in _FUNCTIONS.split()},
    UnaryOps.NEG: {"iuf": "neg"},
    UnaryOps.NOT: {"b": "logical_not", "iu": "bitwise_not"},
    UnaryOps.ABS: {"iuf": "abs"},
    UnaryOps.RECIP: {"f": "reciprocal"},
    BinaryOps.ADD: {"biuf": "add"},
    BinaryOps.SUB: {"iuf": "sub"},
    BinaryOps.MUL: {"biuf": "mul"},
    BinaryOps.DIV: {"iu": "idiv", "f": "true_div"},
    BinaryOps.MOD: {"iuf": "fmod"},
    BinaryOps.MAX: {"biuf": "maximum"},
    BinaryOps.MIN: {"biuf": "minimum"},
    BinaryOps.CMPLT: {"biuf": "lt"},
    BinaryOps.CMPLE: {"biuf": "le"},
    BinaryOps.CMPEQ: {"biuf": "eq"},
    BinaryOps.CMPNE: {"biuf": "ne"},
    BinaryOps.AND: {"b": "logical_and", "iu": "bitwise_and"},
    BinaryOps.OR: {"b": "logical_or", "iu": "bitwise_or"},
    BinaryOps.XOR: {"b": "logical_xor", "iu": "bitwise_xor"},
    BinaryOps.SHL: {"iu": "lshift"},
    BinaryOps.SHR: {"iu": "rshift"},
    TernaryOps.WHERE: {"biuf": "where"},
    TernaryOps.MULACC: {"f": "fma", "iu": "mul"},
}
_BY_KIND = {(op, k): name for op, row in _OPS.items() for kinds, name in row.items() for k in kinds}


def op_name(op: Alu, dtype: DType) -> str | None:
    """The op of the kernel level on operands of this dtype; None if there is none."""
    return _BY_KIND.get((op, dtype.kind))


def kinds_of(op: Alu) -> str:
    """The kinds of dtype that the op takes, in words."""
    words = {"b": "bool", "i": "integers", "u": "", "f": "floats"}
    return ", ".join(filter(None, (words[k] for kinds in _OPS[op] for k in kinds)))
