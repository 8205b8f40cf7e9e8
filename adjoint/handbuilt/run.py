"""Hand-built kernels on arrays: compiled by a backend, or run by the plain interpreter.

In: a `Handmade` kernel and one array per parameter. Out: nothing; arrays that the kernel may write
are written. Elsewhere: kernels inside graphs, which are steps like others (`handbuilt/kernel.py`),
or anything of one device.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from adjoint.backends.protocol import Kernel
from adjoint.engine.graph_key import backend_name
from adjoint.engine.program_cache import load_backend
from adjoint.errors import BoundsError
from adjoint.handbuilt.bounds_checks import KEPT
from adjoint.handbuilt.kernel import Handmade, prepared, prepared_for
from adjoint.handbuilt.parallelise import shared_out
from adjoint.ir.kernel_kind import LOAD, LOCAL, STORE
from adjoint.ir.uop import UOp
from adjoint.runtime.interpret import interpret
from adjoint.runtime.interrupt import left_behind
from adjoint.runtime.launch import Cells
from adjoint.stages import KernelStep, LoopProgram

Array = np.ndarray[Any, Any]


def run_arrays(kernel: Handmade, arrays: Sequence[Array], device: str) -> None:
    """The kernel on row-major arrays of the right dtypes, one per parameter."""
    sizes, name = tuple(a.size for a in arrays), backend_name(device)
    if not name:
        interpret(prepared(kernel, sizes, KEPT, False).program, arrays)
        return
    special = shared_out(prepared(kernel, sizes, KEPT, True), load_backend(name).target)
    flag = np.zeros(1, np.int64)
    launch(name, special.program, [*arrays, *([flag] if special.flag else [])])
    if flag[0]:
        raise left_memory(kernel.program, int(flag[0]), sizes)


def launch(name: str, program: LoopProgram, arrays: Sequence[Array]) -> None:
    """One launch of one kernel by a backend; the arrays that it writes have their results
    afterwards.
    """
    backend = load_backend(name)
    memory = backend.memory
    blocks = [] if memory.addressable else [memory.allocate(a.nbytes) for a in arrays]
    for block, array in zip(blocks, arrays, strict=False):
        memory.write(block.address, array)
    places = [b.address for b in blocks] or [a.__array_interface__["data"][0] for a in arrays]
    cells = Cells(places)
    step = KernelStep(program, tuple(range(len(arrays))), program.buffers[0])
    bound = backend.bind([step], _kernels(name, program), cells)
    try:
        if bound.run():
            raise KeyboardInterrupt
        backend.synchronise()
    except BaseException as error:
        left_behind(error, bound, cells, blocks, arrays)
        raise
    for buffer, block, array in zip(program.buffers, blocks, arrays, strict=False):
        if buffer.arg.mutable:
            array.reshape(-1).view(np.uint8)[...] = block.read(array.nbytes)


@lru_cache(maxsize=256)
def _kernels(name: str, program: LoopProgram) -> dict[LoopProgram, Kernel]:
    """The code of a kernel on its own."""
    backend = load_backend(name)
    return dict(backend.compile({program: backend.render(program)}))


def left_memory(program: LoopProgram, access: int, sizes: Sequence[int]) -> BoundsError:
    """The error about the access with this number, counted from 1."""
    accesses = [n for n in program.body if n.op.kernel in (LOAD, STORE)]
    node: UOp = accesses[min(access, len(accesses)) - 1]
    memory = node.src[0].arg
    local = node.src[0].op.kernel is LOCAL
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
