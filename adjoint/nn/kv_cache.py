"""KVCache: the keys and values of the positions so far, in memory of a fixed size.

The number of filled positions is a tensor, so one compiled program serves every step of decoding.
"""

from __future__ import annotations

from typing import Any

from adjoint.errors import ShapeError
from adjoint.nn.module import Module
from adjoint.tensor import Tensor
from adjoint.tensor.tracing import grad_enabled, open_scopes
from adjoint.tensor.types import DTypeLike


class KVCache(Module):
    """Room for `max_length` positions: `key` and `value` are (batch, heads, max_length, head_dim).

    `update` appends, and changes the cache in place, inside `jit` too, whether the cache is an
    argument or captured by the function. In a `scan` the cache is the carry: update it and return
    it. `length` is how many positions are filled. Gradients flow to the written values, so decode
    inside `jit` or `no_grad()`: otherwise the history of all steps is kept.
    """

    _buffers = ("key", "value", "length")

    def __init__(
        self,
        batch: int,
        num_heads: int,
        max_length: int,
        head_dim: int,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
    ):
        shape = (batch, num_heads, max_length, head_dim)
        named: dict[str, Any] = {"device": device, "requires_grad": False}
        self.key = Tensor.zeros(shape, dtype=dtype, **named)
        self.value = Tensor.zeros(shape, dtype=dtype, **named)
        self.length = Tensor.full((), 0, dtype="int32", **named)

    @property
    def max_length(self) -> int:
        """The capacity in positions."""
        return self.key.shape[2]

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Append (batch, heads, new positions, head_dim), and return all keys and values. Exceeding
        the capacity is E6001 when the program runs."""
        self._check(key, value)
        new = key.shape[2]
        places = self.length + Tensor.arange(new, dtype="int32", device=self.length.device)
        for held, given in ((self.key, key), (self.value, value)):
            filled = +held
            filled[:, :, places] = given
            held.replace(filled)
        self.length.replace(self.length + new)
        if not open_scopes.get() and not (grad_enabled.get() and key.requires_grad):
            self.key.realize(self.value, self.length)  # the next step then starts from values
        return self.key, self.value

    def visible(self, queries: int) -> Tensor:
        """(queries, max_length): to which positions each of the last `queries` ones may attend."""
        device = self.length.device
        row = self.length - queries + Tensor.arange(queries, dtype="int32", device=device)
        column = Tensor.arange(self.max_length, dtype="int32", device=device)
        return column <= row.unsqueeze(1)

    def reset(self) -> None:
        """Empty the cache."""
        self.length.replace(self.length.zeros_like())

    def _check(self, key: Tensor, value: Tensor) -> None:
        batch, heads, room, size = self.key.shape
        for name, given in (("key", key), ("value", value)):
            fits = given.ndim == 4 and (*given.shape[:2], given.shape[3]) == (batch, heads, size)
            if not fits:
                problem = f"{name} is not ({batch}, {heads}, new positions, {size})"
                operands = [("cache", self.key), (name, given)]
                raise ShapeError("E3003", problem, op="KVCache.update", operands=operands)
        if key.shape[2] != value.shape[2] or key.shape[2] > room:
            problem = f"{key.shape[2]} keys and {value.shape[2]} values for {room} places"
            raise ShapeError("E3003", problem, op="KVCache.update", key=key)

    def extra_repr(self) -> str:
        """The sizes."""
        return ", ".join(map(str, self.key.shape))
