"""Convolutions of all kinds, with both gradients, against float64."""

from __future__ import annotations

from typing import NamedTuple

import ml_dtypes
import numpy as np

from adjoint import Tensor


class Case(NamedTuple):
    """A call of a convolution, by its name, and how its operands are shaped."""

    op: str
    x: tuple[int, ...]
    w: tuple[int, ...]
    options: dict[str, object]

    def __str__(self) -> str:
        options = ",".join(f"{k}={v}" for k, v in self.options.items())
        return f"{self.op}-{'x'.join(map(str, self.x))}-{'x'.join(map(str, self.w))}-{options}"


def _case(x, w, op="conv2d", **options):
    return Case(op, x, w, options)


_TRANSPOSED = "conv_transpose2d"
CASES = (
    _case((4, 8, 15, 15), (16, 8, 3, 3), stride=2, padding=1),
    _case((4, 8, 15, 14), (16, 8, 3, 2), padding=(1, 0, 2, 1)),
    _case((4, 8, 15, 15), (16, 8, 3, 3), padding="same", dilation=2),
    _case((4, 8, 15, 15), (16, 4, 3, 3), groups=2, padding=1),
    _case((4, 16, 16, 15), (32, 1, 3, 3), groups=16, padding=1, stride=(2, 1)),
    _case((4, 8, 90), (16, 8, 5), stride=3, padding=2),
    _case((2, 4, 9, 8, 9), (8, 2, 3, 2, 3), stride=2, padding=1, groups=2),
    _case((4, 16, 17, 17), (32, 16, 1, 1), stride=2),
    _case((4, 8, 15, 15), (16, 8, 3, 3), padding=(-1, 0, 1, 1)),
    _case((4, 8, 15, 15), (8, 4, 3, 3), _TRANSPOSED, groups=2, stride=2, padding=1),
    _case((4, 8, 15, 15), (8, 4, 3, 3), _TRANSPOSED, stride=2, padding=1, output_padding=1),
    _case((4, 16, 80), (16, 8, 4), _TRANSPOSED, stride=3, dilation=2, padding=2),
)
DTYPES = {
    "float32": (np.float32, 2e-6),
    "float64": (np.float64, 1e-14),
    "float16": (np.float16, 2e-3),
    "bfloat16": (ml_dtypes.bfloat16, 2e-2),
}


def operands(case: Case, dtype: str) -> list[np.ndarray]:
    """The picture, the weights, and what the result is multiplied with: small whole eighths, so
    that 16-bit numbers hold them."""
    rng, (kind, _) = np.random.default_rng(7), DTYPES[dtype]
    arrays = [rng.integers(-8, 9, shape) / 8 for shape in (case.x, case.w)]
    out = getattr(Tensor(arrays[0], device="REF"), case.op)(
        Tensor(arrays[1], device="REF"), **case.options
    )
    return [a.astype(kind) for a in (*arrays, rng.integers(-8, 9, out.shape) / 8)]


def computed(case: Case, arrays: list[np.ndarray], device: str) -> list[np.ndarray]:
    """The result and both gradients."""
    x, w, g = (Tensor(a, device=device) for a in arrays)
    x.requires_grad, w.requires_grad = True, True
    y = getattr(x, case.op)(w, **case.options)
    dx, dw = (y * g).sum().gradient(x, w)
    found = [y, dx, dw]
    y.realize(dx, dw)
    assert {t.device for t in found} == {device}
    return [t.numpy().astype(np.float64) for t in found]


def check(case: Case, dtype: str) -> None:
    """What the GPU computes is what REF computes in float64, to the dtype's precision."""
    arrays = operands(case, dtype)
    wanted = computed(case, [a.astype(np.float64) for a in arrays], "REF")
    for found, right in zip(computed(case, arrays, "GPU"), wanted, strict=True):
        np.testing.assert_allclose(
            found, right, rtol=0, atol=DTYPES[dtype][1] * np.abs(right).max()
        )
