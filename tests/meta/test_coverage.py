"""Every op stands in every table of derivative tests, or in the list of gaps with a reason."""

import pytest

from adjoint.ir.opdef import OPS
from tests.ops import (
    test_batching,
    test_gradients,
    test_precision,
    test_second_order,
    test_vmap_of_grad,
)
from tests.ops.cases import RECORDS
from tests.ops.coverage import CELLS, GAPS, NARROW, not_complex

TABLES = {
    "first order": test_gradients.test_both_modes_agree_with_central_differences,
    "second order": test_second_order.test_four_pairs_of_modes_agree_and_are_the_difference,
    "vmap of grad": test_vmap_of_grad.test_vmap_of_grad_is_a_loop,
    **dict.fromkeys(NARROW, test_precision.test_a_narrow_gradient_is_the_wide_one_rounded),
    "vmap": test_batching.test_vmap_is_a_loop,
    "complex": test_second_order.test_four_pairs_of_modes_agree_on_complex_numbers,
}


def _tried(test):
    marks = [mark for mark in test.pytestmark if mark.args[0] == "record"]
    return {param.values[0].name for mark in marks for param in mark.args[1]}


@pytest.mark.parametrize("cell", CELLS)
def test_every_op_is_tried_in_every_cell(cell):
    wanted = {r.name for r in RECORDS if cell != "complex" or not not_complex(r)}
    assert _tried(TABLES[cell]) == wanted


def test_every_gap_names_ops_and_cells_that_exist_and_a_reason():
    for gap in GAPS:
        assert set(gap.cells) <= set(CELLS)
        assert set(gap.ops) <= OPS.keys(), set(gap.ops) - OPS.keys()
        assert len(gap.reason) > 10


def test_no_cell_has_two_reasons():
    cells = [(name, cell) for gap in GAPS for name in gap.ops for cell in gap.cells]
    assert len(cells) == len(set(cells))


def test_an_op_that_declares_no_derivative_is_a_gap():
    gaps = {name for gap in GAPS for name in gap.ops}
    undeclared = {r.name for r in RECORDS if type(r.ad).__name__ in ("NotDifferentiable", "Stop")}
    assert undeclared <= gaps
