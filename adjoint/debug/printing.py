"""Shows values while a program runs: `print` and `callback`.

Both work everywhere: in plain code at once; inside jit, vmap and loops each time the program runs,
in the order of the code. Elsewhere: how effects get into programs (`transforms/effects.py`).
"""

from __future__ import annotations

import builtins
import string
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError
from adjoint.ir.dtype import plain
from adjoint.ir.effect import Effect
from adjoint.ir.uop import UOp
from adjoint.ir.weak import SameObject
from adjoint.tensor import Tensor
from adjoint.transforms.effects import emit
from adjoint.transforms.pytree import TreeDef, tree_flatten, tree_unflatten

_PLAIN = (str, bool, int, float, complex, type(None))


def print(fmt: str, /, *args: Any, ordered: bool = True, **kwargs: Any) -> None:
    """Print `fmt.format(*args, **kwargs)` with the values that the tensors have when it runs.

    Tensors may be inside lists, tuples and dicts; anything else is printed with its present value.
    Inside `vmap` there is one line per call, with the whole batch. With `ordered=False` a line may
    come before or after others of the same program.
    """
    _check_fields(fmt, args, kwargs)
    nodes, values = _taken_apart((args, kwargs))
    _check_format(fmt, nodes, values)

    def perform(arrays: Sequence[Any]) -> None:
        builtins.print(_formatted(fmt, values, arrays))

    key = ("print", fmt, values.key)
    emit(Effect("debug.print", perform, key), nodes, ordered)


def callback(fn: Callable[..., Any], /, *args: Any, ordered: bool = True, **kwargs: Any) -> None:
    """Call `fn(*args, **kwargs)` each time this place of the program runs.

    Tensors come as NumPy arrays that `fn` may keep; its result is ignored, and an exception ends
    the run. Inside `vmap` it is called once, with the whole batch.
    """
    if not callable(fn):
        problem = f"takes a function and its arguments, not a {type(fn).__name__}"  # type: ignore[unreachable]
        raise ArgumentError("E2001", problem, op="debug.callback")
    nodes, values = _taken_apart((args, kwargs))

    def perform(arrays: Sequence[Any]) -> None:
        given, named = values.with_arrays(arrays)
        fn(*given, **named)

    key = ("callback", _function_key(fn), values.key)
    emit(Effect("debug.callback", perform, key), nodes, ordered)


# ---- arguments


def _function_key(fn: Any) -> Any:
    """A function that is created at every trace is the same if its code and its closure are."""
    if type(fn) is not FunctionType:
        return SameObject(fn)
    try:
        cells = [cell.cell_contents for cell in fn.__closure__ or ()]
    except ValueError:  # one is still empty
        return SameObject(fn)
    named = fn.__kwdefaults__ or {}
    defaults = [*(fn.__defaults__ or ()), *named.values()]
    return fn.__code__, tuple(map(SameObject, (*cells, *defaults))), tuple(named)


class _Values:
    """The arguments without their tensors: where these were, and everything else in its place.

    An effect is kept as long as its program, and must not keep tensors alive.
    """

    __slots__ = ("places", "static", "treedef")

    def __init__(self, leaves: list[Any], treedef: TreeDef):
        self.places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
        self.static = [None if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        self.treedef = treedef

    @property
    def key(self) -> Any:
        plain = [
            (type(v), repr(v)) if isinstance(v, _PLAIN) else SameObject(v) for v in self.static
        ]
        return self.treedef, tuple(self.places), tuple(plain)

    def with_arrays(self, arrays: Sequence[Any]) -> Any:
        """The arguments with arrays instead of tensors."""
        leaves = list(self.static)
        for place, array in zip(self.places, arrays, strict=True):
            leaves[place] = array
        return tree_unflatten(self.treedef, leaves)


def _taken_apart(tree: Any) -> tuple[list[UOp], _Values]:
    leaves, treedef = tree_flatten(tree)
    return [t.uop for t in leaves if isinstance(t, Tensor)], _Values(leaves, treedef)


# ---- text


class _Shown(np.ndarray[Any, Any]):
    """An array that takes a format for its elements: `{x:.3f}`."""

    def __format__(self, spec: str) -> str:
        if self.ndim == 0:
            return format(self.item(), spec)
        if not spec:
            return str(np.asarray(self))
        how = {"all": lambda element: format(_python(element), spec)}
        return np.array2string(np.asarray(self), formatter=how)  # type: ignore[arg-type]


def _python(element: Any) -> Any:
    return element.item() if isinstance(element, np.generic) else element


def _formatted(fmt: str, values: _Values, arrays: Sequence[Any]) -> str:
    args, kwargs = values.with_arrays([plain(np.asarray(a)).view(_Shown) for a in arrays])
    return fmt.format(*args, **kwargs)


def _check_fields(fmt: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Every name in the text is an argument, said where the user can see which is not."""
    try:
        fields = [name for _, name, _, _ in string.Formatter().parse(fmt) if name is not None]
    except (ValueError, TypeError) as error:
        problem = f"the text is no format: {error}"
        raise ArgumentError(
            "E2001", problem, op="debug.print", help="write {{ for a brace"
        ) from None
    names = [field.partition(".")[0].partition("[")[0] for field in fields]
    missing = [n for n in names if n and not n.isdigit() and n not in kwargs]
    if missing:
        fix = f"pass it: debug.print(..., {missing[0]}=...)"
        problem = f"the text asks for {missing[0]!r}, which is not given"
        raise ArgumentError("E2007", problem, op="debug.print", help=fix)
    wanted = sum(1 for n in names if not n)
    if wanted > len(args) or any(int(n) >= len(args) for n in names if n.isdigit()):
        problem = f"the text asks for more values than the {len(args)} that are given in order"
        raise ArgumentError("E2007", problem, op="debug.print")


def _check_format(fmt: str, nodes: list[UOp], values: _Values) -> None:
    """A format that does not fit its value fails here, not when the program runs."""
    like = [np.zeros([min(n, 1) for n in node.shape], node.dtype.np) for node in nodes]
    try:
        _formatted(fmt, values, like)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        problem = f"the text does not fit its values: {error}"
        raise ArgumentError("E2001", problem, op="debug.print") from None
