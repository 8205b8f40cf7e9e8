"""Decoding with GPT-2 for `gpu_models.py`: one token after another, batch 1, with a cache.

What may live here: one step of a decoding, which is one program for all positions.
"""

from __future__ import annotations

from typing import Any

import adjoint
from adjoint import Device, Tensor
from adjoint.examples.gpt2 import GPT2
from bench.gpu_model_works import Training

SIZES = {"decode": (50304, 1024, 768, 12, 12), "decode-small": (512, 64, 64, 4, 2)}


def decoding(name: str, device: str) -> Training:
    """A step takes the token that the last one chose; the cache begins anew where it is full."""
    Device.DEFAULT = device
    Tensor.manual_seed(0)
    model, kind = GPT2(*SIZES[name]), "float32" if device == "CPU" else "bfloat16"
    model = model.to(dtype=kind)
    caches = model.caches()
    for cache in caches:
        cache.key, cache.value = (t.cast(kind).realize() for t in (cache.key, cache.value))

    @adjoint.jit
    def following(token: Tensor) -> Tensor:
        with adjoint.no_grad():
            return model(token, caches)[:, -1].argmax(-1).reshape(1, 1).int()

    @adjoint.jit
    def anew() -> None:
        for cache in caches:
            cache.reset()

    state: dict[str, Any] = {"token": Tensor([[1]], dtype="int32").realize(), "count": 0}

    def step() -> Tensor:
        if state["count"] == SIZES[name][1]:
            anew()
            state["count"] = 0
        state["token"] = following(state["token"])
        state["count"] += 1
        return state["token"]

    return Training(step, (), model, 1, "tokens", (following, state["token"]))
