"""Every OpInfo that is compared, and how ours is called for it.

Calls take what torch's function takes. Nothing here imports torch or Adjoint: the maker of samples
reads the names, the tests make the calls.
"""

from __future__ import annotations

from tests.oracle.arrays import INDEXING, REDUCTIONS, SHAPES
from tests.oracle.elementwise import CREATION, ELEMENTWISE, Call
from tests.oracle.matrices import GAUGED, MATRICES, SYMMETRIC
from tests.oracle.networks import NETWORKS

CALLS: dict[str, Call] = {
    **ELEMENTWISE,
    **REDUCTIONS,
    **SHAPES,
    **INDEXING,
    **MATRICES,
    **NETWORKS,
}
NAMES = sorted([*CALLS, *CREATION])

__all__ = ["CALLS", "CREATION", "GAUGED", "NAMES", "SYMMETRIC"]
