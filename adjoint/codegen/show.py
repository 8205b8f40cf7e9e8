"""A loop program as text for people.

    # kernel row_sum
    # train.py:7  y = x.sum(1)
    b0: Ptr<f32, mutable>[3]
    b1: Ptr<f32>[60]
    for i0 in 0 .. 3, in parts:
        v0: i64 = mul(i0, 20)
        v1: f32 = define_acc(0.0)
        for i1 in 0 .. 20, 16 side by side:
            v2: i64 = add(v0, i1)
            v3: f32 = load(b1, v2)
            v4: f32 = add(v1, v3)
            v5: f32 = phi(v1, v4)
        store(b0, i0, v5)

One line per node, in running order; the same program gives the same text in every process.
"""

from __future__ import annotations

from adjoint.ir.kernel_kind import gate_of
from adjoint.ir.text import value_text
from adjoint.ir.uop import UOp
from adjoint.stages import LoopProgram

_INDENT = "    "


def show(program: LoopProgram) -> str:
    """The text of a program."""
    writer = _Writer(program)
    for node in program.body:
        writer.node(node)
    return "\n".join([*_head(program), *writer.lines, ""])


def _head(program: LoopProgram) -> list[str]:
    lines = [f"# kernel {program.name}", *(f"# {line}" for line in program.lines)]
    for buffer in program.buffers:
        size = "" if buffer.arg.size is None else f"[{buffer.arg.size}]"
        lines.append(f"b{buffer.arg.index}: {buffer.dtype.short}{size}")
    for variable in program.variables:
        arg = variable.arg
        lines.append(f"{arg.name}: {arg.dtype.short}, {arg.lo} .. {arg.hi}")
    return lines


class _Writer:
    def __init__(self, program: LoopProgram) -> None:
        self.lines: list[str] = []
        self.depth = 0
        self.names: dict[UOp, str] = {b: f"b{b.arg.index}" for b in program.buffers}
        self.counts = {"i": 0, "v": 0, "l": 0}

    def node(self, node: UOp) -> None:
        match node.op.name:
            case "range":
                self.line(self.loop(node))
                self.depth += 1
            case "if":
                self.line(f"if {self.name(node.src[0])}:")
                self.depth += 1
            case "end_range" | "endif":
                self.depth -= 1
            case "store":
                self.line(self.store(node))
            case "barrier":
                self.line("barrier()")
            case "special":
                self.names[node] = node.arg.name
                self.line(f"{node.arg.name}: {node.dtype.short} of {node.arg.size}")
            case "define_local":
                name = self.named(node, "l")
                self.line(f"{name}: {node.dtype.short}[{node.arg.size}]")
            case _:
                operands = self.operands(node)
                self.line(f"{self.named(node, 'v')}: {node.dtype.short} = {operands}")

    def line(self, text: str) -> None:
        self.lines.append(_INDENT * self.depth + text)

    def loop(self, node: UOp) -> str:
        arg, start = node.arg, node.arg.start
        words = [", in parts"] * arg.grid
        words += [f", {arg.lanes} side by side"] * (arg.lanes > 1)
        stop = str(start + arg.size)
        if node.src:
            count = self.name(node.src[0])
            stop = count if start == 0 else f"{start} + {count}"
        return f"for {self.named(node, 'i')} in {start} .. {stop}{''.join(words)}:"

    def store(self, node: UOp) -> str:
        buffer, index, value = map(self.name, node.src[:3])
        gate = f" if {self.name(node.src[3])}" if gate_of(node) is not None else ""
        return f"store({buffer}, {index}, {value}){gate}"

    def operands(self, node: UOp) -> str:
        """The op on its operands; what a PHI goes over and an IF around a load say nothing new."""
        src = node.src[:2] if node.op.name == "phi" else node.src
        src = src if node.op.name != "load" or gate_of(node) is not None else src[:2]
        return f"{node.op.name}({', '.join(map(self.name, src))})"

    def named(self, node: UOp, letter: str) -> str:
        name = self.names[node] = f"{letter}{self.counts[letter]}"
        self.counts[letter] += 1
        return name

    def name(self, node: UOp) -> str:
        if node.op.name == "const":
            return value_text(node.arg.value)
        if node.op.name == "variable":
            return str(node.arg.name)
        return self.names[node]
