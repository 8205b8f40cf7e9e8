"""What a Python function reads besides its arguments: closures, globals, attributes.

A trace is valid as long as all of these are unchanged. Tensors among them are inputs of the
program: their values are fetched at every call. What may live here: finding them, and evaluating
all guards. What may not: tracing, or comparing (`guards.py`).
"""

from __future__ import annotations

import builtins
import sys
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from adjoint.ir.dtype import DType
from adjoint.ir.uop import UOp
from adjoint.tensor import Tensor
from adjoint.transforms.jit.code import Chain, reads_of
from adjoint.transforms.jit.guards import (
    MISSING,
    Absent,
    Attributes,
    ClosureCells,
    Dict,
    FlatCheck,
    Items,
    Local,
    Members,
    MemoryContents,
    Names,
    Place,
    attribute,
    is_plain,
)
from adjoint.transforms.jit.origin import (
    is_librarys_function,
    is_users_class,
    is_users_code,
    is_users_module,
    is_vocabulary,
)
from adjoint.transforms.jit.unseen import unseen
from adjoint.transforms.jit.visits import visit

_IGNORED = (DType, UOp, Tensor)
_DYNAMIC = {"getattr", "hasattr", "setattr", "vars", "__dict__", "attrgetter", "dir"}
_MAKING = {"__init__", "__new__", "__post_init__"}  # read where a class is called
_PROTOCOLS = {"keys", "items", "values", "get", "copy", "read", "write"}  # that libraries call
_UNSEEN_READS = _DYNAMIC | {
    *("eval", "exec", "compile", "methodcaller", "format", "format_map", "inspect", "getmembers")
}
_METHODS = (FunctionType, staticmethod, classmethod, property)
_PROXIES = (weakref.ProxyType, weakref.CallableProxyType)
_MAX_CAPTURED_VALUES = 200_000  # values looked at: beyond that a program is not kept


