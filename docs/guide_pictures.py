"""The pictures of the guides: a gradient, what was fused, a roofline; from what the program says.

Written to `docs/pictures/` by `make docs`, but for the roofline, which is that of the machine where
`make gallery` ran. What may live here: from Adjoint's data to boxes and points.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from adjoint import Tensor
from adjoint.engine.pipeline import fused_parts
from adjoint.engine.roofline import Roofline, measured_again
from adjoint.engine.step_costs import StepCost
from adjoint.ir.kernel_kind import View, is_constant
from adjoint.ir.text import short_type
from adjoint.ir.uop import UOp, toposort
from adjoint.schedule.groups import Fused, nodes_of
from adjoint.training.plot_scales import Scale, tick_text
from adjoint.transforms.lower import lower, wanted_of
from adjoint.transforms.trace import backward_on_trace, trace
from docs.graph_picture import Box, picture

PICTURES = Path(__file__).parent / "pictures"
_INPUT, _FORWARD, _BACKWARD = "#2a8a5c", "#1f6feb", "#c8641b"
_KERNELS = ("#1f6feb", "#c8641b", "#7a4fb5", "#b23a5e", "#8a6d1f", "#2b7a9b")
_MEMORY = "#6b7280"


def loss(x: Any, w: Any) -> Any:
    """What the first two pictures are of."""
    return (x @ w).tanh().sum()


# ---- a gradient


def gradient_picture() -> str:
    """The graph of a loss, and what its gradient adds to it."""
    traced = trace(loss, Tensor.ones(2, 3), Tensor.ones(3, 4))
    grads = backward_on_trace(traced)
    names = dict(zip(traced.input_nodes, traced.labels, strict=True))
    ends = {g.uop: f"d{name}" for g, name in zip(grads, traced.labels, strict=True)}
    nodes = toposort([*traced.output_nodes, *ends], stop=names.__contains__)
    boxes = [_box(n, names, ends) for n in nodes if n in names or _is_shown(n)]
    legend = ((_INPUT, "given"), (_FORWARD, "forward"), (_BACKWARD, "backward"))
    return picture(_linked(boxes), legend)


def _box(node: UOp, names: dict[UOp, str], ends: dict[UOp, str]) -> Box:
    origin = node.origin
    colour = _BACKWARD if origin is not None and origin.backward else _FORWARD
    title = names.get(node) or node.op.name
    about = short_type(node.shape, node.dtype)
    about = f"{ends[node]}: {about}" if node in ends else about
    return Box(node, title, about, _INPUT if node in names else colour, node.src, node in ends)


def _is_shown(node: UOp) -> bool:
    """Constants, and nodes that only say where elements are, tell a reader little."""
    return not is_constant(node) and type(node.op.kernel) is not View


def _linked(boxes: list[Box]) -> list[Box]:
    """Edges between what is shown, through what is not."""
    shown: set[object] = {box.key for box in boxes}

    def below(node: UOp) -> list[UOp]:
        return [node] if node in shown else [n for s in node.src for n in below(s)]

    return [
        replace(b, reads=tuple(dict.fromkeys(n for s in b.reads for n in below(s)))) for b in boxes
    ]


# ---- fusion


def scores(x: Any, w: Any) -> Any:
    """What the picture of fusion is of: a product, a softmax of its rows, sums of columns."""
    return ((x @ w) * 0.125).softmax(-1).sum(0)


def fusion_picture() -> str:
    """Which nodes share a kernel: each in its kernel's colour, what is written with a border."""
    lowered = lower(scores)(Tensor.ones(64, 64), Tensor.ones(64, 64))
    (fused,) = fused_parts(wanted_of(lowered.function), lowered.function.inputs, lowered.backend)
    makers = _makers(fused)
    nodes = toposort(fused.graph.roots)
    boxes = [_fused_box(node, makers, fused) for node in nodes if _is_shown(node)]
    legend = [(_MEMORY, "in memory")]
    legend += [(_KERNELS[i], f"step {i + 1}: {w.kind}") for i, w in enumerate(fused.work)]
    return picture(_linked(boxes), legend)


def _makers(fused: Fused) -> dict[UOp, int]:
    """Which piece of work computes a node; the first, of several."""
    found: dict[UOp, int] = {}
    for number, work in enumerate(fused.work):
        inside = work.nodes
        if work.group is not None:
            given = set(work.group.inputs)
            inside = tuple(n for n in nodes_of(work.group) if n not in given)
        for node in inside:
            found.setdefault(node, number)
    return found


