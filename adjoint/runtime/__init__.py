"""Storage and execution.

In: storage requests, primitive nodes. Out: buffers with values.
May not: build graphs for users, choose what to fuse, or know of `Tensor`.
"""
