"""Patterns over nodes: graphs with holes, written with the operators of nodes.

`x * 0 + y` is a pattern when `x` and `y` are `Var`s, and `x.exp()` or `c.where(x, y)` are patterns
too: any name of a record works. The same value serves as a template: what a match bound fills its
holes. What may live here: patterns, matching, filling in. What may not: rules (`rewrite.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
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

    Attributes that are not mentioned match anything. `label` binds the whole node. `swapped` is the
    one way in which a variant of a pattern matches: its two sources in the other order.
    """

    op: str
    src: tuple[Pattern, ...]
    attrs: tuple[tuple[str, Any], ...] = ()
    label: str = ""
    swapped: bool = False

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


def matches(pattern: Pattern, node: UOp) -> Iterator[Bindings]:
    """Every way the node matches. Recursion follows the pattern, which is shallow."""
    for variant in variants(pattern):
        bound: Bindings = {}
        if takes(variant, node, bound):
            yield bound


@cache
def variants(pattern: Pattern) -> tuple[Pattern, ...]:
    """The pattern with the sources of every op that commutes in either order."""
    if not isinstance(pattern, Apply):
        return (pattern,)
    plain = [replace(pattern, src=src) for src in product(*map(variants, pattern.src))]
    if not OPS[pattern.op].commutative or len(pattern.src) != 2:
        return tuple(plain)
    return (*plain, *(replace(variant, swapped=True) for variant in plain))


def takes(pattern: Any, node: UOp, bound: Bindings) -> bool:
    """Whether the node matches as the variant is written; what its names stand for is bound."""
    kind = type(pattern)
    if kind is Var:
        is_free = not pattern.const or is_number(node)
        return is_free and bound.setdefault(pattern.name, node) is node
    if kind is Apply:
        return _takes_applied(pattern, node, bound)
    if kind is Number:
        return is_number(node) and same_number(pattern.value, node)
    if kind is not AnyNode:
        raise InternalError(f"{pattern} can fill a template, not match a node")
    bound[pattern.name] = node
    return pattern.admits(node.op)


def _takes_applied(pattern: Apply, node: UOp, bound: Bindings) -> bool:
    src = node.src
    if node.op.name != pattern.op or len(src) != len(pattern.src):
        return False
    if pattern.swapped:
        if src[0] is src[1]:  # as it was before
            return False
        src = src[::-1]
    if pattern.label:
        bound[pattern.label] = node
    for name, value in pattern.attrs:
        actual = getattr(node.arg, name)
        wanted = bound.setdefault(value.name, actual) if isinstance(value, Attr) else frozen(value)
        if wanted != actual:
            return False
    for part, source in zip(pattern.src, src, strict=True):
        if type(part) is Var and not part.const:  # mostly
            if bound.setdefault(part.name, source) is not source:
                return False
        elif not takes(part, source, bound):
            return False
    return True


def is_number(node: UOp) -> bool:
    """Whether a node is a constant; a size that varies is none."""
    return node.op.kernel is CONSTANT and not varies(node.arg.value)


def same_number(wanted: Any, node: UOp) -> bool:
    """Whether a constant has that value, as `Number` says."""
    value = node.arg.value
    if isinstance(wanted, bool) or isinstance(value, bool):
        return wanted is value
    if isinstance(value, complex):
        parts = ((value.real, wanted.real), (value.imag, wanted.imag))
        return all(Real(v) == Real(w) for v, w in parts)
    if isinstance(value, float) and isinstance(wanted, (int, float)):
        return Real(wanted) == value
    return isinstance(wanted, int) and wanted == value


def admits(pattern: Pattern, op: OpDef) -> bool:
    """Whether a node of that op may match."""
    return pattern.admits(op) if isinstance(pattern, AnyNode) else applied(pattern).op == op.name


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
