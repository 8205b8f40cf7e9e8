"""CUDA graphs: recorded once, launched repeatedly by one call.

A graph has the addresses that its launches had; those of a kernel can be changed. What may live
here: graphs as the driver has them. What may not: which launches form one (`backends/cuda`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

from adjoint.errors import InternalError


class KernelNode(ctypes.Structure):
    """A launch of a kernel, as the driver lays it out."""

    _fields_ = (
        ("function", c_void_p),
        ("grid", c_uint * 3),
        ("block", c_uint * 3),
        ("shared", c_uint),
        ("parameters", c_void_p),
        ("extra", c_void_p),
        ("kernel", c_void_p),
        ("context", c_void_p),
    )
    keep: Any  # the array of the places of arguments

    @classmethod
    def of(cls, function: Any, geometry: Sequence[int], parameters: Any) -> KernelNode:
        """So many blocks, threads of each, bytes of shared memory; where its arguments lie."""
        blocks, threads, shared = geometry
        grid, block = (c_uint * 3)(blocks, 1, 1), (c_uint * 3)(threads, 1, 1)
        made = cls(function, grid, block, shared, ctypes.addressof(parameters))
        made.keep = parameters
        return made


def last_node(call: Any, stream: c_void_p) -> int:
    """The node that was recorded last."""
    status, number, graph = c_int(), c_uint64(), c_void_p()
    nodes, count = ctypes.POINTER(c_void_p)(), c_size_t()
    places = byref(number), byref(graph), byref(nodes), byref(count)
    call.cuStreamGetCaptureInfo_v2(stream, byref(status), *places)
    return (nodes[0] or 0) if count.value else 0


class Graph:
    """Launches that are one call; `nodes` are the last ones of each step that was recorded."""

    __slots__ = ("_call", "_executable", "_gpu", "_graph", "_launch", "_set", "nodes")

    def __init__(self, gpu: Any, call: Any, graph: c_void_p, nodes: Sequence[int]):
        self._gpu, self._call, self._graph, self.nodes = gpu, call, graph, nodes
        self._executable = c_void_p()
        if len({0, *nodes}) <= len(nodes):
            raise InternalError("a step of the graph launched nothing")
        call.cuGraphInstantiateWithFlags(byref(self._executable), graph, 0)
        self._launch = call.raw("cuGraphLaunch")
        self._set = call.cuGraphExecKernelNodeSetParams_v2

    def launch(self) -> None:
        """All of it, on the stream of the GPU."""
        code = self._launch(self._executable, self._gpu.stream)
        if code:
            raise self._call.error("cuGraphLaunch", code)

    def set_kernel(self, number: int, node: KernelNode) -> None:
        """A step of the graph, a kernel, with the arguments that its places hold now."""
        self._set(self._executable, self.nodes[number], byref(node))

    def __del__(self) -> None:
        self._gpu.drop("cuGraphExecDestroy", self._executable)
        self._gpu.drop("cuGraphDestroy", self._graph)
