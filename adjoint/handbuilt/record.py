"""custom_kernel: the record and the door of kernels built by hand.

What they need of the compiler is `handbuilt/call.py`, loaded with the first of them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from adjoint.ir.arg import Arg
from adjoint.ir.derivative import NotDifferentiable
from adjoint.ir.dtype import DType
from adjoint.ir.kernel_kind import HandBuilt
from adjoint.ir.opdef import OpDef, internal
from adjoint.ir.uop import UOp
from adjoint.tensor import Tensor

Type = tuple[DType, tuple[int, ...]]
VjpRule = Callable[[Any, Any, Any], Any]


class KernelArg(Arg):
    kernel: Any  # a `Handmade`
    types: tuple[Type, ...]  # of the results
    given: bool = False  # whether the last operands are what the results start from


def _later(name: str) -> Callable[..., Any]:
    def loaded(*args: Any, **kwargs: Any) -> Any:
        return getattr(import_module("adjoint.handbuilt.call"), name)(*args, **kwargs)

    return loaded


custom_kernel_op: OpDef = internal(
    "custom_kernel",
    "The results of a kernel that was built by hand.",
    "primitive",
    call=lambda *x, kernel, types, given=False: UOp(
        custom_kernel_op, x, KernelArg(kernel, types, given)
    ),
    infer=_later("type_of"),
    arg=KernelArg,
    ad=NotDifferentiable("a kernel built by hand has a derivative only if vjp_rule gives it"),
    reference=_later("evaluated"),
    batch=_later("batched"),
    kernel=HandBuilt(),
)


def custom_kernel(kernel: Any, *inputs: Any, out: Any, vjp_rule: VjpRule | None = None) -> Any:
    """The results of a hand-built kernel, as lazy tensors.

    `inputs` are read-only operands, in the order of the kernel's parameters; `out` gives shape and
    dtype of its result (a list of them if there are several), which starts as zeros.
    `vjp_rule(primals, cotangent, output)` returns one cotangent, or None, per input.
    """
    return _later("called")(kernel, inputs, out, vjp_rule)


Tensor.custom_kernel = staticmethod(custom_kernel)
