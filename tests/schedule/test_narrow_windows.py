"""Convolutions of 16-bit floats, and their gradients, are those of float32, rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint import Tensor, lower, vjp

SHAPES = {  # picture, weights, options
    "many channels": ((2, 16, 13, 15), (16, 16, 3, 3), {"padding": 1}),
    "one by one": ((2, 16, 9, 9), (24, 16, 1, 1), {}),
    "steps of two": ((2, 16, 13, 14), (16, 16, 3, 3), {"padding": 1, "stride": 2}),
    "dilated": ((1, 16, 17, 17), (16, 16, 3, 3), {"padding": 2, "dilation": 2}),
    "each channel": ((2, 16, 13, 15), (16, 1, 3, 3), {"padding": 1, "groups": 16}),
    "groups": ((2, 16, 13, 15), (32, 8, 3, 3), {"padding": 1, "groups": 2}),
    "one place": ((1, 16, 1, 1), (16, 16, 3, 3), {"padding": 1}),
    "no pictures": ((0, 16, 8, 8), (16, 16, 3, 3), {"padding": 1}),
}


def results(dtype: str, name: str, special: float = 0.25) -> list[Any]:
    """The convolution and both gradients of operands that bfloat16 and float16 hold."""
    picture, weights, options = SHAPES[name]
    rng = np.random.default_rng(0)
    draw = lambda shape: rng.integers(-128, 128, shape).astype(np.float32) / 64  # noqa: E731
    x, w = draw(picture), draw(weights)
    x.reshape(-1)[:1] = special
    out, pull = vjp(lambda x, w: x.conv2d(w, **options), *(Tensor(a).cast(dtype) for a in (x, w)))
    seed = Tensor(draw(out.shape)).cast(dtype)
    return [out, *pull(seed)]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", SHAPES)
def test_results_are_those_of_float32_rounded_once(name: str, dtype: str) -> None:
    for narrow, wide in zip(results(dtype, name), results("float32", name), strict=True):
        assert narrow.dtype.name == dtype
        expected = wide.cast(dtype).cast("float32").numpy()
        found = narrow.cast("float32").numpy()
        np.testing.assert_allclose(found, expected, rtol=2**-7, atol=2**-10)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_so(special: float) -> None:
    pairs = zip(
        results("bfloat16", "many channels", special),
        results("float32", "many channels", special),
        strict=True,
    )
    for narrow, wide in pairs:
        assert np.array_equal(np.isnan(narrow.cast("float32").numpy()), np.isnan(wide.numpy()))


def test_gradients_write_no_windows() -> None:
    """The product for all taps of all places would be nine times as large as the picture."""
    x, w = (Tensor.ones(s).cast("bfloat16").realize() for s in ((8, 64, 28, 28), (64, 64, 3, 3)))
    _, pull = vjp(lambda x, w: x.conv2d(w, padding=1), x, w)
    lowered = lower(lambda g: pull(g))(Tensor.ones(8, 64, 28, 28).cast("bfloat16").realize())
    assert lowered.footprint.arena < 4 * x.size * 4
