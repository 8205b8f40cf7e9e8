"""Why a function is traced again, and the warnings about it.

What may live here: finding and counting reasons. What may not: deciding whether to trace.
"""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

from adjoint.errors import JitWarning
from adjoint.ir.sizes import Size, varies
from adjoint.transforms.call import argument_spans

MAX_PER_REASON = 8  # traces for one reason that need no word
_TENSOR = ("shape", "dtype", "device", "requires_grad")


class Reasons:
    """How often a function was traced again for each reason; each is reported once."""

    __slots__ = ("_counts", "_name", "_said")

    def __init__(self, name: str):
        self._name, self._counts = name, Counter[str]()
        self._said: set[str] = set()

    @property
    def counts(self) -> dict[str, int]:
        """How often each was why."""
        return dict(self._counts)

    def add(self, reason: str) -> None:
        """Count a reason; warn about a frequent one."""
        self._counts[reason] += 1
        if self._counts[reason] > MAX_PER_REASON:
            problem = f"jit of {self._name}: traced {MAX_PER_REASON + 1} times because of {reason}"
            fix = "keep what changes in a tensor, pass it as one, or declare sizes that vary: "
            fix += 'dynamic={0: {0: Variable("n", 1, 64)}}'
            self._say(reason, JitWarning("W8002", problem, fix))

    def unwatched(self, what: str) -> None:
        """Say that the function reads what jit cannot watch."""
        problem = f"jit of {self._name}: it reads {what}, which jit cannot watch; it is traced at "
        fix = "read it outside and pass it as an argument"
        self._say(what, JitWarning("W8001", f"{problem}every call", fix))

    def changed(self) -> None:
        """Say that the caller does not see a change of a container."""
        problem = f"jit of {self._name}: it changes a list or dict among its arguments, which the "
        fix = "return what is new, or close over the container"
        self._say("changed", JitWarning("W8003", f"{problem}caller does not see", fix))

    def _say(self, reason: str, warning: JitWarning) -> None:
        if reason not in self._said:
            self._said.add(reason)
            warnings.warn(warning, stacklevel=6)


def difference(old: tuple[Any, ...], new: tuple[Any, ...]) -> str:
    """In what two keys of traces differ: (treedef, leaves …, what else trees differ in, aliases,
    ambient, checked)."""
    if (old[0], old[-4]) != (new[0], new[-4]):
        return "the structure of its arguments"
    leaves = zip(old[1:-4], new[1:-4], strict=True)
    for number, (one, other) in enumerate(leaves):
        if one != other:
            spans = argument_spans(new[0])
            return f"{_aspect(one, other)} of argument {next(i for i, s in spans if number in s)!r}"
    if old[-3] != new[-3]:
        return "which of its arguments are the same tensor"
    return "the default device or dtype, training mode, no_grad, autocast or debugging"


def only_sizes(
    old: tuple[Any, ...] | None, new: tuple[Any, ...], shapes: dict[int, tuple[int, ...]]
) -> bool:
    """Whether two keys differ only in dynamic sizes; `shapes`: those that are declared."""
    if old is None or len(old) != len(new) or old[0] != new[0] or old[-4:] != new[-4:]:
        return False
    rows = [(i, a, b) for i, (a, b) in enumerate(zip(old[1:-4], new[1:-4], strict=True)) if a != b]
    return bool(rows) and all(_varied(a, b, shapes.get(i)) for i, a, b in rows)


def _varied(one: Any, other: Any, declared: tuple[int, ...] | None) -> bool:
    if not _are_tensors(one, other):
        return isinstance(other, tuple) and other[0] is Size  # a size among the arguments
    shape = other[0] if declared is None else declared
    same = one[1:] == other[1:] and len(one[0]) == len(shape)
    return same and all(a == b or varies(b) for a, b in zip(one[0], shape, strict=True))


def _are_tensors(*keys: Any) -> bool:
    return all(isinstance(key, tuple) and len(key) == len(_TENSOR) for key in keys)


def _aspect(one: Any, other: Any) -> str:
    if _are_tensors(one, other):
        return "the " + next(n for n, a, b in zip(_TENSOR, one, other, strict=True) if a != b)
    return "the value"
