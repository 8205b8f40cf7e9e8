"""Opcodes of Core take their gradient from the records; a rule of its own says other bytes."""

from functools import cache

import pytest

from adjoint.errors import AdjointError
from adjoint.module import differentiate, parse
from adjoint.module.derived_pull import derived_pull
from adjoint.module.opcode import OPCODES
from adjoint.module.tape import Tape
from tests.module.rules import RULES

OWN = {  # BinOp: of Sub
    *("BinOp", "Relu", "Sum", "Mean", "Reshape", "Transpose", "ExpandDims", "Squeeze"),
    *("Index", "Slice", "Dot", "MatMul", "Conv2d", "ReluGrad", "ScatterSlice", "ScatterIndex"),
    *("Conv2dBackwardInput", "Conv2dBackwardFilter"),
}
SAME_SHAPE = '%0 = Input() {{name: "x"}} : Tensor<f64, [2, 1]>\n%1 = {} : Tensor<f64, [2, 1]>\n'
NOTHING_MOVES = {  # the record builds no node, Core says it nevertheless
    "Reshape": SAME_SHAPE.format("Reshape(%0, [2, 1])"),
    "Transpose": SAME_SHAPE.format("Transpose(%0, [0, 1])"),
}


@cache
def _modules():
    """Those of the rules, their gradients, and those where nothing moves."""
    made = [rule for rule, _ in RULES.values()]
    still = [parse(text + "outputs: %1") for text in NOTHING_MOVES.values()]
    return [*made, *(differentiate(m).gradient_module for m in made), *still]


def _instructions(opcode):
    """Every use of the opcode in these modules."""
    for made in _modules():
        for ins in made.instructions:
            if ins.opcode == opcode:
                yield made, ins


def _written(pull, made, ins):
    """The rows that a rule writes for an instruction, and the contributions among them."""
    tape = Tape(list(made.instructions), [True] * len(made.instructions), strict=False)
    g = tape.emit("Input", (), ("g",), ins.type)
    result = pull(tape, ins, g)
    return tape.rows[g:], result


def _derived(made, ins):
    try:
        return _written(lambda *rest: derived_pull(OPCODES[ins.opcode], *rest), made, ins)
    except AdjointError as error:
        return error


def test_the_opcodes_with_a_rule_of_their_own_are_these():
    assert {name for name, op in OPCODES.items() if op.pull is not None} == OWN


@pytest.mark.parametrize("opcode", sorted(OWN))
def test_a_rule_of_its_own_writes_what_the_records_do_not(opcode):
    pull = OPCODES[opcode].pull
    assert any(_written(pull, *use) != _derived(*use) for use in _instructions(opcode))


@pytest.mark.parametrize("kind", ["Add", "Mul"])
def test_a_sum_and_a_product_are_what_the_records_say(kind):
    uses = [use for use in _instructions("BinOp") if use[1].attrs == (kind,)]
    assert uses
    for use in uses:
        assert _written(OPCODES["BinOp"].pull, *use) == _derived(*use)
