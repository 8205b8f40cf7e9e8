"""A small graph as mathematics: `dx = g · (1 − y²)`, for people who read a derivative.

What is exact in the reals is rearranged freely (signs come to the front, products and quotients are
joined, powers gathered), so the text says what is computed, not in which order it is rounded. An
axis of size 1 that comes or goes is not shown, nor is a cast between floats, nor a spreading over
a shape that another operand has. A term that is used more than once gets a line of its own. Σ₁ is
a sum over axis 1 (Σ over all axes), [a = b] is 1 where the condition holds and else 0, i₁ is the
index along axis 1. For the text of every node see `adjoint/ir/text.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from adjoint.ir.uop import UOp, toposort
from docs.formula_terms import (
    COMPARE,
    SUBSCRIPTS,
    Term,
    counted_axis,
    is_light,
    quotient,
    root,
    total,
    whole,
    whole_power,
    write,
)

_LONGEST_REPEATED = 9  # a shared term no longer than this is written out each time
_LETTERS = "uvwpqrshkmnzcdefo"
_PRODUCTS = frozenset({"mul", "true_div", "neg", "reciprocal", "square"})
_SUMS = frozenset({"add", "sub"})


def formula(roots: Mapping[str, UOp], names: Mapping[UOp, str] | None = None) -> list[str]:
    """One line `name = expression` per root, after the lines of the terms that they share.

    `names` are the nodes that are called by a name (operands, result, cotangent) and not expanded.
    """
    return _Writer(dict(names or {}), [*(names or {}).values(), *roots]).lines(roots)


def expression(node: UOp, names: Mapping[UOp, str] | None = None) -> str:
    """The node on one line; a shared term is repeated."""
    writer = _Writer(dict(names or {}), [])
    writer.sharing = False
    return writer.lines({"": node})[-1].removeprefix(" = ")


class _Writer:
    """Terms of nodes, sources first; each node is written once."""

    def __init__(self, names: dict[UOp, str], taken: Iterable[str]):
        self.names = names
        self.terms: dict[UOp, Term] = {}
        self.shared: list[str] = []
        self.sharing = True
        self.loose: set[UOp] = set()
        self.crossed: set[UOp] = set()
        self.free = (n for n in _let_names() if n not in set(taken))

    def lines(self, roots: Mapping[str, UOp]) -> list[str]:
        self.loose, self.crossed = _unmarked(list(roots.values()), self.names)
        ends = {name: self.plain(node) for name, node in roots.items()}
        order, users = self._order(list(ends.values()))
        for node in order:
            term = self._write(node)
            self.terms[node] = term
            is_end = node in ends.values() and len(users[node]) < 2
            if node not in self.names and self._is_shared(term, len(users[node])) and not is_end:
                self._name(node, term)
        return [*self.shared, *(f"{name} = {_line(self.term(n))}" for name, n in ends.items())]

    def _is_shared(self, term: Term, uses: int) -> bool:
        long = len(term.text) > _LONGEST_REPEATED and not term.number
        return self.sharing and uses > 1 and long

    def _name(self, node: UOp, term: Term) -> None:
        name = next(self.free)
        self.shared.append(f"{name} = {_line(term)}")
        self.names[node] = name

    def _order(self, roots: list[UOp]) -> tuple[list[UOp], dict[UOp, list[Any]]]:
        """The nodes that will be seen, sources first, and who uses each."""
        done: dict[UOp, None] = {}
        users: dict[UOp, list[Any]] = {}
        stack = list(reversed(roots))
        while stack:
            node = stack[-1]
            waiting = [c for c in self.children(node) if c not in done]
            if node in done or not waiting:
                stack.pop()
                done.setdefault(node)
            else:
                stack.extend(reversed(waiting))
        for end in roots:
            users.setdefault(end, []).append(None)
        for node in done:
            for child in dict.fromkeys(self.children(node)):
                users.setdefault(child, []).append(node)
        return list(done), users

    def plain(self, node: UOp) -> UOp:
        """The node without what is not shown around it."""
        while node not in self.names and self._is_hidden(node):
            node = node.src[0]
        return node

    def _is_hidden(self, node: UOp) -> bool:
        return node in self.loose or (is_light(node) and counted_axis(node) is None)

    def children(self, node: UOp) -> list[UOp]:
        """The operands as they are shown."""
        if node in self.names or counted_axis(node) is not None:
            return []
        seen = [self.plain(s) for s in node.src]
        same = len(seen) == 2 and seen[0] is seen[1] and node.src[0] is not node.src[1]
        if same or node in self.crossed:
            return [self._aligned(s) for s in node.src]  # x[:, None] − x is not x − x
        return seen

    def _aligned(self, node: UOp) -> UOp:
        """The node without its repetition, but with its axes where they are."""
        while node not in self.names and (node in self.loose or node.op.name == "cast"):
            node = node.src[0]
        return node

    def term(self, node: UOp) -> Term:
        return Term(self.names[node]) if node in self.names else self.terms[node]

    def _write(self, node: UOp) -> Term:
        if node in self.names:
            return Term(self.names[node])
        name = node.op.name
        axis = counted_axis(node)
        if axis is not None:
            return Term(f"i{axis}".translate(SUBSCRIPTS))
        if name in _PRODUCTS:
            return self._product(node)
        if name == "rsqrt":
            base, power = self._base(node)
            return quotient({base: power}, False)
        if name in _SUMS:
            return total(self._parts(node, False))
        return write(node, [self.term(c) for c in self.children(node)])

    def _joins(self, node: UOp, kinds: frozenset[str]) -> bool:
        return node not in self.names and node.op.name in kinds and not node.dtype.is_bool

    def _product(self, node: UOp) -> Term:
        """A product with all products, quotients and whole powers inside it."""
        powers: dict[Term, int] = {}
        negative = False
        stack = [(node, 1)]
        while stack:
            part, power = stack.pop()
            if self._joins(part, _PRODUCTS):
                negative ^= part.op.name == "neg" and power % 2 == 1
                inner = self._inside(part, power)
                stack.extend(reversed(inner))
                continue
            term, exponent = self._base(part)
            negative ^= term.negative and power % 2 == 1
            base = term._replace(negative=False)
            powers[base] = powers.get(base, 0) + power * exponent
        return quotient(powers, negative)

    def _inside(self, node: UOp, power: int) -> list[tuple[UOp, int]]:
        children = self.children(node)
        match node.op.name:
            case "true_div":
                return [(children[0], power), (children[1], -power)]
            case "reciprocal":
                return [(children[0], -power)]
            case "square":
                return [(children[0], 2 * power)]
            case _:
                return [(child, power) for child in children]

    def _base(self, node: UOp) -> tuple[Term, int]:
        """A base and an exponent: x³ is x to the third, 1/√x is √x to the -1."""
        if node in self.names:
            return self.term(node), 1
        children = self.children(node)
        if node.op.name == "rsqrt":
            return root(node, [self.term(children[0])]), -1
        if node.op.name == "pow" and whole_power(children[1]):
            base = self.term(children[0])
            return (self.term(node), 1) if base.negative else (base, int(children[1].arg.value))
        return self.term(node), 1

    def _parts(self, node: UOp, negative: bool) -> list[Term]:
        """The signed terms of a sum with all sums inside it, left to right."""
        if self._joins(node, _SUMS) and counted_axis(node) is None:
            left, right = self.children(node)
            minus = negative != (node.op.name == "sub")
            return [*self._parts(left, negative), *self._parts(right, minus)]
        term = self.term(node)
        return [term._replace(negative=term.negative != negative)]


def _let_names() -> Iterable[str]:
    yield from _LETTERS
    number = 1
    while True:
        yield f"u{number}"
        number += 1


def _unmarked(roots: list[UOp], names: Mapping[UOp, str]) -> tuple[set[UOp], set[UOp]]:
    """The EXPANDs that need not be shown, and the nodes whose operands cross (rows with columns).

    A node is full if its operands make its shape visible; it is covered if whoever uses it is full
    or covered without it, element by element. What is covered may be shown without its repetition.
    """
    order = toposort(roots, stop=names.__contains__)
    full: dict[UOp, bool] = {}
    crossed: set[UOp] = set()
    for node in order:
        spread = node.op.name in ("expand", "const") and node not in names
        passes = node not in names and (_is_elementwise(node) or is_light(node))
        full[node] = any(full[s] for s in node.src) if passes else not spread
        if passes and not full[node] and _crosses(node):
            full[node] = True
            crossed.add(node)
    covered = dict.fromkeys(order, True) | dict.fromkeys(roots, False)
    for node in reversed(order):
        if node in names:
            continue
        for i, source in enumerate(node.src):
            beside = node in crossed or any(full[s] for s in _peers(node, i))
            through = (_is_elementwise(node) or is_light(node)) and covered[node]
            covered[source] &= beside or through
    loose = {n for n in order if n.op.name == "expand" and (covered[n] or _is_filled(n))}
    return loose, crossed


def _crosses(node: UOp) -> bool:
    """Whether the operands, none of the full shape, broadcast to it together."""
    before = [s.src[0].shape for s in node.src if s.op.name == "expand"]
    padded = [(1,) * (len(node.shape) - len(shape)) + shape for shape in before]
    return len(padded) > 1 and node.shape == tuple(
        max(sizes) for sizes in zip(*padded, strict=True)
    )


def _peers(node: UOp, i: int) -> tuple[UOp, ...]:
    """The other operands that have the shape of operand i."""
    if _is_elementwise(node):
        return node.src[:i] + node.src[i + 1 :]
    indices = {"gather": node.src[1:], "scatter": node.src[1:-1], "scatter_add": node.src[1:-1]}
    listed = indices.get(node.op.name, ())
    return listed[: i - 1] + listed[i:] if 1 <= i <= len(listed) else ()


def _is_elementwise(node: UOp) -> bool:
    return node.op.level == "both" and bool(node.src) and node.op.name != "cast"


def _is_filled(node: UOp) -> bool:
    """Whether the node is one number everywhere."""
    while node.op.name in ("expand", "reshape", "cast"):
        node = node.src[0]
    return node.op.name == "const"


def _line(term: Term) -> str:
    """The term after an equals sign."""
    return f"({whole(term)})" if term.level <= COMPARE else whole(term)
