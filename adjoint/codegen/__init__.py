"""From a loop program to source.

In: `LoopProgram`. Out: `Source` for LLVM (and, by the same walk, other languages).
May not: change what is computed, or compile and run it.
"""
