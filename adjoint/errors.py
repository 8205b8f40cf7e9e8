"""Every exception of Adjoint, with its stable code.

What may live here: exception classes, the table of codes, and the one function that renders an
error for people. What may not: any check (checks live where the rule is), any import of Adjoint.

A user error names the op, shows the operands (shape, dtype, the user's line), states the rule that
is broken, and helps. `InternalError` alone says that Adjoint is at fault. Every class is also the
one that Python, NumPy and their clients catch: IndexError for axes and indices, ValueError for
options and shapes, TypeError for kinds of values and for scalars without axes, LinAlgError for
matrices.
"""

from __future__ import annotations

import difflib
import linecache
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

CODES: dict[str, str] = {
    "E1001": "text is not UTF-8",
    "E1002": "character not allowed in an identifier",
    "E1003": "unterminated string",
    "E1004": "unknown escape in a string",
    "E1005": "malformed numeric literal",
    "E1006": "unterminated block comment",
    "E2001": "type mismatch",
    "E2002": "undefined variable",
    "E2003": "type cannot be inferred",
    "E2004": "dtypes of the operands differ",
    "E2005": "dtype not allowed for the op",
    "E2006": "value outside the bounds of its type",
    "E2007": "wrong number of operands or arguments",
    "E2008": "value not allowed for an option",
    "E3001": "shapes do not broadcast",
    "E3002": "wrong rank",
    "E3003": "dimensions differ",
    "E3004": "axis out of range",
    "E3005": "duplicate axis",
    "E3006": "dimension not allowed",
    "E3007": "element counts differ",
    "E3008": "not a permutation of the axes",
    "E3009": "squeezed extent is not 1",
    "E3010": "literal does not fit its shape",
    "E4001": "use before definition",
    "E4002": "value defined twice",
    "E4003": "undefined output",
    "E4004": "malformed input declaration",
    "E4005": "malformed constant data",
    "E4006": "wrong number of indices",
    "E4007": "wrong number of slices",
    "E4008": "slice step not allowed",
    "E4009": "convolution channels differ",
    "E4010": "convolution strides not allowed",
    "E4011": "index dtype is not an integer",
    "E4012": "a write cannot reach what is viewed",
    "E5001": "op has no derivative",
    "E5002": "gradient program is invalid",
    "E5003": "axis not allowed in a gradient",
    "E5004": "shape not allowed in a gradient",
    "E5005": "value is not differentiable",
    "E6001": "index out of range",
    "E6002": "device not available",
    "E6003": "op not supported on the device",
    "E6004": "allocation failed",
    "E6005": "overflow",
    "E6006": "NaN or infinity",
    "E6007": "timeout",
    "E6008": "device mismatch",
    "E6009": "memory limit too small",
    "E7001": "malformed mesh",
    "E7002": "axis of the mesh not allowed",
    "E7003": "meshes differ",
    "E7004": "sharding does not fit the value",
    "E7005": "collective outside of a mesh",
    "E7006": "not supported over a mesh",
    "E7007": "no stages to cut a model into",
    "E7008": "microbatches do not fit",
    "E7020": "members call different collectives",
    "E7021": "a member ended",
    "E7022": "a member does not answer",
    "E7023": "arguments do not fit the collective",
    "E7024": "no engine for many processes",
    "E9001": "file is damaged",
    "E9002": "state does not fit",
    "E9003": "data does not fit",
    "E9004": "a worker died",
    "E9005": "training diverged",
    "E9006": "file not found or not readable",
}


WARNINGS: dict[str, str] = {
    "W8001": "a jitted function is traced at every call",
    "W8002": "a jitted function is traced again and again",
    "W8003": "a jitted function changes a container among its arguments",
}


PHASES = {  # by the first digit of the code
    "1": "text",
    "2": "type",
    "3": "shape",
    "4": "verify",
    "5": "autodiff",
    "6": "runtime",
    "7": "sharding",
    "8": "compilation",
    "9": "training",
}


