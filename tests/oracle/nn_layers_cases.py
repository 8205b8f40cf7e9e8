"""Cases of layers: every layer, its options, and small networks made of them."""

from __future__ import annotations

from typing import Any

from tests.oracle.nn_store import Array, Case, Lib, real, whole


def _named(prefix: str, cases: dict[str, tuple[Any, ...]]) -> list[Case]:
    return [Case(f"{prefix} {name}".strip(), *rest) for name, rest in cases.items()]


LINEAR = _named(
    "linear",
    {
        "matrix": (lambda nn: nn.Linear(4, 3), (real(5, 4),)),
        "no bias": (lambda nn: nn.Linear(4, 3, bias=False), (real(2, 5, 4),)),
        "vector": (lambda nn: nn.Linear(4, 3), (real(4),)),
        "identity": (lambda nn: nn.Sequential(nn.Identity(), nn.Linear(2, 2)), (real(3, 2),)),
        "bilinear": (lambda nn: nn.Bilinear(3, 4, 2), (real(5, 3), real(5, 4, seed=1))),
        "bilinear stack": (
            lambda nn: nn.Bilinear(3, 2, 4, bias=False),
            (real(2, 3, 3), real(2, 3, 2, seed=1)),
        ),
    },
)

CONVOLUTION = _named(
    "conv",
    {
        "1d": (lambda nn: nn.Conv1d(3, 4, 3), (real(2, 3, 8),)),
        "1d all": (
            lambda nn: nn.Conv1d(4, 6, 3, stride=2, padding=2, dilation=2, groups=2, bias=False),
            (real(2, 4, 9),),
        ),
        "1d same": (lambda nn: nn.Conv1d(2, 3, 4, padding="same", dilation=2), (real(2, 2, 9),)),
        "2d": (lambda nn: nn.Conv2d(2, 3, 3), (real(2, 2, 6, 5),)),
        "2d all": (
            lambda nn: nn.Conv2d(
                4, 6, (3, 2), stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2
            ),
            (real(2, 4, 7, 6),),
        ),
        "2d same": (lambda nn: nn.Conv2d(2, 3, (3, 4), padding="same"), (real(1, 2, 5, 6),)),
        "2d valid": (lambda nn: nn.Conv2d(2, 3, 2, padding="valid"), (real(1, 2, 4, 4),)),
        "2d depthwise": (lambda nn: nn.Conv2d(4, 8, 3, groups=4, padding=1), (real(2, 4, 5, 5),)),
        "2d one image": (lambda nn: nn.Conv2d(2, 3, 3), (real(2, 5, 5),)),
        "2d reflect": (
            lambda nn: nn.Conv2d(2, 3, 3, padding=(2, 1), padding_mode="reflect"),
            (real(2, 2, 5, 4),),
        ),
        "2d replicate": (
            lambda nn: nn.Conv2d(2, 3, 3, padding=2, padding_mode="replicate"),
            (real(1, 2, 4, 4),),
        ),
        "2d circular same": (
            lambda nn: nn.Conv2d(2, 3, 4, padding="same", padding_mode="circular"),
            (real(1, 2, 5, 5),),
        ),
        "3d": (lambda nn: nn.Conv3d(2, 3, 2, padding=1), (real(1, 2, 3, 4, 3),)),
        "3d all": (
            lambda nn: nn.Conv3d(2, 4, (1, 2, 3), stride=(1, 2, 1), groups=2, dilation=(1, 1, 2)),
            (real(1, 2, 3, 5, 6),),
        ),
        "transpose 1d": (
            lambda nn: nn.ConvTranspose1d(3, 4, 3, stride=2, padding=1, output_padding=1),
            (real(2, 3, 5),),
        ),
        "transpose 2d": (lambda nn: nn.ConvTranspose2d(2, 3, 3), (real(2, 2, 4, 3),)),
        "transpose 2d all": (
            lambda nn: nn.ConvTranspose2d(
                4, 6, (3, 2), (3, 2), (1, 0), (2, 1), groups=2, bias=False, dilation=(1, 2)
            ),
            (real(2, 4, 3, 4),),
        ),
        "transpose 2d one image": (lambda nn: nn.ConvTranspose2d(2, 1, 2, 2), (real(2, 3, 3),)),
        "transpose 3d": (
            lambda nn: nn.ConvTranspose3d(2, 4, 2, stride=(1, 2, 1), groups=2),
            (real(1, 2, 2, 3, 2),),
        ),
    },
)
CONVOLUTION += [
    Case(
        "conv transpose to a size",
        lambda nn: nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1),
        (real(1, 2, 4, 4),),
        call=lambda model, x: model(x, output_size=(8, 7)),
    )
]

