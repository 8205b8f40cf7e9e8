"""Examples: whole programs of under 80 lines, each of which asserts its own result.

`adjoint train NAME` runs one; so does `python -m adjoint.examples.NAME`.
"""
