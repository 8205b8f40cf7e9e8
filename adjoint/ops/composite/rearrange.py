"""`rearrange`: axes divided, reordered and merged by an einops formula."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from adjoint.errors import AdjointError, class_of
from adjoint.ir.opdef import Bad, derived
from adjoint.ir.uop import UOp
from adjoint.ops.composite.concatenate import whole_number
from adjoint.ops.samples import real

_MATRIX = np.ones((2, 3))
Group = tuple[str, ...] | str  # a parenthesis, or an axis of its own


def _malformed(formula: str, why: str, code: str = "E2001") -> AdjointError:
    fix = "a formula looks like 'b (h w) c -> b c h w', with h=... or w=... given"
    return class_of(code)(code, f"{why} in {formula!r}", op="rearrange", help=fix)


def _groups(formula: str, side: str) -> list[Group]:
    """The axes of one side: names, "...", or the names inside a parenthesis; 1 is empty."""
    result: list[Group] = []
    inside: list[str] | None = None
    for token in re.findall(r"[()]|[^\s()]+", side):
        if token == "(" and inside is None:
            inside = []
        elif token == ")" and inside is not None:
            result.append(tuple(inside))
            inside = None
        elif token in "()":
            raise _malformed(formula, "parentheses do not match")
        elif not (token in ("...", "1") or token.isidentifier()):
            raise _malformed(formula, f"{token!r} is not the name of an axis")
        elif inside is not None:
            inside += [] if token == "1" else [token]
        else:
            result.append(() if token == "1" else token)
    if inside is not None:
        raise _malformed(formula, "parentheses do not match")
    return result


def _spread(groups: list[Group], extra: Sequence[str]) -> list[tuple[str, ...]]:
    """Groups with "..." replaced by one name per axis it stands for."""
    result: list[tuple[str, ...]] = []
    for group in groups:
        if group == "...":
            result += [(name,) for name in extra]
        elif isinstance(group, str):
            result.append((group,))
        else:
            result.append(tuple(n for g in group for n in (extra if g == "..." else (g,))))
    return result


def _parsed(x: UOp, formula: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    sides = formula.replace("…", "...").split("->") if isinstance(formula, str) else []
    if len(sides) != 2:
        raise _malformed(str(formula), "there is not exactly one '->'")
    before, after = (_groups(formula, s) for s in sides)
    if any("..." in g for g in before if isinstance(g, tuple)):
        raise _malformed(formula, "an ellipsis on the left stands alone, which it does not")
    rank, dots = len(x.shape), before.count("...")
    own = len(before) - dots
    if rank < own or (rank > own and not dots):
        problem = f"{own} axes are named on the left, the tensor has {rank},"
        raise _malformed(formula, problem, "E3002")
    extra = [f"...{i}" for i in range(rank - own)]
    left, right = _spread(before, extra), _spread(after, extra)
    _check_names(formula, [n for g in left for n in g], [n for g in right for n in g], dots)
    return left, right


def _check_names(formula: str, left: list[str], right: list[str], dots: int) -> None:
    if dots > 1 or len(set(left)) != len(left) or len(set(right)) != len(right):
        raise _malformed(formula, "an axis is named twice", "E3005")
    odd = sorted(set(left) ^ set(right))
    if odd:
        raise _malformed(formula, f"{odd[0]!r} is on one side only", "E3008")


def _extents(
    x: UOp, formula: str, left: list[tuple[str, ...]], sizes: dict[str, int]
) -> dict[str, int]:
    """The size of every name, from the shape and the sizes given."""
    names = [n for g in left for n in g]
    for name in sizes:
        if name not in names:
            raise _malformed(formula, f"a size is given for {name!r}, which is not", "E2007")
    known = {k: whole_number("rearrange", k, v, 0) for k, v in sizes.items()}
    for extent, group in zip(x.shape, left, strict=True):
        unknown = [n for n in group if n not in known]
        rest = prod(known[n] for n in group if n in known)
        if len(unknown) > 1:
            problem = f"sizes of {' and '.join(unknown)} cannot both be inferred"
            raise _malformed(formula, problem, "E3007")
        if unknown and rest and extent % rest == 0:
            known[unknown[0]] = extent // rest
        elif unknown or rest != extent:
            shown = f"({' '.join(group)})" if len(group) != 1 else group[0]
            problem = f"an axis of size {extent} is not {shown} with the sizes {known}"
            raise _malformed(formula, problem, "E3003")
    return known


_MEANINGS: dict[str, Any] = {
    "b c -> c b": lambda x: x.T,
    "a b c -> (c a) b": lambda x: x.transpose(2, 0, 1).reshape(-1, x.shape[1]),
    "(h w) c -> c h w": lambda x: x.reshape(2, -1, x.shape[1]).transpose(2, 0, 1),
    "a ... -> ... a": lambda x: np.moveaxis(x, 0, -1),
    "a ... b -> (a b) (...)": lambda x: np.moveaxis(x, -1, 1).reshape(-1, x[0, ..., 0].size),
    "a 1 b -> a () b 1": lambda x: x[..., None],
    "->": lambda x: x,
    "... -> 1 ...": lambda x: x[None],
    "(a b 1) c -> b (a c)": lambda x: x.reshape(2, 2, -1).swapaxes(0, 1).reshape(2, -1),
}  # what each sample's formula means, written out with NumPy


@derived(
    reference=lambda x, formula, **sizes: _MEANINGS[formula](x),
    samples=lambda: [
        (real(2, 3), "b c -> c b"),
        (real(2, 3, 4), "a b c -> (c a) b"),
        (real(6, 2), "(h w) c -> c h w", {"h": 2}),
        (real(6, 2), "(h w) c -> c h w", {"h": 2, "w": 3, "c": 2}),
        (real(2, 3, 4), "a ... -> ... a"),
        (real(2), "a ... -> ... a"),
        (real(2, 2, 3, 2), "a ... b -> (a b) (...)"),
        (real(2, 3), "a ... b -> (a b) (...)"),
        (real(2, 1, 3), "a 1 b -> a () b 1"),
        (real(), "->"),
        (real(), "... -> 1 ..."),
        (real(4, 3), "(a b 1) c -> b (a c)", {"b": 2}),
        (real(0, 3), "b c -> c b"),
    ],
    errors=(
        Bad("E2001", (_MATRIX, "a b"), match="'->'"),
        Bad("E2001", (_MATRIX, "(a b -> a b"), match="parentheses"),
        Bad("E2001", (_MATRIX, "a b) -> a b"), match="parentheses"),
        Bad("E2001", (_MATRIX, "a 2 -> a 2"), match="'2' is not the name"),
        Bad("E2001", (_MATRIX, "a (...) -> a ..."), match="ellipsis"),
        Bad("E3002", (_MATRIX, "a b c -> a b c"), match="3 axes are named"),
        Bad("E3002", (_MATRIX, "a -> a"), match="1 axes are named"),
        Bad("E3005", (_MATRIX, "a a -> a a"), match="twice"),
        Bad("E3005", (_MATRIX, "a b -> a b b"), match="twice"),
        Bad("E3008", (_MATRIX, "a b -> a c"), match="'b' is on one side"),
        Bad("E3003", (_MATRIX, "a 1 -> a"), match="size 3"),
        Bad("E3003", (_MATRIX, "(a b) c -> a b c"), {"a": 4}, match="size 2"),
        Bad("E3003", (_MATRIX, "a b -> b a"), {"a": 3}, match="size 2"),
        Bad("E3007", (_MATRIX, "(a b) c -> a b c"), match="cannot both be inferred"),
        Bad("E2007", (_MATRIX, "a b -> b a"), {"c": 3}, match="'c'"),
    ),
    views=True,
)
def rearrange(x: UOp, formula: str, **sizes: int) -> UOp:
    """Axes divided, reordered and merged as an einops formula says: "b (h w) c -> b c h w"."""
    left, right = _parsed(x, formula)
    extent = _extents(x, formula, left, sizes)
    names = [n for g in left for n in g]
    apart = x.reshape([extent[n] for n in names])
    ordered = apart.permute([names.index(n) for g in right for n in g])
    return ordered.reshape([prod(extent[n] for n in g) for g in right])
