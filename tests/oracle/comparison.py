"""Ours against torch's on one sample: the values, then the gradients for the same cotangents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import AdjointError, Tensor
from adjoint.autodiff.reverse import compute_gradient
from tests.oracle.mapping import CALLS, CREATION, GAUGED
from tests.oracle.store import Reader

TOLERANCE = 1e-6  # relative where numbers are large, absolute where they are small


@dataclass(frozen=True)
class Sample:
    """A call as torch's tests make it, and what torch answered."""

    op: str
    number: int
    first: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    leaves: list[Tensor]
    outputs: list[np.ndarray]
    cotangents: list[np.ndarray | None]
    gradients: list[np.ndarray]


def read(reader: Reader, record: dict[str, Any]) -> Sample:
    """The sample of a record, with tensors of ours."""
    leaves: dict[int, Tensor] = {}

    def leaf(kind: str, held: Any) -> Any:
        if kind == "dtype":
            return held
        number, which = held
        if which in leaves:
            return leaves[which]
        tensor = Tensor(reader.array(number))
        if which is not None:
            leaves[which] = tensor
        return tensor

    first, args, kwargs = reader.decode(record["call"], leaf)
    kept = [None if c is None else reader.array(c) for c in record["cotangents"]]
    outputs = [reader.array(o) for o in record["outputs"]]
    gradients = [reader.array(g) for g in record["gradients"]]
    ordered = [leaves[i] for i in range(len(leaves))]
    return Sample(
        record["op"], record["number"], first, args, kwargs, ordered, outputs, kept, gradients
    )


def compare(sample: Sample) -> dict[str, float | str]:
    """For each value and gradient its difference, or what is wrong with it."""
    try:
        results = _flat(_called(sample))
    except AdjointError as error:
        return {"call": f"{type(error).__name__}: {error}"}
    if len(results) != len(sample.outputs):
        return {"call": f"{len(results)} results, torch has {len(sample.outputs)}"}
    if sample.op in GAUGED:
        results = [r if r.dtype.is_complex else r.abs() for r in results]
    found: dict[str, float | str] = {}
    try:
        pulled = _pulled_back(sample, results)  # before values are read: reading ends a history
    except AdjointError as error:
        pulled = []
        found = {"gradient": f"{type(error).__name__}: {error}"}
    for i, (ours, theirs) in enumerate(zip(results, sample.outputs, strict=True)):
        value = _array(ours)
        found[f"value {i}"] = difference(np.abs(value) if sample.op in GAUGED else value, theirs)
    for i, (gradients, wanted) in enumerate(zip(pulled, sample.gradients, strict=False)):
        zeros = np.zeros(wanted.shape, wanted.dtype)
        total = sum((np.conj(g.numpy()) for g in gradients), start=zeros)
        found[f"gradient {i}"] = difference(total, wanted)
    return found


def _called(sample: Sample) -> Any:
    if sample.op in CREATION:
        return CREATION[sample.op](Tensor, sample.first, *sample.args, **sample.kwargs)
    return CALLS[sample.op](sample.first, *sample.args, **sample.kwargs)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [leaf for v in value for leaf in _flat(v)]
    return [value]


def _array(value: Any) -> np.ndarray:
    array = value.numpy() if isinstance(value, Tensor) else np.asarray(value)
    return array.astype(np.float64) if array.dtype.kind in "fV" else array


def _pulled_back(sample: Sample, results: list[Any]) -> list[list[Tensor]]:
    """For each leaf, the gradients that the cotangents give.

    Torch pairs complex numbers with a conjugate, we do without: the cotangents go in conjugated
    and the gradients come out so.
    """
    targets = [t.uop for t in sample.leaves]
    pulled: list[list[Tensor]] = [[] for _ in targets]
    for result, cotangent in zip(results, sample.cotangents, strict=True):
        if cotangent is None or not isinstance(result, Tensor):
            continue
        if result.shape == cotangent.shape and result.dtype.is_inexact:
            seed = Tensor(np.asarray(np.conj(cotangent))).cast(result.dtype).uop
            found = compute_gradient(result.uop, seed, targets)
            for i, target in enumerate(targets):
                pulled[i] += [Tensor(found[target])] if target in found else []
    return pulled


def difference(ours: np.ndarray, theirs: np.ndarray) -> float | str:
    """The largest difference, measured against the size of each number; text if past TOLERANCE."""
    if ours.shape != theirs.shape:
        return f"shape {ours.shape}, torch's {theirs.shape}"
    if not {ours.dtype.kind, theirs.dtype.kind} & set("fc"):
        same = np.array_equal(ours, theirs)
        return 0.0 if same else f"{ours.tolist()}, torch's {theirs.tolist()}"
    with np.errstate(all="ignore"):
        same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
        gap = np.where(same, 0.0, np.abs(ours - theirs) / np.maximum(1.0, np.abs(theirs)))
    gap = np.nan_to_num(gap, nan=np.inf)
    worst = float(np.max(gap, initial=0.0))
    if worst <= TOLERANCE:
        return worst
    at = np.unravel_index(int(np.argmax(gap)), gap.shape)
    return f"at {list(map(int, at))} {ours[at]}, torch's {theirs[at]}"
