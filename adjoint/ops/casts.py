"""Ops about a value's storage and history: CAST, BITCAST, DETACH, CONTIGUOUS, ASSIGN, COPY."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from adjoint.errors import DeviceError, DTypeError, ShapeError, ShardingError
from adjoint.ir.arg import Arg
from adjoint.ir.axes import same_axes
from adjoint.ir.batch import Flags, Sources, same_op
from adjoint.ir.derivative import Derivative, Linear, Stop, ZeroGradient
from adjoint.ir.dtype import STORAGE, DType, as_dtype
from adjoint.ir.kernel_kind import MEMORY, Identity, KernelKind, PerNode, Pointwise
from adjoint.ir.mesh import Mesh, P, Sharding, over_devices, spread
from adjoint.ir.opdef import Bad, OpDef, composite, define
from adjoint.ir.uop import UOp, make_node
from adjoint.ops.mathematics import exact
from adjoint.ops.movement import checked_axis
from adjoint.ops.samples import SPECIAL, given, real, rough, whole
from adjoint.target import canonical_device


class CastArg(Arg):
    dtype: DType


def _cast(x: UOp, dtype: Any) -> UOp:
    kind = as_dtype(dtype)
    return x if kind is x.dtype else UOp(cast, (x,), CastArg(kind))


def _cast_type(src: tuple[UOp, ...], arg: CastArg) -> tuple[Any, DType]:
    """A complex number has no real value; whether it is zero, it can say."""
    (x,) = src
    if x.dtype.is_complex and not (arg.dtype.is_complex or arg.dtype.is_bool):
        problem = f"{x.dtype.name} to {arg.dtype.name} would drop the imaginary part"
        fix = f"take .real() (or .imag(), .abs()) first, then .cast('{arg.dtype.name}')"
        raise DTypeError("E2005", problem, op="cast", x=x, help=fix)
    return x.shape, arg.dtype


def _cast_back(g: UOp, x: UOp, dtype: DType) -> UOp:
    """A real operand of a complex result sees the real part of its cotangent."""
    real = g.real() if g.dtype.is_complex and not x.dtype.is_complex else g
    return real.cast(x.dtype)


_BYTES = tuple(d.np for d in STORAGE)


def convert(x: Any, dtype: Any) -> Any:
    """Values as another dtype: floats saturate into integers, NaN becomes 0, ints wrap."""
    x, kind = np.asarray(x), as_dtype(dtype)
    if (kind.is_storage or x.dtype in _BYTES) and x.dtype != kind.np:  # by float32: it holds them
        x = x.astype(np.float32)
    floating = x.dtype.kind in "fV" or x.dtype.name == "bfloat16"
    if kind.is_int and floating:
        return _saturate(x.astype(np.float64), kind)
    return (x != 0) if kind.is_bool else x.astype(kind.np)


def _saturate(x: Any, kind: DType) -> Any:
    x = np.where(np.isnan(x), 0, x)
    high = x >= float(kind.max)  # the float of 2**63 - 1 is 2**63: compared, never cast
    low = x <= float(kind.min)
    inner = np.where(high | low, 0, x).astype(kind.np)
    return np.where(high, kind.np.type(kind.max), np.where(low, kind.np.type(kind.min), inner))


cast = define(
    "cast",
    "The same values as another dtype. A float saturates into an integer, NaN becomes 0; "
    "integers wrap. A complex number is no real one: take its parts.",
    arg=CastArg,
    call=_cast,
    infer=_cast_type,
    ad=Linear(_cast_back),
    reference=convert,
    samples=given(
        (real(2, 3), as_dtype("float64")),
        rough(real(2, 3), as_dtype("float32")),
        rough(real(2, 3), as_dtype("int32")),
        rough(SPECIAL, as_dtype("int8")),
        rough(SPECIAL, as_dtype("bool")),
        (real(0, 3), as_dtype("float64")),
        rough(whole(), as_dtype("uint16")),
        (real(2, 3), as_dtype("complex128")),
        rough(real(2, 3) + 1j * real(2, 3, seed=1), as_dtype("complex64")),
    ),
    errors=(
        Bad("E2001", (real(2), "float31"), match="float31"),
        Bad("E2005", (real(2) + 1j, "float32"), match="imaginary part"),
    ),
    bounds=lambda x: x,  # what the dtype does not hold wraps around
    level="both",
    kinds="biuf",
    computes_in_f32=False,
    batch=same_op,
    kernel=Pointwise(of_types=exact.convert),
    axes=same_axes,
)


def _bitcast(x: UOp, dtype: Any) -> UOp:
    kind = as_dtype(dtype)
    return x if kind is x.dtype else UOp(bitcast, (x,), CastArg(kind))


def _bitcast_type(src: tuple[UOp, ...], arg: CastArg) -> tuple[Any, DType]:
    (x,) = src
    before, after = x.dtype.itemsize, arg.dtype.itemsize
    if before == after:
        return x.shape, arg.dtype
    if not x.shape or x.shape[-1] * before % after:
        problem = f"the last axis does not divide into {arg.dtype.name}"
        raise ShapeError("E3007", problem, op="bitcast", x=x)
    return (*x.shape[:-1], x.shape[-1] * before // after), arg.dtype


_BITS = Pointwise(of_types=exact.reinterpret)


def _bitcast_kernel(node: UOp) -> KernelKind:
    """Elements of another width are other bytes: their number changes."""
    return _BITS if node.dtype.itemsize == node.src[0].dtype.itemsize else MEMORY


bitcast = define(
    "bitcast",
    "The same bytes read as another dtype; a different width changes the last axis.",
    arg=CastArg,
    call=_bitcast,
    infer=_bitcast_type,
    ad=ZeroGradient("bits are not numbers"),
    reference=lambda x, dtype: (
        np.ascontiguousarray(x).reshape(np.shape(x)).view(as_dtype(dtype).np)
    ),
    samples=given(rough(whole(2, 4), as_dtype("uint8")), rough(whole(2, 8), as_dtype("float64"))),
    errors=(Bad("E3007", (np.zeros((2, 3), np.uint8), "int32"), match="last axis"),),
    level="both",
    kinds="iu",
    computes_in_f32=False,
    batch=same_op,
    kernel=PerNode((_BITS, MEMORY), _bitcast_kernel),
    views=True,
)


def _same(src: tuple[UOp, ...], arg: Any) -> tuple[Any, Any]:
    return src[0].shape, src[0].dtype


_ANY = given((real(2, 3),), (real(),), (real(0, 3),))


def _identity(
    name: str, doc: str, ad: Derivative, reference: Any = np.asarray, **rest: Any
) -> OpDef:
    """A record that gives the values of its only operand."""
    options: dict[str, Any] = {"call": lambda x: UOp(record, (x,)), "kernel": Identity()} | rest
    record: OpDef = define(
        name,
        doc,
        infer=_same,
        ad=ad,
        reference=reference,
        samples=_ANY,
        batch=same_op,
        axes=same_axes,
        **options,
    )
    return record


detach = _identity(
    "detach", "The same values; stops gradients.", Stop("detached by the user"), views=True
)
contiguous = _identity(
    "contiguous",
    "The same values in a buffer of their own.",
    Linear(lambda g, x: g),
    reference=lambda x: np.array(x, order="C"),
)
contiguous_backward = _identity(
    "contiguous_backward",
    "The same values; the gradient gets a buffer of its own.",
    Linear(lambda g, x: g.contiguous()),
)


class UniqueArg(Arg):
    token: int


_tokens = count()


def _unique_identity(x: UOp) -> UOp:
    # A token is a plain int: without the checks of `Arg` a variable takes a fifth less time.
    arg = tuple.__new__(UniqueArg, (next(_tokens),))
    return make_node(unique_identity, (x,), arg, x.shape, x.dtype)


unique_identity = _identity(
    "unique_identity",
    "The same values as a node of their own: two parameters that start equal stay two.",
    Linear(lambda g, x, token: g, tangent=lambda t, y, x, token: t[0]),
    reference=lambda x, token=0: np.asarray(x),
    arg=UniqueArg,
    call=_unique_identity,
    kernel=Identity(places=True),
    opcode=False,
)


def _assign(target: UOp, value: UOp) -> UOp:
    return UOp(assign, (target, value))


def _assign_type(src: tuple[UOp, ...], arg: Any) -> tuple[Any, Any]:
    target, value = src
    operands = [("target", target), ("value", value)]
    if target.shape != value.shape:
        raise ShapeError("E3003", "shapes differ", op="assign", operands=operands)
    if target.dtype is not value.dtype:
        fix = f"value.cast('{target.dtype.name}')"
        raise DTypeError("E2004", "dtypes differ", op="assign", operands=operands, help=fix)
    return target.shape, target.dtype


assign = define(
    "assign",
    "`value`, which may be stored over `target` where no other node reads that. No gradient "
    "passes.",
    call=_assign,
    infer=_assign_type,
    ad=Stop("an assignment is not part of the function"),
    reference=lambda target, value: value,
    samples=given((real(2, 3), real(2, 3, seed=1))),
    errors=(Bad("E3003", (real(2), real(3)), match="shapes differ"),),
    batch=same_op,
    kernel=Identity(operand=1),
    axes=same_axes,
)


class CopyArg(Arg):
    device: str


def _copy(x: UOp, device: Any) -> UOp:
    if not isinstance(device, str):
        mesh = spread(device).mesh
        here = isinstance(x.device, Sharding) and x.device.mesh == mesh
        return x if here else _shard(x, Sharding(mesh))
    name = canonical_device(device)
    return x if name == x.device else UOp(copy, (x,), CopyArg(name))


def _copy_reference(x: Any, device: str) -> Any:
    """Arrays in memory never change and are shared; a mapped file may change, and is read here."""
    return np.array(x) if isinstance(x, np.memmap) else np.asarray(x)


copy = define(
    "copy",
    "The same values on another device.",
    arg=CopyArg,
    call=_copy,
    infer=_same,
    device=lambda src, arg: arg.device,
    ad=Linear(lambda g, x, device: g if x.device is None else _returned(g, x)),
    reference=_copy_reference,
    samples=given((real(2, 3), "CPU")),
    errors=(Bad("E6002", (real(2), "GPUU"), match="GPU"),),
    batch=same_op,
    kernel=Identity(places=True),
    axes=same_axes,
    public=False,
    opcode=False,
)


@composite(
    reference=lambda x, name: x,
    samples=given((real(2, 3), "hidden"), (real(), "scale"), (real(0, 3), "none")),
)
def checkpoint_name(x: UOp, name: str) -> UOp:
    """The same values with a name, by which a policy of `checkpoint` can save them."""
    return x


class ShardArg(Arg):
    sharding: Sharding
    back: Sharding | None = None  # of the cotangent; the same where None
    free: int = 0  # dimensions in front, of batches, that stay as they are split


def _shard(x: UOp, devices: Any, axis: Any = None) -> UOp:
    sharding = _sharding_of(x, devices, axis)
    if len(sharding.dims) > len(x.shape):
        problem = f"{sharding.spec!r} splits {len(sharding.dims)} dimensions of {len(x.shape)}"
        raise ShardingError("E7004", problem, op="shard", x=x)
    if sharding.pending:
        problem = "what is pending is no layout to ask for"
        raise ShardingError("E7004", problem, op="shard", x=x, help="use sharding.resolved()")
    return UOp(shard, (x,), ShardArg(sharding))


def _sharding_of(x: UOp, mesh: Any, spec: Any) -> Sharding:
    """A mesh and what each dimension is split along; devices and one axis; or a sharding."""
    if isinstance(mesh, Sharding):
        return mesh
    if isinstance(mesh, Mesh):
        if spec is not None and not isinstance(spec, (tuple, list)):
            problem = f"takes P(...), what each dimension is split along, not {spec!r}"
            raise ShardingError("E7004", problem, op="shard", x=x)
        return Sharding(mesh, spec or ())
    if not isinstance(mesh, (tuple, list)) or not mesh:
        problem = "takes a Mesh and P(...), or a tuple of devices and an axis"
        raise DeviceError("E6008", problem, op="shard", x=x)
    names = tuple(canonical_device(d) for d in mesh)
    if len(set(names)) != len(names):
        raise DeviceError("E6008", f"a device is named twice in {names}", op="shard")
    place = None if spec is None else checked_axis("shard", spec, len(x.shape), x)
    return over_devices(names, place)


def _batched_shard(node: UOp, src: Sources, batched: Flags, size: int) -> UOp:
    """What is said of an example is said of no batch: how that is split stays as it is."""
    moved = [s and Sharding(s.mesh, ((), *s.dims)) for s in (node.arg.sharding, node.arg.back)]
    return UOp(node.op, src, ShardArg(*moved, node.arg.free + 1))


def _sharded_back(g: UOp, x: UOp, sharding: Sharding, back: Sharding | None, free: int) -> UOp:
    """The same layout, for nothing then moves that need not; on the operand's mesh."""
    if isinstance(x.device, Sharding) and x.device.mesh != sharding.mesh:
        return UOp(shard, (g,), ShardArg(Sharding(x.device.mesh), None, free))
    return laid_both_ways(g, back or sharding, sharding if back else None, free)


