"""How samples are kept between the two environments: arrays in an .npz, their places in JSON.

What may live here: turning arguments into plain data and back. It imports neither torch nor
Adjoint, since both sides read it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

PLAIN = (bool, int, float, str, type(None))


class Writer:
    """Collects arrays and records, then writes them."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.records: list[dict[str, Any]] = []

    def array(self, value: np.ndarray) -> int:
        """Keep an array; its number is what the records hold."""
        self.arrays.append(value)
        return len(self.arrays) - 1

    def encode(self, value: Any, leaf: Callable[[Any], dict[str, Any] | None]) -> Any:
        """A value as JSON; `leaf` turns what it knows into an object, or gives None."""
        known = leaf(value)
        if known is not None:
            return known
        if isinstance(value, PLAIN):
            return {"plain": value}
        if isinstance(value, complex):
            return {"complex": [value.real, value.imag]}
        if isinstance(value, slice):
            return {"slice": [value.start, value.stop, value.step]}
        if value is Ellipsis:
            return {"ellipsis": True}
        if isinstance(value, (list, tuple)):
            kind = "list" if isinstance(value, list) else "tuple"
            return {kind: [self.encode(v, leaf) for v in value]}
        if isinstance(value, dict):
            return {"dict": {k: self.encode(v, leaf) for k, v in value.items()}}
        raise TypeError(f"a {type(value).__name__} cannot be kept")

    def save(self, folder: Path, about: dict[str, Any]) -> None:
        """Write both files; the JSON comes last, so that its presence means both are whole."""
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(folder / "samples.npz", *self.arrays)
        text = json.dumps({"about": about, "records": self.records})
        (folder / "samples.json").write_text(text, encoding="utf-8")


class Reader:
    """The records, and the arrays by number."""

    def __init__(self, folder: Path):
        kept = json.loads((folder / "samples.json").read_text(encoding="utf-8"))
        self.about: dict[str, Any] = kept["about"]
        self.records: list[dict[str, Any]] = kept["records"]
        self._arrays = np.load(folder / "samples.npz")

    def array(self, number: int) -> np.ndarray:
        """The array of that number."""
        return self._arrays[f"arr_{number}"]

    def decode(self, value: dict[str, Any], leaf: Callable[[str, Any], Any]) -> Any:
        """What `encode` was given; `leaf` is called for the objects it does not know."""
        ((kind, held),) = value.items()
        match kind:
            case "plain":
                return held
            case "complex":
                return complex(*held)
            case "slice":
                return slice(*held)
            case "ellipsis":
                return Ellipsis
            case "list":
                return [self.decode(v, leaf) for v in held]
            case "tuple":
                return tuple(self.decode(v, leaf) for v in held)
            case "dict":
                return {k: self.decode(v, leaf) for k, v in held.items()}
            case _:
                return leaf(kind, held)
