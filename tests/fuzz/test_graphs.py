"""Random graphs on CPU against REF, as long as there is time; what fails is made small.

`ADJOINT_FUZZ_SECONDS` says how long (60 by default), `ADJOINT_FUZZ_SEED` where to begin; each
worker takes seeds of its own, none of which `make test` has.
"""

import os
import time

import pytest

from tests.fuzz.graphs import check, grown
from tests.fuzz.shrink import shrunk

pytestmark = pytest.mark.fuzz

SECONDS = float(os.environ.get("ADJOINT_FUZZ_SECONDS", "60"))
FIRST = int(os.environ.get("ADJOINT_FUZZ_SEED", time.time_ns() // 1_000_000 % 10**9))
STREAMS = 2
AT_MOST = 10  # failures before a stream gives up


@pytest.mark.parametrize("stream", range(STREAMS))
def test_random_graphs_until_time_is_up(stream):
    end = time.monotonic() + SECONDS
    seed, failed = 1_000_000 + FIRST * STREAMS + stream, []
    while time.monotonic() < end and len(failed) < AT_MOST:
        if check(seed):
            failed.append(seed)
        seed += STREAMS
    assert not failed, _report(failed)


def _report(seeds: list[int]) -> str:
    """The smallest of the failing programs, each made small."""
    small = [(*shrunk(grown(seed)[0]), seed) for seed in seeds]
    program, found, seed = min(small, key=lambda s: (len(s[0].steps), len(str(s[0]))))
    return f"seeds {seeds}; the smallest, of seed {seed}: {found}\n\n{program}"
