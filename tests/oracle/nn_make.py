"""Torch's side of the cases of `nn_store.py`: `python -m tests.oracle.nn_make FOLDER`.

Runs where torch is installed (`make test-oracle` gives it an environment of its own).
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.oracle.nn_store import STEPS, Case, Lib, Writer, all_cases, flat

LIB = Lib("torch", torch.nn, torch.optim, torch.as_tensor)


def main(folder: str) -> None:
    """Run every case and keep what it gives."""
    torch.set_default_dtype(torch.float64)
    torch.use_deterministic_algorithms(True, warn_only=True)
    writer, count = Writer(), 0
    for case in all_cases():
        torch.manual_seed(0)
        _run(case, writer)
        count += 1
    writer.save(Path(folder))
    print(f"{count} cases of {STEPS} steps from torch {torch.__version__}")


def _run(case: Case, writer: Writer) -> None:
    model = case.build(torch.nn).train(case.training)
    parameters = list(model.parameters())
    inputs, targets = _tensors(case.inputs), _tensors(case.targets)
    for tensor in inputs:
        tensor.requires_grad_(tensor.is_floating_point())
    _keep_state(writer, case, "before", model)
    for what, arrays in (("input", case.inputs), ("target", case.targets)):
        for number, array in enumerate(arrays):
            writer.keep(case.name, what, number, array)
    optimiser = None if case.optimiser is None else case.optimiser(torch.optim, model)
    losses = []
    for step in range(STEPS):
        for tensor in (*parameters, *inputs):
            tensor.grad = None
        output = case.output(model, inputs)
        loss = case.value(LIB, output, targets)
        if loss.requires_grad:
            loss.backward()
        losses.append(loss.item())
        if step == 0:
            _keep_first(writer, case, model, inputs, output)
        if case.before is not None:
            case.before(LIB, model, optimiser, step)
        _update(case, parameters, optimiser)
        if case.after is not None:
            case.after(LIB, model, optimiser, step)
    writer.keep(case.name, "loss", "all", losses)
    _keep_state(writer, case, "after", model)


def _update(case: Case, parameters: list[Any], optimiser: Any) -> None:
    if optimiser is not None:
        optimiser.step()
        return
    with torch.no_grad():
        for tensor in parameters:
            if tensor.grad is not None:
                tensor -= case.lr * tensor.grad


def _tensors(arrays: tuple[Any, ...]) -> list[Any]:
    return [torch.as_tensor(np.array(array)) for array in arrays]


def _keep_state(writer: Writer, case: Case, what: str, model: Any) -> None:
    for name, tensor in model.state_dict().items():
        writer.keep(case.name, what, name, tensor.detach().numpy().copy())


def _keep_first(writer: Writer, case: Case, model: Any, inputs: list[Any], output: Any) -> None:
    for number, part in enumerate(flat(output)):
        writer.keep(case.name, "output", number, part.detach().numpy().copy())
    for name, tensor in model.named_parameters():
        if tensor.grad is not None:
            writer.keep(case.name, "gradient", name, tensor.grad.numpy().copy())
    for number, tensor in enumerate(inputs):
        if tensor.grad is not None:
            writer.keep(case.name, "slope", number, tensor.grad.numpy().copy())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1])
