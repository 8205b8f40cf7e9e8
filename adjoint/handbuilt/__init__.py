"""Kernels that users build by hand: `UOpGraph`, its checks, and `Tensor.custom_kernel`.

In: nodes that a user adds. Out: source in any language, a function to call, or a node of a graph.
`uops.py` has the names that users import.
"""
