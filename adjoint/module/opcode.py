"""`Opcode`: the record that says everything about one opcode, and the registry of records.

From a record derive the printed form and its reader, verification, canonical attributes, the
gradient rule and execution. What may live here: the record's type, the registry. What may not: any
particular opcode (see `core.py`, `extension.py`, `generic.py`).

Arguments are printed in the order of `args`: `value` is an operand; all others are attributes, kept
in the same order in `attrs`:
    name     Add                    ints     [1, 2]            flag     true
    number   1.0                    literal  [[1.0], [2.0]]    slices   [0:2:1, 1:3]
    padding  Same, Valid, Custom([[2, 2], [3, 3]])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from adjoint.ir.uop import UOp
from adjoint.module.instruction import Instruction, TensorType

if TYPE_CHECKING:
    from adjoint.ir.opdef import OpDef
    from adjoint.module.tape import Tape

Types = list[TensorType]
Literal = Callable[[bytes, TensorType], UOp]  # a node that holds these elements
Contributions = list[Any]  # one id per operand, None where there is nothing to add
Infer = Callable[[Any, Types, TensorType], TensorType]
Lower = Callable[[list[UOp], Any, TensorType, Literal], UOp]
Pull = Callable[["Tape", Instruction, Any], Contributions]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Opcode:
    """One opcode. `infer` checks attributes, dtypes and shapes, in this order."""

    name: str
    doc: str
    args: tuple[str, ...]
    infer: Infer
    lower: Lower
    pull: Pull | None = None  # None: derived_pull.py
    strict_pull: bool = True  # whether the rule is expressible in core-v1
    strict: bool = True  # whether the opcode is in core-v1
    check_strict: Callable[[Any, TensorType], None] | None = None  # what core-v1 forbids in them
    normal: Callable[[Any, Types], Any] | None = None  # C1: the canonical attributes
    stops: bool = False  # declared without a gradient: paths end here
    codes: tuple[str, ...] = ()  # what `infer` may raise
    rule: str = ""  # the derivative, for the documentation
    record: OpDef | None = None  # the op of the library, for the opcodes derived from one
    braces: bool = False  # whether the attributes are printed in braces

    arity: int = field(init=False)  # -1: any number

    def __post_init__(self) -> None:
        count = -1 if "values" in self.args else self.args.count("value")
        object.__setattr__(self, "arity", count)


OPCODES: dict[str, Opcode] = {}


def opcode(
    name: str, doc: str, args: tuple[str, ...], lower: Lower, pull: Pull | None = None, **rest: Any
) -> Callable[[Infer], Infer]:
    """Decorator of a type rule: enter the record of its opcode."""

    def entered(infer: Infer) -> Infer:
        OPCODES[name] = Opcode(name, doc, args, infer, lower, pull, **rest)
        return infer

    return entered