class Span(NamedTuple):
    """A place in a text, both counted from 1."""

    line: int
    column: int


class AdjointError(Exception):
    """Base of every error that Adjoint raises on purpose; other keywords name its operands."""

    code: str
    span: Span | None = None  # where in the text, for errors about texts
    notes: tuple[str, ...] = ()

    def __init__(
        self,
        code: str,
        problem: str,
        *,
        op: str = "",
        operands: Iterable[tuple[str, Any]] = (),
        help: str = "",
        **named: Any,
    ):
        if code not in CODES:
            raise InternalError(f"unknown error code {code}")
        self.code, self.problem, self.op, self.help = code, problem, op, help
        self.operands = tuple(_describe(*pair) for pair in (*operands, *named.items()))
        super().__init__(self._text())

    def _text(self) -> str:
        lines = [f"{self.code}: {self.message}", *_table(self.operands)]
        return "\n".join(lines + ([f"help: {self.help}"] if self.help else []))

    @property
    def message(self) -> str:
        """What is wrong, in one line, without the code."""
        return f"{self.op}: {self.problem}" if self.op else self.problem

    def placed(self, op: str, place: str) -> AdjointError:
        """The same error of an op, with where it comes from; what it says of operands stays."""
        self.op, self.problem = op, self.problem + place
        self.args = (self._text(),)
        return self

    def render(self, file: str = "") -> str:
        """The error as a command line shows it: `error[E3001]: ... --> file:line:col ...`."""
        lines = [f"error[{self.code}]: {self.message}"]
        if self.span is not None:
            lines.append(f"  --> {file or '<text>'}:{self.span.line}:{self.span.column}")
        elif file:
            lines.append(f"  --> {file}")
        lines += [f"  = note: {note}" for note in self.notes]
        return "\n".join(lines + ([f"  = help: {self.help}"] if self.help else []))

    def as_json(self, file: str = "") -> dict[str, Any]:
        """The error as plain data."""
        place = None if self.span is None else {"file": file, **self.span._asdict()}
        return {
            "phase": PHASES.get(self.code[1], "other"),
            "code": self.code,
            "severity": "error",
            "message": self.message,
            "span": place,
            "notes": list(self.notes),
            "help": self.help,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.__dict__.copy(), self.args)


class ShapeError(AdjointError, ValueError):
    """Shapes, ranks, axes or sizes do not fit (E3)."""


class AxisError(ShapeError, IndexError):
    """An axis is out of range or named twice (E3004, E3005)."""


class ScalarError(ShapeError, TypeError):
    """A scalar was asked for its length or parts, or a larger tensor for its one number (E3)."""


class DTypeError(AdjointError, TypeError):
    """A dtype is unknown, differs from another, or is none that the op computes with (E2)."""


class ArgumentError(AdjointError, ValueError, TypeError):
    """The op takes no argument of this kind or value, or another number of them (E2)."""


class IndexKindError(DTypeError, IndexError):
    """What was given as an index cannot be one (E4011)."""


class BoundsError(AdjointError, IndexError):
    """An index is outside its axis (E6001, E4006-E4008)."""


class DeviceError(AdjointError, RuntimeError):
    """A device is unknown, missing, or differs between operands (E6)."""


class VerificationError(AdjointError, ValueError):
    """A graph or a module breaks its own rules (E4)."""


class TextError(AdjointError, ValueError):
    """Text of a graph or module cannot be read (E1, E2)."""


class AutodiffError(AdjointError, RuntimeError):
    """A derivative does not exist or was asked for wrongly (E5)."""

    @property
    def category(self) -> str:
        """UnsupportedOp (of `op`), Verification, InvalidAxis, UnsupportedShape, or
        NotDifferentiable."""
        return AUTODIFF_CATEGORIES.get(self.code, "")