def laid_both_ways(x: UOp, sharding: Sharding, back: Sharding | None, free: int = 0) -> UOp:
    """The same values in a layout, and cotangents of them in another."""
    return UOp(shard, (x,), ShardArg(sharding, back, free))


shard: OpDef = define(
    "shard",
    "The same values spread over a mesh: `x.shard(mesh, P('dp', None))` splits every dimension "
    "along the axes named for it; `x.shard(devices, axis)` along one dimension, or whole on each.",
    arg=ShardArg,
    call=_shard,
    infer=_same,
    device=lambda src, arg: arg.sharding,
    ad=Linear(
        _sharded_back,
        tangent=lambda t, y, x, sharding, back, free: laid_both_ways(t[0], sharding, back, free),
    ),
    reference=lambda x, *rest, **attrs: np.asarray(x),
    samples=given((real(4, 3), ("REF", "REF:1"), 0), (real(3), ("CPU:0", "CPU:1"), None)),
    errors=(
        Bad("E6008", (real(2), "CPU"), match="tuple of devices"),
        Bad("E6008", (real(2), ("CPU", "CPU:0")), match="twice"),
        Bad("E3004", (real(2), ("CPU", "CPU:1"), 3), match="axis 3"),
        Bad("E7002", (real(2), Mesh(1, "a", "CPU"), P("b")), match="no axis"),
        Bad("E7004", (real(2), Mesh(1, "a", "CPU"), P(None, "a")), match="dimensions"),
    ),
    batch=_batched_shard,
    kernel=Identity(places=True),
    axes=same_axes,
    opcode=False,
)


def _returned(g: UOp, x: UOp) -> UOp:
    """A cotangent back where the operand was."""
    if isinstance(x.device, Sharding):
        return UOp(shard, (g,), ShardArg(Sharding(x.device.mesh)))
    return g.copy(x.device)
