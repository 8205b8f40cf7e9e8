"""Adjoint's side of bench/models.py: the models of adjoint/examples, in steps like theirs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
from models_workloads import BATCHES, Batch, Start, Workload

import adjoint
from adjoint import Tensor, data, nn, training
from adjoint.examples import digits_cnn, gpt, lstm

_CHARACTERS = 150_000
Made = tuple[Any, Any, int]  # the data, the model, the size of a batch


def _digits_cnn() -> Made:
    digits = data.digits()
    train, _ = digits.with_fields(x=digits.x / 16).split(0.8, 0, by="y")
    return train, digits_cnn.Net(), digits_cnn.BATCH


def _gpt() -> Made:
    text = data.Text(data.docstrings(_CHARACTERS), gpt.LENGTH)
    return text, gpt.GPT(len(text.vocabulary)), gpt.BATCH


def _lstm() -> Made:
    return data.adding(5000, lstm.LENGTH, 0), lstm.Adder(), lstm.BATCH


def _lstm_loss(model: lstm.Adder, x: Tensor, y: Tensor) -> Tensor:
    return nn.loss.mse_loss(model(x), y)


_MAKE = {"digits_cnn": _digits_cnn, "gpt": _gpt, "lstm": _lstm}
_LOSS: dict[str, Callable[..., Tensor]] = {
    "digits_cnn": digits_cnn.loss_of,
    "gpt": gpt.loss_of,
    "lstm": _lstm_loss,
}


class Library:
    version = adjoint.__version__

    def export(self, w: Workload, path: str) -> None:
        """Write what every library starts from."""
        training.seed(0)
        samples, model, size = _MAKE[w.name]()
        loader = data.Loader(samples, size, shuffle=True, seed=0, drop_last=True)
        x, y = zip(*islice(loader.forever(), BATCHES), strict=True)
        weights = {name: value.numpy() for name, value in model.state_dict().items()}
        Start(weights, np.stack(x), np.stack(y)).save(path)

    def program(self, w: Workload, start: Start, training: bool) -> Callable[[Batch], float]:
        """A step that gives its loss; without `training` it drops nothing out."""
        _, model, _ = _MAKE[w.name]()
        model.load_state_dict({name: Tensor(value) for name, value in start.weights.items()})
        model.train() if training else model.eval()
        optimizer = getattr(nn.optim, w.optimizer)(model.parameters(), **w.options)
        loss_of = _LOSS[w.name]

        @adjoint.jit
        def step(x: Tensor, y: Tensor) -> Tensor:
            optimizer.zero_grad()
            loss = loss_of(model, x, y)
            loss.backward()
            if w.clip is not None:
                nn.optim.clip_grad_norm_(model.parameters(), w.clip)
            optimizer.step()
            return loss

        return lambda batch: step(*batch).item()
