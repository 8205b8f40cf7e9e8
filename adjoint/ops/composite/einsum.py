"""EINSUM: sums of products of any number of tensors, spelled with letters.

`einsum("bij,bjk->bik", x, y)`. A letter names an axis; a letter that the result does not have is
summed; a letter twice in one operand is a diagonal; `...` stands for the axes that no letter names,
aligned from the right and broadcast. Without `->` the result has the `...` axes, then every letter
that occurs once, in alphabetical order. Two operands at a time are contracted, always those that
leave the smallest tensor.
"""

from __future__ import annotations

from functools import reduce
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, ShapeError
from adjoint.ir.axes import LETTERS
from adjoint.ir.dtype import as_dtype, promote
from adjoint.ir.opdef import Bad, derived
from adjoint.ir.precision import low
from adjoint.ir.uop import UOp
from adjoint.ops.indexing import gathered, positions
from adjoint.ops.movement import unpacked
from adjoint.ops.samples import given, real

DOTS = "..."
Term = tuple[UOp, str]  # an operand and its letters, all distinct


def einsum_nodes(formula: str, operands: list[UOp], dtype: Any = None) -> UOp:
    """The sum of products that the formula says."""
    inputs, output = _parsed(formula, operands)
    terms, result = _lettered(formula, inputs, output, operands)
    _check_sizes(formula, terms)
    kind = reduce(promote, (node.dtype for node in operands))
    plain = [_distinct(x.cast(kind), letters) for x, letters in terms]
    return _contracted(plain, result).cast(kind if dtype is None else as_dtype(dtype))


def _wrong(formula: str, problem: str, code: str = "E3002", **more: Any) -> ShapeError:
    return ShapeError(code, f"{formula!r}: {problem}", op="einsum", **more)


def _parsed(formula: Any, operands: list[UOp]) -> tuple[list[str], str | None]:
    """The terms of the operands and of the result, None if it is not given."""
    if not isinstance(formula, str):
        problem = f"the first argument is a formula like 'ij,jk->ik', not {formula!r}"
        raise ArgumentError("E2001", problem, op="einsum")
    left, arrow, right = formula.replace(" ", "").partition("->")
    inputs = left.split(",")
    for term in (*inputs, right):
        _check_term(formula, term)
    if len(inputs) != len(operands):
        problem = f"{formula!r} has {len(inputs)} terms for {len(operands)} operands"
        raise ArgumentError("E2007", problem, op="einsum")
    if any(not isinstance(x, UOp) for x in operands):
        raise ArgumentError("E2001", "the operands are tensors", op="einsum")
    return inputs, right if arrow else None


def _check_term(formula: str, term: str) -> None:
    rest = term.replace(DOTS, "", 1)
    bad = next((c for c in rest if c not in LETTERS), None)
    if bad is not None:
        raise _wrong(formula, f"{bad!r} is no letter; a term is made of letters and one '...'")


def _lettered(
    formula: str, inputs: list[str], output: str | None, operands: list[UOp]
) -> tuple[list[Term], str]:
    """`...` replaced by letters of its own in every term."""
    used = set("".join(inputs)) | set(output or "")
    free = [c for c in LETTERS if c not in used]
    counts = [_covered(formula, t, x) for t, x in zip(inputs, operands, strict=True)]
    width = max(counts)
    if width > len(free):
        raise _wrong(formula, f"more than {len(LETTERS)} axes")
    dots = "".join(free[:width])
    terms = [
        (x, term.replace(DOTS, dots[width - n :]))
        for term, x, n in zip(inputs, operands, counts, strict=True)
    ]
    result = _implied(inputs) if output is None else output
    _check_output(formula, result, inputs)
    return _without_ones(terms, dots), result.replace(DOTS, dots)


def _covered(formula: str, term: str, x: UOp) -> int:
    """How many axes of the operand `...` stands for."""
    named = len(term.replace(DOTS, ""))
    rank = len(x.shape)
    if named > rank or (DOTS not in term and named != rank):
        problem = f"{term!r} names {named} axes of an operand of rank {rank}"
        raise _wrong(formula, problem, operands=[(term, x)])
    return rank - named


def _implied(inputs: list[str]) -> str:
    letters = "".join(inputs).replace(DOTS, "")
    once = sorted(c for c in set(letters) if letters.count(c) == 1)
    return DOTS * any(DOTS in t for t in inputs) + "".join(once)


def _check_output(formula: str, output: str, inputs: list[str]) -> None:
    letters = output.replace(DOTS, "")
    given_letters = "".join(inputs)
    for letter in letters:
        if letters.count(letter) > 1:
            raise _wrong(formula, f"{letter!r} is twice in the result", "E3005")
        if letter not in given_letters:
            raise _wrong(formula, f"{letter!r} is in the result and in no operand")


def _without_ones(terms: list[Term], dots: str) -> list[Term]:
    """Axes of `...` that have size 1 here and another size elsewhere are dropped: broadcasting."""
    wide = {c for x, t in terms for c, n in zip(t, x.shape, strict=True) if c in dots and n != 1}
    result = []
    for x, term in terms:
        keep = [i for i, c in enumerate(term) if x.shape[i] != 1 or c not in wide]
        node = x.reshape([x.shape[i] for i in keep])
        result.append((node, "".join(term[i] for i in keep)))
    return result


def _check_sizes(formula: str, terms: list[Term]) -> None:
    sizes: dict[str, int] = {}
    for x, term in terms:
        for letter, extent in zip(term, x.shape, strict=True):
            if sizes.setdefault(letter, extent) != extent:
                problem = f"axis {letter!r} has the sizes {sizes[letter]} and {extent}"
                raise _wrong(formula, problem, "E3003", operands=[(t, node) for node, t in terms])


