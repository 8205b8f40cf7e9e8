"""The cache of compiled programs on disk: a later process runs a graph without compiling it.

Before: the key of a graph, and the steps and sources that the compiler made from it.
After: one file, named by the hash of the key and of everything else that the steps depend on: the
text of this package, the target, the processor. A later process reads it and continues at
`compile`.

The file keeps a kernel's source and what a launch needs, not its loops; of a step's node it keeps
the op, the attributes and the types of its operands. It does not keep user lines: the graph that
looks the program up supplies them. A key that contains an identity (a function, a buffer) has no
name, and its program is not stored. Elsewhere: what happens after reading (`finish.py`).
"""

from __future__ import annotations

import io
import os
import pickle
import struct
import sys
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adjoint import config
from adjoint.backends.protocol import Backend
from adjoint.ir.arg import Arg, Complex, Real, Varying
from adjoint.ir.dtype import DType
from adjoint.ir.effect import Effect
from adjoint.ir.exactness import settings
from adjoint.ir.function import Function, UniqueName
from adjoint.ir.kernel_kind import CONSTANT, STORED, Identity
from adjoint.ir.opdef import OPS, OpDef, is_shipped
from adjoint.ir.origin import LOADED, PACKAGE, Site, enter_origin, leave_origin
from adjoint.ir.uop import UOp, make_node, toposort
from adjoint.ops.leaves import InputArg
from adjoint.runtime import cache as disk
from adjoint.stages import LoopProgram, Schedule, Source

_FAST = 1  # of zlib's levels: a quarter of the size for a tenth of the time


class StoredProgram(NamedTuple):
    """The stored data: steps, sources of kernels, and for each root whether it is an input, and
    which input or output it is.
    """

    schedule: Schedule
    sources: dict[LoopProgram, Source]
    picks: tuple[tuple[bool, int] | None, ...]


def read(name: str, sites: Sequence[Site | None]) -> StoredProgram | None:
    """The program of that name, if there is one; its nodes come from these lines."""
    data = disk.read(name)
    if data is None:
        return None
    try:
        found = _Reader(zlib.decompress(data), sites).load()
    except Exception:  # whatever a file says that is not what was written
        found = None
    if isinstance(found, StoredProgram):
        return found
    disk.discard(name)
    return None


def write(name: str, program: StoredProgram, sites: Sequence[Site | None]) -> None:
    """Keep a program, if all of it can be; `sites` are those of its graph."""
    file = io.BytesIO()
    try:
        _Writer(file, sites).dump(program)
    except (UnnamedError, pickle.PicklingError, AttributeError, TypeError):
        return
    disk.write(name, zlib.compress(file.getvalue(), _FAST))


# ---- names


class UnnamedError(Exception):
    """A key contains an identity, so it has no name."""


def name_of(
    structure: Any, values: Sequence[Any], lifted: tuple[int, ...], backend: Backend
) -> str | None:
    """The name under which the program of a graph is kept; None if it is not.

    The `lifted` constants are arguments of the program, whatever their values are.
    """
    version = _version()
    if not version or not config.CACHE.value() or config.SHOW.value() or config.VERIFY.value():
        return None
    try:
        inside = tuple(None if i in lifted else value for i, value in enumerate(values))
        plain = [_plain(part) for part in (structure, inside, lifted)]
    except UnnamedError:
        return None
    digest = sha256(b"program\0" + version + backend.machine())
    about = (config.TUNE.value(), settings())
    digest.update(repr((backend.language, backend.target, about, plain)).encode())
    return digest.hexdigest()


_AS_THEY_ARE = frozenset({int, str, bool, type(None)})


def _plain(value: Any) -> Any:
    """A part of a key in a form whose `repr` is equal exactly if the part is."""
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if kind is tuple:
        return [_plain(item) for item in value]
    if kind is OpDef and is_shipped(value):
        return ("op", value.name)
    if kind is DType:
        return ("dtype", value.name)
    if kind in (Real, float):
        return ("real", struct.pack("d", value))
    if kind in (Complex, complex):
        return ("complex", struct.pack("dd", value.real, value.imag))
    if isinstance(value, Arg) and not isinstance(value, Varying):
        return (kind.__name__, [_plain(item) for item in value])
    raise UnnamedError


