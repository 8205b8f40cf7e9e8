"""CONTRACT, the sum of products over named axes, and the products that are spelled with it.

Constraints: C1 letters are distinct within a term; C2 a letter that is summed is in both operands;
C3 one size per letter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, DTypeError, ShapeError
from adjoint.ir import axes
from adjoint.ir.arg import Arg
from adjoint.ir.batch import Flags, Sources
from adjoint.ir.derivative import Bilinear
from adjoint.ir.dtype import promote
from adjoint.ir.kernel_kind import At, Library, Read, Reduce
from adjoint.ir.opdef import Bad, define, derived
from adjoint.ir.precision import low
from adjoint.ir.sizes import cached
from adjoint.ir.uop import UOp, make_node
from adjoint.ops.samples import given, real

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


class ContractArg(Arg):
    spec: str


def _contract(a: UOp, b: UOp, spec: str) -> UOp:
    if a.dtype is not b.dtype:
        dtype = promote(a.dtype, b.dtype)
        a, b = a.cast(dtype), b.cast(dtype)
    arg, shape = _known(spec, a.shape, b.shape)
    if shape is None or a.dtype.is_storage:
        return UOp(contract, (a, b), arg)  # which says what does not fit
    return make_node(contract, (a, b), arg, shape, a.dtype)


def _contract_type(src: tuple[UOp, ...], arg: ContractArg) -> tuple[tuple[int, ...], Any]:
    a, b = src
    if a.dtype is not b.dtype:
        raise DTypeError("E2004", "dtypes differ", op="contract", operands=_sides(a, b))
    return contracted_shape(arg.spec, a.shape, b.shape, _sides(a, b)), a.dtype


def contracted_shape(text: str, a: Shape, b: Shape, operands: Any = ()) -> Shape:
    """The shape of the result; `operands` are for the message if there is none."""
    spec = axes.parse(text)
    sizes: dict[str, int] = {}
    for shape, letters in ((a, spec.lhs), (b, spec.rhs)):
        if len(letters) != len(shape):
            problem = f"{letters!r} names {len(letters)} axes of an operand of rank {len(shape)}"
            raise ShapeError("E3002", problem, op="contract", operands=operands)
        for letter, extent in zip(letters, shape, strict=True):
            if sizes.setdefault(letter, extent) != extent:
                problem = f"axis {letter!r} has the sizes {sizes[letter]} and {extent}"
                raise ShapeError("E3003", problem, op="contract", operands=operands)
    return tuple(sizes[c] for c in spec.out)


@cached(4096)
def _known(spec: str, a: Shape, b: Shape) -> tuple[ContractArg, Shape | None]:
    """The attributes and the shape of the result, or None if the operands do not fit."""
    arg = ContractArg(spec.replace(" ", ""))
    try:
        return arg, contracted_shape(arg.spec, a, b)
    except ShapeError:
        return arg, None


def _sides(a: UOp, b: UOp) -> list[tuple[str, UOp]]:
    return [("lhs", a), ("rhs", b)]


def _contract_reference(a: Any, b: Any, spec: str) -> Array:
    a, b = np.asarray(a), np.asarray(b)
    parsed = axes.parse(spec)
    if a.dtype == np.bool_:  # a sum of truth values is "or"
        return _contract_reference(a.astype(np.int64), b.astype(np.int64), spec) != 0
    return _by_matmul(a, b, parsed).astype(a.dtype)


def _by_matmul(a: Array, b: Array, spec: axes.Letters) -> Array:
    """Batch, rows and columns gathered into three axes, so that NumPy's matmul can be used."""
    batch, summed = spec.batch, spec.summed
    rows = "".join(c for c in spec.lhs if c not in batch + summed)
    columns = "".join(c for c in spec.rhs if c not in batch + summed)
    sizes = dict(zip(spec.lhs + spec.rhs, a.shape + b.shape, strict=True))
    extent = {
        k: int(np.prod([sizes[c] for c in k], dtype=int)) for k in (batch, rows, columns, summed)
    }
    left = np.transpose(a, [spec.lhs.index(c) for c in batch + rows + summed])
    right = np.transpose(b, [spec.rhs.index(c) for c in batch + summed + columns])
    y = np.matmul(
        left.reshape(extent[batch], extent[rows], extent[summed]),
        right.reshape(extent[batch], extent[summed], extent[columns]),
    )
    order = batch + rows + columns
    return np.transpose(y.reshape([sizes[c] for c in order]), [order.index(c) for c in spec.out])


