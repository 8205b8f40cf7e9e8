"""Kernels as text of C-like languages: C, OpenCL C, CUDA C++, Metal, and WGSL.

In: a `LoopProgram`. Out: source. May not: compile or run anything.
"""
