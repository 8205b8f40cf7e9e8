"""Hooks of modules: functions that run before a module, after it, and in its backward pass.

Hooks are part of a module's structure, so `jit` traces again when one is added or removed; inside
`jit` they run while tracing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.errors import ArgumentError
from adjoint.tensor import Tensor
from adjoint.transforms.custom_rules.custom import custom_vjp

Hook = Callable[..., Any]


class HookHandle:
    """The handle of a registered hook; `remove()` removes the hook."""

    def __init__(self, module: Any, place: str, hook: Hook):
        if not callable(hook):
            raise ArgumentError("E2001", f"a hook is a function, not {hook!r}", op=place)
        self._of, self._place, self._hook = module, place, hook
        setattr(module, place, (*getattr(module, place), hook))

    def remove(self) -> None:
        """Remove the hook."""
        kept = tuple(h for h in getattr(self._of, self._place) if h is not self._hook)
        setattr(self._of, self._place, kept)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def call(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The module's forward with its hooks around it."""
    for hook in module._forward_pre_hooks:
        changed = hook(module, args)
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    if module._backward_hooks:
        result = _watched(module, args, kwargs)
    else:
        result = module.forward(*args, **kwargs)
    for hook in module._forward_hooks:
        changed = hook(module, args, result)
        result = result if changed is None else changed
    return result


def _watched(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call with identities around it, whose backward passes call the hooks."""
    outgoing: list[Any] = []

    def entering(number: int) -> Callable[[Tensor], Tensor]:
        return lambda g: _entered(module, args, number, g, outgoing)

    def leaving(g: Tensor) -> Tensor:
        outgoing.append(g)
        return g

    marked = [_identity(a, entering(i)) if _floats(a) else a for i, a in enumerate(args)]
    result = module.forward(*marked, **kwargs)
    if not _floats(result):
        problem = "backward hooks are for modules that give one float tensor"
        raise ArgumentError("E2001", problem, op=type(module).__name__)
    return _identity(result, leaving)


def _entered(module: Any, args: tuple[Any, ...], number: int, g: Tensor, out: list[Any]) -> Tensor:
    """The gradient of one input, after the hooks have seen it and that of the result."""
    inputs: Any = tuple(g if i == number else None for i in range(len(args)))
    for hook in module._backward_hooks:
        changed = hook(module, inputs, (out[-1],))
        if changed is not None:
            inputs = changed
    found: Tensor = inputs[number]
    return found


def _floats(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype.is_inexact


def _identity(x: Tensor, backward: Callable[[Tensor], Tensor]) -> Tensor:
    same = custom_vjp(lambda v: +v)
    same.defvjp(lambda v: (+v, ()), lambda kept, g: (backward(g),))
    y: Tensor = same(x)
    return y
