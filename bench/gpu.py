"""Products and attention on an NVIDIA GPU, beside torch where it is installed.

    python -m bench.gpu [--peers] [--write] [names]

Generated kernels are in `gpu_kernels.py`. Times are of runs in a row, by the events of the GPU; the
median of several rounds. A layer with bias and gelu is beside torch.compile's.
"""

from __future__ import annotations

import argparse
import platform
import statistics
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adjoint import Tensor, allow_tf32, grad, jit
from adjoint.backends.cuda.gpu import the_gpu

RESULTS = Path(__file__).parent / "results" / "gpu.md"
_WHO = ("adjoint", "torch")
ROUNDS, IN_A_ROW = 7, 10


class Work(NamedTuple):
    """A function of ours and of torch's, the shape of the operand, and passes over it."""

    ours: Callable[..., Any]
    torch: Callable[..., Any]
    shape: tuple[int, ...]
    passes: float
    twice: bool = False  # a second operand like the first
    dtype: str = "float32"
    flops: float = 0.0
    tf32: bool = False


def _product(size: int, dtype: str) -> Work:
    multiply = lambda x, y: x @ y  # noqa: E731
    return Work(multiply, multiply, (size, size), 3, True, dtype, 2.0 * size**3)


def _attend(x: Any) -> Any:
    """Heads inside of rows, as models go on with them: a view for torch."""
    return x[0].attention(x[1], x[2], is_causal=True).permute(0, 2, 1, 3)


def _attend_both(x: Any, g: Any) -> Any:
    way = g[0].permute(0, 2, 1, 3)
    return _attend(x), grad(lambda v: (_attend(v) * way).sum())(x)


def _torch_attend(x: Any) -> Any:
    import torch

    y = torch.nn.functional.scaled_dot_product_attention(*x, is_causal=True)
    return y.transpose(1, 2)


def _torch_attend_both(x: Any, g: Any) -> Any:
    import torch

    v = x.detach().requires_grad_()
    y = _torch_attend(v)
    return y, torch.autograd.grad(y, v, g[0].transpose(1, 2))


def _attention(both: bool, *sizes: int) -> Work:
    """Causal, of (batch, heads, positions, features); both: with its gradient."""
    batch, heads, rows, features = sizes
    flops = 2.0 * batch * heads * rows**2 * features * (3.5 if both else 1)
    ways = (_attend_both, _torch_attend_both) if both else (_attend, _torch_attend)
    passes = 11 / 3 if both else 4 / 3
    return Work(*ways, (3, *sizes), passes, both, "bfloat16", flops)


def _linear(shape: tuple[int, int]) -> Work:
    """A layer with a bias and gelu, whose weight is as large as its operand."""

    def ours(x: Any, y: Any) -> Any:
        return (x @ y.T + y.reshape(-1)[: y.shape[0]]).gelu()

    def compiled(x: Any, y: Any) -> Any:
        return _compiled()(x, y, y.reshape(-1)[: y.shape[0]])

    flops = 2.0 * shape[0] ** 2 * shape[1]
    return Work(ours, compiled, shape, 3, True, "bfloat16", flops)


@cache
def _compiled() -> Any:
    import torch

    act = torch.nn.functional
    layer = lambda x, w, b: act.gelu(act.linear(x, w, b), approximate="tanh")  # noqa: E731
    return torch.compile(layer, dynamic=False)


def _batch(count: int, rows: int, summed: int) -> Work:
    multiply = lambda x, y: x @ y.transpose(1, 2)  # noqa: E731
    flops = 2.0 * count * rows * rows * summed
    return Work(multiply, multiply, (count, rows, summed), 2, True, "bfloat16", flops)


def _bytes(size: int) -> Work:
    return Work(
        lambda x, y: x.int() @ y.T.int(),
        lambda x, y: __import__("torch")._int_mm(x, y.T),
        (size, size),
        3,
        True,
        "int8",
        2.0 * size**3,
    )


