"""Products with epilogues that a library of the target computes.

Before: gelu(cast(x) @ permute(cast(w)) + b): a product, written to memory, and a kernel that reads
it.
After: finished_product(x, w, b) with the steps bias and gelu, in one call.

The library rounds elements once, where separate kernels would round narrow floats after every op.
What may live here: the pass. What may not: which work joins a product (`product_chains.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from adjoint.ir.dtype import DType
from adjoint.ir.uop import UOp, rebuild
from adjoint.ir.values import is_known
from adjoint.ops.casts import cast
from adjoint.ops.finished import KEPT, FinishedArg, finished_product
from adjoint.ops.movement import padded, permute, reshape
from adjoint.schedule.matrix_form import as_matrices
from adjoint.schedule.product_chains import NARROW, Chain, Products, grown, is_taken
from adjoint.schedule.whole_lines import Lined, is_ragged, on_lines
from adjoint.target import Target


def with_finishes(roots: Sequence[UOp], target: Target) -> list[UOp]:
    """The roots over such products, if the target has a library that finishes any."""
    if not any(library.finishes for library in target.libraries):
        return list(roots)
    graph = Products(roots, target)
    products = [node for node in graph.nodes if is_taken(node, target)]
    built: dict[UOp, Chain] = {}
    for product in products:
        chain = grown(graph, product) or _ragged(graph, product)
        if chain is not None:
            built[chain.end if chain.kept is None else chain.kept] = chain
            graph.sums.add(chain.sum)
    return _rebuilt(roots, graph.nodes, built, target) if products else list(roots)


def _ragged(graph: Products, product: UOp) -> Chain | None:
    """The product alone, if its rows are to be made longer."""
    if not is_ragged(product, graph.target):
        return None
    spec = product.arg.spec
    return Chain(product, product, spec, product.dtype, graph.columns(product, spec))


def _rebuilt(
    roots: Sequence[UOp], nodes: Sequence[UOp], chains: Mapping[UOp, Chain], target: Target
) -> list[UOp]:
    new: dict[UOp, UOp] = {}
    for node in nodes:
        if node in new:
            continue
        if node in chains:
            new |= _finished(chains[node], new, target)
        else:
            src = tuple(new[s] for s in node.src)
            if is_taken(node, target):
                src = tuple(map(_cast_first, src))
            new[node] = node if src == node.src else rebuild(node, src)
    return [new[root] for root in roots]


def _finished(chain: Chain, new: Mapping[UOp, UOp], target: Target) -> dict[UOp, UOp]:
    """The replacements for the nodes of a chain that others read."""
    a, b = (_cast_first(new[s]) for s in chain.product.src)
    ragged = is_ragged(chain.product, target)
    wider = ragged and chain.added is None and chain.beside is None
    kept: list[UOp] = []

    def product(left: UOp, right: UOp, spec: str) -> UOp:
        shape = (left.shape[0], left.shape[1], right.shape[2])
        plain = Lined(left, right, shape[1], shape[2])
        lined = on_lines(left, right, target, wider) if ragged else plain
        more = [x.reshape(shape) for x in _each(chain.added, new)]
        more += [_row(x, shape[2], lined.columns, chain.dtype) for x in _each(chain.bias, new)]
        more += [x.reshape(shape) for x in _each(chain.beside, new)]
        arg = FinishedArg(spec, chain.dtype, chain.factor, chain.added is not None, chain.steps)
        made = finished_product([lined.left, lined.right, *more], arg)
        parts = [made.part(0), made.part(1)] if KEPT in chain.steps else [made]
        if (lined.rows, lined.columns) != shape[1:]:
            parts = [part.shrink([(0, n) for n in shape]) for part in parts]
        kept.extend(parts[1:])
        return parts[0]

    least = target.limits.batched_elements
    found = as_matrices(chain.spec, (a, b), product, False, least).reshape(chain.end.shape)
    if chain.kept is None:
        return {chain.end: found}
    return {chain.end: found, chain.kept: kept[0].reshape(chain.kept.shape).cast(chain.kept.dtype)}


def _row(x: UOp, columns: int, wanted: int, dtype: DType) -> UOp:
    """The row that is added to every row, padded with zeros if necessary."""
    return padded(x.reshape(columns).cast(dtype), [0], [wanted - columns], value=0)


def _each(node: UOp | None, new: Mapping[UOp, UOp]) -> Iterator[UOp]:
    if node is not None:
        yield new[node]


def _cast_first(x: UOp) -> UOp:
    """cast(permute(x)) = permute(cast(x)): the numbers are written in the order they lie in, and
    the library reads them in the other."""
    if x.op in (permute, reshape) and not is_known(x):
        return rebuild(x, (_cast_first(x.src[0]),))
    below = x.src[0] if x.op is cast and not is_known(x) else x
    if x.op is not cast or below.op not in (permute, reshape) or is_known(below):
        return x
    return rebuild(below, (_cast_first(below.src[0].cast(x.dtype)),)) if x.dtype in NARROW else x
