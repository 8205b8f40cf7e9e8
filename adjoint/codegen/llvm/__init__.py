"""Kernels as LLVM IR, vectors and soft floats included.

In: a `LoopProgram`. Out: a module's text. May not: compile or run anything.
"""
