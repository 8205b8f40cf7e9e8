"""GradScaler: losses times a factor, so that small gradients in float16 do not become 0.

A factor that is too large makes gradients infinite: then the step is left out and the factor made
smaller. Whether that is so is a tensor and the choice a `where`, so a jitted step is one program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adjoint.errors import ArgumentError, DTypeError, TrainingError
from adjoint.ir.dtype import dtypes
from adjoint.nn.optim.optimizer import Optimizer
from adjoint.tensor import Tensor
from adjoint.transforms.pytree import tree_map

_NAMES = ("scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker")


@dataclass(slots=True)
class _Visit:
    """What has been done for an optimiser since the last update."""

    optimizer: Optimizer
    found: Tensor  # whether a gradient is infinite or NaN
    stepped: bool = False


class GradScaler:
    """Scales losses up and gradients down, and leaves out steps whose gradients overflow.

    ```python
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)  # only if gradients are to be looked at, clipped for instance
    scaler.step(optimizer)
    scaler.update()
    ```

    After an overflow the factor is multiplied by `backoff_factor`; after `growth_interval` steps
    without one by `growth_factor`. bfloat16 has the range of float32 and needs none of it.
    """

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
        device: str | None = None,
    ):
        self._enabled = bool(enabled)
        self._set(growth_factor, backoff_factor, growth_interval)
        self._scale = _scalar(_positive("init_scale", init_scale), dtypes.float32, device)
        self._growth_tracker = _scalar(0, dtypes.int32, device)
        self._visits: dict[int, _Visit] = {}  # by the id of an optimiser

    def _set(self, growth_factor: Any, backoff_factor: Any, growth_interval: Any) -> None:
        if not growth_factor > 1:
            problem = f"growth_factor is above 1, not {growth_factor}"
            raise ArgumentError("E2006", problem, op="GradScaler")
        if not 0 < backoff_factor < 1:
            problem = f"backoff_factor is between 0 and 1, not {backoff_factor}"
            raise ArgumentError("E2006", problem, op="GradScaler")
        if not growth_interval >= 1:
            problem = f"growth_interval is 1 or more, not {growth_interval}"
            raise ArgumentError("E2006", problem, op="GradScaler")
        self.growth_factor, self.backoff_factor = float(growth_factor), float(backoff_factor)
        self.growth_interval = int(growth_interval)

    # ---- a step

    def scale(self, outputs: Any) -> Any:
        """A loss, or losses in a pytree, times the factor; in float32 at least."""
        if not self._enabled:
            return outputs
        return tree_map(lambda loss: loss * _beside(self._scale, loss), outputs)

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of the optimiser's parameters by the factor, once a step."""
        if not self._enabled:
            return
        if id(optimizer) in self._visits:
            problem = "the gradients of this optimiser have been divided already"
            fix = "call unscale_(optimizer) once before step(optimizer), and update() after it"
            raise TrainingError("E9002", problem, op="unscale_", help=fix)
        found = self._false()
        inverse = (1.0 / self._scale.cast(dtypes.float64)).cast(dtypes.float32)
        for p in _checked("unscale_", optimizer).params:
            if p.grad is not None:
                found = found | _beside(_overflows(p, p.grad), found)
                p.grad = p.grad * _beside(inverse, p).cast(p.grad.dtype)
        self._visits[id(optimizer)] = _Visit(optimizer, found)

    def step(self, optimizer: Optimizer, *others: Any) -> Any:
        """A step of the optimiser that changes nothing where a gradient is infinite or NaN.

        Everything is computed in one go, with `others` (the loss, say).
        """
        if not self._enabled:
            return optimizer.step(*others)
        if any(callable(other) for other in others):
            fix = "compute the loss and its gradients before step(optimizer)"
            raise ArgumentError("E2001", "takes no closure", op="GradScaler step", help=fix)
        if id(optimizer) not in self._visits:
            self.unscale_(optimizer)
        visit = self._visits[id(optimizer)]
        if visit.stepped:
            problem, fix = "this optimiser has taken its step already", "call update() after step()"
            raise TrainingError("E9002", problem, op="GradScaler step", help=fix)
        result = optimizer.step(*others, skip=visit.found)
        visit.stepped = True
        return result

    def update(self, new_scale: Any = None) -> None:
        """Make the factor smaller or larger, as the last step tells, or set it.

        After an error between `unscale_` and here, `update(scaler.get_scale())` begins anew.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale.assign(_new(new_scale, self._scale))
        elif self._visits:
            self._adapt()
        else:
            problem, fix = "no step has been taken", "call step(optimizer) before update()"
            raise TrainingError("E9002", problem, op="GradScaler update", help=fix)
        self._visits.clear()
        Tensor.realize(self._scale, self._growth_tracker)

    def _adapt(self) -> None:
        found, scale = self._false(), self._scale
        for visit in self._visits.values():
            found = found | visit.found
        count = self._growth_tracker + 1
        due = ~found & (count >= self.growth_interval)
        larger = scale * self.growth_factor
        larger = larger.isfinite().where(larger, scale)
        self._growth_tracker.assign((found | due).where(0, count))
        self._scale.assign(found.where(scale * self.backoff_factor, due.where(larger, scale)))

    def _false(self) -> Tensor:
        return self._scale != self._scale

    # ---- what it is like

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def get_scale(self) -> float:
        """The factor; 1 if it is not enabled."""
        return float(self._scale.item()) if self._enabled else 1.0

    def state_dict(self) -> dict[str, Any]:
        """The factor, the steps since it changed, and the options, under torch's names."""
        if not self._enabled:
            return {}
        options = (self.growth_factor, self.backoff_factor, self.growth_interval)
        values = (self.get_scale(), *options, int(self._growth_tracker.item()))
        return dict(zip(_NAMES, values, strict=True))

    def load_state_dict(self, state: Any) -> None:
        """Take what `state_dict` gave, torch's as well."""
        if not self._enabled:
            return
        missing = [name for name in _NAMES if name not in state]
        if missing:
            problem = f"the state has no {', '.join(missing)}"
            fix = "save the state of a GradScaler that is enabled"
            raise TrainingError("E9002", problem, op="GradScaler", help=fix)
        scale, growth, backoff, interval, count = (state[name] for name in _NAMES)
        self._set(growth, backoff, interval)
        device = self._scale.device
        self._scale.replace(_scalar(_positive("scale", scale), dtypes.float32, device))
        self._growth_tracker.replace(_scalar(int(count), dtypes.int32, device))

    def __repr__(self) -> str:
        options = f"growth_factor={self.growth_factor}, backoff_factor={self.backoff_factor}"
        return f"GradScaler({self.get_scale()}, {options}, growth_interval={self.growth_interval})"


