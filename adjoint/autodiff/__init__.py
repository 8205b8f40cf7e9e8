"""Graph → gradient graph.

In: nodes, and the derivative each op's record declares. Out: nodes.
May not: know an op by name, run anything, or know of `Tensor`.
"""

from adjoint.autodiff.reverse import compute_gradient

__all__ = ["compute_gradient"]