NORMS = _named(
    "norm",
    {
        "batch 1d": (lambda nn: nn.BatchNorm1d(3), (real(6, 3),)),
        "batch 1d length": (lambda nn: nn.BatchNorm1d(3), (real(4, 3, 5),)),
        "batch 2d": (lambda nn: nn.BatchNorm2d(3, eps=1e-3, momentum=0.3), (real(2, 3, 4, 3),)),
        "batch 3d": (lambda nn: nn.BatchNorm3d(2), (real(2, 2, 2, 3, 2),)),
        "batch plain": (lambda nn: nn.BatchNorm1d(3, affine=False), (real(6, 3),)),
        "batch cumulative": (lambda nn: nn.BatchNorm1d(3, momentum=None), (real(6, 3),)),
        "batch untracked": (
            lambda nn: nn.BatchNorm2d(3, track_running_stats=False),
            (real(2, 3, 2, 2),),
        ),
        "instance 1d": (lambda nn: nn.InstanceNorm1d(3), (real(2, 3, 5),)),
        "instance 2d": (lambda nn: nn.InstanceNorm2d(3, affine=True), (real(2, 3, 3, 4),)),
        "instance tracked": (
            lambda nn: nn.InstanceNorm2d(3, affine=True, track_running_stats=True),
            (real(2, 3, 3, 4),),
        ),
        "instance 3d": (lambda nn: nn.InstanceNorm3d(2, affine=True), (real(2, 2, 2, 3, 2),)),
        "instance one sample": (lambda nn: nn.InstanceNorm2d(2, affine=True), (real(2, 3, 3),)),
        "layer": (lambda nn: nn.LayerNorm(4), (real(2, 3, 4),)),
        "layer axes": (lambda nn: nn.LayerNorm((3, 4), eps=1e-3), (real(2, 3, 4),)),
        "layer without bias": (lambda nn: nn.LayerNorm(4, bias=False), (real(2, 4),)),
        "layer plain": (lambda nn: nn.LayerNorm(4, elementwise_affine=False), (real(2, 4),)),
        "rms": (lambda nn: nn.RMSNorm(4), (real(2, 3, 4),)),
        "rms axes": (lambda nn: nn.RMSNorm((3, 4), eps=1e-2), (real(2, 3, 4),)),
        "rms plain": (lambda nn: nn.RMSNorm(4, elementwise_affine=False), (real(2, 4),)),
        "group": (lambda nn: nn.GroupNorm(2, 4), (real(2, 4, 3),)),
        "group image": (lambda nn: nn.GroupNorm(3, 6, eps=1e-3), (real(2, 6, 3, 2),)),
        "group plain": (lambda nn: nn.GroupNorm(1, 4, affine=False), (real(2, 4),)),
    },
)


def _warmed(nn: Any) -> Any:
    """A batch norm whose running statistics are not those it starts with."""
    layer = nn.BatchNorm2d(2)
    state = layer.state_dict()
    state["running_mean"] = state["running_mean"] + 0.3
    state["running_var"] = state["running_var"] * 2.5
    layer.load_state_dict(state)
    return layer


NORMS += [
    Case("norm batch predicting", _warmed, (real(2, 2, 3, 3),), training=False),
    Case(
        "norm instance predicting",
        lambda nn: nn.InstanceNorm1d(2, track_running_stats=True),
        (real(2, 2, 3),),
        training=False,
    ),
]

