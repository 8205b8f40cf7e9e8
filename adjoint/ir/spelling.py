"""Both spellings of an option: `dim` and `axis`, `keepdim` and `keepdims`, `min_` and `min`.

A record names its options once; a call may use the names of torch or of NumPy.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache, update_wrapper
from typing import Any, TypeVar, cast

from adjoint.errors import ArgumentError
from adjoint.ir.origin import renamed

_GROUPS = (
    ("dim", "axis", "dims", "axes", "order"),
    ("keepdim", "keepdims"),
    ("correction", "ddof"),
    ("dim0", "axis0"),
    ("dim1", "axis1"),
    ("dim2", "axis2"),
    ("min_", "min"),
    ("max_", "max"),
)
_EMPTY = ("out", "dtype")  # NumPy passes these as None to methods: `np.mean(x)` does
_COUNTS = frozenset({"tile"})  # whose `dims` are no axes


F = TypeVar("F", bound=Callable[..., Any])


class Spelling:
    """The names by which a function's options can be given."""

    __slots__ = ("every", "op", "open", "own", "spread")

    def __init__(self, op: str, function: Callable[..., Any]):
        parameters = dict(inspect.signature(function).parameters)
        parameters.pop("names", None)  # `**names` declares the other names of options
        self.op = op
        self.every = frozenset(parameters)
        self.own = {} if op in _COUNTS else _other_names(self.every)
        kinds = {name: p.kind for name, p in parameters.items()}
        self.open = inspect.Parameter.VAR_KEYWORD in kinds.values()
        self.spread = {n for n, kind in kinds.items() if kind is inspect.Parameter.VAR_POSITIONAL}

    def __call__(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The call with the function's own names; one option by two names is refused."""
        result: dict[str, Any] = {}
        names: dict[str, str] = {}
        for name, value in kwargs.items():
            own = self.own.get(name, name)
            if names.setdefault(own, name) != name:
                problem = f"{names[own]} and {name} are one option"
                raise ArgumentError("E2007", problem, op=self.op, help=f"give {own} alone")
            if name in _EMPTY and name not in self.every:
                self._absent(name, value)
            elif own in self.spread:
                args = (*args, *value) if isinstance(value, (tuple, list)) else (*args, value)
            else:
                result[own] = value
        return args, result

    def check(self, kwargs: dict[str, Any]) -> None:
        """Refuse a name that the function does not have."""
        for name in kwargs:
            if name not in self.every and not self.open:
                fix = f"it takes ({', '.join(sorted(self.every))})"
                raise ArgumentError("E2007", f"there is no option {name!r}", op=self.op, help=fix)

    def _absent(self, name: str, value: Any) -> None:
        if value is not None:
            fix = "results are new tensors" if name == "out" else ".cast(dtype) of the result"
            raise ArgumentError("E2007", f"{name} is None here", op=self.op, help=fix)


def _other_names(every: frozenset[str]) -> dict[str, str]:
    """Other name → own name, for each group of which the function has one."""
    found: dict[str, str] = {}
    for group in _GROUPS:
        own = [name for name in group if name in every]
        if len(own) == 1:
            found |= {name: own[0] for name in group if name != own[0]}
    return found


@lru_cache(maxsize=2048)
def spelling_of(op: str, function: Callable[..., Any]) -> Spelling:
    """How the options of a function can be spelled."""
    return Spelling(op, function)


def spelled(function: F) -> F:
    """Decorator: the function takes its options by either name.

    Where `axis` is the first option and keyword-only, as in the standard, a call may also give it
    by position. Tracebacks and origins show the function's name.
    """
    respell = Spelling(function.__name__, function)
    first = _first_option(function)
    count = 1 + len(_positional(function)) if first in respell.own.values() else 0

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            args, kwargs = respell(args, kwargs)
            respell.check(kwargs)
        if count and len(args) == count and first not in kwargs:
            kwargs[first], args = args[-1], args[:-1]
        return function(*args, **kwargs)

    shown: Any = update_wrapper(renamed(call, function.__name__), function)
    shown.__signature__ = inspect.signature(function)
    return cast(F, shown)


def has_twins(function: Callable[..., Any]) -> bool:
    """Whether some option of the function has another name."""
    return bool(_other_names(frozenset(inspect.signature(function).parameters)))


def _positional(function: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(function).parameters.items()
    return [name for name, p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY]


def _first_option(function: Callable[..., Any]) -> str:
    """The first parameter that is given by name alone."""
    parameters = inspect.signature(function).parameters.items()
    return next((n for n, p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY), "")
