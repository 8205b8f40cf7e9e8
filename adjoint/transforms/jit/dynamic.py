"""Dynamic axes of arguments: `jit(f, dynamic={"x": {0: Variable("batch", 1, 64)}})`.

What may live here: reading the declaration, and applying it to the arguments of a call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adjoint.errors import ArgumentError, AxisError, BoundsError, UnknownNameError, did_you_mean
from adjoint.ir.sizes import Variable, settled
from adjoint.tensor import Tensor
from adjoint.transforms.call import argument_spans
from adjoint.transforms.pytree import TreeDef

Axes = Mapping[int, Variable]
Declared = Mapping[int, Axes] | Mapping[str, Axes] | Mapping[int | str, Axes]
Shape = tuple[int, ...]


class Dynamic:
    """Which axes of which arguments vary, each with its variable."""

    __slots__ = ("_by_name", "_by_number", "_name")

    def __init__(self, fn: Callable[..., Any], name: str, declared: Declared | None):
        self._name = name
        self._by_number: dict[int, Axes] = {}
        self._by_name: dict[str, Axes] = {}
        if not isinstance(declared, Mapping | None):
            raise self._wrong(repr(declared))
        names = _parameters(fn) if declared else []
        for argument, axes in (declared or {}).items():
            checked = self._axes(argument, axes)
            if isinstance(argument, str):
                self._by_name[argument] = checked
                if argument not in names and "**" not in names:
                    raise self._unknown(argument, names)
                if argument in names:
                    self._by_number[names.index(argument)] = checked
            else:
                self._by_number[argument] = checked

    def _axes(self, argument: Any, axes: Any) -> Axes:
        whole = isinstance(argument, (int, str)) and not isinstance(argument, bool)
        if not whole or not isinstance(axes, Mapping) or not axes:
            raise self._wrong(f"{argument!r}: {axes!r}")
        for axis, variable in axes.items():
            if type(axis) is not int or not isinstance(variable, Variable):
                raise self._wrong(f"{argument!r}: {{{axis!r}: {variable!r}}}")
        return dict(axes)

    def _wrong(self, got: str) -> ArgumentError:
        problem = f"`dynamic` says of an argument which axes vary; got {got}"
        fix = 'such as dynamic={"x": {0: Variable("batch", 1, 64)}}, or a number for the name'
        return ArgumentError("E2008", problem, op=f"jit of {self._name}", help=fix)

    def _unknown(self, argument: str, names: list[str]) -> UnknownNameError:
        problem = f"there is no argument {argument!r}, of which an axis is to vary"
        fix = did_you_mean(argument, names)
        return UnknownNameError("E2002", problem, op=f"jit of {self._name}", help=fix)

    def shapes(self, leaves: Sequence[Any], treedef: TreeDef) -> dict[int, Shape]:
        """Of the leaves that are tensors of such an argument: their shapes, which say what varies.

        Every tensor of a container has the axes of the argument.
        """
        found: dict[int, Shape] = {}
        bound: dict[str, tuple[int, str]] = {}
        for number, what, axes in self._leaf_axes(treedef):
            if isinstance(leaves[number], Tensor):
                found[number] = self._shape(leaves[number], what, axes, bound)
        return found

    def _leaf_axes(self, treedef: TreeDef) -> list[tuple[int, str, Axes]]:
        """The number of each leaf that has such axes, and which argument it is of."""
        known: Mapping[Any, Axes] = {**self._by_number, **self._by_name}
        spans = [(label, span) for label, span in argument_spans(treedef) if label in known]
        return [(i, f"argument {label!r}", known[label]) for label, span in spans for i in span]

    def _shape(
        self, leaf: Tensor, what: str, axes: Axes, bound: dict[str, tuple[int, str]]
    ) -> Shape:
        sizes = list(leaf.shape)
        for axis, variable in axes.items():
            if not -len(sizes) <= axis < len(sizes):
                problem = f"axis {axis} of {what} is to vary, which has {len(sizes)} axes"
                raise AxisError("E3004", problem, op=f"jit of {self._name}")
            size = int(sizes[axis])
            before, where = bound.setdefault(variable.name, (size, what))
            if before != size:
                problem = f"{variable.name!r} is {before} in {where} and {size} in {what}"
                fix = "sizes that differ have variables of their own"
                raise BoundsError("E3003", problem, op=f"jit of {self._name}", help=fix)
            sizes[axis] = variable.bind(size)
        return settled(tuple(sizes))


def _parameters(fn: Callable[..., Any]) -> list[str]:
    """The names of the arguments; "**" if any name is allowed, or none is known."""
    try:
        found = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):  # a builtin
        return ["**"]
    return ["**" if p.kind is p.VAR_KEYWORD else p.name for p in found]
