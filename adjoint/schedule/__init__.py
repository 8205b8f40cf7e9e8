"""From a graph to a schedule.

In: primitive nodes. Out: `Schedule`: groups of nodes that become one kernel each, library calls,
their order and their memory. May not: emit code, touch memory, or know of `Tensor`.
"""
