"""Epilogues: the work behind a product, as far as a library of the target can do it.

Candidates are a factor, an added matrix, an added row, relu, the tanh form of gelu and its
gradient, a cast to float32, and a permutation, if nothing else reads the values between; the
operand of a gelu may be a second result. gelu is recognised by its nodes: the record applied to the
same operand gives the same node. What may live here: growing chains. What may not: which steps a
library has (`target.py`), what a chain becomes (`finishes.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from adjoint.ir import axes
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.kernel_kind import is_constant
from adjoint.ir.opdef import OPS, OpDef, expand_composite
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp, toposort
from adjoint.ir.values import is_known
from adjoint.ops.casts import cast
from adjoint.ops.composite.activation import gelu_gradient
from adjoint.ops.contract import contract
from adjoint.ops.finished import KEPT
from adjoint.ops.movement import expand, permute, reshape
from adjoint.schedule.classify import LEAF, kind_of, summed_size
from adjoint.schedule.layout import below_windows
from adjoint.schedule.matrix_form import column_count, lies_in_order, teams_add_up
from adjoint.schedule.strategy import library_takes
from adjoint.target import Target

_ADD, _MUL, _RELU, _MAXIMUM = (OPS[name] for name in ("add", "mul", "relu", "maximum"))
NARROW = (dtypes.float16, dtypes.bfloat16)


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """A product and the work on it up to `end`; `kept` are intermediate values with other
    readers.
    """

    product: UOp
    end: UOp
    spec: str
    dtype: DType
    columns: int
    factor: float = 1.0
    added: UOp | None = None
    sum: UOp | None = None  # with what is added
    bias: UOp | None = None
    beside: UOp | None = None
    steps: tuple[str, ...] = ()
    kept: UOp | None = None
    reshaped: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the only work on the elements so far is a cast."""
        return self.factor == 1.0 and self.added is None and self.bias is None and not self.steps

    @property
    def is_open(self) -> bool:
        """Whether elements may still be added."""
        return not set(self.steps) - {"bias"}


class Products:
    """All nodes, and the users of each."""

    def __init__(self, roots: Sequence[UOp], target: Target):
        self.nodes = toposort(roots)
        self.target, self.known = target, set(self.nodes)
        self.users: dict[UOp, list[UOp]] = {}
        for node in self.nodes:
            for source in dict.fromkeys(node.src):
                self.users.setdefault(source, []).append(node)
        self.roots = set(roots)
        self.sums: set[UOp | None] = set()  # that belong to a product: the first of them
        limited = dict.fromkeys(n.src[0] for n in self.nodes if n.op is _MAXIMUM)  # as for gelu
        self.slopes = {slope: x for x in limited if (slope := _slope(x)) in self.known}

    def user(self, node: UOp) -> UOp | None:
        """The only one that uses a node."""
        users = self.users.get(node, ())
        return users[0] if len(users) == 1 and node not in self.roots else None

    def lies(self, product: UOp, spec: str) -> bool:
        """Whether matrices are multiplied to a result with the layout of these letters."""
        shapes = [x.shape for x in product.src]
        return lies_in_order(spec, shapes[0], shapes[1], self.target.limits.batched_elements)

    def columns(self, product: UOp, spec: str) -> int:
        """How many elements of the result are a row of a product of matrices."""
        shapes = [x.shape for x in product.src]
        return column_count(spec, shapes[0], shapes[1], self.target.limits.batched_elements)

    def may(self, chain: Chain, *steps: str) -> bool:
        """Whether a library has these steps for a product of these dtypes, and they pay."""
        kinds, summed = (chain.product.dtype.name, chain.dtype.name), summed_size(chain.product)
        for library in self.target.libraries:
            long = {step for step, most in library.longest if summed > most}
            rows = [set(has) - long for *of, has in library.finishes if tuple(of) == kinds]
            if any(row.issuperset(steps) for row in rows):
                return True
        return False


def _slope(x: UOp) -> UOp | None:
    """The factor of the gradient of gelu(x)."""
    found: UOp | None = gelu_gradient(x, x).src[1] if x.dtype in NARROW else None
    return found


def is_taken(node: UOp, target: Target) -> bool:
    """Whether a library computes a node as a product of matrices."""
    if node.op is not contract or not node.dtype.is_float or not library_takes(node.dtype, target):
        return False
    if node.size and teams_add_up(node, target):
        return False
    sizes = (*node.shape, *node.src[0].shape, *node.src[1].shape)
    if is_known(node) or varies(*sizes) or 0 in sizes:
        return False
    windows = any(below_windows(x) is not None for x in node.src)
    return not windows and summed_size(node) > target.limits.loop_products


Growth = Callable[[Products, Chain, UOp], Chain | None]


def grown(graph: Products, product: UOp) -> Chain | None:
    """As much as the library can do at once; None if that is the product alone."""
    spec = product.arg.spec
    chain = Chain(product, product, spec, product.dtype, graph.columns(product, spec))
    while (longer := _longer(graph, chain)) is not None:
        chain = longer
    done = chain.spec != spec or not chain.is_plain or chain.dtype is not product.dtype
    return chain if done and graph.lies(product, chain.spec) else None


def _longer(graph: Products, chain: Chain) -> Chain | None:
    found = _gelu(graph, chain)
    user = graph.user(chain.end)
    if found is not None or user is None:
        return found
    for grow in _GROWTHS.get(user.op, ()):
        found = grow(graph, chain, user)
        if found is not None:
            return found
    return None


