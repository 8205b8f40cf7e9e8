"""The data types that the back-end packages exchange. Data only.

A `Schedule` is steps in execution order, over numbered slots of memory; a kernel step holds a
`LoopProgram`, which a renderer turns into `Source` and the runtime into something to launch.
`ExecItem` and `NodeSchedule` are for the interpreter: one primitive node after another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import prod
from typing import Any, Protocol

from adjoint.ir.dtype import DType
from adjoint.ir.function import Function
from adjoint.ir.uop import UOp
from adjoint.ops.collective import COLLECTIVES, collective_text

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExecItem:
    """One step of the interpreter: a primitive node, and the nodes whose last use it is."""

    node: UOp
    last_uses: tuple[UOp, ...]

    def __str__(self) -> str:
        kind = f"{self.node.dtype}{list(self.node.shape)}"
        return f"{self.node.op.name} : {kind} @{self.node.device}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NodeSchedule:
    """The interpreter's steps, and for every root asked for the node that holds its value."""

    items: tuple[ExecItem, ...]
    roots: tuple[UOp, ...]
    values: tuple[UOp, ...]


# ---- compiled programs


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Graph:
    """Roots over INPUT nodes: those that a run gives, then `constants`, whose values are known.

    `constants` says of each such input which node has its value.
    """

    roots: tuple[UOp, ...]
    inputs: tuple[UOp, ...]
    constants: tuple[tuple[UOp, UOp], ...] = ()


Index = tuple[tuple[int, ...], ...]  # for every axis the loops it follows, most significant first


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Group:
    """Nodes that become one kernel: its results with the loops they lie on, and what it reads.

    `sizes[i]` is the length of loop i; `outer` are the loops that enclose all others (the rows), in
    order; `reduced` says of each reduction on which loops its result lies and over which it goes.
    """

    outputs: tuple[tuple[UOp, Index], ...]
    inputs: tuple[UOp, ...]
    sizes: tuple[int, ...]
    outer: tuple[int, ...]
    reduced: tuple[tuple[UOp, Index, Index], ...]


@dataclass(frozen=True, slots=True)
class Strategy:
    """How a step is computed: the row of `schedule/strategy.py` that was taken, and the others."""

    name: str
    use: str
    why: str
    others: tuple[str, ...] = ()  # rows that were asked and did not hold

    def __str__(self) -> str:
        rest = f" (not: {', '.join(self.others)})" if self.others else ""
        return f"{self.name}: {self.why}{rest}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LoopProgram:
    """One kernel as loops: kernel-level nodes in running order.

    A launch gives it an array of 64-bit cells: the addresses of `buffers`, then the values of
    `variables` and of `parameters`; and the part of the `grid` range to do. Without a grid the
    kernel is one piece. Parameters are sizes, strides and numbers: kernels that differ only in them
    have one source.
    """

    name: str
    buffers: tuple[UOp, ...]  # define_global, in the order of their index
    variables: tuple[UOp, ...]
    body: tuple[UOp, ...]
    grid: UOp | None
    cost: int  # of one iteration of the grid (of the kernel, if there is none), in scalar ops
    lines: tuple[str, ...] = ()  # the user's lines it came from
    parameters: tuple[UOp, ...] = ()  # constants that a launch gives, in cells behind `variables`
    in_place: tuple[tuple[int, int], ...] = ()  # (result, operand) that may be the same memory
    most: int = 0  # scalar ops of the longest launch, where sizes vary
    far: tuple[int, ...] = ()  # buffers that are longer than the caches: nothing of one stays there
    threads: int = 1  # a team, over which the lanes of its loops are spread, where a target has any
    registers: int = 0  # of such a thread, at most; 0: as a row needs that it holds
    unrolled: int = 0  # nodes of a loop that is unrolled, at most; 0: as many as a row may have
    joint: bool = False  # a launch may give it several sets of cells, each with a grid of its own


