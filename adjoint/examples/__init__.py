"""Examples: whole programs of under 80 lines (GPT-2: 120), each of which asserts its own result.

`adjoint train NAME` runs one; so does `python -m adjoint.examples.NAME`.
"""
