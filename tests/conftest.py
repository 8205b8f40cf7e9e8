"""What all tests share: where compiled code is kept, and signals as a terminal has them.

Compiled code is kept in the working tree, not among the user's. A shell without job control starts
what runs in its background with SIGINT ignored, and so would every process that a test starts and
interrupts: a process with a handler hands the default on.
"""

import os
import signal
from datetime import UTC, datetime
from pathlib import Path

os.environ.setdefault("ADJOINT_CACHE_DIR", str(Path(__file__).parent.parent / ".adjoint_cache"))
os.environ.setdefault("ADJOINT_CACHE_LIMIT", str(1 << 30))
# One day for all workers, even if they start around midnight; see tests/fuzz/test_whole.py.
os.environ.setdefault("ADJOINT_FUZZ_SEED", datetime.now(UTC).strftime("%Y%m%d"))
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
