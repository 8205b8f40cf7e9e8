"""Nodes as rows of plain data, each once: what graphs of all stages refer to by number.

What may live here: what is said of one node. What may not: which nodes make a picture
(`graph.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from adjoint.errors import AdjointError
from adjoint.ir.arg import Arg
from adjoint.ir.function import Function, functions_in
from adjoint.ir.kernel_kind import PARAMETER, PART, STORED, Identity, is_constant
from adjoint.ir.mesh import Sharding
from adjoint.ir.opdef import OPS, attributes, expand_composite
from adjoint.ir.text import value_text
from adjoint.ir.uop import UOp, toposort
from adjoint.ir.values import is_known
from adjoint.ops.collective import COLLECTIVES, bytes_sent
from adjoint.sharding.propagate import leaf_sharding
from adjoint.viz.mesh_layouts import Shown, layout_text
from adjoint.viz.source_lines import SourceLines

LONGEST = 200  # characters of an attribute
DEEPEST = 8  # composites inside composites that can be opened


class NodeTable:
    """Rows `[op, type, attributes, sources, place, kind, body, device, layout]`, numbered as they
    come.

    Kinds: "const", "input", "part", "same" (an identity), "composite", "control", or "". `bodies`
    are what composites and loops open to: functions, with parameters, results and nodes between.
    """

    def __init__(
        self,
        lines: SourceLines,
        names: Mapping[UOp, str] | None = None,
        layouts: Shown | None = None,
    ):
        self.lines, self.names, self.layouts = lines, dict(names or {}), layouts or {}
        self.rows: list[list[Any]] = []
        self.bodies: list[list[dict[str, Any]]] = []
        self.numbers: dict[UOp, int] = {}
        self._bodies: dict[Any, int] = {}
        self._depth = 0

    def add(self, nodes: Iterable[UOp]) -> list[int]:
        """The numbers of nodes whose sources come before them."""
        return [self._number(node) for node in nodes]

    def graph(self, roots: Sequence[UOp]) -> dict[str, Any]:
        """The nodes between what has a name and some roots, sources first, and the roots."""
        order = self.add(toposort(roots, stop=self.names.__contains__))
        return {"order": order, "roots": [self.numbers[root] for root in roots]}

    def _number(self, node: UOp) -> int:
        found = self.numbers.get(node)
        if found is None:
            found = self.numbers[node] = len(self.rows)
            row: list[Any] = [node.op.name, type_of(node), self.attributes(node)]
            given = node in self.names
            row += [[] if given else [self.numbers[s] for s in node.src]]
            row += [self.lines.place(node.raw_origin), "input" if given else _kind(node)]
            row += [-1, _device(node), self._layout(node)]
            self.rows.append(row)
            row[6] = -1 if given else self._body(node)
        return found

    def attributes(self, node: UOp) -> str:
        """The name of what has one, a constant's value, else what differs from the defaults."""
        if node in self.names:
            return self.names[node]
        if node.op.kernel is STORED or not isinstance(node.arg, Arg):
            return ""
        if is_constant(node) and hasattr(node.arg, "value"):
            return _text(node.arg.value)
        if node.op.kernel is PARAMETER:
            return str(attributes(node)["name"])[:LONGEST]
        shown = [
            f"{name}={_text(value)}"
            for name, value in node.arg.items()
            if not isinstance(value, Function) and value != node.arg.defaults.get(name, _NONE)
        ]
        if node.op in COLLECTIVES:
            shown.append(f"{bytes_sent(node)} bytes sent by each")
        return ", ".join(shown)[:LONGEST]

    def _layout(self, node: UOp) -> str:
        """The sharding of a value, empty if it is on no mesh."""
        found = self.layouts.get(node)
        if found is None and isinstance(node.device, Sharding) and (not node.src or is_known(node)):
            found = (leaf_sharding(node, node.device.mesh),)
        return "" if found is None else layout_text(found)

    # ---- what is inside

    def _body(self, node: UOp) -> int:
        """The number of the body of a node, -1 if it is one op."""
        functions = functions_in(node)
        composite = node.op.kind == "composite"
        if not (functions or composite) or self._depth >= DEEPEST:
            return -1
        types = tuple((s.shape, s.dtype) for s in node.src)
        key = (node.op, node.arg, types)  # whose lines differ: a reader takes the node's own
        if key not in self._bodies:
            self._bodies[key] = len(self.bodies)
            self.bodies.append([])
            self._depth += 1
            parts = [self._composite(node)] if composite else list(map(self._function, functions))
            self._depth -= 1
            self.bodies[self._bodies[key]] = [part for part in parts if part]
        return self._bodies[key]

    def _composite(self, node: UOp) -> dict[str, Any]:
        """One level of a composite, over its operands."""
        try:
            root = expand_composite(node)
        except AdjointError:
            return {}
        roots = root.src if root.op.name == "bundle" else (root,)
        return self._inside(node.src, roots)

    def _function(self, function: Function) -> dict[str, Any]:
        return self._inside(function.inputs, function.outputs)

    def _inside(self, inputs: Sequence[UOp], roots: Sequence[UOp]) -> dict[str, Any]:
        given = set(inputs)
        order = toposort(roots, stop=given.__contains__)
        self.add(inputs)
        numbers = [self._number(n) for n in order]
        inner = [i for n, i in zip(order, numbers, strict=True) if n not in given]
        return {
            "inputs": [self.numbers[n] for n in inputs],
            "order": inner,
            "roots": [self.numbers[n] for n in roots],
        }


_NONE = object()
_SHARD = OPS["shard"]


def type_of(node: UOp) -> str:
    """`f32[2, 3]`; several results in parentheses."""
    if isinstance(node.dtype, tuple):
        pairs = zip(node.dtype, node.shape, strict=True)
        return f"({', '.join(f'{_short(d)}{list(s)}' for d, s in pairs)})"
    return f"{_short(node.dtype)}{list(node.shape)}"


def _short(dtype: Any) -> str:
    return str(getattr(dtype, "short", dtype))


def _text(value: Any) -> str:
    try:
        return value_text(value)[:LONGEST]
    except AdjointError:
        return f"<{type(value).__name__}>"


def _kind(node: UOp) -> str:
    if is_constant(node):
        return "const"
    if node.op.kernel is PARAMETER or node.op.kernel is STORED:
        return "input"
    if node.op.kernel is PART:
        return "part"
    if isinstance(node.op.kernel, Identity) and node.op is not _SHARD and not _moves(node):
        return "same"
    if functions_in(node):
        return "control"
    return "composite" if node.op.kind == "composite" else ""


def _moves(node: UOp) -> bool:
    """Whether the result is on another device than its operands."""
    return bool(node.src) and node.device != node.src[0].device


def _device(node: UOp) -> str:
    """The device, or all of them."""
    return ", ".join(node.device) if isinstance(node.device, tuple) else str(node.device or "")
