"""Functions in notebooks: jitted ones, traces, what they are lowered to, Core modules."""

from __future__ import annotations

from adjoint.debug.explaining import Explanation, rows_of
from adjoint.ir.text import short_type
from adjoint.ir.uop import UOp
from adjoint.module import Module
from adjoint.notebook.graphs import picture_of, scrolled
from adjoint.notebook.markup import Markup, block, folded, head, pre, table
from adjoint.transforms.jit.jitted import Jitted
from adjoint.transforms.lower import Lowered
from adjoint.transforms.trace import Trace

_LINES = 400  # of one text; a notebook keeps them all


def jitted_html(jitted: Jitted[..., object]) -> Markup:
    """Its signature, its traces with what each took, and why it was traced again."""
    found = jitted.report()
    parts = [head(f"jit of {found.name}{found.signature} · {found.summary()}")]
    if found.kept:
        rows = [
            (
                ", ".join(trace.arguments) or "()",
                ", ".join(trace.results) or "nothing",
                "" if trace.steps is None else str(trace.steps),
                f"{trace.seconds * 1e3:.1f} ms",
            )
            for trace in found.kept
        ]
        parts.append(table(("arguments", "results", "steps", "traced and compiled"), rows, 2))
    if found.reasons:
        counted = [(why, str(count)) for why, count in found.reasons.items()]
        parts.append(table(("traced again because of", "times"), counted, 1))
    return block(*parts, *_drawn(jitted, "graph of the last trace"))


def _drawn(thing: object, title: str = "picture", shown: bool = False) -> list[Markup]:
    """The drawing of its graph to unfold, if there is one."""
    found = picture_of(thing)
    return [] if found is None else [folded(title, scrolled(found), shown)]


def node_html(node: UOp) -> Markup:
    """A node, and the graph below it."""
    return block(head(repr(node)), *_drawn(node, "graph", shown=True))


def lowered_html(lowered: Lowered) -> Markup:
    """How much there is to do, and the schedule and the kernels to unfold."""
    counts = [(name, f"{amount:,}") for name, amount in lowered.counts.items()]
    kernels = lowered.kernels()
    return block(
        head(repr(lowered).strip("<>")),
        table(("", ""), counts, 1),
        *_drawn(lowered, "graph"),
        folded("schedule", pre(shortened(lowered.schedule()))),
        folded(f"{len(kernels)} kernels", pre(shortened("\n\n".join(kernels)))),
    )


def explanation_html(found: Explanation) -> Markup:
    """Every step with its lines, its time and its share of the roofline; the rest to unfold."""
    first, _, rest = str(found).partition("\n\n")
    titles = ("step", "lines", "by", "time", "roofline")
    cells = [(name, lines, by, time, share) for name, lines, time, share, by in rows_of(found)]
    return block(
        pre(first),
        table(titles, cells[:_LINES], 2),
        folded("what is slow, what was fused and why, copies, traces", pre(shortened(rest))),
    )


def trace_html(trace: Trace) -> Markup:
    """The function with its types; the graph to unfold, a short one open."""
    text = str(trace).partition("\n")[2]
    results = ", ".join(short_type(n.shape, n.dtype) for n in trace.output_nodes)
    title = f"{trace.head()} -> {results} · {len(trace.nodes)} ops"
    drawn = _drawn(trace, shown=True)
    short = len(trace.nodes) <= 30 and not drawn
    return block(head(title), *drawn, folded("graph", pre(shortened(text)), short))


def module_html(module: Module) -> Markup:
    """The text of the module."""
    count = len(module.instructions)
    title = f"Core module · {count} instructions · {len(module.outputs)} outputs"
    text = folded("text", pre(shortened(module.text())), count <= 40)
    return block(head(title), text, *_drawn(module))


def shortened(text: str) -> str:
    """The first and the last lines of a long text."""
    lines = text.split("\n")
    if len(lines) <= _LINES:
        return text
    half = _LINES // 2
    left_out = f"... {len(lines) - 2 * half} more lines ..."
    return "\n".join([*lines[:half], left_out, *lines[-half:]])
