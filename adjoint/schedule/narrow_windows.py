"""Products of 16-bit floats with windows, as products of float32.

Before: contract(w, window(pad(x))) of bfloat16, for a target that multiplies float32.
After: cast(contract(cast(w), window(pad(cast(x))))): every rule about windows applies.

Before: fold(contract(g, w)), the gradient by a picture.
After: cast(fold(contract(cast(g), cast(w)))): one rounding, as where the fold becomes a product.

What may live here: these two rules. What may not: rules about float32.
"""

from __future__ import annotations

from functools import cache
from math import prod

from adjoint.ir import axes
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.exactness import native_bfloat16
from adjoint.ir.pattern import AnyNode
from adjoint.ir.rewrite import Rule, RuleSet
from adjoint.ir.uop import UOp
from adjoint.ops.contract import contract
from adjoint.ops.movement import flip, pad_constant, permute, reshape, shrink
from adjoint.ops.window import fold, window
from adjoint.schedule.strategy import are_many, has_lines, product_dtype, sums_lines
from adjoint.target import Target

_MOVING = (flip, permute, reshape, shrink, window)


@cache
def narrow_rules(target: Target) -> RuleSet:
    """The rules for a target."""

    def windows(node: UOp) -> UOp | None:
        """contract(a, window(b)) = contract(cast(a), window(cast(b))), cast back, if taps stay or
        few rows meet windows"""
        if native_bfloat16.allowed() or not _is_narrow(node):
            return None  # its instruction takes them as they are
        if not any(x.op is window for x in node.src):
            return None
        wide = _wider(node)
        tiled = product_dtype(node, target) is wide.dtype and are_many(wide, target)
        tiled = tiled and _rows_of_taps(node) >= target.limits.windowed_rows
        in_place = has_lines(wide, target) or bool(sums_lines(wide, target))
        return wide.cast(node.dtype) if tiled or in_place else None

    return RuleSet(
        (
            Rule("narrow_fold", AnyNode("node", (fold.name,)), _fold),
            Rule("narrow_windows", AnyNode("node", (contract.name,)), windows),
        )
    )


def _fold(node: UOp) -> UOp | None:
    """fold(contract(a, b)) = fold(contract(cast(a), cast(b))), cast back: on every target, whether
    or not that multiplies 16-bit floats, since the result is another one"""
    product = node.src[0]
    return UOp(fold, (_wider(product),), node.arg).cast(node.dtype) if _is_narrow(product) else None


def _is_narrow(node: UOp) -> bool:
    return node.op is contract and node.dtype in (dtypes.float16, dtypes.bfloat16)


def _wider(product: UOp) -> UOp:
    """The same product of float32."""
    a, b = (_cast_below(x, dtypes.float32) for x in product.src)
    return a.contract(b, product.arg.spec)


def _rows_of_taps(product: UOp) -> int:
    """How many results a product with windows has for each tap: a gradient by weights has; 0 for
    other products."""
    spec = axes.parse(product.arg.spec)
    for x, term in zip(product.src, spec.terms, strict=True):
        if x.op is window and set(term[len(x.src[0].shape) :]).issubset(spec.out):
            return prod(n for c, n in zip(spec.out, product.shape, strict=True) if c not in term)
    return 0


def _cast_below(x: UOp, kind: DType) -> UOp:
    """The same elements as another dtype, cast before they are moved."""
    zeros = x.op is pad_constant and float(x.arg.value) == 0.0
    if x.op in _MOVING or zeros:
        return UOp(x.op, (_cast_below(x.src[0], kind),), x.arg)
    return x.cast(kind)
