"""Writes `docs/gallery.md` and its curves by training every example. Run by `make gallery`.

The curves are what the logs of the runs have; nothing is drawn by hand.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
from pathlib import Path

from adjoint.training import read_run
from adjoint.training.plot_svg import svg
from adjoint.training.runs import Run

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "adjoint" / "examples"
PAGE, PICTURES = ROOT / "docs" / "gallery.md", ROOT / "docs" / "gallery"
_LEFT_OUT = ("demo",)  # trains digits_cnn
_BESIDE = ("weight norm", "gradient norm", "learning rate", "steps per second")
_HEAD = """\
# Gallery

Whole programs of under 80 lines that come with Adjoint, each with the curve of a run:
`adjoint train NAME` runs one, `--watch` follows it on a page, `adjoint view NAME` looks inside.
Below each is the last line that it printed.
"""


def names() -> list[str]:
    """The examples, by their names."""
    files = sorted(EXAMPLES.glob("[!_]*.py"))
    return [file.stem for file in files if file.stem not in _LEFT_OUT]


def about(name: str) -> str:
    """The first line of an example's docstring."""
    text = ast.get_docstring(ast.parse((EXAMPLES / f"{name}.py").read_text("utf-8"))) or ""
    return text.partition("\n")[0]


def train(name: str) -> tuple[list[Run], str]:
    """The runs of an example, and the last line that it prints."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "adjoint", "train", name, "--quiet", "--runs", "runs"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        runs = [read_run(path) for path in sorted(Path(folder).glob("runs/*"))]
    lines = [line for line in done.stdout.splitlines() if line and not line.startswith("outputs:")]
    return runs, (lines or [""])[-1]


def curves(runs: list[Run]) -> dict[str, list[tuple[float, float]]]:
    """What the program reported; several runs by their names."""
    found = {}
    for run in runs:
        for name, points in run.curves.items():
            if name.startswith("memory of ") or name in _BESIDE:
                continue
            title = name if len(runs) == 1 else f"{run.name} {name}"
            found[title] = [(float(step), value) for step, _, value in points]
    return found


def section(name: str, last: str, pictured: bool) -> str:
    """What the page says of an example."""
    parts = [f"## {name}", about(name)]
    if pictured:
        parts.append(f"![the curves of {name}](gallery/{name}.svg)")
    if last:
        parts.append(f"```text\n{last}\n```")
    file = f"adjoint/examples/{name}.py"
    parts.append(f"`adjoint train {name}` · [{file}](../{file})")
    return "\n\n".join(parts)


def build() -> None:
    """Train them all, which takes minutes; write the page and the pictures."""
    PICTURES.mkdir(exist_ok=True)
    parts = []
    for name in names():
        runs, last = train(name)
        drawn = curves(runs)
        if drawn:
            text = svg(drawn, name)
            (PICTURES / f"{name}.svg").write_text(text, encoding="utf-8")
        parts.append(section(name, last, bool(drawn)))
        print(name, last)
    PAGE.write_text("\n".join([_HEAD, "\n\n".join(parts) + "\n"]), encoding="utf-8")


if __name__ == "__main__":
    build()
