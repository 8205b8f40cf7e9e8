"""Torch's zip checkpoints: `torch_load`, without torch and without running a pickle."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adjoint.ir.dtype import DType, as_dtype, is_dtype
from adjoint.nn.state.elements import FLOAT8, Element, element
from adjoint.nn.state.lazy import lazy_tensor
from adjoint.nn.state.mapped import MappedFile
from adjoint.nn.state.pickle_reader import GlobalCall, PickleReader, UnreadableError, plain_key
from adjoint.nn.state.torch_views import ArchiveStorage, StorageView
from adjoint.nn.state.zip_directory import ZipDirectory, ZipEntry
from adjoint.tensor import Tensor

_LEGACY = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
_PICKLE_LIMIT = 100_000_000  # bytes of a stored pickle
_PACKED_LIMIT = 16_000_000  # bytes of one that is compressed
_STORAGES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}
_DTYPES = {*_STORAGES.values(), "uint16", "uint32", "uint64", *FLOAT8}


@dataclass(frozen=True, slots=True)
class _Kind:
    """What stands for a class of storages, or for a dtype that tensors do not have."""

    name: str
    element: Element


def torch_load(path: str | os.PathLike[str], device: str | tuple[str, ...] | None = None) -> Any:
    """What `torch.save` wrote to a file: tensors, numbers, texts, and lists, tuples, dicts of them.

    Nothing in the file is executed. A tensor is read when it is used; parameters and storages come
    as tensors. A damaged file, or one that holds anything else, is E9001 and names it.
    """
    file = MappedFile(path, "torch_load")
    if file.size >= len(_LEGACY) and file.read(0, len(_LEGACY), "the start") == _LEGACY:
        fix = "load it with torch and save it again: torch.save(torch.load(path), new_path)"
        raise file.damaged("the format of torch before 1.6, which is no zip archive", 0, help=fix)
    return _Loader(ZipDirectory(file), device).load()


class _Loader:
    """One file."""

    def __init__(self, archive: ZipDirectory, device: str | tuple[str, ...] | None):
        self.archive, self.file, self.device = archive, archive.file, device
        self.pickle = self._pickle_entry()
        self.root = self.pickle.name.removesuffix("data.pkl")
        self.swapped = self._byte_order() == "big"
        self._storages: dict[str, ArchiveStorage] = {}
        self._held: dict[
            int, tuple[Tensor, ArchiveStorage, Element]
        ] = {}  # storages, as tensors, by id
        self._calls = _CALLS | {
            "torch._utils._rebuild_tensor": self._rebuild,
            "torch._utils._rebuild_tensor_v2": self._rebuild_v2,
            "torch._utils._rebuild_tensor_v3": self._rebuild_v3,
        }

    def _pickle_entry(self) -> ZipEntry:
        names = [n for n in self.archive.entries if n.split("/")[1:] == ["data.pkl"]]
        if len(names) != 1:
            raise self.file.damaged("the archive has no data.pkl: torch did not write it", 0)
        if any(n.endswith("/constants.pkl") for n in self.archive.entries):
            fix = "save its weights instead: torch.save(model.state_dict(), path)"
            raise self.file.damaged("the archive is a TorchScript program", 0, help=fix)
        return self.archive.entries[names[0]]

    def _byte_order(self) -> str:
        entry = self.archive.entries.get(f"{self.root}byteorder")
        if entry is None:
            return "little"
        order = bytes(self.archive.read(entry)) if entry.size < 16 else b""
        if order not in (b"little", b"big"):
            raise self.file.damaged("the byte order is neither little nor big", entry.start)
        return order.decode()

    def load(self) -> Any:
        entry = self.pickle
        most = _PICKLE_LIMIT if entry.packed == entry.size else _PACKED_LIMIT
        if entry.size > most:
            problem = f"a pickle of {entry.size} bytes; {most} is the limit"
            raise self.file.damaged(problem, entry.start, entry.name)
        reader = PickleReader(bytes(self.archive.read(entry)), self._find, self._persistent)
        try:
            return reader.load()
        except UnreadableError as error:
            at = entry.start + (reader.opcode_at if entry.packed == entry.size else 0)
            fix = "torch.save(model.state_dict(), path) writes a file that can be read"
            raise self.file.damaged(str(error), at, entry.name, help=fix) from None

    # ---- globals

    def _find(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        if full in self._calls:
            return GlobalCall(full, self._calls[full])
        if module in ("torch", "torch.storage") and name in _STORAGES:
            return _Kind(name, element(_STORAGES[name]))
        if full == "torch.storage.UntypedStorage":
            return _Kind(name, element("uint8"))
        if module == "torch" and name in _DTYPES:
            return as_dtype(name) if is_dtype(name) else _Kind(name, FLOAT8[name])
        raise UnreadableError(f"the file wants the global {full!r}, which holds no plain data")

    # ---- tensors

    def _persistent(self, key: Any) -> Tensor:
        if type(key) is not tuple or len(key) != 5 or key[0] != "storage":
            raise ValueError("it is not named as torch names them")
        _, kind, name, _, count = key
        if not isinstance(kind, _Kind) or not isinstance(name, str):
            raise ValueError("its type or its name is none")
        sizes = _naturals((count,))
        storage = self._storage(name, kind.element, sizes[0])
        tensor = self._tensor(StorageView(storage, kind.element, 0, sizes, (1,)))
        self._held[id(tensor)] = (tensor, storage, kind.element)
        return tensor

    def _storage(self, name: str, kind: Element, count: int) -> ArchiveStorage:
        entry = self.archive.entries.get(f"{self.root}data/{name}")
        if entry is None:
            raise ValueError(f"there is no entry data/{name}")
        if not 0 <= entry.size - count * kind.itemsize < kind.itemsize:
            raise ValueError(f"data/{name} has {entry.size} bytes, which are not {count} elements")
        return self._storages.setdefault(name, ArchiveStorage(self.archive, entry, self.swapped))

    def _rebuild(self, *args: Any) -> Tensor:
        """storage, offset, size, stride."""
        return self._viewed(args)

    def _rebuild_v2(self, *args: Any) -> Tensor:
        """The same, requires_grad, hooks, marks of lazy conj and neg."""
        return self._viewed(args, marks=args[6] if len(args) > 6 else None)

    def _rebuild_v3(self, *args: Any) -> Tensor:
        """storage, offset, size, stride, requires_grad, hooks, dtype, marks."""
        return self._viewed(args, args[7] if len(args) > 7 else None, _element(args[6]))

    def _viewed(
        self, args: tuple[Any, ...], marks: Any = None, kind: Element | None = None
    ) -> Tensor:
        data, offset, size, stride = args[:4]
        if id(data) not in self._held:
            raise ValueError("a tensor without a storage")
        _, storage, elements = self._held[id(data)]
        found = marks if isinstance(marks, dict) else {}
        lazily = (found.get("conj") is True, found.get("neg") is True)
        (start,) = _naturals((offset,))
        places = (start, _naturals(size), _naturals(stride))
        return self._tensor(StorageView(storage, kind or elements, *places, *lazily))

    def _tensor(self, view: StorageView) -> Tensor:
        held = lazy_tensor(view.read, view.kind.dtype, view.held, self.device)
        return held if view.held == view.size else held.expand(view.size)


def _parameter(data: Any, *rest: Any) -> Tensor:
    if not isinstance(data, Tensor):
        raise ValueError("a parameter is a tensor")
    return data


def _element(kind: Any) -> Element:
    if isinstance(kind, DType):
        return element(kind.name)
    if not isinstance(kind, _Kind):
        raise ValueError("a dtype is expected")
    return kind.element


def _naturals(values: Any) -> tuple[int, ...]:
    if type(values) not in (list, tuple) or not all(type(n) is int and n >= 0 for n in values):
        raise ValueError("sizes, strides and offsets are natural numbers")
    return tuple(values)


def _ordered(items: Any = ()) -> dict[Any, Any]:
    """A dict from a dict, or from a list of pairs."""
    if type(items) is dict:
        return dict(items)
    if type(items) not in (list, tuple) or not all(type(i) in (list, tuple) for i in items):
        raise ValueError("a dict is made of pairs")
    return {plain_key(key): value for key, value in items}


def _device(*parts: Any) -> str:
    if not all(type(part) in (str, int) for part in parts):
        raise ValueError("a device has a name and a number")
    return ":".join(map(str, parts))


def _encoded(text: Any = "", encoding: Any = "latin1") -> bytes:
    """How bytes are written by protocols that have none."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise ValueError("only texts are made bytes, and as latin-1")
    return text.encode("latin-1")


def _set(items: Any = ()) -> set[Any]:
    if type(items) not in (list, tuple):
        raise ValueError("a set is made of a list")
    return set(map(plain_key, items))


def _complex(real: Any = 0.0, imaginary: Any = 0.0) -> complex:
    if type(real) is not float or type(imaginary) is not float:
        raise ValueError("a complex number has two floats")
    return complex(real, imaginary)


_CALLS: dict[str, Callable[..., Any]] = {
    "collections.OrderedDict": _ordered,
    "collections.defaultdict": lambda *args: _ordered(*args[1:]),
    "collections.Counter": _ordered,
    "torch.Size": lambda sizes=(): _naturals(sizes),
    "torch.device": _device,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter,
    "_codecs.encode": _encoded,
}
for _module in ("builtins", "__builtin__"):
    _CALLS[f"{_module}.set"] = _set
    _CALLS[f"{_module}.frozenset"] = lambda items=(): frozenset(_set(items))
    _CALLS[f"{_module}.complex"] = _complex
    _CALLS[f"{_module}.bytearray"] = _encoded
