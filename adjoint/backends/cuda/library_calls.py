"""Library calls by their class: how each becomes something that is launched on the stream.

A binder gets the call and its device, once per memory of a run. It returns a function that runs at
every launch, under the lock of the GPU. The function finds addresses in `values` at that time, and
passes the object `gpu.stream` to the library: a launch that is recorded as a graph goes to another
stream, whose handle is then in that object. What may live here: the table. What may not: a call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from adjoint.backends.cuda.attention import attention_call
from adjoint.backends.cuda.convolutions import convolution_call
from adjoint.backends.cuda.factorisations import factorisation_call
from adjoint.backends.cuda.kernels import Kernels
from adjoint.backends.cuda.memory import CudaBlock, CudaMemory
from adjoint.backends.cuda.products import product_call
from adjoint.backends.cuda.transforms import transform_call
from adjoint.errors import InternalError
from adjoint.ir.uop import UOp
from adjoint.runtime.cuda import Driver
from adjoint.runtime.launch import Cells
from adjoint.stages import (
    Attention,
    Convolution,
    Factorisation,
    FourierTransform,
    Gemm,
    LibraryStep,
)

Call = Callable[[], None]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Site:
    """Where a call runs: its slots (results, then operands), the cells that hold an address for
    each slot, the GPU, its memory (for blocks of the call's own, which it keeps), and a block that
    one call after another may use."""

    slots: tuple[int, ...]
    cells: Cells
    gpu: Driver
    memory: CudaMemory
    workspace: Callable[[], CudaBlock]  # made when it is first asked for
    kernels: Kernels  # where calls that are kernels of our own find theirs
    node: UOp | None = None  # what is computed, for messages


class Row(NamedTuple):
    """How a class of calls is bound; and the host time of a call, in kernel launches, since a graph
    may be faster; 0 if no graph may record it: the host waits, or reads what the GPU has computed.
    """

    bind: Callable[[Any, Site], Call]
    launches: int = 1


def _product(gemm: Gemm, site: Site) -> Call:
    return product_call(gemm, site.slots, site.cells, site.gpu, site.workspace())


def _attention(call: Attention, site: Site) -> Call:
    return attention_call(call, site.slots, site.cells, site.gpu, site.memory, site.kernels)


ROWS: dict[type, Row] = {
    Convolution: Row(convolution_call),
    Factorisation: Row(factorisation_call, 0),
    FourierTransform: Row(transform_call),
    Gemm: Row(_product, 3),
    Attention: Row(_attention),
}


def library_row(step: LibraryStep) -> Row:
    """The row of a step's call."""
    found = ROWS.get(type(step.call))
    if found is None:
        raise InternalError(f"the GPU has no library for {step.call}")
    return found
