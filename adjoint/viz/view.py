"""`view`: a tensor, function, trace or module as a page for a browser.

What may live here: the entry point. What may not: the contents of a page (`graph.py`), how it is
drawn (`page.py`, `static/`).
"""

from __future__ import annotations

import json
import os
import tempfile
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from adjoint.debug import profile
from adjoint.display import Displayed, in_notebook
from adjoint.errors import ArgumentError, FileError
from adjoint.module import Module as CoreModule
from adjoint.module import parse
from adjoint.nn import Module
from adjoint.tensor import Tensor
from adjoint.transforms.jit.jitted import Jitted
from adjoint.transforms.lower import Lowered
from adjoint.transforms.trace import Trace
from adjoint.viz.bounded import TITLE, bounded, cut
from adjoint.viz.checkpoint import name_of, parameters_of, table_of
from adjoint.viz.graph import pages_of
from adjoint.viz.op_facts import op_facts
from adjoint.viz.page import html
from adjoint.viz.picture import dot, svg
from adjoint.viz.subject import (
    Subject,
    for_device,
    of_function,
    of_lowered,
    of_module,
    of_tensor,
    of_trace,
    of_traced,
)
from adjoint.viz.timeline import timeline_of

COMPILED = 4  # graphs of a page that have passes and kernels, the first of them


class View(Displayed):
    """A page: `html()`, `save(path)`, `show()` in a browser, or its data as JSON."""

    def __init__(
        self,
        subjects: Sequence[Subject],
        title: str,
        *,
        compile: bool = True,
        measure: bool = True,
        run: profile | None = None,
        table: dict[str, Any] | None = None,
        docs: str | None = None,
        docs_end: str = "/",
    ):
        self.subjects, self.title = list(subjects), cut(title, TITLE)
        self.run, self.table = run, table
        self._compile, self._measure = compile, measure
        self._docs, self._docs_end = docs, docs_end
        self._data: dict[str, Any] | None = None

    @property
    def data(self) -> dict[str, Any]:
        """All that the page shows, as plain data."""
        if self._data is None:
            graphs = [
                pages_of(subject, self._compile and number < COMPILED, self._measure)
                for number, subject in enumerate(self.subjects)
            ]
            found = {
                "title": self.title,
                "graphs": graphs,
                "run": None if self.run is None else timeline_of(self.run),
                "ops": _ops(graphs),
                "docs": self._docs,
                "docs_end": self._docs_end,
                "table": self.table,
            }
            self._data = bounded(found)
        return self._data

    def json(self) -> str:
        """The data as JSON."""
        return json.dumps(self.data, allow_nan=False)

    def html(self) -> str:
        """The page: one file that needs no network and no other file."""
        return html(self.data, self.title)

    def svg(self) -> str:
        """The first graph as a drawing."""
        return svg(self._first())

    def dot(self) -> str:
        """The first graph for Graphviz."""
        return dot(self._first())

    def _first(self) -> dict[str, Any]:
        if not self.subjects:
            problem = "there is no graph to draw: this is a table"
            raise ArgumentError("E2001", problem, op="view", help="look at a function or a tensor")
        found: dict[str, Any] = bounded(pages_of(self.subjects[0], compile=False, measure=False))
        return found

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page; E9006 if it cannot be written."""
        try:
            Path(path).write_text(self.html(), encoding="utf-8")
        except OSError as error:
            problem = f"cannot write {os.fspath(path)}: {error.strerror}"
            fix = "give a file in a folder that exists and that you may write to"
            raise FileError("E9006", problem, op="view", help=fix) from None
        return Path(path)

    def show(self, browser: bool = True) -> Path:
        """Write the page to a new temporary file, and open it in a browser."""
        path = self.save(Path(tempfile.mkdtemp(prefix="adjoint-view-")) / "view.html")
        if browser:
            self.open(path)
        return path

    @staticmethod
    def open(path: Path) -> None:
        """Open a page in the user's browser, if there is one."""
        webbrowser.open(path.resolve().as_uri())

    def __repr__(self) -> str:
        return f"<View of {self.title}>"


