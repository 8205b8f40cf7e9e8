"""Kernels of one op each, for any number of elements: they compute the mathematics of `at_once.py`.

A kernel is compiled for a row of a fixed length, as a program of one node, and cached in memory and
on disk like every program. Operands are copied into such rows; the kernel also computes the unused
elements behind the last one. An element does not depend on its neighbours, so the bits are those of
a kernel of any other shape. Constant operands are constants of the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from adjoint.engine.graph_key import graph_key
from adjoint.engine.program_cache import make
from adjoint.ir.dtype import DType
from adjoint.ir.function import UniqueName
from adjoint.ir.kernel_kind import filled_value
from adjoint.ir.opdef import OPS, OpDef
from adjoint.ir.uop import UOp
from adjoint.runtime.buffer import Buffer
from adjoint.target import Target

_SHORT = 256  # elements; a longer row is as long as a value may be


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OpKernels:
    """The kernels of a backend."""

    backend: str
    target: Target

    def value(self, node: UOp, operands: Sequence[Any]) -> Any:
        """The value of an element-by-element node."""
        length = _SHORT if node.size <= _SHORT else self.target.limits.at_once_elements
        kinds = tuple([(source.dtype, filled_value(source)) for source in node.src])
        program = _program(self.backend, node.op, node.arg, kinds, length)
        pairs = zip(operands, kinds, strict=True)
        rows = [self._row(array, kind[0], length) for array, kind in pairs if kind[1] is None]
        (found,) = program.run(rows, (self.target.name,))
        return found.array()[: node.size].reshape(node.shape)

    def _row(self, operand: Any, dtype: DType, length: int) -> Buffer:
        """The elements in a row, and ones behind them."""
        buffer = Buffer.empty(dtype, (length,), self.target.name)
        row, size = buffer.filling(), operand.size
        row[:size] = operand.reshape(-1)
        row[size:] = 1
        return buffer


Kind = tuple[DType, Any]  # of an operand; its value, if it is a constant


@lru_cache(maxsize=1024)
def _program(backend: str, op: OpDef, arg: Any, kinds: tuple[Kind, ...], length: int) -> Any:
    """The program of one node over rows."""
    sources = [_source(number, kind, length) for number, kind in enumerate(kinds)]
    inputs = [s for s, (_, value) in zip(sources, kinds, strict=True) if value is None]
    node = UOp(op, tuple(sources), arg)
    key = graph_key([node], inputs, backend)
    assert key is not None
    return make(key, [node], ()).program


def _source(number: int, kind: Kind, length: int) -> UOp:
    dtype, value = kind
    if value is not None:
        constant: UOp = OPS["const"].call(value, dtype, (length,))
        return constant
    made: UOp = OPS["input"].call(UniqueName(f"x{number}"), (length,), dtype)
    return made
