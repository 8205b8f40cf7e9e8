"""A loop program with every rule about its nodes applied (`rules.py`).

Before: a = neg(x); b = abs(a); c = where(lt(i, 8), b, 0), where i counts to 8. After: b = abs(x).

A remaining node moves as far out as its operands allow. Three things stay where they are: loads and
stores, because memory changes between them; readers of accumulators, because accumulators change
too, and the op of such a reader says how lanes are joined; and the loops. What may live here: the
pass. What may not: any rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from adjoint.ir.dtype import VOID
from adjoint.ir.kernel_kind import closes, opens
from adjoint.ir.opdef import OPS
from adjoint.ir.rewrite import rewrite
from adjoint.ir.uop import UOp, toposort
from adjoint.kernel.algorithms.loops import Loops, number
from adjoint.kernel.elements import PLAIN_NUMBERS
from adjoint.kernel.rules import kernel_rules, shared_rules
from adjoint.stages import LoopProgram

fired: Counter[str] = Counter()  # how often each rule applied in this process
_REGISTER, _UPDATE, _LOOP = OPS["define_acc"], OPS["phi"], OPS["range"]
_CONSTANT = OPS["const"]
_COUNTING = OPS["count_up"]
_STAYING = {OPS["load"], _COUNTING, OPS["define_local"], OPS["after"], _REGISTER, _UPDATE, _LOOP}


def optimised(program: LoopProgram) -> LoopProgram:
    """Before: minimum(i, 16) of a counter below 16. After: i."""
    rules = shared_rules if program.parameters else kernel_rules
    has_registers = any(node.op is _REGISTER for node in program.body)
    fixed = _ReadsRegister() if has_registers else None
    images = rewrite(program.body, rules, fired=fired, fixed=fixed)
    if images == list(program.body):
        return program
    new = dict(zip(program.body, images, strict=True))
    staying = {node for node in program.body if node.op in _STAYING or node.dtype is VOID}
    if not _are_apart(staying, new):
        return program
    body = _in_order(new, staying)
    grid = None if program.grid is None else new[program.grid]
    parameters = tuple(_parameters(program, body))
    return replace(program, body=body, grid=grid, parameters=parameters)


class _ReadsRegister:
    """Whether a node has the value of a register before its update."""

    def __init__(self) -> None:
        self._found: set[UOp] = set()

    def __call__(self, node: UOp) -> bool:
        for source in node.src:
            if source.op is _REGISTER or source in self._found:
                if node.op is not _UPDATE:
                    self._found.add(node)
                return True  # no rule is about an update
        return False


def _are_apart(staying: Iterable[UOp], new: dict[UOp, UOp]) -> bool:
    """Whether no two loads or stores have become one: memory may have changed between them."""
    kept = [image for image in map(new.__getitem__, staying) if _stays(image)]
    return len(set(kept)) == len(kept)


def _stays(node: UOp) -> bool:
    return node.op in _STAYING or node.dtype is VOID


def _in_order(new: dict[UOp, UOp], staying: set[UOp]) -> tuple[UOp, ...]:
    """The needed nodes: fixed ones in their order, the rest as far out as their sources allow."""
    needed = _needed(list(new.values()))
    loops = Loops()
    for old, node in new.items():
        if old not in staying:
            if node in needed and not _stays(node):
                loops.place(node)
        elif opens(old):
            loops.enter(node)
        elif closes(old):
            loops.leave()
        elif node in needed:
            if not _stays(node):
                loops.place(node)
            else:
                loops.here(node)
    return loops.body


def _needed(images: list[UOp]) -> set[UOp]:
    """What changes memory or a register, and all that it needs."""
    kept = (_UPDATE, _COUNTING)
    needed = {node for node in images if node.dtype is VOID or node.op in kept}
    for node in reversed(images):
        if node in needed:
            needed.update(node.src)
    made = needed.difference(images)  # by rules, on the way to one of the images
    needed.update(toposort(made, stop=lambda n: n in needed and n not in made))
    return needed


def _parameters(program: LoopProgram, body: Sequence[UOp]) -> Iterator[UOp]:
    """The parameters that are still used, and what has been worked out from some."""
    if not program.parameters:
        return
    before, now = _constants(program.body), _constants(body)
    kinds = {node.dtype for node in program.parameters}
    yield from (n for n in program.parameters if n in now)
    for node in now:
        made = node not in before and node.dtype in kinds
        if made and float(node.arg.value) not in PLAIN_NUMBERS:
            yield node


def _constants(body: Sequence[UOp]) -> dict[UOp, None]:
    """The numbers in a program, lengths of loops among them."""
    lengths = [n for n in body if n.op is _LOOP and not n.arg.grid]
    found = dict.fromkeys(number(n.arg.size, n.dtype) for n in lengths)
    operands = dict.fromkeys(chain.from_iterable([n.src for n in body]))
    found.update(dict.fromkeys(n for n in operands if n.op is _CONSTANT))
    return found


__all__ = ["optimised"]
