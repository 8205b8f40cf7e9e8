"""The whole pipeline: the only package that connects schedule, kernel, codegen and runtime.

In: graphs of nodes. Out: values, stored on the requested nodes. May not: know of `Tensor`, or hold
the meaning of any op.
"""
