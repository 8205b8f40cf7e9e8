"""Core modules: the static view of a graph. Parsed, verified, canonical, differentiated, printed.

In: text, or a traced function (`transforms/capture.py`). Out: a `Module`, its gradient module, text
that is the same bytes every time. May import `ir`, `ops` and `autodiff`; never a tensor, a device
or the engine.
"""

from adjoint.module import extension as _extension  # registers the opcodes of core+g
from adjoint.module.canonical import canonicalise
from adjoint.module.gradient import GradientOptions, GradientResult, differentiate
from adjoint.module.instruction import Instruction, Span, TensorType, ValueId
from adjoint.module.module import Module
from adjoint.module.parse import parse
from adjoint.module.verify import verify

__all__ = [
    "GradientOptions",
    "GradientResult",
    "Instruction",
    "Module",
    "Span",
    "TensorType",
    "ValueId",
    "canonicalise",
    "differentiate",
    "parse",
    "verify",
]
del _extension
