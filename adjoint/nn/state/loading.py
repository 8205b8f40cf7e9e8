"""Values into the tensors of an object, by name; and what did not fit, said in full."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from adjoint.errors import DTypeError, FileError, did_you_mean
from adjoint.ir.dtype import DType, as_dtype, promote
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp
from adjoint.nn.state.lazy import LazyBuffer
from adjoint.nn.state.walk import Walked, walk
from adjoint.runtime.buffer import Buffer
from adjoint.tensor import Tensor
from adjoint.tensor.views import receive

_HINTS = 20  # missing names for which a near one is looked for
_LOOKED_AT = 200  # names among which it is looked for, at most


@dataclasses.dataclass(frozen=True, slots=True)
class Mismatch:
    """A name on both sides whose values cannot be assigned: `f32[2, 3]` wanted, `f32[3]` found."""

    name: str
    wanted: str
    found: str

    def __str__(self) -> str:
        return f"{self.name}: {self.wanted} wanted, {self.found} found"


@dataclasses.dataclass(frozen=True, slots=True)
class LoadReport:
    """What became of every name. `str()` of it is for people."""

    loaded: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()  # in the object only
    unexpected: tuple[str, ...] = ()  # in the state only
    mismatched: tuple[Mismatch, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every name has its value and no value is left."""
        return not (self.missing or self.unexpected or self.mismatched)

    def __str__(self) -> str:
        near = _near_names(self.missing, self.unexpected)
        sections = (
            ("missing in the state", [_with_hint(name, near) for name in self.missing]),
            ("unexpected in the state", list(self.unexpected)),
            ("of another shape or type", [str(item) for item in self.mismatched]),
        )
        lines = [f"{len(self.loaded)} fit"]
        for title, names in sections:
            if names:
                lines += [f"{len(names)} {title}:", *(f"  {name}" for name in names)]
        return "\n".join(lines)


def _with_hint(name: str, near: Mapping[str, str]) -> str:
    return f"{name}  ({near[name]})" if near.get(name) else name


def _near_names(missing: Sequence[str], unexpected: Sequence[str]) -> dict[str, str]:
    if not unexpected:
        return {}
    return {name: _near(name, unexpected) for name in missing[:_HINTS]}


def _near(name: str, others: Sequence[str]) -> str:
    """Of names with the same end and numbers, if there are any: a bias is near to no weight."""
    alike = [other for other in others if _end_and_numbers(other) == _end_and_numbers(name)]
    end = [other for other in others if other.rpartition(".")[2] == name.rpartition(".")[2]]
    found = (did_you_mean(name, group[:_LOOKED_AT]) for group in (alike, end, others))
    return next(filter(None, found), "")


def _end_and_numbers(name: str) -> tuple[str, ...]:
    parts = name.split(".")
    return parts[-1], *(part for part in parts if part.isdigit())


def load_state_dict(
    obj: Any, state: Mapping[str, Any], strict: bool = True, verbose: bool = False
) -> LoadReport:
    """Give the tensors of an object the values that a state has for their names.

    Values are tensors or NumPy arrays, and are copied to the device and the dtype of the tensor; a
    dtype that cannot hold them exactly does not fit. With `strict` anything missing, unexpected or
    unfit is E9002, listing all of it, and nothing is changed; without it what fits is loaded. A
    tensor with several names takes its value from any of them. With `verbose` the report is
    printed.
    """
    pairs, report = match(walk(obj), _checked_state(state))
    if strict and not report.ok:
        problem = f"the state does not fit: {report}"
        raise FileError("E9002", problem, op="load_state_dict", help=_advice(report, state))
    assign(pairs, prepared(pairs))
    if verbose:
        print(report)
    return report


def _checked_state(state: Any) -> Mapping[str, Any]:
    if isinstance(state, Mapping):
        return state
    problem = f"a state is a dict from names to tensors, not {type(state).__name__}"
    fix = "get_state_dict(obj), safe_load(path) and torch_load(path) give one"
    raise FileError("E9002", problem, op="load_state_dict", help=fix)


Pairs = list[tuple[Tensor, Any]]


def match(walked: Walked, state: Mapping[str, Any]) -> tuple[Pairs, LoadReport]:
    """The tensors that were found, each with the value it will have; and all that is wrong."""
    given, unexpected, mismatched = _by_first_name(walked, state)
    pairs: Pairs = []
    loaded: list[str] = []
    for name, tensor in walked.tensors.items():
        if name not in given:
            continue
        if _fits(tensor, given[name]):
            pairs.append((tensor, given[name]))
            loaded.append(name)
        else:
            mismatched.append(Mismatch(name, _type_text(tensor), _type_text(given[name])))
    missing = tuple(name for name in walked.tensors if name not in given)
    return pairs, LoadReport(tuple(loaded), missing, tuple(unexpected), tuple(mismatched))