def _batched_contract(node: UOp, src: Sources, batched: Flags, size: int) -> UOp:
    """A letter more, on the operands that have the axis and on the result."""
    spec = axes.parse(node.arg.spec)
    letter = next(c for c in axes.LETTERS[::-1] if c not in spec.lhs + spec.rhs)
    lhs, rhs = (letter * flag + term for flag, term in zip(batched, spec.terms, strict=True))
    return UOp(node.op, src, ContractArg(f"{lhs},{rhs}->{letter}{spec.out}"))


def contract_sizes(node: UOp) -> Shape:
    """The lengths of the loops that add up products."""
    spec = axes.parse(node.arg.spec)
    sizes = dict(zip(spec.lhs, node.src[0].shape, strict=True))
    return tuple([sizes[c] for c in spec.summed])


def contract_map(node: UOp, at: At, loops: At) -> list[Read]:
    """Where the operands are read in one turn of those loops."""
    spec = axes.parse(node.arg.spec)
    place = dict(zip(spec.out, at, strict=True)) | dict(zip(spec.summed, loops, strict=True))
    pairs = zip(node.src, spec.terms, strict=True)
    return [Read(x, tuple([place[c] for c in term])) for x, term in pairs]


contract = define(
    "contract",
    "Sum of products over named axes: `a.contract(b, 'mk,kn->mn')`.",
    arg=ContractArg,
    call=_contract,
    infer=_contract_type,
    ad=Bilinear(
        lhs=lambda g, a, b, spec: g.contract(b, axes.solved(spec, "lhs")),
        rhs=lambda g, a, b, spec: a.contract(g, axes.solved(spec, "rhs")),
    ),
    reference=_contract_reference,
    uses_blas=True,
    samples=given(
        (real(2, 3), real(3, 4, seed=1), "mk,kn->mn"),
        (real(5, 2, 3), real(5, 3, 4, seed=1), "bmk,bkn->bnm"),
        (real(5, 2, 3), real(3, 4, seed=1), "bmk,kn->bmn"),
        (real(3), real(3, seed=1), "k,k->"),
        (real(2), real(3, seed=1), "m,n->mn"),
        (real(2, 3), real(2, 3, seed=1), "ab,ab->ab"),
        (real(0, 3), real(3, 2, seed=1), "mk,kn->mn"),
        (real(2, 0), real(0, 3, seed=1), "mk,kn->mn"),
    ),
    errors=(
        Bad("E3003", (real(2, 3), real(4, 5), "mk,kn->mn"), match="axis 'k'"),
        Bad("E3002", (real(2, 3), real(3, 4), "mk,n->mn"), match="summed"),
        Bad("E3005", (real(2, 2), real(2, 2), "mm,mn->mn"), match="distinct"),
        Bad("E3002", (real(2, 3), real(3, 4), "mk"), match="form"),
    ),
    batch=_batched_contract,
    kernel=Library(
        "product",
        Reduce("add", lambda dtype: 0, sizes=contract_sizes, index_map=contract_map),
    ),
    axes=lambda node: axes.parse(node.arg.spec),
    precision=low,
)


