"""LLVM IR → native functions of this process, with no compiler on the machine.

LLVM (llvmlite) is loaded only when something must be compiled. Compiled objects are cached on disk
and code in memory; the least recently used is evicted first. Code lives as long as programs hold
it.
"""

from __future__ import annotations

import hashlib
import re
import struct
import sys
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, Protocol

from adjoint import config
from adjoint.errors import DeviceError, InternalError
from adjoint.runtime import cache
from adjoint.runtime.elf_loader import Image
from adjoint.runtime.interrupt import interruptible, undisturbed
from adjoint.runtime.libc import OUTSIDE, hold_over_fork
from adjoint.runtime.llvm import engine, version
from adjoint.runtime.processor import description, machine_kind, processor
from adjoint.runtime.spans import now, record, recorders
from adjoint.runtime.symbols import undefined
from adjoint.runtime.workers import Workers, side_by_side
from adjoint.stages import Source

FORMAT = 2  # of what is kept on disk
MAX_FREE_KERNELS = 1024  # kernels in memory that no program needs to hold


class LoadedCode(Protocol):
    """Code in memory: the address of each of its functions."""

    def __getitem__(self, name: str) -> int: ...


class Code:
    """A native function `void(ptr args, i64 begin, i64 end)`. Hold it while its address is used."""

    __slots__ = ("_loaded", "address", "name")

    def __init__(self, loaded: LoadedCode, name: str):
        self._loaded, self.name = loaded, name
        self.address = loaded[name]

    def symbol(self, name: str) -> int:
        """The address of another function of the same source."""
        return self._loaded[name]


_kept: OrderedDict[bytes, Code] = OrderedDict()
_lock = hold_over_fork(threading.Lock())
_COMMENT = re.compile(r"^;.*\n?", re.MULTILINE)
compiled = 0  # sources that went through LLVM in this process


def compile_source(source: Source, given: Any = MappingProxyType({}), quick: bool = False) -> Code:
    """The function `source.name`; `given` are addresses of symbols from elsewhere.

    `quick` is for code that has little to do: it is compiled in a third of the time, and slower.
    """
    return compile_sources([(source, quick)], given)[0]


Asked = tuple[Source, bool]  # a source, and whether its code has little to do


def compile_sources(asked: Sequence[Asked], given: Any = MappingProxyType({})) -> list[Code]:
    """The functions of several sources: from memory, from the disk, or compiled side by side."""
    wrong = [source.language for source, _ in asked if source.language != "llvm"]
    if wrong:
        raise InternalError(f"the CPU runs llvm, not {wrong[0]}")
    keys = [_key(*each) for each in asked]
    found = {key: code for key in keys if (code := _kept.get(key)) is not None}
    new = {key: each for key, each in zip(keys, asked, strict=True) if key not in found}
    found |= _loaded_or_made(new, dict(given)) if new else {}
    kept = {key: _keep(key, code) for key, code in found.items()}
    return [kept[key] for key in keys]


def _keep(key: bytes, code: Code) -> Code:
    """The code of a key from now on: the first that there was."""
    with _lock:
        code = _kept.setdefault(key, code)
        _kept.move_to_end(key)
        while len(_kept) > MAX_FREE_KERNELS:
            _kept.popitem(last=False)
    return code


def forget() -> None:
    """Give up all code that no program holds."""
    with _lock:
        _kept.clear()


def _key(source: Source, quick: bool) -> bytes:
    digest = hashlib.sha256(machine())
    digest.update(b"quick" if quick else b"")
    digest.update(source.name.encode())
    digest.update(b"\0")
    code = _COMMENT.sub("", source.text)  # kernels of two lines of a program may be one
    digest.update(code.encode())
    return digest.digest()


def _loaded_or_made(new: dict[bytes, Asked], given: dict[str, int]) -> dict[bytes, Code]:
    found: dict[bytes, Code] = {}
    missing: dict[bytes, Asked] = {}
    for key, (source, quick) in new.items():
        start = now() if recorders else 0
        code = _from_disk(key.hex(), source, given)
        if code is None:
            missing[key] = source, quick
            continue
        found[key] = code
        if start:
            record(f"code {source.name}", "compile", start, {"cache": "disk"})
    return found | (_made(missing, given) if missing else {})


def _from_disk(name: str, source: Source, given: dict[str, int]) -> Code | None:
    """The code that an earlier process made, if it is whole."""
    kept = cache.read(name)
    code = None if kept is None else _tried(kept, source, given)
    if kept is not None and code is None:
        cache.discard(name)
    return code


def _made(missing: dict[bytes, Asked], given: dict[str, int]) -> dict[bytes, Code]:
    missing = dict(sorted(missing.items(), key=lambda row: -len(row[1][0].text)))  # longest first
    undisturbed(partial(_ready_for, side_by_side(len(missing))))
    work = Workers([*missing.values()], lambda each: compile_object(*each))
    try:
        objects = interruptible(work.all_done)
    finally:
        work.stop()  # an interrupt: what has not begun need not begin
    found = {}
    for (key, (source, _)), data in zip(missing.items(), objects, strict=True):
        found[key] = Code(_loaded(data, source, given), source.name)
        cache.write(key.hex(), data)  # only what could be loaded
    return found


def _ready_for(threads: int) -> None:
    engine().make_room(threads)


def _tried(data: bytes, source: Source, given: dict[str, int]) -> Code | None:
    """The code of an object from the disk, None if it is not what it should be."""
    try:
        return Code(_loaded(data, source, given), source.name)
    except (InternalError, LookupError, ValueError, struct.error):
        return None


def _loaded(data: bytes, source: Source, given: dict[str, int]) -> LoadedCode:
    """Placed in memory; code that asks for more than it may have is refused before that."""
    strangers = [name for name in undefined(data) if name not in given and name not in OUTSIDE]
    if strangers:
        asked = ", ".join(map(repr, strangers))
        raise InternalError(f"kernel {source.name} asks for {asked}, which it may not use")
    loaded: LoadedCode = Image(data, given) if own_loader() else engine().load(data, source, given)
    return loaded


@lru_cache(maxsize=1)
def own_loader() -> bool:
    """Whether `elf_loader.py` places objects; LLVM's linker does on systems it cannot read."""
    asked = config.LOADER.value()
    able = sys.platform == "linux" and machine_kind() == "x86_64"
    if asked == "elf" and not able:
        about = f"objects of {sys.platform} on {machine_kind()} are not read by Adjoint"
        hint = f"set {config.LOADER.variable} to auto or llvm"
        raise DeviceError("E6003", about, op=config.LOADER.variable, help=hint)
    return able and asked != "llvm"


def compile_object(source: Source, quick: bool = False) -> bytes:
    """The object of a source, always by LLVM."""
    global compiled
    start = now() if recorders else 0
    data = engine().compile(source, quick)
    if start:
        record(f"llvm {source.name}", "compile", start, {})
        record(f"code {source.name}", "compile", start, {"cache": "miss"})
    with _lock:
        compiled += 1
    return data


def assembly_of(source: Source) -> str:
    """What LLVM makes of a source, as text; nothing is kept."""
    _ready_for(1)
    return engine().assembly(source)


# ---- what code depends on besides its source


@lru_cache(maxsize=1)
def machine() -> bytes:
    """What compiled code is good for: a processor, this LLVM, this version of the format."""
    wanted = processor()
    found = wanted.name
    if found == "native":
        found = description() or engine()._processor()[1]
    parts = [str(FORMAT), sys.platform, machine_kind(), found, wanted.features]
    return hashlib.sha256("\0".join(parts).encode() + version()).digest()
