"""Optimisers: each a pure `init`/`update` pair, and an object with `step()` built on it.

Public names only.
"""

from adjoint.nn.optim import lr_scheduler, schedules
from adjoint.nn.optim.adam import Adam, AdamW, adam, adamw
from adjoint.nn.optim.adaptive import Adagrad, RMSprop, adagrad, rmsprop
from adjoint.nn.optim.clipping import (
    clip_by_global_norm,
    clip_by_value,
    clip_grad_norm_,
    clip_grad_value_,
    global_norm,
)
from adjoint.nn.optim.ema import EMA, EMAState, PureEMA, ema
from adjoint.nn.optim.grad_scaler import GradScaler
from adjoint.nn.optim.group import Group
from adjoint.nn.optim.layerwise import LAMB, LARS, lamb, lars
from adjoint.nn.optim.lbfgs import LBFGS
from adjoint.nn.optim.lr_scheduler import *  # noqa: F403 (all its names are names here)
from adjoint.nn.optim.momentum import Adamax, NAdam, RAdam, adamax, nadam, radam
from adjoint.nn.optim.muon import Muon, muon
from adjoint.nn.optim.optimizer import Optimizer
from adjoint.nn.optim.pure import PureOptimizer, Rule, State
from adjoint.nn.optim.schedules import Schedule
from adjoint.nn.optim.sgd import SGD, sgd
from adjoint.nn.optim.stepwise import ASGD, Adadelta, Rprop, adadelta, asgd, rprop

__all__ = [
    "ASGD",
    "EMA",
    "LAMB",
    "LARS",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "EMAState",
    "GradScaler",
    "Group",
    "Muon",
    "NAdam",
    "Optimizer",
    "PureEMA",
    "PureOptimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "Rule",
    "Schedule",
    "State",
    "adadelta",
    "adagrad",
    "adam",
    "adamax",
    "adamw",
    "asgd",
    "clip_by_global_norm",
    "clip_by_value",
    "clip_grad_norm_",
    "clip_grad_value_",
    "ema",
    "global_norm",
    "lamb",
    "lars",
    "lr_scheduler",
    "muon",
    "nadam",
    "radam",
    "rmsprop",
    "rprop",
    "schedules",
    "sgd",
]
__all__ += lr_scheduler.__all__
