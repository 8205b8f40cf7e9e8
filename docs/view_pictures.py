"""Pictures of the viewer's pages for docs/viewing.md: `python -m docs.view_pictures`.

Needs Chromium with chromedriver; run it when pages look different, and look at what it wrote. What
may live here: which pages, and what is pressed on them.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import adjoint
from adjoint import Tensor, nn
from adjoint.viz.view import View, view
from docs.build_views import pages
from tests.support.browser import Browser

PICTURES = Path(__file__).parent / "pictures"
SIZE = (1200, 760)
TURN = "[...document.querySelectorAll('nav button')].find((b) => b.textContent === '{}').click()"
HOVER = """
  const v = viewer.page.view, box = v.boxes.find((b) => b.title.startsWith('softmax'));
  v.fit(); viewer.page.hovered(box); v.hovered = box.id;
  viewer.page.clicked(box, {})"""
SENT = "document.querySelectorAll('.panel tr.pick')[5].click()"
RULE = "document.querySelector('.rule').open = true"
PTX = "[...document.querySelectorAll('button')].find((b) => b.textContent === 'ptx').click()"


def trained() -> View:
    """The timeline of some steps of training, with batches from NumPy and losses that are read."""
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = nn.optim.Adam(model.parameters())

    @adjoint.jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = nn.loss.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    rng = np.random.default_rng(0)
    batches = [rng.standard_normal((512, 64)).astype(np.float32) for _ in range(6)]
    labels = rng.integers(0, 10, 512)
    with adjoint.profile():  # the steps apart are made with the first
        step(Tensor(batches[0]), Tensor(labels))
    with adjoint.profile() as run:
        for batch in batches:
            step(Tensor(batch), Tensor(labels)).tolist()
    found: View = view(run, show=False)
    return found


def loss(x: Tensor, w: Tensor) -> Tensor:
    """A function of two lines."""
    y = (x @ w).softmax(-1)
    return (y * y).sum()


def for_a_gpu() -> View:
    """What a GPU would run of its gradient."""
    gradient = adjoint.value_and_grad(loss)
    found: View = view(
        gradient, Tensor.ones(64, 128), Tensor.ones(128, 256), show=False, device="GPU"
    )
    return found


def shots() -> dict[str, tuple[View, list[str]]]:
    """A page for each picture, and the scripts that are run on it."""
    found = dict(pages(("cnn", "sharded_gpt")))
    passes = [TURN.format("Passes"), "viewer.page.go(2)", RULE]
    return {
        "view_graph": (for_a_gpu(), [HOVER]),
        "view_passes": (found["cnn"], passes),
        "view_kernels": (found["cnn"], [TURN.format("Kernels")]),
        "view_run": (trained(), []),
        "view_mesh": (found["sharded_gpt"], [SENT]),
        "view_ptx": (for_a_gpu(), [TURN.format("Kernels"), PTX]),
    }


def take(browser: Any, page: View, scripts: list[str], picture: Path) -> None:
    """Write the page as it looks after the scripts."""
    path = page.save(Path(tempfile.mkdtemp(prefix="adjoint-picture-")) / "page.html")
    browser.open(path.as_uri())
    for script in scripts:
        time.sleep(1.5)  # places come twice
        browser.run(script)
    time.sleep(1.5)
    browser.picture(picture)


def main() -> None:
    """Take all pictures."""
    browser: Any = Browser()
    try:
        browser.sized(*SIZE)
        for name, (page, scripts) in shots().items():
            path = PICTURES / f"{name}.png"
            take(browser, page, scripts, path)
            print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")
    finally:
        browser.close()


if __name__ == "__main__":
    main()
