"""How long partitioning takes: a training step of a 12-layer GPT for 64 devices.

    python -m bench.partition

The graph of loss and gradients is built once; what is timed is from that graph to the local graph
of all members, with its collectives. The target is 3 s.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

import numpy as np

from adjoint import Mesh, P, Tensor, grad
from adjoint.engine.sharded import local_graph
from adjoint.ir.uop import toposort
from adjoint.ir.values import is_known

WIDTH, HEADS, LENGTH, CHARACTERS = 768, 12, 128, 50257


def block(x: Tensor, p: dict[str, Tensor]) -> Tensor:
    """Attention and an MLP, as GPT-2 has them, with separate projections."""
    b, t, d = x.shape
    h = x.layernorm(-1) * p["scale1"]
    q, k, v = (
        (h @ p[n]).reshape(b, t, HEADS, d // HEADS).transpose(1, 2) for n in ("wq", "wk", "wv")
    )
    y = q.scaled_dot_product_attention(k, v, is_causal=True).transpose(1, 2).reshape(b, t, d)
    x = x + y @ p["wo"]
    h = x.layernorm(-1) * p["scale2"]
    return x + (h @ p["w1"]).gelu() @ p["w2"]


SPECS = {
    "wq": P(None, "tp"),
    "wk": P(None, "tp"),
    "wv": P(None, "tp"),
    "wo": P("tp"),
    "w1": P(None, "tp"),
    "w2": P("tp"),
    "scale1": P(),
    "scale2": P(),
}


def parameters(layers: int, mesh: Mesh) -> list[dict[str, Tensor]]:
    """Weights of nothing, laid out for tensor parallelism."""
    d = WIDTH
    shapes = {"w1": (d, 4 * d), "w2": (4 * d, d), "scale1": (d,), "scale2": (d,)}
    names = list(SPECS)
    return [
        {n: Tensor.zeros(*shapes.get(n, (d, d))).contiguous().shard(mesh, SPECS[n]) for n in names}
        for _ in range(layers)
    ]


def step(layers: int, mesh: Mesh) -> list[Tensor]:
    """The loss and the gradients of all weights."""
    blocks = parameters(layers, mesh)
    table = Tensor.zeros(CHARACTERS, WIDTH).contiguous().shard(mesh, P())
    tokens = Tensor(np.zeros((64, LENGTH), np.int32)).shard(mesh, P("dp"))

    def loss(blocks: list[dict[str, Tensor]], table: Tensor) -> Tensor:
        x = table[tokens]
        for p in blocks:
            x = block(x, p)
        return (x @ table.T).log_softmax(-1).mean()

    found, g = grad(loss, (0, 1))(blocks, table)
    return [t for p in found for t in p.values()] + [g]


def main() -> None:
    """Print one line for each mesh."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=12)
    options = parser.parse_args()
    for dp, tp in ((1, 1), (8, 1), (1, 4), (16, 4)):
        mesh = Mesh((dp, tp), ("dp", "tp"))
        roots = [t.uop for t in step(options.layers, mesh)]
        leaves = [n for n in toposort(roots, stop=is_known) if is_known(n)]
        begin = time.perf_counter()
        graph = local_graph(roots, leaves, mesh, "fixed")
        seconds = time.perf_counter() - begin
        names = Counter(n.op.name for n in graph.collectives)
        nodes = len(toposort(graph.roots))
        sent = graph.bytes_sent / 1e6
        print(f"{mesh}: {seconds:.2f} s, {nodes} nodes, {dict(names)}, {sent:.1f} MB")


if __name__ == "__main__":
    main()
