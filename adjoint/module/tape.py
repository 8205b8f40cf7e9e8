"""`Tape`: where gradient rules write their instructions.

The primal instructions are its first rows, with dense ids; whatever a rule emits goes behind them.
What may live here: emission, and what every rule needs (un-broadcasting, expansion, constants).
What may not: the rule of any opcode.
"""

from __future__ import annotations

from typing import Any

from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.opdef import OPS
from adjoint.module.instruction import (
    MAX_LITERAL,
    Instruction,
    Shape,
    TensorType,
    fault,
    make,
    size_of,
)
from adjoint.module.numbers import filled_bytes
from adjoint.module.shapes import broadcast, reduced, summed_axes

CONSTANTS = {dtypes.float32: "ConstF32", dtypes.float64: "ConstF64", dtypes.int64: "ConstI64"}
COMMUTING = ("Add", "Mul")  # the operands of these stand in the order of their ids
_ADD, _MUL = ("Add",), ("Mul",)


class Tape:
    """Rows so far, and which primal values want a gradient."""

    __slots__ = ("_scalars", "literals", "rows", "strict", "wants")

    def __init__(self, rows: list[Instruction], wants: list[bool], strict: bool):
        self.rows, self.wants, self.strict = rows, wants, strict
        self.literals = 0  # numbers in the literals made here
        self._scalars: dict[DType, TensorType] = {}

    def emit(self, opcode: str, operands: tuple[int, ...], attrs: Any, type: TensorType) -> int:
        """A new row; its id."""
        rows = self.rows
        number = len(rows)
        rows.append(make((number, opcode, operands, attrs, type, None)))
        return number

    def pulled(self, opcode: str, ins: Instruction, g: int, attrs: Any) -> int:
        """A new row of one operand that has the type of the instruction's own."""
        return self.emit(opcode, (g,), attrs, self.rows[ins[2][0]][4])

    def type_of(self, value: int) -> TensorType:
        return self.rows[value][4]

    def shape_of(self, value: int) -> Shape:
        return self.rows[value][4][1]

    # ---- arithmetic

    def mul(self, a: int, b: int) -> int:
        """The product, broadcast."""
        rows = self.rows
        kind, other = rows[a][4], rows[b][4]
        if kind is not other and kind[1] != other[1]:
            kind = TensorType(kind[0], broadcast(kind[1], other[1]))
        return self.emit("BinOp", (a, b) if a <= b else (b, a), _MUL, kind)

    def add(self, a: int, b: int) -> int:
        """The sum of two contributions, which have one type."""
        pair = (a, b) if a <= b else (b, a)
        return self.emit("BinOp", pair, _ADD, self.rows[a][4])

    def neg(self, a: int) -> int:
        return self.emit("Neg", (a,), (), self.rows[a][4])

    def cast(self, x: int, dtype: DType) -> int:
        """The value in another dtype, which core-v1 has no opcode for."""
        if self.rows[x][4][0] is dtype:
            return x
        attrs = OPS["cast"].arg(dtype)  # type: ignore[misc]
        return self.emit("Cast", (x,), attrs, TensorType(dtype, self.rows[x][4][1]))

    def constant(self, value: Any, dtype: DType) -> int:
        """A scalar."""
        kind = self._scalars.get(dtype)
        if kind is None:
            kind = self._scalars[dtype] = TensorType(dtype, ())
        opcode = CONSTANTS.get(dtype)
        if opcode is not None:
            return self.emit(opcode, (), (value,), kind)
        return self.emit("ConstTensor", (), (filled_bytes(value, dtype, ()),), kind)

    def filled(self, value: Any, type: TensorType) -> int:
        """A value whose elements are all equal: a literal in core-v1, a Broadcast in core+g."""
        dtype, shape = type
        if not shape:
            return self.constant(value, dtype)
        if not self.strict:
            return self.emit("Broadcast", (self.constant(value, dtype),), (shape,), type)
        return self.literal(filled_bytes(value, dtype, self.fits(shape)), type)

    def fits(self, shape: Shape) -> Shape:
        """The shape, if a literal of it is small enough [E5004]."""
        self.literals += size_of(shape)
        if self.literals > MAX_LITERAL:
            problem = f"core-v1 needs a literal of shape {list(shape)} here, which is too large"
            raise fault("E5004", problem, 'use profile "core+g", which has Broadcast')
        return shape

    def literal(self, data: bytes, type: TensorType) -> int:
        return self.emit("ConstTensor", (), (data,), type)

    # ---- shapes

    def sum(self, g: int, axes: Shape) -> int:
        """The sum over these axes, which are never none."""
        dtype, shape = self.rows[g][4]
        kind = TensorType(dtype, reduced(shape, axes, False))
        return self.emit("Sum", (g,), (axes, False), kind)

    def reshape(self, g: int, shape: Shape) -> int:
        return self.emit("Reshape", (g,), (shape,), TensorType(self.rows[g][4][0], shape))

    def transpose(self, x: int, order: Shape) -> int:
        dtype, shape = self.rows[x][4]
        kind = TensorType(dtype, tuple(shape[a] for a in order))
        return self.emit("Transpose", (x,), (order,), kind)

    def matrix_transpose(self, x: int) -> int:
        """The last two axes exchanged."""
        rank = len(self.shape_of(x))
        return self.transpose(x, (*range(rank - 2), rank - 1, rank - 2))

    def expand_dims(self, x: int, axes: Shape) -> int:
        """1s inserted at ascending axes."""
        dtype, shape = self.rows[x][4]
        wide = list(shape)
        for axis in axes:
            wide.insert(axis, 1)
        return self.emit("ExpandDims", (x,), (axes,), TensorType(dtype, tuple(wide)))

    def unbroadcast(self, g: int, shape: Shape) -> int:
        """The adjoint of broadcasting from `shape`."""
        wide = self.rows[g][4][1]
        if wide == shape:
            return g
        axes = summed_axes(shape, wide)
        if axes:
            g = self.sum(g, axes)
        return g if self.rows[g][4][1] == shape else self.reshape(g, shape)

    def spread(self, g: int, shape: Shape) -> int:
        """The value repeated to a shape it broadcasts to."""
        dtype, own = self.rows[g][4]
        if own == shape:
            return g
        kind = TensorType(dtype, shape)
        if not self.strict:
            return self.emit("Broadcast", (g,), (shape,), kind)
        ones = self.literal(filled_bytes(1, dtype, self.fits(shape)), kind)
        return self.mul(g, ones)

    def matmul(self, a: int, b: int) -> int:
        dtype, left = self.rows[a][4]
        right = self.shape_of(b)
        shape = (*broadcast(left[:-2], right[:-2]), left[-2], right[-1])
        return self.emit("MatMul", (a, b), (), TensorType(dtype, shape))

    def dot(self, a: int, b: int) -> int:
        """Of a matrix and a vector, or a vector and a matrix."""
        dtype, left = self.rows[a][4]
        shape = (left[0],) if len(left) == 2 else (self.shape_of(b)[1],)
        return self.emit("Dot", (a, b), (), TensorType(dtype, shape))
