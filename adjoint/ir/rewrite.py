"""Rules and the one engine that applies them.

A rule is a named equation between patterns with its side condition last, as data:
`Rule("mul_zero", x * 0, zeros_like(x), when=is_integer(x))`. What may live here: rules, conditions,
the engine. What may not: any particular rule (`integer_rules.py`, `tensor_rules.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from adjoint.errors import InternalError
from adjoint.ir.dtype import DType
from adjoint.ir.match_table import Matcher, MatchTable, TypeTests
from adjoint.ir.opdef import OpDef
from adjoint.ir.origin import enter_origin, leave_origin
from adjoint.ir.pattern import Attr, Bindings, Pattern, Var, admits, applied, fill, takes, variants
from adjoint.ir.uop import UOp, make_known, rebuild, toposort

Keep = Callable[[UOp], bool]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Condition:
    """A readable test of what a match bound."""

    text: str
    test: Callable[[Bindings], bool]
    types: TypeTests = ()  # what it asks of dtypes alone: known before a node is looked at

    def __call__(self, bound: Bindings) -> bool:
        return self.test(bound)

    def __and__(self, other: Condition) -> Condition:
        text, types = f"{self.text} and {other.text}", self.types + other.types
        return Condition(text, lambda b: self.test(b) and other.test(b), types)

    def __str__(self) -> str:
        return self.text


def condition(fn: Callable[..., bool]) -> Callable[..., Condition]:
    """Decorator: a test of nodes, to be called on patterns: `is_integer(x)`."""

    def on(*args: Any) -> Condition:
        text = f"{fn.__name__}({', '.join(map(str, args))})"
        names = [a.name for a in args if isinstance(a, (Var, Attr))]
        if len(names) == len(args):  # nearly always
            return Condition(text, lambda bound: fn(*[bound[name] for name in names]))
        return Condition(text, lambda bound: fn(*(fill(a, bound) for a in args)))

    return on


def dtype_condition(fn: Callable[[DType], bool]) -> Callable[[Pattern], Condition]:
    """Decorator: a test of a node's dtype, to be called on a hole: `is_integer(x)`."""

    def on(x: Pattern) -> Condition:
        name = str(x)
        return Condition(f"{fn.__name__}({name})", lambda b: fn(b[name].dtype), ((name, fn),))

    return on


@dtype_condition
def is_integer(dtype: DType) -> bool:
    """Whether x holds integers."""
    return dtype.is_int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rule:
    """`pattern` becomes `replacement` where `when` holds.

    The replacement is a template, or a function of what the pattern binds that gives a node, or
    None to leave things as they are; its docstring is then the equation. The result has the shape,
    dtype and device of what it replaces.
    """

    name: str
    pattern: Pattern
    replacement: Pattern | Callable[..., UOp | None]
    when: Condition | None = None
    moves: bool = False  # the result may lie on another device

    @property
    def op(self) -> str:
        """The op at the root of the pattern."""
        return applied(self.pattern).op

    @property
    def types(self) -> TypeTests:
        """The side condition's requirements on dtypes."""
        return () if self.when is None else self.when.types

    def apply(self, node: UOp, keep: Keep | None = None) -> UOp | None:
        """The replacement of the node, or None; operands for which `keep` holds stay operands."""
        for variant in variants(self.pattern):
            bound: Bindings = {}
            if takes(variant, node, bound) and (self.when is None or self.when.test(bound)):
                result = self._replaced(bound, node)
                if result is None or result is node or not self._may_stand(result, node):
                    continue
                if keep is None or _keeps(result, node, bound, keep):
                    return result
        return None

    def _replaced(self, bound: Bindings, node: UOp) -> UOp | None:
        if isinstance(self.replacement, Var):
            found: UOp = bound[self.replacement.name]
            return found
        token = enter_origin(node.raw_origin)
        try:
            if isinstance(self.replacement, Pattern):
                return fill(self.replacement, bound)
            return self.replacement(**bound)
        finally:
            leave_origin(token)

    def _may_stand(self, result: UOp, node: UOp) -> bool:
        if result.shape != node.shape or result.dtype is not node.dtype:
            raise InternalError(f"rule {self.name} turned {node} into {result}")
        return (
            self.moves or result.device == node.device
        )  # a constant on no device is no answer for one on some

    def __str__(self) -> str:
        side = f"  when {self.when}" if self.when is not None else ""
        if isinstance(self.replacement, Pattern):
            return f"{self.name}: {self.pattern} = {self.replacement}{side}"
        return f"{self.name}: {self.replacement.__doc__}{side}"


