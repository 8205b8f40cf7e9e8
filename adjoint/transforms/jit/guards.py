"""Guards: containers with the values that they had when a function was traced.

A `Place` holds as long as the values are the same; `MemoryContents` does so for memory.
`captured.py` finds them.
"""

from __future__ import annotations

import functools
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from adjoint.ir.arg import frozen
from adjoint.tensor import Tensor
from adjoint.transforms.jit.identities import Identities
from adjoint.transforms.jit.origin import is_users_class

PLAIN = (bool, int, float, complex, str, bytes, type(None), range, slice, type(...), np.generic)
_EXACT = frozenset(PLAIN)
MISSING: Any = object()


def same_value(old: Any, new: Any) -> bool:
    """Whether a trace that saw the one value is good for the other."""
    if old is new:
        return True
    if type(old) is not type(new):
        return False
    if isinstance(old, Tensor):
        return tensor_type(old) == tensor_type(new)
    return is_plain(old) and plain_key(old) == plain_key(new)


def is_plain(value: Any) -> bool:
    """Whether something is a plain value and no more: one of a user's subclass may have attributes,
    which change."""
    kind = type(value)
    if kind in _EXACT or not isinstance(value, PLAIN):
        return kind in _EXACT
    if isinstance(value, Enum) or not is_users_class(kind):
        return True
    return not kind.__dictoffset__ and not any(getattr(k, "__slots__", ()) for k in kind.__mro__)


def tensor_type(tensor: Tensor) -> tuple[Any, ...]:
    """The properties of a tensor on which a trace depends."""
    node = tensor.uop
    return node.shape, node.dtype, node.device, tensor._requires_grad


def plain_key(value: Any) -> Any:
    """A hashable form of a plain value: equal exactly if a program cannot distinguish them."""
    if isinstance(value, slice):
        return slice, *map(plain_key, (value.start, value.stop, value.step))
    if isinstance(value, np.generic):
        return type(value), value.tobytes()
    return type(value), frozen(value)


class Place:
    """Values in one container, by key. `owner` says in messages what the keys belong to."""

    __slots__ = ("container", "keys", "owner", "values")

    def __init__(self, container: Any, keys: Iterable[Any], owner: str):
        self.container, self.keys, self.owner = container, tuple(keys), owner
        self.values: list[Any] = self.now() or []

    def shown(self) -> Iterable[Any] | None:
        """What shows all values that there are now whenever it is gone through, if something does;
        without a Python function."""
        return None

    def reader(self) -> Callable[[], Any]:
        """A fast reader of the values of a place that no other guard covers: a C function, if
        possible. It may raise if the container's keys have changed.
        """
        return self.now

    def now(self) -> list[Any] | None:
        """The values there are now; None if the container has other keys."""
        raise NotImplementedError

    def put(self, position: int, value: Any) -> None:
        """Store a value; MISSING removes it."""
        if value is MISSING:
            del self.container[self.keys[position]]
        else:
            self.container[self.keys[position]] = value

    def holds(self) -> bool:
        """Whether everything is unchanged; a tensor may be another one of the same type."""
        now = self.now()
        if now is None or not all(map(same_value, self.values, now)):
            return False
        self.values = now
        return True

    def difference(self) -> str:
        """The change, for a message."""
        now = self.now()
        if now is None:
            return f"the keys or the length of {self.owner}"
        rows = zip(self.keys, self.values, now, strict=True)
        found = (key for key, old, new in rows if not same_value(old, new))
        return next((f"{key!r} of {self.owner}" for key in found), f"{self.owner}")


class Names(Place):
    """Some names of a dict: globals, attributes of a module."""

    __slots__ = ()

    def reader(self) -> Callable[[], Any]:
        return _getting(itemgetter, self.keys, self.container)

    def now(self) -> list[Any] | None:
        get = self.container.get
        return [get(key, MISSING) for key in self.keys]


class Absent(Names):
    """Names that a dict does not have."""

    __slots__ = ()

    def reader(self) -> Callable[[], Any]:
        free, keys = self.container.keys().isdisjoint, self.keys
        nothing = [MISSING] * len(keys)
        return lambda: nothing if free(keys) else self.now()


_BASES: tuple[Any, ...] = (OrderedDict, dict, list, tuple, deque, set, frozenset)


