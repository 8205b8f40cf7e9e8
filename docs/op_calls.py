"""Calls of a record for its page: which sample, under which names, as tensors, nodes or source."""

from __future__ import annotations

import contextlib
import inspect
import io
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import Tensor
from adjoint.ir.dtype import DType, as_dtype, dtypes
from adjoint.ir.opdef import OPS, OpDef, Sample
from adjoint.ir.uop import UOp
from adjoint.runtime.device import Device
from adjoint.tensor.tensor import lift

FIRST_CHOICE = {"f": "float32", "c": "complex64", "i": "int32", "u": "uint64", "b": "bool"}
WIDTH = 100
MANY_ELEMENTS = 12
MOST_ELEMENTS = 24  # a sample up to this size reads well on a page
_USUAL = ("float32", "int32", "bool", "complex64")  # dtypes a list of numbers has by itself
_RENAMED = {"y": "v", "g": "v", "self": "x"}  # y and g are the result and its cotangent


def leaves(value: Any) -> list[Any]:
    """What stands in arguments, lists opened, in order."""
    if isinstance(value, (tuple, list)):
        return [leaf for v in value for leaf in leaves(v)]
    if isinstance(value, dict):
        return [leaf for v in value.values() for leaf in leaves(v)]
    return [value]


def mapped(value: Any, fn: Callable[[Any], Any]) -> Any:
    """The arguments with every array replaced by `fn(array)`."""
    if isinstance(value, (tuple, list)):
        return type(value)([mapped(v, fn) for v in value])
    if isinstance(value, dict):
        return {k: mapped(v, fn) for k, v in value.items()}
    return fn(value) if isinstance(value, np.ndarray) else value


def arrays_of(sample: Sample) -> list[Any]:
    """The arrays of a sample, in the order of its arguments."""
    return [a for a in leaves((sample.args, sample.kwargs)) if isinstance(a, np.ndarray)]


def first_dtype(record: OpDef) -> DType:
    """The dtype a page shows the op with."""
    kind = next((k for k in FIRST_CHOICE if k in record.kinds), "f")
    return as_dtype(FIRST_CHOICE[kind])


def adapted(sample: Sample, dtype: DType) -> Sample:
    """The sample in another dtype; integers beside floats are indices and stay."""
    floating = any(a.dtype.kind == "f" for a in arrays_of(sample))
    cast = lambda a: _cast(a, dtype, floating)  # noqa: E731
    return Sample(mapped(sample.args, cast), mapped(sample.kwargs, cast), sample.smooth)


def _cast(a: Any, dtype: DType, floating: bool) -> Any:
    if a.dtype.kind == "c":
        return rounded(a).astype(np.complex64)
    if floating and a.dtype.kind in "iu":
        return a.astype(np.int32)
    if a.dtype.kind == "b" or a.dtype == np.uint64:
        return a
    if dtype.is_inexact:
        return np.asarray(rounded(a) + (0.5j if dtype.is_complex else 0)).astype(dtype.np)
    whole = np.nan_to_num(a, nan=0, posinf=7, neginf=-7).clip(-100, 100)
    return np.asarray(np.abs(whole) if dtype.kind == "u" else whole).astype(dtype.np)


def rounded(a: Any) -> Any:
    """As few digits as keep distinct elements distinct and none of them 0; one digit of many."""
    if a.dtype.kind not in "fc" or not np.isfinite(a).all():
        return a
    if a.dtype.kind == "c" or a.size > MANY_ELEMENTS:
        return np.asarray(np.round(a, 1))
    for digits in (1, 2, 3):
        short = np.asarray(np.round(a, digits))
        if len(np.unique(short)) == len(np.unique(a)) and (short == 0).sum() == (a == 0).sum():
            return short
    return a


def chosen(record: OpDef) -> Sample | None:
    """The first sample of a readable size, else the smallest that is not empty."""
    samples = [s for s in record.samples() if s.smooth] or list(record.samples())
    sizes = [sum(a.size for a in arrays_of(s)) for s in samples]
    usable = [(n, i) for i, n in enumerate(sizes) if all(a.size for a in arrays_of(samples[i]))]
    if not usable:
        return samples[0] if samples else None
    readable = [i for n, i in usable if 1 < n <= MOST_ELEMENTS]
    return adapted(samples[readable[0] if readable else min(usable)[1]], first_dtype(record))


def names_of(record: OpDef, sample: Sample) -> list[str]:
    """A name for every array of the sample: its parameter's, or a and b for two alike."""
    named = _parameter_names(record, sample)
    if len(named) == 1:
        return ["x"]
    if named == ["x", "other"] or any(n[-1].isdigit() for n in named):
        return [chr(ord("a") + i) for i in range(len(named))]
    return [_RENAMED.get(name, name) for name in named]


