"""L-BFGS: steps by an estimate of the inverse Hessian from the last few gradients.

It calls a function for the loss again and again within a step and decides by its values, so it is
an object alone and not for `jit` or groups of parameters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.errors import ArgumentError
from adjoint.nn.optim.parameters import listed_groups, trainable
from adjoint.nn.optim.pure import check_options
from adjoint.tensor import Tensor

Array = np.ndarray[Any, Any]
_C1, _C2 = 1e-4, 0.9  # of the strong Wolfe conditions: decrease and flatness


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
        self._last: tuple[Array, Array] | None = None  # the last gradient and direction
        self._step = self.lr

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for p in self.params:
            p.grad = None

    def step(self, closure: Any) -> Tensor:
        """Minimise the loss; the loss before the first change comes back."""
        if not callable(closure):
            fix = "give a function that computes the loss and calls backward()"
            raise ArgumentError("E2001", "needs a closure", op="LBFGS", help=fix)
        first: Tensor = closure()
        value, gradient = float(first.item()), self._gradient()
        calls = 1
        for _ in range(self.max_iter):
            if np.abs(gradient).max(initial=0.0) <= self.tolerance_grad:
                break
            direction = self._direction(gradient)
            slope = float(gradient @ direction)
            if slope > -self.tolerance_change:
                break
            start, before = self._place(), value
            value, gradient, used = self._moved(
                closure, start, direction, (value, gradient, slope), self.max_eval - calls
            )
            calls += used
            change = np.abs(self._place() - start).max(initial=0.0)
            small = change <= self.tolerance_change
            if small or abs(value - before) < self.tolerance_change or calls >= self.max_eval:
                break
        return first

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
            self._step = self.lr
        else:
            self._step = min(1.0, 1.0 / np.abs(gradient).sum()) * self.lr
        for (s, y), weight in zip(self._pairs, reversed(weights), strict=True):
            q = q + s * (weight - float(y @ q) / float(y @ s))
        return q

    def _moved(
        self, closure: Any, start: Array, direction: Array, here: Any, most: int
    ) -> tuple[float, Array, int]:
        """Take a step: the new loss and gradient, and how often the closure was called."""
        calls = 0

        def at(length: float) -> tuple[float, Array, float]:
            nonlocal calls
            calls += 1
            self._put(start + length * direction)
            value = float(closure().item())
            gradient = self._gradient()
            return value, gradient, float(gradient @ direction)

        if self.line_search_fn is None:
            length = self._step
            value, gradient, _ = at(length)
        else:
            length, (value, gradient, _) = _search(at, self._step, here, max(most, 1))
            self._put(start + length * direction)
        self._last = (here[1], length * direction)
        return value, gradient, calls

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


def _search(at: Any, length: float, here: Any, most: int) -> tuple[float, Any]:
    """A length with the strong Wolfe conditions (Nocedal and Wright, 3.5): bracket, then halve."""
    value, _, slope = here
    low, high, best = 0.0, np.inf, None
    for _ in range(most):
        found = at(length)
        if not found[0] <= value + _C1 * length * slope:  # too far, or not a number
            high = length
        elif abs(found[2]) <= -_C2 * slope:
            return length, found
        else:
            best = (length, found)
            low, high = (length, high) if found[2] < 0 else (low, length)
        length = 2 * length if high == np.inf else (low + high) / 2
    return best if best is not None else (0.0, at(0.0))
