"""Cases of layers of images: what undoes pools, norms over channels, shuffles, grids, distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.oracle.nn_store import Case, real


def _calling(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """A model that calls a function of `nn.functional` with its inputs."""

    def build(nn: Any) -> Any:
        forward = {"forward": lambda self, *x: function(nn.functional, *x)}
        return type("Calling", (nn.Module,), forward)()

    return build


def _there_and_back(rank: int, *options: Any, size: Any = None) -> Callable[[Any], Any]:
    """The largest elements of windows, put back."""

    def build(nn: Any) -> Any:
        pool = getattr(nn, f"MaxPool{rank}d")(*options, return_indices=True)
        back = getattr(nn, f"MaxUnpool{rank}d")(*options)
        forward = {"forward": lambda self, x: back(*pool(x), output_size=size)}
        return type("ThereAndBack", (nn.Module,), forward)()

    return build


LAYERS = {
    "unpool 1d": (_there_and_back(1, 2), (real(2, 3, 8),)),
    "unpool 1d to a size": (_there_and_back(1, 2, size=(2, 3, 7)), (real(2, 3, 7),)),
    "unpool 2d": (_there_and_back(2, 2), (real(2, 2, 6, 4),)),
    "unpool 2d to a size": (_there_and_back(2, (2, 3), size=(7, 7)), (real(1, 2, 7, 7),)),
    "unpool 3d": (_there_and_back(3, 2), (real(1, 2, 4, 4, 2),)),
    "lp pool 1d": (lambda nn: nn.LPPool1d(2, 3), (real(2, 3, 8),)),
    "lp pool 2d": (lambda nn: nn.LPPool2d(1.5, (2, 3), 2), (real(2, 2, 6, 7, low=0.1),)),
    "lp pool 2d ceil": (lambda nn: nn.LPPool2d(3, 2, ceil_mode=True), (real(1, 2, 5, 5, low=0.2),)),
    "lp pool 3d": (lambda nn: nn.LPPool3d(2, 2), (real(1, 2, 4, 4, 3),)),
    "local response": (lambda nn: nn.LocalResponseNorm(3, 0.7, 0.6, 1.5), (real(2, 5, 4),)),
    "local response even": (lambda nn: nn.LocalResponseNorm(4, 2.0), (real(2, 5, 3, 2),)),
    "local response long": (lambda nn: nn.LocalResponseNorm(9), (real(1, 4, 2, 2, 3),)),
    "softmax2d": (lambda nn: nn.Softmax2d(), (real(2, 3, 2, 4),)),
    "PixelUnshuffle": (lambda nn: nn.PixelUnshuffle(2), (real(1, 2, 4, 6),)),
    "ChannelShuffle": (lambda nn: nn.ChannelShuffle(3), (real(2, 6, 2, 3),)),
    "upsampling nearest": (lambda nn: nn.UpsamplingNearest2d(scale_factor=2), (real(1, 2, 3, 4),)),
    "upsampling bilinear": (lambda nn: nn.UpsamplingBilinear2d(size=(5, 7)), (real(1, 2, 3, 4),)),
    "CosineSimilarity": (lambda nn: nn.CosineSimilarity(), (real(4, 3), real(4, 3, seed=1))),
    "CosineSimilarity last": (
        lambda nn: nn.CosineSimilarity(-1, 1e-3),
        (real(2, 4, 3), real(4, 3, seed=1)),
    ),
    "PairwiseDistance": (lambda nn: nn.PairwiseDistance(), (real(4, 3), real(4, 3, seed=1))),
    "PairwiseDistance kept": (
        lambda nn: nn.PairwiseDistance(1.5, 0.1, keepdim=True),
        (real(2, 4, 3), real(2, 4, 3, seed=1)),
    ),
}

FUNCTIONS = {
    "instance norm": (
        lambda f, x, w, b: f.instance_norm(x, weight=w, bias=b, eps=1e-3),
        (real(2, 3, 4), real(3), real(3, seed=1)),
    ),
    "bilinear": (
        lambda f, a, b, w: f.bilinear(a, b, w),
        (real(4, 2), real(4, 3), real(5, 2, 3)),
    ),
    "affine grid": (
        lambda f, theta: f.affine_grid(theta, (2, 1, 3, 4), align_corners=False),
        (real(2, 2, 3),),
    ),
    "affine grid aligned": (
        lambda f, theta: f.affine_grid(theta, (1, 1, 3, 2, 4), align_corners=True),
        (real(1, 3, 4),),
    ),
    "spatial transformer": (
        lambda f, x, theta: f.grid_sample(
            x, f.affine_grid(theta, (2, 3, 4, 5), align_corners=False), align_corners=False
        ),
        (real(2, 3, 6, 7), real(2, 2, 3)),
    ),
}

_WIDE = real(2, 5, 4, 2, low=-2.3, high=2.3)
_DEEP = real(1, 2, 3, 4, 3, low=-1.9, high=1.9)


def _grid(mode: str, padding: str, aligned: bool) -> Callable[..., Any]:
    if mode == "nearest":  # piecewise constant in the grid: no path leads there
        return lambda f, x, grid: f.grid_sample(x, grid.detach(), mode, padding, aligned)
    return lambda f, x, grid: f.grid_sample(x, grid, mode, padding, aligned)


GRIDS = {
    f"grid {mode} {padding}{' aligned' * aligned} {name}": (_grid(mode, padding, aligned), inputs)
    for mode in ("bilinear", "nearest")
    for padding in ("zeros", "border", "reflection")
    for aligned in (False, True)
    for name, inputs in {
        "2d": (real(2, 3, 6, 7), _WIDE),
        "3d": (real(1, 2, 4, 3, 5), _DEEP),
    }.items()
}

CASES = [
    *(Case(name, build, inputs) for name, (build, inputs) in LAYERS.items()),
    Case(
        "AlphaDropout predicting",
        lambda nn: nn.Sequential(nn.Linear(4, 4), nn.AlphaDropout(0.5)),
        (real(3, 4),),
        training=False,
    ),
    Case(
        "ParameterDict",
        lambda nn: nn.ParameterDict({"a": nn.Linear(3, 4).weight, "b": nn.Linear(4, 2).weight}),
        (real(5, 3),),
        call=lambda model, x: (x @ model["a"].T) @ model["b"].T,
    ),
    *(Case(f"F {n}", _calling(fn), inputs) for n, (fn, inputs) in (FUNCTIONS | GRIDS).items()),
]
