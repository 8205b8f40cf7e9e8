"""LLVM IR → native functions of this process, with no compiler on the machine.

LLVM (llvmlite) is loaded only when something must be compiled; compiled objects are kept on disk
and code in memory, the least recently used given up first. Code lives as long as somebody holds it.
What may live here: compiling and keeping code. What may not: what the code does.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import platform
import sys
import threading
from collections import OrderedDict
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from adjoint.errors import InternalError
from adjoint.runtime import cache
from adjoint.runtime.image import Image
from adjoint.runtime.interrupt import interruptible
from adjoint.runtime.native import hold_over_fork
from adjoint.runtime.timeline import span
from adjoint.stages import Source

FORMAT = 1  # of what is kept on disk
KEPT = 1024  # kernels in memory that no program needs to hold
_OWN_LOADER = sys.platform == "linux" and platform.machine() in ("x86_64", "AMD64")


class Loaded(Protocol):
    """Code in memory: the address of each of its functions."""

    def __getitem__(self, name: str) -> int: ...


class Code:
    """A native function `void(ptr args, i64 begin, i64 end)`. Hold it while its address is used."""

    __slots__ = ("_loaded", "address", "name")

    def __init__(self, loaded: Loaded, name: str):
        self._loaded, self.name = loaded, name
        self.address = loaded[name]

    def symbol(self, name: str) -> int:
        """The address of another function of the same source."""
        return self._loaded[name]


_kept: OrderedDict[bytes, Code] = OrderedDict()
_lock = hold_over_fork(threading.Lock())
compiled = 0  # sources that went through LLVM in this process


def compile_source(source: Source, given: Any = MappingProxyType({}), quick: bool = False) -> Code:
    """The function `source.name`; `given` are addresses of symbols that are not of libc or libm.

    `quick` is for code that has little to do: it is compiled in a third of the time, and slower.
    """
    if source.language != "llvm":
        raise InternalError(f"the CPU runs llvm, not {source.language}")
    key = _key(source, quick)
    code = _kept.get(key)
    if code is None:
        with span(f"code {source.name}", "compile", cache="disk") as timed:
            code = _load(source, key, dict(given), quick, timed.details)
    with _lock:
        code = _kept.setdefault(key, code)
        _kept.move_to_end(key)
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return code


def forget() -> None:
    """Give up all code that nobody holds."""
    with _lock:
        _kept.clear()


def _key(source: Source, quick: bool) -> bytes:
    digest = hashlib.sha256(machine())
    digest.update(b"quick" if quick else b"")
    digest.update(source.name.encode())
    digest.update(b"\0")
    code = "\n".join(line for line in source.text.split("\n") if not line.startswith(";"))
    digest.update(code.encode())  # kernels of two lines of a program may be one
    return digest.digest()


def _load(
    source: Source, key: bytes, given: dict[str, int], quick: bool, details: dict[str, Any]
) -> Code:
    name = key.hex()
    data = cache.read(name)
    if data is None:
        details["cache"] = "miss"
        with span(f"llvm {source.name}", "compile"):
            data = interruptible(partial(compile_object, source, quick))
        cache.write(name, data)
    return Code(_loaded(data, source.name, given), source.name)


def _loaded(data: bytes, name: str, given: dict[str, int]) -> Loaded:
    return Image(data, given) if _OWN_LOADER else _engine().load(data, name, given)


def compile_object(source: Source, quick: bool = False) -> bytes:
    """The object of a source, always by LLVM."""
    global compiled
    data = _engine().compile(source, quick)
    compiled += 1
    return data


# ---- what code depends on besides its source


@lru_cache(maxsize=1)
def machine() -> bytes:
    """What compiled code is good for: this processor, this LLVM, this version of the format."""
    parts = [str(FORMAT).encode(), platform.machine().encode(), _processor(), _llvm_version()]
    return hashlib.sha256(b"\0".join(parts)).digest()


def _processor() -> bytes:
    """Name and features of the processor; from the kernel where it tells, else from LLVM."""
    try:
        with open("/proc/cpuinfo", "rb") as file:
            text = file.read(8192).split(b"\n\n")[0]
    except OSError:
        text = b""
    wanted = (b"vendor_id", b"cpu family", b"model", b"stepping", b"flags", b"Features", b"CPU")
    lines = [line for line in text.split(b"\n") if line.startswith(wanted)]
    return b"\n".join(lines) if lines else _engine().processor.encode()


def _llvm_version() -> bytes:
    """The version file of llvmlite, read without loading LLVM."""
    spec = importlib.util.find_spec("llvmlite")
    if spec is None or spec.origin is None:
        raise InternalError("llvmlite is not installed; it is one of Adjoint's dependencies")
    return Path(spec.origin).with_name("_version.py").read_bytes()


# ---- LLVM


class _Engine:
    """LLVM for this host. One call at a time: LLVM's tables are shared."""

    def __init__(self) -> None:
        # 70 ms, and not needed when everything is in the cache
        llvm: Any = importlib.import_module("llvmlite.binding")
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.llvm = llvm
        self.lock = hold_over_fork(threading.Lock())  # LLVM must be whole in a child
        cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
        self.processor = f"{cpu} {features}"
        target = llvm.Target.from_default_triple()
        self.machine, self.quick = (
            target.create_target_machine(
                cpu=cpu, features=features, opt=effort, reloc="pic", codemodel="default"
            )
            for effort in (2, 0)
        )
        self.linker: Any = None
        self.libraries = 0

    def compile(self, source: Source, quick: bool = False) -> bytes:
        # Types and constants die with their context. The collector must not be left to end a
        # module: it does not know that the context comes last.
        try:
            with (
                self.lock,
                self.llvm.create_context() as context,
                self.llvm.parse_assembly(source.text, context) as module,
            ):
                module.verify()
                # No passes: kernels come in their final form, and passes cost more than the rest.
                machine: Any = self.quick if quick else self.machine
                return bytes(machine.emit_object(module))
        except RuntimeError as error:
            raise InternalError(f"kernel {source.name}: LLVM refuses the code: {error}") from None

    def load(self, data: bytes, name: str, given: dict[str, int]) -> Loaded:
        """By LLVM's own linker, for systems whose objects `image` does not read."""
        with self.lock:
            if self.linker is None:
                self.linker = self.llvm.create_lljit_compiler(self.machine)
            self.libraries += 1
            library = self.llvm.JITLibraryBuilder().add_object_img(data).add_current_process()
            for symbol, address in given.items():
                library.import_symbol(symbol, address)
            loaded: Loaded = library.export_symbol(name).link(self.linker, f"l{self.libraries}")
            return loaded


_engines: list[_Engine] = []
_engine_lock = hold_over_fork(threading.Lock())


def _engine() -> _Engine:
    with _engine_lock:
        if not _engines:
            _engines.append(_Engine())
        return _engines[0]
