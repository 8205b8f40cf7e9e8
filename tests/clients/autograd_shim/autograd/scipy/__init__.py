"""SciPy's names, as far as Adjoint has functions for them."""
