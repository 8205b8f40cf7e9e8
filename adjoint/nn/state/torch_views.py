"""Tensors of torch files: views of storages, with strides."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from adjoint.nn.state.elements import Element, byte_count
from adjoint.nn.state.zip_directory import ZipDirectory, ZipEntry

Array = np.ndarray[Any, Any]
_ALWAYS_ALLOWED_ELEMENTS = 1 << 22  # elements that overlapping views may have in any case


@dataclass(slots=True)
class ArchiveStorage:
    """An entry of the archive that tensors are views of; read once, when one of them is used."""

    archive: ZipDirectory
    entry: ZipEntry
    swapped: bool
    _raw: Array | None = field(default=None)

    def elements(self, kind: Element) -> Array:
        """The whole storage, of elements of this kind."""
        if self._raw is None:
            self._raw = self.archive.read(self.entry)
        whole = self._raw[: self._raw.size // kind.itemsize * kind.itemsize]
        if kind.stored.kind == "b" and whole.size and int(whole.max()) > 1:
            at = self.entry.start + int(np.argmax(whole > 1))
            raise self.archive.file.damaged("a truth value is neither 0 nor 1", at, self.entry.name)
        return (_swapped(whole, kind) if self.swapped else whole).view(kind.stored)


def _swapped(raw: Array, kind: Element) -> Array:
    """The bytes of every number, of each part of a complex one, the other way round."""
    width = kind.itemsize // 2 if kind.stored.kind == "c" else kind.itemsize
    return raw.reshape(-1, width)[:, ::-1].reshape(-1)


@dataclass(frozen=True, slots=True)
class StorageView:
    """Elements of a storage. Making one raises ValueError unless all of it is in the storage."""

    storage: ArchiveStorage
    kind: Element
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    conjugated: bool = False
    negated: bool = False

    def __post_init__(self) -> None:
        if len(self.size) != len(self.stride):
            raise ValueError(f"{len(self.size)} sizes and {len(self.stride)} strides")
        if byte_count(self.size, self.kind.itemsize) is None:
            raise ValueError("no tensor can be so large")
        count = self.storage.entry.size // self.kind.itemsize
        steps = zip(self.size, self.stride, strict=True)
        last = self.offset + sum((extent - 1) * stride for extent, stride in steps)
        if 0 not in self.size and last >= count:
            raise ValueError(f"element {last} of a storage of {count}")
        if prod(self.held) > max(16 * count, _ALWAYS_ALLOWED_ELEMENTS):
            raise ValueError(f"{prod(self.held)} elements in a storage of {count}")

    @property
    def held(self) -> tuple[int, ...]:
        """The size without repetition: an axis of stride 0 is one element, repeated."""
        axes = zip(self.size, self.stride, strict=True)
        return tuple(1 if not stride and extent else extent for extent, stride in axes)

    def read(self) -> Array:
        """The elements, without repetition."""
        if 0 in self.held:
            return np.empty(self.held, self.kind.dtype.np)
        whole = self.storage.elements(self.kind)[self.offset :]
        steps = [stride * self.kind.itemsize for stride in self.stride]
        found: Array = np.ndarray(self.held, self.kind.stored, whole, strides=steps)
        if self.conjugated or self.negated:
            found = np.conjugate(found) if self.conjugated else found
            found = np.negative(found) if self.negated else found
        return found.astype(self.kind.dtype.np, copy=False)
