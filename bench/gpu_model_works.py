"""What `gpu_models.py` measures: models by Adjoint's layers, and one training step.

What may live here: models, their inputs, their optimisers. What may not: how a step is timed, and
torch's side (`gpu_model_peers.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import adjoint
from adjoint import Device, Tensor, autocast, nn
from bench.gpu_model_sizes import SIZES, Sizes


class Block(nn.Module):
    """Attention and two linear maps, each behind a norm and added to its input."""

    def __init__(self, s: Sizes):
        self.sizes = s
        self.l1, self.l2 = nn.LayerNorm(s.width), nn.LayerNorm(s.width)
        self.qkv, self.o = nn.Linear(s.width, 3 * s.width), nn.Linear(s.width, s.width)
        self.up, self.down = nn.Linear(s.width, 4 * s.width), nn.Linear(4 * s.width, s.width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        heads = self.qkv(self.l1(x)).reshape(batch, length, 3, self.sizes.heads, -1)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        y = q.scaled_dot_product_attention(k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(self.up(self.l2(x)).gelu(approximate="tanh"))


class ModernBlock(nn.Module):
    """The same with rotary positions, RMS norms, fewer keys, and a gate."""

    def __init__(self, s: Sizes):
        self.sizes, self.inner = s, 8 * s.width // 3
        self.l1, self.l2 = nn.RMSNorm(s.width), nn.RMSNorm(s.width)
        self.features = s.width // s.heads
        self.q = nn.Linear(s.width, s.width, bias=False)
        self.kv = nn.Linear(s.width, 2 * s.few * self.features, bias=False)
        self.o = nn.Linear(s.width, s.width, bias=False)
        self.rope = nn.RotaryEmbedding(self.features)
        self.up = nn.Linear(s.width, 2 * self.inner, bias=False)
        self.down = nn.Linear(self.inner, s.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        y = self.l1(x)
        q = self.q(y).reshape(batch, length, self.sizes.heads, -1).transpose(1, 2)
        k, v = self.kv(y).reshape(batch, length, 2, self.sizes.few, -1).permute(2, 0, 3, 1, 4)
        q, k = self.rope(q, 0), self.rope(k, 0)
        y = q.scaled_dot_product_attention(k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, width))
        both = self.up(self.l2(x))
        return x + self.down(both[..., : self.inner].silu() * both[..., self.inner :])


class GPT(nn.Module):
    """Words → blocks → the surprise by the next word; the head is the embedding."""

    def __init__(self, s: Sizes):
        kind, norm = (ModernBlock, nn.RMSNorm) if s.modern else (Block, nn.LayerNorm)
        self.wte = nn.Embedding(s.words, s.width)
        self.wpe = None if s.modern else nn.Embedding(s.length, s.width)
        self.blocks = [kind(s) for _ in range(s.layers)]
        self.last = norm(s.width)

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        x = self.wte(tokens)
        if self.wpe is not None:
            x = x + self.wpe.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = self.last(x).linear(self.wte.weight.T)
        flat = logits.reshape(-1, logits.shape[-1])
        return nn.functional.cross_entropy(flat, targets.reshape(-1))


class Training(NamedTuple):
    """A jitted step, what it takes, and what it trains."""

    step: Callable[..., Tensor]
    batch: tuple[Tensor, ...]
    model: Any
    amount: int  # of what is counted in a step
    unit: str
    program: tuple[Any, ...] | None = None  # what is jitted, and its arguments, if not the step


def language_model(s: Sizes, device: str, dtype: str = "bfloat16") -> Training:
    """AdamW on batches of random words."""
    Device.DEFAULT = device
    Tensor.manual_seed(0)
    model = GPT(s)
    optimizer = nn.optim.AdamW(model.parameters(), lr=1e-4)

    @adjoint.jit
    def step(tokens: Tensor, targets: Tensor) -> Tensor:
        with autocast("bfloat16", enabled=dtype == "bfloat16"):
            loss = model(tokens, targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    rng = np.random.default_rng(0)
    draw = lambda: rng.integers(0, s.words, (s.batch, s.length)).astype(np.int32)  # noqa: E731
    batch = tuple(Tensor(draw(), device=device).realize() for _ in range(2))
    return Training(step, batch, model, s.tokens, "tokens")


MODELS: dict[str, Callable[[str], Training]] = {
    name: partial(language_model, sizes) for name, sizes in SIZES.items()
}
