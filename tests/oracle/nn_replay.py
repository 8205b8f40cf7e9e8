"""Adjoint's side of the cases of `nn_store.py`: the same ten steps, and how far they are off."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import Tensor, nn
from tests.oracle.nn_store import STEPS, Case, Lib, Reader, flat

LIB = Lib("adjoint", nn, nn.optim, Tensor)


def replay(case: Case, reader: Reader) -> dict[str, float]:
    """The largest error of every kind of number, relative to the largest such number or to 1."""
    model = case.build(nn).double().train(case.training)
    model.load_state_dict({k: Tensor(v) for k, v in reader.parts(case.name, "before").items()})
    parameters = model.parameters()
    inputs, targets = _tensors(reader, case, "input"), _tensors(reader, case, "target")
    for tensor in inputs:
        tensor.requires_grad_(tensor.is_floating_point())
    optimiser = None if case.optimiser is None else case.optimiser(nn.optim, model)
    errors: dict[str, float] = {}
    losses = []
    for step in range(STEPS):
        for tensor in (*parameters, *inputs):
            tensor.grad = None
        output = case.output(model, inputs)
        loss = case.value(LIB, output, targets)
        if loss.requires_grad:
            loss.backward()
        if step == 0:
            errors |= _first(case, reader, model, inputs, output)
        losses.append(loss.item())
        if case.before is not None:
            case.before(LIB, model, optimiser, step)
        _update(case, parameters, optimiser)
        if case.after is not None:
            case.after(LIB, model, optimiser, step)
    errors["loss"] = _apart(np.array(losses), reader.parts(case.name, "loss")["all"])
    return errors | _state(case, reader, model)


def _update(case: Case, parameters: list[Tensor], optimiser: Any) -> None:
    if optimiser is not None:
        optimiser.step()
        return
    moved = [p for p in parameters if p.grad is not None]
    for tensor in moved:
        tensor.assign(tensor.detach() - case.lr * tensor.grad)
    if moved:
        moved[0].realize(*moved[1:])


def _tensors(reader: Reader, case: Case, what: str) -> list[Tensor]:
    return [Tensor(array) for array in reader.parts(case.name, what).values()]


def _first(
    case: Case, reader: Reader, model: Any, inputs: list[Tensor], output: Any
) -> dict[str, float]:
    """Outputs and gradients of the first step."""
    found = {f"output {i}": part for i, part in enumerate(flat(output))}
    found |= {f"slope {i}": t.grad for i, t in enumerate(inputs) if t.grad is not None}
    named = dict(model.named_parameters())
    found |= {f"gradient {n}": t.grad for n, t in named.items() if t.grad is not None}
    if found:
        first, *rest = found.values()
        first.realize(*rest)
    wanted = {
        f"{what} {which}": array
        for what in ("output", "slope", "gradient")
        for which, array in reader.parts(case.name, what).items()
    }
    return _compared(found, wanted)


def _state(case: Case, reader: Reader, model: Any) -> dict[str, float]:
    found = {f"after {name}": tensor for name, tensor in model.state_dict().items()}
    wanted = {f"after {n}": a for n, a in reader.parts(case.name, "after").items()}
    return _compared(found, wanted)


def _compared(found: dict[str, Tensor], wanted: dict[str, Any]) -> dict[str, float]:
    if set(found) != set(wanted):
        missing, more = sorted(set(wanted) - set(found)), sorted(set(found) - set(wanted))
        raise AssertionError(f"missing {missing}, unexpected {more}")
    return {name: _apart(found[name].numpy(), array) for name, array in wanted.items()}


def _apart(found: Any, wanted: Any) -> float:
    if found.shape != wanted.shape:
        raise AssertionError(f"shape {found.shape}, wanted {wanted.shape}")
    if not found.size:
        return 0.0
    scale = max(1.0, float(np.max(np.abs(wanted))))
    return float(np.max(np.abs(found - wanted))) / scale
