"""What the bytecode of a function shows: the names it reads, the modules it imports.

What may live here: reading code objects. What may not: looking anything up.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL", "DELETE_GLOBAL")
_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR")
_VARIABLE = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF", "STORE_DEREF")
_NUMBER = ("LOAD_CONST", "LOAD_SMALL_INT")
Chain = tuple[str, ...]


class Reads(NamedTuple):
    """Names in a piece of code; a function written inside another is a piece of its own."""

    code: CodeType
    chains: tuple[Chain, ...]  # a global, then attribute after attribute: ("np", "random", "rand")
    names: frozenset[str]  # all: globals, attributes, variables of closures, strings that may be
    imports: tuple[tuple[int, str], ...]  # (level, module) of import statements


@functools.lru_cache(maxsize=4096)
def reads_of(code: CodeType) -> tuple[Reads, ...]:
    """What the code reads, and the functions written inside it; in the order of the code."""
    return tuple(map(_reads, _parts(code)))


def _reads(code: CodeType) -> Reads:
    variables = {s.argval for s in dis.get_instructions(code) if s.opname in _VARIABLE}
    names = frozenset({*code.co_names, *variables, *_identifiers(code.co_consts)})
    return Reads(code, tuple(dict.fromkeys(_chains(code))), names, tuple(_imports(code)))


def _parts(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts(constant)


def _chains(code: CodeType) -> Iterator[Chain]:
    chain: Chain = ()
    for step in dis.get_instructions(code):
        if step.opname in _GLOBAL:
            yield chain
            chain = (step.argval,)
        elif step.opname in _ATTRIBUTE and chain:
            chain = (*chain, step.argval)
        elif step.opname != "EXTENDED_ARG":
            yield chain
            chain = ()


def _imports(code: CodeType) -> Iterator[tuple[int, str]]:
    level = 0  # the last number loaded before the import is how many packages it goes up
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            yield level, step.argval
        elif step.opname in _NUMBER and type(step.argval) is int:
            level = step.argval


def _identifiers(constants: tuple[object, ...]) -> Iterator[str]:
    """Strings that may be names, as in `getattr(o, "name")`; also inside constant tuples."""
    for constant in constants:
        if isinstance(constant, str):
            yield from (word for word in constant.split(".") if word.isidentifier())
        elif isinstance(constant, (tuple, frozenset)):
            yield from _identifiers(tuple(constant))