POOLS = _named(
    "pool",
    {
        "max 1d": (lambda nn: nn.MaxPool1d(2), (real(2, 3, 7),)),
        "max 2d": (lambda nn: nn.MaxPool2d(3, 2, 1), (real(2, 2, 7, 6),)),
        "max 2d ceil": (lambda nn: nn.MaxPool2d((2, 3), ceil_mode=True), (real(1, 2, 5, 7),)),
        "max 2d dilated": (lambda nn: nn.MaxPool2d(2, 1, dilation=(2, 1)), (real(1, 2, 5, 5),)),
        "max 3d": (lambda nn: nn.MaxPool3d(2), (real(1, 2, 4, 4, 5),)),
        "avg 1d": (lambda nn: nn.AvgPool1d(3, 2, 1), (real(2, 3, 7),)),
        "avg 2d": (lambda nn: nn.AvgPool2d(3, 2, 1), (real(2, 2, 7, 6),)),
        "avg 2d inside": (
            lambda nn: nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False),
            (real(2, 2, 6, 6),),
        ),
        "avg 2d divided": (
            lambda nn: nn.AvgPool2d(3, 2, 1, ceil_mode=True, divisor_override=5),
            (real(1, 2, 6, 5),),
        ),
        "avg 3d": (lambda nn: nn.AvgPool3d(2, 1), (real(1, 2, 3, 4, 3),)),
        "adaptive avg 1d": (lambda nn: nn.AdaptiveAvgPool1d(3), (real(2, 2, 7),)),
        "adaptive avg 2d": (lambda nn: nn.AdaptiveAvgPool2d((3, 2)), (real(2, 2, 7, 5),)),
        "adaptive avg whole": (lambda nn: nn.AdaptiveAvgPool2d(1), (real(2, 2, 4, 6),)),
        "adaptive avg kept": (lambda nn: nn.AdaptiveAvgPool2d((None, 3)), (real(2, 5, 7),)),
        "adaptive avg 3d": (lambda nn: nn.AdaptiveAvgPool3d(2), (real(1, 2, 3, 4, 5),)),
        "adaptive max 1d": (lambda nn: nn.AdaptiveMaxPool1d(3), (real(2, 2, 8),)),
        "adaptive max 2d": (lambda nn: nn.AdaptiveMaxPool2d((3, 4)), (real(2, 2, 7, 5),)),
        "adaptive max 3d": (lambda nn: nn.AdaptiveMaxPool3d((1, 2, 2)), (real(1, 2, 2, 4, 4),)),
    },
)

_WIDE = (real(4, 6, low=-3.0, high=3.0),)
ACTIVATIONS = _named(
    "",
    {
        name: (build, _WIDE)
        for name, build in {
            "ReLU": lambda nn: nn.ReLU(),
            "ReLU6": lambda nn: nn.ReLU6(),
            "SiLU": lambda nn: nn.SiLU(),
            "Mish": lambda nn: nn.Mish(),
            "Hardswish": lambda nn: nn.Hardswish(),
            "Tanh": lambda nn: nn.Tanh(),
            "Sigmoid": lambda nn: nn.Sigmoid(),
            "LogSigmoid": lambda nn: nn.LogSigmoid(),
            "Softsign": lambda nn: nn.Softsign(),
            "Tanhshrink": lambda nn: nn.Tanhshrink(),
            "SELU": lambda nn: nn.SELU(),
            "GELU": lambda nn: nn.GELU(),
            "GELU tanh": lambda nn: nn.GELU(approximate="tanh"),
            "LeakyReLU": lambda nn: nn.LeakyReLU(0.2),
            "ELU": lambda nn: nn.ELU(1.3),
            "CELU": lambda nn: nn.CELU(2.0),  # torch divides by it in float32, in the gradient
            "Softplus": lambda nn: nn.Softplus(2.0, 3.0),
            "Hardtanh": lambda nn: nn.Hardtanh(-0.7, 1.2),
            "Hardshrink": lambda nn: nn.Hardshrink(0.4),
            "Softshrink": lambda nn: nn.Softshrink(0.4),
            "Threshold": lambda nn: nn.Threshold(0.1, 0.6),
            "GLU": lambda nn: nn.GLU(1),
            "Softmax": lambda nn: nn.Softmax(dim=1),
            "LogSoftmax": lambda nn: nn.LogSoftmax(dim=0),
            "Softmin": lambda nn: nn.Softmin(dim=1),
            "PReLU": lambda nn: nn.PReLU(),
            "PReLU channels": lambda nn: nn.PReLU(6, 0.1),
        }.items()
    },
)

