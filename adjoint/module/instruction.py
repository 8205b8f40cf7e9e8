"""What a module is made of: types, instructions, ids; and the errors that speak about them.

An instruction is a plain tuple with names: thousands of them are made per millisecond. What may
live here: these data types, the limits and the one maker of errors. What may not: any opcode.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from adjoint.errors import AdjointError, Span, class_of
from adjoint.ir.arg import frozen
from adjoint.ir.dtype import DType, dtypes

ValueId = int
Shape = tuple[int, ...]
PROFILES = ("core-v1", "core+g")
STRICT_DTYPES = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)

# A text is not trusted: what it may ask for is bounded. Past a limit the answer is E2006.
MAX_TEXT = 2**27  # characters
MAX_INSTRUCTIONS = 2**21  # of a text; modules that Python builds have no such limit
MAX_NESTING = 32  # lists in lists, functions in functions
MAX_RANK = 32
MAX_EXTENT = 2**31 - 1  # one dimension
MAX_LITERAL = 2**20  # numbers in all the literals of a module, or in one that a gradient makes
MAX_DIGITS = 400  # of an integer


class TensorType(NamedTuple):
    """The type of a value. An op with several results has a tuple of each."""

    dtype: Any
    shape: Any


class Instruction(NamedTuple):
    """`%id = opcode(operands, attrs) : type`, and where a text defines it."""

    id: ValueId
    opcode: str
    operands: tuple[ValueId, ...]
    attrs: Any
    type: TensorType
    span: Span | None = None


class Block(NamedTuple):
    """A function as an attribute: a loop's body, a branch."""

    instructions: tuple[Instruction, ...]
    outputs: tuple[ValueId, ...]


def make_block(instructions: Iterable[Instruction], outputs: Iterable[ValueId]) -> Block:
    """A function whose constants compare by their bits: one with -0.0 is not one with 0.0."""
    rows = [
        ins._replace(attrs=frozen(ins.attrs)) if type(ins.attrs) is tuple else ins
        for ins in instructions
    ]
    return Block(tuple(rows), tuple(outputs))


def make(row: tuple[Any, ...], new: Any = tuple.__new__) -> Instruction:
    """An instruction from all six fields, without the cost of naming them."""
    return new(Instruction, row)


def size_of(shape: Shape) -> int:
    """The number of elements."""
    count = 1
    for extent in shape:
        count *= extent
    return count


def fault(code: str, problem: str, help: str = "") -> AdjointError:
    """The error of that code, of the class the code says."""
    return class_of(code)(code, problem, help=help)


def placed(error: AdjointError, span: Span | None, *notes: str) -> AdjointError:
    """The same error, with its place in the text if it has none yet."""
    if error.span is None and span is not None:
        error.span = span
    error.notes = (*error.notes, *notes)
    return error


def shown(dtype: DType, shape: Shape) -> str:
    """`f32 [2, 3]`, for messages."""
    return f"{dtype.short} {list(shape)}"


__all__ = ["PROFILES", "Instruction", "Span", "TensorType", "ValueId"]
