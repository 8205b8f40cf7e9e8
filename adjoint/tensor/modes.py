"""Modes: `no_grad` and `Tensor.train()`; `autocast` is one, too (`autocast.py`).

A mode belongs to the context (a thread, a task) that entered it, and nests: a stack in that context
holds the previous state. So one object, or one decorated function, may be entered again before it
is left, also by other threads. What may live here: modes. What may not: what they mean.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from contextvars import ContextVar
from functools import wraps
from typing import Any, ClassVar

from adjoint.errors import ArgumentError
from adjoint.tensor.tracing import grad_enabled

training: ContextVar[bool] = ContextVar("training", default=False)


class Mode:
    """A value of a variable inside `with mode:`, or inside the functions it decorates."""

    variable: ClassVar[ContextVar[Any]]
    _before: ClassVar[ContextVar[tuple[Any, ...]]]
    value: Any

    def __init_subclass__(cls) -> None:
        cls._before = ContextVar(f"before {cls.__name__}", default=())

    def __enter__(self) -> None:
        before = self.variable.get()
        self._before.set((*self._before.get(), before))
        self.variable.set(self.inside(before))

    def inside(self, before: Any) -> Any:
        """The value inside, where it was `before` outside."""
        return self.value

    def __exit__(self, *exc: object) -> None:
        *rest, before = self._before.get()
        self._before.set(tuple(rest))
        self.variable.set(before)

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """The function in this mode."""
        if inspect.isasyncgenfunction(fn):
            problem = f"{fn.__name__} is an asynchronous generator"
            fix = "enter the mode inside of it"
            raise ArgumentError("E2001", problem, op=type(self).__name__, help=fix)
        if inspect.iscoroutinefunction(fn):
            return wraps(fn)(self._awaited(fn))
        return wraps(fn)(self._stepwise(fn) if inspect.isgeneratorfunction(fn) else self._plain(fn))

    def _plain(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return fn(*args, **kwargs)

        return inside

    def _awaited(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        async def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return await fn(*args, **kwargs)

        return inside

    def _stepwise(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """The mode holds while the generator runs, not while its caller does."""

        def inside(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            generator = fn(*args, **kwargs)
            resume, value = generator.send, None
            while True:
                try:
                    with self:
                        made = resume(value)
                except StopIteration as end:
                    return end.value
                try:
                    resume, value = generator.send, (yield made)
                except GeneratorExit:
                    with self:
                        generator.close()
                    raise
                except BaseException as error:
                    resume, value = generator.throw, error

        return inside


class no_grad(Mode):
    """Inside, results do not require gradients: `with no_grad(): ...` or `@no_grad()`."""

    variable = grad_enabled
    value = False

    def __new__(cls, fn: Callable[..., Any] | None = None) -> Any:
        made = super().__new__(cls)
        return made if fn is None else made(fn)  # @no_grad


class train(Mode):
    """`with Tensor.train():` sets `Tensor.training` inside, which dropout and batch norm read."""

    variable = training

    def __init__(self, mode: bool = True):
        self.value = bool(mode)


class Modes:
    """Mixed into Tensor."""

    __slots__ = ()
    train, no_grad = train, no_grad
    training: Any = property(lambda tensor: training.get())


class TensorClass(type):
    """The class of Tensor: `Tensor.training` is a variable of the context."""

    @property
    def training(cls) -> bool:
        """Whether layers behave as in training, in this thread or task; can be set."""
        return training.get()

    @training.setter
    def training(cls, value: bool) -> None:
        training.set(bool(value))
