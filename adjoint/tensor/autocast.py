"""Mixed precision: `with autocast("bfloat16"):` and the state that it sets.

Ops whose record has a `precision` cast their operands where they are called on tensors (`lift.py`);
casts are nodes like any others, so gradients come back in the dtype of what was cast. What may live
here: the state and the mode. What may not: what an op does (`ir/precision.py`, the records).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from adjoint.errors import AdjointError, ArgumentError, DTypeError
from adjoint.ir.dtype import DType, as_dtype, dtypes
from adjoint.ir.opdef import OpDef
from adjoint.ir.precision import cast_operands
from adjoint.ir.uop import UOp
from adjoint.target import ALIASES, TARGETS, canonical_device
from adjoint.tensor.modes import Mode

if TYPE_CHECKING:
    from adjoint.tensor.types import DTypeLike

_LOW = (dtypes.bfloat16, dtypes.float16)
Place = str | tuple[str, ...] | None  # the device, or devices, of a node


@dataclass(frozen=True, slots=True)
class Casting:
    """What products are computed in: on every kind of device, and on some kinds apart."""

    everywhere: DType | None
    apart: tuple[tuple[str, DType | None], ...] = ()

    def dtype_on(self, device: Place) -> DType | None:
        """The dtype on a device; None: nothing is cast there."""
        kind = _kind(device)
        return next((dtype for name, dtype in self.apart if name == kind), self.everywhere)

    def changed(self, kind: str, dtype: DType | None) -> Casting:
        """The same with another dtype on one kind of device."""
        rest = {**dict(self.apart), kind: dtype}
        kept = sorted((name, d) for name, d in rest.items() if d is not self.everywhere)
        return Casting(self.everywhere, tuple(kept))

    def caller(self, record: OpDef) -> Callable[..., Any]:
        """The record's function, with its operands cast; an explicit `dtype` is obeyed."""

        def call(*args: Any, **options: Any) -> Any:
            wanted = self.dtype_on(_place(args))
            if wanted is not None and record.precision and not _says_dtype(record, args, options):
                args, options = cast_operands(record.precision, wanted, args, options)
            return record(*args, **options)

        return call


casting: ContextVar[Casting | None] = ContextVar("casting", default=None)


@contextmanager
def casting_as(state: Casting | None) -> Iterator[None]:
    """Inside, operands are cast as they were where this state was read."""
    token = casting.set(state)
    try:
        yield
    finally:
        casting.reset(token)


def _says_dtype(record: OpDef, args: Any, options: Any) -> bool:
    """Whether the call names a dtype."""
    place = _place_of_dtype(record)
    given = args[place] if place is not None and place < len(args) else options.get("dtype")
    return given is not None


@cache
def _place_of_dtype(record: OpDef) -> int | None:
    """The position of the parameter `dtype`, where it has one among those given by position."""
    parameters = inspect.signature(record.signature or record.call).parameters
    place = list(parameters).index("dtype") if "dtype" in parameters else None
    by_name = place is None or parameters["dtype"].kind is inspect.Parameter.KEYWORD_ONLY
    return None if by_name else place


def _kind(device: Place) -> str:
    name = device[0] if isinstance(device, tuple) else device
    return "" if name is None else name.partition(":")[0]


def _place(values: Any) -> Place:
    """The device of the first operand that has one."""
    for value in values:
        found = _place(value) if isinstance(value, (list, tuple)) else None
        found = value.device if isinstance(value, UOp) else found
        if found is not None:
            return found
    return None


class autocast(Mode):
    """Inside, products are computed in a low dtype, and sensitive ops in float32.

    `with autocast("bfloat16"): ...` or `@autocast("float16")`. Each op follows its record: products
    (`matmul`, `linear`, convolutions, `attention`, `einsum`) cast their operands to `dtype`;
    exponentials, powers, sums, norms and losses cast low ones to float32; others compute in the
    dtypes of their operands. Parameters and their gradients keep their dtypes. `device` limits it
    to one kind of device ("GPU"), `enabled=False` switches it off inside.
    """

    variable = casting

    def __init__(
        self, dtype: DTypeLike = "bfloat16", *, enabled: bool = True, device: str | None = None
    ):
        kind = _low(dtype)
        self.value = kind if enabled else None
        self.device = None if device is None else _kind(canonical_device(device))

    def inside(self, before: Casting | None) -> Casting | None:
        """The state inside; None without casts."""
        if self.device is None:
            made = Casting(self.value)
        else:
            made = (before or Casting(None)).changed(self.device, self.value)
        return None if made == Casting(None) else made

    @staticmethod
    def dtype_on(device: Place = None) -> DType | None:
        """The dtype that products are computed in here, on a device; None: in their own."""
        state = casting.get()
        if state is None:
            return None
        return state.dtype_on(canonical_device(device) if isinstance(device, str) else device)


def _low(value: Any) -> DType:
    """The low dtype that is meant."""
    fix = 'autocast("bfloat16") or autocast("float16")'
    if isinstance(value, str) and value.partition(":")[0].upper() in {*TARGETS, *ALIASES}:
        problem = f"the first argument is a dtype, not the device {value!r}"
        fix = f'autocast("bfloat16", device={value!r})'
        raise ArgumentError("E2001", problem, op="autocast", help=fix)
    try:
        kind = as_dtype("" if value is None else value)  # to NumPy None is float64
    except AdjointError:
        raise DTypeError("E2001", f"{value!r} is not a dtype", op="autocast", help=fix) from None
    if kind not in _LOW:
        problem = f"computes products in bfloat16 or float16, not in {kind.name}"
        fix = "enabled=False computes as ever" if kind.is_float and kind.itemsize > 2 else fix
        raise DTypeError("E2005", problem, op="autocast", help=fix)
    return kind
