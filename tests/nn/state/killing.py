"""Children that save checkpoints until they are killed, and what is found in the file then.

`python -m tests.nn.state.killing PATH TIMES` prints how it went as JSON. The children are forks, so
that most of their lives is saving.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

from adjoint import Tensor
from adjoint.nn.state import load_checkpoint, save_checkpoint

SIZE = 20_000


class Model:
    """Every element is the number of the save, so a torn file would show."""

    def __init__(self, number):
        self.first = Tensor(np.full(SIZE, number, np.float32))
        self.second = Tensor(np.full(SIZE, number, np.int32))


def number_in(path):
    """The number of the save that a file is; the file is read whole."""
    model = Model(-1)
    found = load_checkpoint(path, model=model)
    values = np.concatenate([model.first.numpy(), model.second.numpy()])
    assert (values == found.step).all()
    return found.step


def save_for_ever(path, number):
    while True:
        number += 1
        save_checkpoint(path, step=number, model=Model(number))


def run(path, times):
    """Kill a child at a random moment, look, and start the next."""
    rng = random.Random(0)
    save_checkpoint(path, step=0, model=Model(0))
    begun = time.perf_counter()
    save_checkpoint(path, step=0, model=Model(0))
    one = min(time.perf_counter() - begun, 0.05)
    number, most = 0, 0
    for _ in range(times):
        child = os.fork()
        if not child:
            save_for_ever(path, number)
        time.sleep(rng.random() * 6 * one)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        now = number_in(path)
        assert now >= number
        number = now
        most = max(most, len(os.listdir(path.parent)))
    return {"kills": times, "saves": number, "most_files": most}


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), int(sys.argv[2]))))
