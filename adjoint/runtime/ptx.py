"""LLVM IR for an NVIDIA GPU → PTX, by LLVM alone: no toolkit is needed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from adjoint.errors import InternalError
from adjoint.runtime.llvm import engine
from adjoint.stages import Source

# The newest GPUs that LLVM is asked for; code for one runs on those after it.
_KNOWN = {70: "+ptx70", 75: "+ptx70", 80: "+ptx70", 86: "+ptx71", 89: "+ptx78", 90: "+ptx78"}
# Code with instructions of one GPU alone, by the language of its source.
_ALONE = {"nvptx sm_90a": ("sm_90a", "+ptx80")}


def architecture(capability: int) -> int:
    """The known architecture whose code a GPU of this capability runs."""
    older = [known for known in _KNOWN if known <= capability]
    if not older:
        raise InternalError(f"GPUs of compute capability {capability / 10} are not known")
    return max(older)


@lru_cache(maxsize=4)
def _machine(cpu: str, features: str) -> Any:
    llvm = engine().llvm
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple("nvptx64-nvidia-cuda")
    return target.create_target_machine(cpu=cpu, features=features, opt=3)


def _processor(source: Source, capability: int) -> tuple[str, str]:
    """The processor to request from LLVM, and the version of PTX."""
    known = architecture(capability)
    return _ALONE.get(source.language, (f"sm_{known}", _KNOWN[known]))


def is_for_one(source: Source) -> bool:
    """Whether the source has instructions of one GPU alone."""
    return source.language in _ALONE


def ptx_of(source: Source, capability: int) -> str:
    """The source as PTX; LLVM contracts nothing and flushes no subnormals unless the text says
    so.
    """
    llvm = engine()
    try:
        with llvm.lock:
            machine = _machine(*_processor(source, capability))
            with (
                llvm.llvm.create_context() as context,
                llvm.llvm.parse_assembly(source.text, context) as module,
            ):
                module.data_layout = str(machine.target_data)
                module.verify()
                return str(machine.emit_assembly(module))
    except RuntimeError as error:
        raise InternalError(f"kernel {source.name}: LLVM refuses the code: {error}") from None