def _to_float32(graph: Products, chain: Chain, user: UOp) -> Chain | None:
    wider = user.dtype is dtypes.float32 and chain.dtype in NARROW
    alone = chain.added is None and chain.beside is None and KEPT not in chain.steps
    found = replace(chain, end=user, dtype=user.dtype)
    if not (wider and alone and graph.may(found, *chain.steps)):
        return None
    few = user.size <= min(x.size for x in chain.product.src)  # else kernels had better read less
    return found if few or user in graph.roots or _is_written(graph, found) else None


def _is_written(graph: Products, chain: Chain) -> bool:
    """Whether float32 would be written anyway: transposed, or in a sum with one reader. If a sum
    has several readers, such as that of a residual and a product, the kernel that reads it first
    computes it, at no cost beyond reading it.
    """
    user = graph.user(chain.end)
    if user is None or user.op not in (_ADD, permute):
        return False
    if user.op is _ADD and len(graph.users.get(user, ())) > 1:
        return False
    return (_summed if user.op is _ADD else _permuted)(graph, chain, user) is not None


def _permuted(graph: Products, chain: Chain, user: UOp) -> Chain | None:
    """permute(contract(a, b, "kn")) = contract(a, b, "nk")"""
    letters = axes.parse(chain.spec)
    if not chain.is_plain or chain.reshaped:
        return None
    out = "".join(letters.out[d] for d in user.arg.order)
    spec = f"{','.join(letters.terms)}->{out}"
    if not graph.lies(chain.product, spec):
        return None
    return replace(chain, end=user, spec=spec, columns=graph.columns(chain.product, spec))


def _reshaped(graph: Products, chain: Chain, user: UOp) -> Chain | None:
    lies = graph.lies(chain.product, chain.spec)
    return replace(chain, end=user, reshaped=True) if lies else None


def _scaled(graph: Products, chain: Chain, user: UOp) -> Chain | None:
    other = next((x for x in user.src if is_constant(x)), None)
    if other is None or not chain.is_plain or not graph.may(chain, "factor"):
        return None
    factor = float(np.array(other.arg.value, other.dtype.np))
    return replace(chain, end=user, factor=factor) if isfinite(factor) and factor else None


def _with_slope(graph: Products, chain: Chain, user: UOp) -> Chain | None:
    """g * slope(x) = the gradient of gelu(x) by x"""
    x = next((graph.slopes[s] for s in user.src if s in graph.slopes), None)
    if x is None or not chain.is_plain or not graph.may(chain, "gelu gradient"):
        return None
    return replace(chain, end=user, beside=x, steps=("gelu gradient",))


def _summed(graph: Products, chain: Chain, user: UOp) -> Chain | None:
    others = [x for x in user.src if x is not chain.end]
    if len(others) != 1 or not chain.is_open:
        return None
    row = _row(others[0], chain.columns)
    if row is not None and chain.bias is None and graph.may(chain, "bias"):
        return replace(chain, end=user, bias=row, steps=("bias",))
    fits = chain.added is None and user not in graph.sums and graph.may(chain, "matrix")
    if fits and _lies_in_memory(graph, others[0]):
        return replace(chain, end=user, added=others[0], sum=user)
    return None


def _row(x: UOp, columns: int) -> UOp | None:
    """The vector that is added to all rows, if that is what x is."""
    if x.op is not expand:
        return None
    vector: UOp = x.src[0]
    last = tuple(n for n in vector.shape if n != 1)
    ends = [tuple(shape[len(shape) - len(last) :]) for shape in (vector.shape, x.shape)]
    return vector if vector.size == columns and ends == [last, last] else None


def _lies_in_memory(graph: Products, x: UOp) -> bool:
    """Whether a matrix is written anyway: it is given, read by others too, or a sum of products."""
    while x.op is reshape:
        x = x.src[0]
    if is_constant(x) or x.op is expand:
        return False
    products = any(is_taken(n, graph.target) for n in (x, *(x.src if x.op is _ADD else ())))
    return kind_of(x) == LEAF or len(graph.users[x]) > 1 or products


def _with_relu(graph: Products, chain: Chain, user: UOp) -> Chain | None:
    may = chain.is_open and graph.may(chain, *chain.steps, "relu")
    return replace(chain, end=user, steps=(*chain.steps, "relu")) if may else None


def _gelu(graph: Products, chain: Chain) -> Chain | None:
    """All readers of a gelu's operand, or the operand is kept as well."""
    z, steps = chain.end, (*chain.steps, "gelu")
    if not chain.is_open or not graph.users.get(z) or not graph.may(chain, *steps):
        return None
    limited = any(user.op is _MAXIMUM for user in graph.users[z])  # as gelu's operand is
    found = expand_composite(OPS["gelu"](z)) if limited else None
    if found not in graph.known:
        return None
    inside = set(toposort([found], stop=lambda n: n is z))
    if all(_is_read_by(graph, n, inside) for n in inside if n is not found):
        return replace(chain, end=found, steps=steps)
    if chain.added is not None or not graph.may(chain, *steps, KEPT):
        return None
    return replace(chain, end=found, steps=(*steps, KEPT), kept=z)


def _is_read_by(graph: Products, node: UOp, users: set[UOp]) -> bool:
    """Whether no others read a node."""
    return is_constant(node) or (node not in graph.roots and users.issuperset(graph.users[node]))


_GROWTHS: dict[OpDef, tuple[Growth, ...]] = {
    cast: (_to_float32,),
    permute: (_permuted,),
    reshape: (_reshaped,),
    _MUL: (_scaled, _with_slope),
    _ADD: (_summed,),
    _RELU: (_with_relu,),
}
