"""Small new graphs are computed immediately, op by op, without scheduling or compiling.

Some ops have one right answer: elements moved, compared or selected; a sum, a quotient, a root,
rounded once; reductions in the order of the reduction tree. The record's reference computes these.
A mathematical function is computed by a kernel of its own (`op_kernels.py`), written with the same
arithmetic as in any other kernel and usable for every shape. So the bits are those of the compiled
program, which another thread compiles when the graph has recurred (`later.py`).

What may live here: which graphs qualify, and computing them. What may not: products of floats,
whose order depends on what they are fused with, and ops with effects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from adjoint import config
from adjoint.engine import counters
from adjoint.engine.graph_key import GraphKey, close_over_parameters
from adjoint.engine.observers import watch
from adjoint.engine.op_kernels import OpKernels
from adjoint.engine.program_cache import PROGRAMS, VALUES, simplifier
from adjoint.ir import sizes
from adjoint.ir.dtype import DType
from adjoint.ir.expand import expand
from adjoint.ir.kernel_kind import (
    CONSTANT,
    Algorithm,
    Gather,
    Identity,
    PerNode,
    Pointwise,
    Reduce,
    View,
)
from adjoint.ir.opdef import is_shipped
from adjoint.ir.uop import UOp, toposort
from adjoint.ir.values import known_value
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.reference import computed
from adjoint.target import TARGETS, Limits, Target

_BY_REFERENCE = (View, Gather, Reduce, Algorithm, Identity, PerNode)
_ENTRIES = 8  # of a key for a node, at most
_LOOK = 4  # times: the second one, when it is worth a look at the disk
_NEW = 3  # times as long takes a run with constants that are new
_MOST_KEPT = 64  # ways to compute graphs that differ in their constants


def computed_at_once(
    roots: Sequence[UOp], key: GraphKey, devices: Sequence[str]
) -> list[Buffer] | None:
    """The values of the roots; None if the graph is one to compile, or an error is to be found."""
    target = _target_of(key.backend)
    if not target.host_memory or not _is_asked_for(key, target.limits):
        return None
    known = key.values in PROGRAMS.met(key)
    recipe = _recipe_for(key, roots, target)
    if recipe is None or _is_worth_it(key, roots, target.limits, 1 if known else _NEW):
        return None
    try:
        return recipe.run(key.leaves, devices)
    except (
        Exception
    ):  # an index out of range, no memory: the compiled program says which, and where
        return None


def _recipe_for(key: GraphKey, roots: Sequence[UOp], target: Target) -> Recipe | None:
    """How the graph is computed, as last time or made now; None if it is one to compile."""
    met = PROGRAMS.met(key)
    recipe: Recipe | None = met.get(key.values)
    if recipe is None:
        recipe = _recipe_of(key, roots, target)
        if recipe is not None and len(met) >= (VALUES if recipe.has_constants else _MOST_KEPT):
            return None  # a kernel for each of many constants costs more than a program for all
        if recipe is not None:
            met[key.values] = recipe
    return recipe


def _is_asked_for(key: GraphKey, limits: Limits) -> bool:
    """Whether the graph may be small, and neither counted nor watched nor shown."""
    if len(key.structure) > _ENTRIES * limits.at_once_nodes:
        return False
    if counters.active or watch.on or not config.AT_ONCE.value():
        return False
    return not (config.VERIFY.value() or config.SHOW.value() or config.TUNE.value())


def _is_worth_it(key: GraphKey, roots: Sequence[UOp], limits: Limits, more: int) -> bool:
    """Whether the graph has recurred and its program is on disk, or has recurred often and no other
    thread can compile it.
    """
    times = PROGRAMS.times(key, more)
    if times - more < _LOOK <= times:
        return PROGRAMS.load(key, roots)
    return times >= limits.at_once_runs and not PROGRAMS.find_later(key, roots)


def _suits(node: UOp, most: int) -> bool:
    """Whether the node is small, and has one answer or a kernel."""
    kernel, dtype = node.op.kernel, node.dtype
    if type(dtype) is tuple or dtype.kind == "c" or node.size > most or sizes.varies(*node.shape):
        return False
    for source in node.src:
        if type(source.dtype) is tuple or source.dtype.kind == "c" or source.size > most:
            return False
    if type(kernel) is Pointwise:
        return True
    return (type(kernel) in _BY_REFERENCE or kernel is CONSTANT) and is_shipped(node.op)


def _recipe_of(key: GraphKey, roots: Sequence[UOp], target: Target) -> Recipe | None:
    closed, parameters = close_over_parameters(roots, key.leaves)
    values = expand(closed)
    nodes = _without(parameters, values)
    if len(nodes) > target.limits.at_once_nodes:
        return None
    if not all(_suits(node, target.limits.at_once_elements) for node in nodes):
        return None
    has_constants = any(map(_knows_constants, nodes))
    if has_constants:
        values = simplifier()(values)  # constants are what they are in the compiled program
        nodes = _without(parameters, values)
    numbers = {node: number for number, node in enumerate((*parameters, *nodes))}
    steps = [(_needs_kernel(n), n, tuple([numbers[s] for s in n.src])) for n in nodes]
    results = [(numbers[n], n.dtype, n.shape) for n in values]
    return Recipe(steps, results, has_constants, OpKernels(key.backend, target))


def _without(parameters: Sequence[UOp], values: Sequence[UOp]) -> list[UOp]:
    """The nodes to compute, sources first."""
    given = set(parameters)
    return [node for node in toposort(values) if node not in given]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Recipe:
    """Nodes over parameters in execution order, without any object of the user.

    Values have numbers: those of parameters come first. `has_constants`: an exponent, for example.
    """

    steps: list[tuple[bool, UOp, tuple[int, ...]]]  # whether a kernel computes it, the operands
    results: list[tuple[int, DType, tuple[int, ...]]]
    has_constants: bool
    kernels: OpKernels

    def run(self, leaves: Sequence[UOp], devices: Sequence[str]) -> list[Buffer]:
        """The results in memory of their own, from the values of the parameters."""
        found: list[Any] = [known_value(leaf) for leaf in leaves]
        with np.errstate(all="ignore"):
            for needs_kernel, node, numbers in self.steps:
                operands = [found[i] for i in numbers]
                found.append((self.kernels.value if needs_kernel else computed)(node, operands))
        rows = zip(self.results, devices, strict=True)
        return [_copied(found[i], dtype, shape, device) for (i, dtype, shape), device in rows]


def _needs_kernel(node: UOp) -> bool:
    kernel = node.op.kernel
    return type(kernel) is Pointwise and not (kernel.has_one_answer and is_shipped(node.op))


def _knows_constants(node: UOp) -> bool:
    """Whether the arithmetic may depend on which operands are constants: x ** 2 is x * x."""
    return len(node.src) > 1 and _needs_kernel(node)


@cache
def _target_of(backend: str) -> Target:
    """The target that a backend compiles for."""
    folder = backend.partition(":")[0]
    return next(target for target in TARGETS.values() if target.backend == folder)


def _copied(value: Any, dtype: DType, shape: tuple[int, ...], device: str) -> Buffer:
    """No result shows the memory of another value."""
    buffer = Buffer.empty(dtype, tuple(map(int, shape)), device)
    buffer.fill(value)
    return buffer
