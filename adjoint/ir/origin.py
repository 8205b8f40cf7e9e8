"""Where a node comes from: the user's method, file and line, and whether a gradient made it.

An origin lives beside a node and never in its key. Capturing one must cost well under a
microsecond, so only the code object and the instruction offset are kept; the line is worked out
for an error, a profile or a printed graph.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import TYPE_CHECKING, Any

from adjoint import config
from adjoint.ir.kernel_kind import CONSTANT

if TYPE_CHECKING:
    from adjoint.ir.uop import UOp


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """An origin as it is stored: one object per place in the user's code, shared by its nodes."""

    method: str
    code: CodeType
    offset: int
    forward: Site | None = None  # of the place's backward half: the other one
    backward: Site = field(init=False)  # of a forward place: what its gradient's nodes get

    def __post_init__(self) -> None:
        other = Site(self.method, self.code, self.offset, self) if self.forward is None else self
        object.__setattr__(self, "backward", other)


LOADED = time.time_ns()  # when this package was: files that change later are not what runs
PACKAGE = str(Path(__file__).resolve().parent.parent) + os.sep
_EXAMPLES = PACKAGE + "examples" + os.sep  # programs of users, that happen to be shipped
_RUNNER = "<frozen runpy>"  # which runs programs for us
_places: dict[tuple[str, int, int], Site] = {}  # with the id of the code, whose hash is slow
_MOST_PLACES = 1 << 16  # code that is made and run again and again must not fill the memory
_inside: dict[str, bool] = {}  # by file: the hash of a string is kept, that of code is not
_override: ContextVar[ScopePlace | None] = ContextVar("origin", default=None)
_enabled = config.ORIGINS.value()


@dataclass(slots=True)
class ScopePlace:
    """The origin that nodes get inside a scope. A pass updates it as it goes from node to node,
    which is cheaper than a scope for each; None means that the user's frame is searched.
    """

    raw: Site | None

    def follow(self, raw: Site | None) -> None:
        """Nodes built next belong to the gradient of nodes with that origin."""
        self.raw = raw if raw is None else raw.backward


@dataclass(frozen=True, slots=True)
class Origin:
    """A readable origin."""

    method: str
    path: str
    line: int
    backward: bool

    @property
    def file(self) -> str:
        return Path(self.path).name

    def __str__(self) -> str:
        mark = ", backward" if self.backward else ""
        return f"{self.method} at {self.file}:{self.line}{mark}"


scope_place = _override.get  # by itself, because it is asked for every node


def capture() -> Site | None:
    """The raw origin of the node that the caller is about to build."""
    place = scope_place()
    return user_place() if place is None or place.raw is None else place.raw


def user_place() -> Site | None:
    """The innermost frame outside this package, seen from a caller that a frame inside called.

    Python creates an object for a frame only if code looks at it, so the two innermost frames,
    known to be inside, are skipped; the name of the second is read only if needed.
    """
    if not _enabled:
        return None
    try:
        frame: FrameType | None = sys._getframe(3)
    except ValueError:  # the stack begins inside: a thread was started on a function of ours
        return None
    method = ""
    while frame is not None:
        code = frame.f_code
        inside = _inside.get(code.co_filename)
        if inside is None:
            inside = _inside[code.co_filename] = _is_inside(code.co_filename)
        if not inside:
            method = method or sys._getframe(2).f_code.co_name
            key = (method, frame.f_lasti, id(code))  # the code lives as long as the entry
            return _places.get(key) or _place(key, code)
        method = code.co_name
        frame = frame.f_back
    return None


def _is_inside(file: str) -> bool:
    return file == _RUNNER or (file.startswith(PACKAGE) and not file.startswith(_EXAMPLES))


def _place(key: tuple[str, int, int], code: CodeType) -> Site:
    if len(_places) >= _MOST_PLACES:
        _places.clear()
    found = _places[key] = Site(key[0], code, key[1])
    return found


class _Apart(dict[tuple[str, int, int], Site]):
    """A table of sites that finds none again, and reports each new one."""

    def __init__(self, made: Callable[[Site], None]):
        super().__init__()
        self._made = made

    def get(self, key: Any, default: Any = None) -> Any:
        return None

    def __setitem__(self, key: tuple[str, int, int], place: Site) -> None:
        self._made(place)


@contextmanager
def places_apart(made: Callable[[Site], None]) -> Iterator[None]:
    """Every node that is built inside, by any thread, gets a site of its own, and so do the nodes
    of its gradient, so that a viewer of the graph can tell which belong together. `made` is called
    with each site.
    """
    global _places
    before, _places = _places, _Apart(made)
    try:
        yield
    finally:
        _places = before


def resolve(raw: Site | None) -> Origin | None:
    """The readable form of a raw origin."""
    if raw is None:
        return None
    line = _line(raw.code, raw.offset)
    return Origin(raw.method.strip("_"), raw.code.co_filename, line, raw is raw.backward)


def _line(code: CodeType, offset: int) -> int:
    for start, stop, line in code.co_lines():
        if start <= offset < stop and line is not None:
            return line
    return code.co_firstlineno


def readable(places: Iterable[Site | None]) -> list[str]:
    """`sum at train.py:41` for every place, each once."""
    found = (resolve(place) for place in dict.fromkeys(places))
    return list(dict.fromkeys(str(origin) for origin in found if origin is not None))


def places_of(outputs: Iterable[UOp], inputs: Iterable[UOp]) -> tuple[Site, ...]:
    """Where the nodes between inputs and outputs come from, each place once, sources first."""
    ends, places = set(inputs), dict[Site, None]()
    seen: set[UOp] = set()
    stack: list[tuple[UOp, bool]] = [(node, False) for node in outputs][::-1]
    while stack:
        node, done = stack.pop()
        if done:
            if node.raw_origin is not None and node.op.kernel is not CONSTANT:
                places[node.raw_origin] = None
        elif node not in seen and node not in ends:
            seen.add(node)
            stack.append((node, True))
            stack += [(s, False) for s in reversed(node.src)]
    return tuple(places)


def enter_origin(raw: Site | None) -> Token[ScopePlace | None]:
    """Nodes built from here on get this origin, until `leave_origin` is given the token."""
    return _override.set(ScopePlace(raw))


def leave_origin(token: Token[ScopePlace | None]) -> None:
    """Restores the origins from before `enter_origin`."""
    _override.reset(token)


@contextmanager
def origin_scope(raw: Site | None, backward: bool = False) -> Iterator[ScopePlace]:
    """Nodes built inside get this origin: expansions and gradients keep the user's line."""
    place = ScopePlace(raw)
    if backward:
        place.follow(raw)
    token = _override.set(place)
    try:
        yield place
    finally:
        _override.reset(token)


def renamed(fn: Any, name: str, qualname: str = "") -> FunctionType:
    """The function under another name, which is what its frames, and so origins, show."""
    code = fn.__code__.replace(co_name=name, co_qualname=qualname or name)
    return FunctionType(code, fn.__globals__, name, fn.__defaults__, fn.__closure__)
