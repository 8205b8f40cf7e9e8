"""`Module`: the base class of layers and models.

A module is any object with tensors and other modules in its attributes; nothing is registered. It
is a pytree, so `grad`, `jit`, `vmap` and `tree_map` take it whole, and it is called by `forward`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Self

from adjoint.display import Displayed
from adjoint.errors import ArgumentError, DTypeError, UnknownNameError, did_you_mean
from adjoint.ir.dtype import DType, as_dtype, dtypes
from adjoint.nn.hooks import Hook, HookHandle, call
from adjoint.nn.module_pytree import Structured
from adjoint.nn.state import LoadReport, get_parameters, get_state_dict, load_state_dict
from adjoint.runtime.device import Device
from adjoint.tensor import Tensor
from adjoint.tensor.types import DTypeLike
from adjoint.tensor.views import base_of, receive


def Parameter(data: Any, requires_grad: bool = True) -> Tensor:
    """A new tensor that requires a gradient. A module holds one with `requires_grad=False` as a
    buffer, which `module.requires_grad_(True)` leaves alone: freeze a parameter once it is set.
    """
    tensor = +data.detach() if isinstance(data, Tensor) else Tensor(data)
    tensor.requires_grad = requires_grad
    return tensor


class Module(Displayed, Structured):
    """A layer or a model: subclasses set attributes in `__init__` and define `forward`.

    Tensors, modules, and lists, tuples and dicts of them in attributes are its parts, in the order
    in which they were set. Tensors are parameters unless their `requires_grad` is False; those are
    buffers. Every other attribute is structure: `jit` traces again when one changes.
    """

    _training: bool | None = None
    _buffers: tuple[str, ...] = ()  # names of tensors that never want a gradient
    _repr_fields: tuple[str, ...] = ()
    _forward_pre_hooks: tuple[Hook, ...] = ()
    _forward_hooks: tuple[Hook, ...] = ()
    _backward_hooks: tuple[Hook, ...] = ()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the result; subclasses define it."""
        kind = type(self).__name__
        fix = f"define forward(self, x) in {kind}"
        raise UnknownNameError("E2002", f"{kind} has no forward", op="module", help=fix)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._forward_pre_hooks or self._forward_hooks or self._backward_hooks:
            return call(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor) and vars(self).get(name) is not value:
            self._note_buffer(name, value)
        super().__setattr__(name, value)

    def _note_buffer(self, name: str, tensor: Tensor) -> None:
        """What is set with requires_grad=False stays a buffer; it is no frozen parameter."""
        known, wanted = name in self._buffers, tensor.requires_grad
        if wanted is False and not known:
            self._buffers = (*self._buffers, name)
        elif wanted and known and name not in type(self)._buffers:
            self._buffers = tuple(other for other in self._buffers if other != name)

    # ---- hooks

    def register_forward_pre_hook(self, hook: Hook) -> HookHandle:
        """Call `hook(module, args)` before the module; its result, if not None, replaces the
        arguments."""
        return HookHandle(self, "_forward_pre_hooks", hook)

    def register_forward_hook(self, hook: Hook) -> HookHandle:
        """Call `hook(module, args, result)` after it; its result, if not None, replaces that of the
        module."""
        return HookHandle(self, "_forward_hooks", hook)

    def register_full_backward_hook(self, hook: Hook) -> HookHandle:
        """Call `hook(module, grad_input, grad_output)` when gradients pass the module, once for
        each input that has one; what it gives replaces `grad_input`."""
        return HookHandle(self, "_backward_hooks", hook)

    # ---- training or not

    @property
    def training(self) -> bool:
        """Whether the module is in training mode: as the last `train()` or `eval()` set it, else
        `Tensor.training`."""
        return Tensor.training if self._training is None else self._training

    @training.setter
    def training(self, mode: bool | None) -> None:
        self._training = mode

    def train(self, mode: bool | None = True) -> Self:
        """Set the mode of this module and all inside; None: follow `Tensor.training`."""
        if mode not in (True, False, None):
            raise ArgumentError("E2008", f"mode is True, False or None, not {mode!r}", op="train")
        for module in self.modules():
            module._training = mode
        return self

    def eval(self) -> Self:
        """Set evaluation mode: `train(False)`."""
        return self.train(False)

    # ---- parts

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Modules directly inside, by name; those in lists and dicts too."""
        for name, value in vars(self).items():
            yield from _modules_in(name, value)

    def children(self) -> Iterator[Module]:
        """Modules directly inside."""
        return (module for _, module in self.named_children())

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module and all inside, each once, by name."""
        seen: dict[int, Module] = {}
        stack: list[tuple[str, Module]] = [(prefix, self)]
        while stack:
            path, module = stack.pop()
            if id(module) in seen:
                continue
            seen[id(module)] = module
            yield path, module
            inside = [(f"{path}.{n}" if path else n, m) for n, m in module.named_children()]
            stack += inside[::-1]

    def modules(self) -> Iterator[Module]:
        """This module and all inside, each once."""
        return (module for _, module in self.named_modules())

    def get_submodule(self, target: str) -> Module:
        """The module of that name: `encoder.layers.0`."""
        known = dict(self.named_modules())
        if target not in known:
            problem = f"{type(self).__name__} has no module {target!r}"
            near = did_you_mean(target, known)
            raise UnknownNameError("E2002", problem, op="get_submodule", help=near)
        return known[target]

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call a function with every module inside, and with this one last."""
        for module in reversed(list(self.modules())):
            fn(module)
        return self

    # ---- tensors

    def parameters(self) -> list[Tensor]:
        """The float tensors that may have gradients, each once."""
        return get_parameters(self)

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """The parameters by name."""
        wanted = {id(tensor) for tensor in self.parameters()}
        named = get_state_dict(self, prefix).items()
        return ((name, tensor) for name, tensor in named if id(tensor) in wanted)

    def named_buffers(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """All other tensors by name."""
        wanted = {id(tensor) for tensor in self.parameters()}
        named = get_state_dict(self, prefix).items()
        return ((name, tensor) for name, tensor in named if id(tensor) not in wanted)

    def buffers(self) -> list[Tensor]:
        """The tensors that are not parameters, each once."""
        return [tensor for _, tensor in self.named_buffers()]

    def get_parameter(self, target: str) -> Tensor:
        """The parameter of that name: `encoder.layers.0.weight`."""
        return self._tensor_named("parameter", target, dict(self.named_parameters()))

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of that name: `norm.running_mean`."""
        return self._tensor_named("buffer", target, dict(self.named_buffers()))

    def _tensor_named(self, noun: str, target: str, known: dict[str, Tensor]) -> Tensor:
        if target not in known:
            problem = f"{type(self).__name__} has no {noun} {target!r}"
            near = did_you_mean(target, known)
            raise UnknownNameError("E2002", problem, op=f"get_{noun}", help=near)
        return known[target]

    def register_buffer(self, name: str, tensor: Tensor | None) -> None:
        """Set an attribute to a tensor that never requires a gradient."""
        if tensor is not None:
            tensor.requires_grad = False
        if name not in self._buffers:
            self._buffers = (*self._buffers, name)
        setattr(self, name, tensor)

    def register_parameter(self, name: str, tensor: Tensor | None) -> None:
        """Set an attribute to a tensor that requires a gradient."""
        setattr(self, name, None if tensor is None else tensor.requires_grad_(True))

    def add_module(self, name: str, module: Module | None) -> None:
        """Set an attribute to a module."""
        setattr(self, name, module)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Freeze all parameters, or unfreeze them."""
        for module in self.modules():
            own = [v for n, v in vars(module).items() if n not in module._buffers]
            for tensor in get_state_dict([v for v in own if not isinstance(v, Module)]).values():
                if tensor.dtype.is_inexact:
                    tensor.requires_grad = requires_grad
        return self

    def zero_grad(self) -> None:
        """Reset the gradients to None."""
        for tensor in self.parameters():
            tensor.grad = None

    def to(
        self,
        *targets: Any,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
    ) -> Self:
        """Move all tensors to a device, and floats to a dtype: `to("CPU:1")`, `to("float64")`."""
        for target in targets:
            if isinstance(target, DType) or (isinstance(target, str) and hasattr(dtypes, target)):
                dtype = target
            else:
                device = target
        kind = None if dtype is None else as_dtype(dtype)
        if kind is not None and not kind.is_inexact:
            problem = f"parameters are floats, not {kind.name}"
            raise DTypeError("E2005", problem, op="to", help="give a float dtype")
        place = None if device is None else Device.canonicalize(device)
        for tensor in get_state_dict(self).values():
            _move(tensor, place, kind)
        return self

    def float(self) -> Self:
        """All floats as float32."""
        return self.to(dtypes.float32)

    def double(self) -> Self:
        """All floats as float64."""
        return self.to(dtypes.float64)

    def half(self) -> Self:
        """All floats as float16."""
        return self.to(dtypes.float16)

    def bfloat16(self) -> Self:
        """All floats as bfloat16."""
        return self.to(dtypes.bfloat16)

    def cpu(self) -> Self:
        """All tensors on the CPU."""
        return self.to("CPU")

    def cuda(self, device: int | None = None) -> Self:
        """All tensors on an NVIDIA GPU."""
        return self.to("CUDA" if device is None else f"CUDA:{device}")

    # ---- state

    def state_dict(self, prefix: str = "") -> dict[str, Tensor]:
        """Parameters and buffers by name; see `nn.state`."""
        return get_state_dict(self, prefix)

    def load_state_dict(self, state: Any, strict: bool = True, verbose: bool = False) -> LoadReport:
        """Take values by name; see `nn.state.load_state_dict`."""
        return load_state_dict(self, state, strict, verbose)

    # ---- text

    def extra_repr(self) -> str:
        """What `repr` shows of the module itself: by default the `_repr_fields` by name."""
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in self._repr_fields)

    def __repr__(self) -> str:
        parts = list(self.named_children())
        return tree_text(type(self).__name__, self.extra_repr(), parts)


def _modules_in(name: str, value: Any) -> Iterator[tuple[str, Module]]:
    """Modules in an attribute: itself, or what is in lists, tuples and dicts of them."""
    if isinstance(value, Module):
        yield name, value
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from _modules_in(f"{name}.{number}", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _modules_in(f"{name}.{key}", item)


def _move(tensor: Tensor, device: str | tuple[str, ...] | None, dtype: DType | None) -> None:
    """Another device or dtype for a tensor that stays the same object."""
    tensor = base_of(tensor)
    moved = +tensor.detach()
    if dtype is not None and tensor.dtype.is_inexact:
        moved = moved.cast(dtype)
    if device is not None:
        moved = moved.to(device)
    if moved.dtype is not tensor.dtype or moved.device != tensor.device:
        receive(tensor, moved.realize().uop)
        tensor.grad = None


def tree_text(title: str, extra: str, parts: Sequence[tuple[str, Any]]) -> str:
    """`Title(extra)` or, with parts, a line or more for each of them."""
    if not parts:
        return f"{title}({extra})"
    lines = [extra] if extra else []
    lines += _lines(parts)
    inside = "\n".join(lines).replace("\n", "\n  ")
    return f"{title}(\n  {inside}\n)"


def _lines(parts: Sequence[tuple[str, Any]]) -> Iterable[str]:
    """One entry per part; neighbours with equal texts and consecutive numbers share one."""
    shown = [(name, repr(part)) for name, part in parts]
    for text, run in groupby(shown, key=lambda pair: pair[1]):
        names = [name for name, _ in run]
        if len(names) > 1 and _consecutive(names):
            yield f"({names[0]}-{names[-1].rpartition('.')[2]}): {len(names)} x {text}"
        else:
            yield from (f"({name}): {text}" for name in names)


def _consecutive(names: Sequence[str]) -> bool:
    """Whether names are `layers.0`, `layers.1`, … of one list."""
    heads = {name.rpartition(".")[0] for name in names}
    tails = [name.rpartition(".")[2] for name in names]
    if len(heads) != 1 or not all(tail.isdigit() for tail in tails):
        return False
    first = int(tails[0])
    return tails == [str(first + i) for i in range(len(tails))]
