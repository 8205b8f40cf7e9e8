"""Where ours and torch's answers differ on purpose, and what ours has no option for.

Each entry names the ops, which part of the answer differs (a call that is refused, values,
gradients), for which samples, and why. The tests fail for a difference that no entry explains and
for an entry that explains nothing. docs/conventions.md tells the same to the reader.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.oracle.comparison import Sample


def _always(sample: Sample) -> bool:
    return True


@dataclass(frozen=True)
class Convention:
    """One reason, the ops and samples it is about, and the parts of the answer that differ."""

    reason: str
    ops: tuple[str, ...]
    parts: tuple[str, ...]
    applies: Callable[[Sample], bool] = _always

    def explains(self, sample: Sample, part: str) -> bool:
        """Whether this is why that part of the answer differs."""
        return sample.op in self.ops and part.startswith(self.parts) and self.applies(sample)


def _scalar(sample: Sample) -> bool:
    return sample.first.ndim == 0


def _one_row(sample: Sample) -> bool:
    return sample.first.shape[:1] == (1,) and sample.first.ndim == 2


def _repeated_targets(sample: Sample) -> bool:
    indices = sample.args[0].numpy()
    spatial = 3 if sample.op.endswith("3d") else 2 if sample.op.endswith("2d") else 1
    flat = indices.reshape(-1, int(np.prod(indices.shape[-spatial:])))
    return any(len(np.unique(row)) < len(row) for row in flat)


def _variance_lacks_an_axis(sample: Sample) -> bool:
    variance: Any = sample.args[1]
    return variance.shape == sample.first.shape[:-1]


def _vectors_in_a_batch(sample: Sample) -> bool:
    return sample.args[0].shape == sample.first.shape[:-1] and sample.first.ndim > 2


def _not_square_and_full(sample: Sample) -> bool:
    rows, columns = sample.first.shape[-2:]
    return sample.kwargs["full_matrices"] and rows != columns


def _negative_base(sample: Sample) -> bool:
    return bool((sample.args[0].numpy() < 0).any())


def _has_an_empty_vector(sample: Sample) -> bool:
    return any(t.shape == (0,) for t in sample.first)


CONVENTIONS = (
    Convention(
        "The derivative of a power by its exponent is 0 where the base is ≤ 0; torch gives NaN "
        "below 0.",
        ("__rpow__", "pow", "float_power"),
        ("gradient",),
        lambda s: s.op == "__rpow__" and _negative_base(s),
    ),
    Convention(
        "An empty vector is joined like any other tensor: its rank must fit. Torch leaves it out.",
        ("cat",),
        ("call",),
        _has_an_empty_vector,
    ),
    Convention(
        "The covariances of a matrix are a matrix, also those of one row; torch gives a scalar.",
        ("cov", "corrcoef"),
        ("value", "gradient"),
        _one_row,
    ),
    Convention(
        "An index has its tensor's rank, also an index without elements.",
        ("gather",),
        ("call",),
        lambda s: s.args[1].ndim != s.first.ndim,
    ),
    Convention(
        "A scalar has no axis to pick from or to lay windows along; torch takes it for a vector.",
        ("index_add", "index_copy", "index_fill", "index_select", "unfold", "nonzero"),
        ("call",),
        _scalar,
    ),
    Convention(
        "A right-hand side is a vector only if it has one axis (the array API's rule); torch also "
        "takes a batch of vectors.",
        ("linalg.solve",),
        ("call", "value", "gradient"),
        _vectors_in_a_batch,
    ),
    Convention(
        "eig and eigvals have no derivative: eigenvalues may meet, and complex eigenvectors are "
        "not unique.",
        ("linalg.eig", "linalg.eigvals"),
        ("gradient",),
    ),
    Convention(
        "svd(full_matrices=True) of a matrix that is not square has no derivative, and the vectors "
        "beyond the shorter side are any that complete the basis.",
        ("linalg.svd",),
        ("gradient", "value 0", "value 2"),
        _not_square_and_full,
    ),
    Convention(
        "Batch norm needs a channel axis; torch takes a vector without elements.",
        ("nn.functional.batch_norm",),
        ("call",),
        lambda s: s.first.ndim < 2,
    ),
    Convention(
        "The variance broadcasts as every operand does, from the right; torch's gaussian_nll_loss "
        "adds an axis to one that has the input's shape without the last axis.",
        ("nn.functional.gaussian_nll_loss",),
        ("value", "gradient"),
        _variance_lacks_an_axis,
    ),
    Convention(
        "Of equal indices the last one stays, and only it gets the gradient; torch gives the "
        "gradient to every one of them.",
        ("nn.functional.max_unpool1d", "nn.functional.max_unpool2d", "nn.functional.max_unpool3d"),
        ("gradient",),
        _repeated_targets,
    ),
    Convention(
        "softplus is log(1 + exp(βx))/β everywhere; torch's is x above a threshold.",
        ("nn.functional.softplus",),
        ("value", "gradient"),
        lambda s: bool((s.first.numpy() * s.kwargs["beta"] > s.kwargs["threshold"]).any()),
    ),
    Convention(
        "Contracted axes have equal sizes; torch's tensordot stretches one of size 1.",
        ("tensordot",),
        ("call",),
        lambda s: 1 in s.first.shape,
    ),
)

# Options of torch's functions that ours does not take; samples that use them are left out.
MISSING = {
    "adaptive_max_pool2d(return_indices=True)": "only max_pool2d returns indices",
    "avg_pool2d(divisor_override=)": "the divisor is the number of elements",
    "cov(fweights=, aweights=)": "weights of observations",
    "cross_entropy(weight=)": "weights of classes with probabilities as the target",
    "interpolate(scale_factor=)": "a size is given; torch also maps positions by a factor that "
    "leaves a remainder",
    "matrix_rank(rtol=), or a tensor of tolerances": "one absolute tolerance",
    "torch's random bits": "dropout draws other numbers here",
    "unique(dim=)": "unique elements, not rows",
    "x[i] = v that adds": "scatter_add and index_add do it",
}
