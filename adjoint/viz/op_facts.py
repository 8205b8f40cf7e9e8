"""Facts about an op from its record: the panel's short page of an op, which needs no site.

What may live here: records as plain data. What may not: the pages of the site (`docs/`).
"""

from __future__ import annotations

import inspect
from typing import Any

from adjoint.ir.derivative import (
    Bilinear,
    Diagonal,
    Jvp,
    Linear,
    NotDifferentiable,
    Partials,
    Stop,
    ThroughBody,
    Vjp,
    ZeroGradient,
)
from adjoint.ir.opdef import OPS, OpDef

_DERIVATIVES = {
    Partials: "a factor for each operand",
    Diagonal: "element by element, for each operand",
    Linear: "linear: its transpose",
    Bilinear: "a transpose for each side",
    Jvp: "its tangent; reverse mode transposes it",
    Vjp: "its own rule for each operand",
    ThroughBody: "that of its body",
    ZeroGradient: "zero",
    Stop: "no gradient passes",
    NotDifferentiable: "none",
}


def op_facts(name: str) -> dict[str, Any] | None:
    """Text, signature and derivative of an op; None if it has no record."""
    record = OPS.get(name)
    if record is None:
        return None
    return {
        "doc": record.doc,
        "page": record.public,
        "call": _signature(record),
        "derivative": _derivative(record),
    }


def _signature(record: OpDef) -> str:
    """`softmax(x, axis=-1)`, as its page has it."""
    found = inspect.signature(record.signature or record.call)
    plain = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    return f"{record.name}{inspect.Signature(plain)}"


def _derivative(record: OpDef) -> str:
    text = next((t for kind, t in _DERIVATIVES.items() if isinstance(record.ad, kind)), "")
    reason = getattr(record.ad, "reason", "")
    return f"{text}: {reason}" if text and reason else text
