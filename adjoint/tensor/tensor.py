"""`Tensor`: a mutable handle on an immutable node.

What may live here: the handle itself: how it is made, read, realized, assigned, and asked for
gradients. What may not: ops (records), indexing, creation, random numbers, interchange: each has
its own file and is mixed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self

from adjoint.engine import realize as engine
from adjoint.engine.counters import muted
from adjoint.errors import ScalarError, ShapeError, UnknownNameError, did_you_mean
from adjoint.ir import sizes
from adjoint.ir.dtype import DType, as_dtype
from adjoint.ir.mesh import Sharding
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, is_there, make_known
from adjoint.runtime.device import Device
from adjoint.tensor import from_data, tracing
from adjoint.tensor._twins import Twins
from adjoint.tensor.creation import Creation
from adjoint.tensor.data_dependent import DataDependent
from adjoint.tensor.getitem import Indexing
from adjoint.tensor.gradients import Gradients
from adjoint.tensor.interchange import Interchange
from adjoint.tensor.layouts import beside, written
from adjoint.tensor.lift import lift
from adjoint.tensor.marked import ends_here, view_apart
from adjoint.tensor.modes import Modes, TensorClass, no_grad
from adjoint.tensor.random import Random
from adjoint.tensor.sampling import Sampling
from adjoint.tensor.sharded import Spreading
from adjoint.tensor.tracing import grad_enabled
from adjoint.tensor.types import DeviceLike, DTypeLike
from adjoint.tensor.views import (
    become,
    cannot_write,
    compute_written,
    is_view,
    reread,
    settled,
    writing,
)

_BUFFER, _UNIQUE = OPS["buffer"], OPS["unique_identity"]


class Tensor(
    Twins,
    Gradients,
    Creation,
    Random,
    Interchange,
    Indexing,
    DataDependent,
    Sampling,
    Spreading,
    Modes,
    metaclass=TensorClass,
):
    """A multi-dimensional array of one dtype on one device, computed when it is read.

    `Tensor(data)` takes numbers, nested lists, NumPy arrays, bytes, a `pathlib.Path` (mapped, read
    lazily) or a node.
    """

    __slots__ = ("__weakref__", "_grad", "_past", "_requires_grad", "_tie", "uop")
    __array_priority__ = 100.0
    uop: UOp
    _tie: Any  # a view's base and path; see views.py
    _past: list[Any]  # of a tensor with requires_grad=True; see marked.py
    _grad: Tensor | None
    custom_kernel: ClassVar[Callable[..., Any]]  # see transforms/kernels.py

    def __init__(
        self,
        data: Any = None,
        device: DeviceLike = None,
        dtype: DTypeLike | None = None,
        requires_grad: bool | None = None,
    ):
        kind = None if dtype is None else as_dtype(dtype)
        self.uop = from_data.node_of(
            data, None if device is None else Device.canonicalize(device), kind
        )
        self._grad = self._tie = None
        self._requires_grad = None
        if requires_grad is None:
            self._inherit(data)
        else:
            self.requires_grad = requires_grad
        tracing.register(self)

    def _inherit(self, data: Any) -> None:
        """The result of other tensors has their history, unless gradients are off."""
        if not isinstance(data, (Tensor, list, tuple)) or not from_data.wants_gradient(data):
            return
        if grad_enabled.get() and self.uop.dtype.is_inexact:
            self._requires_grad = True
        else:
            self.uop, self._requires_grad = OPS["detach"](self.uop), False

    # ---- what it is

    @property
    def shape(self) -> tuple[int, ...]:
        return self.uop.shape

    @property
    def dtype(self) -> DType:
        return self.uop.dtype

    @property
    def device(self) -> str | tuple[str, ...]:
        """The device's name; a tuple of names for a tensor on a mesh (see `.sharding`)."""
        device = self.uop.device or Device.DEFAULT
        return Sharding(device.mesh) if isinstance(device, Sharding) else device

    @property
    def ndim(self) -> int:
        return len(self.uop.shape)

    @property
    def size(self) -> from_data.ElementCount:
        """The number of elements; called, the shape or one of its extents: `size()`, `size(0)`."""
        return from_data.ElementCount(self.uop.size, self.uop.shape)

    def numel(self) -> int:
        """The number of elements."""
        return self.uop.size

    def element_size(self) -> int:
        """The bytes of one element."""
        return self.dtype.itemsize

    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.uop.size * self.dtype.itemsize

    def is_floating_point(self) -> bool:
        """Whether the elements are real floating-point numbers."""
        return self.dtype.is_float

    def __len__(self) -> int:
        if not self.shape:
            raise ScalarError("E3002", "a scalar has no length", op="len", operands=[("x", self)])
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.shape:
            problem = "a scalar has no parts to go through"
            raise ScalarError("E3002", problem, op="iter", operands=[("x", self)])
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: object) -> bool:
        """Whether an element equals the value, or elements an array of them."""
        equal: object = self == value
        return isinstance(equal, Tensor) and bool(equal.any())

    __hash__ = object.__hash__  # by identity

    # ---- values

    def realize(self, *others: Tensor, do_update_stats: bool = True) -> Self:
        """Compute this tensor (and others, together); nothing else changes. With
        `do_update_stats=False` no `counters()` counts the work."""
        if not do_update_stats:
            with muted():
                return self.realize(*others)
        if not others and self.uop.op is _BUFFER:
            return self
        tensors: tuple[Tensor, ...] = (self, *others)
        if tracing.open_scopes.get() and tracing.deferred(t.uop for t in tensors):
            return self
        compute_written(tensors)
        nodes = [tensor._apart() for tensor in tensors]
        engine.realize(*nodes)
        for tensor, node in zip(tensors, nodes, strict=True):
            tensor._settle(node)
        return self

    def _apart(self) -> UOp:
        """The node that gets this tensor's value."""
        node = self.uop
        return node if self._requires_grad or tracing.has_history(node) else engine.apart(node)

    def _settle(self, computed: UOp) -> None:
        """Drop the history of a value that no gradient will ask for."""
        node = self.uop
        own = computed if computed.op is _UNIQUE and computed.src[0] is node else node
        if own.realized is None or tracing.has_history(node):
            return
        if self._requires_grad is not True or ends_here(node):
            buffer = own.realized  # which comes from the line that made the node
            arg, device = _BUFFER.arg(buffer), buffer.device  # type: ignore[misc]
            shape = buffer.shape
            if sizes.living and shape == node.shape:
                shape = sizes.settled(node.shape)
            shared = is_there(_BUFFER, (), arg)
            new = make_known(_BUFFER, (), arg, shape, buffer.dtype, device, node._origin)
            if not sizes.alike(new.shape, shape):
                return  # the memory of another tensor, of a size that does not vary
            if shared and new is not node:
                new = view_apart(new, buffer)
            with writing:
                if self.uop is node:  # else another thread has written to it meanwhile
                    settled(self, new)

    def schedule_with_vars(self, *others: Tensor) -> tuple[list[Any], dict[str, int]]:
        """The steps that would compute these tensors, and the value of every variable by name."""
        return engine.scheduled_with_bindings(t.uop for t in (self, *others))

    def schedule(self, *others: Tensor) -> list[Any]:
        """The steps that would compute these tensors."""
        return self.schedule_with_vars(*others)[0]

    def replace(self, other: Tensor) -> Self:
        """Make this handle show another tensor's value."""
        if self.shape != other.shape or self.dtype is not other.dtype:
            operands = [("self", self), ("other", other)]
            raise ShapeError("E3003", "types differ", op="replace", operands=operands)
        become(self, other.uop)
        return self

    def assign(self, value: Any) -> Self:
        """Give this tensor, and those it is a view of or that are views of it, a new value; what
        was computed from the old one keeps it."""
        node = self._operand(value)
        with writing:
            new = node.expand(self.shape) if node.size == 1 else node
            become(self, OPS["assign"](self.uop, written(new, self.uop)))
        return self

    def _operand(self, value: Any) -> UOp:
        if isinstance(value, Tensor):
            return value.uop
        return Tensor(value, device=self.device, dtype=self.dtype).uop

    def clone(self) -> Tensor:
        """The same values in a buffer of their own."""
        if from_data.is_lent(self.uop):
            return lift(from_data.kept_apart, (self,), None)
        return self.contiguous()

    def _copied_to(self, device: DeviceLike) -> Tensor:
        """The same values on another device; `to` (aliases.py) changes dtypes too."""
        return lift.op("copy", self, Device.canonicalize(device))

    def to_(self, device: DeviceLike) -> Self:
        """Move this handle to another device."""
        return self._moved(self._copied_to(device))

    def _moved(self, there: Tensor) -> Self:
        """This handle, its views and its gradient on another device; a view cannot go without its
        base."""
        if is_view(self) and there.uop.device != self.uop.device:
            raise cannot_write(self.uop, "a view is where its base is, and cannot be moved alone")
        become(self, there.uop)
        if self.grad is not None:
            self.grad = Tensor(beside(self.grad.uop, there.uop)).requires_grad_(False)
        return self

    # ---- operators that are more than an op

    def __pos__(self) -> Tensor:
        if from_data.is_lent(self.uop):
            return self.clone()
        return lift.handle(self.uop, self._requires_grad)

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]
        if other is None or isinstance(other, str):
            return NotImplemented  # Python then says False: `None in [x]` has an answer
        return lift.two("eq", self, other)

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]
        if other is None or isinstance(other, str):
            return NotImplemented
        return lift.two("ne", self, other)

    if not TYPE_CHECKING:  # to a checker of types a name that is not written is an error

        def __getattr__(self, name: str) -> Any:
            if name == "uop" and self._tie is not None:
                return reread(self)  # a view whose base has been written
            if name in Tensor.__slots__ or name.startswith("__"):
                raise AttributeError(name)
            near = did_you_mean(name, [n for n in dir(Tensor) if not n.startswith("_")])
            raise UnknownNameError("E2002", f"Tensor has no attribute {name!r}", help=near)


lift.cls = Tensor

__all__ = ["Tensor", "lift", "no_grad"]
