"""Windows of a row of tokens, each with what comes one place later: what language models learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.data.dataset import Samples
from adjoint.data.synthetic import check_size
from adjoint.errors import BoundsError, TrainingError


class Windows(Samples):
    """Sample i is `length` tokens from place i, and those one place on."""

    tokens: np.ndarray[Any, Any]

    def __init__(self, tokens: Sequence[int] | np.ndarray[Any, Any], length: int = 64):
        self.length = check_size("length", length)
        self.tokens = np.asarray(tokens, np.int64)
        if self.tokens.ndim != 1 or len(self.tokens) <= length:
            problem = f"{self._about()} have no window of {length} and its successor"
            fix = f"give a longer text, or windows of at most {max(1, self.tokens.size - 1)}"
            raise TrainingError("E9003", problem, op=type(self).__name__, help=fix)

    def __len__(self) -> int:
        return len(self.tokens) - self.length

    def __getitem__(self, index: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        if not -len(self) <= index < len(self):
            raise BoundsError("E6001", f"window {index} of {len(self)}", op=type(self).__name__)
        begin = index % len(self)
        window = self.tokens[begin : begin + self.length + 1]
        return window[:-1], window[1:]

    def _about(self) -> str:
        return f"{self.tokens.size} tokens"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._about()}, by {self.length})"
