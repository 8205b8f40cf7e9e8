"""Ops made of other ops, each a record with a body.

In: primitives. Out: composites, which stay whole in the graph until they are expanded, and derived
functions, which build other nodes at once. May not: define a primitive.
"""

from adjoint.ops.composite import (  # noqa: F401 (to import a module is to enter its records)
    activation,
    cast,
    concatenate,
    convolution,
    cumulative,
    einsum,
    elementary,
    loss,
    matrix_products,
    normalization,
    order,
    padding,
    pooling,
    rearrange,
    regression,
    resize,
    scatter_update,
    shape,
    softmax,
    sort_select,
    statistics,
    unfold,
)
