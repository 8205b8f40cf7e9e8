"""The graph with every bit-exact rule applied (`ir/tensor_rules.py`).

Before: v1 = neg(x); v2 = neg(v1); v3 = abs(v2); v4 = abs(v3); v5 = mul(v4, 1.0).
After: v1 = abs(x).

Effects stay: a rule drops no operand that calls Python, checks an index or may not terminate.
Results keep memory of their own: a result that turns out to be an input, or another result, is
copied. What may live here: the pass. What may not: any rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from adjoint.ir.kernel_kind import (
    CONSTANT,
    Algorithm,
    Control,
    Gather,
    HandBuilt,
    Host,
    Identity,
    Leaf,
    Memory,
    View,
    kernel_of,
)
from adjoint.ir.origin import origin_scope
from adjoint.ir.rewrite import rewrite
from adjoint.ir.tensor_rules import tensor_rules
from adjoint.ir.uop import UOp, toposort
from adjoint.ops.logic import copied

fired: Counter[str] = Counter()  # how often each rule applied in this process
_DEEDS = (Host, Gather, Algorithm, HandBuilt, Control)


def simplified(roots: Sequence[UOp]) -> list[UOp]:
    """Before: x * 1 + (y + -0.0). After: x + y."""
    before = list(roots)
    return _apart(before, rewrite(before, tensor_rules, keep=_Deeds().inside, fired=fired))


class _Deeds:
    """Which nodes have something below them that does more than compute a value."""

    def __init__(self) -> None:
        self._known: dict[UOp, bool] = {}

    def inside(self, node: UOp) -> bool:
        found = self._known.get(node)
        if found is not None:
            return found
        for part in toposort([node], stop=self._known.__contains__):
            if part not in self._known:
                self._known[part] = _does(part) or any(self._known[s] for s in part.src)
        return self._known[node]


def _does(node: UOp) -> bool:
    """Whether the node calls Python, checks an index, or runs functions."""
    return isinstance(kernel_of(node), _DEEDS)


# ---- memory of results


def _apart(before: Sequence[UOp], after: Sequence[UOp]) -> list[UOp]:
    """The results, copied if simplifying has made them share memory."""
    owners: dict[UOp, UOp] = {}  # where a result lies: where it lay before
    return [_own(new, old, owners) for old, new in zip(before, after, strict=True)]


def _own(new: UOp, old: UOp, owners: dict[UOp, UOp]) -> UOp:
    was = memory_of(old)
    while True:
        home = memory_of(new)
        given = home is not was and _is_given(home)
        if not given and owners.setdefault(home, was) is was:
            return new
        with origin_scope(old.raw_origin):
            new = copied(new)  # a copy of a copy, if the first one is another result already


def memory_of(node: UOp) -> UOp:
    """The node whose memory this one shares."""
    while True:
        kernel = node.op.kernel
        if isinstance(kernel, Identity):
            node = node.src[kernel.operand]
        elif (isinstance(kernel, View) and kernel.aliases) or isinstance(kernel_of(node), Memory):
            node = node.src[0]
        else:
            return node


def _is_given(node: UOp) -> bool:
    """Whether the node's memory is the caller's."""
    return isinstance(node.op.kernel, Leaf) and node.op.kernel is not CONSTANT
