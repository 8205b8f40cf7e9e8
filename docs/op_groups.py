"""Ops by what people look for: the groups of the index, and what belongs to each.

An op belongs to the group that names it, else to the one that names its module. What may live here:
the table. A new module of ops needs a word here; `docs/build_ops.py` says so.
"""

from __future__ import annotations

from typing import NamedTuple


class Group(NamedTuple):
    """A title, a sentence, whole modules of `adjoint.ops`, and single ops of other modules."""

    title: str
    about: str
    modules: str = ""
    names: str = ""

    @property
    def anchor(self) -> str:
        """The address of its heading on the index."""
        kept = (c if c.isalnum() or c in " -" else "" for c in self.title.lower())
        return "-".join("".join(kept).split())


GROUPS = (
    Group(
        "Activations",
        "Functions between the layers of a network.",
        "composite.activation",
        "relu sigmoid tanh softmax log_softmax softmin",
    ),
    Group(
        "Losses",
        "How far a prediction is from what was wanted.",
        "composite.loss composite.regression",
    ),
    Group(
        "Arithmetic",
        "Sums, products, quotients and powers of elements.",
        "arithmetic composite.elementary",
    ),
    Group(
        "Rounding, signs and limits",
        "The nearest, the larger, the size of a number.",
        "",
        "abs sign ceil floor trunc round frac copysign signbit nextafter maximum minimum fmax fmin "
        "clamp nan_to_num heaviside",
    ),
    Group(
        "Exponentials, logarithms and roots",
        "exp, log and their kin, without overflow where that can be.",
        "mathematics.exp mathematics.log mathematics.power roots",
        "logsumexp logcumsumexp logit xlogy",
    ),
    Group(
        "Trigonometry",
        "Of the circle and of the hyperbola.",
        "mathematics.trig mathematics.arc",
        "sinh cosh asinh acosh atanh sinc deg2rad rad2deg",
    ),
    Group(
        "Special functions",
        "The error function, the gamma function and their derivatives.",
        "mathematics.error mathematics.gamma",
        "digamma",
    ),
    Group(
        "Comparisons, logic and choice",
        "Truth values of elements, bits, and `where`.",
        "logic",
        "isclose allclose",
    ),
    Group(
        "Sums, means and other reductions",
        "One number of many, along some axes.",
        "reduce composite.statistics",
    ),
    Group(
        "Running sums and products",
        "Along an axis, every result with all before it.",
        "scan composite.cumulative running_product",
    ),
    Group(
        "Sorting and searching",
        "Order: sorted values, the largest, medians, quantiles, places.",
        "composite.order",
        "sort partition argpartition msort topk kthvalue argsort searchsorted bucketize",
    ),
    Group(
        "Indexing: gather and scatter",
        "Elements by their places, read or written.",
        "indexing composite.scatter_update composite.sort_select",
    ),
    Group(
        "Shapes",
        "The same elements in other places; all of these are views.",
        "composite.shape composite.rearrange movement",
    ),
    Group(
        "Joining, splitting and repeating",
        "Several tensors as one, one as several.",
        "composite.concatenate",
        "cat",
    ),
    Group(
        "Padding, windows and resizing",
        "Margins, patches, images of another size.",
        "composite.padding composite.resize composite.unfold window",
        "pad_constant shrink",
    ),
    Group(
        "Products of matrices and tensors",
        "From `dot` to `einsum`.",
        "contract composite.matrix_products composite.einsum",
        "linear",
    ),
    Group(
        "Linear algebra",
        "Inverses, solutions, determinants, factorisations.",
        "linalg factorisations",
    ),
    Group(
        "Convolutions and pooling",
        "What slides over an image.",
        "composite.convolution composite.pooling",
    ),
    Group(
        "Normalisation, attention and distances",
        "Whole layers as one op.",
        "composite.normalization",
    ),
    Group("Fourier transforms", "Forwards, back, and of real numbers.", "fourier"),
    Group("Random numbers", "Reproducible from a key.", "random"),
    Group("Complex numbers", "Their parts.", "complex_parts"),
    Group(
        "Dtypes, storage and borders of gradients",
        "Casts, copies, `detach`, `assign`.",
        "casts composite.cast",
    ),
)
_BY_NAME = {name: group for group in GROUPS for name in group.names.split()}
_BY_MODULE = {module: group for group in GROUPS for module in group.modules.split()}


def group_of(name: str, module: str) -> Group:
    """The group of an op, which is defined in this module of `adjoint.ops`."""
    short = module.removeprefix("adjoint.ops.")
    found = _BY_NAME.get(name) or _BY_MODULE.get(short)
    if found is None:
        raise LookupError(f"{short}: give the module, or {name}, a group in docs/op_groups.py")
    return found
