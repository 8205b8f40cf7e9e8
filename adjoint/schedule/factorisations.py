"""Linear algebra for a library of large matrices: FACTOR, between views and triangles.

Before: cholesky(x). After: the upper triangle of FACTOR of the self-adjoint part of x, transposed.

Small matrices stay with the host, which finishes them before a GPU has begun.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod

from adjoint.ir.dtype import real_of
from adjoint.ir.opdef import OpDef
from adjoint.ir.pattern import AnyNode
from adjoint.ir.rewrite import Rule, RuleSet
from adjoint.ir.sizes import varies
from adjoint.ir.uop import UOp
from adjoint.ops.factor import CHOLESKY, EIGH, QR, SOLVE, SVD, TRIANGULAR, FactorArg, factor
from adjoint.ops.factorisations import eigh, qr, svd_reduced
from adjoint.ops.leaves import part
from adjoint.ops.linalg import cholesky, inv, solve, solve_triangular
from adjoint.ops.matrix import identity_mask, mH, mT, self_adjoint_part, upper
from adjoint.target import Target

_FEWEST_ROWS = 64  # of a matrix that is worth a call
_MOST = 16  # matrices of a batch: each is a call


@cache
def factor_rules(target: Target) -> RuleSet:
    """The rules for a target: about the dtypes that its library takes."""

    def takes(node: UOp) -> bool:
        x = node.src[0]
        if varies(*x.shape) or not all(s.size for s in node.src):
            return False
        few = prod(x.shape[:-2]) <= _MOST and min(x.shape[-2:]) >= _FEWEST_ROWS
        dtype = real_of(x.dtype) if x.dtype.is_complex else x.dtype
        return few and target.computes("factor", dtype)

    def whole(node: UOp) -> UOp | None:
        """cholesky(x) = a triangle of factor(x), turned; and so on"""
        return _WHOLE[node.op](node) if takes(node) else None

    def picked(node: UOp) -> UOp | None:
        """a part of qr(x) = one of factor(x), transposed; and so on"""
        x = node.src[0]
        return _PARTS[x.op](x.src[0], node.arg.index) if x.op in _PARTS and takes(x) else None

    names = tuple(op.name for op in _WHOLE)
    return RuleSet(
        (
            Rule("factor", AnyNode("node", names), whole),
            Rule("part_of_factor", AnyNode("node", (part.name,)), picked),
        )
    )


def _made(what: str, *operands: UOp) -> UOp:
    return UOp(factor, operands, FactorArg(what))


# ---- nodes of one result


def _cholesky(node: UOp) -> UOp:
    found = upper(_made(CHOLESKY, self_adjoint_part(node.src[0])))
    return found if node.arg.upper else mH(found)


def _solve(node: UOp) -> UOp:
    a, b = node.src
    return mT(_made(SOLVE, a, mT(b)))


def _inverse(node: UOp) -> UOp:
    (a,) = node.src
    one = identity_mask(a.shape[-1], a.device).cast(a.dtype).expand(a.shape)
    return mT(_made(SOLVE, a, one))


def _triangular(node: UOp) -> UOp:
    return UOp(factor, node.src, FactorArg(TRIANGULAR, *node.arg))


_WHOLE: dict[OpDef, Callable[[UOp], UOp]] = {
    cholesky: _cholesky,
    solve: _solve,
    inv: _inverse,
    solve_triangular: _triangular,
}

# ---- nodes of several


def _qr(x: UOp, index: int) -> UOp:
    found = _made(QR, mT(x))
    if index == 0:
        return mT(found.part(0))
    whole = mT(found.part(1))
    rows = min(x.shape[-2:])
    return upper(whole.shrink([*((0, n) for n in x.shape[:-2]), (0, rows), (0, x.shape[-1])]))


def _eigh(x: UOp, index: int) -> UOp:
    found = _made(EIGH, self_adjoint_part(x))
    return found.part(0) if index == 0 else mH(found.part(1))


def _svd(x: UOp, index: int) -> UOp:
    if x.shape[-2] <= x.shape[-1]:
        return _made(SVD, x).part(index)
    found = _made(SVD, mT(x)).part(2 - index)
    return found if index == 1 else mT(found)


_PARTS: dict[OpDef, Callable[[UOp, int], UOp]] = {qr: _qr, eigh: _eigh, svd_reduced: _svd}
