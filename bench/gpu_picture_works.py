"""ResNet-50 for `gpu_models.py`: the model by Adjoint's layers and one training step.

What may live here: models of pictures and their steps. torch's is torchvision's, or the same layers
in `gpu_model_peers.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import adjoint
from adjoint import Device, Tensor, autocast, nn
from bench.gpu_model_works import Training

STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))  # channels inside, and blocks


class Bottleneck(nn.Module):
    """1 x 1, 3 x 3 and 1 x 1 with batch norms, beside a short cut."""

    def __init__(self, inputs: int, inner: int, stride: int):
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

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm1(self.conv1(x)).relu()
        y = self.norm2(self.conv2(y)).relu()
        y = self.norm3(self.conv3(y))
        return (y + (x if self.short is None else self.short(x))).relu()


class ResNet(nn.Module):
    """Stages of bottlenecks, a mean over what is left of the picture, and classes."""

    def __init__(self, stages: Any = STAGES, classes: int = 1000):
        self.conv, self.norm = nn.Conv2d(3, 64, 7, 2, padding=3, bias=False), nn.BatchNorm2d(64)
        self.pool, self.blocks, inputs = nn.MaxPool2d(3, 2, padding=1), [], 64
        for number, (inner, count) in enumerate(stages):
            for place in range(count):
                stride = 2 if place == 0 and number else 1
                self.blocks.append(Bottleneck(inputs, inner, stride))
                inputs = 4 * inner
        self.last = nn.Linear(inputs, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(self.norm(self.conv(x)).relu())
        for block in self.blocks:
            x = block(x)
        return self.last(x.mean((2, 3)))


def picture_model(batch: int, side: int, stages: Any, device: str) -> Training:
    """SGD with momentum on random pictures, bfloat16 by autocast."""
    Device.DEFAULT = device
    Tensor.manual_seed(0)
    model = ResNet(stages).train()
    optimizer = nn.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    @adjoint.jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        with autocast("bfloat16"):
            loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    rng = np.random.default_rng(0)
    pictures = rng.standard_normal((batch, 3, side, side), dtype=np.float32)
    classes = rng.integers(0, 1000, batch).astype(np.int32)
    given = tuple(Tensor(values, device=device).realize() for values in (pictures, classes))
    return Training(step, given, model, batch, "images")
