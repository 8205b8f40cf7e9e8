"""Rules about a kernel's nodes, for simplifications that appear only in elements and indices.

Arithmetic keeps every bit, as it does on tensors; the ranges of counters decide comparisons; a
bounds check with a known result is removed. What may live here: rules. What may not: where nodes
are placed (`optimise.py`).
"""

from __future__ import annotations

from adjoint.ir.integer_rules import choice_rules, fold_rules, identity_rules, range_rules
from adjoint.ir.pattern import Apply, Attr, Number, Pattern, Var
from adjoint.ir.rewrite import Rule, RuleSet
from adjoint.ir.tensor_rules import arithmetic_rules, float_fold_rules

buffer, i, x = Var("buffer"), Var("i"), Var("x")


def _load(*src: Pattern) -> Apply:
    return Apply("load", src, (("width", Attr("width")), ("order", Attr("order"))))


memory_rules = RuleSet(
    (
        Rule("load_always", _load(buffer, i, Number(True), x), _load(buffer, i)),
        Rule("load_never", _load(buffer, i, Number(False), x), x),
    )
)
# A kernel that gets its sizes at its launch is one source for many: its rules look at no range.
shared_rules = (
    memory_rules + arithmetic_rules + float_fold_rules + fold_rules + identity_rules + choice_rules
)
kernel_rules = shared_rules + range_rules