@dataclass(frozen=True, slots=True)
class Source:
    """A kernel in the language of a target."""

    language: str
    name: str
    text: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Slot:
    """A piece of memory of a schedule. `offset` is its place in the arena, None outside of it."""

    dtype: DType
    shape: Shape
    offset: int | None = None

    @property
    def nbytes(self) -> int:
        return self.dtype.itemsize * prod(self.shape)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KernelStep:
    """A loop program on slots, one per buffer of it."""

    program: LoopProgram
    slots: tuple[int, ...]
    node: UOp  # the first of the nodes it computes, for messages
    flag: tuple[int, UOp] | None = None  # the slot that tells of a bad index, and whose index it is
    places: tuple[Any, ...] = ()  # raw origins of all that it computes, sources first
    strategy: Strategy | None = None
    joint: int = 0  # steps in a row with one such number run at one time; 0: it runs alone

    @property
    def writes(self) -> tuple[int, ...]:
        """The slots that the kernel writes."""
        pairs = zip(self.slots, self.program.buffers, strict=True)
        return tuple(slot for slot, buffer in pairs if buffer.arg.mutable)

    @property
    def reads(self) -> tuple[int, ...]:
        """The slots that the kernel may read."""
        return self.slots

    def __str__(self) -> str:
        return f"kernel {self.program.name}({', '.join(f's{i}' for i in self.slots)})"


@dataclass(frozen=True, slots=True)
class Finish:
    """What a library does to the elements of a product before it writes them: times a factor, plus
    the elements of a matrix, then these steps in their order, each with an operand or without."""

    factor: float = 1.0
    adds: bool = False
    steps: tuple[str, ...] = ()

    def __str__(self) -> str:
        factor = f" * {self.factor:g}" if self.factor != 1 else ""
        return factor + "".join(f" + {s}" for s in ("matrix",) * self.adds + self.steps)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Gemm:
    """out[b] = lhs[b] @ rhs[b] for matrices with strides in elements: (batch, row, column) each."""

    dtype: DType  # of the operands
    batch: int
    m: int
    n: int
    k: int
    lhs: tuple[int, int, int]
    rhs: tuple[int, int, int]
    out: tuple[int, int, int]
    result: DType | None = None  # of what is made, if it is another dtype
    finish: Finish = Finish()
    starts: tuple[int, int] = (0, 0)  # elements of the operands' memory before their first
    tf32: bool = False
    ordered: bool = True  # the same bits from run to run

    @property
    def made(self) -> DType:
        """The dtype of the result."""
        return self.dtype if self.result is None else self.result

    @property
    def title(self) -> str:
        """What the call is, with its sizes."""
        kind = "tf32" if self.tf32 else self.dtype.short
        kind += f"->{self.made.short}" if self.made is not self.dtype else ""
        return f"gemm {kind} {self.batch}x{self.m}x{self.k}x{self.n}{self.finish}"

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        return 2 * self.batch * self.m * self.n * self.k


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Convolution:
    """A convolution, or its gradient by the picture or the weights: `kind`, as `ops/convolve.py`
    names them. Shapes have their channels second; `channels_last` says how all of them lie."""

    dtype: DType
    kind: str
    picture: Shape
    weights: Shape
    out: Shape
    stride: Shape
    padding: Shape
    dilation: Shape
    groups: int
    channels_last: bool
    tf32: bool = False  # operands of float32 may be rounded to 10 bits
    ordered: bool = True  # the same bits from run to run

    @property
    def title(self) -> str:
        """What the call is, with its sizes."""
        sizes = "x".join(map(str, self.picture)) + " by " + "x".join(map(str, self.weights))
        order = " channels last" if self.channels_last else ""
        kind = "tf32" if self.tf32 else self.dtype.short
        return f"convolution {kind} {self.kind} {sizes}{order}"

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        return 2 * prod(self.out) * prod(self.weights[1:])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FourierTransform:
    """Transforms of the last axes, `batch` of them one behind another, not divided by anything:
    `form`, as `ops/transform.py` names them."""

    dtype: DType
    form: str
    lengths: Shape
    batch: int
    inverse: bool

    @property
    def title(self) -> str:
        """What the call is, with its sizes."""
        sizes = "x".join(map(str, self.lengths))
        way = "inverse " if self.inverse else ""
        return f"{way}fourier transform {self.dtype.short} {self.form} {self.batch} of {sizes}"

    @property
    def flops(self) -> int:
        """As transforms are counted: 5 n log2 n, half of it where one side is real."""
        count = prod(self.lengths)
        whole = 5 * self.batch * count * max(1, (count - 1).bit_length())
        return whole if self.form == "complex" else whole // 2


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Factorisation:
    """A factorisation of `batch` matrices, or the solution of their equations: `what`, as
    `ops/factor.py` names them; `others` are the columns, or rows, of right-hand sides; `how` is
    what is said of a triangle: upper, left, ones on the diagonal."""

    dtype: DType
    what: str
    batch: int
    rows: int
    columns: int
    others: int = 0
    how: tuple[bool, bool, bool] = (False, True, False)

    @property
    def real_bytes(self) -> int:
        """Of a number that is real whatever the matrix is."""
        return self.dtype.itemsize // (2 if self.dtype.is_complex else 1)

    @property
    def title(self) -> str:
        """What the call is, with its sizes."""
        return f"{self.what} {self.dtype.short} {self.batch}x{self.rows}x{self.columns}"

    @property
    def flops(self) -> int:
        """About as many as an elimination has, and right-hand sides."""
        size = min(self.rows, self.columns)
        return self.batch * self.rows * self.columns * (size + 2 * self.others)


