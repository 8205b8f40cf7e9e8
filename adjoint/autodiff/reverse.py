"""Reverse mode: the cotangent of a root, pulled back to every node that leads to a target.

Only nodes on a path from the root to a target are visited; DETACH and ASSIGN end paths, and so do
nodes of integer or bool dtype and ops declared piecewise constant. Contributions to a node are
added left to right in the order in which its users are visited, so the same graph always gives the
same gradient. There is no recursion over the graph: it follows only the nesting of composites.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import count
from typing import Any

from adjoint.errors import AutodiffError, InternalError
from adjoint.ir.arg import Arg
from adjoint.ir.collector import collector_paused
from adjoint.ir.derivative import (
    Bilinear,
    Diagonal,
    Jvp,
    Linear,
    NotDifferentiable,
    Partials,
    Stop,
    ThroughBody,
    Vjp,
    ZeroGradient,
)
from adjoint.ir.dtype import dtypes
from adjoint.ir.function import input_like
from adjoint.ir.kernel_kind import EXPAND, PART
from adjoint.ir.opdef import OPS, OpDef, attributes, expand_composite, internal
from adjoint.ir.origin import origin_scope
from adjoint.ir.uop import UOp

Contributions = Sequence[UOp | None]
Needs = tuple[bool, ...]
_BARRIERS = frozenset({Stop, ZeroGradient})
_ALONE: Needs = (True,)  # a node on the path with one operand got there through it
_names = count()


def compute_gradient(
    root: UOp, root_grad: UOp, targets: Collection[UOp], leaves: Collection[UOp] = ()
) -> dict[UOp, UOp]:
    """The gradient of every node on a path from `root` to `targets`; `leaves` end the walk.

    A target that is an integer or a truth value has none. A root of several results has a list.
    """
    _check_seed(root, root_grad)
    path, needed = _paths(root, set(filter(carries, targets)), set(leaves))
    wanted = needed.__contains__
    grads: dict[UOp, Any] = {root: root_grad}
    with origin_scope(None) as place, collector_paused():
        for node in reversed(path):
            g = grads.get(node)
            if g is None:
                continue
            place.follow(node._origin)
            rule = _RULES.get(type(node.op.ad))
            if rule is not None:
                src = node.src
                needs = _ALONE if len(src) == 1 else tuple(map(wanted, src))
                _accumulate(grads, node, rule(node, g, needs))
            elif node.op.kernel is PART:
                _accumulate_part(grads, node.src[0], node.arg.index, g)
            else:
                raise no_derivative(node)
    for node in [n for n, g in grads.items() if type(g) is list]:
        del grads[node]  # several results: their parts have the gradients
    return grads


def _check_seed(root: UOp, seed: Any) -> None:
    if type(seed) is list:
        return
    if isinstance(seed, UOp) and seed.shape == root.shape and seed.dtype == root.dtype:
        return
    problem = "the gradient of the root is not a node of the root's shape and dtype"
    operands = [("root", root), ("root_grad", seed)]
    raise AutodiffError("E5004", problem, op="compute_gradient", operands=operands)


def _paths(root: UOp, targets: set[UOp], leaves: set[UOp]) -> tuple[list[UOp], set[UOp]]:
    """The nodes that pass a gradient on, in order; and all that need one: those and the targets.

    The order is that of `toposort`, which is also that of a captured module: both add contributions
    to a node in the same order. So the walk goes through what ends paths (a comparison, DETACH) as
    well, but not through realized values, whose history may be long. On the stack, None comes above
    a node whose sources are done.
    """
    path: list[UOp] = []
    needed = set(targets)
    opened = set(leaves)
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        if node is None:
            node = stack.pop()
            ends = type(node.op.ad) in _BARRIERS
            if not ends and not needed.isdisjoint(node.src) and carries(node):
                path.append(node)
                needed.add(node)
        elif node not in opened:
            opened.add(node)
            stack += (node, None)
            ends = type(node.op.ad) in _BARRIERS
            for source in reversed(node.src):
                if (
                    source.src
                    and source not in opened
                    and not (ends and source.realized is not None)
                ):
                    stack.append(source)
    return path, needed


def carries(node: UOp) -> bool:
    """Whether a derivative can pass: integers and truth values have none."""
    if type(node.dtype) is tuple:
        return any(kind.is_inexact for kind in node.dtype)
    return node.dtype.kind in "fc"


def _accumulate(grads: dict[UOp, Any], node: UOp, contributions: Contributions) -> None:
    sources = node.src
    if len(contributions) != len(sources):
        raise InternalError(f"the derivative of {node.op.name} has {len(contributions)} parts")
    for source, value in zip(sources, contributions):  # noqa: B905  # a strict zip is slower
        if value is None:
            continue
        if value.shape != source.shape:
            found = f"shape {value.shape}, not {source.shape}"
            raise InternalError(f"the derivative of {node.op.name} has {found}")
        present = grads.get(source)
        grads[source] = value if present is None else _total(present, value)


def _total(a: UOp, b: UOp) -> UOp:
    """The sum of cotangents; one of a dtype that does not compute is rounded once."""
    if not a.dtype.is_storage:
        return a + b
    return (a.cast(dtypes.float32) + b.cast(dtypes.float32)).cast(a.dtype)


def _accumulate_part(grads: dict[UOp, Any], source: UOp, index: int, value: UOp) -> None:
    parts = grads.setdefault(source, [None] * len(source.dtype))
    parts[index] = value if parts[index] is None else _total(parts[index], value)


def pulled_back(node: UOp, g: Any, needs: Needs) -> Contributions:
    """The contributions of one node to its operands; `g` is a list if it has several results."""
    rule = _RULES.get(type(node.op.ad))
    if rule is None:
        raise no_derivative(node)
    return rule(node, g, needs)


def no_derivative(node: UOp) -> AutodiffError:
    """E5001: the op on the path has no derivative."""
    reason = node.op.ad.reason if isinstance(node.op.ad, NotDifferentiable) else ""
    operands = [("result", node), *((f"operand {i}", s) for i, s in enumerate(node.src))]
    problem = f"has no derivative: {reason}" if reason else "has no derivative in this mode"
    fix = "use .detach() on its operands if no gradient should pass"
    return AutodiffError("E5001", problem, op=node.op.name, operands=operands, help=fix)


def _partials(node: UOp, g: UOp, needs: Needs) -> Contributions:
    partials = node.op.ad.fn(node, *node.src)
    if len(needs) == 1:
        return (_scaled(g, partials[0]),)
    if len(needs) == 2:
        a, b = partials
        return _scaled(g, a) if needs[0] else None, _scaled(g, b) if needs[1] else None
    return [_scaled(g, p) if need else None for p, need in zip(partials, needs, strict=True)]


def _scaled(d: UOp, partial: Any) -> UOp | None:
    if type(partial) is UOp:
        return d * partial
    if partial is None:
        return None
    if type(partial) is int:
        if partial == 1:
            return d
        if partial == -1:
            return -d
    return d * partial


def _diagonal(node: UOp, g: UOp, needs: Needs) -> Contributions:
    values = node.op.ad.fn(g, node, *node.src)
    return [v if need else None for v, need in zip(values, needs, strict=True)]


def _linear(node: UOp, g: UOp, needs: Needs) -> Contributions:
    values = node.op.ad.fn(g, *node.src, **attributes(node))
    if type(values) is UOp and len(needs) == 1:
        return (values,)
    listed = values if isinstance(values, tuple) else (values,)
    full = [*listed, *([None] * (len(needs) - len(listed)))]
    return [v if need else None for v, need in zip(full, needs, strict=True)]


def _bilinear(node: UOp, g: UOp, needs: Needs) -> Contributions:
    a, b = node.src
    attrs = attributes(node)
    left = node.op.ad.lhs(g, a, b, **attrs) if needs[0] else None
    right = node.op.ad.rhs(g, a, b, **attrs) if needs[1] else None
    return left, right


def _jvp(node: UOp, g: Any, needs: Needs) -> Contributions:
    """The transpose of the declared tangent: its gradient with respect to symbolic tangents."""
    pairs = zip(node.src, needs, strict=True)
    symbols = [input_like(f"t{next(_names)}", s) if need else None for s, need in pairs]
    result = results(node)
    tangent = node.op.ad.fn(tuple(symbols), result, *node.src, **attributes(node))
    outputs = result if isinstance(result, tuple) else (result,)
    roots = spread_tangents(tangent, result)
    both = zip(roots, g, strict=True) if isinstance(result, tuple) else [(roots, g)]
    wanted = [s for s in symbols if s is not None]
    ends = {*node.src, *outputs, *wanted}
    totals: dict[UOp, UOp] = {}
    for root, cotangent in both:
        if root is None or cotangent is None:
            continue
        found = compute_gradient(root, cotangent, wanted, ends)
        for symbol in wanted:
            if symbol in found:
                present = totals.get(symbol)
                totals[symbol] = found[symbol] if present is None else present + found[symbol]
    return [None if s is None else totals.get(s) for s in symbols]


def spread_tangents(tangent: Any, result: Any) -> Any:
    """The results of a rule, in the shape of the result: a tangent of a smaller operand is
    broadcast.
    """
    if isinstance(result, tuple):
        return tuple(map(spread_tangents, tangent, result))
    if tangent is None or tangent.shape == result.shape:
        return tangent
    return tangent.expand(result.shape)


def _vjp(node: UOp, g: Any, needs: Needs) -> Contributions:
    extra = {"needs": needs} if node.op.ad.selective else {}
    values = node.op.ad.fn(g, results(node), *node.src, **attributes(node), **extra)
    return [v if need else None for v, need in zip(values, needs, strict=True)]


def zeros_of(node: UOp) -> UOp:
    """Zeros of the node's type: a derivative that is absent."""
    return OPS["const"](0, node.dtype, node.shape, node.device)