@cache
def _version() -> bytes:
    """A hash of the state of this package's files, or nothing if they are not files.

    It uses sizes and times; and contents if an installer gave all files the same time. If a package
    has changed since it was loaded, the files do not say what runs: then nothing is stored.
    """
    listed = [os.path.join(folder, name) for folder, _, names in os.walk(PACKAGE) for name in names]
    files = sorted(name for name in listed if name.endswith(".py"))
    try:
        states = [(name, os.stat(name)) for name in files]
        found = [(name, state.st_size, state.st_mtime_ns) for name, state in states]
        if max([state.st_ctime_ns for _, state in states], default=0) >= LOADED:
            return b""
        if len({time for _, _, time in found}) == 1:
            found = [(name, size, _contents(name)) for name, size, _ in found]
    except OSError:
        return b""
    text = f"{sys.version} {np.__version__} {found}"
    return sha256(text.encode()).digest() if found else b""


def _contents(file: str) -> int:
    return int.from_bytes(sha256(Path(file).read_bytes()).digest())


def sites_of(roots: Iterable[UOp]) -> list[Site | None]:
    """Where the nodes of a graph come from, and those of its functions: equal graphs have equally
    many, in the same order. Constants do not count: one is shared by all lines that have it."""
    found: list[Site | None] = []
    for node in toposort(roots, stop=lambda n: n.realized is not None):
        if type(node.op.kernel) is not Identity and node.op.kernel is not CONSTANT:
            found.append(node.raw_origin)
        if node.op.takes_functions:
            for function in _functions_of(node):
                found += sites_of(function.outputs)
    return found


def _functions_of(node: UOp) -> list[Function]:
    bodies = [getattr(value, "body", value) for value in node.arg]
    return [value for value in bodies if isinstance(value, Function)]


# ---- files


class _Writer(pickle.Pickler):
    """Writes nodes without their sources, kernels without their loops, lines by their number."""

    def __init__(self, file: Any, sites: Sequence[Site | None]):
        super().__init__(file, protocol=5)
        self.numbers = {site: i for i, site in reversed(list(enumerate(sites)))}

    def persistent_id(self, value: Any) -> Any:
        return (self.numbers.get(value),) if type(value) is Site else None

    def reducer_override(self, value: Any) -> Any:
        if type(value) is UOp:
            if value.op.kernel is STORED:
                raise UnnamedError
            attributes = None if value.arg is None else tuple(value.arg)
            operands = tuple((s.shape, s.dtype) for s in value.src)
            kind = (value.shape, value.dtype, value.raw_origin)
            return _node, (value.op, attributes, operands, *kind)
        if type(value) is LoopProgram:
            return _launched, tuple(getattr(value, name) for name in _OF_A_LAUNCH)
        if type(value) is Function:
            return _function, tuple(
                tuple((n.shape, n.dtype) for n in nodes) for nodes in (value.inputs, value.outputs)
            )
        if isinstance(value, Effect) or (isinstance(value, Schedule) and value.constants):
            raise UnnamedError
        return NotImplemented


class _Reader(pickle.Unpickler):
    def __init__(self, data: bytes, sites: Sequence[Site | None]):
        super().__init__(io.BytesIO(data))
        self.sites = sites

    def persistent_load(self, number: Any) -> Any:
        return None if number[0] is None else self.sites[number[0]]


def _node(
    op: OpDef, attributes: Any, operands: Any, shape: Any, dtype: Any, site: Site | None
) -> UOp:
    """A node over operands of the types that it had."""
    token = enter_origin(site)
    try:
        arg = attributes if attributes is None or op.arg is None else op.arg(*attributes)
        return make_node(op, _stand_ins(operands), arg, shape, dtype)
    finally:
        leave_origin(token)


def _stand_ins(types: Any) -> tuple[UOp, ...]:
    """Nodes of these types, each in no other graph."""
    pairs = [(InputArg(UniqueName("kept"), *kind, None), kind) for kind in types]
    return tuple(make_node(OPS["input"], (), arg, *kind) for arg, kind in pairs)


def _function(inputs: Any, outputs: Any) -> Function:
    """A function of these types, equal to no other; its schedule defines what it computes."""
    return Function(_stand_ins(inputs), _stand_ins(outputs))


_OF_A_LAUNCH = (
    *("name", "buffers", "variables", "grid", "cost"),
    *("parameters", "in_place", "most", "joint"),
)


def _launched(name: str, buffers: Any, variables: Any, grid: Any, cost: int, *rest: Any) -> Any:
    """A kernel as a launch sees it, without its loops: reading them fails."""
    parameters, in_place, most, joint = rest
    gone: Any = None
    loops = LoopProgram(name, buffers, variables, gone, grid, cost)
    return replace(loops, parameters=parameters, in_place=in_place, most=most, joint=joint)
