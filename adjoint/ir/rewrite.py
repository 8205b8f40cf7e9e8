"""Rules and the one engine that applies them.

A rule is a named equation between patterns with its side condition last, as data:
`Rule("mul_zero", x * 0, zeros_like(x), when=is_integer(x))`. What may live here: rules, conditions,
the engine. What may not: any particular rule (`integer_rules.py`, `tensor_rules.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from adjoint.errors import InternalError
from adjoint.ir.opdef import OpDef
from adjoint.ir.origin import enter_origin, leave_origin, origin_scope
from adjoint.ir.pattern import Attr, Bindings, Pattern, Var, applied, fill, matches, may_match
from adjoint.ir.uop import UOp, make_node, rebuild, toposort

Keep = Callable[[UOp], bool]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Condition:
    """A readable test of what a match bound."""

    text: str
    test: Callable[[Bindings], bool]

    def __call__(self, bound: Bindings) -> bool:
        return self.test(bound)

    def __and__(self, other: Condition) -> Condition:
        return Condition(f"{self.text} and {other.text}", lambda b: self.test(b) and other.test(b))

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


@condition
def is_integer(x: UOp) -> bool:
    """Whether x holds integers."""
    return x.dtype.is_int


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

    def apply(self, node: UOp, keep: Keep | None = None) -> UOp | None:
        """What the node becomes, or None; operands that `keep` holds for stay operands."""
        for bound in matches(self.pattern, node):
            if self.when is None or self.when(bound):
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
        with origin_scope(node.raw_origin):
            if isinstance(self.replacement, Pattern):
                return fill(self.replacement, bound)
            return self.replacement(**bound)

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
    operands = {n for n in bound.values() if isinstance(n, UOp) and n is not node}
    held = [n for n in operands if n is not result and keep(n)]
    if not held:
        return True
    present = set(toposort([result], stop=operands.__contains__))
    return all(n in present for n in held)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RuleSet:
    """Rules in the order they are tried.

    Which rules a node may match is known from its op and the ops of its sources, and worked out
    once for each of these: a graph has thousands of nodes and few such combinations.
    """

    rules: tuple[Rule, ...]
    _candidates: dict[tuple[OpDef, ...], tuple[Rule, ...]] = field(init=False, default_factory=dict)

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

    def candidates(self, node: UOp) -> tuple[Rule, ...]:
        """The rules that a node of this op on sources of these ops may match."""
        key = (node.op, *[s.op for s in node.src])
        found = self._candidates.get(key)
        return self._looked_up(key) if found is None else found

    def _looked_up(self, key: tuple[OpDef, ...]) -> tuple[Rule, ...]:
        op, names = key[0], [source.name for source in key[1:]]
        found = tuple(rule for rule in self.rules if may_match(rule.pattern, op, names))
        self._candidates[key] = found
        return found

    def apply(self, node: UOp, keep: Keep | None = None) -> tuple[UOp | None, str]:
        """What the first rule that applies makes of the node, and the rule's name."""
        for rule in self.candidates(node):
            result = rule.apply(node, keep)
            if result is not None:
                return result, rule.name
        return None, ""

    def __str__(self) -> str:
        return "\n".join(map(str, self.rules))


def rewrite_once(
    roots: Iterable[UOp], rules: RuleSet, fired: Counter[str] | None = None
) -> list[UOp]:
    """Every root with the first rule that applies to each node applied to it, sources first.

    What a rule makes is left as it is: it is what was wanted, even where a rule would apply.
    `fired` counts the rules that applied, by name.
    """
    wanted = list(roots)
    new: dict[UOp, UOp] = {}
    for node in toposort(wanted):
        src = tuple([new[s] for s in node.src])
        present = node if src == node.src else rebuild(node, src)
        found, rule = rules.apply(present)
        new[node] = present if found is None else found
        if fired is not None and found is not None:
            fired[rule] += 1
    return [new[root] for root in wanted]


def rewrite(
    roots: Iterable[UOp],
    rules: RuleSet,
    stop: Callable[[UOp], bool] | None = None,
    keep: Keep | None = None,
    fired: Counter[str] | None = None,
    fixed: Keep | None = None,
) -> list[UOp]:
    """Every root with the rules applied, sources first, until none applies.

    `stop(node)` leaves a node and what is below it alone; a rule may not drop an operand for which
    `keep(node)` holds; a node for which `fixed(node)` holds, which is asked once its sources are
    done, stays the op it is; `fired` counts the rules that applied, by name. The order is fixed,
    nothing recurses, and a replacement keeps the origin of what it replaces.
    """
    wanted = list(roots)
    order = toposort(wanted, stop)
    walk = _Walk(rules, keep, fixed, budget=1000 + 100 * len(order))
    if stop is not None:
        walk.done.update((node, node) for node in order if stop(node))
    for node in order:
        if node not in walk.done:
            walk.finish(node)
    if fired is not None:
        fired.update(walk.fired)
    return [walk.done[root] for root in wanted]


def _on(node: UOp, src: tuple[UOp, ...]) -> UOp:
    """The node on other sources of the same types, so of its own type."""
    token = enter_origin(node.raw_origin)
    try:
        return make_node(node.op, src, node.arg, node.shape, node.dtype)
    finally:
        leave_origin(token)


class _Walk:
    """One run of the engine. `done` maps a node to its final form, which maps to itself; `next`
    maps a node under work to the one whose final form will be its own."""

    __slots__ = ("active", "budget", "done", "fired", "fixed", "keep", "next", "rules")

    def __init__(self, rules: RuleSet, keep: Keep | None, fixed: Keep | None, budget: int):
        self.rules, self.keep, self.fixed, self.budget = rules, keep, fixed, budget
        self.done: dict[UOp, UOp] = {}
        self.next: dict[UOp, UOp] = {}
        self.active: set[UOp] = set()
        self.fired: list[str] = []

    def finish(self, node: UOp) -> None:
        """The final form of a node whose sources are done: mostly itself, or itself on others."""
        done, present = self.done, self.on_finished(node)
        found = done.get(present)
        if found is None:
            target = self.ruled(present)
            if target is not present:
                self.next[present] = target
                self.settle(present)
            else:
                done[present] = present
            found = done[present]
        done[node] = found

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
        """The node on finished sources, or what a rule makes of it, or itself."""
        present = self.next.get(node)
        if present is None:
            present = self.next[node] = self.applied(node)
        return present

    def applied(self, node: UOp) -> UOp:
        present = self.on_finished(node)
        return self.ruled(node) if present is node else present

    def on_finished(self, node: UOp) -> UOp:
        """The node on the final forms of its sources."""
        done = self.done
        for source in node.src:
            if done[source] is not source:
                return _on(node, tuple([done[s] for s in node.src]))
        return node

    def ruled(self, node: UOp) -> UOp:
        """What the first rule that applies makes of the node, or itself."""
        if self.fixed is not None and self.fixed(node):
            return node
        for rule in self.rules.candidates(node):
            result = rule.apply(node, self.keep)
            if result is not None:
                self.fired.append(rule.name)
                if len(self.fired) > self.budget:
                    raise self.endless(node)
                return result
        return node

    def endless(self, node: UOp) -> InternalError:
        names = ", ".join(dict.fromkeys(self.fired[-20:]))
        return InternalError(f"rewriting does not end at {node}; the rules that alternate: {names}")
