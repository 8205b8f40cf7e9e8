"""L-BFGS: steps by an estimate of the inverse Hessian from the last few gradients.

It calls a function for the loss again and again within a step and decides by its values, so it is
an object alone and not for `jit` or groups of parameters. Elsewhere: the line search.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, FileError
from adjoint.nn.optim.line_search import Point, strong_wolfe
from adjoint.nn.optim.parameters import listed_groups, trainable
from adjoint.nn.optim.pure import check_options
from adjoint.nn.state import LoadReport, load_state_dict
from adjoint.tensor import Tensor

Array = np.ndarray[Any, Any]


class LBFGS:
    """Limited-memory BFGS; `step(closure)` takes up to `max_iter` of its steps.

    `closure()` forgets the gradients, computes the loss, calls `backward()` and gives the loss.
    `line_search_fn="strong_wolfe"` looks for a step that decreases and flattens the loss enough;
    without it every step is `lr` long.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ):
        check_options("LBFGS", lr, max_iter=max_iter, history_size=history_size)
        if line_search_fn not in (None, "strong_wolfe"):
            problem = f'line_search_fn is None or "strong_wolfe", not {line_search_fn!r}'
            raise ArgumentError("E2008", problem, op="LBFGS")
        groups = listed_groups("LBFGS", params)
        if len(groups) != 1:
            raise ArgumentError("E2007", "takes one group of parameters", op="LBFGS")
        self.params = [p for _, p in trainable("LBFGS", groups[0]["params"])]
        self.lr, self.max_iter, self.history_size = float(lr), int(max_iter), int(history_size)
        self.max_eval = max_iter * 5 // 4 if max_eval is None else int(max_eval)
        self.tolerance_grad, self.tolerance_change = tolerance_grad, tolerance_change
        self.line_search_fn = line_search_fn
        self._pairs: list[tuple[Array, Array]] = []  # of changes: of the place, of the gradient
        self._last: tuple[Array, Array] | None = None  # the last gradient and the step after it
        self._steps = 0  # that were taken

    def zero_grad(self) -> None:
        """Reset the gradients to None."""
        for p in self.params:
            p.grad = None

    def step(self, closure: Any) -> Tensor:
        """Minimise the loss; the loss before the first change comes back."""
        if not callable(closure):
            fix = "give a function that computes the loss and calls backward()"
            raise ArgumentError("E2001", "needs a closure", op="LBFGS", help=fix)
        first: Tensor = closure()
        here = Point(0.0, float(first.item()), self._gradient(), 0.0)
        self._calls = 1
        for left in reversed(range(self.max_iter)):
            if self._is_flat(here):
                break
            direction = self._direction(here.gradient)
            slope = float(here.gradient @ direction)
            if slope > -self.tolerance_change:
                break
            before = Point(0.0, here.value, here.gradient, slope)
            here = self._moved(closure, before, direction, evaluate=left > 0)
            step = here.length * direction
            self._last = before.gradient, step
            self._steps += 1
            if self._calls >= self.max_eval or np.abs(step).max() <= self.tolerance_change:
                break
            if abs(here.value - before.value) < self.tolerance_change:
                break
        return first

    def _is_flat(self, here: Point) -> bool:
        return bool(np.abs(here.gradient).max(initial=0.0) <= self.tolerance_grad)

    def _direction(self, gradient: Array) -> Array:
        """Downhill by the two-loop recursion; straight down at first."""
        if self._last is not None:
            was, moved = self._last
            change = gradient - was
            if float(change @ moved) > 1e-10:
                self._pairs = [*self._pairs, (moved, change)][-self.history_size :]
        q, weights = -gradient, []
        for s, y in reversed(self._pairs):
            weights.append(float(s @ q) / float(y @ s))
            q = q - weights[-1] * y
        if self._pairs:
            s, y = self._pairs[-1]
            q = q * (float(y @ s) / float(y @ y))
        for (s, y), weight in zip(self._pairs, reversed(weights), strict=True):
            q = q + s * (weight - float(y @ q) / float(y @ s))
        return q

    def _moved(self, closure: Any, before: Point, direction: Array, evaluate: bool) -> Point:
        """Take a step. Without a line search its end is evaluated only if that is asked for: the
        next call of `step` does it otherwise."""
        start = self._place()

        def at(length: float) -> Point:
            self._calls += 1
            self._put(start + length * direction)
            value, gradient = float(closure().item()), self._gradient()
            return Point(length, value, gradient, float(gradient @ direction))

        length = self.lr
        if not self._steps:
            length *= min(1.0, 1.0 / float(np.abs(before.gradient).sum()))
        if self.line_search_fn is not None:
            reach = float(np.abs(direction).max())
            found = strong_wolfe(at, before, length, reach, self.tolerance_change)
            self._put(start + found.length * direction)
            return found
        if evaluate:
            return at(length)
        self._put(start + length * direction)
        return Point(length, before.value, before.gradient, before.slope)

    # ---- state

    def state_dict(self) -> dict[str, Tensor]:
        """The count of steps, the last gradient and step, and the changes that are remembered."""
        arrays = {"lr": np.float64(self.lr), "steps": np.int64(self._steps)}
        kept: dict[str, Any] = arrays
        if self._last is not None:
            kept = {**arrays, "last_gradient": self._last[0], "last_step": self._last[1]}
        for number, (s, y) in enumerate(self._pairs):
            kept |= {f"steps_kept.{number}": s, f"changes_kept.{number}": y}
        return {name: Tensor(np.array(array)) for name, array in kept.items()}

    def load_state_dict(self, state: Any, strict: bool = True) -> LoadReport:
        """Take values by name, as many changes as the state remembers; see
        `nn.state.load_state_dict`."""
        names = state.keys() if isinstance(state, Mapping) else ()
        count = sum(name.startswith("steps_kept.") for name in names)
        if count > self.history_size:
            problem = (
                f"the state remembers {count} changes, and history_size is {self.history_size}"
            )
            raise FileError("E9002", problem, op="LBFGS", help="make it with a longer history")
        size = sum(p.numel() for p in self.params)
        rows = [f"{kind}.{i}" for i in range(count) for kind in ("steps_kept", "changes_kept")]
        if "last_gradient" in names or "last_step" in names:
            rows += ["last_gradient", "last_step"]
        room = {"lr": Tensor(np.float64(self.lr)), "steps": Tensor(np.int64(self._steps))}
        room |= {name: Tensor(np.zeros(size)) for name in rows}
        report = load_state_dict(room, state, strict)
        found = {name: tensor.numpy() for name, tensor in room.items()}
        self.lr, self._steps = float(found["lr"]), int(found["steps"])
        self._pairs = [(found[f"steps_kept.{i}"], found[f"changes_kept.{i}"]) for i in range(count)]
        last = "last_gradient" in found
        self._last = (found["last_gradient"], found["last_step"]) if last else None
        return report

    # ---- parameters as one vector

    def _place(self) -> Array:
        return np.concatenate([p.numpy().astype(np.float64).reshape(-1) for p in self.params])

    def _gradient(self) -> Array:
        rows = [p.zeros_like() if p.grad is None else p.grad for p in self.params]
        return np.concatenate([g.numpy().astype(np.float64).reshape(-1) for g in rows])

    def _put(self, place: Array) -> None:
        offset = 0
        for p in self.params:
            part = place[offset : offset + p.numel()].reshape(p.shape)
            offset += p.numel()
            p.assign(Tensor(part, device=p.device).cast(p.dtype))
        Tensor.realize(*self.params)