class Captured:
    """Everything reachable from a function and from the objects among its arguments."""

    def __init__(self, roots: Iterable[Any]):
        self.places: list[Place] = []
        self.contents: list[MemoryContents] = []  # memory that is guarded
        self.positions: list[tuple[Place, int]] = []  # of tensors
        self.tensors: dict[int, tuple[Place, int]] = {}
        self.complete = True
        self.sized: list[Any] = []  # dicts whose number of names is guarded
        self.instances: list[Any] = []  # objects whose class is guarded
        self.written: list[tuple[Any, int]] = []  # containers that a bound method writes to
        self.names: set[str] = set()  # that code mentions, or that are read without being in code
        self._edges: dict[int, list[tuple[str | None, Any]]] = {}
        self._unnamed: dict[str, list[Any]] = {}  # methods that no code has mentioned so far
        self._current = 0
        self._seen: dict[int, Any] = {}
        self._globals: dict[int, tuple[dict[str, Any], str, dict[str, None]]] = {}
        self._modules: dict[int, ModuleType] = {}
        self._listed: set[tuple[int, str]] = set()  # names of modules that are guarded
        self._noted: dict[int, str] = {}
        self._roots = list(roots)
        self._queue: deque[Any] = deque(self._roots)
        self._walk()
        self._sizes = list(map(len, self.sized))
        self._kinds = list(map(type, self.instances))
        self._pattern = self._aliases()
        self.ids = {id(place.values[i]) for place, i in self.positions}
        self._renewed = False  # whether some tensors are others since the last look
        self._check = FlatCheck(self.places)
        self.look = object()  # another one as soon as some tensors may be others

    # ---- asking

    def holds(self) -> bool:
        """Whether a trace that saw this is still good."""
        if not self._check.holds() and not self._look():
            return False
        if self._renewed and not self._renew():
            return False
        return self.steady()

    def _look(self) -> bool:
        """Whether every place holds, some of them with other tensors of the same types."""
        self._renewed = True
        if not all(place.holds() for place in self.places):
            return False
        self._check.renew()
        self.look = object()
        return True

    def steady(self) -> bool:
        """Whether all that is not in places is as it was."""
        if self.sized and [*map(len, self.sized)] != self._sizes:
            return False
        if self.instances and [*map(type, self.instances)] != self._kinds:
            return False
        return not self.contents or all(contents.holds() for contents in self.contents)

    def makes_anew(self, value: Any) -> bool:
        """Whether a value is one that the call has made and others could change: the next call
        would make another one."""
        if _is_ignored(value) or isinstance(value, (type, ModuleType, BuiltinFunctionType)):
            return False
        kind = type(value)
        by_value = kind.__eq__ is not object.__eq__ and kind.__hash__ is not None
        return id(value) not in self._seen and value is not MISSING and not by_value

    def held(self) -> list[Tensor]:
        """The tensors that were found, as the last look at their places found them."""
        return [place.values[position] for place, position in self.tensors.values()]

    def is_written(self) -> bool:
        """Whether a bound method like `items.append` was called since."""
        return any(len(container) != size for container, size in self.written)

    def difference(self) -> str:
        """What is not as it was, for a message; "" if it is."""
        for place in self.places:
            if not place.holds():
                return place.difference()
        changed = next((c for c in self.contents if not c.holds()), None)
        if changed is not None:
            return f"the contents of {changed.owner}"
        if not self.steady():
            return "the names that a class or function has, or the class of an object"
        return "" if self._aliases() == self._pattern else "which captured tensors are the same"

    def _renew(self) -> bool:
        """Look at the tensors again after some are others; whether the same ones are one."""
        self.ids = {id(place.values[i]) for place, i in self.positions}
        self._renewed = self._aliases() != self._pattern
        return not self._renewed

    def _aliases(self) -> list[int]:
        first: dict[int, int] = {}
        found = (id(place.values[i]) for place, i in self.positions)
        return [first.setdefault(i, n) for n, i in enumerate(found)]

    @contextmanager
    def untouched(self) -> Iterator[None]:
        """What is put into a place inside is taken out again; what is added to one stays."""
        try:
            yield
        finally:
            for place in self.places:
                for position, (old, new) in enumerate(zip(place.values, place.now() or ())):  # noqa: B905
                    if old is not new:
                        place.put(position, old)

    # ---- finding

    def _walk(self) -> None:
        while self._queue:
            while self._queue:
                self._visit(self._queue.popleft())
                if len(self._seen) > _MAX_CAPTURED_VALUES:
                    self.complete = False
                    return
            self._flush()
            self._release()

    def _release(self) -> None:
        """Go on with methods that have been mentioned by now, or may be read under any name."""
        every = not self.names.isdisjoint(_UNSEEN_READS)
        for name in [n for n in self._unnamed if every or n in self.names]:
            self._queue += self._unnamed.pop(name)

    def _visit(self, value: Any) -> None:
        if id(value) in self._seen or (_is_ignored(value) and type(value) not in _PROXIES):
            return
        self._seen[id(value)] = value
        if type(value) in _PROXIES:
            return self.note(value, "a weak proxy")
        self._current = id(value)
        return visit(self, value)

    def _flush(self) -> None:
        """Places for the names of modules, once for all functions that use them."""
        for here, owner, names in self._globals.values():
            self._current = id(here)
            present = [n for n in names if n in here]
            self.place(Names, here, present, owner)
            self.place(Absent, here, [n for n in names if n not in here], owner)
            names.clear()
        for module in self._modules.values():
            self._current = id(module)
            own = vars(module)
            meant = own if self._is_open(module) else self.names.intersection(own)
            fresh = [n for n in meant if (id(own), n) not in self._listed]
            self._mention(own, fresh, f"module {module.__name__}")
            for name in fresh:
                self.follow(own[name], name)
        if any(names for _, _, names in self._globals.values()):
            self._flush()

    def _is_open(self, module: ModuleType) -> bool:
        """Whether any name of a user's module may be read, under a name made at run time."""
        dynamic = not self.names.isdisjoint(_DYNAMIC) and is_users_module(module)
        if dynamic and (id(module), "") not in self._listed:
            self._listed.add((id(module), ""))
            self.sized.append(vars(module))
        return dynamic

    def _mention(self, here: dict[str, Any], names: Iterable[str], owner: str) -> None:
        entry = self._globals.setdefault(id(here), (here, owner, {}))
        for name in names:
            if (id(here), name) not in self._listed:
                self._listed.add((id(here), name))
                entry[2][name] = None

    def place(
        self,
        kind: type[Place],
        container: Any,
        keys: Iterable[Any],
        owner: str,
        named: bool = False,
        waiting: bool = False,
    ) -> None:
        """Guard values in a container, and go on with them; if `named`, they are read only where
        code mentions their key, and if `waiting`, no library reads methods among them either."""
        listed = tuple(keys)
        if not listed and kind not in (Dict, Items, Local, Members):
            return
        place = kind(container, listed, owner)
        self.places.append(place)
        for position, value in enumerate(place.values):
            if isinstance(value, Tensor):
                self.tensors.setdefault(id(value), (place, position))
                self.positions.append((place, position))
            elif value is not MISSING:
                key = listed[position]
                special = not named or (key.startswith("__") and key not in _MAKING)
                self.follow(value, None if special else key, waiting)

    def follow(self, value: Any, name: str | None = None, waiting: bool = False) -> None:
        """Go on with a value, which the present one has; under a name, if that must be mentioned
        for it to be read; `waiting`: with a method as soon as it is."""
        if type(value) in _PROXIES or not _is_ignored(value):
            known = name is None or name in _PROTOCOLS or not isinstance(value, _METHODS)
            if waiting and not known:
                self._unnamed.setdefault(str(name), []).append(value)
            else:
                self._queue.append(value)
            self._edges.setdefault(self._current, []).append((name, value))

    def note(self, value: Any, reason: str) -> None:
        """Say that a value cannot be guarded."""
        self._noted[id(value)] = reason

    # ---- functions and modules

    def function(self, value: FunctionType) -> None:
        """A function: what it closes over, its defaults, its attributes, its globals."""
        if is_vocabulary(value.__code__) or is_librarys_function(value):
            return
        owner = f"function {value.__qualname__}"
        users, names = is_users_code(value.__code__), value.__code__.co_freevars
        if value.__closure__:
            self.place(ClosureCells, value.__closure__, names, owner, named=users)
        self.place(Attributes, value, ("__code__", "__defaults__", "__kwdefaults__"), owner)
        if users:
            if vars(value):
                self.place(Dict, vars(value), tuple(vars(value)), owner)
            else:
                self.sized.append(vars(value))
            self._read(value)

    def _read(self, function: FunctionType) -> None:
        here = function.__globals__
        owner = f"module {here.get('__name__', '?')}"
        for code, chains, names, imports in reads_of(function.__code__):
            self._current = id(code)
            self.names |= names
            for chain in filter(None, chains):
                self._chain(here, chain, owner)
            for level, name in imports:
                self._import(here, level, name)

    def _chain(self, here: dict[str, Any], chain: Chain, owner: str) -> None:
        """A global, and attributes of it for as long as it is a module."""
        self._mention(here, chain[:1], owner)
        if chain[0] not in here and hasattr(builtins, chain[0]):
            self._mention(vars(builtins), chain[:1], "module builtins")
        value = here.get(chain[0], attribute(builtins, chain[0], MISSING))
        self._found(value)
        for name in chain[1:]:
            if not isinstance(value, ModuleType):
                return
            self._mention(vars(value), (name,), f"module {value.__name__}")
            value = vars(value).get(name, MISSING)
            self._found(value)
        if isinstance(value, ModuleType):
            self.follow(value)

    def _found(self, value: Any) -> None:
        if value is not MISSING and not isinstance(value, ModuleType):
            self.follow(value)

    def _import(self, here: dict[str, Any], level: int, name: str) -> None:
        """A module that is imported inside: any name of it may be meant."""
        package = here.get("__package__") or ""
        for _ in range(level - 1):
            package = package.rpartition(".")[0]
        found = sys.modules.get(".".join(filter(None, (package, name))) if level else name)
        if found is None:
            self.complete = False  # it is there once this call has been made
        else:
            self.follow(found)

    def module(self, value: ModuleType) -> None:
        """A module that is handed around: any of its names that is mentioned may be read."""
        self._modules[id(value)] = value

    # ---- what cannot be watched

    def unwatched(self, callbacks: Set[CodeType]) -> str:
        """State that the function reads but no guard can see, as far as its code mentions it;
        callbacks of programs read state when they run. Called once.
        """
        names: set[str] = set()
        seen: set[int] = set()
        waiting: dict[str, list[Any]] = {}
        found: list[Any] = []
        stack = list(self._roots)
        while stack:
            value = stack.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            found.append(value)
            if isinstance(value, FunctionType) and is_users_code(value.__code__):
                parts = [r for r in reads_of(value.__code__) if r.code not in callbacks]
                stack += [r.code for r in parts]
                for new in {n for r in parts for n in r.names} - names:
                    names.add(new)
                    stack += waiting.pop(new, [])
                if value.__code__ in callbacks:
                    continue
            for name, child in self._edges.get(id(value), ()):
                if isinstance(child, type) and child is not type(value) and is_users_class(child):
                    names |= _MAKING
                    stack += [v for made in _MAKING for v in waiting.pop(made, [])]
                if name is None or name in names:
                    stack.append(child)
                else:
                    waiting.setdefault(name, []).append(child)
        reasons = (self._noted.get(id(value)) or unseen(value, names) for value in found)
        reason = next(filter(None, reasons), "")
        del self._edges, self._roots, self._noted, self._seen  # they keep alive what is not guarded
        return reason


def _is_ignored(value: Any) -> bool:
    """Whether there is nothing to be found inside of a value."""
    return is_plain(value) or isinstance(value, _IGNORED)
