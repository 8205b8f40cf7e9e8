"""Modules made of parts: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict.

Their parts are attributes whose names are the numbers or keys, so state has torch's names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Generic, Self, TypeVar

from adjoint.errors import ArgumentError, BoundsError, UnknownNameError, did_you_mean
from adjoint.nn.module import Module
from adjoint.tensor import Tensor


class _Numbered(Module):
    """Parts with the names "0", "1", …"""

    def _names(self) -> list[str]:
        return [name for name in vars(self) if name.isdigit()]

    def _items(self) -> list[Any]:
        return [vars(self)[name] for name in self._names()]

    def _put(self, items: Iterable[Any]) -> None:
        """Have these parts and no others."""
        values = [self._checked(item) for item in items]
        for name in self._names():
            delattr(self, name)
        for number, value in enumerate(values):
            setattr(self, str(number), value)

    def _checked(self, item: Any) -> Any:
        if not isinstance(item, Module):
            kind, found = type(self).__name__, type(item).__name__
            fix = "wrap a function in a Module with forward(self, x)"
            raise ArgumentError("E2001", f"{kind} holds modules, not {found}", op=kind, help=fix)
        return item

    def _place(self, index: int) -> int:
        count = len(self)
        if not isinstance(index, int) or not -count <= index < count:
            problem = f"index {index!r} is not the number of one of {count} parts"
            raise BoundsError("E6001", problem, op=type(self).__name__)
        return index % count

    def __len__(self) -> int:
        return len(self._items())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items())

    def __contains__(self, item: Any) -> bool:
        return any(item is part for part in self._items())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            chosen = type(self)()
            chosen._put(self._items()[index])
            return chosen
        return self._items()[self._place(index)]

    def __setitem__(self, index: int, item: Any) -> None:
        setattr(self, self._names()[self._place(index)], self._checked(item))

    def __delitem__(self, index: Any) -> None:
        items = self._items()
        del items[index if isinstance(index, slice) else self._place(index)]
        self._put(items)

    def append(self, item: Any) -> Self:
        """Add a part at the end."""
        setattr(self, str(len(self)), self._checked(item))
        return self

    def extend(self, items: Iterable[Any]) -> Self:
        """Add parts at the end."""
        self._put([*self._items(), *items])
        return self

    def insert(self, index: int, item: Any) -> Self:
        """Add a part before another."""
        items = self._items()
        items.insert(index, item)
        self._put(items)
        return self

    def pop(self, index: int = -1) -> Any:
        """Take a part out."""
        taken = self[index]
        del self[index]
        return taken

    def __add__(self, other: Iterable[Any]) -> Self:
        made = type(self)()
        made._put([*self._items(), *other])
        return made


class Sequential(_Numbered):
    """One module after another; names come from a dict, else they are numbers."""

    def __init__(self, *modules: Any):
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                _check_name(self, name)
                setattr(self, name, self._checked(module))
        else:
            self._put(modules)

    def _names(self) -> list[str]:
        return [name for name, value in vars(self).items() if isinstance(value, Module)]

    def forward(self, x: Any) -> Any:
        for module in self._items():
            x = module(x)
        return x


class ModuleList(_Numbered):
    """A list of modules; it is no layer itself."""

    def __init__(self, modules: Iterable[Module] = ()):
        self._put(modules)


class ParameterList(_Numbered):
    """A list of tensors that require gradients."""

    def __init__(self, values: Iterable[Any] = ()):
        self._put(values)

    def _checked(self, item: Any) -> Any:
        return _parameter(item)

    def extra_repr(self) -> str:
        return ", ".join(f"{t.dtype.short}{list(t.shape)}" for t in self._items())


def _parameter(item: Any) -> Tensor:
    """A tensor that requires a gradient, unless its `requires_grad` is False."""
    tensor = item if isinstance(item, Tensor) else Tensor(item)
    return tensor.requires_grad_() if tensor.requires_grad is None else tensor


P = TypeVar("P")


class _Named(Module, Generic[P]):
    """Parts of one type by name; subclasses say which."""

    _part: ClassVar[type]
    _noun: ClassVar[str]

    def __init__(self, parts: Mapping[str, P] | Iterable[tuple[str, P]] | None = None):
        self.update(parts or {})

    def _checked(self, item: Any) -> Any:
        """The part to store for an item; an item that cannot be a part is an error."""
        return item

    def __getitem__(self, key: str) -> P:
        if key not in self:
            near = did_you_mean(str(key), self.keys())
            problem, op = f"no {self._noun} {key!r}", type(self).__name__
            raise UnknownNameError("E2002", problem, op=op, help=near)
        found: P = vars(self)[key]
        return found

    def __setitem__(self, key: str, item: Any) -> None:
        part = self._checked(item)
        if key not in self:
            _check_name(self, key)
        setattr(self, key, part)

    def __delitem__(self, key: str) -> None:
        self.pop(key)

    def __len__(self) -> int:
        return len(self.keys())

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and isinstance(vars(self).get(key), self._part)

    def keys(self) -> list[str]:
        """The names."""
        return [name for name, value in vars(self).items() if isinstance(value, self._part)]

    def values(self) -> list[P]:
        """The parts."""
        return [self[name] for name in self.keys()]

    def items(self) -> list[tuple[str, P]]:
        """The names with their parts."""
        return [(name, self[name]) for name in self.keys()]

    def get(self, key: str, default: P | None = None) -> P | None:
        """The part of that name; the default where there is none."""
        return dict(self.items()).get(key, default)

    def update(self, parts: Mapping[str, P] | Iterable[tuple[str, P]]) -> None:
        """Add or replace parts."""
        pairs = parts.items() if isinstance(parts, Mapping) else parts
        for key, part in pairs:
            self[key] = part

    def pop(self, key: str) -> P:
        """Remove a part and return it."""
        part = self[key]
        delattr(self, key)
        return part

    def clear(self) -> None:
        """Remove all parts."""
        for key in self.keys():
            delattr(self, key)


class ModuleDict(_Named[Module]):
    """Modules by name; it is no layer itself."""

    _part, _noun = Module, "module"

    def _checked(self, item: Any) -> Any:
        if not isinstance(item, Module):
            problem = f"ModuleDict holds modules, not {type(item).__name__}"
            raise ArgumentError("E2001", problem, op="ModuleDict")
        return item


class ParameterDict(_Named[Tensor]):
    """Tensors that require gradients, by name."""

    _part, _noun = Tensor, "parameter"

    def _checked(self, item: Any) -> Any:
        return _parameter(item)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}: {t.dtype.short}{list(t.shape)}" for name, t in self.items())


def _check_name(owner: Module, name: Any) -> None:
    """The name of a part becomes an attribute, and part of the names of its tensors."""
    kind = type(owner).__name__
    if not isinstance(name, str) or not name or "." in name:
        problem = f"{name!r} cannot be the name of a part"
        raise ArgumentError("E2008", problem, op=kind, help="give a string without dots")
    if hasattr(owner, name):
        problem = f"{name!r} is the name of something that a {kind} has already"
        raise ArgumentError("E2008", problem, op=kind, help="choose another name")