def _base(container: Any) -> Any:
    """The class of Python's whose methods show what is in a container, whatever a subclass makes of
    it: what that depends on is guarded like that of any class."""
    return next((kind for kind in _BASES if isinstance(container, kind)), type(container))


def dict_keys(container: Any) -> tuple[Any, ...]:
    """The keys that are in a dict, or shown by a view of one."""
    return tuple(_base(container).keys(container))


class Dict(Place):
    """All of a dict, in its order."""

    __slots__ = ()

    def shown(self) -> Iterable[Any] | None:
        return _base(self.container).values(self.container)

    def now(self) -> list[Any] | None:
        return list(self.shown() or ()) if dict_keys(self.container) == self.keys else None


class Local(Place):
    """The attributes that a `threading.local` has in this thread."""

    __slots__ = ()

    def now(self) -> list[Any] | None:
        found = vars(self.container)
        return list(found.values()) if tuple(found) == self.keys else None

    def put(self, position: int, value: Any) -> None:
        setattr(self.container, self.keys[position], value)


class Items(Place):
    """All of a list, a deque, or a tuple."""

    __slots__ = ()

    def shown(self) -> Iterable[Any] | None:
        plain = type(self.container).__iter__ is _base(self.container).__iter__
        return self.container if plain else None

    def reader(self) -> Callable[[], Any]:
        return functools.partial(_base(self.container).__iter__, self.container)

    def now(self) -> list[Any] | None:
        found = list(self.reader()())
        return found if len(found) == len(self.keys) else None


class Members(Items):
    """All of a set; the same members put in again may come in another order."""

    __slots__ = ()

    def put(self, position: int, value: Any) -> None:
        """Sets that a function changes have other members, which `now` says."""


class Objects(Place):
    """The elements of a NumPy array of objects."""

    __slots__ = ()

    def now(self) -> list[Any] | None:
        found = self.container.ravel().tolist()
        return found if len(found) == len(self.keys) else None

    def put(self, position: int, value: Any) -> None:
        self.container.flat[position] = value


class Attributes(Place):
    """Some attributes of an object."""

    __slots__ = ()

    def reader(self) -> Callable[[], Any]:
        if any(value is MISSING for value in self.values):
            return self.now
        return _getting(attrgetter, self.keys, self.container)

    def now(self) -> list[Any] | None:
        return [attribute(self.container, key, MISSING) for key in self.keys]

    def put(self, position: int, value: Any) -> None:
        if value is MISSING:
            delattr(self.container, self.keys[position])
        else:
            setattr(self.container, self.keys[position], value)


class ClassNames(Attributes):
    """Names in a class's own dict."""

    __slots__ = ()

    def reader(self) -> Callable[[], Any]:
        return _getting(itemgetter, self.keys, vars(self.container))

    def now(self) -> list[Any] | None:
        own = vars(self.container)
        return [own.get(key, MISSING) for key in self.keys]


class ClosureCells(Place):
    """The values of a closure's variables."""

    __slots__ = ()

    def reader(self) -> Callable[[], Any]:
        if any(value is MISSING for value in self.values):
            return self.now
        return functools.partial(map, attrgetter("cell_contents"), self.container)

    def now(self) -> list[Any] | None:
        return [attribute(cell, "cell_contents", MISSING) for cell in self.container]

    def put(self, position: int, value: Any) -> None:
        self.container[position].cell_contents = value


class Context(Place):
    """The value of a `ContextVar`."""

    __slots__ = ()

    def now(self) -> list[Any] | None:
        return [self.container.get(MISSING)]

    def put(self, position: int, value: Any) -> None:
        self.container.set(value)


def _getting(getter: Any, keys: tuple[Any, ...], container: Any) -> Callable[[], Any]:
    """Several keys of a container at once; of one key, a getter has no tuple."""
    if len(keys) == 1:
        return functools.partial(map, getter(*keys), (container,))
    return functools.partial(getter(*keys), container)


def attribute(value: Any, name: str, default: Any) -> Any:
    """An attribute, whatever the object's own `__getattr__` raises, or an empty cell."""
    try:
        return getattr(value, name, default)
    except Exception:
        return default


