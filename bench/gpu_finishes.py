"""What the library of products takes for the products of a model, and for what it does to them.

    python -m bench.gpu_finishes [--seconds 60]

For every shape of GPT-2's step (32 x 1024 tokens): the product alone, with a float32 result, and
with the steps that a chain may have. Of each the library's first choice and the soonest of its
candidates, in milliseconds, beside what the same work takes as a kernel of its own at 4 TB/s.
"""

from __future__ import annotations

import argparse
import statistics
import time
import traceback
from typing import Any, NamedTuple

from adjoint.backends.cuda.gpu import the_gpu
from adjoint.backends.cuda.product_times import _fill, sizes
from adjoint.backends.cuda.products import product_of
from adjoint.ir.dtype import dtypes
from adjoint.runtime.cublaslt import WORKSPACE, candidates, launcher
from adjoint.stages import Finish, Gemm

ROWS, IN_A_ROW, ROUNDS = 32768, 5, 3


class Shape(NamedTuple):
    """rows x summed x columns; which operands are read turned; the finishes to try."""

    m: int
    k: int
    n: int
    turned: tuple[bool, bool]
    finishes: tuple[str, ...]


FORWARD, BACK, WEIGHTS = (False, True), (False, False), (True, False)
SHAPES = {
    "qkv": Shape(ROWS, 768, 2304, FORWARD, ("", "f32", "bias")),
    "o": Shape(ROWS, 768, 768, FORWARD, ("", "f32", "bias", "f32 matrix bias")),
    "up": Shape(ROWS, 768, 3072, FORWARD, ("", "bias", "bias gelu", "bias gelu kept")),
    "down": Shape(ROWS, 3072, 768, FORWARD, ("", "f32", "f32 matrix bias", "matrix bias")),
    "head": Shape(ROWS, 768, 50304, FORWARD, ("",)),
    "d qkv": Shape(ROWS, 2304, 768, BACK, ("", "f32")),
    "d o": Shape(ROWS, 768, 768, BACK, ("", "f32")),
    "d up": Shape(ROWS, 3072, 768, BACK, ("", "f32")),
    "d down": Shape(ROWS, 768, 3072, BACK, ("", "gelu gradient")),
    "d head": Shape(ROWS, 50304, 768, BACK, ("", "f32")),
    "w qkv": Shape(2304, ROWS, 768, WEIGHTS, ("", "f32")),
    "w o": Shape(768, ROWS, 768, WEIGHTS, ("", "f32")),
    "w up": Shape(3072, ROWS, 768, WEIGHTS, ("", "f32")),
    "w down": Shape(768, ROWS, 3072, WEIGHTS, ("", "f32")),
    "w head": Shape(50304, ROWS, 768, WEIGHTS, ("", "f32")),
}


def gemm_of(shape: Shape, finish: str) -> Gemm:
    """The call, with matrices as a step has them."""
    m, k, n, turned, _ = shape
    words = finish.replace("gelu gradient", "gelu-gradient").split()
    result = dtypes.float32 if "f32" in words else dtypes.bfloat16
    steps = tuple(w.replace("-", " ") for w in words if w not in ("f32", "matrix"))
    lhs = (m * k, 1, m) if turned[0] else (m * k, k, 1)
    rhs = (k * n, 1, k) if turned[1] else (k * n, n, 1)
    made = Finish(adds="matrix" in words, steps=steps)
    return Gemm(dtypes.bfloat16, 1, m, n, k, lhs, rhs, (m * n, n, 1), result, made)


def times_of(gemm: Gemm, gpu: Any, workspace: int) -> list[float]:
    """Milliseconds of every candidate, the library's own choice first."""
    product = product_of(gemm)
    memory = [gpu.allocate(size) for size in sizes(product)]
    try:
        for address, size in zip(memory[1:3], sizes(product)[1:3], strict=True):
            _fill(address, size, product.dtype, gpu)
        found = candidates(product)
        return [_time(launcher(product, way, workspace, gpu.stream), memory, gpu) for way in found]
    finally:
        gpu.synchronise()
        for address in memory:
            gpu.free(address)


def _time(launch: Any, memory: list[int], gpu: Any) -> float:
    launch(*memory)
    rounds = []
    for _ in range(ROUNDS):
        start = gpu.event()
        for _ in range(IN_A_ROW):
            launch(*memory)
        rounds.append(gpu.milliseconds(start, gpu.event()) / IN_A_ROW)
    return statistics.median(rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=[*SHAPES])
    parser.add_argument("--seconds", type=float, default=60, help="begin no row later")
    options = parser.parse_args()
    gpu, until = the_gpu(), time.monotonic() + options.seconds
    workspace = gpu.allocate(WORKSPACE)
    print(f"{'product':8} {'finish':18} {'first':>7} {'best':>7} {'TFLOP/s':>7}  all candidates")
    for name in options.names:
        for finish in SHAPES[name].finishes:
            if time.monotonic() > until:
                return
            try:
                gemm = gemm_of(SHAPES[name], finish)
                found = times_of(gemm, gpu, workspace)
                rate = gemm.flops / min(found) / 1e9
                rest = " ".join(f"{t:.3f}" for t in found)
                print(f"{name:8} {finish:18} {found[0]:7.3f} {min(found):7.3f} {rate:7.0f}  {rest}")
            except Exception:
                print(name, finish, "failed:")
                traceback.print_exc()


if __name__ == "__main__":
    main()
