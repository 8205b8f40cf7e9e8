"""A hand-built program → one whose accesses stay inside memory of known sizes.

    before: store(b0, i, x)             after: inside = 0 <= i < size; store(b0, i, x) if inside;
                                               store(flag, 0, 1) if not inside

An access that is always inside stays as it is. One that is certain to leave its memory is an error
at once; one that may leave it is checked as it runs, and a flag tells of it. Results start as zeros
or as what they are given, unless the kernel writes all of them and reads none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from adjoint.errors import BoundsError, DeviceError
from adjoint.handbuilt.linear_index import covers, linear
from adjoint.handbuilt.written import WrittenKernel
from adjoint.ir.bounds import bounds
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.kernel_kind import END_IF, IF, LOAD, LOCAL, RANGE, STORE
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, rebuild
from adjoint.kernel.algorithms.loops import AlgorithmKernel
from adjoint.ops.loop_ops import LoadArg
from adjoint.ops.mathematics.nodes import NARROW, both, cast, negated, number, test
from adjoint.stages import LoopProgram

MOST_LOCAL = 1 << 20  # bytes of a kernel's own memory, which lies on the stack
KEPT, ZEROS, GIVEN = "kept", "zeros", "given"  # what a result holds before the kernel runs


def guarded(
    program: LoopProgram, sizes: Sequence[int], order: Sequence[int], start: str, checked: bool
) -> AlgorithmKernel:
    """The program on buffers in this order (numbers of its parameters), behind them one with the
    start of every result if it is given, and the flag if an access needs one."""
    _check_local(program)
    guard = _Guard(program, sizes, order, start, checked)
    guard.fill()
    for node in program.body:
        guard.node(node)
    buffers = [guard.new[program.buffers[i]] for i in order]
    buffers += [*guard.starts, *([guard.flag] if guard.flag_used else [])]
    made = replace(program, buffers=tuple(buffers), body=tuple(guard.out.root.flat()))
    return AlgorithmKernel(made, flag=guard.flag_used)


def _check_local(program: LoopProgram) -> None:
    local = [n.arg for n in program.body if n.op.kernel is LOCAL]
    total = sum(arg.size * arg.dtype.itemsize for arg in local)
    if total > MOST_LOCAL:
        problem = f"{total} bytes of local memory are more than {MOST_LOCAL}"
        raise DeviceError("E6004", problem, op="define_local", help="use a parameter instead")


class _Guard:
    def __init__(
        self,
        program: LoopProgram,
        sizes: Sequence[int],
        order: Sequence[int],
        start: str,
        checked: bool,
    ) -> None:
        self.program, self.start, self.checked = program, start, checked
        self.new: dict[UOp, UOp] = {}
        self.starts: list[UOp] = []
        make = OPS["define_global"]
        for place, i in enumerate(order):
            buffer = program.buffers[i]
            name, mutable, kind = buffer.arg.name, buffer.arg.mutable, buffer.arg.dtype
            self.new[buffer] = make(place, name, mutable, kind, sizes[i])
        self.results = [b for b in self.new if b.arg.mutable]
        if start == GIVEN:
            first = len(order)
            for at, b in enumerate(self.results):
                size = self.new[b].arg.size
                self.starts.append(make(first + at, f"start{at}", False, b.arg.dtype, size))
        last = len(order) + len(self.starts)
        self.flag = make(last, "flag", True, dtypes.int64, 1)
        self.flag_used = False
        self.conditions = 0
        self.accesses = 0
        self.out = WrittenKernel()

    # ---- nodes

    def node(self, node: UOp) -> None:
        new = self.new[node] = rebuild(node, tuple(self.new.get(s, s) for s in node.src))
        name = node.op.name
        self.conditions += (name == "if") - (name == "endif")
        access = name in ("load", "store")
        self.accesses += access
        if access and not self.inside(new) and self.checked:
            self.new[node] = self.gated(new)
        else:
            self.out.put(new)

    def inside(self, node: UOp) -> bool:
        """Whether the access cannot leave its memory; an error if it is certain to."""
        size = node.src[0].arg.size
        lo, hi = bounds(node.src[1])
        if 0 <= lo and hi < size:
            return True
        ungated = len(node.src) == (2 if node.op.kernel is LOAD else 3)
        reached = linear(node.src[1]) is not None  # both ends of the range are then met
        if ungated and not self.conditions and (reached or hi < 0 or lo >= size):
            raise _outside(node, lo, hi, size)
        return False

    def gated(self, node: UOp) -> UOp:
        """The access where it is inside; elsewhere its number is written to the flag."""
        self.flag_used = True
        is_load = node.op.kernel is LOAD
        given = node.src[2:3] if is_load else node.src[3:]
        tests = within(node.src[1], node.src[0].arg.size)
        inside, outside = tests[-1], negated(tests[-1])
        self.out.put(*tests, outside)
        if given:
            inside, outside = both(given[0], inside), both(given[0], outside)
            self.out.put(inside, outside)
        alternative = list(node.src[3:]) if given else _zero(node.dtype) if is_load else []
        self.out.put(*(n for n in alternative if n.op.name == "cast"))
        operands = node.src[:2] if is_load else node.src[:3]
        safe = UOp(node.op, (*operands, inside, *(alternative[-1:] if is_load else ())), node.arg)
        code = number(self.accesses, dtypes.int64)
        self.out.put(OPS["store"](self.flag, number(0, dtypes.int64), code, outside), safe)
        return safe

    # ---- what results start from

    def fill(self) -> None:
        if self.start == KEPT:
            return
        used = (n.arg.id for n in self.program.body if n.op.kernel is RANGE)
        ids = count(1 + max(used, default=-1))
        for at, buffer in enumerate(self.results):
            if self.new[buffer].arg.size and not self.is_written_whole(buffer):
                source = self.starts[at] if self.start == GIVEN else None
                self.out.put(*_fill(self.new[buffer], source, next(ids)))

    def is_written_whole(self, buffer: UOp) -> bool:
        """Whether no node reads the result, and some store goes over all of it."""
        new = self.new[buffer]
        read = any(n.op.kernel is LOAD and n.src[0] is buffer for n in self.program.body)
        depth, found = 0, False
        for node in self.program.body:
            depth += (node.op.kernel is IF) - (node.op.kernel is END_IF)
            plain = node.op.kernel is STORE and node.src[0] is buffer and len(node.src) == 3
            found = found or (plain and not depth and covers(node.src[1], new.arg.size))
        return found and not read


def within(index: UOp, size: int) -> list[UOp]:
    """Nodes of which the last says whether an index is inside."""
    kind = index.dtype
    low = test("le", number(0, kind), index) if kind.kind == "i" else None
    high = test("lt", index, number(size, kind)) if size <= kind.max else None
    found = [n for n in (low, high) if n is not None]
    if low is not None and high is not None:
        found.append(both(low, high))
    return found or [test("eq", index, index)]


def _zero(kind: DType) -> list[UOp]:
    if kind not in NARROW:
        return [number(0, kind)]
    wide = number(0, dtypes.float32)
    return [wide, cast(wide, kind)]


def _outside(node: UOp, lo: int, hi: int, size: int) -> BoundsError:
    span = str(lo) if lo == hi else f"{lo} to {hi}"
    place = f" (added by {node.origin})" if node.origin is not None else ""
    problem = f"index {span} leaves {node.src[0].arg.name}, which has {size} elements{place}"
    return BoundsError("E6001", problem, op=node.op.name)


def _fill(buffer: UOp, source: UOp | None, id: int) -> list[UOp]:
    counter = OPS["range"](id, buffer.arg.size, 0, dtypes.int64)
    if source is None:
        values = _zero(buffer.arg.dtype)
        inside = values[1:]
    else:
        inside = values = [UOp(OPS["load"], (source, counter), LoadArg())]
    store = OPS["store"](buffer, counter, values[-1])
    return [counter, *inside, store, OPS["end_range"](counter)]
