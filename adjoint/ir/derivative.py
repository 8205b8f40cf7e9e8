"""The ways an op can declare its derivative. Each op declares once; both modes follow.

In the functions below `g` is the cotangent of the result, `t` the tuple of tangents of the operands
(None where an operand has none), `y` the result, then the operands, then the attributes by name.
Elsewhere: the engines that use them (`autodiff/`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Rule = Callable[..., Any]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Partials:
    """Elementwise: `fn(y, *x)` gives dy/dx for each operand; None where it is declared zero."""

    fn: Rule


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Diagonal:
    """Elementwise, where a product with the partial will not do (0 * inf): `fn(d, y, *x)` maps a
    cotangent or a tangent `d` to its contribution through each operand."""

    fn: Rule


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Linear:
    """Linear in all its inexact operands together: `fn(g, *x, **attrs)` is the transpose.

    Forward, the op is applied to the tangents, unless it is affine and says how (`tangent`, with
    the parameters of a Jvp).
    """

    fn: Rule
    tangent: Rule | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bilinear:
    """Linear in each of two operands: a transpose for each, `fn(g, a, b, **attrs)`."""

    lhs: Rule
    rhs: Rule


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Jvp:
    """`fn(t, y, *x, **attrs)` is the result's tangent, linear in `t`; reverse transposes it."""

    fn: Rule


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Vjp:
    """`fn(g, y, *x, **attrs)` returns the cotangent of each operand (None where there is none).

    For rules that users write and for loops, whose transpose cannot be derived from the tangent.
    Forward mode needs `tangent`, with the parameters of a Jvp; without it, it raises E5001. A
    selective rule also takes `needs`: which operands need a cotangent.
    """

    fn: Rule
    tangent: Rule | None = None
    selective: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ThroughBody:
    """The derivative of the body: the op consists of others and adds nothing of its own.

    `whole(node)`: whether reverse mode keeps it as a node (GRADIENT_OF), for which a target may
    have kernels.
    """

    whole: Rule | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ZeroGradient:
    """Piecewise constant: the derivative is zero by declaration, for this reason."""

    reason: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Stop:
    """No derivative flows, as the user requested (DETACH, ASSIGN)."""

    reason: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NotDifferentiable:
    """No derivative exists or none is given; asking for one is E5001 with this reason."""

    reason: str


Derivative = (
    Partials
    | Diagonal
    | Linear
    | Bilinear
    | Jvp
    | Vjp
    | ThroughBody
    | ZeroGradient
    | Stop
    | NotDifferentiable
)
