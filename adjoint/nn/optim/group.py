"""A parameter group: parameters, their options, and the state of their optimiser.

`group["lr"]` reads and writes as torch's groups do. The learning rate is a tensor, so that another
value is another input of the same program.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, TrainingError, did_you_mean
from adjoint.ir.dtype import dtypes
from adjoint.ir.mesh import Sharding
from adjoint.nn.optim.parameters import Named, unowned
from adjoint.nn.optim.pure import PureOptimizer, Slots, State, check_options
from adjoint.tensor import Tensor


def _lay_out(p: Tensor, slots: Slots) -> None:
    """What is kept for a parameter on a mesh lies there as the parameter does."""
    layout = p.sharding
    for tensor in slots.values():
        if layout is None:
            continue
        same, there = tensor.shape == p.shape, tensor.sharding
        if same and layout.dims and (there is None or not there.dims):
            tensor.shard_(layout)
        elif layout.stage is not None and (there is None or there.stage is None):
            dims = layout.dims if same else ()
            tensor.shard_(Sharding(layout.mesh, dims, (), layout.stage))


class Group:
    """Parameters that share their options.

    `initial_lr` is what schedules multiply; it is the learning rate until there is a schedule.
    """

    def __init__(self, pairs: list[Named], pure: PureOptimizer):
        self._pairs = unowned(pairs)
        self._factors = unowned([])  # of the schedules
        self.options: dict[str, Any] = pure.options
        self._pure = pure
        lr = self.options["lr"]
        device = pairs[0][1].device
        self.options["lr"], self.initial_lr = number(0.0, device), number(0.0, device)
        self["lr"] = lr
        state = pure.init(self.params)
        self.step = state.step.requires_grad_(False)
        self.slots: list[Slots] = [s for s in state.slots if s is not None]
        for p, slots in zip(self.params, self.slots, strict=True):
            _lay_out(p, slots)
        for tensor in self.state:
            tensor.requires_grad = False

    @property
    def params(self) -> list[Tensor]:
        """The parameters."""
        return [p for _, p in self._pairs()]

    @property
    def state(self) -> list[Tensor]:
        """All that is kept per parameter."""
        return [tensor for slots in self.slots for tensor in slots.values()]

    @property
    def lr(self) -> Tensor:
        """The learning rate, a float64 scalar."""
        found: Tensor = self.options["lr"]
        return found

    # ---- steps

    def schedule_step(self, skip: Tensor | None = None) -> list[Tensor]:
        """Take a step, and give the tensors that have new values; none where `skip` is true."""
        self._check_gradients()
        frozen = [p.requires_grad is False for p in self.params]
        slots = [None if f else s for f, s in zip(frozen, self.slots, strict=True)]
        grads = [p if f else p.grad for p, f in zip(self.params, frozen, strict=True)]
        new, state = self._pure.update(grads, State(self.step, slots), self.params)
        changed = [_changed(self.step, state.step, skip)]
        for p, value, old, kept in zip(self.params, new, slots, state.slots, strict=True):
            if old is not None and kept is not None:
                changed += [_changed(old[name], kept[name], skip) for name in old]
                changed.append(_changed(p, value, skip))
        return changed

    def _check_gradients(self) -> None:
        wanted = [(name, p) for name, p in self._pairs() if p.requires_grad is not False]
        missing = [(name, p) for name, p in wanted if p.grad is None]
        if not missing:
            return
        (name, tensor), more = missing[0], len(missing) - 1
        problem = f"{name} has no gradient" + (f", nor have {more} others" if more else "")
        fix = "call loss.backward() before step(), with a loss that depends on it; if it is not to "
        fix += "be trained, set its requires_grad to False"
        op = f"{self._pure.rule.name} step"
        raise TrainingError("E9002", problem, op=op, operands=[(name, tensor)], help=fix)

    # ---- schedules

    def add_factor(self, factor: Tensor) -> None:
        """Let a schedule's factor count."""
        self._factors().append(factor)

    def drop_factor(self, factor: Tensor) -> None:
        """Let a schedule's factor count no longer."""
        kept = self._factors()
        kept[:] = [f for f in kept if f is not factor]

    def apply_factors(self) -> Tensor:
        """Set the learning rate to the initial one times the factors of all schedules."""
        return self.lr.assign(reduce(mul, self._factors(), self.initial_lr))

    # ---- as a mapping

    def __getitem__(self, name: str) -> Any:
        self._check_name(name)
        if name in ("params", "initial_lr"):
            return getattr(self, name)
        return self.options[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._check_name(name)
        if name in ("lr", "initial_lr"):
            self._set_rate(name, value)
        elif isinstance(self.options[name], Tensor):
            put(self.options[name], value)
        else:
            self.options[name] = value
            self._renew()

    def _set_rate(self, name: str, value: Any) -> None:
        op = self._pure.rule.name
        if callable(value):
            fix = "give a number, and make nn.optim.LambdaLR(optimizer, fn)"
            raise ArgumentError("E2001", f"{name} is a number, not a function", op=op, help=fix)
        check_options(op, value)
        both = name == "initial_lr" or not self._factors()
        for scalar in [self.initial_lr] * both + [self.lr] * (name == "lr"):
            put(scalar, value)
            scalar.realize()

    def _renew(self) -> None:
        """What is kept per parameter depends on the options."""
        for p, slots in zip(self.params, self.slots, strict=True):
            wanted = self._pure.rule.slots(p, self.options)
            kept = {
                name: slots.get(name, new.requires_grad_(False)) for name, new in wanted.items()
            }
            slots.clear()
            slots.update(kept)
            _lay_out(p, slots)

    def _check_name(self, name: str) -> None:
        if name not in self:
            fix = did_you_mean(name, self)
            problem = f"there is no option {name!r}"
            raise ArgumentError("E2001", problem, op=self._pure.rule.name, help=fix)

    def __contains__(self, name: object) -> bool:
        return name in tuple(self)

    def __iter__(self) -> Iterator[str]:
        return iter(("params", "initial_lr", *self.options))

    def keys(self) -> list[str]:
        """The names of everything that the group has."""
        return list(self)

    def __repr__(self) -> str:
        shown = {k: v.item() if isinstance(v, Tensor) else v for k, v in self.options.items()}
        inside = ", ".join(f"{k}={v!r}" for k, v in shown.items())
        return f"Group({len(self.params)} parameters, {inside})"


def _changed(tensor: Tensor, value: Tensor, skip: Tensor | None) -> Tensor:
    """The tensor with a new value, or with the old one where `skip` is true."""
    if skip is not None:
        near = skip if skip.device == tensor.device else skip.to(tensor.device)
        value = near.where(tensor.detach(), value)
    return tensor.assign(value)


def number(value: float, device: str | tuple[str, ...] | None = None) -> Tensor:
    """A float64 scalar in memory, whose value can change without a new program."""
    where = device if isinstance(device, str) else None
    return Tensor(np.array(value, np.float64), device=where, requires_grad=False)


def put(scalar: Tensor, value: Any) -> None:
    """Give a scalar another value: a number, or what a graph computes."""
    if isinstance(value, Tensor):
        near = value if value.device == scalar.device else value.to(scalar.device)
        scalar.assign(near.cast(dtypes.float64))
    else:
        scalar.replace(number(value, scalar.device))