AUTODIFF_CATEGORIES = {
    "E5001": "UnsupportedOp",
    "E5002": "Verification",
    "E5003": "InvalidAxis",
    "E5004": "UnsupportedShape",
    "E5005": "NotDifferentiable",
}


class NumericError(AdjointError, FloatingPointError):
    """A result has a NaN or an infinity, which `debug_nans` looks for (E6006)."""

    def __init__(self, code: str, problem: str, *, notes: Iterable[str] = (), **rest: Any):
        self.notes = tuple(notes)
        super().__init__(code, problem, **rest)

    def _text(self) -> str:
        lines = [f"{self.code}: {self.message}", *_table(self.operands)]
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines + ([f"help: {self.help}"] if self.help else []))


class LinAlgError(NumericError, np.linalg.LinAlgError):
    """A matrix has no such inverse, factor or value (E6006)."""


class MatrixError(ShapeError, np.linalg.LinAlgError):
    """An operand is no matrix, or none of the shape it takes (E3002, E3003)."""


class FileError(AdjointError, ValueError):
    """A file of weights or data is missing, damaged, or does not fit what it is for (E9)."""


class TrainingError(AdjointError, RuntimeError):
    """Training cannot go on: data that do not fit, a worker that died, a loss that is NaN (E9)."""


class CommunicationError(AdjointError, RuntimeError):
    """Members of a group cannot go on together: one ended, is silent, or calls another collective
    (E7020-E7039)."""


class ShardingError(AdjointError, ValueError):
    """A mesh, or how a value is spread over one, does not fit (E7001-E7019)."""


class UnknownNameError(AdjointError, AttributeError):
    """A name that does not exist, with the nearest that does."""


class JitWarning(UserWarning):
    """A jitted function is right, but slower than it could be (W8)."""

    def __init__(self, code: str, problem: str, help: str):
        if code not in WARNINGS:
            raise InternalError(f"unknown warning code {code}")
        self.code, self.problem, self.help = code, problem, help
        super().__init__(f"{code}: {problem}\nhelp: {help}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.problem, self.help)


class InternalError(RuntimeError):
    """Adjoint broke one of its own invariants; please report it."""


_CLASSES: dict[str, type[AdjointError]] = {  # by the code, or by the phase it begins with
    "E1": TextError,
    "E2": ArgumentError,
    "E2004": DTypeError,
    "E2005": DTypeError,
    "E3": ShapeError,
    "E4": VerificationError,
    "E5": AutodiffError,
    "E6": DeviceError,
    "E6001": BoundsError,
}


def class_of(code: str) -> type[AdjointError]:
    """The class of an error about a text, a module or a kernel, which its code decides."""
    return _CLASSES.get(code) or _CLASSES[code[:2]]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean 'softmax'?`, or nothing when no known name is near."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean {near[0]!r}?" if near else ""


def _describe(name: str, value: Any) -> tuple[str, str, str]:
    """(name, type, where it was made) of an operand, whatever kind of value it is."""
    node = getattr(value, "uop", value)
    if not hasattr(node, "dtype") or not hasattr(node, "shape"):
        return name, repr(value), ""
    kind = f"{getattr(node.dtype, 'short', node.dtype)}{list(node.shape)}"
    return name, kind, _place(getattr(node, "origin", None))


def _place(origin: Any) -> str:
    if origin is None:
        return ""
    line = linecache.getline(origin.path, origin.line).strip()
    return f"{origin.file}:{origin.line}   {line}".rstrip()


def _table(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return [f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {c}".rstrip() for a, b, c in rows]


def _rebuild(kind: type[AdjointError], state: dict[str, Any], args: tuple[Any, ...]) -> Any:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    error.args = args
    return error


for _name, _kind in list(globals().items()):
    # Tracebacks then read `adjoint.ShapeError: E3003: ...`, the name users import.
    if isinstance(_kind, type) and issubclass(_kind, Exception):
        _kind.__module__ = "adjoint"