ACTIVATIONS += [
    # torch's gradient is 1/6 in float32
    Case("Hardsigmoid", lambda nn: nn.Hardsigmoid(), _WIDE, tolerance=1e-7)
]

RESHAPING = _named(
    "",
    {
        "Flatten": (lambda nn: nn.Flatten(), (real(2, 3, 4),)),
        "Flatten some": (lambda nn: nn.Flatten(0, 1), (real(2, 3, 4),)),
        "Unflatten": (lambda nn: nn.Unflatten(1, (2, 3)), (real(2, 6),)),
        "Upsample nearest": (lambda nn: nn.Upsample(scale_factor=2), (real(1, 2, 3, 4),)),
        "Upsample bilinear": (
            lambda nn: nn.Upsample(size=(5, 7), mode="bilinear"),
            (real(1, 2, 3, 4),),
        ),
        "PixelShuffle": (lambda nn: nn.PixelShuffle(2), (real(1, 8, 2, 3),)),
    },
)

EMBEDDINGS = _named(
    "",
    {
        "Embedding": (lambda nn: nn.Embedding(7, 3), (whole(4, 5, high=7),)),
        "Embedding padded": (lambda nn: nn.Embedding(5, 3, padding_idx=2), (whole(6, high=5),)),
        "Embedding one": (lambda nn: nn.Embedding(5, 3, padding_idx=-1), (whole(high=5),)),
    },
)


def _cnn(nn: Any) -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 6, 3, stride=2, padding=1, bias=False),
        nn.GroupNorm(2, 6),
        nn.SiLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.0),
        nn.Linear(6, 3),
    )


def _mlp(nn: Any) -> Any:
    hidden = nn.ModuleList([nn.Linear(4, 8), nn.Linear(8, 8)])
    return nn.Sequential(hidden[0], nn.GELU(), hidden[1], nn.LayerNorm(8), nn.Linear(8, 2))


def _entropy(nn: Any, y: Any, target: Any) -> Any:
    return nn.CrossEntropyLoss()(y, target)


def _words(nn: Any) -> Any:
    return nn.ModuleDict({"table": nn.Embedding(9, 4), "head": nn.Linear(4, 9)})


def _read(model: Any, index: Any) -> Any:
    return model["head"](model["table"](index)).flatten(0, 1)


def _shuffled(seed: int, *shape: int) -> Array:
    return whole(*shape, high=9, seed=seed)


def _swing(lib: Lib, model: Any, optimiser: Any, step: int) -> None:
    """Predict and train in turns, so that running statistics are used, too."""
    model.train(step % 2 == 1)


NETWORKS = [
    Case("cnn", _cnn, (real(4, 1, 8, 8),), _entropy, (whole(4, high=3),)),
    Case("mlp", _mlp, (real(6, 4),), lambda nn, y, t: nn.MSELoss()(y, t), (real(6, 2, seed=1),)),
    Case("words", _words, (_shuffled(0, 3, 4),), _entropy, (_shuffled(1, 12),), call=_read),
    Case("cnn in turns", _cnn, (real(4, 1, 8, 8),), _entropy, (whole(4, high=3),), after=_swing),
    Case(
        "dropout predicting",
        lambda nn: nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 2)),
        (real(3, 4),),
        training=False,
    ),
]

CASES = [
    *LINEAR,
    *CONVOLUTION,
    *NORMS,
    *POOLS,
    *ACTIVATIONS,
    *RESHAPING,
    *EMBEDDINGS,
    *NETWORKS,
]
