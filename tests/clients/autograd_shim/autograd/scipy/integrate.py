"""`scipy.integrate`: Adjoint has nothing in its place, and its tests say so."""

from scipy.integrate import *  # noqa: F403
