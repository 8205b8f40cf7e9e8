"""Graph → instructions: every node of the library under its opcode.

Nodes that Core has a word for get it; every other op has an opcode of its own, named after its
record. What says where or when something is computed (copies, identities, checkpoints) leaves no
trace: a module has no devices. What may live here: this translation. What may not: any rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.errors import VerificationError
from adjoint.ir import axes as letters
from adjoint.ir.arg import Arg, thawed
from adjoint.ir.function import Function
from adjoint.ir.kernel_kind import CONSTANT, STORED, Identity, KernelKind, View
from adjoint.ir.opdef import OpDef, expand_composite
from adjoint.ir.plain_sizes import plain_value
from adjoint.ir.uop import UOp, toposort
from adjoint.module.functions import FORMS
from adjoint.module.instruction import MAX_LITERAL, Block, Instruction, TensorType, make_block
from adjoint.module.numbers import literal_bytes
from adjoint.module.opcode import OPCODES
from adjoint.module.shapes import broadcast
from adjoint.module.tape import Tape

_LATE = ("const", "expand")  # emitted where an instruction needs them in full
_BINOPS = {"add": "Add", "sub": "Sub", "mul": "Mul", "true_div": "Div"}


def generic_name(record: OpDef) -> str:
    """`LogSoftmax` for log_softmax; `TensorGather` where Core means another Gather."""
    plain = "".join(part[:1].upper() + part[1:] for part in record.name.split("_"))
    taken = OPCODES.get(plain)
    return plain if taken is None or taken.record is not None else f"Tensor{plain}"


class Lift:
    """Writes nodes on a tape. `ids` says which nodes have a value already.

    With `sharing`, a value that several operands have broadcast alike is broadcast once, by an
    instruction: its cotangents are then added before they are summed, as in the graph.
    """

    __slots__ = ("_scalars", "_shared", "ids", "sharing", "tape")

    def __init__(self, tape: Tape, ids: dict[UOp, int], *, sharing: bool = False):
        self.tape, self.ids, self.sharing = tape, ids, sharing
        self._scalars: dict[Any, int] = {}
        self._shared: set[UOp] = set()

    def __call__(self, roots: Sequence[UOp]) -> list[int]:
        """The ids of the roots."""
        ids = self.ids
        order = toposort(roots, stop=lambda n: n in ids or n.realized is not None)
        if self.sharing:
            self._shared |= _shared_expansions(order)
        for node in order:
            if node not in ids and node.op.name not in _LATE:
                ids[node] = self._emitted(node)
        return [self.value(root) for root in roots]

    def value(self, node: UOp) -> int:
        """The id of a node whose sources are there."""
        number = self.ids.get(node)
        if number is None:
            number = self.ids[node] = self._late(node)
        return number

    def _late(self, node: UOp) -> int:
        small = self._scalar(node) if node.op.kernel is CONSTANT else self.value(node.src[0])
        return self._spread(small, node)

    def _spread(self, value: int, node: UOp) -> int:
        if self.tape.shape_of(value) == node.shape:
            return value
        return self.tape.emit("Broadcast", (value,), (node.shape,), type_of(node))

    def _scalar(self, node: UOp) -> int:
        key = (node.arg.value, node.dtype)
        number = self._scalars.get(key)
        if number is None:
            number = self._scalars[key] = self.tape.constant(_rounded(node), node.dtype)
        return number

    def _emitted(self, node: UOp) -> int:
        name = node.op.name
        if _is_alias(node.op.kernel):
            return self.value(node.src[0])
        if name in _BINOPS:
            return self._binop(node)
        if node.op.kind == "composite" and not node.op.opcode:
            return self([expand_composite(node)])[0]
        if name == "buffer" or node.realized is not None:
            return self._literal(node)
        found = _SPECIAL[name](node) if name in _SPECIAL else None
        opcode, attrs = found or _generic(node)
        operands = tuple(self.value(s) for s in node.src)
        return self.tape.emit(opcode, operands, attrs, type_of(node))

    def _binop(self, node: UOp) -> int:
        """An operand that the opcode broadcasts by itself is taken before it was expanded."""
        a, b = node.src
        left, right = self._narrow(a), self._narrow(b)
        if left is not None and _fits(left, b.shape, node):
            left_id, right_id = left[1](), self.value(b)
        elif right is not None and _fits(right, a.shape, node):
            left_id, right_id = self.value(a), right[1]()
        else:
            left_id, right_id = self.value(a), self.value(b)
        kind = _BINOPS[node.op.name]
        pair = (left_id, right_id)
        if kind in ("Add", "Mul") and left_id > right_id:
            pair = (right_id, left_id)
        return self.tape.emit("BinOp", pair, (kind,), type_of(node))

    def _narrow(self, node: UOp) -> tuple[Any, Callable[[], int]] | None:
        if node in self.ids:
            return None
        if node.op.kernel is CONSTANT:
            return (), lambda: self._scalar(node)
        if node.op.name == "expand" and node not in self._shared:
            return node.src[0].shape, lambda: self.value(node.src[0])
        return None

    def _literal(self, node: UOp) -> int:
        if node.size > MAX_LITERAL:
            problem = f"a tensor of {node.size} elements is used that is no argument"
            fix = "pass it as an argument: a module holds small literals only"
            raise VerificationError("E2006", problem, op="capture", help=fix)
        storage = node.arg.buffer if node.op.kernel is STORED else node.realized
        data = literal_bytes(storage.array(), node.dtype)
        return self.tape.literal(data, type_of(node))


def _shared_expansions(order: Sequence[UOp]) -> set[UOp]:
    """Those that are an operand more than once and in which a derivative can arrive."""
    uses = Counter(s for node in order for s in node.src if _repeats(s) and s.dtype.is_inexact)
    return {node for node, count in uses.items() if count > 1}


def _repeats(node: UOp) -> bool:
    kernel = node.op.kernel
    return type(kernel) is View and kernel.repeats


def _is_alias(kernel: KernelKind) -> bool:
    """Whether the op is its first operand for a module, which has no places and no order."""
    if type(kernel) is Identity:
        return kernel.places
    return type(kernel) is View and kernel.waits


def _rounded(node: UOp) -> Any:
    """The value of a constant as its dtype has it."""
    value = thawed(node.arg.value)
    if not node.dtype.is_inexact:
        return value
    with np.errstate(over="ignore"):
        stored = node.dtype.np.type(value)
    return complex(stored) if node.dtype.is_complex else float(stored)


def _fits(narrow: tuple[Any, Any], other: Any, node: UOp) -> bool:
    return broadcast(narrow[0], other) == node.shape


def type_of(node: UOp) -> TensorType:
    """The type of a node in a module, which has no dtypes that only hold values."""
    kinds = node.dtype if isinstance(node.dtype, tuple) else (node.dtype,)
    held = next((kind for kind in kinds if kind.is_storage), None)
    if held is not None:
        fix = "cast outside of what is captured: .cast('float32')"
        raise VerificationError("E2005", f"Core has no {held.name}", op="capture", help=fix)
    return TensorType(node.dtype, plain_value(node.shape))


def _generic(node: UOp) -> tuple[str, Any]:
    if node.op.name == "spent":
        problem = "a value is used that was traced inside another function"
        fix = "return it from that function"
        raise VerificationError("E6003", problem, op="capture", help=fix)
    form = FORMS.get(node.op.name)
    arg = node.arg
    if form is not None:
        arg = form(*(getattr(node.arg.function, name) for name in form.fields))
    return generic_name(node.op), _closed(arg)


def _closed(arg: Any) -> Any:
    """Attributes with their functions as blocks."""
    if not isinstance(arg, Arg) or not any(type(value) is Function for value in arg):
        return arg
    return type(arg)(*(block_of(v) if type(v) is Function else v for v in arg))


def block_of(function: Function) -> Block:
    """A function as instructions. Recursion follows the nesting of functions."""
    rows = [
        Instruction(i, "Input", (), (n.arg.name,), type_of(n))
        for i, n in enumerate(function.inputs)
    ]
    ids = {n: i for i, n in enumerate(function.inputs)}
    lift = Lift(Tape(rows, [], strict=False), ids, sharing=True)
    outputs = lift(function.outputs)
    return make_block(rows, outputs)


# ---- nodes that Core has a word for; None leaves them to their own opcode


def _reduce_sum(node: UOp) -> Any:
    axis, keepdim = node.arg
    x = node.src[0]
    if x.dtype is not node.dtype or x.dtype.is_bool or (not axis and x.shape):
        return None
    full = len(axis) == len(x.shape) and not keepdim
    return "Sum", ((), False) if full else (tuple(axis), keepdim)


def _mean(node: UOp) -> Any:
    axis, keepdim = node.arg
    x = node.src[0]
    if not x.dtype.is_inexact or axis == ():
        return None
    rank = len(x.shape)
    listed = range(rank) if axis is None else (axis,) if isinstance(axis, int) else axis
    places = tuple(sorted({a % rank for a in listed})) if rank else ()
    full = len(places) == rank and not keepdim
    return "Mean", ((), False) if full or not rank else (places, keepdim)


def _contract(node: UOp) -> Any:
    if node.dtype.is_bool:
        return None
    spec = letters.parse(node.arg.spec)
    lhs, rhs, out = spec.lhs, spec.rhs, spec.out
    if len(spec.summed) != 1:
        return None
    k = spec.summed
    if len(lhs) <= 2 and len(rhs) <= 2 and len(lhs) + len(rhs) < 4:
        plain = lhs[-1] == k and rhs[0] == k and out == lhs[:-1] + rhs[1:]
        return ("Dot", ()) if plain and not spec.batch else None
    batch = lhs[:-2]
    matrices = len(lhs) >= 2 and len(rhs) == len(lhs) and batch == rhs[:-2] == spec.batch
    plain = matrices and lhs[-1] == k == rhs[-2] and out == batch + lhs[-2] + rhs[-1]
    return ("MatMul", ()) if plain else None


_SPECIAL: dict[str, Callable[[UOp], Any]] = {
    "neg": lambda node: ("Neg", ()),
    "exp": lambda node: ("Exp", ()),
    "log": lambda node: ("Log", ()),
    "relu": lambda node: ("Relu", ()) if node.dtype.is_float else None,
    "reshape": lambda node: ("Reshape", (node.shape,)),
    "permute": lambda node: ("Transpose", (tuple(node.arg.order),)),
    "shrink": lambda node: ("Slice", (tuple(map(tuple, node.arg)),)),
    "reduce_sum": _reduce_sum,
    "mean": _mean,
    "gather": lambda node: ("Gather", ()) if node.arg.axes == (0,) else None,
    "scatter_add": lambda node: ("ScatterAdd", ()) if node.arg.axes == (0,) else None,
    "contract": _contract,
}
TOTAL = frozenset(  # records that a Core opcode covers whole: they need none of their own
    {"neg", "exp", "log", "reshape", "permute", "expand", "shrink", *_BINOPS}
)