def _keeps(result: UOp, node: UOp, bound: Bindings, keep: Keep) -> bool:
    """Whether every operand that must be computed is one of the result too."""
    operands = [n for n in bound.values() if type(n) is UOp and n is not node]
    held = [n for n in operands if n is not result and keep(n)]
    if not held:
        return True
    present = set(toposort([result], stop=set(operands).__contains__))
    return all(n in present for n in held)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RuleSet:
    """Rules in the order they are tried."""

    rules: tuple[Rule, ...]
    _of_op: dict[OpDef, tuple[Rule, ...]] = field(init=False, default_factory=dict)
    _tables: list[MatchTable[Rule]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        if len({rule.name for rule in self.rules}) != len(self.rules):
            raise InternalError("two rules have one name")

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __add__(self, other: RuleSet) -> RuleSet:
        return RuleSet(self.rules + other.rules)

    def __getitem__(self, name: str) -> Rule:
        return next(rule for rule in self.rules if rule.name == name)

    @property
    def table(self) -> MatchTable[Rule]:
        """The table of rules that nodes may match; made on first use."""
        if not self._tables:
            self._tables.append(MatchTable(self.rules))
        return self._tables[0]

    def apply(self, node: UOp) -> tuple[UOp | None, str]:
        """The replacement by the first rule that applies to the node, and the rule's name."""
        rules = self._of_op.get(node.op)
        if rules is None:
            rules = tuple(rule for rule in self.rules if admits(rule.pattern, node.op))
            self._of_op[node.op] = rules
        for rule in rules:
            result = rule.apply(node)
            if result is not None:
                return result, rule.name
        return None, ""

    def __str__(self) -> str:
        return "\n".join(map(str, self.rules))


@dataclass(frozen=True, slots=True, eq=False)
class Firing:
    """A rule has applied: to this node it gave that one."""

    rule: Rule
    before: UOp
    after: UOp


_noted: ContextVar[list[Firing] | None] = ContextVar("noted", default=None)


@contextmanager
def firings_noted() -> Iterator[list[Firing]]:
    """Records every rule that applies inside, in this thread, and where."""
    found: list[Firing] = []
    token = _noted.set(found)
    try:
        yield found
    finally:
        _noted.reset(token)


def rewrite_once(
    roots: Iterable[UOp], rules: RuleSet, fired: Counter[str] | None = None
) -> list[UOp]:
    """Every root with the first rule that applies to each node applied to it, sources first.

    The result of a rule is not rewritten again, even if a rule would apply. `fired` counts the
    rules that applied, by name.
    """
    wanted, noted = list(roots), _noted.get()
    new: dict[UOp, UOp] = {}
    for node in toposort(wanted):
        src = tuple([new[s] for s in node.src])
        present = node if src == node.src else rebuild(node, src)
        found, rule = rules.apply(present)
        new[node] = present if found is None else found
        if fired is not None and found is not None:
            fired[rule] += 1
        if noted is not None and found is not None:
            noted.append(Firing(rules[rule], present, found))
    return [new[root] for root in wanted]


def rewrite(
    roots: Iterable[UOp],
    rules: RuleSet,
    keep: Keep | None = None,
    fired: Counter[str] | None = None,
    fixed: Keep | None = None,
) -> list[UOp]:
    """Every root with the rules applied, sources first, until none applies.

    A rule may not drop an operand for which `keep(node)` holds. A node for which `fixed(node)`
    holds, which is tested once its sources are done, keeps its op. `fired` counts the rules that
    applied, by name. The order is fixed, nothing recurses, and a replacement keeps the origin of
    what it replaces.
    """
    wanted = list(roots)
    order = toposort(wanted)
    walk = _Walk(rules, keep, fixed, 1000 + 100 * len(order))
    walk.run(order)
    if fired is not None:
        fired.update(walk.fired)
    return [walk.done[root] for root in wanted]


class _Walk:
    """One run of the engine. `done` maps a node to its final form, which maps to itself; `next`
    maps a node under work to the one whose final form will be its own."""

    __slots__ = ("active", "budget", "done", "fired", "fixed", "keep", "next", "noted", "rules_of")

    def __init__(self, rules: RuleSet, keep: Keep | None, fixed: Keep | None, budget: int):
        self.rules_of = Matcher(rules.table).rules
        self.keep, self.fixed, self.budget = keep, fixed, budget
        self.done: dict[UOp, UOp] = {}
        self.next: dict[UOp, UOp] = {}
        self.active: set[UOp] = set()
        self.fired: list[str] = []
        self.noted = _noted.get()

    def run(self, order: Iterable[UOp]) -> None:
        """The final form of every node, sources first: mostly itself, or itself on others."""
        done, rules_of, has_fixed = self.done, self.rules_of, self.fixed is not None
        for node in order:
            present = node
            for source in node.src:
                if done[source] is not source:
                    present = self.rebuilt(node)
                    break
            if present not in done:
                rules = rules_of(present)
                target = self.ruled(present, rules) if rules or has_fixed else present
                if target is present:
                    done[present] = present
                elif target in done:
                    done[present] = done[target]
                else:
                    self.next[present] = target
                    self.settle(present)
            done[node] = done[present]

    def settle(self, root: UOp) -> None:
        stack = [root]
        while stack:
            node = stack[-1]
            waiting = [] if node in self.done else self.step(node)
            if any(n in self.active for n in waiting):
                raise self.endless(node)
            if waiting:
                stack.extend(reversed(waiting))
            else:
                self.active.discard(stack.pop())

    def step(self, node: UOp) -> list[UOp]:
        """Advance a node; what must be finished before it can go on."""
        self.active.add(node)
        target = self.next.get(node)
        if target is None:
            waiting = [s for s in node.src if s not in self.done]
            if waiting:
                return waiting
            target = self.advanced(node)
        if target is node:
            self.done[node] = node
        elif target in self.done:
            self.done[node] = self.done[target]
        return [] if node in self.done else [target]

    def advanced(self, node: UOp) -> UOp:
        """The node on finished sources, or its replacement, or itself."""
        present = self.next.get(node)
        if present is None:
            present = self.next[node] = self.applied(node)
        return present

    def applied(self, node: UOp) -> UOp:
        if all(self.done[source] is source for source in node.src):
            return self.ruled(node, self.rules_of(node))
        return self.rebuilt(node)

    def rebuilt(self, node: UOp) -> UOp:
        """The node on the final forms of its sources, which have their types."""
        src = tuple(map(self.done.__getitem__, node.src))
        known = node.shape, node.dtype, node.device, node._origin
        return make_known(node.op, src, node.arg, *known)

    def ruled(self, node: UOp, rules: tuple[Rule, ...]) -> UOp:
        """The replacement by the first of the rules that applies to the node, or itself."""
        if self.fixed is not None and self.fixed(node):
            return node
        for rule in rules:
            result = rule.apply(node, self.keep)
            if result is not None:
                self.fired.append(rule.name)
                if self.noted is not None:
                    self.noted.append(Firing(rule, node, result))
                if len(self.fired) > self.budget:
                    raise self.endless(node)
                return result
        return node

    def endless(self, node: UOp) -> InternalError:
        names = ", ".join(dict.fromkeys(self.fired[-20:]))
        return InternalError(f"rewriting does not end at {node}; the rules that alternate: {names}")
