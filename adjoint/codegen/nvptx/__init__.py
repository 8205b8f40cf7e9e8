"""A loop program → LLVM IR for an NVIDIA GPU: `llvm/` with other memory, and lanes over threads.

In: loop programs. Out: text that LLVM turns into PTX. May not: touch a GPU.
"""
