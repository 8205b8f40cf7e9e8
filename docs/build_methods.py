"""Writes the methods of `Tensor` and the functions of the namespace from the records.

`make docs` runs it. Three files of `adjoint/tensor/` come from here, and are what runs:
`_methods.py` (operators, and a method per record), `_twins.py` (methods in place) and
`_functions.py` (what the array API standard does not name). What is written by hand in another
class of `Tensor` stays so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from adjoint import Tensor
from adjoint.ir.opdef import OpDef
from adjoint.ir.uop import _functions
from adjoint.tensor import array_api
from adjoint.tensor.in_place import has_twin
from docs.method_source import WIDTH, Method, indented, method_of, typed_dicts
from docs.method_types import CONVERSIONS, OPERATORS

HOME = Path(__file__).parent.parent / "adjoint" / "tensor"
_GENERATED = {f"adjoint.tensor.{name}" for name in ("_methods", "_twins")}
_MADE = """

Written by `make docs` from the records: change those, or docs/build_methods.py.
\"\"\"\
"""
_METHODS = f'''"""The methods that the records give `Tensor`.{_MADE}'''
_TWINS = f'''"""Methods in place: a new value for a tensor and its views.{_MADE}'''
_FUNCTIONS = f'''"""The records as functions: `adjoint.softmax(x)`.{_MADE}'''
_TYPES = "Axes Axis Bounds DTypeLike Extents Number Operand Padding Sizes"
_RUNNING = {  # what a file may need when it runs, in the order of imports
    "collections.abc": "Sequence",
    "typing": "TYPE_CHECKING Any Literal Self TypedDict Unpack overload",
    "adjoint.ir.dtype": "dtypes",
    "adjoint.runtime.device": "Device",
    "adjoint.tensor._methods": "Methods",
    "adjoint.tensor.aliases": "Aliases",
    "adjoint.tensor.in_place": "InPlace",
    "adjoint.tensor.lift": "checked_functions checked_methods lift",
    "adjoint.tensor.protocols": "Protocols",
    "adjoint.tensor.tensor": "Tensor",
    "adjoint.tensor.views": "writing",
}


def _file(text: str, body: str, running: str, names: Iterable[str] = ()) -> str:
    """The body under its docstring and the imports that it needs: `running` when it runs."""
    checking = {
        "adjoint.ops.composite.sort_select": "Picked",
        "adjoint.tensor._methods": " ".join(sorted(names)),
        "adjoint.tensor.tensor": "Tensor",
        "adjoint.tensor.types": _TYPES,
    }
    first = _imports(_RUNNING, f"{body} TYPE_CHECKING", set(running.split()), "")
    later = _imports(checking, body, set(" ".join(checking.values()).split()), "    ")
    if "from adjoint.tensor.tensor import Tensor" in first:
        later = later.replace("    from adjoint.tensor.tensor import Tensor\n", "")
    head = f"{text}\n\nfrom __future__ import annotations\n\n{first}\nif TYPE_CHECKING:\n{later}"
    return f"{head}\n{body}"


def _imports(table: dict[str, str], body: str, wanted: set[str], indent: str) -> str:
    lines = ""
    for module, names in table.items():
        used = [n for n in names.split() if n in wanted and re.search(rf"\b{n}\b", body)]
        if used:
            own = module.startswith("adjoint") and not indent
            gap = "\n" if own and lines and "adjoint" not in lines else ""
            lines += gap + indent + _import(module, used, len(indent)) + "\n"
    return lines


def _import(module: str, names: list[str], depth: int) -> str:
    one = f"from {module} import {', '.join(names)}"
    if len(one) + depth <= WIDTH:
        return one
    listed = "".join(f"{' ' * (depth + 4)}{name},\n" for name in names)
    return f"from {module} import (\n{listed}{' ' * depth})"


def _public() -> dict[str, OpDef]:
    """Every name by which a record can be called."""
    return {
        name: record
        for name, record in sorted(_functions.items())
        if isinstance(record, OpDef) and record.public
    }


def written() -> set[str]:
    """The names that a class of `Tensor` has written by hand."""
    own = [cls for cls in Tensor.__mro__[:-1] if cls.__module__ not in _GENERATED]
    return {name for cls in own for name in vars(cls)}


def methods() -> dict[str, Method]:
    """A method for every name that is not written by hand."""
    hand = written()
    return {n: method_of(n, record) for n, record in _public().items() if n not in hand}


