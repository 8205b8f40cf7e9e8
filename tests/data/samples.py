"""Datasets that worker processes import: ordinary ones, and ones that fail in a chosen way."""

import os
import random
import signal
import sys
import time

import numpy as np


class Squares:
    """Sample i is i squared, a random number of each kind, and i."""

    def __init__(self, length=40):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return np.full(3, index**2, np.float32), np.random.rand(), random.random(), index


class Failing(Squares):
    """Fails at sample 17."""

    def __init__(self, how, length=40):
        super().__init__(length)
        self.how = how

    def __getitem__(self, index):
        if index == 17:
            getattr(self, self.how)()
        return super().__getitem__(index)

    def raise_error(self):
        raise ValueError("no picture in the file")

    def raise_odd_error(self):
        raise OddError(1, 2)

    def raise_stop(self):
        raise StopIteration

    def leave(self):
        os._exit(3)

    def leave_politely(self):
        sys.exit(5)

    def be_killed(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def leave_a_child_behind(self):
        if os.fork() == 0:
            time.sleep(3)  # it keeps the pipe of its parent open
        os._exit(7)

    def hang(self):
        time.sleep(60)


class OddError(Exception):
    """An error that pickle can take apart and not put together."""

    def __init__(self, first, second):
        super().__init__("odd error")


class Unsendable(Squares):
    """Samples that cannot leave their process."""

    def __getitem__(self, index):
        return {"text": "a", "lock": lambda: index}


class Modules(Squares):
    """Which modules the process has loaded."""

    def __getitem__(self, index):
        return " ".join(sys.modules)


class Processes(Squares):
    """Which process loads a sample."""

    def __getitem__(self, index):
        return os.getpid()


def joined(samples):
    return [sample[-1] for sample in samples]


def keep(samples):
    return samples


def doubled(x, y):
    return 2 * x, y
