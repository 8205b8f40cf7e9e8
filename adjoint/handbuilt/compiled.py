"""`Kernel`: a hand-built kernel as a function of arrays and tensors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from adjoint.engine.graph_key import backend_name
from adjoint.engine.program_cache import load_backend
from adjoint.errors import ArgumentError, DeviceError, DTypeError, ShapeError, did_you_mean
from adjoint.handbuilt.kernel import Handmade
from adjoint.handbuilt.record import Type, custom_kernel_op
from adjoint.handbuilt.run import run_arrays
from adjoint.handbuilt.source import LANGUAGES, source_of
from adjoint.ir.uop import UOp
from adjoint.runtime.device import Device
from adjoint.stages import LoopProgram
from adjoint.target import TARGETS
from adjoint.tensor import Tensor
from adjoint.tensor.tensor import lift


class Kernel:
    """A hand-built kernel to call, with one array or tensor per parameter, in order.

    The kernel writes a NumPy array in place. A tensor gives the initial contents of a result, which
    is a new tensor. Results are returned, several as a tuple.
    """

    def __init__(self, program: LoopProgram, device: str | None):
        self.handmade = Handmade(program)
        self.device = _checked_device(device)

    @property
    def name(self) -> str:
        return self.handmade.__name__

    def source(self, language: str) -> str:
        """The kernel in c, opencl, cuda, metal or wgsl."""
        if language not in LANGUAGES:
            near = did_you_mean(str(language), LANGUAGES) or f"one of {', '.join(LANGUAGES)}"
            raise ArgumentError("E2008", f"no language {language!r}", op=self.name, help=near)
        return source_of(LANGUAGES[language], self.handmade.program)

    def __call__(self, *args: Any) -> Any:
        buffers = self.handmade.program.buffers
        check_count(self.name, len(buffers), len(args), "arguments")
        written = [args[i] for i in self.handmade.results]
        in_place = [isinstance(a, np.ndarray) for a in written]
        if any(in_place) and not all(in_place):
            problem = "results are all arrays or all tensors"
            raise ArgumentError("E2001", problem, op=self.name)
        for buffer, value in zip(buffers, args, strict=True):
            self._check(buffer, value)
        if all(in_place):
            self._write(args)
            return written[0] if len(written) == 1 else tuple(written)
        return self._tensors(args)

    def _check(self, buffer: UOp, value: Any) -> None:
        if not isinstance(value, (Tensor, np.ndarray)):
            problem = f"{buffer.arg.name} is {type(value).__name__}, no tensor or array"
            raise ArgumentError("E2001", problem, op=self.name)
        wanted = buffer.arg.dtype
        same = isinstance(value, np.ndarray) and value.dtype == wanted.np
        check_buffer(self.name, buffer, wanted if same else value.dtype, value.shape, value)
        fixed = isinstance(value, np.ndarray) and not value.flags.writeable
        if fixed and buffer.arg.mutable:
            problem = f"{buffer.arg.name} is written, and the array is read-only"
            raise ArgumentError("E2001", problem, op=self.name, help="pass a copy")

    def _write(self, args: Sequence[Any]) -> None:
        plain = [a.numpy() if isinstance(a, Tensor) else a for a in args]
        arrays = self._apart([np.ascontiguousarray(a) for a in plain])
        run_arrays(self.handmade, arrays, self.device)
        for i in self.handmade.results:
            if not np.shares_memory(arrays[i], plain[i]):
                plain[i][...] = arrays[i].reshape(plain[i].shape)

    def _apart(self, arrays: list[Any]) -> list[Any]:
        """Operands with their previous contents, even if they share memory with a result."""
        results = self.handmade.results
        for i, array in enumerate(arrays):
            met = [j for j in results if j != i and np.may_share_memory(array, arrays[j])]
            if met and i in results:
                names = [self.handmade.program.buffers[j].arg.name for j in (i, met[0])]
                problem = f"{names[0]} and {names[1]} are written and share memory"
                raise ArgumentError("E2001", problem, op=self.name, help="pass a copy of one")
            if met:
                arrays[i] = array.copy()
        return arrays

    def _tensors(self, args: Sequence[Any]) -> Any:
        given_ = [a if isinstance(a, Tensor) else Tensor(a, device=self.device) for a in args]
        values = [t if t.device == self.device else t.to(self.device) for t in given_]
        starts = [values[i] for i in self.handmade.results]
        read = [values[i] for i in self.handmade.operands]
        types = [(t.dtype, t.shape) for t in starts]
        return applied_to(self.handmade, [*read, *starts], types, True)

    def __repr__(self) -> str:
        return f"<kernel {self.name} on {self.device}>"


# Those with a backend, and the plain interpreter's.
_DEVICES = [name for name, target in TARGETS.items() if target.backend or name == "REF"]


def _checked_device(device: str | None) -> str:
    name: str = Device.canonicalize(device)
    if name.partition(":")[0] not in _DEVICES:
        problem = f"kernels built by hand run on {', '.join(_DEVICES)}, not on {name}"
        raise DeviceError("E6003", problem, op="compile", help="render it with uops_to_cstyle")
    backend = backend_name(name)
    if backend and not Device.is_host(name):
        load_backend(backend).prepare()  # E6002 here, not at the first call
    return name


# ---- shared with kernels inside a graph


def applied_to(kernel: Handmade, tensors: Sequence[Any], types: Sequence[Type], start: bool) -> Any:
    """The results of a kernel on tensors, as tensors; with `start` the last of them are where its
    results begin."""

    def build(*nodes: UOp) -> Any:
        node = custom_kernel_op(*nodes, kernel=kernel, types=tuple(types), given=start)
        several = isinstance(node.dtype, tuple)
        return tuple(node.part(i) for i in range(len(types))) if several else node

    return lift(build, tuple(tensors), None)


def check_count(op: str, wanted: int, found: int, what: str) -> None:
    """E2007 unless there are as many of them as the kernel takes."""
    if wanted != found:
        raise ArgumentError("E2007", f"takes {wanted} {what}, got {found}", op=op)


def check_buffer(op: str, buffer: UOp, dtype: Any, shape: Sequence[int], value: Any) -> None:
    """Check an argument against its parameter."""
    arg = buffer.arg
    operands = [(arg.name, value)]
    if dtype is not arg.dtype:
        problem = f"{arg.name} is {arg.dtype.name}, got {dtype}"
        raise DTypeError("E2004", problem, op=op, operands=operands, help="cast it first")
    if arg.size is not None and arg.size != prod(shape):
        problem = f"{arg.name} has {arg.size} elements, got shape {list(shape)}"
        raise ShapeError("E3007", problem, op=op, operands=operands)
