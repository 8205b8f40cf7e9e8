"""Programs in NumPy: handles as views of flat memory, ops by the references of their records.

A handle is a buffer and, for every element, its place there. A view rearranges places; a write
changes the buffer, so every handle on it sees it. An op reads the elements and calls the record's
reference. No graph is built, nothing is rewritten or fused: what the interpreter and the compiler
have in common is not in here. Where the model does not know a statement, it takes what REF's
handle shows at that point. What may live here: the model.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from adjoint import Tensor
from adjoint.ir.opdef import OPS
from tests.fuzz.program import Array
from tests.fuzz.source import Whole, execute, made, names, namespace
from tests.fuzz.writer import on

# Records that rearrange elements: their references, applied to places, give the places of a view.
VIEWS = {"reshape", "reshape_as", "flatten", "unflatten", "squeeze", "unsqueeze", "atleast_1d"}
VIEWS |= {"atleast_2d", "atleast_3d", "permute", "transpose", "swapaxes", "movedim", "rearrange"}
VIEWS |= {"flip", "fliplr", "flipud", "rot90", "shrink", "narrow", "diagonal", "split", "chunk"}
VIEWS |= {"tensor_split", "unbind", "detach"}
SEVERAL = {"reshape", "permute", "expand", "flip"}  # take numbers or one tuple of them
SPREAD = {"expand", "expand_as", "unfold"}  # an element may have several places
SHARES = re.compile(rf"\b(?:{'|'.join(sorted(VIEWS | SPREAD))})\(|\[|\.m?T\b")


class NotModelledError(Exception):
    """The model leaves this to REF."""


class Handle:
    """Elements of a buffer, by their places in it."""

    __array_ufunc__ = None

    def __init__(self, buffer: Array, places: Array, spread: bool = False):
        self.buffer, self.places, self.spread = buffer, places, spread

    @staticmethod
    def of(array: Any) -> Handle:
        flat = np.array(array).reshape(-1)
        return Handle(flat, np.arange(flat.size).reshape(np.shape(array)))

    @property
    def array(self) -> Array:
        return self.buffer[self.places]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.places.shape

    @property
    def dtype(self) -> Any:
        return self.buffer.dtype

    def view(self, places: Array, spread: bool = False) -> Handle:
        return Handle(self.buffer, places, spread or self.spread)

    # ---- views

    @property
    def T(self) -> Handle:
        return self.view(np.swapaxes(self.places, 0, 1) if self.places.ndim > 1 else self.places)

    @property
    def mT(self) -> Handle:
        return self.view(np.swapaxes(self.places, -1, -2))

    def __getitem__(self, key: Any) -> Handle:
        plain = _plain(key)
        if _basic(plain):
            return self.view(np.asarray(self.places[plain]))
        return Handle.of(self.array[plain])

    # ---- writes

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, Handle) and value.spread and value.buffer is self.buffer:
            raise NotModelledError
        self._may_write()
        places = self.places[_plain(key)]
        self._store(places, _read(value))

    def _may_write(self) -> None:
        if self.spread:
            raise NotModelledError

    def _store(self, places: Array, value: Any) -> None:
        own = np.broadcast_to(_cast(value, self.dtype), np.shape(places))
        self.buffer[places] = own

    def assign(self, value: Any) -> Handle:
        self._may_write()
        self._store(self.places, _read(value))
        return self

    def _updated(self, op: str, other: Any) -> Handle:
        self._may_write()
        self._store(self.places, _called(op, self, other).array)
        return self

    def __iadd__(self, other: Any) -> Handle:
        return self._updated("add", other)

    def __isub__(self, other: Any) -> Handle:
        return self._updated("sub", other)

    def __imul__(self, other: Any) -> Handle:
        return self._updated("mul", other)

    # ---- ops

    def __add__(self, other: Any) -> Any:
        return _called("add", self, other)

    def __sub__(self, other: Any) -> Any:
        return _called("sub", self, other)

    def __mul__(self, other: Any) -> Any:
        return _called("mul", self, other)

    def __gt__(self, other: Any) -> Any:
        return _called("gt", self, other)

    def realize(self) -> Handle:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in OPS:
            raise NotModelledError(name)
        call = _viewed if name in VIEWS or name in SPREAD else _called
        return lambda *args, **kwargs: call(name, self, *args, **kwargs)


class Methods:
    """`Tensor` of the model: `Tensor.op(x, ...)`."""

    def __getattr__(self, name: str) -> Any:
        if name in ("full", "zeros", "ones", "arange", "eye") or name not in OPS:
            raise NotModelledError(name)
        return lambda first, *args, **kwargs: getattr(first, name)(*args, **kwargs)


def _plain(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(map(_plain, key))
    return key.array if isinstance(key, Handle) else key


def _basic(key: Any) -> bool:
    parts = key if isinstance(key, tuple) else (key,)
    return all(isinstance(p, (int, slice, type(None), type(...))) for p in parts)


def _read(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(map(_read, value))
    return value.array if isinstance(value, Handle) else value


def _cast(value: Any, dtype: Any) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(dtype)


def _called(name: str, *args: Any, **kwargs: Any) -> Any:
    """The record's reference on arrays; half precision is worked out in float32."""
    record = OPS[name]
    if record.takes_functions:
        raise NotModelledError(name)
    given = [_wide(_read(a)) for a in args]
    named = {k: _wide(_read(v)) for k, v in kwargs.items()}
    if record.kind != "primitive" and not all(map(_finite, given)):
        raise NotModelledError(name)  # formulas for the whole may differ from the parts at infinity
    try:
        with np.errstate(all="ignore"):
            found = record.reference(*given, **named)
    except Exception as error:
        raise NotModelledError(name) from error
    if isinstance(found, (tuple, list)):
        return tuple(Handle.of(f) for f in found)
    return Handle.of(found)


