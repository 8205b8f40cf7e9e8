"""From records to Tensor methods: operands are unwrapped, the record is called, results wrapped.

What may live here: the one wrapper that every generated method and namespace function shares. What
may not: any particular op.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.ir.derivative import Stop
from adjoint.ir.opdef import OPS, OpDef, explained
from adjoint.ir.origin import named
from adjoint.ir.spelling import spelling_of
from adjoint.ir.uop import UOp, _functions
from adjoint.tensor.live_tensors import noted
from adjoint.tensor.tracing import grad_enabled, open_scopes
from adjoint.tensor.views import RECORDS as VIEWS
from adjoint.tensor.views import tie, tie_results, writing

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


class Lifter:
    """Calls functions of nodes with tensors. One instance, bound to the Tensor class."""

    __slots__ = ("cls", "new")

    def __init__(self, cls: type[Tensor]):
        self.cls = cls
        self.new = object.__new__

    def __call__(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        flags: list[bool | None] = []
        nodes = []
        cls = self.cls
        for value in args:
            if type(value) is cls:
                flags.append(value._requires_grad)
                nodes.append(value.uop)
            else:
                nodes.append(self.unwrap(value, flags, args))
        if kwargs:
            named = {k: self.unwrap(v, flags, args) for k, v in kwargs.items()}
            result = fn(*nodes, **named)
        else:
            result = fn(*nodes)
        if type(result) is UOp:
            return self.handle(result, _joined(flags))
        return self.wrap(result, flags)

    def view(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        """The same for a function whose results are views of its first operand."""
        with writing:
            made = self(fn, args, kwargs)
            if not args or not isinstance(args[0], self.cls):
                return made
            return tie_results(args[0], made, fn, args[1:], kwargs)

    def unwrap(self, value: Any, flags: list[bool | None], args: tuple[Any, ...]) -> Any:
        kind = type(value)
        if kind is self.cls:
            flags.append(value._requires_grad)
            return value.uop
        if kind in _PLAIN:
            return value
        if kind is list or kind is tuple:
            return kind([self.unwrap(v, flags, args) for v in value])
        if isinstance(value, self.cls):
            flags.append(value._requires_grad)
            return value.uop
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, np.ndarray):
            device = next((a.device for a in args if isinstance(a, self.cls)), None)
            return self.cls(value, device=device).uop
        return value

    def wrap(self, result: Any, flags: list[bool | None]) -> Any:
        if type(result) is UOp:
            return self.handle(result, _joined(flags))
        if isinstance(result, tuple) and hasattr(result, "_fields"):
            return type(result)(*(self.wrap(r, flags) for r in result))
        if isinstance(result, (tuple, list)):
            return type(result)([self.wrap(r, flags) for r in result])
        return result

    def handle(self, node: UOp, requires_grad: bool | None) -> Tensor:
        if requires_grad:
            if requires_grad is _CUT:
                node, requires_grad = OPS["detach"](node), False
            elif not _passes(node):
                requires_grad = False
        tensor = self.new(self.cls)
        tensor.uop = node
        tensor._requires_grad = requires_grad
        tensor._grad = tensor._tie = None
        reference, scopes = noted(tensor), open_scopes.get()
        if scopes:
            scopes[-1].handles.append(reference)
        return tensor


def _passes(node: UOp) -> bool:
    """Whether a gradient can come to the node from above and go on below."""
    return node.dtype.is_inexact and not isinstance(node.op.ad, Stop)


_CUT: Any = object()  # inside no_grad: the result's history ends here
_PLAIN = frozenset({int, float, str, bool, type(None)})


def _joined(flags: list[bool | None]) -> bool | None:
    """True if any operand requires a gradient, else None if any is undecided, else False."""
    if not grad_enabled.get():
        return False if all(flag is False for flag in flags) else _CUT
    if len(flags) == 1:
        return flags[0]
    if True in flags:
        return True
    return None if None in flags or not flags else False


def passed_on(flag: bool | None) -> bool | None:
    """What `requires_grad` of one operand makes of the result's."""
    return flag if grad_enabled.get() or flag is False else _CUT


def method_for(name: str, record: OpDef, lift: Lifter) -> Callable[..., Any]:
    """The Tensor method of a record, under its own name in tracebacks and origins.

    One tensor, two, or one and a plain value are unwrapped here: calls of `lift` and of a function
    with its arguments in a tuple take as long as the node takes to build.
    """
    call, cls, handle = record.call, lift.cls, lift.handle

    def method(*args: Any, **kwargs: Any) -> Any:
        if kwargs or not grad_enabled.get():
            return lift(record, args, kwargs)
        try:
            if len(args) == 1 and type(args[0]) is cls:
                first = second = args[0]
                result = call(first.uop)
            elif len(args) == 2 and type(args[0]) is cls and type(args[1]) is cls:
                first, second = args
                result = call(first.uop, second.uop)
            elif len(args) == 2 and type(args[0]) is cls and type(args[1]) in _PLAIN:
                first = second = args[0]
                result = call(first.uop, args[1])
            else:
                return lift(record, args, kwargs)
        except TypeError as error:
            raise explained(record, error, args, kwargs) from None
        one, other = first._requires_grad, second._requires_grad
        if type(result) is UOp:
            return handle(result, one if one is other else one or other or None)
        return lift.wrap(result, [one, other])

    def view(x: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            with writing:  # what is shown and where it comes from belong together
                return viewed(x, *args, **kwargs)
        except TypeError as error:
            raise explained(record, error, (x, *args), kwargs) from None

    def viewed(x: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            args, kwargs = spelling_of(name, record.signature or call)(args, kwargs)
        if kwargs or type(x) is not cls or not _PLAIN.issuperset(map(type, args)):
            return lift.view(call, (x, *args), kwargs)
        result, flag = call(x.uop, *args), passed_on(x._requires_grad)
        if type(result) is UOp:
            return tie(x, handle(result, flag), call, args)
        return tie_results(x, type(result)([handle(r, flag) for r in result]), call, args, None)

    shown: Any = named(view if record.name in VIEWS else method, name, f"Tensor.{name}")
    shown.__doc__ = record.doc
    shown.__qualname__ = f"Tensor.{name}"
    shown.__module__ = "adjoint"
    if record.signature is not None:
        shown.__wrapped__ = record.signature
    return shown


def install(cls: type[Tensor], lift: Lifter) -> None:
    """Every record becomes a method, unless the class or a mixin has written that name itself."""
    for name, record in _functions.items():
        public = not isinstance(record, OpDef) or record.public
        if public and not hasattr(cls, name):
            setattr(cls, name, method_for(name, OPS[record.name], lift))
