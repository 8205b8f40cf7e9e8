"""Kernels of ops that are no plain loop of an expression: scans, scatters, sorts.

In: a node whose operands are contiguous buffers. Out: a `LoopProgram` and what memory it needs.
"""