def methods_file() -> str:
    """The text of `_methods.py`."""
    made = methods()
    plain = [m for name, m in made.items() if name not in CONVERSIONS]
    named = [m for name, m in made.items() if name in CONVERSIONS]
    parts = [
        "\n" + typed_dicts(list(made.values())),
        "@checked_methods\nclass Conversions:\n"
        '    """Methods with the names of types, which annotations nearby could not name."""\n\n'
        f"    __slots__ = ()\n\n{_bodies(named)}",
        "@checked_methods\nclass Methods(Conversions):\n"
        '    """Operators, and a method for every name of a record."""\n\n'
        f"    __slots__ = ()\n\n{_operators()}\n\n{_bodies(plain)}",
    ]
    running = "Sequence TYPE_CHECKING Any Literal TypedDict Unpack overload Device dtypes lift"
    return _file(_METHODS, "\n\n".join(parts), f"{running} checked_methods")


def _bodies(made: list[Method]) -> str:
    return indented("\n".join(m.as_method() for m in made))


def _operators() -> str:
    """Python's operators, in the order of the table."""
    lines: list[str] = []
    for name, op in OPERATORS.items():
        if op in ("neg", "bitwise_not", "abs"):
            lines += [f"def __{name}__(self) -> Tensor:", f'    return lift.one("{op}", self)', ""]
            continue
        swapped = name in ("gt", "ge")
        order = "other, self" if swapped else "self, other"
        lines += [f"def __{name}__(self, other: Operand) -> Tensor:"]
        lines += [f'    return lift.two("{op}", {order})', ""]
        if name not in ("lt", "le", "gt", "ge"):
            lines += [f"def __r{name}__(self, other: Operand) -> Tensor:"]
            lines += [f'    return lift.two("{op}", other, self)', ""]
    return indented("\n".join(lines).rstrip())


def twins_file() -> str:
    """The text of `_twins.py`."""
    hand = written()
    made = methods()
    known = made.keys() | hand
    names = [n for n in _public() if n in known and f"{n}_" not in hand and has_twin(n)]
    both = [made.get(n) or method_of(n, _functions[n], getattr(Tensor, n)) for n in names]
    used = sorted({m.names.title for m in both if m.names})
    updates: list[str] = []
    for name, op in OPERATORS.items():
        if name not in ("lt", "le", "gt", "ge", "neg", "invert", "abs"):
            updates += [f"def __i{name}__(self, other: Operand) -> Tensor:"]
            updates += ["    with writing:"]
            updates += [f'        return self._update(lift.two("{op}", self, other))', ""]
    body = "\n".join([*updates, *(m.as_twin() for m in both)])
    text = (
        "\n@checked_methods\nclass Twins(Methods, InPlace, Aliases, Protocols):\n"
        '    """`x += y`, and `name_` for methods whose result fits the tensor."""\n\n'
        f"    __slots__ = ()\n\n{indented(body)}"
    )
    running = "Sequence TYPE_CHECKING Any Self Unpack Methods Aliases InPlace Protocols lift"
    return _file(_TWINS, text, f"{running} writing checked_methods", used)


def functions_file() -> str:
    """The text of `_functions.py`."""
    standard, hand = set(array_api.STANDARD), written()
    made = []
    for name, record in _public().items():
        if name not in standard and name not in CONVERSIONS - {"complex"}:
            method = getattr(Tensor, name) if name in hand else None
            made.append(method_of(name, record, method))
    used = sorted({m.names.title for m in made if m.names})
    names = "\n".join(f'    "{m.name}",' for m in made)
    bodies = "\n\n".join(m.as_function() for m in made)
    end = "checked_functions(globals(), __all__)\n"
    body = f"__all__ = [\n{names}\n]\n\n\n{bodies}\n\n{end}"
    running = "Sequence TYPE_CHECKING Any Literal Unpack overload Device dtypes lift Tensor"
    return _file(_FUNCTIONS, body, f"{running} checked_functions", used)


FILES = {
    "_methods.py": methods_file,
    "_twins.py": twins_file,
    "_functions.py": functions_file,
}


def build() -> None:
    """Write the files."""
    texts = {name: text() for name, text in FILES.items()}
    for name, text in texts.items():
        (HOME / name).write_text(text, encoding="utf-8")
    print(f"{len(methods())} methods in {', '.join(FILES)}")


if __name__ == "__main__":
    build()
