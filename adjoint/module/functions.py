"""Functions as attributes: do a branch's, a loop's operands fit the blocks that are to take them?

The library's own tracing guarantees it; a text does not. What may live here: these checks [E2001],
and the attributes of ops whose nodes keep their functions in another form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.ir.arg import Arg
from adjoint.ir.dtype import dtypes
from adjoint.ir.function import Function
from adjoint.ir.opdef import OpDef
from adjoint.module.instruction import Block, TensorType, fault
from adjoint.module.opcode import Types


class CustomVjpArg(Arg):
    """A function and its rules. Each takes all the operands, of which the first are arguments; the
    rules also take the results, then the cotangents of the float results (`backward`) or the
    tangents of the float arguments (`tangent`)."""

    body: Function
    backward: Function | None = None
    tangent: Function | None = None
    arguments: int


class CustomJvpArg(Arg):
    """The same without a reverse rule: `tangent` is transposed."""

    body: Function
    tangent: Function | None = None
    arguments: int


FORMS: dict[str, type[Arg]] = {"custom_vjp": CustomVjpArg, "custom_jvp": CustomJvpArg}
_OPTIONAL = ("backward", "tangent")
_NAMES = ("true", "false", "body", "test", *_OPTIONAL)


def attributes_of(record: OpDef) -> type[Arg] | None:
    """The attributes that an op has in a text."""
    return FORMS.get(record.name, record.arg)


def check_functions(op: str, record: str, attrs: Any, types: Types) -> None:
    """Parameters and results of the blocks have the types of what goes in and comes out."""
    for field, value in attrs.items():
        wanted = field in _NAMES and not (field in _OPTIONAL and value is None)
        if wanted != (type(value) is Block):
            what = "a function in braces" if wanted else "no function"
            raise fault("E2001", f"{op}: attribute {field!r} is {what}")
    _CHECKS[record](op, attrs, types)


def _expect(op: str, found: Types, wanted: Types, what: str) -> None:
    if found != wanted:
        raise fault("E2001", f"{op}: the types of {what} do not fit")


def _parameters(block: Block) -> Types:
    return [ins.type for ins in block.instructions if ins.opcode == "Input"]


def _results(block: Block) -> Types:
    types = {ins.id: ins.type for ins in block.instructions}
    return [types[output] for output in block.outputs]


def _counts(op: str, *values: Any) -> None:
    if any(type(v) is not int or v < 0 for v in values):
        raise fault("E2001", f"{op}: a count is an integer ≥ 0")


def _branch(op: str, attrs: Any, types: Types) -> None:
    if not types or types[0].shape != ():
        raise fault("E2001", f"{op}: the condition is a scalar")
    _sides(op, attrs, types)


def _choose(op: str, attrs: Any, types: Types) -> None:
    if not types or types[0].dtype is not dtypes.bool_:
        raise fault("E2001", f"{op}: the condition is a truth value per example")
    _sides(op, attrs, types)
    front = types[0].shape
    if any(kind.shape[: len(front)] != front for kind in [*types[1:], *_results(attrs.true)]):
        raise fault("E2001", f"{op}: operands and results have the condition's axes in front")


def _sides(op: str, attrs: Any, types: Types) -> None:
    for block in (attrs.true, attrs.false):
        _expect(op, _parameters(block), types[1:], "the operands")
    _expect(op, _results(attrs.true), _results(attrs.false), "the two results")


def _loop(op: str, attrs: Any, types: Types) -> None:
    _counts(op, attrs.carries, attrs.sequences, attrs.length)
    n, m = attrs.carries, attrs.sequences
    if len(types) < n + m:
        raise fault("E2001", f"{op}: it has {len(types)} operands, {n + m} are carried or walked")
    rows = []
    for kind in types[n : n + m]:
        if kind.shape[:1] != (attrs.length,):
            raise fault("E2001", f"{op}: a sequence does not have the length {attrs.length}")
        rows.append(TensorType(kind.dtype, kind.shape[1:]))
    _expect(op, _parameters(attrs.body), [*types[:n], *rows, *types[n + m :]], "the operands")
    _expect(op, _results(attrs.body)[:n], types[:n], "what is carried")


def _while(op: str, attrs: Any, types: Types) -> None:
    _counts(op, attrs.carries)
    for block in (attrs.test, attrs.body):
        _expect(op, _parameters(block), types, "the operands")
    _expect(op, _results(attrs.body), types[: attrs.carries], "what is carried")
    _expect(op, _results(attrs.test), [TensorType(dtypes.bool_, ())], "the test")


def _custom(op: str, attrs: Any, types: Types) -> None:
    _counts(op, attrs.arguments)
    if attrs.arguments > len(types):
        raise fault("E2001", f"{op}: {attrs.arguments} arguments among {len(types)} operands")
    _expect(op, _parameters(attrs.body), types, "the operands")
    results = _results(attrs.body)
    ends, starts = _floats(results), _floats(types[: attrs.arguments])
    rules = attrs.asdict()
    for name, given, found in (("backward", ends, starts), ("tangent", starts, ends)):
        rule = rules.get(name)
        if rule is not None:
            _expect(op, _parameters(rule), [*types, *results, *given], f"what {name!r} takes")
            _expect(op, _results(rule), found, f"what {name!r} gives")


def _floats(types: Types) -> Types:
    return [kind for kind in types if kind.dtype.is_inexact]


_CHECKS: dict[str, Callable[[str, Any, Types], None]] = {
    "branch": _branch,
    "choose": _choose,
    "loop": _loop,
    "while": _while,
    "custom_vjp": _custom,
    "custom_jvp": _custom,
}
