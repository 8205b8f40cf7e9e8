"""The derivative of a record as mathematics, rendered from its gradient graph, and its values."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import Tensor
from adjoint.autodiff.reverse import compute_gradient
from adjoint.errors import AdjointError
from adjoint.ir.derivative import NotDifferentiable, Stop, ThroughBody, ZeroGradient
from adjoint.ir.dtype import as_dtype
from adjoint.ir.opdef import OPS, OpDef, Sample, expand_composite
from adjoint.ir.uop import UOp, toposort
from adjoint.tensor.tensor import lift
from docs.formula import formula
from docs.op_calls import adapted, mapped, on_nodes

LONGEST_OF_A_BODY = 400  # a derivative that follows from the body is printed if it is this short
LONGEST = 1500
_DIGITS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_NONE = {
    ZeroGradient: "Zero by declaration: {}.",
    Stop: "No gradient passes: {}.",
    NotDifferentiable: "None; asking for one is E5001: {}.",
}


def definition(record: OpDef, sample: Sample) -> list[str]:
    """What the op computes, by its body; nothing for a primitive."""
    result, operands = on_nodes(record, sample)
    roots = _results(result)
    if not roots or record.kind == "primitive":
        return []
    if record.kind == "composite":
        roots = [expand_composite(root) for root in roots]
    lines = formula(dict(zip(_numbered("y", len(roots)), roots, strict=True)), operands)
    return lines if sum(map(len, lines)) <= LONGEST else []


def derivative(record: OpDef, sample: Sample) -> tuple[str, list[str]]:
    """A sentence, and the lines of the formula if there is one."""
    for kind, sentence in _NONE.items():
        if isinstance(record.ad, kind):
            return sentence.format(record.ad.reason), []
    result, operands = _in_floats(record, sample)
    results = _results(result)
    roots = [r for r in results if r.dtype.is_inexact]
    targets = [x for x in operands if x.dtype.is_inexact]
    if not roots or not targets:
        return "None: it takes or gives no floats.", []
    try:
        lines = _gradient_lines(record, results, operands, targets)
    except AdjointError as error:
        return f"None: {str(error).splitlines()[0]}.", []
    through = isinstance(record.ad, ThroughBody)
    if sum(map(len, lines)) > (LONGEST_OF_A_BODY if through else LONGEST):
        return _too_long(through, roots, targets), []
    return ("That of the definition:" if through else "As declared:"), lines


def _in_floats(record: OpDef, sample: Sample) -> tuple[Any, dict[UOp, str]]:
    """The op on symbols, as floats even where its samples are integers, if it takes them."""
    if set(record.kinds) & set("fc"):
        return on_nodes(record, sample)
    try:
        return on_nodes(record, adapted(_floats(sample), as_dtype("float32")))
    except AdjointError:
        return on_nodes(record, sample)


def _floats(sample: Sample) -> Sample:
    cast = lambda a: a.astype(np.float64) if a.dtype.kind in "iu" else a  # noqa: E731
    return Sample(mapped(sample.args, cast), mapped(sample.kwargs, cast))


def _results(result: Any) -> list[UOp]:
    listed = result if isinstance(result, (tuple, list)) else [result]
    nodes = [r for r in listed if isinstance(r, UOp)]
    return [part for node in nodes for part in _parts(node)]


def _parts(node: UOp) -> list[UOp]:
    if not isinstance(node.dtype, tuple):
        return [node]
    return [OPS["part"](node, i) for i in range(len(node.dtype))]


def _numbered(letter: str, count: int) -> list[str]:
    return [letter] if count == 1 else [f"{letter}{i}".translate(_DIGITS) for i in range(count)]


def _gradient_lines(
    record: OpDef, results: list[UOp], operands: dict[UOp, str], targets: list[UOp]
) -> list[str]:
    names = _result_names(record, results) | operands
    totals: dict[UOp, UOp] = {}
    for name, root in zip(_numbered("g", len(results)), results, strict=True):
        if not root.dtype.is_inexact:
            continue
        g = OPS["input"](name, root.shape, root.dtype, root.device)
        names[g] = name
        found = {root: g} if root in operands else compute_gradient(root, g, targets)
        for x in targets:
            if x in found:
                totals[x] = totals[x] + found[x] if x in totals else found[x]
    shown = {f"d{operands[x]}": totals[x] for x in targets if x in totals}
    zeros = [f"d{operands[x]} = 0" for x in targets if x not in totals]
    return [*formula(shown, names), *zeros]


def _result_names(record: OpDef, roots: list[UOp]) -> dict[UOp, str]:
    """The results as y, also where a composite's body makes the same node again."""
    names = dict(zip(roots, _numbered("y", len(roots)), strict=True))
    if record.kind == "composite":
        names |= {expand_composite(root): name for root, name in names.items()}
    return names


def _too_long(through: bool, roots: list[UOp], targets: list[UOp]) -> str:
    seeds = [OPS["input"]("g", r.shape, r.dtype, r.device) for r in roots]
    grads = [compute_gradient(r, g, targets) for r, g in zip(roots, seeds, strict=True)]
    count = len(toposort([g[x] for g in grads for x in targets if x in g]))
    source = "That of the definition" if through else "As declared"
    return f"{source}: a graph of {count} nodes, too long to print here."


def gradients_at(record: OpDef, args: Any, kwargs: Any) -> list[Any]:
    """The gradient of the sum of the results by every float operand, at this point."""
    tensors: list[Tensor] = []

    def tensor(a: Any) -> Tensor:
        made = Tensor(a, requires_grad=True if a.dtype.kind == "f" else None)
        if a.dtype.kind == "f":
            tensors.append(made)
        return made

    result = lift(record, mapped(args, tensor), mapped(kwargs, tensor))
    listed = result if isinstance(result, (tuple, list)) else [result]
    totals = [t.sum() for t in listed if isinstance(t, Tensor) and t.dtype.is_inexact]
    grads = sum(totals[1:], totals[0]).gradient(*tensors)
    return [None if g is None else g.tolist() for g in grads]
