"""autograd with Adjoint inside: the modules here replace its own; the rest is found beside them."""

import importlib.machinery
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_OTHERS = [path for path in sys.path if Path(path).resolve() != _HERE.parent]
_INSTALLED = importlib.machinery.PathFinder.find_spec("autograd", _OTHERS)
__path__ = [str(_HERE), *_INSTALLED.submodule_search_locations]

from .builtins import dict, isinstance, list, tuple, type  # noqa: E402
from .differential_operators import (  # noqa: E402
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)
from .tracer import primitive  # noqa: E402
from .util import subvals  # noqa: E402

__all__ = [
    "checkpoint",
    "deriv",
    "dict",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "isinstance",
    "jacobian",
    "list",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_vjp",
    "multigrad_dict",
    "primitive",
    "subvals",
    "tensor_jacobian_product",
    "tuple",
    "type",
    "value_and_grad",
    "vector_jacobian_product",
]
