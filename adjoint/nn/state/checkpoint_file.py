"""What a checkpoint file says, checked."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from adjoint.errors import AdjointError, FileError, did_you_mean
from adjoint.nn.state.lazy import lazy_tensor
from adjoint.nn.state.plain import Decoder
from adjoint.nn.state.safetensors import ELEMENTS
from adjoint.nn.state.walk import Walked
from adjoint.tensor import Tensor

Array = np.ndarray[Any, Any]
STATE, SUM = "adjoint.checkpoint", "adjoint.checksum"  # in the metadata
VERSION = 1


def crc(array: Array) -> int:
    """The checksum of the bytes of a tensor."""
    raw: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return zlib.crc32(raw)


def checksum(text: str, table: Mapping[str, tuple[str, tuple[int, ...]]]) -> str:
    """Of everything in the file but the bytes of the tensors, which have their own."""
    rows = sorted((name, code, list(shape)) for name, (code, shape) in table.items())
    return f"{zlib.crc32(json.dumps([text, rows]).encode()):08x}"


def _packed(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Three matrices, or three vectors, as one."""
    return (3 * shape[1], *shape[2:]) if len(shape) > 1 and shape[0] == 3 else shape


class Found:
    """A checkpoint that was opened: its header is checked, its tensors when they are read."""

    def __init__(self, contents: Any, op: str):
        self._op, self._contents = op, contents  # of a file, or of a folder
        state = self._state()
        self.step = self._part(state, "step", int)
        self._objects = self._part(state, "objects", dict)
        aliases = self._part(state, "aliases", dict)
        self._sums = self._part(state, "crc32", dict)
        self._extra = state.get("extra")
        self.random = self._random(self._part(state, "random", dict))
        self._names = Walked(aliases=self._texts(aliases))
        if self._sums.keys() != self._contents.entries.keys():
            raise self._contents.damaged("checksums and tensors have different names", STATE)

    @property
    def objects(self) -> tuple[str, ...]:
        """The names of what was saved."""
        return tuple(self._objects)

    # ---- what is known after opening

    def _state(self) -> dict[str, Any]:
        contents = self._contents
        text = contents.metadata.get(STATE)
        if text is None:
            fix = "safe_load(path) and load_state_dict(obj, state) take any such file"
            raise contents.damaged("a safetensors file, but no checkpoint", STATE, help=fix)
        table = {name: (e.code, e.shape) for name, e in contents.entries.items()}
        if contents.metadata.get(SUM) != checksum(text, table):
            raise contents.damaged("the checksum of the header differs", SUM)
        try:
            state = json.loads(text)
        except (ValueError, RecursionError):
            raise contents.damaged("the state is not JSON", STATE) from None
        version = state.get("version") if isinstance(state, dict) else None
        if version != VERSION:
            problem = f"version {version!r} of checkpoints is unknown; this is {VERSION}"
            raise contents.damaged(problem, STATE, help="read it with a newer Adjoint")
        return state

    def _part(self, state: dict[str, Any], name: str, kind: type) -> Any:
        if type(state.get(name)) is not kind:
            raise self._contents.damaged(f"{name} is missing, or not {kind.__name__}", STATE)
        return state[name]

    def _random(self, state: dict[str, Any]) -> tuple[int, dict[str, int]]:
        seed, drawn = self._part(state, "seed", int), self._part(state, "drawn", dict)
        if not all(type(count) is int and count >= 0 for count in drawn.values()):
            raise self._contents.damaged("the random state is made of counts", STATE)
        return seed, drawn

    def _texts(self, aliases: dict[str, Any]) -> dict[str, str]:
        if not all(isinstance(name, str) for name in aliases.values()):
            raise self._contents.damaged("aliases are names", STATE)
        return aliases

    # ---- objects

    def check_names(self, names: Iterable[str]) -> None:
        """E9002 unless all of them were saved."""
        for name in names:
            if name not in self._objects:
                held = ", ".join(self._objects) or "none"
                problem = f"{self._contents.file.path} has no object {name!r}; it has {held}"
                near = did_you_mean(name, self._objects)
                raise FileError("E9002", problem, op=self._op, help=near)

    def has_own(self, name: str) -> bool:
        """Whether an object was saved by its own `state_dict()`."""
        return isinstance(self._objects[name], dict) and "own" in self._objects[name]

    def own_state(self, name: str) -> Any:
        """What an object's `state_dict()` gave."""
        return self._decoded(self._objects[name]["own"])

    def extra(self) -> Any:
        """What the user added."""
        return self._decoded(self._extra)

    def _decoded(self, value: Any) -> Any:
        try:
            return Decoder(self._array).decode(value)
        except AdjointError:
            raise
        except (ValueError, RecursionError) as error:
            raise self._contents.damaged(f"the state cannot be read: {error}", STATE) from None

    def state_of(self, walked: Walked, names: Collection[str]) -> dict[str, Tensor]:
        """The tensors saved for these objects, and those that `walked` calls by other names."""
        inside = [n for n in self._contents.entries if n.partition(".")[0] in names]
        state = {name: self._tensor(name, walked.tensors.get(name)) for name in inside}
        for name in walked.tensors:
            first = self._names.first_name(name)
            if name not in state and first in self._contents.entries:
                state[name] = self._tensor(first, walked.tensors[name])
        return state

    def _tensor(self, name: str, wanted: Tensor | None = None) -> Tensor:
        """A tensor of the file. Matrices of an attention are one or three: see its `unpack`."""
        entry = self._contents.entries[name]
        kind, shape = ELEMENTS[entry.code].dtype, entry.shape
        named = name.endswith(("in_proj_weight", "in_proj_bias")) or ".slots." in name
        if wanted is not None and named and _packed(wanted.shape) == _packed(shape):
            shape = wanted.shape
        return lazy_tensor(lambda: self._array(name).reshape(shape), kind, shape)

    def _array(self, name: str) -> Array:
        if name not in self._contents.entries:
            raise self._contents.damaged(f"there is no tensor {name!r}", STATE)
        wanted = self._sums[name]  # None: pieces of it have their own
        if wanted is not None and crc(self._contents.raw(name)) != wanted:
            start = self._contents.entries[name].start
            raise self._contents.file.damaged("the checksum differs", start, name)
        return self._contents.array(name)