def _viewed(name: str, x: Handle, *args: Any, **kwargs: Any) -> Any:
    """Another view of the same buffer."""
    if name in SEVERAL and len(args) > 1:
        args = (args,)
    try:
        found = OPS[name].reference(x.places, *map(_read, args), **kwargs)
    except Exception as error:
        raise NotModelledError(name) from error
    spread = name in SPREAD
    if isinstance(found, (tuple, list)):
        return tuple(x.view(np.asarray(f), spread) for f in found)
    return x.view(np.asarray(found), spread)


def _finite(value: Any) -> bool:
    real = isinstance(value, np.ndarray) and value.dtype.kind in "fc"
    return not real or bool(np.isfinite(value).all())


def _wide(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(map(_wide, value))
    narrow = isinstance(value, np.ndarray) and value.dtype.name in ("float16", "bfloat16")
    return value.astype(np.float32) if narrow else value


def modelled(program: Whole) -> dict[str, Array]:
    """The outputs of the first call, and the inputs after it."""
    with on("REF"):
        tensors = made(program, list(program.inputs))
        space = namespace() | tensors
        own: dict[str, Any] = namespace() | {"Tensor": Methods()}
        for name, tensor in tensors.items():
            text = program.inputs[name].line()
            own[name] = eval(text, own) if names(text) else _taken(tensor)
        for statement in program.statements:
            execute(statement.text, space)
            if not _step(statement.text, own, space) and SHARES.search(statement.text):
                return {}  # whose memory it is in, REF cannot tell
        found = {f"call 0: out[{i}]": own[n].array for i, n in enumerate(program.outputs)}
        if program.writes:
            found |= {
                f"call 0: {n} afterwards": own[n].array
                for n in program.inputs
                if isinstance(own[n], Handle)
            }
    return found


def _step(text: str, own: dict[str, Any], space: dict[str, Any]) -> bool:
    """One statement in the model; what it cannot do is copied from REF's handles."""
    try:
        execute(text, own)
        known = True
    except Exception:  # NotModelledError, or whatever NumPy makes of a call that it does not have
        known = False
    for name in names(text):
        tensor = space.get(name)
        if not isinstance(tensor, Tensor):
            continue
        mine = own.get(name)
        if not known or not isinstance(mine, Handle):
            _overwritten(own, name, tensor)
        elif mine.dtype != tensor.dtype.np:
            own[name] = Handle.of(_cast(mine.array, tensor.dtype.np))
    return known


def _overwritten(own: dict[str, Any], name: str, tensor: Tensor) -> None:
    mine, value = own.get(name), tensor.numpy()
    if isinstance(mine, Handle) and mine.shape == value.shape and not mine.spread:
        mine._store(mine.places, value)
    else:
        own[name] = Handle.of(value)


def _taken(value: Any) -> Any:
    return Handle.of(value.numpy()) if isinstance(value, Tensor) else value
