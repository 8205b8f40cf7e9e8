"""`Handmade`: a hand-built kernel as a value that a node can carry, and how it becomes a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from adjoint.handbuilt.bounds_checks import GIVEN, KEPT, ZEROS, guarded
from adjoint.handbuilt.parallelise import shared_out
from adjoint.handbuilt.threads import as_loops
from adjoint.handbuilt.written import WrittenKernel
from adjoint.ir.dtype import dtypes
from adjoint.ir.kernel_kind import LOAD, RANGE, STORE
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, rebuild
from adjoint.kernel.algorithms.loops import AlgorithmKernel
from adjoint.kernel.algorithms.table import BUILDERS
from adjoint.ops.mathematics.nodes import cast
from adjoint.stages import LoopProgram
from adjoint.target import Target

Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Handmade:
    """A program; two that do the same are equal."""

    program: LoopProgram

    @property
    def __name__(self) -> str:
        return self.program.name

    @property
    def results(self) -> list[int]:
        """Which parameters the kernel writes."""
        return [i for i, b in enumerate(self.program.buffers) if b.arg.mutable]

    @property
    def operands(self) -> list[int]:
        """Which parameters it only reads."""
        return [i for i, b in enumerate(self.program.buffers) if not b.arg.mutable]

    @property
    def _parts(self) -> tuple[object, ...]:
        return self.program.name, self.program.buffers, self.program.body

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Handmade) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    def __repr__(self) -> str:
        return f"@{self.program.name}"


@lru_cache(maxsize=1024)
def prepared(kernel: Handmade, sizes: Sizes, start: str, checked: bool) -> AlgorithmKernel:
    """The kernel on memory of these sizes, one per parameter. Results that start afresh come first,
    then operands.
    """
    program = as_loops(kernel.program)
    order = [*kernel.results, *kernel.operands] if start != KEPT else range(len(sizes))
    return guarded(program, sizes, list(order), start, checked)


def sizes_of(kernel: Handmade, results: Sequence[int], operands: Sequence[int]) -> Sizes:
    """Sizes by parameter from those of results and operands."""
    places = dict(zip([*kernel.results, *kernel.operands], [*results, *operands], strict=True))
    return tuple(places[i] for i in range(len(places)))


def build_handmade(node: UOp, target: Target, name: str = "") -> AlgorithmKernel:
    """The kernel of a CUSTOM_KERNEL node."""
    return shared_out(prepared_for(node.arg, node.src, checked=True), target)


def prepared_for(arg: object, src: Sequence[UOp], checked: bool) -> AlgorithmKernel:
    """The kernel for the operands of a node, whose attributes are these."""
    kernel, types, given = arg.kernel, arg.types, arg.given  # type: ignore[attr-defined]
    operands = src[: len(kernel.operands)]
    results = [prod(shape) for _, shape in types]
    sizes = sizes_of(kernel, results, [s.size for s in operands])
    return prepared(kernel, sizes, GIVEN if given else ZEROS, checked)


def repeated(kernel: Handmade, sizes: Sizes, moving: Sequence[bool], times: int) -> Handmade:
    """The kernel once per example: a loop around it, which moves along in the memory of those
    parameters that have an element per example."""
    program = kernel.program
    ids = [n.arg.id for n in program.body if n.op.kernel is RANGE]
    outer = OPS["range"](1 + max(ids, default=-1), times, 0, dtypes.int64)
    steps = {b: n for b, n, m in zip(program.buffers, sizes, moving, strict=True) if m}
    new: dict[UOp, UOp] = {b: _of_size(b, None) for b in program.buffers}
    out = WrittenKernel()
    out.put(outer)
    for node in program.body:
        src = [new.get(s, s) for s in node.src]
        if node.op.kernel in (LOAD, STORE) and node.src[0] in steps:
            places = _moved(src[1], outer, steps[node.src[0]])
            out.put(*places)
            src[1] = places[-1]
        new[node] = rebuild(node, tuple(src))
        out.put(new[node])
    out.put(OPS["end_range"](outer))
    buffers = tuple(new[b] for b in program.buffers)
    return Handmade(replace(program, body=tuple(out.root.flat()), buffers=buffers))


def _moved(index: UOp, outer: UOp, size: int) -> list[UOp]:
    wide = cast(index, dtypes.int64)
    first = OPS["mul"](outer, OPS["const"](size, dtypes.int64, (), None))
    found = [first, OPS["add"](first, wide)]
    return found if wide is index else [wide, *found]


def _of_size(buffer: UOp, size: int | None) -> UOp:
    arg = buffer.arg
    made: UOp = OPS["define_global"](arg.index, arg.name, arg.mutable, arg.dtype, size)
    return made


BUILDERS["hand-built"] = build_handmade
