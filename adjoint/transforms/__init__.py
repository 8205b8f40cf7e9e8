"""Functions of functions: grad, vjp, jvp, vmap and their kin, over pytrees of tensors.

In: Python functions of tensors. Out: Python functions of tensors.
May not: hold a derivative or a batching rule (records), or compute.
"""
