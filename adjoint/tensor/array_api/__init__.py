"""The Python array API standard, version 2025.12, on Tensor: `adjoint.sum(x, axis=0)`.

In: tensors. Out: tensors. Names, signatures and meanings are the standard's; where a Tensor method
of the same name differs, it is here that the standard is followed. Every other record is here too,
under its own name; `PUBLIC` lists all, `STANDARD` the standard's. May not: give an op its meaning.
"""

import sys as _sys
from types import FunctionType as _FunctionType

from adjoint.ir.spelling import has_twins as _has_twins
from adjoint.ir.spelling import spelled as _spelled
from adjoint.tensor import _functions
from adjoint.tensor._functions import *  # what the standard does not name
from adjoint.tensor.array_api import fft as fft
from adjoint.tensor.array_api import linalg as linalg
from adjoint.tensor.array_api.constants import *
from adjoint.tensor.array_api.creation import *
from adjoint.tensor.array_api.dtypes import *
from adjoint.tensor.array_api.elementwise import *
from adjoint.tensor.array_api.indexing import *
from adjoint.tensor.array_api.info import *
from adjoint.tensor.array_api.manipulation import *
from adjoint.tensor.array_api.products import *
from adjoint.tensor.array_api.searching import *
from adjoint.tensor.array_api.sets import *
from adjoint.tensor.array_api.sorting import *
from adjoint.tensor.array_api.statistical import *
from adjoint.tensor.array_api.utility import *
from adjoint.tensor.tensor import Tensor as _Tensor

__array_api_version__ = "2025.12"
_PARTS = (
    *("constants", "creation", "dtypes", "elementwise", "indexing", "info", "manipulation"),
    *("products", "searching", "sets", "sorting", "statistical", "utility"),
)
STANDARD: tuple[str, ...] = (
    *("__array_api_version__", "fft", "linalg"),
    *(name for part in _PARTS for name in _sys.modules[f"{__name__}.{part}"].__all__),
)
PUBLIC: tuple[str, ...] = (*STANDARD, *_functions.__all__)
globals()["__all__"] = list(PUBLIC)  # a checker of types, which reads no sums, takes all names
for _name in STANDARD:  # by either name of an option; see ir/spelling.py
    if isinstance(_function := globals()[_name], _FunctionType) and _has_twins(_function):
        globals()[_name] = _spelled(_function)
        if _name in linalg.__all__:  # the extension has the same products
            setattr(linalg, _name, globals()[_name])
_Tensor._namespace = _sys.modules[__name__]
