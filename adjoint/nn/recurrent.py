"""RNN, LSTM, GRU: recurrent networks over whole sequences.

The input of a layer meets its weights in one product of matrices for all steps, outside the loop;
what is left for each step is the hidden state's product and the gates (`recurrence.py`: one
compiled loop, whatever the length). Elsewhere: the arithmetic of a step (`recurrence.py`), cells
(`recurrent_cells.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjoint.errors import ShapeError
from adjoint.nn.checks import check_axis, check_float, check_positive, check_probability, check_rank
from adjoint.nn.module import Module
from adjoint.nn.recurrence import GRU as GRU_GATES
from adjoint.nn.recurrence import LSTM as LSTM_GATES
from adjoint.nn.recurrence import Gates, State, nonlinear, recurrence
from adjoint.nn.recurrent_cells import as_state, check_state, drawn
from adjoint.tensor import Tensor
from adjoint.tensor.types import DTypeLike


class _Recurrent(Module):
    """What the layers share: their gates tell them apart.

    Parameters have PyTorch's names, order and shapes: `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0`,
    `bias_hh_l0`, `weight_hr_l0`, then the same with `_reverse`, then the next layer.
    """

    _gates: Gates
    proj_size = 0  # an LSTM may have another

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
    ):
        op = type(self).__name__
        check_positive(op, input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        if not 0 <= self.proj_size < hidden_size:
            problem = f"proj_size is from 0 to hidden_size - 1 = {hidden_size - 1}, "
            raise ShapeError("E3006", f"{problem}not {self.proj_size}", op=op)
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.bidirectional = bias, batch_first, bidirectional
        self.dropout = check_probability(op, dropout)
        for layer, name in self._runs():
            for part, shape in self._shapes(layer).items():
                setattr(self, part + name, drawn(shape, hidden_size, device, dtype))

    def _runs(self) -> Iterator[tuple[int, str]]:
        """Every pass over a sequence: its layer and how its parameters' names end."""
        for layer in range(self.num_layers):
            yield layer, f"_l{layer}"
            if self.bidirectional:
                yield layer, f"_l{layer}_reverse"

    @property
    def _output_size(self) -> int:
        return self.proj_size or self.hidden_size

    def _shapes(self, layer: int) -> dict[str, tuple[int, ...]]:
        out, rows = self._output_size, self._gates.count * self.hidden_size
        inner = out * (2 if self.bidirectional else 1)
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (rows, inner if layer else self.input_size),
            "weight_hh": (rows, out),
        }
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        return shapes | (
            {"weight_hr": (self.proj_size, self.hidden_size)} if self.proj_size else {}
        )

    def extra_repr(self) -> str:
        """The sizes, and what is not as usual."""
        options = {
            "num_layers": self.num_layers if self.num_layers > 1 else None,
            "bias": False if not self.bias else None,
            "batch_first": self.batch_first or None,
            "dropout": self.dropout or None,
            "bidirectional": self.bidirectional or None,
            "proj_size": self.proj_size or None,
        }
        shown = [f"{name}={value}" for name, value in options.items() if value is not None]
        return ", ".join([str(self.input_size), str(self.hidden_size), *shown])

    # ---- one call

    def _sequence(self, input: Tensor, hx: Any) -> tuple[Tensor, State]:
        """The last layer's outputs and the last states, in the shapes of the call."""
        self._check_input(input)
        batched = input.ndim == 3
        x = input if batched else input.unsqueeze(1)
        x = x.transpose(0, 1) if batched and self.batch_first else x
        if not x.shape[0]:
            raise ShapeError("E3006", "a sequence has a step", op=self._op, input=input)
        starts = self._starts(input, x.shape[1], hx)
        output, last = self._layers(x, starts)
        if batched:
            return (output.transpose(0, 1) if self.batch_first else output), last
        return output.squeeze(1), tuple(part.squeeze(1) for part in last)

    @property
    def _op(self) -> str:
        return type(self).__name__

    def _check_input(self, x: Tensor) -> None:
        check_float(self._op, x)
        order = "(batch, length, features)" if self.batch_first else "(length, batch, features)"
        check_rank(self._op, x, (2, 3), f"(length, features) or {order}")
        check_axis(self._op, x, -1, self.input_size, "features")

    def _starts(self, input: Tensor, batch: int, hx: Any) -> State | None:
        """The given initial states as (passes, batch, size) each."""
        if hx is None:
            return None
        state = as_state(self._op, hx, self._gates)
        passes = self.num_layers * (2 if self.bidirectional else 1)
        middle = (batch,) if input.ndim == 3 else ()
        sizes = (self._output_size, self.hidden_size)
        shapes = [(passes, *middle, size) for size, _ in zip(sizes, state, strict=False)]
        check_state(self._op, ("h_0", "c_0")[: len(state)], state, shapes, input)
        return state if middle else tuple(part.unsqueeze(1) for part in state)

    def _layers(self, x: Tensor, starts: State | None) -> tuple[Tensor, State]:
        lasts: list[State] = []
        outputs: list[Tensor] = []
        for number, (layer, name) in enumerate(self._runs()):
            if layer and len(outputs) == 1 + self.bidirectional:
                x, outputs = self._dropped(self._joined(outputs)), []
            start = None if starts is None else tuple(part[number] for part in starts)
            output, last = self._run(x, name, start)
            outputs.append(output)
            lasts.append(last)
        stacked = tuple(part[0].stack(*part[1:]) for part in zip(*lasts, strict=True))
        return self._joined(outputs), stacked

    def _dropped(self, x: Tensor) -> Tensor:
        with Tensor.train(self.training):
            return x.dropout(self.dropout)

    def _joined(self, outputs: list[Tensor]) -> Tensor:
        """Both directions side by side."""
        return outputs[0].cat(*outputs[1:], dim=-1)

    def _run(self, x: Tensor, name: str, start: State | None) -> tuple[Tensor, State]:
        """One pass of one direction: outputs of all steps, states after the last."""
        bias_x, bias_h = self._biases(name)
        weight = getattr(self, f"weight_ih{name}")
        flat = x.reshape(-1, x.shape[-1]).linear(weight.T, bias_x)
        part = flat.reshape(*x.shape[:2], flat.shape[-1])
        bias_h = None if bias_h is None else bias_h.cast(part.dtype)
        state = self._start(part, start)
        hidden = getattr(self, f"weight_hh{name}").cast(part.dtype)
        backwards = name.endswith("_reverse")
        projection = getattr(self, f"weight_hr{name}").cast(part.dtype) if self.proj_size else None
        rows = recurrence(self._gates, part, hidden, bias_h, state, backwards, projection)
        return rows[0], tuple(row[0 if backwards else -1] for row in rows)

    def _biases(self, name: str) -> tuple[Tensor | None, Tensor | None]:
        """What is added outside the loop, for all steps at once, and inside it."""
        if not self.bias:
            return None, None
        one, other = getattr(self, f"bias_ih{name}"), getattr(self, f"bias_hh{name}")
        return (one + other, None) if self._gates.summed else (one, other)

    def _start(self, part: Tensor, start: State | None) -> State:
        if start is not None:
            return tuple(t.cast(part.dtype) for t in start)
        sizes = (self._output_size, self.hidden_size)[: self._gates.states]
        kind, device = part.dtype, part.device
        return tuple(Tensor.zeros(part.shape[1], n, dtype=kind, device=device) for n in sizes)