def or_zeros(values: Sequence[UOp | None], like: Sequence[UOp]) -> list[UOp]:
    """The values, with zeros for those that are absent."""
    return [zeros_of(n) if v is None else v for v, n in zip(values, like, strict=True)]


def results(node: UOp) -> Any:
    """The node, or the tuple of its parts if it has several results."""
    if not isinstance(node.dtype, tuple):
        return node
    return tuple(OPS["part"](node, i) for i in range(len(node.dtype)))


def _through_body(node: UOp, g: UOp, needs: Needs) -> Contributions:
    whole = node.op.ad.whole
    if whole is not None and whole(node) and len(set(node.src)) == len(node.src):
        return [gradient_of(node, g, i) if need else None for i, need in enumerate(needs)]
    return through_body(node, g, needs)


def through_body(node: UOp, g: UOp, needs: Needs) -> Contributions:
    """The derivative of a composite's body."""
    body = expand_composite(node)
    wanted = [s for s, need in zip(node.src, needs, strict=True) if need]
    found = compute_gradient(body, g, wanted, set(node.src))
    if body in node.src:  # the body is the operand itself
        found = {body: g}
    seen: set[UOp] = set()
    contributions = []
    for source, need in zip(node.src, needs, strict=True):
        first = need and source not in seen  # an operand given twice has one total
        contributions.append(found.get(source) if first else None)
        seen.add(source)
    return contributions


