"""What all tests share: compiled code is kept in the working tree, not among the user's."""

import os
from datetime import UTC, datetime
from pathlib import Path

os.environ.setdefault("ADJOINT_CACHE_DIR", str(Path(__file__).parent.parent / ".adjoint_cache"))
os.environ.setdefault("ADJOINT_CACHE_LIMIT", str(1 << 30))
# One day for all workers, even if they start around midnight; see tests/fuzz/test_whole.py.
os.environ.setdefault("ADJOINT_FUZZ_SEED", datetime.now(UTC).strftime("%Y%m%d"))
