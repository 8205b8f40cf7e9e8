"""A long sum of products becomes one loop that adds them.

Before: p0 + contract(x[1], g1) + contract(x[2], g2) + …, the gradient by a weight that is used in
every step of an unrolled recurrence: each product is a kernel, and is written only to be read once.
After: loop(sum: sum + contract(x, g)) over x and the concatenated g's, a kernel whose pieces
process all products independently. They are added in the same order, where tiles compute them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from adjoint.engine.loop_rows import is_in_tiles
from adjoint.engine.turns import name_like
from adjoint.ir.function import function_of
from adjoint.ir.kernel_kind import View
from adjoint.ir.opdef import OPS
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp, rebuild, substitute, toposort
from adjoint.ir.values import is_known
from adjoint.ops.arithmetic import add
from adjoint.ops.contract import contract
from adjoint.ops.movement import reshape, shrink
from adjoint.target import Target

_MANY = 8  # products
Form = tuple[Any, ...]


def sum_products(roots: Sequence[UOp], target: Target) -> list[UOp]:
    """The roots over such loops."""
    nodes = list(toposort(roots, stop=is_known))
    if target.tile is None or sum(node.op is contract for node in nodes) < _MANY:
        return list(roots)
    users = Counter(s for node in nodes for s in node.src) + Counter(roots)
    taken: set[UOp] = set()
    new: dict[UOp, UOp] = {}
    for node in reversed(nodes):
        if node.op is add and node not in taken and not is_known(node):
            start, terms, sums = _chain(node, users)
            taken |= sums
            if len(terms) >= _MANY and _pays(terms, target):
                new[node] = _loop(start, terms)
    return substitute(roots, new) if new else list(roots)


def _chain(top: UOp, users: Counter[UOp]) -> tuple[UOp, list[UOp], set[UOp]]:
    """The first term of a sum, the products that are added to it, in order, and all partial
    sums.
    """
    terms: list[UOp] = []
    sums: set[UOp] = set()
    node, form = top, None
    while node.op is add and not is_known(node) and (node is top or users[node] == 1):
        found = [s for s in node.src[::-1] if users[s] == 1 and _form(s) is not None]
        found = [s for s in found if form in (None, _form(s))]
        if not found or node.src[0] is node.src[1]:
            break
        sums.add(node)
        terms.append(found[0])
        form = _form(found[0])
        node = node.src[0] if found[0] is node.src[1] else node.src[1]
    if terms and users[node] == 1 and _form(node) == form:
        terms.append(node)
        node = OPS["const"](-0.0, node.dtype, node.shape, node.device)  # which changes no sum
    return node, terms[::-1], sums


def _form(node: UOp) -> Form | None:
    """What terms of one sum have in common: views of a product, its letters and sizes."""
    views = []
    while type(node.op.kernel) is View and len(node.src) == 1 and not is_known(node):
        views.append((node.op, node.arg))
        node = node.src[0]
    if node.op is not contract or is_known(node) or varies(*node.shape):
        return None
    a, b = node.src
    return (*views, node.arg, a.shape, b.shape, node.dtype)


def _product(node: UOp) -> UOp:
    while node.op is not contract:
        node = node.src[0]
    return node


def _pays(terms: Sequence[UOp], target: Target) -> bool:
    """Whether the operands, which are put side by side, are smaller than the products."""
    node = _product(terms[0])
    size = node.src[0].size + node.src[1].size
    small = size * node.dtype.itemsize * len(terms) <= target.limits.kept_bytes
    return small and size <= node.size and all(is_in_tiles(_apart(t), target) for t in terms)


def _apart(term: UOp) -> UOp:
    """A product of the same operands' views, of memory."""
    node = _product(term)
    return rebuild(node, tuple(name_like(s) for s in node.src))


def _loop(start: UOp, terms: Sequence[UOp]) -> UOp:
    products = [_product(term) for term in terms]
    slices = [_slices([p.src[which] for p in products]) for which in (0, 1)]
    backwards = any(found is not None and found[1] for found in slices)
    rows = [
        found[0]
        if found is not None and found[1] == backwards
        else _stacked([p.src[which] for p in products][:: -1 if backwards else 1])
        for which, found in enumerate(slices)
    ]
    total, *names = name_like(start), *(name_like(s) for s in products[0].src)
    (term,) = substitute([terms[0]], {products[0]: rebuild(products[0], tuple(names))})
    body = function_of([total, *names], [total + term])
    record = OPS["loop"]
    arg = record.arg(body, 1, 2, len(terms), backwards)  # type: ignore[misc]
    found: UOp = UOp(record, (start, *rows), arg).part(0)
    return found


def _slices(operands: Sequence[UOp]) -> tuple[UOp, bool] | None:
    """What these are slices of, one after another, and whether from the last to the first."""
    found = [slice_of(x) for x in operands]
    bases, places = {f[0] for f in found if f}, [f[1] for f in found if f]
    if len(bases) != 1 or len(places) < len(operands):
        return None
    step = places[1] - places[0]
    if step not in (1, -1) or any(b - a != step for a, b in pairwise(places)):
        return None
    base, (low, high) = bases.pop(), (min(places), max(places) + 1)
    whole = (low, high) == (0, base.shape[0])
    rows = base if whole else base.shrink([(low, high), *((0, n) for n in base.shape[1:])])
    return rows, step < 0


def slice_of(x: UOp) -> tuple[UOp, int] | None:
    """`base[place]`, as it is written."""
    if is_known(x) or x.op is not reshape or x.src[0].op is not shrink or is_known(x.src[0]):
        return None
    part, base = x.src[0], x.src[0].src[0]
    start, stop, step = part.arg
    rest = zip(start[1:], stop[1:], base.shape[1:], strict=True)
    whole = all(a == 0 and b == n for a, b, n in rest) and set(step) == {1}
    one = whole and stop[0] - start[0] == 1 and x.shape == base.shape[1:]
    return (base, start[0]) if one else None


def _stacked(nodes: Sequence[UOp]) -> UOp:
    rows = [node.reshape(1, *node.shape) for node in nodes]
    found: UOp = rows[0].cat(*rows[1:], dim=0)
    return found
