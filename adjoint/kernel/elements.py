"""Elements, indices and conditions of a kernel as kernel-level nodes.

Loops, and values kept from one loop to the next, are in `lower.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np

from adjoint.ir.affine import Affine, Loaded, Quotient
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.opdef import OPS
from adjoint.ir.sizes import highest, less, lowest, varies
from adjoint.ir.uop import UOp
from adjoint.kernel.algorithms.loops import index_sum
from adjoint.kernel.decompose import decompose
from adjoint.kernel.index_maps import ElementWalk, Gate
from adjoint.ops.casts import convert
from adjoint.ops.mathematics.nodes import bits, compute_dtype, number

PLAIN_NUMBERS = (0.0, 1.0, -1.0, 2.0, 0.5, inf, -inf)  # no parameters: a stride of 1 is seen as one
INDICES = {32: dtypes.int32, 64: dtypes.int64}  # by bits
_ROOM = 1 << 16  # a counter goes beyond its last value by the lanes, and by what is left of a block


class WideIndexError(Exception):
    """An index of the kernel may not fit in the dtype that was tried."""


class Elements(ElementWalk):
    """A walk whose values are nodes. The dtype of indices holds all of them, also those behind a
    failed bounds check; intermediate sums may wrap around.
    """

    def __init__(self, inputs: Sequence[UOp], index_dtype: DType):
        super().__init__(inputs)
        self.index_dtype = index_dtype
        self._most = index_dtype.max - _ROOM if index_dtype.bits < 64 else None
        self.buffers: dict[Any, UOp] = {}
        self._index: dict[Any, UOp] = {}  # nodes of counters, quotients and loaded indices
        self._given: set[UOp] = set()  # constants that could be parameters

    # ---- elements

    def load(self, node: UOp, place: Affine, gate: Gate) -> UOp:
        buffer, at = self.buffers[node], self.index(place)
        if gate:
            zero = OPS["const"](0, node.dtype, (), None)  # as it lies in memory
            value = OPS["load"](buffer, at, self.condition(gate), zero)
        else:
            value = OPS["load"](buffer, at)
        kind = compute_dtype(node.dtype)
        return value if kind is node.dtype else UOp(OPS["cast"], (value,), OPS["cast"].arg(kind))  # type: ignore[misc]

    def constant(self, node: UOp, value: Any) -> UOp:
        made = self._constant(value, node.dtype)
        if (made.dtype.is_float and not made.dtype.is_storage) or varies(value):
            self._given.add(made)
        return made

    def _constant(self, value: Any, dtype: DType) -> UOp:
        """A constant as kernels hold it: a narrow float rounded to its dtype first."""
        if dtype.is_storage:
            byte = int(convert(value, dtype).view(np.uint8))
            return bits(number(byte, dtypes.uint8), dtype)
        kind = compute_dtype(dtype)
        if kind is not dtype and value == value:
            with np.errstate(over="ignore"):  # the nearest value may be an infinity
                value = float(dtype.np.type(value))
        return OPS["const"](value, kind, (), None)

    def counted(self, node: UOp, x: Affine) -> UOp:
        return decompose(OPS["cast"], (self.index(x),), None, node.dtype)

    def select(self, gate: Gate, value: UOp, other: UOp) -> UOp:
        return UOp(OPS["where"], (self.condition(gate), value, other))

    # ---- index arithmetic

    def index(self, x: Affine) -> UOp:
        """An index expression as nodes."""
        if self._most is not None:
            self.check_fits(*x.bounds())
        for value in (x.const, *[factor for _, factor in x.terms]):
            self._number(value)
        terms = [(self._atom(a), f) for a, f in x.terms]
        return index_sum(*terms, constant=x.const, dtype=self.index_dtype)

    def _atom(self, atom: Any) -> UOp:
        found = self._index.get(atom)
        if found is None:
            if isinstance(atom, Loaded):
                found = atom.node
            else:
                op = "floordiv" if isinstance(atom, Quotient) else "mod"
                found = UOp(OPS[op], (self.index(atom.of), self._number(atom.by)))
            self._index[atom] = found
        return found

    def _number(self, value: int) -> UOp:
        self.check_fits(value, value)
        made = OPS["const"](value, self.index_dtype, (), None)
        self._given.add(made)
        return made

    def check_fits(self, lo: int, hi: int) -> None:
        """`WideIndexError` unless indices from the one to the other have the dtype."""
        most = self._most
        if most is not None and not (-most <= lowest(lo) and highest(hi) <= most):
            raise WideIndexError

    def condition(self, gate: Gate) -> UOp:
        """All conditions of a bounds check."""
        total: UOp | None = None
        for part in [p for c in gate for p in self._condition(*c)]:
            total = part if total is None else UOp(OPS["logical_and"], (total, part))
        return OPS["const"](True, dtypes.bool_, (), None) if total is None else total

    def _condition(self, kind: str, x: Affine, extent: int) -> list[UOp]:
        place = self.index(x)
        if kind == "step":
            rest = UOp(OPS["mod"], (place, self._number(extent)))
            return [UOp(OPS["eq"], (rest, self._number(0)))]
        lo, hi = x.bounds()
        parts = [] if less(-1, lo) else [UOp(OPS["le"], (self._number(0), place))]
        high = [] if less(hi, extent) else [UOp(OPS["lt"], (place, self._number(extent)))]
        return [*parts, *high]
