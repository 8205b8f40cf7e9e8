"""Rules made into nodes, and nodes into values: what all proofs of rules need."""

import itertools

import numpy as np

from adjoint.engine.interpreter import run_function
from adjoint.errors import AdjointError
from adjoint.ir.opdef import OPS
from adjoint.ir.pattern import Apply, Number, fill, variables
from adjoint.ir.uop import UOp, toposort
from adjoint.runtime.reference import evaluate


def const(value, dtype, shape=()):
    return OPS["const"](value, dtype, shape)


def evaluated(node, given):
    """The node's values by the reference device's evaluator, from those of leaves."""
    values = dict(given)
    for part in toposort([node], stop=values.__contains__):
        if part not in values:
            values[part] = evaluate(part, [values[s] for s in part.src], run_function)
    return values[node]


def truths(rule):
    """Which holes of a rule's pattern hold bools, whatever the dtype of the others."""
    found = set()

    def walk(pattern, is_bool):
        if not isinstance(pattern, Apply):
            if is_bool and hasattr(pattern, "name"):
                found.add(pattern.name)
            return
        logical = pattern.op.startswith("logical") or (
            pattern.op in ("bitwise_and", "bitwise_or")
            and any(isinstance(s, Number) and isinstance(s.value, bool) for s in pattern.src)
        )
        for position, part in enumerate(pattern.src):
            walk(part, logical or (pattern.op == "where" and position == 0))

    walk(rule.pattern, False)
    return found


def instances(rule, make, constants):
    """The nodes that match a rule: `make(name, is_bool)` gives the nodes to try in a hole, and
    `constants(is_bool)` those of a hole for constants."""
    holes, bools = variables(rule.pattern), truths(rule)
    tried = [
        constants(name in bools) if hole.const else make(name, name in bools)
        for name, hole in holes.items()
    ]
    for chosen in itertools.product(*tried):
        try:
            node = fill(rule.pattern, dict(zip(holes, chosen, strict=True)))
        except (AdjointError, TypeError, KeyError):
            continue  # an op that is not of this dtype, or a number that is no value of it
        if isinstance(node, UOp) and node.op.name == rule.op:
            yield node


def same_bits(a, b):
    """Equal in every bit, save that a NaN may be any NaN: NumPy does not keep which."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind == "c":
        return same_bits(a.real, b.real) and same_bits(a.imag, b.imag)
    if a.dtype.kind in "biu":
        return np.array_equal(a, b)
    if a.dtype.itemsize < 4:
        a, b = a.astype(np.float32), b.astype(np.float32)  # exact, and NumPy's own
    nan = np.isnan(a)
    return np.array_equal(nan, np.isnan(b)) and np.array_equal(
        np.where(nan, 0, a).view(f"u{a.itemsize}"), np.where(nan, 0, b).view(f"u{b.itemsize}")
    )
