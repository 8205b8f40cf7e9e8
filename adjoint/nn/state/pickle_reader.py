"""A reader of pickles that runs nothing.

It knows the opcodes that hold data. A global is asked for by name, and only a function made for
this purpose is ever called; everything else is an error that names it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adjoint.errors import AdjointError

_ATOMS = (str, int, float, bool, bytes, complex, type(None))
_LONGEST = 1024  # bytes of an integer


class UnreadableError(Exception):
    """What is wrong with a pickle; a coded error once the caller adds the file."""


@dataclass(frozen=True, slots=True)
class GlobalCall:
    """A function that stands for a global; it raises ValueError for arguments it does not know."""

    name: str
    function: Callable[..., Any]


class PickleReader:
    """One pickle. `find` gives what stands for a global, or raises `UnreadableError`; `persistent`
    gives what is kept outside. `position` is where the reader is."""

    def __init__(
        self, data: bytes, find: Callable[[str, str], Any], persistent: Callable[[Any], Any]
    ):
        self._data, self._find, self._persistent = data, find, persistent
        self.position = self._start = 0
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}

    def load(self) -> Any:
        """The value."""
        while True:
            self._start = self.position
            code = self._take(1)[0]
            if code == ord("."):
                return self._pop()
            action = _ACTIONS.get(code)
            if action is None:
                raise UnreadableError(f"opcode {code:#04x} does not occur in files of weights")
            action(self)

    @property
    def opcode_at(self) -> int:
        """Where the opcode begins that is being read."""
        return self._start

    # ---- bytes

    def _take(self, count: int) -> bytes:
        end = self.position + count
        if end > len(self._data):
            raise UnreadableError("the pickle ends in the middle")
        raw = self._data[self.position : end]
        self.position = end
        return raw

    def _number(self, width: int) -> int:
        return int.from_bytes(self._take(width), "little")

    def _line(self) -> str:
        end = self._data.find(b"\n", self.position, self.position + 1000)
        if end < 0:
            raise UnreadableError("a name does not end")
        return _text(self._take(end + 1 - self.position)[:-1])

    # ---- the stack

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _pop(self) -> Any:
        floor = self._marks[-1] if self._marks else 0
        if len(self._stack) <= floor:
            raise UnreadableError("a value is missing on the stack")
        return self._stack.pop()

    def _popped_to_mark(self) -> list[Any]:
        if not self._marks:
            raise UnreadableError("a mark is missing on the stack")
        mark = self._marks.pop()
        items = self._stack[mark:]
        del self._stack[mark:]
        return items

    def _top(self, kind: type) -> Any:
        value = self._pop()
        self._push(value)
        if type(value) is not kind:
            raise UnreadableError(f"a {kind.__name__} is expected, not {type(value).__name__}")
        return value

    # ---- opcodes

    def _mark(self) -> None:
        self._marks.append(len(self._stack))

    def _tuple(self, count: int) -> None:
        items = [self._pop() for _ in range(count)]
        self._push(tuple(items[::-1]))

    def _long(self, width: int) -> None:
        count = self._number(width)
        if count > _LONGEST:
            raise UnreadableError(f"an integer of {count} bytes")
        self._push(int.from_bytes(self._take(count), "little", signed=True))

    def _append(self) -> None:
        item = self._pop()
        self._top(list).append(item)

    def _appends(self) -> None:
        items = self._popped_to_mark()
        self._top(list).extend(items)

    def _set_item(self) -> None:
        value, key = self._pop(), self._pop()
        self._top(dict)[plain_key(key)] = value

    def _set_items(self) -> None:
        items = self._pairs()
        self._top(dict).update(items)

    def _pairs(self) -> dict[Any, Any]:
        items = self._popped_to_mark()
        if len(items) % 2:
            raise UnreadableError("a key has no value")
        return {plain_key(key): value for key, value in zip(items[::2], items[1::2], strict=True)}

    def _add_items(self) -> None:
        items = self._popped_to_mark()
        self._top(set).update(map(plain_key, items))

    def _get(self, width: int) -> None:
        number = self._number(width)
        if number not in self._memo:
            raise UnreadableError(f"value {number} was not remembered")
        self._push(self._memo[number])

    def _put(self, number: int) -> None:
        value = self._pop()
        self._push(value)
        self._memo[number] = value

    def _global(self) -> None:
        module = self._line()
        self._push(self._find(module, self._line()))

    def _stack_global(self) -> None:
        name, module = self._pop(), self._pop()
        if not isinstance(name, str) or not isinstance(module, str):
            raise UnreadableError("the name of a global is no text")
        self._push(self._find(module, name))

    def _reduce(self) -> None:
        args, function = self._pop(), self._pop()
        if not isinstance(function, GlobalCall) or type(args) is not tuple:
            raise UnreadableError(f"{type(function).__name__} is called, which is no function")
        try:
            self._push(function.function(*args))
        except AdjointError:
            raise
        except (TypeError, ValueError, LookupError) as error:
            raise UnreadableError(f"{function.name}: {error}") from None

    def _build(self) -> None:
        """Attributes of a dict (torch notes versions there) carry no values of tensors."""
        self._pop()
        self._top(dict)

    def _persistent_id(self) -> None:
        try:
            self._push(self._persistent(self._pop()))
        except (TypeError, ValueError) as error:
            raise UnreadableError(f"a storage: {error}") from None


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise UnreadableError("a text is not UTF-8") from None


def plain_key(value: Any) -> Any:
    """A value that may be a key: to hash a nested one may take for ever."""
    plain = isinstance(value, _ATOMS)
    if plain or (type(value) is tuple and all(isinstance(item, _ATOMS) for item in value)):
        return value
    raise UnreadableError(f"a {type(value).__name__} is no key of a dict or set")


def _counted(width: int, made: Callable[[bytes], Any]) -> Callable[[PickleReader], None]:
    return lambda r: r._push(made(r._take(r._number(width))))


def _constant(make: Callable[[], Any]) -> Callable[[PickleReader], None]:
    return lambda r: r._push(make())


def _latin(raw: bytes) -> str:
    return raw.decode("latin-1")


_ACTIONS: dict[int, Callable[[PickleReader], Any]] = {
    0x80: lambda r: r._take(1),  # protocol
    0x95: lambda r: r._take(8),  # frame
    ord("("): PickleReader._mark,
    ord("0"): PickleReader._pop,
    ord("1"): PickleReader._popped_to_mark,
    ord("N"): _constant(lambda: None),
    0x88: _constant(lambda: True),
    0x89: _constant(lambda: False),
    ord("}"): _constant(dict),
    ord("]"): _constant(list),
    ord(")"): _constant(tuple),
    0x8F: _constant(set),
    ord("J"): lambda r: r._push(int.from_bytes(r._take(4), "little", signed=True)),
    ord("K"): lambda r: r._push(r._number(1)),
    ord("M"): lambda r: r._push(r._number(2)),
    0x8A: lambda r: r._long(1),
    0x8B: lambda r: r._long(4),
    ord("G"): lambda r: r._push(struct.unpack(">d", r._take(8))[0]),
    ord("X"): _counted(4, _text),
    0x8C: _counted(1, _text),
    0x8D: _counted(8, _text),
    ord("T"): _counted(4, _latin),
    ord("U"): _counted(1, _latin),
    ord("B"): _counted(4, bytes),
    ord("C"): _counted(1, bytes),
    0x8E: _counted(8, bytes),
    ord("t"): lambda r: r._push(tuple(r._popped_to_mark())),
    0x85: lambda r: r._tuple(1),
    0x86: lambda r: r._tuple(2),
    0x87: lambda r: r._tuple(3),
    ord("l"): lambda r: r._push(r._popped_to_mark()),
    0x91: lambda r: r._push(frozenset(map(plain_key, r._popped_to_mark()))),
    ord("a"): PickleReader._append,
    ord("e"): PickleReader._appends,
    ord("s"): PickleReader._set_item,
    ord("u"): PickleReader._set_items,
    0x90: PickleReader._add_items,
    ord("d"): lambda r: r._push(r._pairs()),
    ord("h"): lambda r: r._get(1),
    ord("j"): lambda r: r._get(4),
    ord("q"): lambda r: r._put(r._number(1)),
    ord("r"): lambda r: r._put(r._number(4)),
    0x94: lambda r: r._put(len(r._memo)),
    ord("c"): PickleReader._global,
    0x93: PickleReader._stack_global,
    ord("R"): PickleReader._reduce,
    ord("b"): PickleReader._build,
    ord("Q"): PickleReader._persistent_id,
}
