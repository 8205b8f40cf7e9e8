"""LLVM, loaded when something must be compiled: text to objects, by several threads at once; and
its own linker.

Elsewhere: what is kept (`compiler`, `cache`).
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adjoint.errors import InternalError
from adjoint.runtime import libc
from adjoint.runtime.libc import hold_over_fork
from adjoint.runtime.processor import processor
from adjoint.stages import Source

_DEFINED = re.compile(r'^define (?!internal)[^@]*@(?:"([^"]*)"|([\w.]+))\(', re.MULTILINE)


class Desk:
    """The LLVM state that one thread needs to compile: its own code generators, for optimised and
    for quick code. A fork waits until no desk is in use: LLVM must be consistent in a child.
    """

    __slots__ = ("lock", "machine", "quick")

    def __init__(self, llvm: Any, processor: tuple[str, str]):
        self.lock = hold_over_fork(threading.Lock())
        target, (cpu, features) = llvm.Target.from_default_triple(), processor
        self.machine, self.quick = (
            target.create_target_machine(
                cpu=cpu, features=features, opt=effort, reloc="pic", codemodel="default"
            )
            for effort in (2, 0)
        )


class Engine:
    """LLVM for this host, with a desk for every thread that compiles at the same time."""

    def __init__(self) -> None:
        # 35 ms, and not needed when everything is in the cache
        llvm: Any = importlib.import_module("llvmlite.binding")
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.llvm = llvm
        self.emit = _emitter(llvm)
        self.desks = [Desk(llvm, self._processor())]
        self.lock = hold_over_fork(threading.Lock())  # of the linker and the list of desks
        self.linker: Any = None
        self.libraries = 0

    def _processor(self) -> tuple[str, str]:
        """Name and features; those of the host where code is for the host alone."""
        wanted = processor()
        if wanted.name != "native":
            return wanted.name, wanted.features
        return self.llvm.get_host_cpu_name(), self.llvm.get_host_cpu_features().flatten()

    def make_room(self, count: int) -> None:
        """Desks for so many threads, by the one that is going to start them."""
        with self.lock:  # no fork meanwhile
            for _ in range(count - len(self.desks)):
                self.desks.append(Desk(self.llvm, self._processor()))

    @contextmanager
    def _desk(self) -> Iterator[Desk]:
        """A free desk, or the first one as soon as it is free."""
        free = (desk for desk in self.desks if desk.lock.acquire(blocking=False))
        desk = next(free, None)
        if desk is None:
            desk = self.desks[0]
            desk.lock.acquire()
        try:
            yield desk
        finally:
            desk.lock.release()

    def compile(self, source: Source, quick: bool = False) -> bytes:
        """The object of a source."""
        # Types and constants die with their context. The collector must not be left to end a
        # module: it does not know that the context comes last.
        try:
            with (
                self._desk() as desk,
                self.llvm.create_context() as context,
                self.llvm.parse_assembly(source.text, context) as module,
            ):
                module.verify()
                # No passes: kernels come in their final form, and passes cost more than the rest.
                return self.emit(desk.quick if quick else desk.machine, module)
        except RuntimeError as error:
            raise InternalError(f"kernel {source.name}: LLVM refuses the code: {error}") from None

    def assembly(self, source: Source) -> str:
        """The same as text, for people."""
        with (
            self._desk() as desk,
            self.llvm.create_context() as context,
            self.llvm.parse_assembly(source.text, context) as module,
        ):
            return str(desk.machine.emit_assembly(module))

    def load(self, data: bytes, source: Source, given: dict[str, int]) -> Any:
        """By LLVM's own linker, which knows every system's objects. It is shown no symbols but
        those that code may use."""
        with self.lock:
            if self.linker is None:
                self.linker = self.llvm.create_lljit_compiler(self.desks[0].machine)
            self.libraries += 1
            library = self.llvm.JITLibraryBuilder().add_object_img(data)
            for symbol, address in (libc.outside() | given).items():
                library.import_symbol(symbol, address)
            for symbol in defined(source):
                library.export_symbol(symbol)
            try:
                return library.link(self.linker, f"l{self.libraries}")
            except RuntimeError as error:
                raise InternalError(f"kernel {source.name}: LLVM cannot load it: {error}") from None


def _emitter(llvm: Any) -> Callable[[Any, Any], bytes]:
    """Code generator and module → object.

    llvmlite lets one thread at a time into LLVM. LLVM itself generates code for modules of
    different contexts in several threads, so this one function is called outside llvmlite's lock;
    if llvmlite's library is not found in its present form, the lock is kept.
    """
    try:
        ffi = llvm.ffi
        emit: Any = ctypes.CDLL(ffi.lib._name).LLVMPY_TargetMachineEmitToMemory
        emit.restype = ffi.LLVMMemoryBufferRef
        start, size = ffi.lib.LLVMPY_GetBufferStart, ffi.lib.LLVMPY_GetBufferSize
        dispose = ffi.lib.LLVMPY_DisposeMemoryBuffer
    except (AttributeError, OSError):
        return lambda machine, module: bytes(machine.emit_object(module))

    def emitted(machine: Any, module: Any) -> bytes:
        with ffi.OutputString() as problem:
            memory = emit(machine, module, 1, problem)
            if not memory:
                raise RuntimeError(str(problem))
        try:
            return ctypes.string_at(start(memory), size(memory))
        finally:
            dispose(memory)

    return emitted


def defined(source: Source) -> list[str]:
    """The functions of a source that others may call."""
    return [quoted or plain for quoted, plain in _DEFINED.findall(source.text)]


_engines: list[Engine] = []
_engine_lock = hold_over_fork(threading.Lock())


def engine() -> Engine:
    """LLVM, loaded on first use."""
    with _engine_lock:
        if not _engines:
            _engines.append(Engine())
        return _engines[0]


def version() -> bytes:
    """The version file of llvmlite, read without loading LLVM."""
    spec = importlib.util.find_spec("llvmlite")
    if spec is None or spec.origin is None:
        raise InternalError("llvmlite is not installed; it is one of Adjoint's dependencies")
    return Path(spec.origin).with_name("_version.py").read_bytes()
