"""`scipy.signal`: Adjoint has nothing in its place, and its tests say so."""

from scipy.signal import *  # noqa: F403
