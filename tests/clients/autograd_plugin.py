"""A pytest plugin that puts the package of `autograd_shim/` in the place of autograd.

The tests are those of autograd's source archive. What the shim does not replace (the checks of
gradients, `grad`, `jacobian` and the others that are written over `make_vjp`) is autograd's own.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "autograd_shim"))
