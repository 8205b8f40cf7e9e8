"""The names for kernels built by hand, at the address that tinygrad's users know."""

from adjoint.handbuilt.uops import *  # noqa: F403
