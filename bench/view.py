"""How fast is a page of 10,000 nodes in a browser: `python -m bench.view`.

Graphs of several shapes, each folded as it begins and with everything unfolded: a chain, many
branches that are joined, random operands, layers of a model. Asked: milliseconds to the first paint
with the graph drawn, from frame to frame while it is moved at several scales, to a search, to hover
and to the next fold. Needs Chromium with chromedriver; the least of some tries counts, so that a
busy machine matters little.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from adjoint import Tensor, nn
from adjoint.viz.subject import of_function, of_tensor
from adjoint.viz.view import View
from tests.support.browser import MISSING, Browser

RESULTS = Path(__file__).parent / "results" / "view.md"
NODES = 10_000
TRIES = 3
SCALES = (0.02, 0.1, 0.4, 1.0)
PAINT, FRAME = 2000.0, 50.0  # milliseconds
READY = "const p = window.viewer && viewer.pages[0]; return p && p.view && p.view.boxes.length"
PAINTED = """
  const p = performance.getEntriesByName('first-contentful-paint')[0];
  return p && viewer.pages[0].drawnAt && Math.max(p.startTime, viewer.pages[0].drawnAt)"""
PAN = """
  const v = viewer.pages[0].view, stamps = window.stamps = [];
  v.fit(); v.scale = arguments[0]; v.moving = true;
  const go = (now) => {
    stamps.push(now); v.x -= 40; v.y += 3; v.draw();
    if (stamps.length < 16) requestAnimationFrame(go);
  };
  requestAnimationFrame(go);"""
SEARCH = """
  const p = viewer.pages[0], begun = performance.now();
  p.search.value = 'add'; p.searched();
  return performance.now() - begun"""
HOVER = """
  const p = viewer.pages[0], begun = performance.now();
  p.hovered(p.view.boxes[0]); p.view.draw();
  return performance.now() - begun"""
UNFOLD = """
  const p = viewer.pages[0], begun = performance.now();
  p.model.fold = 'none'; p.drawn(true);
  return performance.now() - begun"""


def chain() -> View:
    """One node after another, by two lines."""
    x = y = Tensor.ones(3).realize()
    for i in range(NODES // 3):
        y = (y + x) * float(i + 2)
    return _of(y)


def branches() -> View:
    """A hundred chains, joined at the end."""
    x = Tensor.ones(3).realize()
    ends = []
    for branch in range(100):
        y = x * float(branch + 2)
        for i in range(NODES // 200):
            y = (y + x) * float(i + 2)
        ends.append(y)
    return _of(sum(ends[1:], ends[0]))


def fan() -> View:
    """All from one, all into one."""
    x = Tensor.ones(3).realize()
    return _of(Tensor.stack([x * float(i + 2) for i in range(NODES // 3)]).sum())


def random_operands() -> View:
    """Each node of two that came before, anywhere."""
    dice = random.Random(0)
    nodes = [Tensor.ones(3).realize()]
    for i in range(NODES // 2):
        nodes.append(dice.choice(nodes[-500:]) + dice.choice(nodes) * float(i + 2))
    return _of(Tensor.stack(nodes).sum())


def layers() -> View:
    """A step of training of a model of many layers."""
    model = nn.Sequential(*(nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(220)))
    optimizer = nn.optim.Adam(model.parameters())

    def step(x: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        return loss

    return View([of_function(step, (Tensor.ones(2, 4),), {})], "layers", compile=False)


def _of(tensor: Tensor) -> View:
    return View([of_tensor(tensor)], "tensor", compile=False)


def frames(page: Browser, scale: float) -> float:
    """The median of milliseconds from frame to frame while the drawing is moved."""
    page.run(PAN, scale)
    stamps = page.wait("return stamps.length === 16 && stamps", 60)
    return median(b - a for a, b in pairwise(stamps))


def least(ask: Callable[[], float]) -> float:
    """Of some tries."""
    return min(ask() for _ in range(TRIES))


def measured(page: Browser, path: Path) -> dict[str, float]:
    """All questions about one page."""

    def painted() -> float:
        page.open(path.as_uri())
        page.wait(READY, 60)
        return float(page.wait(PAINTED, 60))

    found = {"paint": least(painted)}
    found["folded frame"] = max(least(lambda s=s: frames(page, s)) for s in SCALES)
    found["unfold"] = page.run(UNFOLD)
    page.wait("return viewer.pages[0].view.boxes.length > 2000", 60)
    found["boxes"] = page.run("return viewer.pages[0].view.boxes.length")
    found["frame"] = max(least(lambda s=s: frames(page, s)) for s in SCALES)
    found["search"] = least(lambda: page.run(SEARCH))
    found["hover"] = least(lambda: page.run(HOVER))
    return found


def row_of(page: Browser, make: Callable[[], View]) -> tuple[str, bool]:
    """The row of a shape, and whether the bars are kept."""
    view = make()
    with tempfile.TemporaryDirectory() as folder:
        path = view.save(Path(folder) / "page.html")
        row: dict[str, Any] = measured(page, path)
        size = path.stat().st_size / 1e6
    nodes = len(view.data["graphs"][0]["graph"]["order"])
    kept = row["paint"] <= PAINT and max(row["folded frame"], row["frame"]) <= FRAME
    text = (
        f"| {make.__name__} | {nodes:,} | {row['boxes']:,.0f} | {size:.1f} | {row['paint']:.0f} | "
        f"{row['folded frame']:.1f} | {row['unfold']:.0f} | {row['frame']:.1f} | "
        f"{row['search']:.1f} | {row['hover']:.1f} |"
    )
    return text, kept


def main() -> int:
    """Write and print a row for each shape; 1 if a bar is missed."""
    if MISSING:
        print(MISSING)
        return 1
    page = Browser()
    try:
        rows = [row_of(page, m) for m in (chain, branches, fan, random_operands, layers)]
    finally:
        page.close()
    text = "\n".join([*_head(), *(row for row, _ in rows)]) + "\n"
    RESULTS.write_text(text, encoding="utf-8")
    print(text)
    return 0 if all(kept for _, kept in rows) else 1


def _head() -> list[str]:
    return [
        "# Pages of ten thousand nodes in a browser",
        "",
        f"Milliseconds, the least of {TRIES} tries, in Chromium without a window or a GPU. "
        f"`python -m bench.view`, {time.strftime('%Y-%m-%d')}.",
        "",
        "| graph | nodes | boxes | MB | first paint | folded: a frame | unfold | a frame | search "
        "| hover |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]


if __name__ == "__main__":
    sys.exit(main())
