"""Which layer of a model built a node: every node traced here has an origin of its own.

A node keeps its origin through every pass (`ir/origin.py`), so facts recorded about origins during
tracing are also known of the node's kernels. What may live here: recording. What may not: graphs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from adjoint.ir.origin import Site, places_apart
from adjoint.nn import Module
from adjoint.tensor import Tensor

MOST = 300_000  # places whose layer is noted


class Scopes:
    """Layers that were called while looking, and the places that each has made."""

    def __init__(self) -> None:
        self.made: dict[Site, Module] = {}
        self.called: dict[int, Module] = {}
        self._open: list[Module] = []

    def note(self, site: Site) -> None:
        """A node is being built."""
        if self._open and len(self.made) < MOST:
            self.made[site] = self._open[-1]

    @contextmanager
    def entered(self, module: Module) -> Iterator[None]:
        """Nodes built inside are the module's."""
        self.called[id(module)] = module
        self._open.append(module)
        try:
            yield
        finally:
            self._open.pop()

    def paths(self) -> dict[int, str]:
        """The path of every module from the outermost that holds it."""
        found: dict[int, str] = {}
        inner = {
            id(m) for top in self.called.values() for p, m in top.named_modules() if p and m != top
        }
        for number, top in self.called.items():
            if number not in inner:
                name = type(top).__name__
                found |= {id(m): f"{name}.{p}" if p else name for p, m in top.named_modules()}
        return found

    def numbered(self) -> tuple[list[list[str]], dict[Site, int]]:
        """Layers as rows `[path, class]`, and the row of each place."""
        paths, rows, numbers = self.paths(), list[list[str]](), dict[int, int]()
        places = {}
        for site, module in self.made.items():
            if id(module) not in numbers:
                kind = type(module).__name__
                numbers[id(module)] = len(rows)
                rows.append([paths.get(id(module), kind), kind])
            places[site] = numbers[id(module)]
        return rows, places

    def tensor_names(self) -> dict[int, str]:
        """Names of parameters and buffers of the outermost modules, by the tensor's identity."""
        names: dict[int, str] = {}
        for number, path in self.paths().items():
            for name, value in vars(self.called[number]).items() if number in self.called else ():
                if isinstance(value, Tensor):
                    names[id(value)] = f"{path}.{name}"
        return names


@contextmanager
def looking() -> Iterator[Scopes]:
    """Nodes built inside have places of their own, and layers that are called are noted."""
    scopes, plain = Scopes(), Module.__call__

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807 - lines are named by it
        with scopes.entered(self):
            return plain(self, *args, **kwargs)

    with places_apart(scopes.note):
        Module.__call__ = __call__  # type: ignore[method-assign]
        try:
            yield scopes
        finally:
            Module.__call__ = plain  # type: ignore[method-assign]