def _by_first_name(
    walked: Walked, state: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str], list[Mismatch]]:
    """The values by the names that tensors are listed under; names that lead nowhere; names of one
    tensor that have different values."""
    given: dict[str, Any] = {}
    unexpected: list[str] = []
    conflicts: list[Mismatch] = []
    for name, value in state.items():
        first = name if name in walked.tensors else walked.first_name(str(name))
        if first not in walked.tensors:
            unexpected.append(str(name))
        elif first in given and not _same(given[first], value):
            shared = f"the value of {first!r}, which is the same tensor,"
            conflicts.append(Mismatch(str(name), shared, f"another {_type_text(value)}"))
        else:
            given.setdefault(first, value)
    return given, unexpected, conflicts


def _same(a: Any, b: Any) -> bool:
    if a is b or (isinstance(a, Tensor) and isinstance(b, Tensor) and a.uop is b.uop):
        return True
    return _type_text(a) == _type_text(b) and _array(a).tobytes() == _array(b).tobytes()


def _array(value: Any) -> np.ndarray[Any, Any]:
    return value.numpy() if isinstance(value, Tensor) else np.asarray(value)


def _kind(value: Any) -> tuple[tuple[int, ...], DType] | None:
    """The shape and dtype of a tensor or an array; None for anything else."""
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        return None
    try:
        return tuple(value.shape), as_dtype(value.dtype)
    except DTypeError:
        return None


def _type_text(value: Any) -> str:
    kind = _kind(value)
    return type(value).__name__ if kind is None else f"{kind[1].short}{list(kind[0])}"


def _fits(tensor: Tensor, value: Any) -> bool:
    kind = _kind(value)
    if kind is None or kind[0] != tensor.shape:
        return False
    return kind[1].kind == tensor.dtype.kind and promote(kind[1], tensor.dtype) is tensor.dtype


def _advice(report: LoadReport, state: Mapping[str, Any]) -> str:
    nested = next((k for k, v in state.items() if isinstance(v, Mapping) and report.missing), None)
    if nested is not None:
        return f"the state holds another under {nested!r}: load that one"
    prefix = _extra_prefix(report.missing, report.unexpected)
    if prefix:
        return f"names of the state begin with {prefix!r}: take it off with str.removeprefix"
    if report.mismatched and not (report.missing or report.unexpected):
        return "reshape or cast the values, or build the object with these sizes and dtypes"
    return "strict=False loads what fits and returns this report"


def _extra_prefix(missing: Iterable[str], unexpected: Sequence[str]) -> str:
    """What every unexpected name has in front of a missing one, if there is such a thing."""
    wanted = set(missing)
    if not wanted or not unexpected:
        return ""
    first = next((name for name in wanted if unexpected[0].endswith("." + name)), None)
    prefix = "" if first is None else unexpected[0].removesuffix(first)
    whole = prefix and all(n.startswith(prefix) and n[len(prefix) :] in wanted for n in unexpected)
    return prefix if whole else ""


def prepared(pairs: Pairs) -> list[UOp]:
    """The new node of every tensor. All values are read here, before the first tensor is touched:
    a file that fails changes nothing."""
    values = [_value(tensor, value) for tensor, value in pairs]
    if values:
        values[0].realize(*values[1:])
    return [_own_node(value) for value in values]


def assign(pairs: Pairs, nodes: list[UOp]) -> None:
    """Give every tensor its node."""
    for (tensor, _), node in zip(pairs, nodes, strict=True):
        receive(tensor, node)


def _value(tensor: Tensor, value: Any) -> Tensor:
    """The value as a tensor of the dtype and on the device of the one that will have it."""
    given = value if isinstance(value, Tensor) else Tensor(np.asarray(value))
    return given.cast(tensor.dtype).shard_like(tensor)


def _own_node(value: Tensor) -> UOp:
    """A leaf that no other tensor has, in memory that no file stands behind."""
    if isinstance(value.device, tuple):
        return OPS["unique_identity"](value.uop)
    buffer = value._buffer()
    array = buffer.array()
    kept = array.copy() if isinstance(buffer, LazyBuffer) else array
    return OPS["buffer"](Buffer(kept, value.device))
