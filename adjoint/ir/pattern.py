"""Patterns over nodes: graphs with holes, written with the operators of nodes.

`x * 0 + y` is a pattern when `x` and `y` are `Var`s, and `x.exp()` or `c.where(x, y)` are patterns
too: any name of a record works. The same value serves as a template: what a match bound fills its
holes. What may live here: patterns, matching, filling in. What may not: rules (`rewrite.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from adjoint.errors import InternalError
from adjoint.ir.arg import Real, frozen
from adjoint.ir.kernel_kind import CONSTANT
from adjoint.ir.opdef import OPS, OpDef
from adjoint.ir.operators import Operators
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp

Bindings = dict[str, Any]
_NODE_NAMES = {"div": "true_div"}  # what an operator means once it is a node
_INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "true_div": "/",
    "floordiv": "//",
    "mod": "%",
    "lt": "<",
    "le": "<=",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "lshift": "<<",
    "rshift": ">>",
}


class Pattern(Operators):
    """A graph with holes."""

    __slots__ = ()

    @staticmethod
    def _apply(name: str, *operands: Any, **attrs: Any) -> Any:
        src = tuple(map(as_pattern, operands))
        return Apply(_NODE_NAMES.get(name, name), src, tuple(attrs.items()))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return partial(self._apply, name, self)

    def __bool__(self) -> bool:
        raise TypeError("a pattern has no truth value")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Var(Pattern):
    """Any node; the same name twice is the same node. `const`: constants only."""

    name: str
    const: bool = False

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


def any_const(name: str) -> Var:
    """Any CONST node."""
    return Var(name, const=True)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Number(Pattern):
    """A CONST node with exactly this value: an int is any number equal to it, a float has its
    bits (0.0 is not -0.0), a bool is a bool."""

    value: Any

    def __str__(self) -> str:
        return repr(self.value)

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class Attr:
    """Any value of an attribute; the same name twice is the same value."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Apply(Pattern):
    """A node of this op on matching sources, in either order if the op commutes.

    Attributes that are not mentioned match anything. `label` binds the whole node.
    """

    op: str
    src: tuple[Pattern, ...]
    attrs: tuple[tuple[str, Any], ...] = ()
    label: str = ""
    is_flat: bool = field(init=False)  # nothing inside but holes and numbers

    def __post_init__(self) -> None:
        flat = not self.attrs and all(isinstance(s, (Var, Number)) for s in self.src)
        object.__setattr__(self, "is_flat", flat)

    def __str__(self) -> str:
        parts = [f"({s})" if _is_infix(s) else str(s) for s in self.src]
        if _is_infix(self):
            return f" {_INFIX[self.op]} ".join(parts)
        if self.op == "neg":
            return f"-{parts[0]}"
        rest = parts[1:] + [f"{k}={v}" for k, v in self.attrs]
        return f"{parts[0]}.{self.op}({', '.join(rest)})" if parts else f"{self.op}()"

    __repr__ = __str__


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AnyNode(Pattern):
    """A node of one of these ops, or whose record has a kernel of this kind, on any operands."""

    name: str
    ops: tuple[str, ...] = ()
    kind: type | None = None

    def admits(self, op: OpDef) -> bool:
        """Whether a node of that op matches."""
        return op.name in self.ops or (self.kind is not None and type(op.kernel) is self.kind)

    def __str__(self) -> str:
        kinds = self.ops if self.kind is None else (*self.ops, self.kind.__name__)
        return f"{self.name} of {' or '.join(kinds)}"

    __repr__ = __str__


def _is_infix(pattern: Pattern) -> bool:
    return isinstance(pattern, Apply) and pattern.op in _INFIX and not pattern.attrs


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call(Pattern):
    """A function of nodes, for templates only."""

    fn: Callable[..., UOp]
    args: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.fn.__name__}({', '.join(map(str, self.args))})"

    __repr__ = __str__


def template(fn: Callable[..., UOp]) -> Callable[..., Call]:
    """Decorator: a function of nodes, to be called on patterns inside templates."""
    return lambda *args: Call(fn, args)


def as_pattern(value: Any) -> Pattern:
    """A pattern, or a Python number as one."""
    if isinstance(value, Pattern):
        return value
    if isinstance(value, (bool, int, float, complex)):
        return Number(value)
    raise InternalError(f"{value!r} is not a pattern; attributes are given by name")


def applied(pattern: Pattern) -> Apply:
    """The pattern, which must be an op: types say `Var` of `x + y`, since operators keep theirs."""
    if not isinstance(pattern, Apply):
        raise InternalError(f"{pattern} is no op applied to patterns")
    return pattern


def bind(name: str, pattern: Pattern) -> Apply:
    """The pattern, binding also the node that matches it as a whole."""
    return replace(applied(pattern), label=name)


def matches(pattern: Pattern, node: UOp) -> Iterable[Bindings]:
    """Every way the node matches. Recursion follows the pattern, which is shallow."""
    if isinstance(pattern, Apply) and pattern.is_flat:
        return _flat_matches(pattern, node)
    if isinstance(pattern, AnyNode):
        return [{pattern.name: node}] if pattern.admits(node.op) else []
    return _match(pattern, node, {})


