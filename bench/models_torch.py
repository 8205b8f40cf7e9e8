"""torch's side of bench/models.py: the same models, eager or through torch.compile.

Parts are torch's own and as fast as it has them: its LSTM, its attention, its fused optimizers. The
sizes are those of the weights in the file, names of parameters those of the examples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from models_workloads import Batch, Start, Workload
from torch import nn
from torch.nn import functional

HEADS = 4  # of the gpt: the one size that weights do not tell
Weights = dict[str, np.ndarray]


class Net(nn.Module):
    def __init__(self, weights: Weights):
        super().__init__()
        one, two = (weights[f"{name}.weight"].shape for name in ("conv1", "conv2"))
        self.conv1 = nn.Conv2d(one[1], one[0], one[2], padding=1)
        self.conv2 = nn.Conv2d(two[1], two[0], two[2], padding=1)
        self.drop = nn.Dropout(0.25)
        self.out = nn.Linear(*weights["out.weight"].shape[::-1])

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = functional.relu(self.conv1(x.reshape(-1, 1, 8, 8)))
        x = functional.max_pool2d(functional.relu(self.conv2(x)), 2)
        return functional.cross_entropy(self.out(self.drop(x.flatten(1))), y)


class Attention(nn.Module):
    """Causal, with rotary positions: pairs are (i, i + size / 2)."""

    def __init__(self, width: int, length: int):
        super().__init__()
        size = width // HEADS
        self.in_proj_weight = nn.Parameter(torch.empty(3 * width, width))
        self.in_proj_bias = nn.Parameter(torch.empty(3 * width))
        self.out_proj = nn.Linear(width, width)
        rates = 10000.0 ** (-2.0 / size * torch.arange(size // 2))
        angles = torch.arange(length)[:, None] * rates
        self.register_buffer("cos", torch.cat([angles.cos()] * 2, -1), persistent=False)
        self.register_buffer("sin", torch.cat([-angles.sin(), angles.sin()], -1), persistent=False)

    def turned(self, x: torch.Tensor) -> torch.Tensor:
        one, other = x.chunk(2, -1)
        return x * self.cos + torch.cat([other, one], -1) * self.sin

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        packed = functional.linear(x, self.in_proj_weight, self.in_proj_bias)
        q, k, v = packed.unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4).unbind()
        found = functional.scaled_dot_product_attention(
            self.turned(q), self.turned(k), v, is_causal=True
        )
        return self.out_proj(found.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, width: int, length: int):
        super().__init__()
        self.self_attn = Attention(width, length)
        self.linear1, self.linear2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.self_attn(self.norm1(x))
        return x + self.linear2(functional.gelu(self.linear1(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, weights: Weights, length: int):
        super().__init__()
        characters, width = weights["embedding.weight"].shape
        count = sum(name.endswith("norm1.weight") for name in weights)
        self.embedding = nn.Embedding(characters, width)
        self.layers = nn.ModuleList(Layer(width, length) for _ in range(count))
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, characters, bias=False)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = self.embedding(x)
        for layer in self.layers:
            x = layer(x)
        return functional.cross_entropy(self.out(self.norm(x)).flatten(0, 1), y.flatten())


class Adder(nn.Module):
    def __init__(self, weights: Weights):
        super().__init__()
        rows, inputs = weights["lstm.weight_ih_l0"].shape
        self.lstm = nn.LSTM(inputs, rows // 4, batch_first=True)
        self.out = nn.Linear(rows // 4, 1)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return functional.mse_loss(self.out(self.lstm(x)[0][:, -1]), y)


_MODELS: dict[str, Callable[[Start], nn.Module]] = {
    "digits_cnn": lambda start: Net(start.weights),
    "gpt": lambda start: GPT(start.weights, start.x.shape[-1]),
    "lstm": lambda start: Adder(start.weights),
}


class Library:
    version = torch.__version__

    def __init__(self, mode: str):
        self.jit: Callable[[Any], Any] = torch.compile if mode == "compile" else lambda f: f

    def program(self, w: Workload, start: Start, training: bool) -> Callable[[Batch], float]:
        """A step that gives its loss; without `training` it drops nothing out."""
        model = _MODELS[w.name](start).train(training)
        model.load_state_dict({k: torch.from_numpy(v) for k, v in start.weights.items()})
        parameters = [*model.parameters()]
        optimizer = getattr(torch.optim, w.optimizer)(parameters, **w.options, fused=True)
        loss_of = self.jit(model)

        def step(batch: Batch) -> float:
            x, y = map(torch.from_numpy, batch)
            optimizer.zero_grad()
            loss = loss_of(x, y)
            loss.backward()
            if w.clip is not None:
                nn.utils.clip_grad_norm_(parameters, w.clip)
            optimizer.step()
            return loss.item()

        return step
