"""checkpoint: the gradient computes a function's body again instead of keeping its values.

A policy names values of the body to keep nevertheless: these are further results of the node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar, overload

from adjoint.autodiff.forward import push_forward
from adjoint.errors import ArgumentError
from adjoint.ir.batch import Flags
from adjoint.ir.dtype import DType
from adjoint.ir.function import function_of
from adjoint.ir.opdef import attributes, expand_composite
from adjoint.ir.uop import UOp, substitute, toposort
from adjoint.transforms.call import name_of
from adjoint.transforms.effects import without_effects
from adjoint.transforms.loops import batched_function, joint_gradient
from adjoint.transforms.subgraph import Whole, checkpoint_op, taken_apart, traced_whole, wait_op
from adjoint.transforms.traced import Absent, Call, Nodes

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A value inside a checkpointed function that a policy may keep."""

    op: str
    shape: tuple[int, ...]
    dtype: DType
    attributes: dict[str, Any]
    is_product: bool


Policy = Callable[[Candidate], bool]


class checkpoint_policies:
    """What `checkpoint` keeps for the backward pass: `checkpoint(fn, policy=...)`."""

    @staticmethod
    def nothing_saveable(value: Candidate) -> bool:
        """Keep nothing: the default."""
        return False

    @staticmethod
    def everything_saveable(value: Candidate) -> bool:
        """Keep all that is computed: as without `checkpoint`."""
        return True

    @staticmethod
    def dots_saveable(value: Candidate) -> bool:
        """Keep what products of matrices and convolutions give; the rest is cheap to do again."""
        return value.is_product

    @staticmethod
    def save_only_these_names(*names: str) -> Policy:
        """Keep what `checkpoint_name` gave one of these names."""
        return lambda value: value.op == "checkpoint_name" and value.attributes["name"] in names


_NAMED: dict[str, Policy] = {
    "nothing": checkpoint_policies.nothing_saveable,
    "everything": checkpoint_policies.everything_saveable,
    "products": checkpoint_policies.dots_saveable,
}


@overload
def checkpoint(fn: Callable[P, R], *, policy: Policy | str | None = None) -> Callable[P, R]: ...
@overload
def checkpoint(
    fn: None = None, *, policy: Policy | str | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def checkpoint(fn: Any = None, *, policy: Any = None) -> Any:
    """The function, with a backward pass that computes its body again from its arguments.

    Of the values in the body, only the result is kept for the backward pass, and those that
    `policy` selects: "nothing" (the default), "everything", "products" (results of matrix products
    and convolutions), or a function that is called for every value, as those of
    `checkpoint_policies`. Less memory, more arithmetic, the same gradient. Captured tensors get
    their gradients too. `@checkpoint(policy=...)` is a decorator. `jit(memory_limit=...)` chooses
    for you what to keep.
    """
    policy = _policy(policy)
    if fn is None:
        return lambda function: checkpoint(function, policy=policy)

    @wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        tensors, arguments = taken_apart((args, kwargs))
        name = name_of(fn)
        op = f"checkpoint of {name}"
        whole = traced_whole(op, lambda a, k: fn(*a, **k), tensors, arguments)
        extended, count = _keeping(whole, policy)
        return extended.call(checkpoint_op, Recomputed(name, extended.body, count))

    return wrapped


def _policy(asked: Any) -> Policy | None:
    """The function that a policy is, or that has its name."""
    found = _NAMED.get(asked) if isinstance(asked, str) else asked
    if callable(found) or asked is None:
        return found
    problem = f"policy is a function of a value or a name, not {asked!r}"
    names = ", ".join(f'"{name}"' for name in _NAMED)
    fix = f"use {names}, or one of adjoint.checkpoint_policies"
    raise ArgumentError("E2008", problem, op="checkpoint", help=fix)


def _keeping(whole: Whole, policy: Policy | None) -> tuple[Whole, int]:
    """The body with the kept values behind its results, and their number."""
    if policy is None:
        return whole, 0
    body = whole.body
    ends = {*body.inputs, *body.outputs}
    inside = [n for n in toposort(body.outputs) if n not in ends and n.src]
    kept = [n for n in inside if type(n.dtype) is not tuple and policy(_candidate(n))]
    extended = function_of(list(body.inputs), [*body.outputs, *kept])
    return replace(whole, body=extended), len(kept)


def _candidate(node: UOp) -> Candidate:
    return Candidate(node.op.name, node.shape, node.dtype, attributes(node), _is_product(node))


def _is_product(node: UOp) -> bool:
    """Whether it is a contraction, or a composite that has one inside."""
    if node.op.kind != "composite" or node.op.body is None:
        return node.op.name == "contract"
    ends = set(node.src)
    inside = toposort([expand_composite(node)], stop=ends.__contains__)
    return any(n not in ends and _is_product(n) for n in inside)


class Recomputed(Call):
    """A function whose gradient is that of a second copy of its body.

    The last `kept` results are values of the body that the copy does not compute again.
    """

    def __init__(self, name: str, body: Any, kept: int = 0):
        super().__init__(name, body)
        self.kept = kept

    def pull_back(self, g: Absent, y: Nodes, x: Nodes, needs: Flags) -> Absent:
        """The copy waits for the cotangents: until then none of it takes memory."""
        roots = [i for i, cotangent in enumerate(g) if cotangent is not None]
        seeds = [c for c in g if c is not None]
        again = [wait_op(n, *seeds) for n in x]
        copy = without_effects(self.body)(*again)
        wanted = [n for n, need in zip(again, needs, strict=True) if need]
        found = joint_gradient([copy[i] for i in roots], seeds, wanted, again)
        found = self._with_kept(found, copy, y)
        return [found.pop(n, None) for n in again]  # an operand given twice has one total

    def _with_kept(self, found: dict[UOp, UOp], copy: Sequence[UOp], y: Nodes) -> dict[UOp, UOp]:
        if not self.kept:
            return found
        first = len(copy) - self.kept
        known = dict(zip(copy[first:], y[first:], strict=True))
        return dict(zip(found, substitute(list(found.values()), known), strict=True))

    def push(self, t: Absent, y: Nodes, x: Nodes) -> Absent:
        given = {n: d for n, d in zip(x, t, strict=True) if d is not None}
        return push_forward(without_effects(self.body)(*x), given, x)

    def batched(self, flags: Flags, size: int) -> Call:
        return Recomputed(self.__name__, batched_function(self.body, flags, size), self.kept)
