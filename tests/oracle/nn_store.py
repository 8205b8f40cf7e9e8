"""Ten steps of training, declared once and run in torch and in Adjoint: the cases and their store.

A case says how to build a model from a namespace (`torch.nn` or `adjoint.nn`: the names are the
same) and what goes in. `nn_make.py` runs it in torch, in float64, and keeps the initial state, the
loss of every step, the outputs and gradients of the first, and the state after the last;
`nn_replay.py` loads the initial state into Adjoint's model and does the same.

To add cases, make a list `CASES` in a file `tests/oracle/nn_*_cases.py` (no import of torch or
Adjoint there) and name the file in `FILES` below:

    CASES = [
        Case("linear", lambda nn: nn.Linear(4, 3), (real(5, 4),)),
        Case(
            "adam",
            lambda nn: nn.Linear(4, 3),
            (real(5, 4),),
            loss=lambda nn, y, target: nn.MSELoss()(y, target),
            targets=(real(5, 3, seed=1),),
            optimiser=lambda optim, model: optim.Adam(model.parameters(), lr=0.01),
        ),
    ]

Samples are made by `python -m tests.oracle.nn_make .oracle/samples`, where torch is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
FILES = (
    "nn_layers_cases",
    "nn_image_cases",
    "nn_loss_cases",
    "nn_sequence_cases",
    "nn_optim_cases",
)
STEPS = 10
STORE = "nn.npz"


@dataclass(frozen=True)
class Lib:
    """What a case may use of the library that runs it."""

    name: str  # "torch" or "adjoint"
    nn: Any
    optim: Any
    tensor: Callable[[Array], Any]


@dataclass(frozen=True)
class Case:
    """A model, what goes in, and how it is trained."""

    name: str
    build: Callable[[Any], Any]  # nn → model
    inputs: tuple[Array, ...] = ()
    loss: Callable[..., Any] | None = None  # (nn, output, *targets) → scalar; None: weighted sum
    targets: tuple[Array, ...] = ()
    call: Callable[..., Any] | None = None  # (model, *inputs) → output
    optimiser: Callable[[Any, Any], Any] | None = None  # (optim, model); None: plain descent
    after: Callable[[Lib, Any, Any, int], Any] | None = None  # (lib, model, optimiser, step)
    before: Callable[[Lib, Any, Any, int], Any] | None = None  # the same, before the update
    training: bool = True
    lr: float = 0.05
    tolerance: float = 1e-9

    def output(self, model: Any, inputs: list[Any]) -> Any:
        """What the model makes of the inputs."""
        return model(*inputs) if self.call is None else self.call(model, *inputs)

    def value(self, lib: Lib, output: Any, targets: list[Any]) -> Any:
        """The scalar that is descended."""
        if self.loss is not None:
            return self.loss(lib.nn, output, *targets)
        total: Any = 0
        for number, part in enumerate(flat(output)):
            weight = np.random.default_rng(number).standard_normal(tuple(part.shape))
            total = total + (part * lib.tensor(weight)).sum()
        return total


def flat(value: Any) -> list[Any]:
    """The tensors of an output, in order."""
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in flat(part)]
    return [] if value is None else [value]


def real(*shape: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> Array:
    """Floats between two bounds."""
    return np.random.default_rng([seed, *shape]).uniform(low, high, shape)


def whole(*shape: int, high: int, low: int = 0, seed: int = 0) -> Array:
    """Whole numbers from `low` to `high` - 1."""
    return np.random.default_rng([seed, *shape]).integers(low, high, shape)


def signs(*shape: int, seed: int = 0) -> Array:
    """1 and -1."""
    return np.where(real(*shape, seed=seed) > 0, 1.0, -1.0)


def all_cases() -> Iterator[Case]:
    """The cases of every file that is there."""
    names: set[str] = set()
    for file in FILES:
        if not (Path(__file__).parent / f"{file}.py").exists():
            continue
        for case in import_module(f"tests.oracle.{file}").CASES:
            if case.name in names:
                raise ValueError(f"two cases are called {case.name}")
            names.add(case.name)
            yield case


class Writer:
    """Arrays of cases by name: `case|what|which`."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}

    def keep(self, case: str, what: str, which: Any, array: Any) -> None:
        self.arrays[f"{case}|{what}|{which}"] = np.asarray(array)

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(folder / STORE, **self.arrays)


class Reader:
    """What a `Writer` kept."""

    def __init__(self, folder: Path) -> None:
        with np.load(folder / STORE) as stored:
            self._arrays = {name: stored[name] for name in stored.files}

    def parts(self, case: str, what: str) -> dict[str, Array]:
        """All arrays of one kind of a case."""
        start = f"{case}|{what}|"
        return {k.removeprefix(start): v for k, v in self._arrays.items() if k.startswith(start)}

    @property
    def names(self) -> set[str]:
        return {name.partition("|")[0] for name in self._arrays}
