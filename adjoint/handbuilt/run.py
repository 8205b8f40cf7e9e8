"""Hand-built kernels on arrays: compiled for the CPU, or run by the plain interpreter.

In: a `Handmade` kernel and one array per parameter. Out: nothing; arrays that the kernel may write
are written. What may live here: running one kernel on its own. What may not: kernels inside graphs,
which are steps like others (`handbuilt/kernel.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.backends.cpu.step_table import Table
from adjoint.codegen.llvm.render import render
from adjoint.errors import BoundsError
from adjoint.handbuilt.kernel import KEPT, Handmade, prepared, prepared_for
from adjoint.ir.uop import UOp
from adjoint.runtime import native_text as kinds
from adjoint.runtime.compiler import compile_source
from adjoint.runtime.interpret import interpret
from adjoint.runtime.interrupt import left_behind
from adjoint.runtime.launch import NativeProgram, chunk_of
from adjoint.runtime.processor import processor
from adjoint.stages import LoopProgram

Array = np.ndarray[Any, Any]


def run_arrays(kernel: Handmade, arrays: Sequence[Array], compiled: bool) -> None:
    """The kernel on row-major arrays of the right dtypes, one per parameter."""
    sizes = tuple(a.size for a in arrays)
    if not compiled:
        interpret(prepared(kernel, sizes, KEPT, False).program, arrays)
        return
    special = prepared(kernel, sizes, KEPT, True)
    flag = np.zeros(1, np.int64)
    launch(special.program, [*arrays, *([flag] if special.flag else [])])
    if flag[0]:
        raise left_memory(kernel.program, int(flag[0]), sizes)


def launch(program: LoopProgram, arrays: Sequence[Array]) -> None:
    """One native call."""
    code = compile_source(render(program, processor()))
    table = Table()
    cells = table.cells([a.__array_interface__["data"][0] for a in arrays])
    extent = 1 if program.grid is None else program.grid.arg.size
    chunk = chunk_of(extent, program.cost)
    region = table.region()
    region.steps.append((kinds.KERNEL, code.address, cells.address, extent, chunk))
    native = NativeProgram(table.flat(), 1, program.cost * extent, (table.keep, code, arrays))
    try:
        if native.run():
            raise KeyboardInterrupt
    except BaseException as error:
        left_behind(error, native)
        raise


def left_memory(program: LoopProgram, access: int, sizes: Sequence[int]) -> BoundsError:
    """The error about the access with this number, counted from 1."""
    accesses = [n for n in program.body if n.op.name in ("load", "store")]
    node: UOp = accesses[min(access, len(accesses)) - 1]
    memory = node.src[0].arg
    local = node.src[0].op.name == "define_local"
    size = memory.size if local else sizes[memory.index]
    place = f" (added by {node.origin})" if node.origin is not None else ""
    problem = f"an index leaves {memory.name}, which has {size} elements{place}"
    return BoundsError("E6001", problem, op=node.op.name, help='device="REF" says which index')


def computed(arg: Any, src: Sequence[UOp], operands: Sequence[Array]) -> list[Array]:
    """The results of a CUSTOM_KERNEL node by the interpreter."""
    results: list[Array] = [np.zeros(shape, dtype.np) for dtype, shape in arg.types]
    program = prepared_for(arg, src, checked=False).program
    arrays = [np.ascontiguousarray(a) for a in operands]
    interpret(program, [*results, *arrays])
    return results


__all__ = ["computed", "launch", "left_memory", "run_arrays"]