def _matmul(x: UOp, other: UOp) -> UOp:
    """Matrix product with broadcast batch axes; a vector counts as a row or a column."""
    if not isinstance(other, UOp) or not isinstance(x, UOp):
        raise ArgumentError("E2001", "multiplies two tensors", op="matmul")
    a, b = x.shape, other.shape
    if len(a) == len(b) == 2 and a[1] == b[0]:
        return _contract(x, other, "mk,kn->mn")
    if not a or not b:
        problem = "a scalar has no inner dimension"
        fix = "use * to scale"
        raise ShapeError("E3002", problem, op="matmul", operands=_sides(x, other), help=fix)
    inner = b[-2] if len(b) > 1 else b[0]
    if a[-1] != inner:
        raise _inner(x, other, a[-1], inner)
    lhs, left = _letters(x, other, "mk" if len(a) > 1 else "k")
    rhs, right = _letters(other, x, "kn" if len(b) > 1 else "k")
    rank = max(len(a), len(b)) - 2
    batch = "".join(axes.LETTERS[26 + i] for i in range(max(rank, 0)))
    used = "".join(c for c in batch if c in left + right)
    out = used + ("m" if len(a) > 1 else "") + ("n" if len(b) > 1 else "")
    y = _contract(lhs, rhs, f"{left},{right}->{out}")
    return y if used == batch else y.reshape(_result_shape(x, other, rank))


def _letters(x: UOp, other: UOp, core: str) -> tuple[UOp, str]:
    """An operand without the batch axes along which the other one is larger, and its letters."""
    rank = max(len(x.shape), len(other.shape)) - 2
    own, far = x.shape[: -len(core)], other.shape[:-2]
    keep, letters = [], ""
    for i, extent in enumerate(own):
        at = rank - len(own) + i
        across = at - (rank - len(far))
        facing = far[across] if across >= 0 else 1
        if extent != 1 and facing not in (1, extent):
            problem = f"Broadcasting failed at dimension {at}: batch sizes {extent} and {facing}"
            raise ShapeError("E3001", problem, op="matmul", operands=_sides(x, other))
        if extent != 1:
            keep.append(extent)
            letters += axes.LETTERS[26 + at]
    return x.reshape(*keep, *x.shape[len(own) :]), letters + core


def _result_shape(x: UOp, other: UOp, rank: int) -> tuple[int, ...]:
    batch = [1] * rank
    for shape in (x.shape[:-2], other.shape[:-2]):
        for i, extent in enumerate(shape):
            at = rank - len(shape) + i
            batch[at] = extent if extent != 1 else batch[at]
    return (*batch, *x.shape[-2:-1], *(other.shape[-1:] if len(other.shape) > 1 else ()))


def _inner(x: UOp, other: UOp, k: int, inner: int) -> ShapeError:
    fix = f"{k} must equal {inner}"
    if len(other.shape) == 2 and other.shape[1] == k:
        fix += "; did you mean to transpose the right operand (.T)?"
    elif len(x.shape) == 2 and x.shape[0] == inner:
        fix += "; did you mean to transpose the left operand (.T)?"
    problem = "inner dimensions differ"
    return ShapeError("E3003", problem, op="matmul", operands=_sides(x, other), help=fix)


matmul = derived(
    name="matmul",
    reference=lambda a, b: np.matmul(a, b),
    samples=given(
        (real(2, 3), real(3, 4, seed=1)),
        (real(3), real(3, 4, seed=1)),
        (real(2, 3), real(3, seed=1)),
        (real(3), real(3, seed=1)),
        (real(5, 2, 3), real(5, 3, 4, seed=1)),
        (real(5, 2, 3), real(3, 4, seed=1)),
        (real(2, 1, 2, 3), real(5, 3, 4, seed=1)),
        (real(1, 2, 3), real(1, 3, 4, seed=1)),
        (real(3), real(5, 3, 4, seed=1)),
        (real(5, 2, 3), real(3, seed=1)),
        (real(0, 3), real(3, 4, seed=1)),
    ),
    errors=(
        Bad("E3003", (real(2, 3), real(4, 5)), match="inner dimensions differ"),
        Bad("E3002", (real(2, 3), real()), match="scalar"),
        Bad("E3001", (real(2, 2, 3), real(3, 3, 4)), match="dimension 0"),
    ),
    precision=low,
)(_matmul)
