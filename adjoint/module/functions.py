"""Functions as attributes: do a branch's, a loop's operands fit the blocks that are to take them?

The library's own tracing guarantees it; a text does not. What may live here: these checks [E2001].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.ir.dtype import dtypes
from adjoint.module.instruction import Block, TensorType, fault
from adjoint.module.opcode import Types


def check_functions(op: str, record: str, attrs: Any, types: Types) -> None:
    """Parameters and results of the blocks have the types of what goes in and comes out."""
    for field, value in attrs.items():
        wanted = field in ("true", "false", "body", "test")
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


_CHECKS: dict[str, Callable[[str, Any, Types], None]] = {
    "branch": _branch,
    "loop": _loop,
    "while": _while,
}
