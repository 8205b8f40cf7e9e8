"""The safetensors format: a length, a header in JSON, the bytes of the tensors.

Reading trusts nothing: the header is checked whole before a tensor is made, and every number in it
against the size of the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, DTypeError, FileError
from adjoint.ir.values import is_known
from adjoint.nn.state.atomic import Piece, write_atomically
from adjoint.nn.state.elements import FLOAT8, Element, byte_count, element
from adjoint.nn.state.lazy import lazy_tensor
from adjoint.nn.state.mapped import MappedFile
from adjoint.tensor import Tensor

Array = np.ndarray[Any, Any]
HEADER_LIMIT = 100_000_000  # bytes, as other readers have it
_ALIGN = 64  # of the first tensor
_METADATA = "__metadata__"
_PLAIN = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "F16": "float16",
    "BF16": "bfloat16",
    "U32": "uint32",
    "I32": "int32",
    "F32": "float32",
    "U64": "uint64",
    "I64": "int64",
    "F64": "float64",
    "C64": "complex64",
}
_NARROW = {
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F8_E8M0": "float8_e8m0fnu",
}
ELEMENTS: dict[str, Element] = {code: element(name) for code, name in _PLAIN.items()}
ELEMENTS |= {code: FLOAT8[name] for code, name in _NARROW.items() if name in FLOAT8}
_CODES = {kind.stored: code for code, kind in ELEMENTS.items()}


def code_of(dtype: np.dtype[Any]) -> str:
    """What the format calls a NumPy dtype; nothing if it has no name for it."""
    return _CODES.get(dtype, "")


@dataclass(frozen=True, slots=True)
class Entry:
    """A tensor of a file: where its bytes are, counted from the start of the file."""

    code: str
    shape: tuple[int, ...]
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Contents:
    """A checked header, and the file it was read from."""

    file: MappedFile
    header: bytes
    metadata: dict[str, str]
    entries: dict[str, Entry]

    def damaged(self, problem: str, key: str, help: str = "") -> FileError:
        """An error at the place where the header has the key."""
        return self.file.damaged(problem, _place(self.header, key), key, help)

    def tensor(self, name: str, device: str | tuple[str, ...] | None = None) -> Tensor:
        """A tensor of the file, which is read when it is used."""
        entry = self.entries[name]
        kind = ELEMENTS[entry.code]
        return lazy_tensor(lambda: self.array(name), kind.dtype, entry.shape, device)

    def raw(self, name: str) -> Array:
        """The bytes of a tensor."""
        entry = self.entries[name]
        return self.file.array(entry.start, entry.size, "the tensor", name)

    def array(self, name: str) -> Array:
        """The values of a tensor."""
        entry, raw = self.entries[name], self.raw(name)
        if entry.code == "BOOL" and entry.size and int(raw.max()) > 1:
            at = entry.start + int(np.argmax(raw > 1))
            raise self.file.damaged("a truth value is neither 0 nor 1", at, name)
        return ELEMENTS[entry.code].of(raw, entry.shape)


def safe_load(
    path: str | os.PathLike[str], device: str | tuple[str, ...] | None = None
) -> dict[str, Tensor]:
    """The tensors of a safetensors file by name.

    The file is mapped: a tensor is read when it is used. Rarer 8-bit floats (FNUZ, E8M0)
    become float16 and float32. A damaged file is E9001, one that cannot be opened E9006.
    """
    contents = read_contents(path, "safe_load")
    return {name: contents.tensor(name, device) for name in contents.entries}


def safe_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """The metadata of a safetensors file: texts by name."""
    return read_contents(path, "safe_metadata").metadata


def read_contents(path: str | os.PathLike[str], op: str) -> Contents:
    """The checked header of a file."""
    file = MappedFile(path, op)
    length = _header_length(file)
    parsed = _Header(file, file.read(8, length, "the header"))
    return Contents(file, parsed.raw, parsed.metadata(), parsed.entries(8 + length))


def _place(header: bytes, key: str) -> int:
    """The byte of the file where a key is written; the start of the header if it is not found."""
    spelled = json.dumps(key, ensure_ascii=False).encode("utf-8", "replace")
    return 8 + max(header.find(spelled), 0)


def _header_length(file: MappedFile) -> int:
    length = int.from_bytes(file.read(0, 8, "the length of the header"), "little")
    if length > HEADER_LIMIT:
        problem = f"the header has {length} bytes, more than the {HEADER_LIMIT} there may be"
        raise file.damaged(problem, 0, help="is this a safetensors file?")
    if length > file.size - 8:
        problem = f"the header has {length} bytes, the file {file.size}"
        raise file.damaged(problem, 0, help="the file was cut short: fetch it again")
    return length


class _Header:
    """The header of a file, parsed and not yet believed."""

    def __init__(self, file: MappedFile, raw: bytes):
        self.file, self.raw = file, raw
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise file.damaged("the header is not UTF-8", 8 + error.start) from None
        if not text.startswith("{"):
            raise file.damaged("the header does not begin with '{'", 8)
        self.items: dict[str, Any] = self._parsed(text)

    def _parsed(self, text: str) -> Any:
        try:
            return json.loads(text, object_pairs_hook=self._object, parse_constant=_no_constant)
        except json.JSONDecodeError as error:
            at = 8 + len(text[: error.pos].encode())
            raise self.file.damaged(f"the header is not JSON: {error.msg}", at) from None
        except FileError:
            raise
        except (ValueError, RecursionError) as error:
            problem = f"the header is not JSON: {error or type(error).__name__}"
            raise self.file.damaged(problem, 8) from None

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise self._bad("the name is there twice", key)
            found[key] = value
        return found

    def _bad(self, problem: str, key: str, help: str = "") -> Exception:
        return self.file.damaged(problem, _place(self.raw, key), key, help)

    def metadata(self) -> dict[str, str]:
        found = self.items.get(_METADATA, {})
        if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
            raise self._bad("metadata are texts by name", _METADATA)
        return found

    def entries(self, start: int) -> dict[str, Entry]:
        """The tensors, whose bytes begin at `start`: one after the other, to the end."""
        found = {k: self._entry(k, v, start) for k, v in self.items.items() if k != _METADATA}
        end = start
        for name, entry in sorted(found.items(), key=lambda kv: (kv[1].start, kv[1].size)):
            if entry.start != end:
                kind = "overlaps another" if entry.start < end else "leaves a hole before it"
                raise self._bad(f"the tensor at byte {entry.start} {kind}", name)
            end += entry.size
        if end != self.file.size:
            raise self.file.damaged(f"{self.file.size - end} bytes belong to no tensor", end)
        return found

    def _entry(self, name: str, item: Any, start: int) -> Entry:
        if not isinstance(item, dict) or item.keys() != {"dtype", "shape", "data_offsets"}:
            raise self._bad("a tensor has dtype, shape and data_offsets, nothing else", name)
        code, shape = item["dtype"], self._naturals(name, "shape", item["shape"])
        if not isinstance(code, str) or code not in ELEMENTS:
            known = "known are " + ", ".join(ELEMENTS)
            raise self._bad(f"unknown dtype {str(code)[:40]!r}", name, known)
        first, last = self._offsets(name, item["data_offsets"], start)
        size = byte_count(shape, ELEMENTS[code].itemsize)
        if size != last - first:
            counted = "more bytes than there can be" if size is None else f"{size} bytes"
            problem = f"{code}{_short(shape)} is {counted}, its offsets span {last - first}"
            raise self._bad(problem, name)
        return Entry(code, shape, start + first, size)

    def _naturals(self, name: str, field: str, value: Any) -> tuple[int, ...]:
        whole = isinstance(value, list) and all(type(n) is int and n >= 0 for n in value)
        if not whole:
            raise self._bad(f"{field} is not a list of natural numbers", name)
        return tuple(value)

    def _offsets(self, name: str, value: Any, start: int) -> tuple[int, int]:
        offsets = self._naturals(name, "data_offsets", value)
        room = self.file.size - start
        if len(offsets) != 2 or not offsets[0] <= offsets[1] <= room:
            problem = f"data_offsets {_short(offsets)} are no range of the {room} bytes there are"
            raise self._bad(problem, name, "the file was cut short, or its header is wrong")
        return offsets[0], offsets[1]


def _short(numbers: tuple[int, ...]) -> str:
    """Numbers for an error: untrusted, so there may be many, and large."""
    shown = [str(n) if n < 1 << 64 else "huge" for n in numbers[:8]]
    return f"[{', '.join(shown + ['...'] * (len(numbers) > 8))}]"


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no number")


# ---- writing


def safe_save(
    tensors: Mapping[str, Any],
    path: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write tensors (or NumPy arrays) by name to a safetensors file.

    The file is there whole or not at all, and the same values give the same bytes. Tensors are
    written from where they are, without a copy.
    """
    write_contents(path, tensors, lambda arrays: dict(metadata or {}), "safe_save")


