"""A program of many processes in which one does something wrong before a collective.

mpi_fault.py FAULT COLLECTIVE: killed | stopped | raises | exits | other | group
"""

import os
import signal
import sys
import time

import numpy as np

from adjoint import distributed

VICTIM = 1
CALLS = {
    "all_reduce": lambda m, x: m.all_reduce(x, x, "sum", label="train.py:7"),
    "long_all_reduce": lambda m, x: m.all_reduce(
        *[np.ones(1 << 20)] * 2, "sum", label="train.py:7"
    ),
    "all_gather": lambda m, x: m.all_gather(x, np.ones((m.size, 4)), label="train.py:7"),
    "reduce_scatter": lambda m, x: m.reduce_scatter(
        np.ones((m.size, 4)), x, "sum", label="train.py:7"
    ),
    "all_to_all": lambda m, x: m.all_to_all(*[np.ones((m.size, 4))] * 2, label="train.py:7"),
    "permute": lambda m, x: m.permute(x, x, [(0, 1), (1, 0)], label="train.py:7"),
    "receive": lambda m, x: (
        m.send(x, 0, tag=3, label="train.py:7")
        if m.rank == VICTIM
        else m.receive(x, VICTIM, tag=3, label="train.py:7")
    ),
    "barrier": lambda m, x: m.barrier(label="train.py:7"),
    "group": lambda m, x: m.group((0, 1)).barrier(label="train.py:7"),
    "end": lambda m, x: None,
}
FAULTS = {
    "killed": lambda m, x: os.kill(os.getpid(), signal.SIGKILL),
    "stopped": lambda m, x: os.kill(os.getpid(), signal.SIGSTOP),
    "raises": lambda m, x: {}["lost"],
    "exits": lambda m, x: sys.exit(0),
    "other": lambda m, x: m.all_reduce(x[:3], x[:3], "max", label="train.py:9"),
    "group": lambda m, x: m.group((0, 1)).barrier(label="train.py:9"),
    "slow": lambda m, x: time.sleep(7),
}


def main(fault, collective):
    member, x = distributed.member(), np.ones(4)
    member.barrier(label="begin")
    print(f"pid {os.getpid()}", flush=True)
    if member.rank == VICTIM:
        FAULTS[fault](member, x)
    CALLS[collective](member, x)
    print(f"rank {member.rank} is through", flush=True)


main(*sys.argv[1:])
