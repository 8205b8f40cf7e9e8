"""RNNCell, LSTMCell, GRUCell: one step of a recurrent network, with its parameters.

Elsewhere: the arithmetic of a step (`recurrence.py`), sequences (`recurrent.py`).
"""

from __future__ import annotations

from typing import Any

from adjoint.errors import ArgumentError, ShapeError
from adjoint.nn import init
from adjoint.nn.checks import check_axis, check_float, check_positive, check_rank
from adjoint.nn.module import Module, Parameter
from adjoint.nn.recurrence import GRU, LSTM, Gates, State, nonlinear
from adjoint.tensor import Tensor
from adjoint.tensor.autocast import autocast
from adjoint.tensor.types import DTypeLike


def drawn(
    shape: tuple[int, ...],
    hidden_size: int,
    device: str | tuple[str, ...] | None,
    dtype: DTypeLike | None,
) -> Tensor:
    """A parameter of a recurrent layer: uniform in ±1/√hidden_size."""
    bound = hidden_size**-0.5
    return Parameter(init.uniform(shape, -bound, bound, device=device, dtype=dtype))


def as_state(op: str, hx: Any, gates: Gates) -> tuple[Tensor, ...]:
    """An initial state as one tensor per part."""
    parts = tuple(hx) if gates.states > 1 and isinstance(hx, (tuple, list)) else (hx,)
    if len(parts) == gates.states and all(isinstance(part, Tensor) for part in parts):
        return parts
    wanted = "a pair (h_0, c_0)" if gates.states > 1 else "one tensor h_0"
    problem = f"the state is {wanted}, not {type(hx).__name__}"
    raise ArgumentError("E2007", problem, op=op, help="leave it out to begin with zeros")


def check_state(op: str, names: Any, state: State, shapes: Any, x: Tensor) -> None:
    """The parts of a state have these shapes."""
    for name, part, shape in zip(names, state, shapes, strict=True):
        if part.shape != tuple(shape):
            problem = f"{name} has the shape {list(part.shape)}, not {list(shape)}"
            raise ShapeError("E3003", problem, op=op, operands=[("input", x), (name, part)])


class _Cell(Module):
    """What the cells share: their gates tell them apart."""

    _gates: Gates

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
    ):
        check_positive(type(self).__name__, input_size=input_size, hidden_size=hidden_size)
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = self._gates.count * hidden_size
        self.weight_ih = drawn((rows, input_size), hidden_size, device, dtype)
        self.weight_hh = drawn((rows, hidden_size), hidden_size, device, dtype)
        self.bias_ih = drawn((rows,), hidden_size, device, dtype) if bias else None
        self.bias_hh = drawn((rows,), hidden_size, device, dtype) if bias else None

    def extra_repr(self) -> str:
        """The sizes, and what is not as usual."""
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")

    def _next(self, x: Tensor, hx: Any) -> State:
        op = type(self).__name__
        check_float(op, x)
        check_rank(op, x, (1, 2), "(batch, features) or (features,)")
        check_axis(op, x, -1, self.input_size, "features")
        part = x.linear(self.weight_ih.T, self.bias_ih)
        shape = (*x.shape[:-1], self.hidden_size)
        if hx is None:
            zeros = Tensor.zeros(shape, dtype=part.dtype, device=part.device)
            state: State = (zeros,) * self._gates.states
        else:
            state = as_state(op, hx, self._gates)
            check_state(op, ("h_0", "c_0")[: len(state)], state, [shape] * len(state), x)
            if autocast.dtype_on(part.device):
                state = tuple(t.cast(part.dtype) for t in state)
        return self._gates.step(part, state[0].linear(self.weight_hh.T, self.bias_hh), state)


class RNNCell(_Cell):
    """`tanh(W_ih x + b_ih + W_hh h + b_hh)`, or the same with relu."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
    ):
        self.nonlinearity = nonlinearity
        super().__init__(input_size, hidden_size, bias, device, dtype)

    @property
    def _gates(self) -> Gates:  # type: ignore[override]
        return nonlinear("RNNCell", self.nonlinearity)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next hidden state; `hx` is (batch, hidden) or, as the input, without the batch."""
        return self._next(input, hx)[0]


class LSTMCell(_Cell):
    """One step of a long short-term memory; its state is the pair (h, c)."""

    _gates = LSTM

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """The next (h, c)."""
        h, c = self._next(input, hx)
        return h, c


class GRUCell(_Cell):
    """One step of a gated recurrent unit."""

    _gates = GRU

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next hidden state."""
        return self._next(input, hx)[0]