def _flat_matches(pattern: Apply, node: UOp) -> list[Bindings]:
    """The same for holes and numbers alone, which most patterns are: a third of the time."""
    src, wanted = node.src, pattern.src
    if node.op.name != pattern.op or len(src) != len(wanted):
        return []
    either = node.op.commutative and len(src) == 2 and src[0] is not src[1]
    found = []
    for sources in (src, src[::-1]) if either else (src,):
        bound: Bindings = {pattern.label: node} if pattern.label else {}
        for want, source in zip(wanted, sources, strict=True):
            if not _takes(want, source, bound):
                break
        else:
            found.append(bound)
    return found


def _takes(pattern: Pattern, node: UOp, bound: Bindings) -> bool:
    """Whether a hole or a number matches; a hole's node is added to what is bound."""
    if isinstance(pattern, Var):
        is_free = not pattern.const or _is_number(node)
        return is_free and bound.setdefault(pattern.name, node) is node
    assert isinstance(pattern, Number)
    return _is_number(node) and _same_number(pattern.value, node)


def _is_number(node: UOp) -> bool:
    """Whether a node is a constant; a size that varies is none."""
    return node.op.kernel is CONSTANT and not varies(node.arg.value)


def _match(pattern: Pattern, node: UOp, bound: Bindings) -> Iterator[Bindings]:
    if isinstance(pattern, Var):
        if not pattern.const or _is_number(node):
            yield from _bound(pattern.name, node, bound)
    elif isinstance(pattern, Apply):
        yield from _match_apply(pattern, node, bound)
    elif isinstance(pattern, Number):
        if _is_number(node) and _same_number(pattern.value, node):
            yield bound
    else:
        raise InternalError(f"{pattern} can fill a template, not match a node")


def _match_apply(pattern: Apply, node: UOp, bound: Bindings) -> Iterator[Bindings]:
    src, wanted = node.src, pattern.src
    if node.op.name != pattern.op or len(src) != len(wanted):
        return
    if pattern.label:
        bound = bound | {pattern.label: node}
    for name, value in pattern.attrs:
        actual = getattr(node.arg, name)
        if not isinstance(value, Attr):
            if actual != frozen(value):
                return
        elif value.name not in bound:
            bound = bound | {value.name: actual}
        elif bound[value.name] != actual:
            return
    yield from _match_all(wanted, src, bound)
    if node.op.commutative and len(src) == 2 and src[0] is not src[1]:
        yield from _match_all(wanted, src[::-1], bound)


def _match_all(
    patterns: tuple[Pattern, ...], nodes: tuple[UOp, ...], bound: Bindings
) -> Iterator[Bindings]:
    if not patterns:
        yield bound
        return
    for first in _match(patterns[0], nodes[0], bound):
        yield from _match_all(patterns[1:], nodes[1:], first)


def _bound(name: str, node: UOp, bound: Bindings) -> Iterator[Bindings]:
    present = bound.get(name)
    if present is None:
        yield bound | {name: node}
    elif present is node:
        yield bound


def _same_number(wanted: Any, node: UOp) -> bool:
    value = node.arg.value
    if isinstance(wanted, bool) or isinstance(value, bool):
        return wanted is value
    if isinstance(value, complex):
        parts = ((value.real, wanted.real), (value.imag, wanted.imag))
        return all(Real(v) == Real(w) for v, w in parts)
    if isinstance(value, float) and isinstance(wanted, (int, float)):
        return Real(wanted) == value
    return isinstance(wanted, int) and wanted == value


def may_match(pattern: Pattern, op: OpDef, sources: list[str]) -> bool:
    """Whether a node of that op, on sources of these ops, may match."""
    if isinstance(pattern, AnyNode):
        return pattern.admits(op)
    wanted = list(map(_op_of, applied(pattern).src))
    if applied(pattern).op != op.name or len(wanted) != len(sources):
        return False
    if all(want in ("", name) for want, name in zip(wanted, sources, strict=True)):
        return True
    if not op.commutative or len(sources) != 2:
        return False
    return all(want in ("", name) for want, name in zip(wanted, sources[::-1], strict=True))


def _op_of(pattern: Pattern) -> str:
    """The op that a source of a match has; "" where it may have any."""
    if isinstance(pattern, Apply):
        return pattern.op
    is_const = isinstance(pattern, Number) or (isinstance(pattern, Var) and pattern.const)
    return "const" if is_const else ""


def variables(pattern: Pattern) -> dict[str, Var]:
    """The holes of a pattern by name, in the order written."""
    if isinstance(pattern, Var):
        return {pattern.name: pattern}
    found: dict[str, Var] = {}
    for part in pattern.src if isinstance(pattern, Apply) else ():
        found |= variables(part)
    return found


def fill(pattern: Any, bound: Bindings) -> Any:
    """The node a template stands for; a Python number stays one, to take its neighbour's dtype."""
    match pattern:
        case Var(name=name) | Attr(name=name):
            return bound[name]
        case Number(value=value):
            return value
        case Call(fn=fn, args=args):
            return fn(*(fill(a, bound) for a in args))
        case Apply(op=op, src=src, attrs=attrs):
            operands = tuple(fill(s, bound) for s in src)
            record = OPS[op]
            if not attrs:
                return record(*operands)
            assert record.arg is not None
            return UOp(record, operands, record.arg(**{k: fill(v, bound) for k, v in attrs}))
        case _:
            return pattern