class FlatCheck:
    """All guards in one comparison: sizes, keys, then every value by identity. Every call of a
    jitted function passes through here, so no step of it runs a Python function per place.

    It returns True only if everything is unchanged; otherwise the places find out. An identical
    tuple has the same items, so guarding its holder suffices.
    """

    __slots__ = (
        *("_dicts", "_expected", "_keys", "_order", "_places"),
        *("_readers", "_shown", "_sized", "_sizes"),
    )

    def __init__(self, places: Sequence[Place]):
        rest = [place for place in places if not _is_fixed(place)]
        shown = [place for place in rest if place.shown() is not None and place.keys]
        fetched = list(_readers([place for place in rest if place.shown() is None]))
        self._shown: list[Any] = [place.shown() for place in shown]
        self._readers = [reader for reader, _ in fetched]
        order = [(place, range(len(place.keys))) for place in shown]
        self._order = [*order, *(column for _, columns in fetched for column in columns)]
        self._places = rest
        self._sized = [p.container for p in rest if isinstance(p, (Dict, Items))]
        self._dicts = [_base(p.container).keys(p.container) for p in rest if isinstance(p, Dict)]
        self.renew()

    def renew(self) -> None:
        """From now on things are as the places have seen them last."""
        self._sizes = [len(p.keys) for p in self._places if isinstance(p, (Dict, Items))]
        self._keys = [key for p in self._places if isinstance(p, Dict) for key in p.keys]
        self._expected = Identities(p.values[i] for p, column in self._order for i in column)

    def holds(self) -> bool:
        """Whether everything is unchanged."""
        try:
            if self._sized:
                if [*map(len, self._sized)] != self._sizes:
                    return False
                if [*chain.from_iterable(self._dicts)] != self._keys:
                    return False
            found = [*chain.from_iterable(self._shown)]
            for read in self._readers:
                found += read()
            return self._expected.are((*found,))
        except Exception:  # other keys than there were, or objects that raise what they like
            return False


Columns = list[tuple[Place, Iterable[int]]]  # places, and which of their values


def _readers(places: Sequence[Place]) -> Iterator[tuple[Callable[[], Any], Columns]]:
    """Fast readers for all values of these places, C functions where possible, and the order of the
    values. For similar places one value each is fetched at a time, without a call per place.
    """
    alike: dict[Any, list[Place]] = {}
    for place in places:
        alike.setdefault(_likeness(place), []).append(place)
    cells = alike.pop(ClosureCells, [])
    if cells:
        every = tuple(cell for place in cells for cell in place.container)
        columns: Columns = [(place, range(len(place.keys))) for place in cells]
        yield functools.partial(map, attrgetter("cell_contents"), every), columns
    for keys, group in alike.items():
        if len(group) > 1 and keys is not None:
            containers = tuple(place.container for place in group)
            for i, key in enumerate(keys):
                column: Columns = [(place, (i,)) for place in group]
                yield functools.partial(map, attrgetter(key), containers), column
        else:
            for place in group:
                yield place.reader(), [(place, range(len(place.keys)))]


def _likeness(place: Place) -> Any:
    """The common key of places whose values are fetched together; None if there is none."""
    if any(value is MISSING for value in place.values):
        return None
    if type(place) is Attributes:
        return place.keys
    return ClosureCells if type(place) is ClosureCells else None


def _is_fixed(place: Place) -> bool:
    """Whether the values are the items of a tuple, which are the same for as long as it lives."""
    return type(place) is Items and isinstance(place.container, tuple)


class MemoryContents:
    """Memory with the bytes that were in it: arrays, buffers, tensors of other libraries."""

    __slots__ = ("before", "look", "owner")

    def __init__(self, look: Callable[[], Any], owner: str):
        self.look, self.owner = look, owner
        self.before = np.array(look(), copy=True)

    def holds(self) -> bool:
        """Whether it has the same bytes, shape and dtype."""
        now, before = self.look(), self.before
        if now.shape != before.shape or now.dtype != before.dtype:
            return False
        if now.dtype.hasobject:
            return bool(now.tolist() == before.tolist())
        if now.nbytes < _MAX_COPIED_BYTES or not now.flags.c_contiguous:
            return bool(now.tobytes() == before.tobytes())
        return np.array_equal(now.reshape(-1).view(np.uint8), before.reshape(-1).view(np.uint8))


_MAX_COPIED_BYTES = 1 << 16  # bytes: below, a copy costs less than views
