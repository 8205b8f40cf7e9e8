"""Function transforms: grad, vjp, jvp, vmap and others, over pytrees of tensors.

In: Python functions of tensors. Out: Python functions of tensors, and the records of nodes that
hold a function (loops, branches, custom rules), which need both engines for their own rules. May
not: define an op that holds no function, or compute.
"""
