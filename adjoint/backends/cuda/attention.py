"""Attention as launches of its kernels: which tiles they have, and where their operands lie.

What may live here: sizes of tiles and orders of blocks, by what was measured. What may not: what a
kernel does (`codegen/nvptx/matrix`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from adjoint.backends.cuda.kernels import Kernels
from adjoint.backends.cuda.memory import CudaMemory
from adjoint.codegen.nvptx.matrix.attention_backward import (
    backward_keys,
    backward_queries,
    keys_parameters,
    queries_parameters,
)
from adjoint.codegen.nvptx.matrix.attention_forward import forward, forward_parameters
from adjoint.codegen.nvptx.matrix.attention_frame import MASK, Shape
from adjoint.runtime.cuda import Driver
from adjoint.runtime.launch import Cells
from adjoint.stages import Attention, Source

CAPABILITY = 90  # of the GPUs whose instructions the kernels use
_COUNTERS = 8  # bytes: items that blocks have taken, and blocks that are done


class _Tiles(NamedTuple):
    """Warpgroups that compute, rows that go by at a time, whether warpgroups alternate."""

    groups: int
    rows: int
    alternate: bool = False


class _Part(NamedTuple):
    """A kernel: what writes it, its parameters, its results, and its tiles for heads of up to 64
    and of up to 128 numbers; those with a mask, which takes registers."""

    source: Callable[[Shape, str], Source]
    parameters: Callable[[bool], tuple[str, ...]]
    results: tuple[str, ...]
    tiles: dict[int, _Tiles]
    masked: dict[int, _Tiles]
    near: int  # bytes that blocks which run at once read again and again


_PARTS = {
    "forward": _Part(
        *(forward, forward_parameters, ("o",)),
        tiles={64: _Tiles(2, 128), 128: _Tiles(2, 160, True)},
        masked={64: _Tiles(2, 128), 128: _Tiles(2, 160)},
        near=4 << 20,
    ),
    "queries": _Part(
        *(backward_queries, queries_parameters, ("dq",)),
        tiles={64: _Tiles(2, 96), 128: _Tiles(2, 80)},
        masked={64: _Tiles(2, 96), 128: _Tiles(2, 80)},
        near=4 << 20,
    ),
    "keys": _Part(
        *(backward_keys, keys_parameters, ("dk", "dv")),
        tiles={64: _Tiles(2, 96), 128: _Tiles(2, 64)},
        masked={64: _Tiles(2, 96), 128: _Tiles(2, 48)},
        near=32 << 20,
    ),
}


def shape_of(call: Attention) -> Shape:
    """The tiles of a call."""
    width = 64 if call.features <= 64 else 128
    part = _PARTS[call.part]
    tiles = (part.masked if call.mask else part.tiles)[width]
    return Shape(
        call.dtype.name, call.features, call.is_causal, *tiles, call.mask is not None, call.scale
    )


@lru_cache(maxsize=256)
def _source(part: str, shape: Shape) -> Source:
    return _PARTS[part].source(shape, f"attention_{part}")


def source_of(call: Attention) -> Source:
    """The kernel of a call: the same for all sizes but those of a head."""
    return _source(call.part, shape_of(call))


def parameters_of(call: Attention) -> tuple[str, ...]:
    """The parameters of its kernel, those of results and operands first."""
    return _PARTS[call.part].parameters(call.mask is not None)


def numbers_of(call: Attention) -> dict[str, int]:
    """The parameters of a launch that are no addresses."""
    part, shape = _PARTS[call.part], shape_of(call)
    of_keys = call.part == "keys"
    heads = call.heads // call.shared_by if of_keys else call.heads
    blocks = -(-(call.keys if of_keys else call.queries) // shape.rows)
    planes = call.batch * heads
    read = 4 * call.features * (call.queries * call.shared_by if of_keys else call.keys)
    section = max(1, min(planes, part.near // read))
    found = {"queries": call.queries, "keys": call.keys, "heads": heads}
    found |= {"shared_by": call.shared_by, "blocks": blocks, "planes": planes, "section": section}
    rows = call.keys if of_keys else call.queries
    own = (0, rows * heads * call.features, call.features, heads * call.features)
    places = dict.fromkeys(part.results, own)
    places |= dict(zip("qkvgo", call.operands, strict=False))
    for name, place in places.items():
        axes = ("first", "batch", "head", "row")
        found |= {f"{name}_{axis}": n for axis, n in zip(axes, place, strict=True)}
    return found | {f"mask_{axis}": n for axis, n in zip(MASK, call.mask or (), strict=False)}


def attention_call(
    call: Attention,
    slots: tuple[int, ...],
    cells: Cells,
    gpu: Driver,
    memory: CudaMemory,
    kernels: Kernels,
) -> Callable[[], None]:
    """What launches a call on the slots of a run: its results, then its operands."""
    counters = memory.allocate(_COUNTERS)
    gpu.clear(counters.address, _COUNTERS)
    numbers = numbers_of(call) | {"counters": counters.address}
    kernel = kernels.kernel(source_of(call))
    names = parameters_of(call)[len(slots) :]
    own = Cells([numbers[name] for name in names])
    places = [cells.cell(slot) for slot in slots] + [own.cell(i) for i in range(len(own))]
    parameters = (ctypes.c_void_p * len(places))(*places)
    items = numbers["blocks"] * numbers["planes"]
    geometry = kernel.geometry
    sizes = (min(items, gpu.processors), geometry.threads, geometry.shared)
    launch = gpu.launcher(kernel.function, sizes, parameters)

    def run(keep: Any = (own, cells, counters)) -> None:
        launch()

    return run