WORKS = {
    "gemm 8192 bfloat16": _product(8192, "bfloat16"),
    "gemm 4096 float32": _product(4096, "float32"),
    "gemm 4096 float64": _product(4096, "float64"),
    "gemm 512 float32": _product(512, "float32"),
    "attention 4096 x 128": _attention(False, 8, 16, 4096, 128),
    "attention 4096 x 128, both ways": _attention(True, 8, 16, 4096, 128),
    "attention 1024 x 64": _attention(False, 32, 12, 1024, 64),
    "attention 1024 x 64, both ways": _attention(True, 32, 12, 1024, 64),
    "gemm 4096 bfloat16": _product(4096, "bfloat16"),
    "gemm 2048 bfloat16": _product(2048, "bfloat16"),
    "gemm 4096 tf32": _product(4096, "float32")._replace(tf32=True),
    "gemm 8192 int8": _bytes(8192),
    "gemm 384 of 1024x64x1024 bfloat16": _batch(384, 1024, 64),
    "gemm, bias and gelu 8192 bfloat16": _linear((8192, 8192)),
    "gemm, bias and gelu 8192x1024x8192 bfloat16": _linear((8192, 1024)),
}


def measured(run: Callable[[], Any], gpu: Any) -> float:
    """Milliseconds of one run."""
    for _ in range(3):
        run()
    found = []
    for _ in range(ROUNDS):
        start = gpu.event()
        for _ in range(IN_A_ROW):
            run()
        found.append(gpu.milliseconds(start, gpu.event()) / IN_A_ROW)
    return statistics.median(found)


def ours(work: Work) -> float:
    """Of Adjoint."""
    fn, operands = jit(work.ours), [(_operand(work) + 0).realize()]
    if work.twice:
        operands.append((_operand(work) * 0.5).cast(work.dtype).realize())
    with allow_tf32(work.tf32):
        return measured(lambda: fn(*operands), the_gpu())


def _operand(work: Work) -> Tensor:
    rng = np.random.default_rng(0)
    found = Tensor(rng.standard_normal(work.shape, dtype=np.float32), device="GPU")
    return found.cast(work.dtype)


class TorchEvents:
    """The events of torch's stream, as `Driver` gives its own."""

    def event(self) -> Any:
        import torch

        found = torch.cuda.Event(enable_timing=True)
        found.record()
        return found

    def milliseconds(self, start: Any, end: Any) -> float:
        end.synchronize()
        return float(start.elapsed_time(end))


def torchs(work: Work) -> float:
    """Of torch, one op after another."""
    import torch

    x = torch.randn(work.shape, device="cuda").to(getattr(torch, work.dtype))
    given = [x, (x * 0.5).to(x.dtype)] if work.twice else [x]
    torch.backends.cuda.matmul.allow_tf32 = work.tf32
    return measured(lambda: work.torch(*given), TorchEvents())


def row(name: str, peers: bool) -> dict[str, Any]:
    work = WORKS[name]
    nbytes = 4 * work.passes * int(np.prod(work.shape))  # of float32
    found: dict[str, Any] = {"work": name, "bytes": nbytes}
    for who, time in (("adjoint", ours), *([("torch", torchs)] if peers else [])):
        try:
            ms = time(work)
            found[who] = {"ms": ms, "TB/s": nbytes / ms / 1e9, "TFLOP/s": work.flops / ms / 1e9}
        except Exception as error:
            found[who] = {"error": f"{type(error).__name__}: {error}"[:300]}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--peers", action="store_true", help="torch too")
    parser.add_argument("--write", action="store_true", help="write results/gpu.md")
    options = parser.parse_args()
    rows = []
    for name in options.names or WORKS:
        rows.append(row(name, options.peers))
        shown = [f"{who} {_shown(rows[-1][who])}" for who in _WHO if who in rows[-1]]
        print(f"{name:24} {'   '.join(shown)}", flush=True)
    if options.write:
        RESULTS.write_text("\n".join([*_head(), *map(_line, rows), ""]), encoding="utf-8")


def _head() -> list[str]:
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    about = f"{date}, {the_gpu().name}, Python {platform.python_version()}."
    made = "Made by `python -m bench.gpu --peers --write`."
    note = "One run; torch second, on a GPU that is warm by then; bias and gelu by torch.compile."
    title = "# Products and attention on an NVIDIA GPU"
    return [title, "", about, made, "", note, "", "| work | Adjoint | torch |", "|---|---|---|"]


def _line(found: dict[str, Any]) -> str:
    cells = [_shown(found[who]).strip() if who in found else "" for who in _WHO]
    return f"| {found['work']} | {' | '.join(cells)} |"


def _shown(found: dict[str, Any]) -> str:
    if "error" in found:
        return str(found["error"])
    rate = f"{found['TFLOP/s']:5.0f} TFLOP/s" if found["TFLOP/s"] else f"{found['TB/s']:5.2f} TB/s"
    return f"{found['ms']:8.3f} ms {rate}"


if __name__ == "__main__":
    main()
