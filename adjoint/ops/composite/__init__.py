"""Ops made of other ops, each a record with a body.

In: primitives. Out: composites, which stay whole in the graph until they are expanded, and derived
functions, which build other nodes at once. May not: define a primitive.
"""

from adjoint.ops.composite import (
    activation,
    cast,
    convolution,
    elementary,
    loss,
    normalization,
    picking,
    pooling,
    product,
    shape,
    statistics,
)

__all__ = [
    "activation",
    "cast",
    "convolution",
    "elementary",
    "loss",
    "normalization",
    "picking",
    "pooling",
    "product",
    "shape",
    "statistics",
]
