"""Tiled products that read an operand transposed.

Before: contract(xᵀ, g), where the summed axis of a large x is strided.
After: contract(gᵀ, x)ᵀ, which reads x in order.

Before: contract(pᵀ, g) and contract(a, s), with p and s as large as all scores of an attention: the
gradients by values and keys.
After, if they are too large to keep: contract(p', g) and contract(s', aᵀ)ᵀ, with p' and s' computed
from transposed products, contract(k, qᵀ) for contract(q, kᵀ)ᵀ. Such products are kernels that
compute rows of p' and s' themselves (`panels.py`), from the stored maximum and sum of each row.

A transposed product adds the same products in the same order: no bit changes. What may live here:
these rewrites. What may not: which nodes share a kernel.
"""

from __future__ import annotations

from functools import cache
from math import prod

from adjoint.ir.kernel_kind import Library, Pointwise, is_constant, is_reduction
from adjoint.ir.opdef import OPS
from adjoint.ir.pattern import AnyNode
from adjoint.ir.rewrite import Rule, RuleSet
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.ops.contract import contract
from adjoint.ops.movement import expand, permute, reshape
from adjoint.schedule.layout import strides_over
from adjoint.schedule.panels import is_large
from adjoint.schedule.strategy import TILES, choose
from adjoint.target import Target

_SPEC = "bmk,bkn->bmn"
_FAR = 4096  # bytes between numbers that are added up: a page, and one place of the first cache
_LARGER = 4  # times: the operand that is read as it lies


@cache
def across_rules(target: Target) -> RuleSet:
    """The rules for a target, about products of matrices."""

    def again(node: UOp) -> UOp | None:
        """contract(a, s) = contract(sᵀ, aᵀ)ᵀ; contract(pᵀ, g) with pᵀ of transposed products"""
        largest = max(prod(source.shape) for source in node.src) * node.dtype.itemsize
        large = largest >= target.limits.recomputed_bytes
        return _again(node, target) if large and _is_tiled(node, target) else None

    def turned(node: UOp) -> UOp | None:
        """contract(xᵀ, g) = contract(gᵀ, x)ᵀ, for a large x whose columns are added up"""
        wide = node.ndim == 3 and node.shape[1] >= _LARGER * node.shape[2]
        return _as_it_lies(node, target) if wide and _is_tiled(node, target) else None

    products = AnyNode("node", (contract.name,))
    return RuleSet((Rule("rows_again", products, again), Rule("turned_product", products, turned)))


def _is_tiled(node: UOp, target: Target) -> bool:
    plain = (
        node.op is contract
        and node.arg.spec == _SPEC
        and not varies(*node.shape, *node.src[0].shape)
    )
    return plain and choose(node, target).use == TILES


def _as_it_lies(node: UOp, target: Target) -> UOp | None:
    lhs, rhs = node.src
    strides = strides_over(lhs)
    if strides is None or strides[1] != 1 or strides[2] * node.dtype.itemsize < _FAR:
        return None
    return _tiled(rhs.permute(0, 2, 1), lhs.permute(0, 2, 1), target, across=True)


def _again(node: UOp, target: Target) -> UOp | None:
    lhs, rhs = node.src
    turned = _Turned(target)
    right = turned.of(rhs)
    if turned.pays:
        return _tiled(right, _Turned(target).of(lhs), target, across=True)
    turned = _Turned(target)
    left = turned.pushed(lhs)
    return _tiled(left, rhs, target) if turned.pays else None


def _tiled(lhs: UOp, rhs: UOp, target: Target, across: bool = False) -> UOp | None:
    """The product of two matrices, if it is tiles as before."""
    found = lhs.contract(rhs, _SPEC)
    if choose(found, target).use != TILES:
        return None
    return found.permute(0, 2, 1) if across else found


class _Turned:
    """Nodes with their last two axes exchanged, computed by transposed products if possible."""

    def __init__(self, target: Target):
        self.target = target
        self.products = False  # whether a large one is below
        self.reductions = False  # whether something was reduced, such as its rows
        self._known: dict[UOp, UOp] = {}

    @property
    def pays(self) -> bool:
        """Whether the transposed nodes are rows between products."""
        return self.products and self.reductions

    def pushed(self, node: UOp) -> UOp:
        """The same node, without an exchange of axes at its top."""
        if node.op is reshape and _keeps_matrix(node):
            return self.pushed(node.src[0]).reshape(node.shape)
        return self.of(node.src[0]) if _is_exchange(node) else node

    def of(self, node: UOp) -> UOp:
        """The node with its last two axes exchanged."""
        if node not in self._known:
            self._known[node] = self._made(node)
        return self._known[node]

    def _made(self, node: UOp) -> UOp:
        kernel, exchanged = node.op.kernel, (*node.shape[:-2], node.shape[-1], node.shape[-2])
        if is_constant(node):
            return OPS["const"](node.arg.value, node.dtype, exchanged, node.device)
        if _is_exchange(node):
            return node.src[0]
        if node.op is reshape and _keeps_matrix(node):
            return self.of(node.src[0]).reshape(exchanged)
        if type(kernel) is Pointwise and all(s.shape == node.shape for s in node.src):
            return UOp(node.op, tuple(self.of(source) for source in node.src), node.arg)
        if (
            node.op is contract
            and is_large(node, self.target.limits)
            and _is_tiled(node, self.target)
        ):
            lhs, rhs = (source.permute(0, 2, 1) for source in node.src)
            found = _tiled(rhs, lhs, self.target)
            if found is not None:
                self.products = True
                return found
        self._note(node)
        return node.permute([*range(node.ndim - 2), node.ndim - 1, node.ndim - 2])

    def _note(self, node: UOp) -> None:
        """A value that is broadcast over a row may be a reduction of it."""
        while node.op in (expand, reshape):
            node = node.src[0]
        self.reductions = self.reductions or (is_reduction(node) and node.op.kernel is not Library)


def _is_exchange(node: UOp) -> bool:
    rank = node.ndim
    order = (*range(rank - 2), rank - 1, rank - 2)
    return node.op is permute and tuple(node.arg.order) == order


def _keeps_matrix(node: UOp) -> bool:
    """Whether a reshape leaves the last two axes alone."""
    return min(node.ndim, node.src[0].ndim) >= 2 and node.shape[-2:] == node.src[0].shape[-2:]
