"""Objects → a block of memory that other processes map → the same objects.

Arrays are put beside the pickle, so that all workers share one copy of them. With the objects go
the modules in which their classes and functions are written: a worker imports these, and the main
script only if it is among them.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import mmap
import os
import pickle
import runpy
import struct
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from adjoint.errors import TrainingError

_ALIGNED = 64
_FIX = (
    "write what the dataset is made of with def or class at the top level of a file (no lambda, "
    "nothing typed into a prompt), or load with workers=0"
)
unpacking: list[bool] = []  # not empty while a process is being made ready


def check_not_unpacking() -> None:
    """An error if workers are asked for by a script that is imported only to make one ready."""
    if unpacking:
        problem = "the script starts workers when it is imported, and workers import it"
        fix = 'put what the script does under `if __name__ == "__main__":`'
        raise TrainingError("E9003", problem, op="Loader", help=fix)


@dataclass(slots=True)
class _Surroundings:
    """What a process has to know before it can unpickle."""

    arguments: list[str]
    main: tuple[str, str] | None = None  # ("path" or "module", which), if it is needed
    modules: dict[str, str | None] = field(default_factory=dict)  # and their files


class _Packer(pickle.Pickler):
    """A pickler that notes which modules the objects come from."""

    def __init__(self, file: Any, buffers: list[pickle.PickleBuffer]):
        super().__init__(file, 5, buffer_callback=buffers.append)
        self.modules: dict[str, None] = {}

    def reducer_override(self, obj: Any) -> Any:
        """Leave the pickling as it is."""
        if isinstance(obj, (FunctionType, type)):
            self.modules[obj.__module__] = None
        return NotImplemented


def pack(value: Any, what: str) -> int:
    """A file descriptor that `unpack` makes `value` of; the caller closes it."""
    stream, buffers = io.BytesIO(), list[pickle.PickleBuffer]()
    packer = _Packer(stream, buffers)
    try:
        packer.dump(value)
        raw = [buffer.raw() for buffer in buffers]
    except Exception as error:
        problem = f"{what} cannot be sent to worker processes: {error}"
        raise TrainingError("E9003", problem, op="Loader", help=_FIX) from error
    surroundings = pickle.dumps(_surroundings(packer.modules, what))
    return _written([surroundings, stream.getbuffer(), *raw])


def unpack(descriptor: int) -> Any:
    """What was packed; arrays are mapped, and private to this process once they are written to."""
    surroundings, objects, *buffers = _parts(descriptor)
    unpacking.append(True)
    try:
        _prepare(pickle.loads(surroundings))
        return pickle.loads(objects, buffers=buffers)
    finally:
        unpacking.clear()


def _written(parts: list[Any]) -> int:
    anonymous = hasattr(os, "memfd_create")
    descriptor = os.memfd_create("adjoint-data") if anonymous else _temporary()
    with open(descriptor, "wb", closefd=False) as file:
        file.write(struct.pack(f"<{len(parts) + 1}Q", len(parts), *(len(part) for part in parts)))
        for part in parts:
            file.write(bytes(-file.tell() % _ALIGNED))
            file.write(part)
    return descriptor


def _temporary() -> int:
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _parts(descriptor: int) -> Iterator[memoryview]:
    whole = memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_COPY))
    (count,) = struct.unpack_from("<Q", whole)
    place = 8 * (count + 1)
    for size in struct.unpack_from(f"<{count}Q", whole, 8):
        place += -place % _ALIGNED
        yield whole[place : place + size]
        place += size


def _surroundings(names: dict[str, None], what: str) -> _Surroundings:
    found = _Surroundings(sys.argv)
    for name in names:
        if name == "__main__":
            found.main = _main_script(what)
        elif name not in ("builtins", None):
            found.modules[name] = getattr(sys.modules.get(name), "__file__", None)
    return found


def _main_script(what: str) -> tuple[str, str]:
    main = sys.modules["__main__"]
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    if spec is not None:
        return "module", spec.name
    if file is None or not Path(file).is_file():
        problem = f"{what} is written in a session that worker processes cannot import"
        raise TrainingError("E9003", problem, op="Loader", help=_FIX)
    return "path", str(Path(file).resolve())


def _prepare(surroundings: _Surroundings) -> None:
    sys.argv = surroundings.arguments
    if surroundings.main is not None:
        _run_main(*surroundings.main)
    for name, file in surroundings.modules.items():
        _load(name, file)


def _run_main(kind: str, which: str) -> None:
    """The main script under another name, so that what it does only as a script is left out."""
    run = runpy.run_module if kind == "module" else runpy.run_path
    main = ModuleType("__mp_main__")
    sys.modules["__main__"] = sys.modules["__mp_main__"] = main
    main.__dict__.update(run(which, run_name="__mp_main__"))


def _load(name: str, file: str | None) -> None:
    """Import a module, by its file where its name is known only to the process that packed."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if file is None or not name.startswith(error.name or name):
            raise
        _load_file(name, file)


def _load_file(name: str, file: str) -> None:
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"{name} cannot be loaded from {file}", name=name)
    above = name.rpartition(".")[0]
    while above:
        sys.modules.setdefault(above, ModuleType(above))
        above = above.rpartition(".")[0]
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
