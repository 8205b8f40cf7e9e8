"""The kinds of `OpDef.kernel`: an op as the compiler sees it.

A kind holds the functions and numbers that the scheduler and kernel lowering read: how a view maps
an index, what a pointwise op computes and costs, how a reduction joins and starts. They read these
fields and compare no names, so a new op is one record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from adjoint.errors import InternalError

if TYPE_CHECKING:
    from adjoint.ir.dtype import DType
    from adjoint.ir.opdef import OpDef
    from adjoint.ir.uop import UOp

EXPENSIVE = 12  # the cost of an element from which on a kernel keeps it for its later loops


# ---- indices


At = tuple[Any, ...]  # an index: one coordinate per axis


class Space(Protocol):
    """The domain of an index map: `affine.LINEAR`, or the counters of a schedule."""

    @property
    def zero(self) -> Any: ...
    def reshaped(self, at: At, old: tuple[int, ...], new: tuple[int, ...]) -> At: ...


class Read(NamedTuple):
    """An operand, and where it is read: at `place[d] / steps[d]` of each axis d.

    `steps` None: the element always exists. Else it exists where the place is a multiple of the
    step, and inside the operand; a step of 0 says that this axis needs no check.
    """

    source: UOp
    place: At
    steps: tuple[int, ...] | None = None


# ---- kinds


class KernelKind:
    """The base of all kinds. `step` is the scheduler's word for nodes of the kind."""

    __slots__ = ()
    step: ClassVar[str] = "host"
    real: ClassVar[bool] = False  # whether kernels compute it for real numbers only


@dataclass(frozen=True, slots=True, eq=False)
class Leaf(KernelKind):
    """A node without operands; `what` is one of "constant", "stored" and "parameter"."""

    step = "leaf"
    what: str


CONSTANT, STORED, PARAMETER = Leaf("constant"), Leaf("stored"), Leaf("parameter")


@dataclass(frozen=True, slots=True, eq=False)
class Part(KernelKind):
    """One of the results of its operand."""

    step = "part"


@dataclass(frozen=True, slots=True, eq=False)
class View(KernelKind):
    """Elements of its operands, read at other places: `index_map(node, at, space)` says where.

    The element is the one that the first of its reads has; where none has one it is `fill(node)`.
    """

    step = "view"
    real = True
    index_map: Callable[[UOp, At, Space], Sequence[Read]]
    fill: Callable[[UOp], Any] | None = None
    strided: bool = False  # a matrix library can be given its operand's memory under other strides
    aliases: bool = False  # the same elements in the same order: its memory is its operand's
    repeats: bool = False  # an element is read in many places
    joins: bool = False  # an element may come from any of the operands
    waits: bool = False  # the first operand; the others only have to be done before


Body = Callable[..., Any]


def BASIC(*operands: Any) -> Any:
    """The body of an op that renderers know."""
    raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False)
class Pointwise(KernelKind):
    """An element computed from the elements at the same place.

    `body` computes it in basic ops, for every kind of number without a body of its own; BASIC says
    that the op is one. `formula` does so in other ops, each expanded by its own record. `of_types`
    is a body that also takes the operand's and the result's dtype, and does its own rounding.
    """

    step = "pointwise"
    real = True
    cost: int = 1
    body: Body | None = None
    on_int: Body | None = None
    on_bool: Body | None = None
    formula: Body | None = None
    of_types: Body | None = None
    rounds: bool = True  # a float16 or bfloat16 is not one yet: it is rounded from float32
    exact: bool = False  # there is one right answer, and the reference gives it bit for bit
    below_zero: Body | None = None  # the same bits, where an operand is known not to be above 0

    @property
    def has_one_answer(self) -> bool:
        """Whether the reference has the bits of kernels: basic ops are rounded once, conversions
        and tests are not rounded at all. Of mathematics there are many approximations."""
        return self.exact or self.body is BASIC or self.of_types is not None


@dataclass(frozen=True, slots=True, eq=False)
class Gather(KernelKind):
    """An element of the first operand, at an index that the others hold for `arg.axes`."""

    step = "pointwise"
    real = True
    cost: int = 2


