"""The fastest algorithm for a product, as measured (`ADJOINT_TUNE=1`).

The library's candidates each run for a moment on memory of their own; the cache directory keeps the
best, by GPU, version of the library and product. What may live here: measuring, remembering.
"""

from __future__ import annotations

import hashlib
from ctypes import sizeof
from typing import Any

import numpy as np

from adjoint import config
from adjoint.ir.dtype import dtypes
from adjoint.runtime import cache
from adjoint.runtime.cublaslt import Algorithm, Launch, Matrix, Product, launcher, version
from adjoint.runtime.cuda import Driver

_ROUNDS, _IN_A_ROW = 5, 5
_NUMBERS = 1 << 18  # that are drawn, and repeated
_WORTH = 0.98  # of the time of the library's own choice, below which another is taken
_KNOWN: dict[str, Algorithm] = {}


def chosen(
    product: Product, found: tuple[Algorithm, ...], gpu: Driver, workspace: int
) -> Algorithm:
    """The library's first candidate, or the fastest if measuring is on."""
    if len(found) < 2 or config.TUNE.value() != "all":
        return found[0]
    facts = repr(("library product", 1, gpu.name, version(), tuple(product)))
    name = hashlib.sha256(facts.encode()).hexdigest()
    if name not in _KNOWN:
        kept = cache.read(name)
        if kept is None or len(kept) != sizeof(Algorithm):
            kept = bytes(_soonest(product, found, gpu, workspace))
            cache.write(name, kept)
        _KNOWN[name] = Algorithm.from_buffer_copy(kept)
    return _KNOWN[name]


def _soonest(
    product: Product, found: tuple[Algorithm, ...], gpu: Driver, workspace: int
) -> Algorithm:
    memory = [gpu.allocate(size) for size in sizes(product)]
    try:
        for address, size in zip(memory[1:3], sizes(product)[1:3], strict=True):
            _fill(address, size, product.dtype, gpu)
        launches = [launcher(product, way, workspace, gpu.stream) for way in found]
        times = [min(_milliseconds(f, memory, gpu) for _ in range(_ROUNDS)) for f in launches]
    finally:
        for address in memory:
            gpu.free(address)
    best = min(range(len(found)), key=times.__getitem__)
    return found[best] if times[best] < _WORTH * times[0] else found[0]


def _fill(address: int, size: int, dtype: str, gpu: Driver) -> None:
    """Random numbers: with zeros a GPU needs less power, and runs at another clock."""
    kind = getattr(dtypes, dtype)
    count = min(size // kind.itemsize, _NUMBERS)
    drawn = np.random.default_rng(0).uniform(-100, 100, count).astype(kind.np)
    gpu.write(address, drawn.ctypes.data, drawn.nbytes)
    done = drawn.nbytes
    while done < size:
        step = min(done, size - done)
        gpu.copy(address + done, address, step)
        done += step
    gpu.synchronise()


def _milliseconds(launch: Launch, memory: list[int], gpu: Driver) -> float:
    launch(*memory)
    start = gpu.event()
    for _ in range(_IN_A_ROW):
        launch(*memory)
    return gpu.milliseconds(start, gpu.event())


def sizes(product: Product) -> list[int]:
    """Bytes of everything that a launch is given."""
    narrow, wide = (getattr(dtypes, name).itemsize for name in (product.dtype, product.result))
    out = _extent(product.out, product.batch) * wide
    found = [out, *(_extent(m, product.batch) * narrow for m in (product.a, product.b))]
    found += [out] if product.added is not None else []
    found += [product.out.rows * wide] if "bias" in product.steps else []
    return found + [out] * any(step in product.steps for step in ("kept", "gelu gradient"))


def _extent(matrix: Matrix, batch: int) -> Any:
    return (batch - 1) * matrix.step + matrix.lead * matrix.columns
