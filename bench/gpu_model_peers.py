"""torch's side of `gpu_models.py`: the same models and steps, compiled by torch.

What may live here: models and their steps in torch. It is imported where torch is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn as nn
from torch.nn import functional as fn

from bench.gpu_model_sizes import SIZES


class Block(nn.Module):
    def __init__(self, s: Any):
        super().__init__()
        self.sizes = s
        self.l1, self.l2 = nn.LayerNorm(s.width), nn.LayerNorm(s.width)
        self.qkv, self.o = nn.Linear(s.width, 3 * s.width), nn.Linear(s.width, s.width)
        self.up, self.down = nn.Linear(s.width, 4 * s.width), nn.Linear(4 * s.width, s.width)

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        heads = self.qkv(self.l1(x)).view(batch, length, 3, self.sizes.heads, -1)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        y = fn.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(fn.gelu(self.up(self.l2(x)), approximate="tanh"))


def _rotated(x: Any, angles: Any) -> Any:
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


class ModernBlock(nn.Module):
    def __init__(self, s: Any):
        super().__init__()
        self.sizes, self.inner, self.features = s, 8 * s.width // 3, s.width // s.heads
        self.l1, self.l2 = nn.RMSNorm(s.width), nn.RMSNorm(s.width)
        self.q = nn.Linear(s.width, s.width, bias=False)
        self.kv = nn.Linear(s.width, 2 * s.few * self.features, bias=False)
        self.o = nn.Linear(s.width, s.width, bias=False)
        self.up = nn.Linear(s.width, 2 * self.inner, bias=False)
        self.down = nn.Linear(self.inner, s.width, bias=False)
        steps = 10000 ** (-torch.arange(0, self.features, 2) / self.features)
        self.register_buffer("angles", torch.outer(torch.arange(s.length), steps))

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        y = self.l1(x)
        q = self.q(y).view(batch, length, self.sizes.heads, -1).transpose(1, 2)
        k, v = self.kv(y).view(batch, length, 2, self.sizes.few, -1).permute(2, 0, 3, 1, 4)
        q, k = _rotated(q, self.angles), _rotated(k, self.angles)
        y = fn.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, width))
        first, second = self.up(self.l2(x)).chunk(2, -1)
        return x + self.down(fn.silu(first) * second)


class GPT(nn.Module):
    def __init__(self, s: Any):
        super().__init__()
        kind, norm = (ModernBlock, nn.RMSNorm) if s.modern else (Block, nn.LayerNorm)
        self.wte = nn.Embedding(s.words, s.width)
        self.wpe = None if s.modern else nn.Embedding(s.length, s.width)
        self.blocks = nn.ModuleList(kind(s) for _ in range(s.layers))
        self.last = norm(s.width)
        self.head = nn.Linear(s.width, s.words, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, tokens: Any, targets: Any) -> Any:
        x = self.wte(tokens)
        if self.wpe is not None:
            x = x + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.last(x))
        return fn.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


Peer = tuple[Callable[[], Any], int, str]  # a step, how much it does, and of what


def language_model(s: Any) -> Peer:
    """One step of AdamW, compiled."""
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    draw = lambda: torch.randint(0, s.words, (s.batch, s.length), device="cuda")  # noqa: E731
    tokens, targets, model = draw(), draw(), GPT(s).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    compiled = torch.compile(model)

    def step() -> Any:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = compiled(tokens, targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step, s.tokens, "tokens"


# ---- pictures


class Bottleneck(nn.Module):
    def __init__(self, inputs: int, inner: int, stride: int):
        super().__init__()
        outputs = 4 * inner
        self.conv1 = nn.Conv2d(inputs, inner, 1, bias=False)
        self.conv2 = nn.Conv2d(inner, inner, 3, stride, padding=1, bias=False)
        self.conv3 = nn.Conv2d(inner, outputs, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(inner), nn.BatchNorm2d(inner)
        self.norm3, self.short = nn.BatchNorm2d(outputs), None
        if stride != 1 or inputs != outputs:
            self.short = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Any) -> Any:
        y = fn.relu(self.norm1(self.conv1(x)))
        y = fn.relu(self.norm2(self.conv2(y)))
        y = self.norm3(self.conv3(y))
        return fn.relu(y + (x if self.short is None else self.short(x)))


class ResNet(nn.Module):
    def __init__(self, stages: Any):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 64, 7, 2, padding=3, bias=False), nn.BatchNorm2d(64)
        self.pool, blocks, inputs = nn.MaxPool2d(3, 2, padding=1), [], 64
        for number, (inner, count) in enumerate(stages):
            for place in range(count):
                blocks.append(Bottleneck(inputs, inner, 2 if place == 0 and number else 1))
                inputs = 4 * inner
        self.blocks, self.last = nn.Sequential(*blocks), nn.Linear(inputs, 1000)

    def forward(self, x: Any) -> Any:
        x = self.blocks(self.pool(fn.relu(self.norm(self.conv(x)))))
        return self.last(x.mean((2, 3)))


def picture_model() -> Peer:
    """One step of SGD on ResNet-50, channels last, compiled."""
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    model = ResNet(STAGES).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True)
    x = torch.randn(256, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    y = torch.randint(0, 1000, (256,), device="cuda")
    compiled = torch.compile(model)

    def step() -> Any:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = fn.cross_entropy(compiled(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step, 256, "images"


# ---- decoding


class Decoder(nn.Module):
    """GPT-2 for one token at a time, with room for all keys and values."""

    def __init__(self, s: Any):
        super().__init__()
        self.model, self.sizes = GPT(s), s
        shape = (s.layers, 1, s.heads, s.length, s.width // s.heads)
        self.register_buffer("keys", torch.zeros(shape))
        self.register_buffer("values", torch.zeros(shape))

    def forward(self, token: Any, place: Any) -> Any:
        x = self.model.wte(token) + self.model.wpe(place)
        seen = torch.arange(self.sizes.length, device=token.device) <= place
        for i, block in enumerate(self.model.blocks):
            q, k, v = (
                block.qkv(block.l1(x)).view(1, 1, 3, self.sizes.heads, -1).permute(2, 0, 3, 1, 4)
            )
            self.keys[i].index_copy_(2, place, k)
            self.values[i].index_copy_(2, place, v)
            y = fn.scaled_dot_product_attention(q, self.keys[i], self.values[i], seen[None])
            x = x + block.o(y.transpose(1, 2).reshape(1, 1, -1))
            x = x + block.down(fn.gelu(block.up(block.l2(x)), approximate="tanh"))
        return self.model.head(self.model.last(x)).argmax(-1)


def decoding() -> Peer:
    """One token behind another, compiled, as a CUDA graph."""
    torch.manual_seed(0)
    s = SIZES["gpt2"]
    model = Decoder(s).cuda().to(torch.bfloat16).requires_grad_(False)
    compiled = torch.compile(model, mode="reduce-overhead", fullgraph=True)
    state = {"token": torch.ones(1, 1, dtype=torch.long, device="cuda"), "count": 0}
    places = torch.arange(s.length, device="cuda").reshape(-1, 1)

    def step() -> Any:
        with torch.no_grad():
            place = places[state["count"] % s.length]
            state["token"] = compiled(state["token"].clone(), place.clone())
        state["count"] += 1
        return state["token"]

    return step, 1, "tokens"


MODELS: dict[str, Callable[[], Peer]] = {
    **{name: partial(language_model, sizes) for name, sizes in SIZES.items()},
    "resnet50": picture_model,
    "decode": decoding,
}
STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))
