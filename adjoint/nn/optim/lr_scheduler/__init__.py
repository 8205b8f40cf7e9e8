"""Learning-rate schedules as objects with `step()`, under torch's names.

Public names only.
"""

from adjoint.nn.optim.lr_scheduler.base import LRScheduler
from adjoint.nn.optim.lr_scheduler.by_step import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from adjoint.nn.optim.lr_scheduler.combined import ChainedScheduler, SequentialLR
from adjoint.nn.optim.lr_scheduler.one_cycle import OneCycleLR
from adjoint.nn.optim.lr_scheduler.plateau import ReduceLROnPlateau

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
