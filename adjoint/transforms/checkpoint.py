"""checkpoint: the gradient computes a function's body again instead of keeping what it computed."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from adjoint.autodiff.forward import push_forward
from adjoint.ir.batch import Flags
from adjoint.transforms.call import name_of
from adjoint.transforms.effects import bare
from adjoint.transforms.loops import batched_function, joint_gradient
from adjoint.transforms.subgraph import checkpoint_op, taken_apart, traced_whole, wait_op
from adjoint.transforms.traced import Absent, Call, Nodes

P = ParamSpec("P")
R = TypeVar("R")


def checkpoint(fn: Callable[P, R]) -> Callable[P, R]:
    """The function, whose backward pass computes its body again from its arguments.

    Of what the body computes only the result is kept for the backward pass: less memory, more
    arithmetic, the same gradient. What the function closes over gets its gradient too.
    """

    @wraps(fn)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        tensors, arguments = taken_apart((args, kwargs))
        name = name_of(fn)
        op = f"checkpoint of {name}"
        whole = traced_whole(op, lambda a, k: fn(*a, **k), tensors, arguments)
        result: R = whole.call(checkpoint_op, Recomputed(name, whole.body))
        return result

    return wrapped


class Recomputed(Call):
    """A function whose gradient is that of a second copy of its body."""

    def pull_back(self, g: Absent, y: Nodes, x: Nodes, needs: Flags) -> Absent:
        """The copy waits for the cotangents: until then nothing of it takes memory."""
        roots = [i for i, cotangent in enumerate(g) if cotangent is not None]
        seeds = [c for c in g if c is not None]
        again = [wait_op(n, *seeds) for n in x]
        copy = bare(self.body)(*again)
        wanted = [n for n, need in zip(again, needs, strict=True) if need]
        found = joint_gradient([copy[i] for i in roots], seeds, wanted, again)
        return [found.pop(n, None) for n in again]  # an operand given twice has one total

    def push(self, t: Absent, y: Nodes, x: Nodes) -> Absent:
        given = {n: d for n, d in zip(x, t, strict=True) if d is not None}
        return push_forward(bare(self.body)(*x), given, x)

    def batched(self, flags: Flags, size: int) -> Call:
        return Recomputed(self.__name__, batched_function(self.body, flags, size))
