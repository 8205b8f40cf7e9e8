"""cuDNN, NVIDIA's library of convolutions, by its C interface of descriptors.

A convolution is a graph of one operation. The library lists engines for it, those that it expects
to be fastest first; a plan is a prepared engine; a variant pack holds the addresses of the tensors.
What may live here: its calls. What may not: which convolutions it gets.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator, Sequence
from ctypes import POINTER, byref, c_double, c_float, c_int, c_int64, c_void_p
from functools import lru_cache
from typing import Any, NamedTuple

from adjoint.errors import DeviceError
from adjoint.runtime.nvidia import NvidiaLibrary

_H, _P, _I = POINTER(c_void_p), c_void_p, c_int
CUDNN = NvidiaLibrary(
    "cuDNN",
    ("libcudnn.so.9", "cudnn64_9.dll"),
    {
        "cudnnCreate": (_H,),
        "cudnnSetStream": (_P, _P),
        "cudnnBackendCreateDescriptor": (_I, _H),
        "cudnnBackendDestroyDescriptor": (_P,),
        "cudnnBackendSetAttribute": (_P, _I, _I, c_int64, _P),
        "cudnnBackendGetAttribute": (_P, _I, _I, c_int64, POINTER(c_int64), _P),
        "cudnnBackendFinalize": (_P,),
        "cudnnBackendExecute": (_P, _P, _P),
    },
)

# Kinds of descriptors and of values, as the library numbers them.
_CONVOLUTION, _ENGINE, _CONFIGURATION, _CHOICE, _PLAN, _GRAPH, _PACK, _TENSOR = (
    *(1, 2, 3, 4, 5, 15, 16, 17),
)
_HANDLE, _DTYPE, _INT64, _FLOAT, _DOUBLE, _ADDRESS, _MODE, _HEURISTIC, _NOTE, _DESCRIPTOR = (
    *(0, 1, 3, 4, 5, 6, 7, 8, 11, 15),
)
_KINDS = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 9}
DTYPES = tuple(_KINDS)
_CROSS_CORRELATION = 1
_HEURISTICS = (3, 2)  # by a decision tree, then all that is known to work
_TENSOR_CORES, _NARROWED, _NARROW_SUMS, _FOURIER, _VARIES = 0, 1, 2, 3, 4  # notes of an engine
_WINOGRAD = (5, 6, 7, 8)
# Engines that are never taken: those that round operands or partial sums of 16 bits, or that mix
# elements no product has, so that an infinity would reach other results.
_REFUSED = {_NARROWED, _NARROW_SUMS, _FOURIER, *_WINOGRAD}
_NOTES = 16  # that an engine may have
_ALIGNMENT = 16  # bytes: every value begins at a multiple
WORKSPACE = 1 << 30  # bytes that a convolution may use


class Form(NamedTuple):
    """A convolution: shapes with channels second, at least two axes of places."""

    dtype: str
    kind: str
    picture: tuple[int, ...]
    weights: tuple[int, ...]
    out: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    channels_last: bool
    tf32: bool = False  # operands of float32 may be rounded to 10 bits
    ordered: bool = True  # the same bits from run to run


# The operation, and its attributes: factors, the convolution, picture, weights, result.
_OPERATIONS = {
    "forward": (10, (700, 701, 702, 704, 703, 705)),
    "picture": (12, (706, 707, 708, 710, 709, 711)),
    "weights": (11, (712, 713, 714, 716, 715, 717)),
}


@lru_cache(maxsize=1)
def _handle() -> c_void_p:
    return CUDNN.made("cudnnCreate")


class _Thing:
    """A descriptor; it is given up with its last holder."""

    __slots__ = ("held", "value")

    def __init__(self, kind: int, *held: object):
        self.value, self.held = c_void_p(), held
        CUDNN.call("cudnnBackendCreateDescriptor", kind, byref(self.value))

    def set(self, name: int, kind: int, *values: Any) -> None:
        """Give it an attribute."""
        array = (_CTYPES[kind] * len(values))(*values)
        place = ctypes.cast(array, c_void_p)
        CUDNN.call("cudnnBackendSetAttribute", self.value, name, kind, len(values), place)

    def finish(self) -> _Thing:
        """What was given is all."""
        CUDNN.call("cudnnBackendFinalize", self.value)
        return self

    def get(self, name: int, kind: int, array: Any, most: int) -> int:
        """Read an attribute into an array; how many values there are."""
        count = c_int64()
        place = ctypes.cast(array, c_void_p) if most else None
        request = (self.value, name, kind, most, byref(count), place)
        CUDNN.call("cudnnBackendGetAttribute", *request)
        return count.value

    def __del__(self) -> None:
        if not sys.is_finalizing() and CUDNN.loaded is not None:
            CUDNN.loaded.cudnnBackendDestroyDescriptor(self.value)


_CTYPES: dict[int, Any] = {
    **dict.fromkeys((_HANDLE, _ADDRESS, _DESCRIPTOR), c_void_p),
    **dict.fromkeys((_DTYPE, _MODE, _HEURISTIC, _NOTE), c_int),
    _INT64: c_int64,
    _FLOAT: c_float,
    _DOUBLE: c_double,
}


class Convolver:
    """One convolution; made once, run again and again."""

    def __init__(self, form: Form):
        self._graph = _graph(form)
        self._plan, self.workspace = self._chosen(form)

    def _chosen(self, form: Form) -> tuple[_Thing, int]:
        refused = _refused(form)
        for way in ways(self._graph):
            if refused.isdisjoint(notes_of(way)):
                found = plan_of(way)
                if found is not None and found[1] <= WORKSPACE:
                    return found
        problem = f"cuDNN has no engine that is allowed to compute {form}"
        fix = "allow others, with deterministic(False) or allow_tf32(), or use device='CPU'"
        raise DeviceError("E6003", problem, op="convolution", help=fix)

    def launcher(self, workspace: int, stream: c_void_p) -> Callable[[int, int, int], None]:
        """What launches it on a stream, given the addresses of picture, weights and result."""
        packs: dict[tuple[int, ...], _Thing] = {}  # the last one: addresses seldom change

        def launch(*addresses: int) -> None:
            pack = packs.get(addresses)
            if pack is None:
                packs.clear()
                pack = packs[addresses] = _pack(addresses, workspace)
            CUDNN.call("cudnnSetStream", _handle(), stream)
            CUDNN.call("cudnnBackendExecute", _handle(), self._plan.value, pack.value)

        return launch


def _refused(form: Form) -> set[int]:
    """Notes of engines that are not taken. Tensor cores round float32."""
    rounds = form.dtype == "float32" and not form.tf32
    return {*_REFUSED, *((_TENSOR_CORES,) if rounds else ()), *((_VARIES,) if form.ordered else ())}


def _graph(form: Form) -> _Thing:
    """The graph of a convolution."""
    number, (one, zero, how, *places) = _OPERATIONS[form.kind]
    kind, wide = _KINDS[form.dtype], form.dtype == "float64"
    shapes = enumerate((form.picture, form.weights, form.out))
    tensors = [_tensor(kind, i, shape, form.channels_last) for i, shape in shapes]
    convolution = _convolution(form)
    operation = _Thing(number, convolution, *tensors)
    factor = _DOUBLE if wide else _FLOAT
    operation.set(one, factor, 1.0)
    operation.set(zero, factor, 0.0)
    operation.set(how, _DESCRIPTOR, convolution.value)
    for place, tensor in zip(places, tensors, strict=True):
        operation.set(place, _DESCRIPTOR, tensor.value)
    graph = _Thing(_GRAPH, operation.finish())
    graph.set(800, _HANDLE, _handle())
    graph.set(801, _DESCRIPTOR, operation.value)
    return graph.finish()


def _tensor(kind: int, number: int, shape: Sequence[int], channels_last: bool) -> _Thing:
    tensor = _Thing(_TENSOR)
    tensor.set(901, _DTYPE, kind)
    tensor.set(902, _INT64, *shape)
    tensor.set(903, _INT64, *_strides(shape, channels_last))
    tensor.set(906, _INT64, number)
    tensor.set(900, _INT64, _ALIGNMENT)
    return tensor.finish()


def _strides(shape: Sequence[int], channels_last: bool) -> list[int]:
    rank = len(shape)
    order = (0, *range(2, rank), 1) if channels_last else tuple(range(rank))
    strides, run = [0] * rank, 1
    for axis in reversed(order):
        strides[axis], run = run, run * shape[axis]
    return strides


def _convolution(form: Form) -> _Thing:
    found = _Thing(_CONVOLUTION)
    found.set(100, _DTYPE, _KINDS["float64" if form.dtype == "float64" else "float32"])
    found.set(101, _MODE, _CROSS_CORRELATION)
    found.set(106, _INT64, len(form.stride))
    rows = (form.dilation, form.stride, form.padding, form.padding)
    for name, values in zip((102, 103, 104, 105), rows, strict=True):
        found.set(name, _INT64, *values)
    return found.finish()


# ---- ways to compute a graph


def ways(graph: _Thing) -> Iterator[_Thing]:
    """Engines with their settings, those that are thought the soonest first."""
    for heuristic in _HEURISTICS:
        choice = _Thing(_CHOICE, graph)
        choice.set(201, _DESCRIPTOR, graph.value)
        choice.set(200, _HEURISTIC, heuristic)
        choice.finish()
        most = choice.get(202, _DESCRIPTOR, None, 0)
        found = [_Thing(_CONFIGURATION, choice) for _ in range(most)]
        array = (c_void_p * most)(*[way.value for way in found])
        yield from found[: choice.get(202, _DESCRIPTOR, array, most) if most else 0]


def notes_of(way: _Thing) -> set[int]:
    """What is to be said of the numbers that an engine gives."""
    engine, notes = _Thing(_ENGINE), (c_int * _NOTES)()
    way.get(300, _DESCRIPTOR, (c_void_p * 1)(engine.value), 1)
    return set(notes[: engine.get(1303, _NOTE, notes, _NOTES)])


def plan_of(way: _Thing) -> tuple[_Thing, int] | None:
    """An engine made ready, and the bytes that it needs beside its operands; None if it cannot."""
    plan, size = _Thing(_PLAN, way), (c_int64 * 1)()
    plan.set(400, _HANDLE, _handle())
    plan.set(401, _DESCRIPTOR, way.value)
    if CUDNN.loaded.cudnnBackendFinalize(plan.value):
        return None
    plan.get(402, _INT64, size, 1)
    return plan, size[0]


def _pack(addresses: Sequence[int], workspace: int) -> _Thing:
    pack = _Thing(_PACK)
    pack.set(1000, _INT64, *range(len(addresses)))
    pack.set(1001, _ADDRESS, *addresses)
    pack.set(1003, _ADDRESS, workspace)
    return pack.finish()
