"""Kernels with row-wise work between two products, during fusion.

What may live here: which nodes belong to such a kernel (`panels.py` finds the chains). What may
not: where else a node could be placed (`fuse.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

from adjoint.ir.uop import UOp
from adjoint.schedule.loop_axes import Atoms, Index
from adjoint.schedule.node_facts import Facts
from adjoint.schedule.panels import is_along_rows, is_large, panels_of
from adjoint.schedule.units import Unit
from adjoint.target import Target

Use = tuple[Unit, Index]


class PanelUnits:
    """The questions about such kernels of one schedule."""

    def __init__(self, facts: Mapping[UOp, Facts], atoms: Atoms, target: Target):
        self.facts, self.atoms, self.limits = facts, atoms, target.limits
        self.panels = panels_of(facts, target)

    def begins(self, node: UOp, unit: Unit, index: Index) -> bool:
        """Whether a product makes a kernel work on rows; if so, it does from now on."""
        if node not in self.panels or unit.tiled:
            return False
        unit.panel, unit.panel_of = self.panels[node], node
        unit.outer = (*index[0], *index[1])
        return True

    def takes(self, node: UOp, uses: Iterable[Use], units: Iterable[Unit]) -> bool:
        """Whether the rows of kernels are computed from a product or reduction that is used where
        the kernels work on the rows; a large product is computed by each of several kernels.
        """
        found = {unit: [index for user, index in uses if user is unit] for unit in units}
        if len(found) > 1 and not is_large(node, self.limits):
            return False
        return all(self._makes(node, unit, places) for unit, places in found.items())

    def _makes(self, node: UOp, unit: Unit, places: list[Index]) -> bool:
        panel, product = unit.panel, unit.panel_of
        if panel is None or product is None:
            return False
        if node not in panel.products:
            outer = set(self.atoms.whole(unit.outer or ()))
            here = all(set(chain(*index)) == outer for index in places)
            return here and is_along_rows(node, panel.width)
        rows = self.atoms.settled(unit.reduced[product][0])[:2]
        lines = [
            tuple(chain(*self.atoms.settled(loops)))
            for known, (_, loops) in unit.reduced.items()
            if known is product or not self.facts[known].tiled
        ]
        whole = self.atoms.whole
        return all(index[:2] == rows and whole(index[2]) in lines for index in places)

    def may_hold(self, node: UOp, unit: Unit) -> bool:
        """Whether a reduction could be one more result of a kernel: one that works on rows goes
        along rows of one length, and tiles have one product alone."""
        return not unit.tiled if unit.panel is None else is_along_rows(node, unit.panel.width)

    def make_again(self, node: UOp, units: Iterable[Unit]) -> bool:
        """Whether several kernels make a node from large products, each for its rows."""
        return all(
            unit.panel is not None
            and node in unit.panel.members
            and any(is_large(part, self.limits) for part in unit.panel.products)
            for unit in units
        )

    def places(self, node: UOp, uses: Iterable[Use]) -> Iterable[Use]:
        """Where a node that joins kernels is computed: a product for a panel once."""
        if not self.facts[node].tiled:
            return uses
        return {unit: (unit, index) for unit, index in uses}.values()

    def counters(self, unit: Unit) -> set[int] | None:
        """The counters of a panel: its rows, and the places in one."""
        if unit.panel_of is None:
            return None
        at, loops = map(self.atoms.settled, unit.reduced[unit.panel_of])
        return set(chain(*at[:2], *loops))
