"""`UOpGraph`: a kernel that is put together by hand, node by node, and checked as it grows.

A node is a node of the kernel level (`ops/loop_ops.py`) at a place in a list; the graph keeps the
order, which loops and conditions are open, and whose line each node came from. `program` gives the
list to the passes of the compiler and gets a loop program back, of the kind that kernel lowering
gives to renderers. Elsewhere: how each kind of node is made (`nodes.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adjoint.handbuilt.compiled import Kernel
from adjoint.handbuilt.legalise import legalise
from adjoint.handbuilt.nodes import MAKERS, Draft, Made, fault
from adjoint.handbuilt.vocabulary import UOps
from adjoint.ir.dtype import VOID
from adjoint.ir.kernel_kind import IF
from adjoint.ir.loop_tree import Block
from adjoint.ir.opdef import OPS
from adjoint.ir.origin import Origin, Site, capture, resolve
from adjoint.ir.uop import UOp
from adjoint.stages import LoopProgram


@dataclass(slots=True, eq=False, repr=False)
class Node:
    """What `add` returns: a number in the list, and the node of the kernel level behind it."""

    graph: UOpGraph
    number: int
    kind: UOps
    dtype: Any
    vin: tuple[Node, ...]
    arg: Any
    value: UOp
    block: Block
    raw: Site | None

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def origin(self) -> Origin | None:
        """The user's file and line."""
        return resolve(self.raw)

    def __repr__(self) -> str:
        arg = "" if self.arg is None else f" {getattr(self.arg, 'name', None) or self.arg}"
        operands = f" ({', '.join(str(n.number) for n in self.vin)})" if self.vin else ""
        kind = "" if self.dtype is VOID else f" : {self.dtype.short}"
        return f"{self.kind.name}{arg}{operands}{kind}"


