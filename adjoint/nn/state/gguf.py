"""The GGUF format: typed metadata, a table of tensors, their bytes, many of them quantised."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np

from adjoint.ir.dtype import DType, dtypes
from adjoint.nn.state.elements import byte_count, element
from adjoint.nn.state.lazy import lazy_tensor
from adjoint.nn.state.mapped import MappedFile
from adjoint.nn.state.quantised import FORMATS
from adjoint.tensor import Tensor

Array = np.ndarray[Any, Any]
_NUMBERS = {  # types of metadata, beside 7 bool, 8 text and 9 array
    0: "u1",
    1: "i1",
    2: "<u2",
    3: "<i2",
    4: "<u4",
    5: "<i4",
    6: "<f4",
    10: "<u8",
    11: "<i8",
    12: "<f8",
}
_BOOL, _TEXT, _ARRAY = 7, 8, 9
_NESTED = 8  # arrays in arrays
_KINDS = {  # types of tensors, by number
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    6: "Q5_0",
    7: "Q5_1",
    8: "Q8_0",
    9: "Q8_1",
    10: "Q2_K",
    11: "Q3_K",
    12: "Q4_K",
    13: "Q5_K",
    14: "Q6_K",
    15: "Q8_K",
    16: "IQ2_XXS",
    17: "IQ2_XS",
    18: "IQ3_XXS",
    19: "IQ1_S",
    20: "IQ4_NL",
    21: "IQ3_S",
    22: "IQ2_S",
    23: "IQ4_XS",
    24: "I8",
    25: "I16",
    26: "I32",
    27: "I64",
    28: "F64",
    29: "IQ1_M",
    30: "BF16",
    34: "TQ1_0",
    35: "TQ2_0",
    39: "MXFP4",
}
_PLAIN = {
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F64": "float64",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
}


class Gguf(NamedTuple):
    """What a GGUF file holds. Arrays of numbers among the metadata are NumPy arrays."""

    metadata: dict[str, Any]
    tensors: dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class _Info:
    """A tensor of the table; `place` is counted from the start of the data."""

    name: str
    kind: str
    shape: tuple[int, ...]
    place: int
    size: int
    at: int  # where the table has it


def gguf_load(path: str | os.PathLike[str], device: str | tuple[str, ...] | None = None) -> Gguf:
    """The metadata and the tensors of a GGUF file (versions 2 and 3): `metadata, tensors = ...`.

    A tensor is read when it is used, and then, if it is quantised, turned into float32. A damaged
    file, or a type of tensor that is not known, is E9001.
    """
    return _GgufReader(MappedFile(path, "gguf_load"), device).load()


class _GgufReader:
    """One file, read from front to back."""

    def __init__(self, file: MappedFile, device: str | tuple[str, ...] | None):
        self.file, self.device, self.at = file, device, 0

    def load(self) -> Gguf:
        tensors, entries = self._start()
        metadata: dict[str, Any] = {}
        for _ in range(entries):
            at, key = self.at, self._text("a key")
            if key in metadata:
                raise self.file.damaged("the key is there twice", at, key)
            metadata[key] = self._value(self._number("<I"), key, 0)
        step = self._alignment(metadata)
        infos = [self._info(step) for _ in range(tensors)]
        start = -(-self.at // step) * step
        self._check_places(infos, start)
        return Gguf(metadata, {info.name: self._tensor(info, start) for info in infos})

    def _start(self) -> tuple[int, int]:
        if self._take(4, "the start") != b"GGUF":
            raise self.file.damaged("the file does not begin with GGUF", 0)
        version = self._number("<I")
        if version not in (2, 3):
            swapped = int.from_bytes(version.to_bytes(4, "big"), "little") in (2, 3)
            what = "a big-endian file" if swapped else f"version {version}"
            raise self.file.damaged(f"{what}; versions 2 and 3, little-endian, are known", 4)
        tensors, entries = self._number("<Q"), self._number("<Q")
        # A tensor takes 24 bytes and an entry 13 at least: more than fit are not looked for.
        if tensors * 24 + entries * 13 > self.file.size - self.at:
            problem = f"{tensors} tensors and {entries} entries do not fit into the file"
            raise self.file.damaged(problem, 8)
        return tensors, entries

    # ---- metadata

    def _take(self, count: int, what: str, key: str = "") -> bytes:
        raw = self.file.read(self.at, count, what, key)
        self.at += count
        return raw

    def _number(self, kind: str) -> Any:
        return struct.unpack(kind, self._take(struct.calcsize(kind), "a number"))[0]

    def _text(self, what: str, key: str = "") -> str:
        at, length = self.at, self._number("<Q")
        raw = self._take(length, what, key)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.file.damaged(f"{what} is not UTF-8", at + 8 + error.start, key) from None

    def _value(self, kind: int, key: str, depth: int) -> Any:
        if kind == _ARRAY:
            return self._array(key, depth + 1)
        if kind == _TEXT:
            return self._text("a text", key)
        if kind == _BOOL:
            return bool(self._several(_BOOL, 1, key)[0])
        return self._several(kind, 1, key)[0].item()

    def _array(self, key: str, depth: int) -> Any:
        at, kind, count = self.at, self._number("<I"), self._number("<Q")
        if kind not in (_ARRAY, _TEXT):
            return self._several(kind, count, key)
        least = 8 if kind == _TEXT else 12
        if depth > _NESTED or count * least > self.file.size - self.at:
            raise self.file.damaged(f"an array of {count} does not fit", at, key)
        return [self._value(kind, key, depth) for _ in range(count)]

    def _several(self, kind: int, count: int, key: str) -> Array:
        at = self.at
        if kind not in _NUMBERS and kind != _BOOL:
            raise self.file.damaged(f"unknown type {kind} of metadata", at, key)
        dtype = np.dtype(_NUMBERS.get(kind, "u1"))
        raw = self._take(count * dtype.itemsize, "a number", key)
        found: Array = np.frombuffer(raw, dtype)
        if kind == _BOOL and count and int(found.max()) > 1:
            raise self.file.damaged("a truth value is neither 0 nor 1", at, key)
        return found.astype(bool) if kind == _BOOL else found

    def _alignment(self, metadata: dict[str, Any]) -> int:
        step = metadata.get("general.alignment", 32)
        if type(step) is not int or not 0 < step <= 1 << 20 or step & (step - 1):
            problem = f"the alignment is a power of two, not {str(step)[:40]}"
            raise self.file.damaged(problem, self.at, "general.alignment")
        return step

    # ---- tensors

    def _info(self, step: int) -> _Info:
        at, name = self.at, self._text("the name of a tensor")
        rank = self._number("<I")
        if rank > 8:
            raise self.file.damaged(f"a tensor of {rank} axes", at, name)
        extents = [self._number("<Q") for _ in range(rank)]
        number, place = self._number("<I"), self._number("<Q")
        kind, shape = _KINDS.get(number, f"number {number}"), tuple(extents[::-1])
        if place % step:
            raise self.file.damaged(f"its offset {place} is no multiple of {step}", at, name)
        return _Info(name, kind, shape, place, self._size(kind, shape, at, name), at)

    def _size(self, kind: str, shape: tuple[int, ...], at: int, name: str) -> int:
        """Bytes in the file; the tensor may need more when it is used."""
        if kind not in _PLAIN and kind not in FORMATS:
            known = "known are " + ", ".join([*_PLAIN, *FORMATS])
            raise self.file.damaged(f"tensors of type {kind} cannot be read", at, name, known)
        if byte_count(shape, 8) is None:
            raise self.file.damaged("no tensor can be so large", at, name)
        if kind in _PLAIN:
            return prod(shape) * element(_PLAIN[kind]).itemsize
        block = FORMATS[kind]
        if not shape or shape[-1] % block.size:
            problem = f"the last axis of {list(shape)} is no multiple of {block.size}"
            raise self.file.damaged(problem, at, name)
        return prod(shape) // block.size * block.stored

    def _check_places(self, infos: list[_Info], start: int) -> None:
        names: set[str] = set()
        end = 0
        for info in sorted(infos, key=lambda i: (i.place, i.size)):
            if info.name in names:
                raise self.file.damaged("the name is there twice", info.at, info.name)
            if info.size and info.place < end:
                raise self.file.damaged("the tensor overlaps another", info.at, info.name)
            names.add(info.name)
            end = max(end, info.place + info.size)
            if info.size and start + end > self.file.size:
                problem = f"the tensor ends at byte {start + end} of {self.file.size}"
                fix = "the file was cut short: fetch it again"
                raise self.file.damaged(problem, info.at, info.name, help=fix)

    def _tensor(self, info: _Info, start: int) -> Tensor:
        kind: DType = dtypes.float32
        if info.kind in _PLAIN:
            kind = element(_PLAIN[info.kind]).dtype
        file, first = self.file, start + info.place

        def read() -> Array:
            raw = file.array(first, info.size, "the tensor", info.name)
            found = raw.view(kind.np) if info.kind in _PLAIN else FORMATS[info.kind].values(raw)
            return found.reshape(info.shape)

        return lazy_tensor(read, kind, info.shape, self.device)