@dataclass(frozen=True, slots=True, eq=False)
class Counting(KernelKind):
    """A running sum of one integer: an element is a multiple of its place."""

    step = "pointwise"
    real = True
    cost: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Reduce(KernelKind):
    """Elements joined along loops: `join` names the op, `start(dtype)` is its neutral element.

    `sizes(node)` are the lengths of the loops and `index_map(node, at, loops)` the reads of one
    iteration; by default the loops are the axes `arg.axis` of the only operand.
    """

    step = "reduce"
    real = True
    join: str
    start: Callable[[DType], Any]
    tree: bool = False  # floats are joined in the order of the one tree (`ops/tree.py`)
    sizes: Callable[[UOp], tuple[int, ...]] | None = None
    index_map: Callable[[UOp, At, At], Sequence[Read]] | None = None
    apart: bool = False  # its loops have an order of their own, so no other reduction shares them

    def __post_init__(self) -> None:
        if self.join not in JOINS:
            known = ", ".join(sorted(JOINS))
            raise InternalError(f"no lanes are joined by {self.join!r}; those that can: {known}")

    def loops_of(self, node: UOp) -> tuple[int, ...]:
        """The lengths of the loops."""
        if self.sizes is not None:
            return self.sizes(node)
        shape = node.src[0].shape
        return tuple([shape[d] for d in node.arg.axis])

    def reads(self, node: UOp, at: At, loops: At) -> Sequence[Read]:
        """The reads in one iteration of the loops, for the result at an index."""
        if self.index_map is not None:
            return self.index_map(node, at, loops)
        dims, keepdim = node.arg
        kept, inner = iter(at), iter(loops)
        place = []
        for d in range(len(node.src[0].shape)):
            if d not in dims:
                place.append(next(kept))
                continue
            if keepdim:
                next(kept)
            place.append(next(inner))
        return (Read(node.src[0], tuple(place)),)

    def joining(self, dtype: DType) -> tuple[str, Any]:
        """The basic op that joins two values of a dtype, and its neutral element."""
        if not dtype.is_bool:
            return self.join, self.start(dtype)
        if self.join not in _OF_TRUTH:
            raise InternalError(f"no lanes of truth values are joined by {self.join!r}")
        return _OF_TRUTH[self.join], self.start(dtype)


_OF_TRUTH = {
    **dict.fromkeys(("add", "maximum", "logical_or", "bitwise_or"), "logical_or"),
    **dict.fromkeys(("mul", "minimum", "logical_and", "bitwise_and"), "logical_and"),
}
JOINS = frozenset(
    {*_OF_TRUTH, "bitwise_xor", "logical_xor"}
)  # what renderers can join the lanes of a loop with


@dataclass(frozen=True, slots=True, eq=False)
class Library(KernelKind):
    """A call of a library, or `loops` where the scheduler finds those better."""

    step = "library"
    real = True
    call: str
    loops: Reduce


@dataclass(frozen=True, slots=True, eq=False)
class Whole(KernelKind):
    """A composite for which a target has its own kernels; the first `strided` operands may be
    views, whose memory these read.
    """

    step = "whole"
    strided: int


@dataclass(frozen=True, slots=True, eq=False)
class Finished(Library):
    """A call of a library that only a library does: of several dtypes, perhaps of two results."""

    real = False


@dataclass(frozen=True, slots=True, eq=False)
class Routine(KernelKind):
    """A library computes the whole of it, from operands in memory; made for targets that have
    that library alone."""

    step = "routine"


@dataclass(frozen=True, slots=True, eq=False)
class Algorithm(KernelKind):
    """A kernel that is built as a whole: `name` is a row of `kernel/algorithms`.

    `join(node)` is the op that a scan or a scatter joins with; None: the last value stays.
    """

    step = "special"
    real = True
    name: str
    join: Callable[[UOp], str | None] = lambda node: None


@dataclass(frozen=True, slots=True, eq=False)
class HandBuilt(KernelKind):
    """A kernel that the user built."""

    step = "special"
    name: str = "hand-built"


@dataclass(frozen=True, slots=True, eq=False)
class Memory(KernelKind):
    """The bytes of its operand under another type."""

    step = "memory"


@dataclass(frozen=True, slots=True, eq=False)
class Identity(KernelKind):
    """The value of one operand: there is nothing to compute.

    `places`: it only says where or as what the value is kept, so programs and modules omit it.
    """

    operand: int = 0
    places: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Control(KernelKind):
    """Runs the functions among its attributes; `how` is one of "branch", "loop" and "while"."""

    step = "control"
    how: str