def write_contents(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Any],
    metadata: Callable[[Mapping[str, Array]], dict[str, str]],
    op: str,
) -> None:
    """The file of these tensors; what is said about them may depend on their values."""
    arrays = _arrays(tensors, op)
    order = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    header = _header(arrays, order, _checked_metadata(metadata(arrays), op))
    pieces: list[Piece] = [lambda: header]
    pieces += [lambda name=name: _raw(arrays[name]) for name in order]  # type: ignore[misc]
    write_atomically(path, pieces, op)


def _arrays(tensors: Any, op: str) -> dict[str, Array]:
    if not isinstance(tensors, Mapping):
        problem = f"tensors come in a dict by name, not in {type(tensors).__name__}"
        raise ArgumentError("E2001", problem, op=op, help="get_state_dict(obj) makes one")
    lazy = [t for t in tensors.values() if isinstance(t, Tensor) and not is_known(t.uop)]
    if lazy:
        lazy[0].realize(*lazy[1:])
    return {_checked_name(name, op): _array(name, value, op) for name, value in tensors.items()}


def _checked_name(name: Any, op: str) -> str:
    if not isinstance(name, str) or name == _METADATA or not _is_unicode(name):
        raise ArgumentError("E2001", f"{name!r} is not a name for a tensor", op=op)
    return name


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _array(name: str, value: Any, op: str) -> Array:
    array: Array = value.numpy() if isinstance(value, Tensor) else np.asarray(value)
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    if not code_of(native.dtype):
        problem = f"{name!r} has the dtype {native.dtype}, which safetensors cannot hold"
        fix = "cast it; complex128 can be saved as two float64 tensors"
        raise DTypeError("E2005", problem, op=op, help=fix)
    return native


def _raw(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _checked_metadata(metadata: dict[Any, Any], op: str) -> dict[str, str]:
    for key, value in metadata.items():
        texts = isinstance(key, str) and isinstance(value, str)
        if not texts or not _is_unicode(key + value):
            problem = f"metadata are texts by name, not {value!r} for {key!r}"
            raise ArgumentError("E2001", problem, op=op, help="json.dumps makes a text of anything")
    return metadata


def _header(arrays: Mapping[str, Array], order: list[str], metadata: dict[str, str]) -> bytes:
    items: dict[str, Any] = {_METADATA: dict(sorted(metadata.items()))} if metadata else {}
    start = 0
    for name in order:
        array = arrays[name]
        place = {"dtype": code_of(array.dtype), "shape": list(array.shape)}
        items[name] = place | {"data_offsets": [start, start + array.nbytes]}
        start += array.nbytes
    text = json.dumps(items, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % _ALIGN)
    return len(text).to_bytes(8, "little") + text
