"""The object form of an optimiser: parameters, groups, `step()`, `zero_grad()`.

The formulas are those of the pure form. A step builds a graph and realizes everything it changes in
one go; inside jit it is part of the traced program.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from adjoint.errors import ArgumentError, VerificationError, did_you_mean
from adjoint.nn.optim.group import Group
from adjoint.nn.optim.parameters import Named, listed_groups, trainable
from adjoint.nn.optim.pure import PureOptimizer
from adjoint.nn.running_statistics import waiting_buffers
from adjoint.nn.state import LoadReport, get_state_dict, load_state_dict
from adjoint.tensor import Tensor


class Optimizer:
    """Base of the optimisers: `Adam(params, lr=...)`, or `Adam([{"params": ..., "lr": ...}, ...])`.

    `params` are tensors, (name, tensor) pairs, or a dict from names to tensors. Those whose
    `requires_grad` is None are set to True; those where it is False are left alone.
    """

    pure: ClassVar[Callable[..., PureOptimizer]]

    def __init_subclass__(
        cls, pure: Callable[..., PureOptimizer] | None = None, **named: Any
    ) -> None:
        super().__init_subclass__(**named)
        if pure is not None:
            cls.pure = staticmethod(pure)
        first = inspect.Parameter("params", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        rest = inspect.signature(cls.pure).parameters.values()
        cls.__signature__ = inspect.Signature([first, *rest])  # type: ignore[attr-defined]

    def __init__(self, params: Any, *args: Any, **options: Any):
        self.defaults: dict[str, Any] = self._options(args, options)
        self.param_groups: list[Group] = []
        for group in listed_groups(self._name, params):
            self.add_param_group(group)

    def _options(self, args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
        pure = type(self).pure
        try:
            inspect.signature(pure).bind(*args, **options)
        except TypeError as error:
            known = ", ".join(inspect.signature(pure).parameters)
            problem, fix = f"{error}", f"the options are {known}"
            raise ArgumentError("E2007", problem, op=self._name, help=fix) from None
        return pure(*args, **options).options

    @property
    def _name(self) -> str:
        return type(self).__name__

    # ---- groups

    def add_param_group(self, group: dict[str, Any]) -> None:
        """Train more parameters, with options of their own where they are given."""
        (read,) = listed_groups(self._name, [group])
        pairs = trainable(self._name, read["params"])
        self._check_new(pairs)
        made = [self._made(part) for part in self.split({**read, "params": pairs})]
        self.param_groups += made
        state = [t for g in made for t in (g.step, *g.state)]
        Tensor.realize(*(p for _, p in pairs), *state)

    def split(self, group: dict[str, Any]) -> list[dict[str, Any]]:
        """The groups that a group becomes."""
        return [group]

    def _made(self, group: dict[str, Any]) -> Group:
        options = {k: v for k, v in group.items() if k != "params"}
        for name in options:
            if name not in self.defaults:
                fix = did_you_mean(name, self.defaults)
                problem = f"there is no option {name!r}"
                raise ArgumentError("E2001", problem, op=self._name, help=fix)
        return Group(group["params"], type(self).pure(**{**self.defaults, **options}))

    def _check_new(self, pairs: list[Named]) -> None:
        known = {id(p) for p in self.params}
        for name, p in pairs:
            if id(p) in known:
                problem = f"{name} is in another group already"
                raise VerificationError("E4002", problem, op=self._name, operands=[(name, p)])

    @property
    def params(self) -> list[Tensor]:
        """The parameters of all groups."""
        return [p for group in self.param_groups for p in group.params]

    @property
    def lr(self) -> Tensor:
        """The learning rate of the first group, a float64 scalar; setting it sets all groups'."""
        return self.param_groups[0].lr

    @lr.setter
    def lr(self, value: Any) -> None:
        for group in self.param_groups:
            group["lr"] = value

    # ---- steps

    def schedule_step(self, skip: Tensor | None = None) -> list[Tensor]:
        """Take a step without computing it: the tensors whose values are new."""
        return [t for group in self.param_groups for t in group.schedule_step(skip)]

    def step(self, *others: Any, skip: Tensor | None = None) -> Any:
        """Change the parameters by their gradients.

        Everything is computed in one go, with the gradients and with `others` (the loss, say). A
        function, as torch takes one, is called first: it computes the gradients and gives the loss.
        Where `skip`, a bool without axes, is true, nothing changes, the count of steps neither.
        """
        results = [other() if callable(other) else other for other in others]
        grads = [p.grad for p in self.params if p.grad is not None]
        asked = [] if skip is None else [skip]
        changed = self.schedule_step(skip)
        Tensor.realize(*changed, *grads, *results, *asked, *waiting_buffers())
        return results[0] if results else None

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients, or set them to zeros."""
        for p in self.params:
            if set_to_none:
                p.grad = None
            elif p.grad is not None:
                p.grad = p.zeros_like().requires_grad_(False)

    # ---- state

    def state_dict(self) -> dict[str, Tensor]:
        """Learning rates, counts of steps and what is kept per parameter, by name."""
        return get_state_dict(self)

    def load_state_dict(self, state: Any, strict: bool = True) -> LoadReport:
        """Take values by name; see `nn.state.load_state_dict`."""
        return load_state_dict(self, state, strict)

    def __repr__(self) -> str:
        return f"{self._name}({', '.join(map(repr, self.param_groups))})"
