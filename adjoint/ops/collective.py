"""Collectives: communication between the members of a mesh inside a local graph.

`partition` writes these nodes; no user does. An operand is one member's part. `axes` are axes of
the mesh, the slowest first, `size` the number of members along them; `dim` is the dimension along
which parts are concatenated. A derivative is the transpose of what all members compute together: a
gather ↔ a reduction that leaves each its part. Every member runs the reference, and meets the
others at the communicator of its thread (`ir/member.py`).
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from adjoint.errors import AutodiffError, AxisError, ShapeError
from adjoint.ir.arg import Arg
from adjoint.ir.axes import same_axes
from adjoint.ir.batch import Flags, Sources, same_op
from adjoint.ir.derivative import Linear, NotDifferentiable
from adjoint.ir.dtype import DType, dtypes
from adjoint.ir.kernel_kind import HERE, Identity
from adjoint.ir.member import group_of
from adjoint.ir.mesh import Axes
from adjoint.ir.opdef import OpDef, composite, internal
from adjoint.ir.uop import UOp
from adjoint.ops.samples import given, real

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


class AllReduceArg(Arg):
    axes: tuple[str, ...]
    size: int
    by: str


class AlongArg(Arg):
    axes: tuple[str, ...]
    size: int
    dim: int


class ReduceScatterArg(Arg):
    axes: tuple[str, ...]
    size: int
    dim: int
    by: str


class AllToAllArg(Arg):
    axes: tuple[str, ...]
    size: int
    split: int
    joined: int


class PermuteArg(Arg):
    axes: tuple[str, ...]
    size: int
    pairs: tuple[tuple[int, int], ...]


class AxisIndexArg(Arg):
    axes: tuple[str, ...]
    size: int


def _label(op: str, x: Array, axes: Axes) -> str:
    return f"{op} over {', '.join(axes)} of {x.dtype}{list(x.shape)}"


def _collective(name: str, doc: str, arg: type[Arg], infer: Any, ad: Any) -> OpDef:
    def call(x: UOp, *attributes: Any) -> UOp:
        return UOp(record, (x,), arg(*attributes))

    record = internal(
        name,
        doc,
        "primitive",
        arg=arg,
        call=call,
        infer=infer,
        ad=ad,
        reference=_reference(name, infer, arg),
        batch=_batched,
        kernel=HERE,
    )
    return record


def _batched(node: UOp, src: Sources, batched: Flags, size: int) -> UOp:
    """Dimensions move up by one; all members have the same examples."""
    names = [n for n in ("dim", "split", "joined") if n in node.arg.fields]
    return UOp(node.op, src, node.arg.replace(**{n: getattr(node.arg, n) + 1 for n in names}))


def _same(src: Sources, arg: Any) -> tuple[Shape, DType]:
    (x,) = src
    if arg.size < 1 or not arg.axes:
        raise ShapeError("E3006", f"{arg.size} members along {arg.axes}", op="collective", x=x)
    return x.shape, x.dtype


def _longer(src: Sources, arg: Any) -> tuple[Shape, DType]:
    (x,) = src
    _same(src, arg)
    return _scaled(x, arg.dim, x.shape[arg.dim] * arg.size), x.dtype


def _shorter(src: Sources, arg: Any) -> tuple[Shape, DType]:
    (x,) = src
    _same(src, arg)
    return _scaled(x, arg.dim, _divided(x, arg.dim, arg.size)), x.dtype


def _turned(src: Sources, arg: Any) -> tuple[Shape, DType]:
    (x,) = src
    _same(src, arg)
    shape = list(_scaled(x, arg.split, _divided(x, arg.split, arg.size)))
    shape[arg.joined] *= arg.size
    return tuple(shape), x.dtype


def _scaled(x: UOp, dim: int, extent: int) -> Shape:
    if not 0 <= dim < len(x.shape):
        raise AxisError("E3004", f"there is no dimension {dim}", op="collective", x=x)
    return (*x.shape[:dim], extent, *x.shape[dim + 1 :])


def _divided(x: UOp, dim: int, size: int) -> int:
    if x.shape[dim] % size:
        problem = f"dimension {dim} has no {size} equal parts"
        raise ShapeError("E3003", problem, op="collective", x=x)
    return x.shape[dim] // size


# ---- what members do


def speak(node: UOp, source: Array, target: Array, place: str = "") -> None:
    """Do a collective: the values of this member in, those of the node out. `place` says where it
    comes from, for errors."""
    label = _label(node.op.name, source, node.arg.axes) + place
    _SPEAK[node.op.name](source, target, node.arg, label)


def _reduce(source: Array, target: Array, arg: Any, label: str) -> None:
    group_of("all_reduce", arg.axes).all_reduce(source, target, arg.by, label=label)


def _gather(source: Array, target: Array, arg: Any, label: str) -> None:
    rows = (arg.size, *source.shape)
    stacked = target.reshape(rows) if _leads(source, arg.dim) else np.empty(rows, source.dtype)
    group_of("all_gather", arg.axes).all_gather(source, stacked, label=label)
    if not _leads(source, arg.dim):
        np.copyto(target, _side_by_side(stacked, arg.dim))


def _reduce_parts(source: Array, target: Array, arg: Any, label: str) -> None:
    parts = _in_parts(source, arg.size, arg.dim)
    group = group_of("reduce_scatter", arg.axes)
    group.reduce_scatter(parts, target, arg.by, label=label)


def _turn(source: Array, target: Array, arg: Any, label: str) -> None:
    parts = _in_parts(source, arg.size, arg.split)
    came = np.empty_like(parts)
    group_of("all_to_all", arg.axes).all_to_all(parts, came, label=label)
    np.copyto(target, _side_by_side(came, arg.joined))


def _send(source: Array, target: Array, arg: Any, label: str) -> None:
    group = group_of("collective_permute", arg.axes)
    group.permute(source, target, arg.pairs, label=label)


_SPEAK = {
    "all_reduce": _reduce,
    "all_gather": _gather,
    "reduce_scatter": _reduce_parts,
    "all_to_all": _turn,
    "collective_permute": _send,
}


def _leads(x: Array, dim: int) -> bool:
    """Whether parts side by side along a dimension lie one behind another."""
    return all(n == 1 for n in x.shape[:dim])


def _reference(name: str, infer: Any, kind: type[Arg]) -> Any:
    """The reference of a collective: the same on arrays of the interpreter."""

    def reference(x: Any, *given: Any, **named: Any) -> Array:
        source, arg = np.ascontiguousarray(x), cast("Any", kind(*given, **named))
        shape, _ = infer((source,), arg)
        target = np.empty(shape, source.dtype)
        _SPEAK[name](source, target, arg, _label(name, source, arg.axes))
        return target

    return reference


def _side_by_side(stacked: Array, dim: int) -> Array:
    """Parts that are stacked in front, joined along a dimension."""
    moved = np.moveaxis(stacked, 0, dim)
    shape = moved.shape
    return moved.reshape(*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :])


def _in_parts(x: Array, size: int, dim: int) -> Array:
    """The inverse: equal parts along a dimension, stacked in front."""
    shape = (*x.shape[:dim], size, x.shape[dim] // size, *x.shape[dim + 1 :])
    return np.ascontiguousarray(np.moveaxis(x.reshape(shape), dim, 0))


# ---- records


def _transposed_reduction(g: UOp, x: UOp, axes: Axes, size: int, by: str) -> UOp:
    if by != "sum":
        problem = f"a reduction of members by {by} has no transpose"
        raise AutodiffError("E5001", problem, op="all_reduce", x=x)
    return all_reduce(g, axes, size, by)


all_reduce: OpDef = _collective(
    "all_reduce",
    "The values of the members along axes of the mesh, joined by `by`: sum, max, min or prod.",
    AllReduceArg,
    _same,
    Linear(_transposed_reduction),
)
all_gather: OpDef = _collective(
    "all_gather",
    "The members' parts along axes of the mesh, concatenated along `dim`.",
    AlongArg,
    _longer,
    Linear(lambda g, x, axes, size, dim: reduce_scatter(g, axes, size, dim, "sum")),
)
reduce_scatter: OpDef = _collective(
    "reduce_scatter",
    "The members' values reduced by `by`; each member keeps its part along `dim`.",
    ReduceScatterArg,
    _shorter,
    Linear(lambda g, x, axes, size, dim, by: all_gather(g, axes, size, dim)),
)
all_to_all: OpDef = _collective(
    "all_to_all",
    "Part s along `split` goes to member s; received parts are concatenated along `joined`.",
    AllToAllArg,
    _turned,
    Linear(lambda g, x, axes, size, split, joined: all_to_all(g, axes, size, joined, split)),
)
collective_permute: OpDef = _collective(
    "collective_permute",
    "What the member `from` has for each pair (from, to); zeros where no pair sends.",
    PermuteArg,
    _same,
    Linear(
        lambda g, x, axes, size, pairs: collective_permute(
            g, axes, size, tuple((b, a) for a, b in pairs)
        )
    ),
)


def _axis_index(axes: Axes, size: int) -> UOp:
    return UOp(axis_index, (), AxisIndexArg(axes, size))


def _index_reference(axes: Axes, size: int) -> Array:
    return np.array(group_of("axis_index", axes).rank)


axis_index: OpDef = internal(
    "axis_index",
    "The index of the member along axes of the mesh.",
    "primitive",
    arg=AxisIndexArg,
    call=_axis_index,
    infer=lambda src, arg: ((), dtypes.int64),
    device=lambda src, arg: None,
    ad=NotDifferentiable("a place is an integer"),
    reference=_index_reference,
    kernel=HERE,
)


class StageArg(Arg):
    stage: int


def _to_stage(x: UOp, stage: int) -> UOp:
    return UOp(to_stage, (x,), StageArg(stage))


to_stage: OpDef = internal(
    "to_stage",
    "The same values, at a stage of a pipeline: `nn.parallel` puts it before the first layer of "
    "each one, and the gradient that comes back there is of the same stage.",
    "primitive",
    arg=StageArg,
    call=_to_stage,
    infer=lambda src, arg: (src[0].shape, src[0].dtype),
    ad=Linear(lambda g, x, stage: to_stage(g, stage)),
    reference=lambda x, stage: np.asarray(x),
    batch=same_op,
    kernel=Identity(),
    axes=same_axes,
)
COLLECTIVES = frozenset({all_reduce, all_gather, reduce_scatter, all_to_all, collective_permute})


def bytes_sent(node: UOp) -> int:
    """The bytes that a member sends for a collective: a ring of k members joins n bytes by sending
    2 (k - 1) / k of them, gathers or scatters them by half of that; what is exchanged goes once."""
    size = node.arg.size
    given, made = (n.size * n.dtype.itemsize for n in (node.src[0], node))
    if node.op is collective_permute:
        return given
    amount = made if node.op is all_gather else given
    return amount * (2 if node.op is all_reduce else 1) * (size - 1) // size


def collective_text(node: UOp) -> str:
    """`sum over tp, 4 members, 98304 bytes sent by each`."""
    kind = getattr(node.arg, "by", "")
    over = f"{kind} over {', '.join(node.arg.axes)}".strip()
    return f"{over}, {node.arg.size} members, {bytes_sent(node)} bytes sent by each"


def collective_line(node: UOp) -> str:
    """`all_reduce of f32[8, 4]: sum over tp, 4 members, 192 bytes sent by each`."""
    (given, *_) = node.src
    return f"{node.op.name} of {given.dtype.short}{list(given.shape)}: {collective_text(node)}"


# ---- rows of one value that members have


def _sent_rows(x: Any, pairs: Any) -> Array:
    found = np.zeros_like(x)
    for source, target in pairs:
        found[target] = x[source]
    return found


@composite(
    reference=_sent_rows,
    samples=given((real(3, 2), ((0, 1), (2, 0))), (real(2), ((0, 1), (1, 0))), (real(2, 2), ())),
    ad=Linear(lambda g, x, pairs: UOp._apply("send_rows", g, tuple((b, a) for a, b in pairs))),
    public=False,
)
def send_rows(x: UOp, pairs: tuple[tuple[int, int], ...]) -> UOp:
    """Row `from` of x as row `to` for each pair (from, to); zeros where no pair sends."""
    givers = {target: source for source, target in pairs}
    rows = []
    for row in range(x.shape[0]):
        bounds = [(0, n) for n in x.shape]
        bounds[0] = (givers.get(row, row), givers.get(row, row) + 1)
        taken = x.shrink(bounds)
        rows.append(taken if row in givers else _zeros(taken))
    return rows[0].cat(*rows[1:], dim=0) if rows else x


def _zeros(x: UOp) -> UOp:
    made: UOp = UOp._apply("const", 0, x.dtype, x.shape, x.device)
    return made
