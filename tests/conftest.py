"""What all tests share: compiled code is kept in the working tree, not among the user's."""

import os
from pathlib import Path

os.environ.setdefault("ADJOINT_CACHE_DIR", str(Path(__file__).parent.parent / ".adjoint_cache"))
os.environ.setdefault("ADJOINT_CACHE_LIMIT", str(1 << 30))
