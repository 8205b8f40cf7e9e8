"""A program of two processes of which one does something before it joins the other.

mpi_early.py FAULT: killed | stopped | exits | slow
"""

import os
import signal
import sys
import time

FAULTS = {
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "stopped": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "exits": lambda: sys.exit(0),
    "slow": lambda: time.sleep(7),
}


def main(fault):
    print(f"pid {os.getpid()}", flush=True)
    if os.environ["OMPI_COMM_WORLD_RANK"] == "1":
        FAULTS[fault]()
    from adjoint import distributed

    distributed.member().barrier(label="")
    print(f"rank {distributed.rank()} is through", flush=True)


main(*sys.argv[1:])
