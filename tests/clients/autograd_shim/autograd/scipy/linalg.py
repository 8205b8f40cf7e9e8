"""`scipy.linalg`: Adjoint has nothing in its place, and its tests say so."""

from scipy.linalg import *  # noqa: F403