# ---- derivatives that stay whole


class GradientOfArg(Arg):
    """Of an op with these attributes: the gradient of one of its operands."""

    op: str
    values: tuple[Any, ...] | None
    operand: int


def gradient_of(node: UOp, g: UOp, operand: int) -> UOp:
    """An operand's share of a node's cotangent, as one node."""
    values = None if node.arg is None else tuple(node.arg)
    return UOp(gradient_record, (*node.src, g), GradientOfArg(node.op.name, values, operand))


def differentiated(node: UOp) -> UOp:
    """The node of which another is the gradient."""
    record = OPS[node.arg.op]
    assert record.arg is not None or node.arg.values is None
    arg = None if node.arg.values is None else record.arg(*node.arg.values)  # type: ignore[misc]
    return UOp(record, node.src[:-1], arg)


def _gradient_body(*src: UOp, op: str, values: Any, operand: int) -> UOp:
    node = differentiated(UOp(gradient_record, src, GradientOfArg(op, values, operand)))
    needs = tuple(i == operand for i in range(len(node.src)))
    found = through_body(node, src[-1], needs)[operand]
    return zeros_of(src[operand]) if found is None else found


def _gradient_type(src: tuple[UOp, ...], arg: Any) -> tuple[Any, Any]:
    return src[arg.operand].shape, src[arg.operand].dtype


def _no_reference(*arrays: Any, **attributes: Any) -> Any:
    raise InternalError("a gradient that stayed whole is expanded before it is interpreted")


gradient_record: OpDef = internal(
    "gradient_of",
    "The gradient of one operand of a composite; its body is the derivative of that one's body.",
    "composite",
    call=gradient_of,
    ad=ThroughBody(),
    reference=_no_reference,
    arg=GradientOfArg,
    infer=_gradient_type,
    body=_gradient_body,
    kernel=EXPAND,
    opcode=False,
)


_RULES: dict[type, Callable[[UOp, Any, Needs], Contributions]] = {
    Partials: _partials,
    Diagonal: _diagonal,
    Linear: _linear,
    Bilinear: _bilinear,
    Jvp: _jvp,
    Vjp: _vjp,
    ThroughBody: _through_body,
}
