"""Modules made of modules: Sequential, ModuleList, ModuleDict, ParameterList.

Their parts are attributes whose names are the numbers or keys, so state has torch's names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

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
    """A list of tensors that want gradients."""

    def __init__(self, values: Iterable[Any] = ()):
        self._put(values)

    def _checked(self, item: Any) -> Any:
        tensor = item if isinstance(item, Tensor) else Tensor(item)
        return tensor.requires_grad_() if tensor.requires_grad is None else tensor

    def extra_repr(self) -> str:
        return ", ".join(f"{t.dtype.short}{list(t.shape)}" for t in self._items())


class ModuleDict(Module):
    """Modules by name; it is no layer itself."""

    def __init__(self, modules: Mapping[str, Module] | None = None):
        self.update(modules or {})

    def __getitem__(self, key: str) -> Module:
        if key not in self:
            near = did_you_mean(str(key), self.keys())
            raise UnknownNameError("E2002", f"no module {key!r}", op="ModuleDict", help=near)
        found: Module = vars(self)[key]
        return found

    def __setitem__(self, key: str, module: Any) -> None:
        if not isinstance(module, Module):
            problem = f"ModuleDict holds modules, not {type(module).__name__}"
            raise ArgumentError("E2001", problem, op="ModuleDict")
        if key not in self:
            _check_name(self, key)
        setattr(self, key, module)

    def __delitem__(self, key: str) -> None:
        self.pop(key)

    def __len__(self) -> int:
        return len(self.keys())

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and isinstance(vars(self).get(key), Module)

    def keys(self) -> list[str]:
        """The names."""
        return [name for name, value in vars(self).items() if isinstance(value, Module)]

    def values(self) -> list[Module]:
        """The modules."""
        return [self[name] for name in self.keys()]

    def items(self) -> list[tuple[str, Module]]:
        """The names with their modules."""
        return [(name, self[name]) for name in self.keys()]

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add or replace modules."""
        pairs = modules.items() if isinstance(modules, Mapping) else modules
        for key, module in pairs:
            self[key] = module

    def pop(self, key: str) -> Module:
        """Take a module out."""
        module = self[key]
        delattr(self, key)
        return module

    def clear(self) -> None:
        """Take all modules out."""
        for key in self.keys():
            delattr(self, key)


def _check_name(owner: Module, name: Any) -> None:
    """The name of a part becomes an attribute, and part of the names of its tensors."""
    kind = type(owner).__name__
    if not isinstance(name, str) or not name or "." in name:
        problem = f"{name!r} cannot be the name of a module"
        raise ArgumentError("E2008", problem, op=kind, help="give a string without dots")
    if hasattr(owner, name):
        problem = f"{name!r} is the name of something that a {kind} has already"
        raise ArgumentError("E2008", problem, op=kind, help="choose another name")
