"""Several fake GPUs with a fake NCCL between them, a thread for each."""

import threading
from contextlib import contextmanager
from typing import ClassVar

from adjoint.backends.cuda import collectives as steps
from adjoint.runtime.comm import nccl
from tests.anew import compiled_anew
from tests.support.fake_gpu import fake_gpus
from tests.support.fake_nccl import FakeNccl, Wires


class Nccl(threading.local):
    """A fake of NCCL for every thread, which share the wires."""

    wires = Wires()
    every: ClassVar[list] = []
    loaded = True

    def __init__(self):
        self._own = FakeNccl(self.wires)
        self.every.append(self._own)
        self.made, self.call = self._own.made, self._own.call

    @classmethod
    def calls(cls):
        return [name for fake in cls.every for name in fake.calls]


@contextmanager
def installed(size):
    """So many fake GPUs, and a fake of NCCL that carries between them."""
    fake = Nccl()
    library, nccl.library = nccl.library, lambda: fake
    try:
        with compiled_anew(), fake_gpus(size) as gpus:
            yield gpus
    finally:
        nccl.library = library
        steps._groups.clear()
