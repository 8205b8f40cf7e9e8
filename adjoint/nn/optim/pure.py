"""The pure form of an optimiser: `init(params) -> state`, `update(grads, state, params)`.

A `Rule` is the formula of one optimiser for one parameter; `PureOptimizer` applies it to a pytree.
Nothing is changed and nothing is read, so both work inside jit, vmap, scan and grad.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from adjoint.errors import ArgumentError, DTypeError, FileError, ShapeError
from adjoint.ir.dtype import dtypes
from adjoint.tensor import Tensor
from adjoint.transforms.pytree import matching_leaves, tree_flatten, tree_unflatten

Options = Mapping[str, Any]
Slots = dict[str, Tensor]


class Rule(NamedTuple):
    """The formula of an optimiser for one parameter.

    `slots` makes what is kept per parameter. `shared` computes the numbers that all parameters use,
    from the options and the count of steps with this one, in float64. `change` gets them in the
    parameter's dtype and gives the new parameter and its new slots.
    """

    name: str
    slots: Callable[[Tensor, Options], Slots]
    shared: Callable[[Options, Tensor], dict[str, Any]]
    change: Callable[[Tensor, Tensor, Slots, dict[str, Any]], tuple[Tensor, Slots]]


class State(NamedTuple):
    """What an optimiser keeps: steps done, and a dict per leaf of the parameters (None: not
    trained)."""

    step: Tensor
    slots: list[Slots | None]


@dataclass(frozen=True, slots=True, eq=False)
class PureOptimizer:
    """An optimiser without state of its own; `init` and `update` take and give pytrees.

    `lr` is a number, a scalar tensor, or a function of the steps done (a schedule).
    """

    rule: Rule
    options: dict[str, Any]

    def init(self, params: Any) -> State:
        """The state before the first step. Leaves with `requires_grad=False` are left alone."""
        leaves, _ = tree_flatten(params)
        trained = [_is_trained(self.rule.name, leaf) for leaf in leaves]
        if not any(trained):
            problem = "there is nothing to train among the parameters"
            fix = "give a pytree of float tensors; those with requires_grad=False are left alone"
            raise ArgumentError("E2007", problem, op=self.rule.name, help=fix)
        rows = zip(leaves, trained, strict=True)
        slots = [self.rule.slots(p, self.options) if wanted else None for p, wanted in rows]
        return State(_zero(leaves[trained.index(True)].device), slots)

    def update(self, grads: Any, state: State, params: Any) -> tuple[Any, State]:
        """The parameters after one step, and the state after it."""
        leaves, tree = tree_flatten(params)
        given = matching_leaves(self.rule.name, tree, grads)
        if len(state.slots) != len(leaves):
            problem = f"the state is of {len(state.slots)} parameters, there are {len(leaves)}"
            raise FileError("E9002", problem, op=self.rule.name, help="make it with init(params)")
        step = state.step + 1
        scalars = _Scalars(self.rule.shared(self._now(state.step), step.cast(dtypes.float64)))
        new, slots = [], []
        for p, g, kept in zip(leaves, given, state.slots, strict=True):
            row = (p, None) if kept is None else self._changed(p, g, kept, scalars)
            new.append(row[0])
            slots.append(row[1])
        return tree_unflatten(tree, new), State(step, slots)

    def _now(self, done: Tensor) -> Options:
        """The options with the learning rate of this step."""
        lr = self.options["lr"]
        lr = lr(done.cast(dtypes.float64)) if callable(lr) else lr
        if isinstance(lr, Tensor) and lr.device != done.device:
            lr = lr.to(done.device)
        return {**self.options, "lr": lr}

    def _changed(
        self, p: Tensor, g: Tensor, slots: Slots, scalars: _Scalars
    ) -> tuple[Tensor, Slots]:
        if not isinstance(g, Tensor) or g.shape != p.shape:
            problem = "a gradient has the shape of its parameter"
            raise ShapeError("E3003", problem, op=self.rule.name, parameter=p, gradient=g)
        g = g if g.dtype is p.dtype else g.cast(p.dtype)
        new, made = self.rule.change(
            p, -g if self.options["maximize"] else g, slots, scalars.like(p)
        )
        for kept in made.values():  # a slot with a history would keep that of all steps
            if kept.requires_grad:
                kept.requires_grad = None
        return new, made


class _Scalars:
    """Numbers that all parameters share, in the dtype and on the device of each."""

    def __init__(self, values: dict[str, Any]):
        self.values = values
        self.made: dict[Any, dict[str, Any]] = {}

    def like(self, p: Tensor) -> dict[str, Any]:
        key = (p.dtype, p.device)
        if key not in self.made:
            self.made[key] = {name: _like(v, p) for name, v in self.values.items()}
        return self.made[key]


def _like(value: Any, p: Tensor) -> Any:
    if not isinstance(value, Tensor):
        return value
    return (value if value.device == p.device else value.to(p.device)).cast(p.dtype)


def _is_trained(op: str, leaf: Any) -> bool:
    if isinstance(leaf, Tensor) and leaf.requires_grad is False:
        return False
    check_parameter(op, "parameter", leaf)
    return True


def check_parameter(op: str, name: str, value: Any) -> None:
    """Raise unless it is a tensor of a float dtype."""
    if not isinstance(value, Tensor):
        problem = f"a parameter is a Tensor, not a {type(value).__name__}"
        raise ArgumentError("E2001", problem, op=op, operands=[(name, value)])
    if not value.dtype.is_float:
        fix = ".cast('float32'), or leave it out: only floats can be trained"
        problem = f"a parameter has a float dtype, not {value.dtype.name}"
        raise DTypeError("E2005", problem, op=op, operands=[(name, value)], help=fix)


def _zero(device: str | tuple[str, ...] | None) -> Tensor:
    where = device if isinstance(device, str) else None
    return Tensor.zeros((), dtype=dtypes.int64, device=where)


def zeros(*names: str) -> Callable[[Tensor, Options], Slots]:
    """Slots of these names that begin as zeros."""
    return lambda p, o: {name: p.zeros_like() for name in names}


# ---- options


def is_on(value: Any) -> bool:
    """Whether an option does anything: a tensor may, a number does unless it is 0."""
    return isinstance(value, Tensor) or value != 0


def check_options(op: str, lr: Any, **bounds: Any) -> None:
    """Raise for a learning rate or another option below 0; tensors and functions pass.

    An option is given as its value, or as `(value, limit)` if it has to be below a limit.
    """
    if isinstance(lr, Tensor) and lr.shape != ():
        raise ShapeError("E3002", "lr is a scalar", op=op, lr=lr)
    for name, given in {"lr": lr, **bounds}.items():
        value, limit = given if isinstance(given, tuple) else (given, None)
        if isinstance(value, Tensor) or callable(value):
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
            raise ArgumentError("E2001", f"{name} is a number, not {value!r}", op=op)
        if not value >= 0 or (limit is not None and value >= limit):
            rule = "0 or more" if limit is None else f"in [0, {limit})"
            raise ArgumentError("E2006", f"{name} is {rule}, not {value}", op=op)
