"""NumPy's random numbers, which depend on no tensor."""

from numpy.random import *  # noqa: F403
