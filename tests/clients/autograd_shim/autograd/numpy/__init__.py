"""NumPy's names: its own functions for arrays, Adjoint's for tensors."""

import numpy as _numpy

import adjoint as _adjoint

from ..dispatch import namespace as _namespace
from . import fft, linalg, random
from .functions import ALIASES as _ALIASES
from .functions import FUNCTIONS as _FUNCTIONS

__version__ = _numpy.__version__


def _find(name):  # type: ignore[no-untyped-def]
    return getattr(_adjoint, _ALIASES.get(name, name), None)


globals().update(_namespace(_numpy, _find, _FUNCTIONS))

from .functions import c_, make_diagonal, r_  # noqa: E402 - in the place of NumPy's own

_stack_of_all = globals()["stack"]


def stack(arrays, axis=0):  # type: ignore[no-untyped-def]
    """Autograd's own: the arrays may be any iterable."""
    return _stack_of_all(list(arrays), axis=axis)


__all__ = ["c_", "fft", "linalg", "make_diagonal", "r_", "random", "stack"]
