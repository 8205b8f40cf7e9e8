"""The gradient rule of every opcode that has none of its own, from the records of its ops.

An opcode is lowered to nodes over placeholders; their declared derivatives build nodes, which are
written down as instructions: once for each opcode, attributes, operand types and set of wanted
gradients. What may live here: the derivation. What may not: the rule of any opcode.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from adjoint.autodiff.reverse import compute_gradient, no_derivative, pulled_back
from adjoint.errors import AdjointError, AutodiffError, VerificationError
from adjoint.ir.derivative import NotDifferentiable
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.module.from_graph import Lift
from adjoint.module.instruction import Instruction, TensorType, fault
from adjoint.module.numbers import scalar
from adjoint.module.opcode import Contributions, Opcode, Types
from adjoint.module.tape import COMMUTING, Tape

_templates: dict[Any, _Template] = {}
_MAX_TEMPLATES = 4096


class _Template(NamedTuple):
    """Rows behind `given` placeholders; which row is the contribution of each operand."""

    given: int
    rows: list[Instruction]
    results: list[int | None]


def derived_pull(opcode: Opcode, t: Tape, ins: Instruction, g: Any) -> Contributions:
    """The template of this instruction, with its values in place of the placeholders."""
    name, operands, attrs = ins[1], ins[2], ins[3]
    rows, wants = t.rows, t.wants
    types = [rows[o][4] for o in operands]
    needs = tuple([wants[o] for o in operands])
    seeds = [g] if type(g) is int else g
    present = tuple([v is not None for v in seeds])
    written = attrs if opcode.record is None else repr(attrs)  # as keys 1 and true are equal
    alike = _alike(opcode, operands)
    key = (name, written, *types, needs, present, alike)
    template = _templates.get(key)
    if template is None:
        if len(_templates) > _MAX_TEMPLATES:
            _templates.clear()
        template = _templates[key] = _template(opcode, ins, types, needs, present, alike)
    given, new, results = template
    ids = [*operands, ins[0], *[v for v in seeds if v is not None]]
    for _, name, places, attrs, kind, _ in new[given:]:
        moved = tuple([ids[o] for o in places])
        if name == "BinOp" and moved[0] > moved[1] and attrs[0] in COMMUTING:
            moved = (moved[1], moved[0])
        ids.append(t.emit(name, moved, attrs, kind))
    return [None if r is None else ids[r] for r in results]


def _alike(opcode: Opcode, operands: tuple[int, ...]) -> tuple[int, ...]:
    """Where each operand came first: a record may add up what one value gets by several places."""
    if opcode.record is None:
        return tuple(range(len(operands)))
    return tuple([operands.index(o) for o in operands])


def _template(
    opcode: Opcode,
    ins: Instruction,
    types: Types,
    needs: tuple[bool, ...],
    present: tuple[bool, ...],
    alike: tuple[int, ...],
) -> _Template:
    made = placeholders(types, "x")
    x = [made[i] for i in alike]
    y = opcode.lower(x, ins.attrs, ins.type, scalar_only)
    several = isinstance(y.dtype, tuple)
    kinds = list(zip(y.dtype, y.shape, strict=True)) if several else [(y.dtype, y.shape)]
    wanted = [TensorType(*k) for k, there in zip(kinds, present, strict=True) if there]
    seeds = placeholders(wanted, "g")
    rest = iter(seeds)
    g = [next(rest) if there else None for there in present]
    found = _contributions(opcode, x, y, g if several else g[0], needs)
    return _written(opcode, [*x, y, *seeds], found)


def _written(opcode: Opcode, places: list[UOp], found: list[UOp | None]) -> _Template:
    """Nodes as instructions, behind one for each place that is given."""
    rows = [
        Instruction(i, "Input", (), ("",), TensorType(n.dtype, n.shape))
        for i, n in enumerate(places)
    ]
    ids = {n: i for i, n in reversed(list(enumerate(places)))}
    lift = Lift(Tape(rows, [], strict=False), ids)
    results = iter(lift([c for c in found if c is not None]))
    if opcode.record is None:
        rows = [_named_axes(row, rows) for row in rows]
    return _Template(len(places), rows, [None if c is None else next(results) for c in found])


def _named_axes(row: Instruction, rows: list[Instruction]) -> Instruction:
    """Core un-broadcasts over axes that it names, also where they are all there are."""
    if row.opcode != "Sum" or row.attrs[0]:
        return row
    axes = tuple(range(len(rows[row.operands[0]].type.shape)))
    return row._replace(attrs=(axes, False)) if axes else row


def _contributions(
    opcode: Opcode, x: list[UOp], y: UOp, g: Any, needs: tuple[bool, ...]
) -> list[UOp | None]:
    """What the records declare: of one node for an opcode of its own, of a few for one of Core."""
    try:
        if opcode.record is None:
            return _through(x, y, g, needs)
        if isinstance(y.op.ad, NotDifferentiable):
            raise no_derivative(y)
        return list(pulled_back(y, g, needs))
    except AutodiffError as error:
        inner = f" ({error.op})" if error.op and error.op != y.op.name else ""
        raise AutodiffError(error.code, f"{error.problem}{inner}", op=opcode.name) from None
    except AdjointError as error:  # attributes that make a type, but no gradient
        code = "E5003" if error.code in ("E3004", "E3005") else "E5004"
        raise AutodiffError(code, error.problem, op=opcode.name) from None


def _through(x: list[UOp], y: UOp, g: UOp, needs: tuple[bool, ...]) -> list[UOp | None]:
    wanted = [a for a, need in zip(x, needs, strict=True) if need]
    grads = {y: g} if y in x else compute_gradient(y, g, wanted)
    return [grads.get(a) if need else None for a, need in zip(x, needs, strict=True)]


# ---- values that stand for others


def placeholders(types: Types, prefix: str) -> list[UOp]:
    """An input of the library for each type."""
    for kind in types:
        if isinstance(kind.dtype, tuple):
            raise fault("E2001", "several results are no operand", "take one with Part")
    make = OPS["input"]
    return [make(f"{prefix}{i}", kind.shape, kind.dtype) for i, kind in enumerate(types)]


def scalar_only(data: bytes, kind: TensorType) -> UOp:
    """The literals of a function in braces, and of a derivative: scalars."""
    if kind.shape:
        problem = "a function in braces has no literals but scalars"
        raise VerificationError("E6003", problem, help="pass it as an operand")
    return OPS["const"](scalar(data, kind.dtype), kind.dtype, ())
