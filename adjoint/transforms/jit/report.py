"""The report of a jitted function: its traces, their causes, and why there are more than one.

What may live here: reading. What may not: tracing, or deciding anything.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adjoint.ir.dtype import DType
from adjoint.ir.text import short_type
from adjoint.ir.weak import SameObject
from adjoint.transforms.call import argument_spans, positional_names

_MANY = 4  # leaves of one argument that are written out
_LONGEST = 40  # characters of a plain value
_WRITTEN = (bool, int, float, complex, str, type(None))


@dataclass(frozen=True, slots=True)
class KeptTrace:
    """One trace: the types of its arguments, those of its results, what reading the function,
    compiling it and the first run took in seconds, and the steps of its program (None: it is
    interpreted, or on several devices)."""

    arguments: tuple[str, ...]
    results: tuple[str, ...]
    seconds: float
    steps: int | None


@dataclass(frozen=True, slots=True)
class JitReport:
    """A jitted function: `traces` it was traced so often, `kept` are those that calls can use, and
    `reasons` says how often each thing was why it was traced again."""

    name: str
    signature: str
    traces: int
    kept: tuple[KeptTrace, ...]
    reasons: Mapping[str, int]

    def __str__(self) -> str:
        lines = [f"jit of {self.name}{self.signature}: {self.summary()}"]
        for trace in self.kept:
            steps = "" if trace.steps is None else f", {trace.steps} steps"
            given = f"{', '.join(trace.arguments)} -> {', '.join(trace.results) or 'nothing'}"
            lines.append(f"  {given}: {trace.seconds * 1e3:.1f} ms to trace and compile{steps}")
        lines += [f"  traced again {n} times because of {why}" for why, n in self.reasons.items()]
        return "\n".join(lines)

    def summary(self) -> str:
        """In a few words."""
        if not self.traces:
            return "not called yet"
        return f"traced {_times(self.traces)}, {len(self.kept)} kept"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def signature_of(fn: Any) -> str:
    """`(x, y=1)`; `(…)` where Python cannot say."""
    try:
        return str(inspect.signature(fn))
    except (TypeError, ValueError):
        return "(…)"


def report(jitted: Any) -> JitReport:
    """The history of the function so far."""
    kept = [
        _kept(jitted, key, one) for key, found in tuple(jitted._traces.items()) for one in found
    ]
    reasons = jitted._reasons.counts
    signature = signature_of(jitted.__wrapped__)
    return JitReport(jitted._name, signature, jitted.traces, tuple(kept), reasons)


def _kept(jitted: Any, key: Sequence[Any], compiled: Any) -> KeptTrace:
    runner = compiled.runner
    nodes = [runner.function.outputs[i] for i in compiled.out_leaves if isinstance(i, int)]
    results = tuple(short_type(node.shape, node.dtype) for node in nodes)
    steps = None if runner.program is None else len(runner.program.schedule.steps)
    return KeptTrace(argument_texts(jitted.__wrapped__, key), results, compiled.seconds, steps)


def argument_texts(fn: Any, key: Sequence[Any]) -> tuple[str, ...]:
    """`x: f32[3]`, `n: 5`, `params: 12 tensors` for each argument."""
    names = positional_names(fn)
    leaves = key[1:-4]
    return tuple(
        f"{_label(place, names)}: {_leaves_text([leaves[i] for i in span])}"
        for place, span in argument_spans(key[0])
    )


def _label(place: int | str, names: Sequence[str]) -> str:
    if isinstance(place, str):
        return place
    return names[place] if place < len(names) else f"argument {place}"


def _leaves_text(leaves: Sequence[Any]) -> str:
    if len(leaves) <= _MANY:
        return ", ".join(map(_leaf_text, leaves)) or "()"
    tensors = sum(1 for leaf in leaves if _is_tensor(leaf))
    return f"{tensors} tensors" if tensors == len(leaves) else f"{len(leaves)} leaves"


def _is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, tuple) and len(leaf) == 4 and isinstance(leaf[1], DType)


def _leaf_text(leaf: Any) -> str:
    if _is_tensor(leaf):
        return short_type(leaf[0], leaf[1])
    if isinstance(leaf, DType):
        return leaf.name
    if isinstance(leaf, SameObject):  # its own repr may be long, or raise
        return type(leaf.value).__name__
    plain = isinstance(leaf, tuple) and len(leaf) == 2 and leaf[0] in _WRITTEN
    text = repr(leaf[1]) if plain else "a static value"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
