"""The table of rules that a node may match: patterns are matched from the leaves up.

The state of a node is everything that patterns can distinguish: its dtype, and the subpatterns that
it matches. A state follows from the op, the dtype and the states of the sources. There are few
states, so a table has the rules of each. It grows with new combinations, and a look-up costs the
same however many rules there are. `rewrite.py` applies a match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from adjoint.ir.dtype import DType
from adjoint.ir.kernel_kind import CONSTANT
from adjoint.ir.opdef import OpDef
from adjoint.ir.pattern import Apply, Number, Pattern, Var, admits, is_number, same_number
from adjoint.ir.uop import UOp

Key = tuple[Any, ...]  # op, dtype, whether the last two sources are one, the states of sources
TypeTests = tuple[tuple[str, Callable[[DType], bool]], ...]  # by the name of what has the dtype


class Matchable(Protocol):
    """What has a pattern, and conditions on dtypes of what the pattern binds."""

    @property
    def pattern(self) -> Pattern: ...

    @property
    def types(self) -> TypeTests: ...


R = TypeVar("R", bound=Matchable)


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Everything that the rules' patterns can distinguish of a node: `parts` are those it
    matches.
    """

    dtype: Any
    is_number: bool
    parts: frozenset[Any]

    def fits(self, wanted: Pattern) -> bool:
        """Whether a part of a pattern matches; which names are one node is not looked at."""
        if isinstance(wanted, Var):
            return self.is_number or not wanted.const
        return _part(wanted) in self.parts


class MatchTable(Generic[R]):
    """The states of nodes under a set of rules, and for each the rules to try, in their order."""

    def __init__(self, rules: Iterable[R]):
        self.entries: dict[Key, tuple[State, tuple[R, ...]]] = {}
        self._rules = tuple(rules)
        self._states: dict[Any, State] = {}
        parts = {_part(p): p for rule in self._rules for p in _inside(rule.pattern)}
        self._applied = [p for p in parts.values() if isinstance(p, Apply)]
        self._of_op: dict[OpDef, tuple[list[Apply], list[R]]] = {}
        self._numbers = [p for p in parts.values() if isinstance(p, Number)]
        self._hashes = {hash(p.value) for p in self._numbers}
        self._has_nan = any(p.value != p.value for p in self._numbers)  # one hashes as no other

    def leaf(self, node: UOp) -> Key:
        """The key of a node without sources: of a constant, its value if patterns name that."""
        if node.op.kernel is not CONSTANT:
            return node.op, node.dtype, False
        if not self._has_nan and hash(node.arg.value) not in self._hashes:  # as of equal numbers
            return node.op, node.dtype, False, is_number(node), ()
        named = tuple(_part(p) for p in self._numbers if same_number(p.value, node))
        return node.op, node.dtype, False, is_number(node), named

    def add(self, key: Key) -> tuple[State, tuple[R, ...]]:
        """The state of a node with a key that was not seen before, and the rules it may match."""
        op, dtype, twins, *sources = key
        applied, asked = self._of_op.get(op) or self._add_op(op)
        if op.kernel is CONSTANT:
            number, named = sources
            state, sources = self._state(dtype, number, named if number else ()), []
        else:
            parts = [p for p in applied if _orders(p, op, twins, sources)]
            state = self._state(dtype, False, parts)
        rules = tuple(rule for rule in asked if _may_match(rule, op, dtype, twins, sources))
        self.entries[key] = state, rules
        return state, rules

    def _add_op(self, op: OpDef) -> tuple[list[Apply], list[R]]:
        """The parts and the rules whose pattern admits the op; most name another."""
        applied = [part for part in self._applied if admits(part, op)]
        found = applied, [rule for rule in self._rules if admits(rule.pattern, op)]
        self._of_op[op] = found
        return found

    def _state(self, dtype: Any, number: bool, parts: Iterable[Any]) -> State:
        state = State(dtype, number, frozenset(parts))
        return self._states.setdefault((dtype, number, state.parts), state)


class Matcher(Generic[R]):
    """A table and the states of the nodes of one graph; a node's sources come before it."""

    __slots__ = ("_state_of", "_states", "_table")

    def __init__(self, table: MatchTable[R]):
        self._table = table
        self._states: dict[UOp, State] = {}
        self._state_of = self._states.__getitem__

    def rules(self, node: UOp) -> tuple[R, ...]:
        """The rules that the node may match, in their order."""
        table, src = self._table, node.src
        if src:
            twins = len(src) > 1 and src[-1] is src[-2]
            key: Key = (node.op, node.dtype, twins, *map(self._state_of, src))
        else:
            key = table.leaf(node)
        found = table.entries.get(key) or table.add(key)
        self._states[node] = found[0]
        return found[1]


def _part(pattern: Pattern) -> Any:
    """What a state says of a part: of numbers, one name for all that are the same."""
    return repr(pattern.value) if isinstance(pattern, Number) else pattern


def _inside(pattern: Pattern) -> Iterator[Pattern]:
    """The parts of a pattern, without the whole."""
    for part in pattern.src if isinstance(pattern, Apply) else ():
        yield part
        yield from _inside(part)


def _orders(
    pattern: Apply, op: OpDef, twins: bool, states: Sequence[State]
) -> list[Sequence[State]]:
    """The orders of the sources in which a node matches."""
    if pattern.op != op.name or len(pattern.src) != len(states):
        return []
    if not twins and _are_twins(pattern.src):
        return []
    both = [states, states[::-1]] if op.commutative and len(states) == 2 else [states]
    return [o for o in both if all(s.fits(p) for p, s in zip(pattern.src, o, strict=True))]


def _are_twins(parts: Sequence[Pattern]) -> bool:
    """Whether the last two must be one node: `x - x`."""
    names = [part.name for part in parts[-2:] if isinstance(part, Var)]
    return len(names) == 2 and names[0] == names[1]


def _may_match(
    rule: Matchable, op: OpDef, dtype: Any, twins: bool, states: Sequence[State]
) -> bool:
    """Whether the rule matches a node of the op and dtype, as far as states tell."""
    pattern, types = rule.pattern, rule.types
    if not isinstance(pattern, Apply):
        return admits(pattern, op)
    for order in _orders(pattern, op, twins, states):
        found = {p.name: s.dtype for p, s in zip(pattern.src, order, strict=True) if type(p) is Var}
        found[pattern.label] = dtype
        if all(test(found[name]) for name, test in types if type(found.get(name)) is DType):
            return True
    return False
