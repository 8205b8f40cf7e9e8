"""The points where a derivative is a convention: kinks, ties, zeros and poles, by op.

Each entry is (what the point is, arguments, keywords); lists of floats stand for tensors. The pages
print the gradient of the sum of the results there, computed when they are made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

INF, NAN = float("inf"), float("nan")
Point = tuple[str, tuple[Any, ...], dict[str, Any]]


def _at(what: str, *args: Any, **kwargs: Any) -> Point:
    return what, tuple(_array(a) for a in args), {k: _array(v) for k, v in kwargs.items()}


def _array(value: Any) -> Any:
    """Lists of numbers are tensors; tuples and everything else stay."""
    return np.array(value) if isinstance(value, list) else value


def _table() -> dict[str, list[Point]]:
    tie = [1.0, 3.0, 3.0]
    same = [_at("ties in their own order", [2.0, 1.0, 2.0])]
    flat = [_at("all elements equal", [2.0, 2.0])]
    zeros = [_at("the zero vector", [0.0, 0.0])]
    ends = [_at("the ends of the domain", [-1.0, 1.0])]
    bounds = [_at("the zeros of the bounds", [0.0, 1.0])]
    image = [_at("ties in a window", np.array([[[[2.0, 2.0], [1.0, 0.0]]]]))]
    row = [_at("ties in a window", np.array([[[2.0, 2.0]]]), 1)]
    return {
        "relu": [_at("zero", [0.0, -0.0])],
        "abs": [_at("zero", [0.0, -0.0])],
        "sqrt": [_at("zero", [0.0])],
        "rsqrt": [_at("zero", [0.0])],
        "log": [_at("zero", [0.0])],
        "log1p": [_at("minus one", [-1.0])],
        "reciprocal": [_at("zero", [0.0])],
        "true_div": [_at("a zero divisor", [1.0, 0.0], [0.0, 0.0])],
        "div": [_at("a zero divisor", [1.0, 0.0], [0.0, 0.0])],
        "mod": [_at("a multiple", [4.0], [2.0])],
        "fmod": [_at("a multiple", [4.0], [2.0])],
        "frac": [_at("an integer", [2.0])],
        "pow": [
            _at("base 0", [0.0, 0.0, 0.0], [0.0, 1.0, 2.0]),
            _at("a negative base", [-2.0], [3.0]),
        ],
        "float_power": [_at("base 0", [0.0, 0.0], [0.0, 2.0])],
        "maximum": [_at("a tie", [2.0], [2.0]), _at("NaN", [NAN], [1.0])],
        "minimum": [_at("a tie", [2.0], [2.0]), _at("NaN", [NAN], [1.0])],
        "max": [_at("a tie", tie), _at("NaN", [1.0, NAN])],
        "min": [_at("a tie", [1.0, 1.0, 3.0]), _at("NaN", [1.0, NAN])],
        "aminmax": flat,
        "copysign": [_at("zero", [0.0], [-1.0])],
        "asin": ends,
        "acos": ends,
        "atanh": ends,
        "acosh": [_at("one", [1.0])],
        "atan2": [_at("the origin", [0.0], [0.0])],
        "hypot": [_at("the origin", [0.0], [0.0])],
        "logaddexp": [_at("minus infinity", [-INF, -INF], [0.0, -INF])],
        "clamp": [_at("the bounds", [-1.0, 1.0], -1.0, 1.0)],
        "sinc": [_at("zero", [0.0])],
        "logit": bounds,
        "xlogy": [_at("0 · log 0", [0.0], [0.0])],
        "nan_to_num": [_at("what is replaced", [NAN, INF, -INF])],
        "heaviside": [_at("zero", [0.0], [0.5])],
        "relu6": [_at("the bounds", [0.0, 6.0])],
        "hardtanh": [_at("the bounds", [-1.0, 1.0])],
        "hardsigmoid": [_at("the bounds", [-3.0, 3.0])],
        "hardswish": [_at("the bounds", [-3.0, 3.0])],
        "leaky_relu": [_at("zero", [0.0])],
        "prelu": [_at("zero", [0.0], [0.25])],
        "elu": [_at("zero", [0.0])],
        "celu": [_at("zero", [0.0], 2.0)],
        "selu": [_at("zero", [0.0])],
        "hardshrink": [_at("the bounds", [-0.5, 0.5])],
        "softshrink": [_at("the bounds", [-0.5, 0.5])],
        "threshold": [_at("the threshold", [0.5], 0.5, -2.0)],
        "softsign": [_at("zero", [0.0])],
        "l1_loss": [_at("equal", [1.0], [1.0])],
        "huber_loss": [_at("the corner", [1.0], [0.0])],
        "smooth_l1_loss": [_at("the corner", [1.0], [0.0])],
        "binary_crossentropy": [_at("certain and right", [0.0, 1.0], [0.0, 1.0])],
        "hinge_embedding_loss": [_at("the margin", [1.0], [-1.0])],
        "reduce_prod": [_at("zeros", [2.0, 0.0, 4.0]), _at("two zeros", [0.0, 0.0, 4.0])],
        "prod": [_at("zeros", [2.0, 0.0, 4.0]), _at("two zeros", [0.0, 0.0, 4.0])],
        "scan_prod": [_at("a zero", [2.0, 0.0, 4.0])],
        "cumprod": [_at("a zero", [2.0, 0.0, 4.0], 0)],
        "scan_max": [_at("a tie", [2.0, 2.0, 1.0])],
        "scan_min": [_at("a tie", [2.0, 2.0, 3.0])],
        "cummax": [_at("a tie", [2.0, 2.0, 1.0], 0)],
        "cummin": [_at("a tie", [2.0, 2.0, 3.0], 0)],
        "sort": same,
        "msort": same,
        "topk": [_at("a tie at the edge", [3.0, 3.0, 1.0], 1)],
        "kthvalue": [_at("a tie", [1.0, 1.0, 2.0], 1)],
        "median": [_at("a tie", [2.0, 2.0, 1.0])],
        "nanmedian": [_at("a tie", [2.0, 2.0, 1.0])],
        "mode": [_at("equal elements", [2.0, 2.0, 1.0])],
        "quantile": [_at("on an element", [1.0, 2.0, 3.0], 0.5)],
        "std": flat,
        "std_mean": flat,
        "vector_norm": zeros,
        "norm": zeros,
        "normalize": [_at("the zero vector", [0.0, 0.0], 2.0, 0)],
        "dist": [_at("equal", [1.0, 2.0], [1.0, 2.0])],
        "cdist": [_at("equal", np.array([[1.0, 2.0]]), np.array([[1.0, 2.0]]))],
        "pairwise_distance": [_at("equal", np.array([[1.0]]), np.array([[1.0]]))],
        "cosine_similarity": [
            _at("the zero vector", np.array([[0.0, 0.0]]), np.array([[1.0, 0.0]]))
        ],
        "softmax": [_at("a masked element", [0.0, -INF])],
        "log_softmax": [_at("a masked element", [0.0, -INF])],
        "logsumexp": [_at("nothing but minus infinity", [-INF, -INF])],
        "logcumsumexp": [_at("minus infinity first", [-INF, 0.0])],
        "max_pool": image,
        "max_pool2d": image,
        "adaptive_max_pool1d": row,
        "scatter": [_at("equal indices: the last", [0.0, 0.0], 0, [1, 1], [5.0, 7.0])],
        "gather": [_at("equal indices: added", [1.0, 2.0], 0, [1, 1])],
        "scatter_reduce": [_at("a tie with x", [2.0], 0, [0], [2.0], "amax")],
        "det": [_at("a singular matrix", np.array([[1.0, 2.0], [2.0, 4.0]]))],
        "eigvalsh": [_at("equal eigenvalues", np.array([[1.0, 0.0], [0.0, 1.0]]))],
        "svdvals": [_at("equal singular values", np.array([[1.0, 0.0], [0.0, 1.0]]))],
    }


KINKS = _table()