def matrix_order(row: int, column: int, rows: int, columns: int) -> tuple[bool, int] | None:
    """Whether a matrix with these strides lies row by row, or column by column, and how far they
    are apart; None if it lies neither way."""
    if (column == 1 or columns == 1) and (row >= columns or rows == 1):
        return True, max(1, columns, row if rows > 1 else 1)
    if (row == 1 or rows == 1) and (column >= rows or columns == 1):
        return False, max(1, rows, column if columns > 1 else 1)
    return None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Attention:
    """Attention, or one of its gradients, by kernels that take it whole.

    `part` says which: "forward", "queries" (their gradient) or "keys" (theirs and that of values).
    `operands`: q, k, v and, for a gradient, that of o; of each the first element, and strides in
    elements of (batch, head, row). Results lie as (batch, row, head, feature).
    """

    part: str
    dtype: DType
    is_causal: bool
    scale: float
    batch: int
    heads: int
    shared_by: int  # heads of q that have one of k
    queries: int
    keys: int
    features: int
    operands: tuple[tuple[int, int, int, int], ...]
    # Of a mask, the last operand: its first element, strides of (batch, head, query, key).
    mask: tuple[int, int, int, int, int] | None = None

    @property
    def title(self) -> str:
        """What the call is, with its sizes."""
        sizes = f"{self.batch}x{self.heads}x{self.queries}x{self.keys}x{self.features}"
        kind = f"{self.part} {self.dtype.short} {sizes}"
        return (
            f"attention {kind}{' causal' if self.is_causal else ''}{' masked' if self.mask else ''}"
        )

    @property
    def flops(self) -> int:
        """Multiplications and additions of the products; of hidden scores there are none."""
        products = {"forward": 2, "queries": 3, "keys": 4}[self.part]
        scores = self.queries * self.keys
        if self.is_causal:
            hidden = min(self.queries, self.keys)
            scores -= self.keys * hidden - hidden * (hidden + 1) // 2
        return 2 * products * self.batch * self.heads * scores * self.features