def _parameter_names(record: OpDef, sample: Sample) -> list[str]:
    parameters = list(inspect.signature(record.signature or record.call).parameters.values())
    plain = [p for p in parameters if p.kind is not p.VAR_POSITIONAL]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "operands")
    fixed = next((i for i, p in enumerate(parameters) if p not in plain), len(parameters))
    given: list[tuple[str, Any]] = []
    for i, value in enumerate(sample.args):
        given.append((plain[i].name if i < fixed else f"{rest}{i}", value))
    named: list[str] = []
    for name, value in [*given, *sample.kwargs.items()]:
        found = [v for v in leaves(value) if isinstance(v, np.ndarray)]
        several = len(found) > 1
        named += [f"{name}{i}" if several else name for i in range(len(found))]
    return named


def on_nodes(record: OpDef, sample: Sample) -> tuple[Any, dict[UOp, str]]:
    """The op on symbolic operands: its result, and the operands with their names."""
    names = iter(names_of(record, sample))
    operands: dict[UOp, str] = {}

    def node(a: Any) -> UOp:
        name = next(names)
        made = OPS["input"](name, a.shape, as_dtype(a.dtype), Device.DEFAULT)
        operands[made] = name
        return made

    args, kwargs = mapped(sample.args, node), mapped(sample.kwargs, node)
    return record(*args, **kwargs), operands


def on_tensors(record: OpDef, args: Any, kwargs: Any) -> list[Any]:
    """The op on tensors, its results computed."""
    result = lift(record, mapped(args, Tensor), mapped(kwargs, Tensor))
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    return [r.realize() if isinstance(r, Tensor) else r for r in results]


def assignment(name: str, a: Any) -> str:
    """Source that makes this array a tensor of this name; long ones by rows."""
    dtype = as_dtype(a.dtype).name
    kind = "" if dtype in _USUAL and a.size else f', dtype="{dtype}"'
    wide = {"float32": np.float64, "complex64": np.complex128}.get(dtype)
    values = a if wide is None else a.astype(wide).round(6)
    text = f"{name} = Tensor({values.tolist()}{kind})"
    indent = " " * (len(name) + len(" = Tensor("))
    return (
        text
        if len(text) <= WIDTH
        else text.replace("]], [[", f"]],\n{indent}[[").replace("], [", f"],\n{indent} [")
    )


def call_source(record: OpDef, args: Any, kwargs: Any, spell: Callable[[Any], str]) -> str:
    """`x.softmax(axis=0)`, every array spelled by `spell`; a class call without a tensor first."""
    method = bool(args) and isinstance(args[0], np.ndarray)
    owner = spell(args[0]) if method else "Tensor"
    rest = [value_source(v, spell) for v in args[1 if method else 0 :]]
    rest += [f"{k}={value_source(v, spell)}" for k, v in kwargs.items()]
    return f"{owner}.{record.name}({', '.join(rest)})"


def value_source(value: Any, spell: Callable[[Any], str]) -> str:
    """An argument as source."""
    if isinstance(value, np.ndarray):
        return spell(value)
    if isinstance(value, (tuple, list)):
        inner = ", ".join(value_source(v, spell) for v in value)
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, DType):
        return f'"{value.name}"'
    if isinstance(value, float) and not np.isfinite(value):
        return f'float("{value}")'
    return repr(value).replace("'", '"') if isinstance(value, str) else repr(value)


def example(record: OpDef, sample: Sample) -> str:
    """A short program that calls the op and prints what it gives."""
    spelled = dict(zip(map(id, arrays_of(sample)), names_of(record, sample), strict=True))
    spell = lambda a: spelled[id(a)]  # noqa: E731
    lines = ["from adjoint import Tensor", ""]
    lines += [assignment(spell(a), a) for a in arrays_of(sample)]
    call = call_source(record, sample.args, sample.kwargs, spell)
    result = _value(lines, call)
    if not isinstance(result, (tuple, list)):
        return "\n".join([*lines, f"print({_shown(call, result)})"])
    parts = [f"y{i}" for i in range(len(result))]
    lines += [f"{', '.join(parts)} = {call}"]
    lines += [f"print({_shown(p, r)})" for p, r in zip(parts, result, strict=True)]
    return "\n".join(lines)


def _value(lines: list[str], call: str) -> Any:
    """What the call gives after these lines."""
    namespace: dict[str, Any] = {}
    exec("\n".join(lines), namespace)
    return eval(call, namespace)


def _shown(text: str, result: Any) -> str:
    if not isinstance(result, Tensor):
        return text
    inexact = result.dtype in (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)
    return f"{text}.numpy()" + (".round(4)" if inexact else "")


def output_of(program: str) -> str:
    """What the program prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(program, "<example>", "exec", dont_inherit=True), {"__name__": "__main__"})
    return out.getvalue().rstrip("\n")