class _OneState(_Recurrent):
    """Layers whose state is one tensor."""

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(the last layer's outputs, the last hidden state of every layer and direction)."""
        output, (h,) = self._sequence(input, hx)
        return output, h


class RNN(_OneState):
    """Layers of `h = tanh(W_ih x + b_ih + W_hh h + b_hh)`, or of the same with relu.

    The input is (length, batch, features), with `batch_first` (batch, length, features), or
    (length, features). The initial state is (layers · directions, batch, hidden), zeros if absent.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
    ):
        self.nonlinearity = nonlinearity
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first,
            dropout, bidirectional, device, dtype,
        )  # fmt: skip

    @property
    def _gates(self) -> Gates:  # type: ignore[override]
        return nonlinear("RNN", self.nonlinearity)


class GRU(_OneState):
    """Layers of gated recurrent units; the shapes are those of `RNN`."""

    _gates = GRU_GATES


class LSTM(_Recurrent):
    """Layers of long short-term memory; the shapes are those of `RNN`.

    The state is a pair (h, c). With `proj_size` the hidden state h is projected to that size.
    """

    _gates = LSTM_GATES

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: str | tuple[str, ...] | None = None,
        dtype: DTypeLike | None = None,
    ):
        self.proj_size = proj_size
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first,
            dropout, bidirectional, device, dtype,
        )  # fmt: skip

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """(the last layer's outputs, (h, c) of every layer and direction)."""
        output, (h, c) = self._sequence(input, hx)
        return output, (h, c)
