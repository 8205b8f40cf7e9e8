"""One step of a recurrent network: the arithmetic of each kind of cell.

The order of the gates in weights and biases is PyTorch's: input, forget, cell, output for an LSTM;
reset, update, new for a GRU. What may live here: steps, as functions of tensors. What may not:
parameters, sequences.
"""

from __future__ import annotations

from adjoint.errors import ArgumentError
from adjoint.nn.recurrence import Gates, State
from adjoint.tensor import Tensor


def _parts(gates: Tensor, count: int) -> list[Tensor]:
    """The gates one by one, along the last axis."""
    size = gates.shape[-1] // count
    return [gates[..., i * size : (i + 1) * size] for i in range(count)]


def _tanh_step(x: Tensor, product: Tensor, state: State) -> State:
    return ((x + product).tanh(),)


def _relu_step(x: Tensor, product: Tensor, state: State) -> State:
    return ((x + product).relu(),)


def _lstm_step(x: Tensor, product: Tensor, state: State) -> State:
    enter, forget, new, leave = _parts(x + product, 4)
    c = forget.sigmoid() * state[1] + enter.sigmoid() * new.tanh()
    return leave.sigmoid() * c.tanh(), c


def _gru_step(x: Tensor, product: Tensor, state: State) -> State:
    """The new gate sees the hidden state's part, its bias with it, after the reset gate."""
    (xr, xz, xn), (pr, pz, pn) = _parts(x, 3), _parts(product, 3)
    update = (xz + pz).sigmoid()
    new = (xn + (xr + pr).sigmoid() * pn).tanh()
    return (new + update * (state[0] - new),)


TANH = Gates(_tanh_step, count=1, states=1, summed=True)
RELU = Gates(_relu_step, count=1, states=1, summed=True)
LSTM = Gates(_lstm_step, count=4, states=2, summed=True)
GRU = Gates(_gru_step, count=3, states=1, summed=False)


def nonlinear(op: str, name: str) -> Gates:
    """The plain cell of that nonlinearity."""
    if name not in _PLAIN:
        problem = f"nonlinearity is 'tanh' or 'relu', not {name!r}"
        raise ArgumentError("E2008", problem, op=op)
    return _PLAIN[name]


_PLAIN = {"tanh": TANH, "relu": RELU}
