"""Adjoint: a small tensor compiler whose gradients are programs you can read.

Public names only; everything else is reached through its package.
"""

from adjoint import start as _start  # noqa: F401 - before the rest is loaded

# isort: split
from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from adjoint import config as _config
from adjoint import ops
from adjoint.engine.counters import counters
from adjoint.errors import (
    AdjointError,
    ArgumentError,
    AutodiffError,
    AxisError,
    BoundsError,
    CommunicationError,
    DeviceError,
    DTypeError,
    FileError,
    IndexKindError,
    InternalError,
    JitWarning,
    LinAlgError,
    MatrixError,
    NumericError,
    ScalarError,
    ShapeError,
    ShardingError,
    TextError,
    TrainingError,
    UnknownNameError,
    VerificationError,
)
from adjoint.handbuilt.record import custom_kernel
from adjoint.ir.dtype import dtypes
from adjoint.ir.exactness import allow_tf32, deterministic, native_bfloat16
from adjoint.ir.mesh import Mesh, P, Sharding
from adjoint.ir.opdef import seal_records as _seal_records
from adjoint.ir.sizes import Variable
from adjoint.runtime.device import Device
from adjoint.tensor import array_api
from adjoint.tensor._functions import *  # noqa: F403 - every record
from adjoint.tensor.array_api import *  # noqa: F403 - the array API standard
from adjoint.tensor.autocast import autocast
from adjoint.tensor.einops_backend import wait_for_einops as _wait_for_einops
from adjoint.tensor.familiar import (
    from_numpy,
    is_tensor,
    manual_seed,
    rand,
    rand_like,
    randint,
    randn,
    randn_like,
    randperm,
)
from adjoint.tensor.sharded import with_sharding_constraint
from adjoint.tensor.show import show
from adjoint.tensor.tensor import Tensor, no_grad
from adjoint.transforms.axes import (
    all_gather,
    all_to_all,
    axis_index,
    axis_size,
    pmax,
    pmean,
    pmin,
    ppermute,
    psum,
    psum_scatter,
)
from adjoint.transforms.checking import ShapeDtype, check_grads, eval_shape
from adjoint.transforms.checkpoint import checkpoint, checkpoint_policies
from adjoint.transforms.control import (
    associative_scan,
    cond,
    fori_loop,
    scan,
    switch,
    while_loop,
)
from adjoint.transforms.control import map_ as map  # noqa: F401 - not for `import *`
from adjoint.transforms.custom_rules.custom import custom_jvp, custom_vjp, stop_gradient
from adjoint.transforms.custom_rules.operation import Operation
from adjoint.transforms.forward import jvp, linearize
from adjoint.transforms.jacobian import hessian, jacfwd, jacrev
from adjoint.transforms.jit.jitted import jit
from adjoint.transforms.linear import linear_transpose
from adjoint.transforms.paths import (
    keystr,
    ravel_pytree,
    tree_flatten_with_path,
    tree_leaves_with_path,
    tree_map_with_path,
)
from adjoint.transforms.pytree import (
    register_pytree_node,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_structure,
    tree_unflatten,
)
from adjoint.transforms.reverse import grad, value_and_grad, vjp
from adjoint.transforms.trace import (  # type: ignore[assignment]  # `trace` of a function
    OpNode,
    Trace,
    backward_on_trace,
    forward_on_trace,
    trace,
)
from adjoint.transforms.vmap import vmap

if TYPE_CHECKING:
    from adjoint import data, debug, distributed, nn, sharding, training
    from adjoint.debug import debug_nans, memory, profile
    from adjoint.debug.explaining import explain
    from adjoint.sharding.order import reduction_order
    from adjoint.tensor.sharding_picture import visualize_sharding
    from adjoint.transforms.capture import capture
    from adjoint.transforms.lower import lower
    from adjoint.transforms.shard_map import shard_map
    from adjoint.viz import view  # type: ignore[assignment]  # it takes sizes too, as `Tensor.view`

_LATER = {  # names that are loaded when they are asked for, and where they are
    "capture": "adjoint.transforms.capture",
    "data": "adjoint.data",
    "debug": "adjoint.debug",
    "debug_nans": "adjoint.debug",
    "explain": "adjoint.debug.explaining",
    "distributed": "adjoint.distributed",
    "lower": "adjoint.transforms.lower",
    "memory": "adjoint.debug",
    "nn": "adjoint.nn",
    "profile": "adjoint.debug",
    "reduction_order": "adjoint.sharding.order",
    "shard_map": "adjoint.transforms.shard_map",
    "sharding": "adjoint.sharding",
    "training": "adjoint.training",
    "view": "adjoint.viz",
    "visualize_sharding": "adjoint.tensor.sharding_picture",
}


if not TYPE_CHECKING:  # to a checker of types a name that is not written is an error
    del view

    def __getattr__(name: str) -> _Any:
        """Load a part of Adjoint that most programs do without."""
        if name not in _LATER:
            raise AttributeError(f"module 'adjoint' has no attribute {name!r}")
        module = _import_module(_LATER[name])
        found = module if _LATER[name] == f"adjoint.{name}" else getattr(module, name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*__all__, *array_api.PUBLIC, "__version__", "__array_namespace_info__"})


__version__ = "0.1.0"
# `from adjoint import *` gives these, none of which hides a name of Python's. The array API
# standard, and every op as a function, are attributes of the package as well.
__all__ = [
    "AdjointError",
    "ArgumentError",
    "AutodiffError",
    "AxisError",
    "BoundsError",
    "CommunicationError",
    "DTypeError",
    "Device",
    "DeviceError",
    "FileError",
    "IndexKindError",
    "InternalError",
    "JitWarning",
    "LinAlgError",
    "MatrixError",
    "Mesh",
    "NumericError",
    "OpNode",
    "Operation",
    "P",
    "ScalarError",
    "ShapeDtype",
    "ShapeError",
    "Sharding",
    "ShardingError",
    "Tensor",
    "TextError",
    "Trace",
    "TrainingError",
    "UnknownNameError",
    "Variable",
    "VerificationError",
    "all_gather",
    "all_to_all",
    "allow_tf32",
    "array_api",
    "associative_scan",
    "autocast",
    "axis_index",
    "axis_size",
    "backward_on_trace",
    "capture",
    "check_grads",
    "checkpoint",
    "checkpoint_policies",
    "cond",
    "counters",
    "custom_jvp",
    "custom_kernel",
    "custom_vjp",
    "data",
    "debug",
    "debug_nans",
    "deterministic",
    "distributed",
    "dtypes",
    "eval_shape",
    "explain",
    "fori_loop",
    "forward_on_trace",
    "from_numpy",
    "grad",
    "hessian",
    "is_tensor",
    "jacfwd",
    "jacrev",
    "jit",
    "jvp",
    "keystr",
    "linear_transpose",
    "linearize",
    "lower",
    "manual_seed",
    "memory",
    "native_bfloat16",
    "nn",
    "no_grad",
    "ops",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "profile",
    "psum",
    "psum_scatter",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "randperm",
    "ravel_pytree",
    "reduction_order",
    "register_pytree_node",
    "scan",
    "shard_map",
    "sharding",
    "show",
    "stop_gradient",
    "switch",
    "trace",
    "training",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "value_and_grad",
    "view",
    "visualize_sharding",
    "vjp",
    "vmap",
    "while_loop",
    "with_sharding_constraint",
]

_seal_records()
_wait_for_einops()

if _config.DEBUG_NANS.given() is not None:
    _import_module("adjoint.debug.nans").as_the_environment_says()