def view(
    x: Any,
    *args: Any,
    path: str | os.PathLike[str] | None = None,
    show: bool | None = None,
    device: str | None = None,
    shape: Any = None,
) -> Any:
    """The viewer: a page with the graph of a tensor, a function for arguments, a jitted function
    (its traces if there are no arguments, the last one first), a trace, a Core module or its file;
    or the table of a model's parameters, or of a checkpoint's; or the timeline of a profile.

    The page is written to `path`, or opened in a browser if there is none, or shown by the notebook
    that runs this; `show=False` does none of it: `.html()`, `.save(path)`, `.json()`. `device`
    shows the program for another device, `"GPU"` even without one. A tensor and sizes are
    `Tensor.view`: the tensor in another shape.
    """
    if shape is not None or (args and _are_sizes(x, args)):
        return (x if isinstance(x, Tensor) else Tensor(x)).view(*args, **_given(shape))
    made = view_of(x, args, device)
    if path is not None:
        made.save(path)
    if show or (show is None and path is None and not in_notebook()):
        made.show()
    return made


def view_of(x: Any, args: Sequence[Any], device: str | None = None) -> View:
    """The page of an object; E2001 if the viewer cannot show it."""
    if isinstance(x, (str, os.PathLike)):
        return _of_file(os.fspath(x), device)
    if isinstance(x, profile):
        return View([], "profile", run=x)
    if isinstance(x, Jitted) and not args and x.kept():
        traces = zip(x.kept(), x.report().kept, strict=True)
        subjects = [for_device(of_kept(*pair), device) for pair in traces]
        return View(subjects[::-1], x.report().name)
    if isinstance(x, Module) and not args:
        return View([], type(x).__name__, table=parameters_of(x))
    subject = for_device(subject_of(x, args, {}), device)
    return View([subject], subject.name)


def of_kept(trace: Any, report: Any) -> Subject:
    """A trace that a jitted function has kept, under the types that it is for."""
    subject = of_trace(trace)
    subject.name = f"{subject.name}({', '.join(report.arguments)})"
    return subject


def of_checkpoint(path: str) -> View:
    """The tensors of a checkpoint as a table."""
    return View([], name_of(path), table=table_of(path))


def _of_file(path: str, device: str | None) -> View:
    if not path.endswith(".core"):
        return of_checkpoint(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise FileError("E9006", f"cannot read {path}: {error}", op="view") from None
    subject = for_device(of_module(parse(text), Path(path).stem), device)
    return View([subject], os.path.basename(path))


def _are_sizes(x: Any, args: Sequence[Any]) -> bool:
    """Whether a call is one of `Tensor.view`."""
    array = isinstance(x, (Tensor, np.ndarray, np.generic, bool, int, float, complex))
    return array and not any(isinstance(a, Tensor) for a in args)


def _given(shape: Any) -> dict[str, Any]:
    return {} if shape is None else {"shape": shape}


def subject_of(x: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Subject:
    """The subject of a page; E2001 for an object without a graph."""
    match x:
        case Tensor():
            return of_tensor(x, *args)
        case Trace():
            return of_traced(x)
        case Lowered():
            return of_lowered(x)
        case CoreModule():
            return of_module(x, "module")
        case Jitted() if not args and not kwargs and x.kept():
            return of_trace(x.kept()[-1])
    if callable(x):
        return of_function(x, args, kwargs)
    problem = f"cannot look into {type(x).__name__}"
    fix = "give a tensor, a function and its arguments, a trace or a Core module"
    raise ArgumentError("E2001", problem, op="view", help=fix)


def _ops(graphs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the records say of every op that occurs."""
    names = sorted({row[0] for graph in graphs for row in graph["nodes"]})
    found = {name: op_facts(name) for name in names}
    return {name: facts for name, facts in found.items() if facts is not None}