@dataclass(frozen=True, slots=True, eq=False)
class Host(KernelKind):
    """Computed by the record's reference on arrays in memory; `here`: in the calling thread."""

    here: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Expand(KernelKind):
    """Replaced by its body before anything is scheduled."""


@dataclass(frozen=True, slots=True, eq=False)
class LoopLevel(KernelKind):
    """A word of kernels themselves: loops, memory, threads; below, one for each that passes know.

    `ends` names the op that closes the block which a node of the kind opens.
    """

    ends: str = ""
    closes: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class PerNode(KernelKind):
    """One of several kinds, by the node's dtypes and operands."""

    kinds: tuple[KernelKind, ...]
    choose: Callable[[UOp], KernelKind]


HOST, EXPAND, LOOP_LEVEL, MEMORY = Host(), Expand(), LoopLevel(), Memory()
HERE, PART = Host(here=True), Part()
RANGE, IF = LoopLevel(ends="end_range"), LoopLevel(ends="endif")
END_RANGE, END_IF = LoopLevel(closes=True), LoopLevel(closes=True)
GLOBAL, LOCAL, LOAD, STORE, COUNT, SUM, ATOMIC, ASK = (LoopLevel() for _ in range(8))
ACCUMULATOR, PHI, AFTER, BARRIER, SINK = (LoopLevel() for _ in range(5))
THREAD, VARIABLE = LoopLevel(), LoopLevel()  # known when a thread starts; when a kernel does


# ---- questions about a node


def kernel_of(node: UOp) -> KernelKind:
    """The node's kind; what kernels compute for real numbers only is done by the host else."""
    kernel = node.op.kernel
    if type(kernel) is PerNode:
        kernel = kernel.choose(node)
    if kernel.real and not _is_real(node):
        return HOST
    return kernel


def _is_real(node: UOp) -> bool:
    parts = (node, *node.src)  # a tuple of dtypes has no kind
    return "c" not in [getattr(part.dtype, "kind", "c") for part in parts]


def is_counting(node: UOp) -> bool:
    """Whether an element is a multiple of its place, and no operand is read."""
    return type(node.op.kernel) is not Pointwise and type(kernel_of(node)) is Counting


def pointwise_of(op: OpDef) -> Pointwise | None:
    """How kernels compute an element of the op, if they do so element by element."""
    kernel = op.kernel
    kinds = kernel.kinds if type(kernel) is PerNode else (kernel,)
    return next((k for k in kinds if type(k) is Pointwise), None)


def reduce_of(node: UOp) -> Reduce:
    """How a node that is computed by loops joins what they give."""
    kernel = node.op.kernel
    found = kernel.loops if type(kernel) is Library else kernel
    assert type(found) is Reduce
    return found


def is_reduction(node: UOp) -> bool:
    """Whether loops can compute the node by joining elements."""
    return type(node.op.kernel) in (Reduce, Library)


def is_constant(node: UOp) -> bool:
    """Whether the node is a CONST."""
    return node.op.kernel is CONSTANT


def opens(node: UOp) -> bool:
    """Whether the node opens a block of a kernel: a loop or an IF."""
    kernel = node.op.kernel
    return type(kernel) is LoopLevel and kernel.ends != ""


def closes(node: UOp) -> bool:
    """Whether the node ends the block that its first operand opened."""
    kernel = node.op.kernel
    return type(kernel) is LoopLevel and kernel.closes


def gate_of(node: UOp) -> UOp | None:
    """The bounds check of an access to memory, if any; an IF around it is a branch already."""
    gates = node.src[2:3] if node.op.kernel is LOAD else node.src[3:4]
    return gates[0] if gates and gates[0].op.kernel is not IF else None


def below_views(node: UOp) -> UOp:
    """The node whose elements, and no others, a chain of views shows."""
    while type(node.op.kernel) is View and len(node.src) == 1 and node.op.kernel.fill is None:
        node = node.src[0]
    return node


def is_filled(node: UOp) -> bool:
    """Whether every element is the same constant."""
    return below_views(node).op.kernel is CONSTANT


def filled_value(node: UOp) -> Any:
    """The constant that fills a node, None if none does."""
    base = below_views(node)
    return base.arg.value if base.op.kernel is CONSTANT else None
