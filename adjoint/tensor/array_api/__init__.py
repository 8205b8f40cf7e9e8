"""The Python array API standard, version 2025.12, on Tensor: `adjoint.sum(x, axis=0)`.

In: tensors. Out: tensors. Names, signatures and meanings are the standard's; where a Tensor method
of the same name differs, it is here that the standard is followed. Every other record is here too,
under its own name; `PUBLIC` lists all, `STANDARD` the standard's. May not: give an op its meaning.
"""

import sys
from math import e, inf, nan, pi
from types import FunctionType

from adjoint.ir.spelling import has_twins, spelled
from adjoint.tensor import _functions
from adjoint.tensor._functions import *  # what the standard does not name
from adjoint.tensor.array_api import (
    creation,
    dtypes,
    elementwise,
    fft,
    indexing,
    info,
    linalg,
    manipulation,
    products,
    searching,
    sets,
    sorting,
    statistical,
    utility,
)
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
from adjoint.tensor.tensor import Tensor

__array_api_version__ = "2025.12"
newaxis: None = None

__all__ = ["__array_api_version__", "e", "fft", "inf", "linalg", "nan", "newaxis", "pi"]
__all__ += creation.__all__
__all__ += dtypes.__all__
__all__ += elementwise.__all__
__all__ += indexing.__all__
__all__ += info.__all__
__all__ += manipulation.__all__
__all__ += products.__all__
__all__ += searching.__all__
__all__ += sets.__all__
__all__ += sorting.__all__
__all__ += statistical.__all__
__all__ += utility.__all__
STANDARD: tuple[str, ...] = tuple(__all__)
for _name in STANDARD:  # by either name of an option; see ir/spelling.py
    if isinstance(_function := globals()[_name], FunctionType) and has_twins(_function):
        globals()[_name] = spelled(_function)
        if _name in linalg.__all__:  # the extension has the same products
            setattr(linalg, _name, globals()[_name])
__all__ += _functions.__all__
PUBLIC: tuple[str, ...] = tuple(__all__)
Tensor._namespace = sys.modules[__name__]
