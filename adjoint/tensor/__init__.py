"""The user's handle on the graph.

In: Python values, arrays, files. Out: `Tensor`, whose methods come from the records of `ops/`.
May not: hold the meaning of any op, or compute except through `engine/`.
"""

from adjoint.tensor.tensor import Tensor, no_grad

__all__ = ["Tensor", "no_grad"]