def _scalar(value: float, dtype: Any, device: Any) -> Tensor:
    made = Tensor(value, dtype=dtype, device=device, requires_grad=False)
    return made.contiguous().realize()


def _positive(name: str, value: Any) -> float:
    if not 0 < float(value) < float("inf"):
        raise ArgumentError("E2006", f"{name} is above 0 and finite, not {value}", op="GradScaler")
    return float(value)


def _new(value: Any, like: Tensor) -> Tensor:
    """A factor that is given: a number, or a scalar tensor."""
    if isinstance(value, Tensor):
        return _beside(value, like).cast(like.dtype).reshape(())
    return _scalar(_positive("new_scale", value), like.dtype, like.device)


def _beside(value: Tensor, other: Tensor) -> Tensor:
    """The value on the device of another tensor."""
    return value if value.device == other.device else value.to(other.device)


def _overflows(p: Tensor, gradient: Tensor) -> Tensor:
    """Whether the gradient of a parameter has an element that is infinite or NaN."""
    if gradient.dtype is dtypes.float16:
        fix = "keep parameters in float32 and compute inside autocast('float16')"
        problem = "gradients of float16 parameters overflow before they can be divided"
        raise DTypeError("E2005", problem, op="unscale_", operands=[("parameter", p)], help=fix)
    return ~gradient.isfinite().all()


def _checked(op: str, optimizer: Any) -> Optimizer:
    if isinstance(optimizer, Optimizer):
        return optimizer
    problem = f"takes an optimiser of nn.optim with groups, not a {type(optimizer).__name__}"
    raise ArgumentError("E2001", problem, op=op, help="use SGD or Adam, say")