def _fused_box(node: UOp, makers: dict[UOp, int], fused: Fused) -> Box:
    written = any(node in work.nodes for work in fused.work)
    colour = _KERNELS[makers[node]] if node in makers else _MEMORY
    title = getattr(node.arg, "name", None) if node.op.name == "input" else node.op.name
    return Box(node, str(title), short_type(node.shape, node.dtype), colour, node.src, written)


# ---- a roofline

_WIDTH, _HEIGHT, _LEFT, _TOP, _EDGE = 640, 380, 62, 16, 44


def roofline_picture(rows: list[StepCost], roof: Roofline) -> str:
    """Steps as points: operations to a byte, and how many of them a second; the roof above."""
    shown = [r for r in rows if r.seconds and r.flops and r.bytes]
    across = Scale(0.05, 200.0, _LEFT, _WIDTH - 16, log=True)
    rates = [r.flops / (r.seconds or 1.0) for r in shown]
    up = Scale(min([*rates, 1e8]) / 2, roof.float32 * 2, _HEIGHT - _EDGE, _TOP, log=True)
    parts = [*_frame(across, up), _roof(roof, across, up)]
    for place, (row, rate) in enumerate(zip(shown, rates, strict=True)):
        parts += _point(row, rate, across, up, _KERNELS[place % len(_KERNELS)])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif" font-size="12">\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _text(x: float, y: float, words: str, anchor: str = "middle", colour: str = "#8a8f98") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


def _frame(across: Scale, up: Scale) -> list[str]:
    bottom = _HEIGHT - _EDGE
    lines = [_text(across(x), bottom + 16, tick_text(x)) for x in across.ticks()]
    lines += [_text(_LEFT - 6, up(y) + 4, tick_text(y / 1e9), "end") for y in up.ticks()]
    lines.append(_text((_LEFT + _WIDTH) / 2, _HEIGHT - 8, "operations to a byte"))
    lines.append(_text(_LEFT, _TOP - 2, "GFLOP/s", "end"))
    lines.append(f'<path d="M{_LEFT} {_TOP}V{bottom}H{_WIDTH - 16}" fill="none" stroke="#8a8f98"/>')
    return lines


def _roof(roof: Roofline, across: Scale, up: Scale) -> str:
    first, corner = max(0.05, up.low / roof.bytes), roof.float32 / roof.bytes
    points = [(first, first * roof.bytes), (corner, roof.float32), (200.0, roof.float32)]
    path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="#8a8f98" stroke-width="2.5"/>'


def _point(row: StepCost, rate: float, across: Scale, up: Scale, colour: str) -> list[str]:
    x = across(min(max(row.flops / row.bytes, across.low), across.high))
    share = f"{100 * (row.share or 0):.0f} %"
    name = str(row.step).partition("(")[0].replace("<", "").replace("&", "")
    left = x > 0.65 * _WIDTH
    place = (x - 10, "end") if left else (x + 10, "start")
    label = _text(place[0], up(rate) + 18, f"{name.strip()} · {share}", place[1], colour)
    return [f'<circle cx="{x:.1f}" cy="{up(rate):.1f}" r="6" fill="{colour}"/>', label]


def measured() -> str:
    """The roofline of this machine, with the steps of a layer both ways."""
    w, x = Tensor.rand(512, 256).realize(), Tensor.rand(32768, 512).realize()  # no cache holds x
    lowered = lower(layer)(x, w)
    roof = measured_again(lowered.backend)
    rows = lowered.costs(lowered.seconds(budget=1.0))
    return roofline_picture(rows, roof)


def layer(x: Any, w: Any) -> Any:
    """A product, its activation, its rows normalised; a long sum."""
    y = (x @ w).gelu().layernorm()
    return y, (x * x).sum(), x.exp().tanh().sin()


def build() -> None:
    """Write the pictures that are the same everywhere; with `--measure` the roofline of this
    machine."""
    PICTURES.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (PICTURES / name).write_text(text, encoding="utf-8")
    if "--measure" in sys.argv:
        (PICTURES / "roofline.svg").write_text(measured(), encoding="utf-8")
    print(f"pictures of guides in {PICTURES.name}/")


def pictures() -> dict[str, str]:
    """Those that are the same everywhere, by the names of their files."""
    return {"gradient.svg": gradient_picture(), "fusion.svg": fusion_picture()}


if __name__ == "__main__":
    build()
