"""Tiled kernels for the tensor cores of NVIDIA GPUs, written by Python as LLVM IR.

In: sizes of tiles. Out: sources. May not: know of graphs, memory or launches.
"""
