"""Suites of other libraries, run with Adjoint in the place of the arrays that they know."""
