"""The only package that sees the whole pipeline.

In: graphs of nodes. Out: values, hung on the nodes that were asked for.
May not: know of `Tensor`, or hold the meaning of any op.
"""