class UOpGraph:
    """A kernel in the making: `add` appends a node and returns it.

    Equal constants and equal arithmetic may be one node; loads and effects never are.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._root = self._block = Block()  # what was asked for twice may stand in it twice
        self._heads: dict[Block, Node] = {}
        self._effect: UOp | None = None  # the last node that was added for its effect
        self._found: dict[UOp, Node] = {}
        self._updates: dict[Node, Node] = {}  # the PHI of every DEFINE_ACC that has one
        self._versions: dict[UOp, dict[Block, UOp]] = {}
        self._counts: Counter[UOps] = Counter()
        self._programs: dict[str, LoopProgram] = {}

    def add(self, uop: UOps, dtype: Any = None, vin: Sequence[Node] = (), arg: Any = None) -> Node:
        """Append a node. `vin` are the nodes it takes, `arg` is what its kind says."""
        draft = Draft(self, len(self.nodes), uop, vin, arg, capture())
        draft.check(dtype)
        with draft.blamed():
            made = MAKERS[uop](draft)
        known = self._found.get(made.value)
        if made.shared and known is not None and self.is_open(known.block):
            return known
        return self._append(draft, made)

    def _append(self, draft: Draft, made: Made) -> Node:
        self._programs.clear()
        block = self._root if made.at_top else self._block
        parts = draft.number, draft.kind, made.value.dtype, draft.vin, draft.arg, made.value, block
        node = Node(self, *parts, draft.raw)
        self.nodes.append(node)
        self._counts[draft.kind] += 1
        if made.shared:
            self._found[made.value] = node
        self._follow(node)
        return node

    def _follow(self, node: Node) -> None:
        """Put it in its block. A register is known beyond the loops that update it."""
        if node.value.dtype is VOID:
            self._effect = node.value
        match node.kind:
            case UOps.CONST | UOps.DEFINE_GLOBAL:
                return
            case UOps.LOOP | UOps.IF:
                node.block = self._block = self._block.opened(node.value)
                self._heads[node.block] = node
            case UOps.ENDLOOP | UOps.ENDIF:
                self._end(node)
            case _:
                self._block.items.append(node.value)
        if node.kind is UOps.PHI:
            self._updates[node.vin[0]] = node

    def _end(self, node: Node) -> None:
        ended = self._block
        assert ended.parent is not None
        node.block = self._block = ended.parent
        for acc, phi in self._updates.items():
            if phi.block is ended and acc.block is not ended:
                phi.block = self._block

    # ---- what makers of nodes ask

    @property
    def innermost(self) -> Node | None:
        """The LOOP or IF that is open."""
        return self._heads.get(self._block)

    @property
    def around(self) -> list[Node]:
        """Every LOOP and IF that is open, outermost first."""
        return [self._heads[block] for block in self._block.chain()[1:]]

    def is_open(self, block: Block) -> bool:
        """Whether nodes added there are visible here."""
        return block in self._block.chain()

    def head_of(self, block: Block) -> Node:
        """The LOOP or IF that opened a block."""
        return self._heads[block]

    @property
    def effects(self) -> tuple[UOp, ...]:
        """The last node that was added for its effect, if any."""
        found = self._effect
        return () if found is None or found.op.kernel is IF else (found,)

    def loops_since(self, node: Node) -> list[Node]:
        """The LOOPs opened after this node that are open, outermost first."""
        chain = self._block.chain()
        inner = chain[chain.index(node.block) + 1 :] if node.block in chain else chain
        return [self._heads[block] for block in inner if block.is_loop]

    def update_of(self, acc: Node) -> Node | None:
        """The PHI that updates a DEFINE_ACC."""
        return self._updates.get(acc)

    def count(self, kind: UOps) -> int:
        """How many nodes of this kind there are."""
        return self._counts[kind]

    def read(self, node: Node) -> UOp:
        """The value of an operand here. A register changes: where it is read in another loop than
        before, it is a node of its own, so that no reader takes the older value for the newer."""
        if node.kind not in (UOps.DEFINE_ACC, UOps.PHI):
            return node.value
        phi = node if node.kind is UOps.PHI else self._updates.get(node)
        if phi is not None:
            return self._version(phi.value, phi.block)
        loops = self.loops_since(node)
        return self._version(node.value, loops[-1].block) if loops else node.value.src[0]

    def _version(self, value: UOp, block: Block) -> UOp:
        known = self._versions.setdefault(value, {block: value})
        if block not in known:
            last = next(reversed(known.values()))
            known[block] = OPS["where"](OPS["const"](True, "bool"), last, last)
        return known[block]

    # ---- what comes out

    def program(self, name: str = "kernel") -> LoopProgram:
        """The finished kernel, in ops that every renderer knows."""
        if name not in self._programs:
            self._check_finished(name)
            self._programs[name] = legalise(name, self.buffers, self._root.flat())
        return self._programs[name]

    def compile(self, device: str = "CPU", name: str = "kernel") -> Kernel:
        """The kernel as something to call with one tensor or array per DEFINE_GLOBAL, in order.

        NumPy arrays are written in place where the kernel may write; of tensors the results are
        new tensors.
        """
        return Kernel(self.program(name), device)

    @property
    def buffers(self) -> tuple[UOp, ...]:
        """The parameters of the kernel, in order."""
        return tuple(n.value for n in self.nodes if n.kind is UOps.DEFINE_GLOBAL)

    def _check_finished(self, name: str) -> None:
        head = self.innermost
        if head is not None:
            end = "ENDLOOP" if head.kind is UOps.LOOP else "ENDIF"
            fix = f"g.add(UOps.{end}, vin=(node {head.number},))"
            raise fault("E4001", head, f"is never ended: an {end} is missing", help=fix)
        if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
            raise fault("E1002", None, f"{name!r} is no name of a kernel")
        parameters = (n for n in self.nodes if n.kind is UOps.DEFINE_GLOBAL)
        for place, node in enumerate(parameters):
            if node.value.arg.index != place:
                fix = "number the parameters 0, 1, 2, …"
                raise fault("E4004", node, f"there is no parameter {place}", help=fix)

    def __str__(self) -> str:
        lines, depth = [], 0
        width = len(str(max(len(self.nodes) - 1, 0)))
        for node in self.nodes:
            depth -= node.kind in (UOps.ENDLOOP, UOps.ENDIF)
            lines.append(f"{node.number:>{width}}  {'  ' * depth}{node!r}")
            depth += node.kind in (UOps.LOOP, UOps.IF)
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<UOpGraph of {len(self.nodes)} nodes>"
