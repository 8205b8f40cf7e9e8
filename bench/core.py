"""How long does a Core module take, per instruction, to be read, checked, differentiated, printed?

Modules of 10 to 10,000 instructions, made of the opcodes a network has. Each step is timed on its
own; the best of several rounds counts, as anything else is the machine's noise. `differentiate` is
everything that the call does: verify, canonicalise, walk, canonicalise and verify the result.
Usage: python bench/core.py [--rounds N] [--check]
"""

import argparse
import gc
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from adjoint.module import GradientOptions, Module, canonicalise, differentiate, parse, verify

SIZES = (10, 100, 1_000, 10_000)
BAR = 28.0  # µs per instruction for differentiate: the best published figure for this format
LINEAR = 1.6  # the largest module may cost this much more per instruction than the middle one


def network(size: int) -> str:
    """Layers of products, sums, activations and a loss: `size` instructions in all."""
    kind, column = "Tensor<f32, [8, 8]>", "Tensor<f32, [1, 8]>"
    lines = [
        f'%0 = Input() {{name: "x"}} : {kind}',
        f'%1 = Input() {{name: "w"}} : {kind}',
        f'%2 = Input() {{name: "b"}} : {column}',
    ]
    layer = (
        "MatMul(%{h}, %1)",
        "BinOp(Add, %{h}, %2)",
        "Relu(%{h})",
        "BinOp(Mul, %{h}, %{r})",
        "BinOp(Sub, %{h}, %{r})",
        "Exp(%{h})",
        "Transpose(%{h}, [1, 0])",
        "BinOp(Div, %{h}, %0)",
    )
    before = residual = 0
    for number in range(3, size - 1):
        step = (number - 3) % len(layer)
        residual = before if step == 0 else residual
        body = layer[step].format(h=before, r=residual)
        before = number
        lines.append(f"%{number} = {body} : {kind}")
    lines.append(f"%{size - 1} = Sum(%{size - 2}, [], false) : Tensor<f32, []>")
    return "\n".join([*lines, f"outputs: %{size - 1}", ""])


def steps(text: str) -> dict[str, Callable[[], object]]:
    """What is timed."""
    module = parse(text)
    unverified = GradientOptions(verify=False)
    return {
        "parse": lambda: parse(text, verified=False),
        "verify": lambda: verify(module),
        "canonicalise": lambda: canonicalise(module),
        "differentiate": lambda: differentiate(module),
        "  unverified": lambda: differentiate(module, options=unverified),
        "print": module.text,
    }


def best(call: Callable[[], object], rounds: int) -> float:
    """The shortest time of a call, in seconds."""
    times = []
    for _ in range(rounds):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return min(times)


def measure(rounds: int) -> dict[str, list[float]]:
    """µs per instruction of each step, in the order of SIZES."""
    found: dict[str, list[float]] = {}
    gc.disable()
    try:
        for size in SIZES:
            for name, call in steps(network(size)).items():
                runs = max(3, min(rounds * 200, rounds * 10_000 // size))
                found.setdefault(name, []).append(best(call, runs) / size * 1e6)
            gc.collect()
    finally:
        gc.enable()
    return found


def report(found: dict[str, list[float]]) -> bool:
    """Print the table; whether the bars are met."""
    print(f"Python {platform.python_version()}, µs per instruction (of the module that goes in)")
    print(f"{'instructions':<14}" + "".join(f"{size:>10,}" for size in SIZES))
    for name, times in found.items():
        print(f"{name:<14}" + "".join(f"{t:>10.2f}" for t in times))
    times = found["differentiate"]
    grown: Module = differentiate(parse(network(1_000))).gradient_module
    print(f"a gradient module of 1,000 instructions has {len(grown.instructions):,}")
    ok = max(times) <= BAR and times[-1] <= LINEAR * times[-2]
    print(f"differentiate: {max(times):.1f} of {BAR:.0f} µs allowed, {'ok' if ok else 'TOO SLOW'}")
    return ok


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--check", action="store_true", help="fail if a bar is missed")
    options = parser.parse_args()
    return 1 if not report(measure(options.rounds)) and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
