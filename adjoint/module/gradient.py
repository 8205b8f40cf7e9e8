"""`differentiate`: a module and the instructions that compute its gradients, as one module.

Instructions are visited in reverse; contributions are added per value in a fixed order; constants
get none; only values on a path from the output to a `wrt` are visited. The result is canonical:
the primal instructions, the seed, the gradients in the order in which they are found. What may
live here: the walk. What may not: the derivative of any opcode (its record).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from adjoint.errors import AdjointError, AutodiffError
from adjoint.module.canonical import Canonical, canonical, fold, numbered
from adjoint.module.derived_pull import derived_pull
from adjoint.module.generic import opcode_named
from adjoint.module.instruction import Instruction, ValueId, fault, placed
from adjoint.module.module import Module, check_module
from adjoint.module.opcode import OPCODES, Opcode
from adjoint.module.tape import Tape
from adjoint.module.verify import check, check_strict, is_strict


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GradientOptions:
    """`verify` checks the module that comes in and the one that goes out; `profile` says which
    opcodes the gradient may use; `output` is the position of the output to differentiate, needed
    where there are several."""

    verify: bool = True
    profile: str = "core+g"
    output: int | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GradientResult:
    """The gradient module, and the gradient of each differentiated value, both by their ids there.

    Outputs are those of the primal, then the gradients of `wrt` in ascending order of ids. Every
    `wrt` is among `gradients`; of the values between, those whose gradient is still computed.
    `places` says where a value of the module that was given stands in the gradient module;
    `gradient_of` follows both: it takes an id of that module, or a name.
    """

    gradient_module: Module
    gradients: dict[ValueId, ValueId]
    places: dict[ValueId, ValueId]
    _ids: Mapping[str, ValueId] = field(default_factory=dict)

    def gradient_of(self, value: ValueId | str) -> ValueId:
        """The id, in the gradient module, of the gradient of a value of the differentiated one."""
        place = self.places.get(_id_of(self._ids, value))
        found = None if place is None else self.gradients.get(place)
        if found is None:
            raise fault("E2002", f"the gradient of %{value} is not in the gradient module")
        return found


DEFAULT = GradientOptions()


def differentiate(
    module: Module,
    wrt: Iterable[ValueId | str] | ValueId | str | None = None,
    options: GradientOptions = DEFAULT,
) -> GradientResult:
    """The gradient of a scalar output with respect to `wrt`: ids of the module or names of inputs;
    None means every input of a float dtype."""
    check_module("differentiate", module)
    _check_options(options)
    strict = is_strict(options.profile)
    if options.verify:
        check(module.instructions, module.outputs, strict, module.names)
        return _differentiated(module, wrt, options, strict)
    try:
        if strict:
            check_strict(module.instructions)
        return _differentiated(module, wrt, options, strict)
    except AdjointError as error:
        raise _unverified(error) from None
    except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
        problem = f"the module is not well-formed: {type(error).__name__}"
        raise fault("E5002", problem, "verify it first") from None


def _check_options(options: Any) -> None:
    if not isinstance(options, GradientOptions):
        problem = f"differentiate: options are GradientOptions, not {type(options).__name__}"
        raise fault("E2001", problem, "write options=GradientOptions(...)")
    if options.output is not None and type(options.output) is not int:
        raise fault("E2001", f"GradientOptions: output is an integer, not {options.output!r}")


def _unverified(error: AdjointError) -> AdjointError:
    """What verification would have found, as an error of the gradient."""
    if error.code.startswith("E5"):
        return error
    code = {"E3004": "E5003", "E3005": "E5003"}.get(error.code, "E5002")
    code = "E5004" if error.code in ("E3001", "E3002", "E3003", "E3007") else code
    return placed(fault(code, error.problem, error.help), error.span, *error.notes)


def _differentiated(
    module: Module, wrt: Any, options: GradientOptions, strict: bool
) -> GradientResult:
    primal = canonical(module.instructions, module.outputs)
    root = _root(primal, options.output)
    ids = _ids_by_name(module)
    targets = _targets(module, ids, primal, wrt)
    count = len(primal.rows)
    tape = Tape(list(primal.rows), _paths(primal.rows, targets), strict)
    grads = _reverse(tape, root, count)
    for target in targets:
        if grads[target] is None:
            grads[target] = tape.filled(0.0, tape.type_of(target))
    found = {i: g for i, g in enumerate(grads) if g is not None and tape.wants[i]}
    gradient_module, gradients, moved = _finished(
        tape, count, primal, targets, found, options.verify
    )
    places = {old: moved.get(new, new) for old, new in primal.ids.items()}
    return GradientResult(gradient_module, gradients, places, ids)


# ---- what is asked for


def _root(primal: Canonical, output: int | None) -> int:
    outputs = primal.outputs
    if output is None and len(set(outputs)) != 1:
        problem = f"the module has {len(outputs)} outputs; a gradient is of one"
        raise fault("E5004", problem, "choose it: GradientOptions(output=0)")
    position = 0 if output is None else output
    if not -len(outputs) <= position < len(outputs):
        raise fault("E5004", f"there is no output {position} among {len(outputs)}")
    ins = primal.rows[outputs[position]]
    dtype, shape = ins.type
    if isinstance(dtype, tuple) or not dtype.is_inexact:
        what = "several results" if isinstance(dtype, tuple) else dtype.short
        problem = f"the output %{ins.id} is {what}; a gradient is of a float"
        raise placed(fault("E5005", problem), ins.span)
    if shape:
        problem = f"the output %{ins.id} has the shape {list(shape)}; a gradient is of a scalar"
        raise placed(fault("E5004", problem, "reduce it with Sum or Mean"), ins.span)
    return ins.id


def _targets(module: Module, ids: Mapping[str, int], primal: Canonical, wrt: Any) -> list[int]:
    """The canonical ids of `wrt`, ascending."""
    if wrt is None:
        inputs = [ins for ins in primal.rows if ins.opcode == "Input"]
        chosen = [ins.id for ins in inputs if ins.type.dtype.is_inexact]
        if inputs and not chosen:
            raise fault("E5005", "no input is a float, so none has a gradient")
        return chosen
    listed = [wrt] if isinstance(wrt, (int, str)) else wrt
    if not isinstance(listed, Iterable):
        raise _no_target(wrt)
    return sorted({_target(module, primal, _id_of(ids, item), item) for item in listed})


def _target(module: Module, primal: Canonical, number: int, item: ValueId | str) -> int:
    place = primal.ids.get(number)
    if place is None:
        if all(ins.id != number for ins in module.instructions):
            raise fault("E2002", f"wrt: %{item} is not defined in the module")
        raise fault("E5004", f"wrt: no output needs %{item}, so it is not in the canonical module")
    ins = primal.rows[place]
    record = _record(ins.opcode)
    dtype = ins.type.dtype
    if isinstance(dtype, tuple) or not dtype.is_inexact:
        short = getattr(dtype, "short", "several results")
        problem = f"wrt: %{item} is {short}; only floats have gradients"
        raise placed(fault("E5005", problem), ins.span)
    if record.stops and ins.opcode != "Input" and not ins.operands:
        raise placed(fault("E5005", f"wrt: %{item} is a constant and has no gradient"), ins.span)
    return place


def _ids_by_name(module: Module) -> dict[str, int]:
    """Every value that has a name: words that stand for ids, and inputs, which come first."""
    ids = {name: number for number, name in reversed(list(module.names.items()))}
    return ids | {ins.attrs[0]: ins.id for ins in reversed(module.inputs)}


def _id_of(ids: Mapping[str, int], item: Any) -> int:
    """The id that an integer, `"%3"` or a name says; -1 where there is no such name."""
    if type(item) is int:
        return item
    if not isinstance(item, str):
        raise _no_target(item)
    word = item.removeprefix("%")
    return int(word) if item.startswith("%") and word.isdigit() else ids.get(word, -1)


def _no_target(item: Any) -> AdjointError:
    problem = f"wrt: expected ids or names of inputs, got {type(item).__name__}"
    return fault("E2001", problem, 'write wrt="x", wrt=0 or a list of such')


# ---- the walk


def _record(opcode: str) -> Opcode:
    record = OPCODES.get(opcode) or opcode_named(opcode)
    assert record is not None
    return record


def _paths(rows: list[Instruction], targets: list[int]) -> list[bool]:
    """Which values lead to a target: a gradient is worth computing for these alone."""
    wanted = set(targets)
    leads: list[bool] = []
    stops = {name: op.stops for name, op in OPCODES.items()}
    for number, opcode, operands, _, kind, _ in rows:
        below = False
        for operand in operands:
            if leads[operand]:
                below = _carries(kind.dtype) and not (
                    stops[opcode] if opcode in stops else _record(opcode).stops
                )
                break
        leads.append(below or number in wanted)
    return leads


def _carries(dtype: Any) -> bool:
    if isinstance(dtype, tuple):
        return any(part.is_inexact for part in dtype)
    return dtype.kind in "fc"


def _reverse(tape: Tape, root: int, count: int) -> list[Any]:
    """The gradient of every value on a path, None where there is none."""
    rows, wants, strict = tape.rows, tape.wants, tape.strict
    grads: list[Any] = [None] * count
    grads[root] = tape.constant(1.0, rows[root].type.dtype)
    known = OPCODES.get
    for number in range(root, -1, -1):
        g = grads[number]
        if g is None or not wants[number]:
            continue
        ins = rows[number]
        operands = ins[2]
        if not any([wants[o] for o in operands]):  # noqa: C419 - a list is faster here
            continue
        opcode = ins[1]
        if opcode == "Part":
            _add_part(tape, grads, operands[0], ins.attrs.index, g)
            continue
        record = known(opcode) or _record(opcode)
        if strict and (not record.strict_pull or ins[3] == _DIV):
            raise _not_strict(ins)
        try:
            if record.pull is None:
                contributions = derived_pull(record, tape, ins, g)
            else:
                contributions = record.pull(tape, ins, g)
        except AdjointError as error:
            raise placed(error, ins.span, f"in the gradient of %{number} ({opcode})") from None
        for operand, value in zip(operands, contributions, strict=True):
            if value is not None and wants[operand]:
                present = grads[operand]
                grads[operand] = value if present is None else tape.add(present, value)
    return grads


_DIV = ("Div",)


def _add_part(tape: Tape, grads: list[Any], source: int, index: int, g: int) -> None:
    """A result of several: their gradients are kept side by side until the op is reached."""
    parts = grads[source]
    if parts is None:
        parts = grads[source] = [None] * len(tape.type_of(source).dtype)
    parts[index] = g if parts[index] is None else tape.add(parts[index], g)


def _not_strict(ins: Instruction) -> AdjointError:
    name = f"BinOp({ins.attrs[0]})" if ins.opcode == "BinOp" else ins.opcode
    problem = "has no derivative that core-v1 can express"
    error = AutodiffError("E5001", problem, op=name, help='use profile "core+g"')
    return placed(error, ins.span, f"in the gradient of %{ins.id}")


# ---- the result


def _finished(
    tape: Tape,
    count: int,
    primal: Canonical,
    targets: list[int],
    found: dict[int, Any],
    verified: bool,
) -> tuple[Module, dict[int, int], dict[int, int]]:
    """The tape as a canonical module, the gradients in it, and where its values went. Its primal
    part is canonical already."""
    outputs = (*primal.outputs, *(found[t] for t in targets))
    rows = fold(tape.rows, count)
    ids = None
    if not _all_needed(rows, count, outputs):
        rows, outputs, ids = numbered(rows, outputs)
    if verified:
        try:
            check(rows, outputs, tape.strict, {})
        except AdjointError as error:
            message = f"the gradient module is not well-formed: {error.code}: {error.problem}"
            raise fault("E5002", message, error.help) from error
    gradients = {value: g for value, g in found.items() if isinstance(g, int)}
    if ids is not None:
        gradients = {value: ids[g] for value, g in gradients.items() if g in ids}
    return Module(tuple(rows), outputs), gradients, ids or {}


def _all_needed(rows: list[Instruction], count: int, outputs: tuple[int, ...]) -> bool:
    """Whether every emitted row leads to an output; their ids and operands are in order then."""
    needed = bytearray(len(rows))
    for output in outputs:
        needed[output] = 1
    for number in range(len(rows) - 1, count - 1, -1):
        if not needed[number]:
            return False
        for operand in rows[number][2]:
            needed[operand] = 1
    return True