class LibraryCall(Protocol):
    """A call of a library, as data; a backend knows the calls of its libraries by their class."""

    @property
    def title(self) -> str:
        """What the call is, with its sizes."""

    @property
    def flops(self) -> int:
        """Its arithmetic."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LibraryStep:
    """A call of a library; slots are its results, then its operands."""

    call: LibraryCall
    slots: tuple[int, ...]
    node: UOp
    strategy: Strategy | None = None
    made: int = 1  # how many slots are results

    @property
    def writes(self) -> tuple[int, ...]:
        """The slots of the results."""
        return self.slots[: self.made]

    @property
    def reads(self) -> tuple[int, ...]:
        """The slots of the operands."""
        return self.slots[self.made :]

    def __str__(self) -> str:
        return f"library {self.call.title} ({', '.join(f's{i}' for i in self.slots)})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HostStep:
    """A node that NumPy computes on the host (linear algebra, Fourier transforms, complex), or a
    collective. One that runs `ahead` is begun here, and there at its `WaitStep`."""

    node: UOp
    results: tuple[int, ...]
    operands: tuple[int, ...]
    strategy: Strategy | None = None
    ahead: bool = False

    @property
    def writes(self) -> tuple[int, ...]:
        """The slots of the results."""
        return self.results

    @property
    def reads(self) -> tuple[int, ...]:
        """The slots of the operands."""
        return self.operands

    def __str__(self) -> str:
        call = f"{self.node.op.name}({', '.join(f's{i}' for i in self.operands)})"
        if self.node.op in COLLECTIVES:
            begun = ", begun" if self.ahead else ""
            return f"collective {call}: {collective_text(self.node)}{begun}"
        return f"host {call}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WaitStep:
    """The end of a collective that was begun before. It reads what the collective uses: nothing
    else may lie there until then."""

    node: UOp
    results: tuple[int, ...]
    operands: tuple[int, ...]
    strategy: Strategy | None = None

    @property
    def writes(self) -> tuple[int, ...]:
        """Nothing that its collective has not."""
        return ()

    @property
    def reads(self) -> tuple[int, ...]:
        """All slots of the collective."""
        return (*self.results, *self.operands)

    def __str__(self) -> str:
        return f"wait for {self.node.op.name}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ControlStep:
    """LOOP, WHILE or BRANCH: the node, its slots, and the schedules of its functions."""

    node: UOp
    results: tuple[int, ...]
    operands: tuple[int, ...]
    parts: tuple[Schedule, ...]
    strategy: Strategy | None = None
    kept: tuple[int, ...] = ()  # carries of a loop whose new values are written over the old ones

    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions of the node, in the order of the parts."""
        return functions_of(self.node)

    @property
    def writes(self) -> tuple[int, ...]:
        """The slots of the results."""
        return self.results

    @property
    def reads(self) -> tuple[int, ...]:
        """The slots of the operands."""
        return self.operands

    def __str__(self) -> str:
        return f"{self.node.op.name}({', '.join(f's{i}' for i in self.operands)})"


def functions_of(node: UOp) -> tuple[Function, ...]:
    """The functions that a control node holds."""
    return tuple(value for value in node.arg if isinstance(value, Function))


Step = KernelStep | LibraryStep | HostStep | WaitStep | ControlStep


def in_one_launch(steps: Sequence[Step]) -> list[list[int]]:
    """The numbers of the steps, those in a row that may run at one time in one list."""

    def launch(number: int) -> tuple[int, int]:
        step = steps[number]
        joint = step.joint if isinstance(step, KernelStep) else 0
        return (joint, 0) if joint else (0, number)

    return [list(group) for _, group in groupby(range(len(steps)), launch)]


@dataclass(frozen=True, slots=True)
class Again:
    """Steps, `count` of them, that make values again which were not kept: `values` are the slot
    that each was in, the one that it is in from here on, and the step that used it last before."""

    step: int
    count: int
    values: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Schedule:
    """Steps over slots: what is given, what comes out, and how large the arena for the rest is."""

    steps: tuple[Step, ...]
    slots: tuple[Slot, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    arena: int
    constants: tuple[tuple[int, Any], ...] = ()  # slots with values that never change
    types: tuple[tuple[DType, Shape], ...] = ()  # of the outputs, if not those of their slots
    again: tuple[Again, ...] = ()  # steps that come again, for less memory

    def flags(self) -> Iterator[tuple[int, UOp]]:
        """The slots that kernels set when an index is out of range, and the nodes to blame."""
        return (s.flag for s in self.steps if isinstance(s, KernelStep) and s.flag is not None)

    def checks_indices(self) -> bool:
        """Whether a kernel, perhaps inside a loop or branch, has such a slot."""
        inside = (part for s in self.steps if isinstance(s, ControlStep) for part in s.parts)
        return any(True for _ in self.flags()) or any(part.checks_indices() for part in inside)

    def programs(self) -> Iterator[LoopProgram]:
        """The kernels, those inside loops and branches too, each once."""
        seen: dict[LoopProgram, None] = {}
        for step in self.steps:
            if isinstance(step, KernelStep):
                seen[step.program] = None
            elif isinstance(step, ControlStep):
                seen |= dict.fromkeys(p for part in step.parts for p in part.programs())
        yield from seen
