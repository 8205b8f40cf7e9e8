"""Torch's side: OpInfo samples of every mapped op, torch's values and vjps, written to a folder.

Runs where torch is installed (`make test-oracle` gives it an environment of its own), never where
Adjoint is: `python -m tests.oracle.make_samples FOLDER`.
"""

from __future__ import annotations

import random
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db

from tests.oracle.mapping import GAUGED, NAMES, SYMMETRIC
from tests.oracle.store import Writer

MOST_SAMPLES = 48  # of one op, spread evenly over what OpInfo gives
MOST_ELEMENTS = 20_000  # of one tensor in a sample
DTYPES = (torch.float64, torch.int64, torch.bool, torch.complex128)  # the first one supported
IGNORED = ("device", "layout", "memory_format", "requires_grad")  # about storage, not values


def main(folder: str) -> None:
    """Write the samples of every mapped op."""
    writer = Writer()
    infos = {_name(info): info for info in op_db}
    unknown = sorted(set(NAMES) - set(infos))
    if unknown:
        raise SystemExit(f"torch {torch.__version__} has no OpInfo called {', '.join(unknown)}")
    for name in NAMES:
        _keep(name, infos[name], writer)
    writer.save(Path(folder), {"torch": torch.__version__, "names": list(NAMES)})
    print(f"{len(writer.records)} samples of {len(NAMES)} ops from torch {torch.__version__}")


def _name(info: Any) -> str:
    return f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name


def _keep(name: str, info: Any, writer: Writer) -> None:
    _seed(0)
    dtype = next(d for d in DTYPES if d in info.supported_dtypes("cpu"))
    wants = info.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    samples = list(info.sample_inputs("cpu", dtype, requires_grad=wants))
    for number in _spread(len(samples)):
        given = (samples[number].input, samples[number].args, samples[number].kwargs)
        record = _Recorder(writer).record(info, given, number, name)
        if record is not None:
            writer.records.append(record)


def _seed(number: int) -> None:
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number)


def _spread(count: int) -> list[int]:
    """Up to MOST_SAMPLES numbers below count, evenly spread."""
    if count <= MOST_SAMPLES:
        return list(range(count))
    return sorted({i * count // MOST_SAMPLES for i in range(MOST_SAMPLES)})


class _Recorder:
    """One sample: its leaves are made anew, so that each has a gradient of its own."""

    def __init__(self, writer: Writer):
        self.writer = writer
        self.leaves: list[torch.Tensor] = []
        self.made: dict[int, torch.Tensor] = {}

    def record(self, info: Any, given: Any, number: int, name: str) -> dict[str, Any] | None:
        first, args, kwargs = self.fresh(given)
        kwargs = {k: v for k, v in kwargs.items() if k not in IGNORED}
        if any(t.numel() > MOST_ELEMENTS for t in self.made.values()):
            return None
        encoded = self.writer.encode((first, args, kwargs), self.leaf)  # before it may be changed
        _seed(number)
        first = (first + first.mT) / 2 if name in SYMMETRIC else first
        outputs = _flat(info.op(first, *args, **kwargs))
        if name in GAUGED:
            outputs = [o.abs() for o in outputs]
        kept = [self.writer.array(_numpy(o)) for o in outputs]
        cotangents, gradients = self.pull_back(outputs, np.random.default_rng(number))
        return {
            "op": name,
            "number": number,
            "call": encoded,
            "outputs": kept,
            "cotangents": cotangents,
            "gradients": gradients,
        }

    def fresh(self, value: Any) -> Any:
        """The value with every tensor copied, the same tensor to the same copy."""
        if isinstance(value, torch.Tensor):
            if id(value) not in self.made:
                copy = value.detach().clone()
                copy.requires_grad_(value.requires_grad)
                self.made[id(value)] = copy
                if value.requires_grad:
                    self.leaves.append(copy)
            return self.made[id(value)]
        if isinstance(value, (list, tuple)):
            return type(value)(self.fresh(v) for v in value)
        if isinstance(value, dict):
            return {k: self.fresh(v) for k, v in value.items()}
        return value

    def leaf(self, value: Any) -> dict[str, Any] | None:
        """Tensors and dtypes as JSON."""
        if isinstance(value, torch.dtype):
            return {"dtype": str(value).removeprefix("torch.")}
        if not isinstance(value, torch.Tensor):
            return None
        number = self.writer.array(_numpy(value))
        which = next((i for i, leaf in enumerate(self.leaves) if leaf is value), None)
        return {"tensor": [number, which]}

    def pull_back(self, outputs: Any, rng: np.random.Generator) -> Any:
        """A cotangent for each output (None if it has no gradient), and the gradients."""
        cotangents = [_cotangent(o, rng) if o.requires_grad else None for o in outputs]
        pairs = [(o, c) for o, c in zip(outputs, cotangents, strict=True) if c is not None]
        kept = [None if c is None else self.writer.array(_numpy(c)) for c in cotangents]
        if not pairs or not self.leaves:
            return kept, []
        found = torch.autograd.grad(
            [o for o, _ in pairs], self.leaves, [c for _, c in pairs], allow_unused=True
        )
        zeros = [torch.zeros_like(leaf) for leaf in self.leaves]
        given = [z if g is None else g for g, z in zip(found, zeros, strict=True)]
        return kept, [self.writer.array(_numpy(g)) for g in given]


def _flat(value: Any) -> list[torch.Tensor]:
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in _flat(v)]
    return [value if isinstance(value, torch.Tensor) else torch.tensor(value)]


def _cotangent(output: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
    values = rng.standard_normal(tuple(output.shape))
    if output.dtype.is_complex:
        values = values + 1j * rng.standard_normal(tuple(output.shape))
    return torch.as_tensor(values).to(output.dtype)


def _numpy(value: torch.Tensor) -> np.ndarray:
    value = value.detach().resolve_conj().resolve_neg()
    value = value.to(torch.float64) if value.dtype.is_floating_point else value
    return np.array(value.numpy(force=True))  # a copy: the op may change its input


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
