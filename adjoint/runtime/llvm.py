"""LLVM, loaded when something must be compiled: text to objects, and its own linker.

Elsewhere: what is kept (`compiler`, `cache`).
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import threading
from pathlib import Path
from typing import Any

from adjoint.errors import InternalError
from adjoint.runtime import libc
from adjoint.runtime.libc import hold_over_fork
from adjoint.runtime.processor import processor
from adjoint.stages import Source

_DEFINED = re.compile(r'^define (?!internal)[^@]*@(?:"([^"]*)"|([\w.]+))\(', re.MULTILINE)


class Engine:
    """LLVM for this host. One call at a time: LLVM's tables are shared."""

    def __init__(self) -> None:
        # 70 ms, and not needed when everything is in the cache
        llvm: Any = importlib.import_module("llvmlite.binding")
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.llvm = llvm
        self.lock = hold_over_fork(threading.Lock())  # LLVM must be whole in a child
        target = llvm.Target.from_default_triple()
        cpu, features = self._processor()
        self.machine, self.quick = (
            target.create_target_machine(
                cpu=cpu, features=features, opt=effort, reloc="pic", codemodel="default"
            )
            for effort in (2, 0)
        )
        self.linker: Any = None
        self.libraries = 0

    def _processor(self) -> tuple[str, str]:
        """Name and features; those of the host where code is for the host alone."""
        wanted = processor()
        if wanted.name != "native":
            return wanted.name, wanted.features
        return self.llvm.get_host_cpu_name(), self.llvm.get_host_cpu_features().flatten()

    def compile(self, source: Source, quick: bool = False) -> bytes:
        """The object of a source."""
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

    def load(self, data: bytes, source: Source, given: dict[str, int]) -> Any:
        """By LLVM's own linker, which knows every system's objects. It is shown no symbols but
        those that code may use."""
        with self.lock:
            if self.linker is None:
                self.linker = self.llvm.create_lljit_compiler(self.machine)
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


def defined(source: Source) -> list[str]:
    """The functions of a source that others may call."""
    return [quoted or plain for quoted, plain in _DEFINED.findall(source.text)]


_engines: list[Engine] = []
_engine_lock = hold_over_fork(threading.Lock())


def engine() -> Engine:
    """LLVM, made when first asked for."""
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
