"""Kernels of ops that are more than one loop over an expression: scans, scatters, sorts.

In: a node whose operands are contiguous buffers. Out: a `LoopProgram` and the memory it needs.
"""
