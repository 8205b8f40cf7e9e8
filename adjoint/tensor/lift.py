"""From records to Tensor methods: operands are unwrapped, the record is called, results wrapped.

What may live here: what all generated methods and functions of the namespace share. What may not:
any particular op.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from adjoint.ir.derivative import Stop
from adjoint.ir.opdef import OPS, OpDef, explained
from adjoint.ir.origin import renamed
from adjoint.ir.spelling import spelling_of
from adjoint.ir.uop import UOp, _functions
from adjoint.tensor.autocast import casting
from adjoint.tensor.live_tensors import noted
from adjoint.tensor.tracing import grad_enabled, open_scopes
from adjoint.tensor.views import tie, tie_results, writing

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

C = TypeVar("C")


class Lifter:
    """Calls functions of nodes with tensors. There is one, which knows the Tensor class."""

    __slots__ = ("cls",)
    cls: type[Tensor]

    def __init__(self, cls: type[Tensor] | None = None):
        if cls is not None:
            self.cls = cls

    def one(self, op: str, x: Any) -> Any:
        """The op of that name on one operand, with one result."""
        record = OPS[op]
        if record.precision is not None and _casting() is not None:
            return self(record, (x,), None)
        if type(x) is self.cls and _enabled():
            return self.handle(record.call(x.uop), x._requires_grad)
        return self(record.call, (x,), None)

    def two(self, op: str, x: Any, other: Any) -> Any:
        """The op of that name on two operands, with one result. Operators pass here: it must take
        no longer than the node takes to build."""
        record, cls, first, second = OPS[op], self.cls, type(x), type(other)
        if record.precision is not None and _casting() is not None:
            return self(record, (x, other), None)
        call = record.call
        if not _enabled():
            return self(call, (x, other), None)
        if first is cls:
            flag = x._requires_grad
            if second is cls:
                if flag is not other._requires_grad:
                    flag = flag or other._requires_grad or None
                return self.handle(call(x.uop, other.uop), flag)
            if second in _PLAIN:
                return self.handle(call(x.uop, other), flag)
        elif second is cls and first in _PLAIN:
            return self.handle(call(x, other.uop), other._requires_grad)
        return self(call, (x, other), None)

    def op(self, op: str, x: Any, /, *rest: Any, **options: Any) -> Any:
        """The op of that name."""
        record = OPS[op]
        if record.precision is not None and _casting() is not None:
            return self(record, (x, *rest), options)
        call = record.call
        plain = type(x) is self.cls and not options and _PLAIN.issuperset(map(type, rest))
        if not plain or not _enabled():
            return self(call, (x, *rest), options)
        result = call(x.uop, *rest)
        if type(result) is UOp:
            return self.handle(result, x._requires_grad)
        return self.wrap(result, [x._requires_grad])

    def view(self, op: str, x: Any, /, *rest: Any, **options: Any) -> Any:
        """The op of that name, whose results are views of its first operand."""
        with writing:  # what is shown and where it comes from belong together
            return self._viewed(OPS[op].call, x, rest, options)

    def _viewed(self, call: Any, x: Any, rest: tuple[Any, ...], options: Any) -> Any:
        if type(x) is self.cls and not options and _PLAIN.issuperset(map(type, rest)):
            result, flag = call(x.uop, *rest), passed_on(x._requires_grad)
            if type(result) is UOp:
                return tie(x, self.handle(result, flag), call, rest)
            made = type(result)([self.handle(r, flag) for r in result])
            return tie_results(x, made, call, rest, None)
        made = self(call, (x, *rest), options)
        return tie_results(x, made, call, rest, options) if isinstance(x, self.cls) else made

    def __call__(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        if type(fn) is OpDef and fn.precision is not None:
            state = _casting()
            fn = fn if state is None else state.caller(fn)
        flags: list[bool | None] = []
        nodes = []
        cls = self.cls
        for value in args:
            kind = type(value)
            if kind is cls:
                flags.append(value._requires_grad)
                nodes.append(value.uop)
            elif kind in _PLAIN:
                nodes.append(value)
            else:
                nodes.append(self.unwrap(value, flags, args))
        if kwargs:
            options = {k: self.unwrap(v, flags, args) for k, v in kwargs.items()}
            result = fn(*nodes, **options)
        else:
            result = fn(*nodes)
        if type(result) is UOp:
            return self.handle(result, _joined(flags))
        return self.wrap(result, flags)

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
        tensor = _new(self.cls)
        tensor.uop = node
        tensor._requires_grad = requires_grad
        tensor._grad = tensor._tie = None
        reference, scopes = noted(tensor), _scopes()
        if scopes:
            scopes[-1].handles.append(reference)
        return tensor

    def handles(self, nodes: Iterable[UOp], flags: Iterable[bool | None]) -> list[Tensor]:
        """Handles of nodes that are values, outside of all scopes."""
        made = []
        for node, flag in zip(nodes, flags):  # noqa: B905 - hot
            tensor = _new(self.cls)
            tensor.uop = node
            tensor._requires_grad = flag
            tensor._grad = tensor._tie = None
            noted(tensor)
            made.append(tensor)
        return made


def _passes(node: UOp) -> bool:
    """Whether a gradient can come to the node from above and go on below."""
    return node.dtype.is_inexact and not isinstance(node.op.ad, Stop)


_enabled, _scopes, _new = grad_enabled.get, open_scopes.get, object.__new__
_casting = casting.get
lift = Lifter()  # whose class is set where that is made
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


def checked(plain: Any, record: OpDef, qualname: str) -> Callable[..., Any]:
    """The function, its options by either of their names; a call that does not fit it is an error
    with a code, in the op's own words. It has its name in tracebacks and origins too."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if kwargs:
                args, kwargs = spelling_of(record.name, record.signature or record.call)(
                    args, kwargs
                )
                return plain(*args, **kwargs)
            return plain(*args)
        except TypeError as error:
            raise explained(record, error, args, kwargs) from None

    shown: Any = renamed(call, plain.__name__, qualname)
    shown.__doc__, shown.__qualname__, shown.__module__ = plain.__doc__, qualname, "adjoint"
    shown.__wrapped__ = plain
    return shown


def checked_methods(cls: type[C]) -> type[C]:
    """Decorator: every method of the class that is a record's is `checked`."""
    for name, plain in list(vars(cls).items()):
        record = _functions.get(name) or _functions.get(name.removesuffix("_"))
        if record is None:
            continue
        if isinstance(plain, staticmethod):
            made = checked(plain.__func__, record, f"Tensor.{name}")
            setattr(cls, name, staticmethod(made))
        else:
            setattr(cls, name, checked(plain, record, f"Tensor.{name}"))
    return cls


def checked_functions(module: dict[str, Any], names: list[str]) -> None:
    """The functions of these names of a module are `checked`."""
    for name in names:
        module[name] = checked(module[name], _functions[name], name)
