"""The protocol of a collectives engine: one member's view of a group.

What may live here: the protocol and the data of a call, with its checks. What may not: any engine.

Every member of a group makes the same collective calls in the same order, with arrays of equal
dtypes and shapes. `label` identifies the caller (the op, the user's line) for people: it appears in
errors, and may differ between members. Sums and products are joined in the order of `joins.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from adjoint.errors import CommunicationError

KINDS = ("sum", "max", "min", "prod")
Pairs = Sequence[tuple[int, int]]  # (from, to)


class Communicator(Protocol):
    """One member's view of a group of members that run one program.

    Arrays are C-contiguous. On the host they are NumPy's; what an engine of a device takes has
    `shape` and `dtype` too. A source may be its own target.
    """

    @property
    def rank(self) -> int: ...

    @property
    def size(self) -> int: ...

    def group(self, members: tuple[int, ...]) -> Communicator:
        """The members of this group with these ranks, in this order; all of them call it."""
        ...

    def all_reduce(self, source: Any, target: Any, kind: str, *, label: str) -> None:
        """`target` = the sources of all members, joined."""
        ...

    def all_gather(self, source: Any, target: Any, *, label: str) -> None:
        """`target[r]` = the source of member r."""
        ...

    def reduce_scatter(self, source: Any, target: Any, kind: str, *, label: str) -> None:
        """`target` of member r = `source[r]` of all members, joined."""
        ...

    def all_to_all(self, source: Any, target: Any, *, label: str) -> None:
        """`target[s]` of member r = `source[r]` of member s."""
        ...

    def permute(self, source: Any, target: Any, pairs: Pairs, *, label: str) -> None:
        """`target` of `to` = the source of `from`; zeros where no pair sends."""
        ...

    def barrier(self, *, label: str) -> None:
        """Return when every member has called it."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """What a member asks of its group; members whose signatures differ cannot go on."""

    collective: str
    label: str = ""
    kind: str = ""
    dtype: str = ""
    shape: tuple[int, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()

    @property
    def signature(self) -> str:
        """`all_reduce sum float32[4, 2]`: equal for all members."""
        words = [self.collective, self.kind]
        if self.dtype:
            words.append(f"{self.dtype}{list(self.shape)}")
        return " ".join(filter(None, [*words, str(list(self.pairs)) if self.pairs else ""]))

    def __str__(self) -> str:
        return f"{self.signature} ({self.label})" if self.label else self.signature


def all_reduce_call(source: Any, target: Any, kind: str, label: str) -> Call:
    """The call of `all_reduce`, or the error that its arguments deserve."""
    call = Call("all_reduce", label, kind, _name(source.dtype), tuple(source.shape))
    return _checked(call, source, target, call.shape, call.shape)


def all_gather_call(source: Any, target: Any, size: int, label: str) -> Call:
    """The call of `all_gather`, or the error that its arguments deserve."""
    call = Call("all_gather", label, "", _name(source.dtype), tuple(source.shape))
    return _checked(call, source, target, call.shape, (size, *call.shape))


def reduce_scatter_call(source: Any, target: Any, kind: str, size: int, label: str) -> Call:
    """The call of `reduce_scatter`, or the error that its arguments deserve."""
    part = tuple(target.shape)
    call = Call("reduce_scatter", label, kind, _name(source.dtype), (size, *part))
    return _checked(call, source, target, call.shape, part)


def all_to_all_call(source: Any, target: Any, size: int, label: str) -> Call:
    """The call of `all_to_all`, or the error that its arguments deserve."""
    call = Call("all_to_all", label, "", _name(source.dtype), (size, *tuple(source.shape)[1:]))
    return _checked(call, source, target, call.shape, call.shape)


def permute_call(source: Any, target: Any, pairs: Pairs, size: int, label: str) -> Call:
    """The call of `permute`, or the error that its arguments deserve."""
    ordered = tuple(sorted((int(a), int(b)) for a, b in pairs))
    call = Call("permute", label, "", _name(source.dtype), tuple(source.shape), ordered)
    for ends in zip(*ordered, strict=True):
        if len(set(ends)) < len(ends) or not all(0 <= end < size for end in ends):
            refuse(call, f"a member sends and receives once, and is one of 0 to {size - 1}")
    return _checked(call, source, target, call.shape, call.shape)


def message_call(kind: str, array: Any, label: str) -> Call:
    """The call of `send` or `receive`, or the error that its arguments deserve."""
    call = Call(kind, label, "", _name(array.dtype), tuple(array.shape))
    if not _is_dense(array):
        refuse(call, "arrays are C-contiguous")
    return call


def check_message(wanted: Call, sent: Call, me: int, source: int) -> None:
    """E7020 if what was sent is not what is received."""
    if (wanted.dtype, wanted.shape) != (sent.dtype, sent.shape):
        error = tell_apart([wanted, sent], [me, source])
        assert error is not None
        raise error


def refuse(call: Call, problem: str) -> None:
    """Arguments that no engine can carry out."""
    raise CommunicationError("E7023", problem, op=call.collective, operands=[("call", str(call))])


def _checked(call: Call, source: Any, target: Any, gives: Any, takes: Any) -> Call:
    if tuple(source.shape) != tuple(gives) or tuple(target.shape) != tuple(takes):
        given = f"{list(source.shape)} and {list(target.shape)}"
        refuse(call, f"source and target are {list(gives)} and {list(takes)}, not {given}")
    if source.dtype != target.dtype:
        refuse(call, f"source and target are of {source.dtype} and {target.dtype}")
    if not (_is_dense(source) and _is_dense(target)):
        refuse(call, "arrays are C-contiguous")
    if call.kind and call.kind not in KINDS:
        refuse(call, f"a reduction is one of {', '.join(KINDS)}, not {call.kind!r}")
    if call.kind and not can_join(call.dtype, call.kind):
        refuse(call, f"{call.dtype} has no {call.kind}")
    return call


def _is_dense(array: Any) -> bool:
    return not isinstance(array, np.ndarray) or array.flags.c_contiguous


@lru_cache(maxsize=256)
def _name(dtype: Any) -> str:
    return str(dtype)


@lru_cache(maxsize=256)
def can_join(dtype: str, kind: str) -> bool:
    """Whether Adjoint computes this of the dtype; bytes of any dtype can be moved."""
    if dtype.startswith("float8"):
        return False
    return kind in ("sum", "prod") if dtype.startswith("complex") else _orders(dtype, kind)


def _orders(dtype: str, kind: str) -> bool:
    return dtype != "bool" or kind in ("max", "min")


def tell_apart(calls: Sequence[Call], members: Sequence[int]) -> CommunicationError | None:
    """The error for members whose calls differ, naming two of them with their call sites."""
    other = next((i for i, c in enumerate(calls) if c.signature != calls[0].signature), None)
    if other is None:
        return None
    pairs = [(f"member {members[i]}", str(calls[i])) for i in (0, other)]
    return CommunicationError(
        "E7020",
        f"members {members[0]} and {members[other]} call different collectives",
        operands=Places(pairs),
        help="every member runs the same program: look for a condition on the rank",
    )


class Places(list[tuple[str, Any]]):
    """Members and what they call, shown as they are."""

    def __init__(self, rows: Sequence[tuple[str, str]]):
        super().__init__((name, _Shown(text)) for name, text in rows)


class _Shown(str):
    """A text that an error shows without quotes."""

    def __repr__(self) -> str:
        return str(self)