def _distinct(x: UOp, term: str) -> Term:
    """Diagonals taken until no letter is twice in the term."""
    for letter in dict.fromkeys(term):
        axes = tuple(i for i, c in enumerate(term) if c == letter)
        if len(axes) > 1:
            place = positions(x.shape[axes[0]], 0, 1, x.device)
            x = gathered(x, (place,) * len(axes), axes)
            term = letter + term.replace(letter, "")
    return x, term


def _contracted(terms: list[Term], output: str) -> UOp:
    """All terms as one, with the letters of the result in its order."""
    letters = [term for _, term in terms]
    others = ["".join(letters[:i] + letters[i + 1 :]) for i in range(len(letters))]
    terms = [_summed(*term, far + output) for term, far in zip(terms, others, strict=True)]
    while len(terms) > 1:
        i, j = _cheapest(terms, output)
        (a, left), (b, right) = terms[i], terms[j]
        rest = terms[:i] + terms[i + 1 : j] + terms[j + 1 :]
        out = _kept(left, right, rest, output) if rest else output
        terms = [*rest, (a.contract(b, f"{left},{right}->{out}"), out)]
    x, term = terms[0]
    return x.permute([term.index(c) for c in output])


def _summed(x: UOp, term: str, keep: str) -> Term:
    """The letters of one term alone, summed."""
    axes = tuple(i for i, c in enumerate(term) if c not in keep)
    if not axes:
        return x, term
    total = x.any(axes) if x.dtype.is_bool else x.reduce_sum(axes).cast(x.dtype)
    return total, "".join(c for c in term if c in keep)


def _kept(left: str, right: str, rest: list[Term], output: str) -> str:
    """The letters of a product of two terms that later terms or the result have."""
    wanted = output + "".join(t for _, t in rest)
    return "".join(c for c in dict.fromkeys(left + right) if c in wanted)


def _cheapest(terms: list[Term], output: str) -> tuple[int, int]:
    """The pair with the smallest product; of equals that with the least work, then the first."""
    sizes = {c: n for x, t in terms for c, n in zip(t, x.shape, strict=True)}

    def cost(pair: tuple[int, int]) -> tuple[int, int]:
        left, right = (terms[k][1] for k in pair)
        rest = [term for k, term in enumerate(terms) if k not in pair]
        out = _kept(left, right, rest, output)
        return prod(sizes[c] for c in out), prod(sizes[c] for c in set(left + right))

    return min(combinations(range(len(terms)), 2), key=cost)


def _einsum_reference(formula: str, *operands: Any, dtype: Any = None) -> Any:
    y = np.einsum(formula, *unpacked(operands))
    return y if dtype is None else y.astype(as_dtype(dtype).np)


def _einsum(formula: str, *operands: Any, dtype: Any = None) -> UOp:
    return einsum_nodes(formula, list(unpacked(operands)), dtype)


_einsum.__doc__ = (
    "The sum of products that a formula gives: `einsum('ij,jk->ik', x, y)`. `...` stands for "
    "further axes, a letter twice in one operand for its diagonal; the operands may be a list."
)
einsum = derived(
    reference=_einsum_reference,
    samples=given(
        ("ij,jk->ik", real(2, 3), real(3, 4, seed=1)),
        ("ij,jk", real(2, 3), real(3, 4, seed=1)),
        ("ba", real(2, 3)),
        ("ij->", real(2, 3)),
        ("ii", real(3, 3)),
        ("ii->i", real(3, 3)),
        ("iij,jj->ji", real(2, 2, 3), real(3, 3, seed=1)),
        ("iii->i", real(2, 2, 2)),
        ("...ij,...jk->...ik", real(2, 1, 2, 3), real(4, 3, 2, seed=1)),
        ("...i,i...", real(2, 3), real(3, 2, seed=1)),
        ("i...->...", real(2, 3)),
        ("i , j -> i j", real(2), real(3, seed=1)),
        ("ij,ik->j", real(2, 3), real(2, 4, seed=1)),
        ("ij,jk,kl->il", real(2, 3), real(3, 4, seed=1), real(4, 2, seed=2)),
        ("a,b,ab,c->c", real(2), real(3, seed=1), real(2, 3, seed=2), real(2, seed=3)),
        ("ij,kj->ki", [real(2, 3), real(4, 3, seed=1)]),
        (",i->i", real(), real(3, seed=1)),
        ("ij,jk->ik", real(0, 3), real(3, 2, seed=1)),
        ("ij,jk->ik", real(2, 0), real(0, 2)),
    ),
    errors=(
        Bad("E3002", ("ij->ik", real(2, 3)), match="'k' is in the result"),
        Bad("E3005", ("ij->ii", real(2, 3)), match="'i' is twice"),
        Bad("E3002", ("ijk->i", real(2, 3)), match="rank 2"),
        Bad("E3002", ("i->i", real(2, 3)), match="rank 2"),
        Bad("E3003", ("ij,jk->ik", real(2, 3), real(4, 5)), match="axis 'j'"),
        Bad("E3003", ("ii->i", real(2, 3)), match="axis 'i'"),
        Bad("E3003", ("...i,...i->...", real(2, 3), real(4, 3)), match="2 and 4"),
        Bad("E3003", ("ij,ij->ij", real(1, 3), real(2, 3)), match="1 and 2"),
        Bad("E3002", ("i1->i", real(2, 3)), match="'1' is no letter"),
        Bad("E3002", ("i..->i", real(2, 3)), match="'.' is no letter"),
        Bad("E3002", ("ij->i->j", real(2, 3)), match="no letter"),
        Bad("E2007", ("ij,jk->ik", real(2, 3)), match="2 terms for 1"),
        Bad("E2001", (real(2, 3), "ij"), match="formula"),
    ),
    method=False,
    precision=low,
)(_einsum)
