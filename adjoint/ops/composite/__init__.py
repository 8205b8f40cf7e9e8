"""Ops made of other ops, each a record with a body.

In: primitives. Out: composites, which stay whole in the graph until they are expanded, and derived
functions, which build other nodes at once. May not: define a primitive.
"""

from adjoint.ops.composite import (
    activation,
    cast,
    convolution,
    einsum,
    elementary,
    joining,
    loss,
    normalization,
    order,
    padding,
    patches,
    picking,
    placing,
    pooling,
    product,
    rearrange,
    regression,
    resize,
    running,
    shape,
    softmax,
    statistics,
)

__all__ = [
    "activation",
    "cast",
    "convolution",
    "einsum",
    "elementary",
    "joining",
    "loss",
    "normalization",
    "order",
    "padding",
    "patches",
    "picking",
    "placing",
    "pooling",
    "product",
    "rearrange",
    "regression",
    "resize",
    "running",
    "shape",
    "softmax",
    "statistics",
]
