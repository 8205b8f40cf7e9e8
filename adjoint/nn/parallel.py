"""Models on meshes: shardings of parameters, of optimiser state and of batches, by names of axes.

    mesh = Mesh({"dp": 2, "tp": 2})
    nn.parallel.shard_model(model, mesh)
    x = nn.parallel.shard_batch(mesh, x)

The model does not change: a sharding is a property of its tensors, and the communication of the
members follows from it. What may live here: the shardings of each strategy. What may not:
collectives.

| axis | what it splits |
|---|---|
| `dp` | batches; parameters are whole, their gradients are added up |
| `fsdp` | batches, parameters, gradients and the optimiser's state (ZeRO-3) |
| `tp` | heads of attention and the inner features of feed-forward parts (Megatron) |
| `pp` | layers: members have stages of the model, and batches come in microbatches |
| `ep` | experts of a `MixtureOfExperts`, and batches; all other parameters are whole |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from adjoint.distributed import member
from adjoint.errors import ArgumentError, ShardingError, did_you_mean
from adjoint.ir.mesh import PIPELINE_AXIS, Mesh, P, Sharding
from adjoint.ir.opdef import OPS
from adjoint.nn.attention import MultiheadAttention
from adjoint.nn.exchange import EXPERTS, ROWS, rows_of
from adjoint.nn.experts import MixtureOfExperts
from adjoint.nn.module import Module
from adjoint.nn.optim.optimizer import Optimizer
from adjoint.nn.stages import stages_of
from adjoint.nn.transformer import TransformerDecoderLayer, TransformerEncoderLayer
from adjoint.ops.casts import laid_both_ways
from adjoint.runtime.buffer import Buffer
from adjoint.runtime.sharded_buffer import ShardedBuffer
from adjoint.tensor import Tensor
from adjoint.transforms.pytree import tree_map

BATCH_AXES, WHOLE_AXIS, TENSOR_AXIS, EXPERT_AXIS = ROWS, "fsdp", "tp", EXPERTS
_AXES = (*BATCH_AXES, TENSOR_AXIS, PIPELINE_AXIS)
Rules = Mapping[str, P]
_LAYERS = (TransformerEncoderLayer, TransformerDecoderLayer)
_COLUMNS, _ROWS = P(TENSOR_AXIS), P(None, TENSOR_AXIS)  # of a weight: its outputs, its inputs
_IN_LAYER = {"linear1.weight": _COLUMNS, "linear1.bias": _COLUMNS, "linear2.weight": _ROWS}
_IN_ATTENTION = {
    "in_proj_weight": P(None, TENSOR_AXIS),
    "in_proj_bias": P(None, TENSOR_AXIS),
    "out_proj.weight": _ROWS,
}


def shard_model(
    model: Module,
    mesh: Mesh | None,
    rules: Rules | None = None,
    *,
    sequence: bool = False,
    stages: Sequence[str] | None = None,
) -> dict[str, P]:
    """Lay the parameters and buffers of a model out on a mesh; the layouts by name.

    `rules` are layouts of parameters by patterns of their names (`"*.up.weight": P("tp")`); they
    come before the layouts that layers of Adjoint have. With `sequence` what is between the parts
    of transformer layers is split along its length over `tp`. `stages` are the modules that the
    stages along `pp` begin with, the first aside; without them the longest list of layers is cut
    into equal shares. Without a mesh nothing is done.
    """
    if mesh is None:
        return {}
    _check(mesh, sequence)
    _check_names(mesh, rules or {})
    specs = _tensor_parallel(model) if TENSOR_AXIS in mesh.names else {}
    if EXPERT_AXIS in mesh.names:
        specs |= _expert_parallel(model, mesh)
    named = dict(model.state_dict())
    _check_rules(rules or {}, named)
    placed = stages_of(model, mesh, stages)
    layouts = {}
    for name, tensor in named.items():
        given = next((s for n, s in (rules or {}).items() if fnmatchcase(name, n)), None)
        spec = given if given is not None else specs.get(name, P())
        if given is None and WHOLE_AXIS in mesh.names:
            spec = split_further(tensor, mesh, spec, WHOLE_AXIS)
        layouts[name] = spec
        tensor.shard_(Sharding(mesh, spec, (), placed.get(name)))
    if sequence:
        _split_lengths(model, mesh)
    Tensor.realize(*named.values())
    return layouts


def shard_optimizer(optimizer: Optimizer, mesh: Mesh, axis: str = "dp") -> None:
    """Split what an optimiser keeps per parameter along an axis over which parameters are whole
    (ZeRO-1): a member updates its part of every parameter, and all gather the parts."""
    _check_axis(mesh, axis)
    for group in optimizer.param_groups:
        for p, slots in zip(group.params, group.slots, strict=True):
            layout = p.sharding
            spec = layout.spec if layout is not None else P()
            for tensor in slots.values():
                further = split_further(tensor, mesh, spec, axis)
                tensor.shard_(Sharding(mesh, further, (), _stage(layout)))
        Tensor.realize(*group.state)


def shard_gradients(optimizer: Optimizer, mesh: Mesh, axis: str = "dp") -> None:
    """Between `backward()` and `step()`: keep of each gradient the part that the state of a
    `shard_optimizer` needs (ZeRO-2)."""
    _check_axis(mesh, axis)
    for group in optimizer.param_groups:
        for p in group.params:
            if p.grad is not None:
                layout = p.sharding
                spec = layout.spec if layout is not None else P()
                further = split_further(p, mesh, spec, axis)
                p.grad = p.grad.shard(Sharding(mesh, further, (), _stage(layout)))


def _stage(layout: Sharding | None) -> int | None:
    return None if layout is None else layout.stage


def shard_batch(mesh: Mesh | None, *batch: Any, local: bool = False) -> Any:
    """Tensors or arrays of a batch, split along their first axis over `dp` and `fsdp`.

    With `local` they are what this process has loaded of the batch (`data.Loader(..., rank, size)`)
    instead of all of it. On a mesh with stages they go through these in microbatches. Without a
    mesh they stay as they are.
    """
    if mesh is None:
        return batch[0] if len(batch) == 1 else batch
    axes = rows_of(mesh)
    place = _from_part if local else _from_whole
    found = tuple(tree_map(lambda v: place(v, mesh, axes), part) for part in batch)
    return found[0] if len(found) == 1 else found


def loader_place(mesh: Mesh | None) -> dict[str, Any]:
    """`rank` and `size` for a `data.Loader` of this process: which part of every batch it loads."""
    here = member()
    axes = tuple(axis for axis in BATCH_AXES if mesh is not None and axis in mesh.names)
    if mesh is None or here.size == 1 or not axes:
        return {"rank": 0, "size": 1}
    return {"rank": mesh.place(here.rank, axes), "size": mesh.extent(axes)}


def split_further(tensor: Tensor, mesh: Mesh, spec: P, axis: str) -> P:
    """A layout that splits one more dimension, the longest that has equal parts; the same if none
    has."""
    dims = [*spec, *[None] * (tensor.ndim - len(spec))]
    parts = mesh.extent((axis,))
    free = [d for d in range(tensor.ndim) if dims[d] is None and int(tensor.shape[d]) % parts == 0]
    free = [d for d in free if int(tensor.shape[d]) > 0]
    if not free:
        return spec
    dims[max(free, key=lambda d: int(tensor.shape[d]))] = axis
    return P(*dims)


# ---- batches


def _from_whole(value: Any, mesh: Mesh, axes: tuple[str, ...]) -> Tensor:
    tensor = value if isinstance(value, Tensor) else Tensor(value)
    return tensor.shard(_batch_layout(tensor.shape, mesh, axes))


def _batch_layout(shape: Any, mesh: Mesh, axes: tuple[str, ...]) -> Sharding:
    """Rows over the members, in as many microbatches as the mesh has."""
    parts = mesh.extent(axes) * mesh.microbatches
    if mesh.stages and (not shape or int(shape[0]) % parts):
        rows = f"{int(shape[0])} rows" if shape else "a number"
        problem = f"a batch of {rows} has no {mesh.microbatches} equal microbatches"
        problem += f" on each of {mesh.extent(axes)} members" if axes else ""
        fix = f"give a multiple of {parts} rows, or Mesh(..., microbatches=)"
        raise ShardingError("E7008", problem, op="shard_batch", help=fix)
    return Sharding(mesh, (axes,) if axes else (), (), None, bool(mesh.stages))


def _from_part(value: Any, mesh: Mesh, axes: tuple[str, ...]) -> Tensor:
    here = member()
    if here.size == 1:
        return _from_whole(value, mesh, axes)
    array = np.asarray(value.numpy() if isinstance(value, Tensor) else value, order="C")
    shape = (array.shape[0] * mesh.extent(axes), *array.shape[1:])
    sharding = _batch_layout(shape, mesh, axes)
    buffer = Buffer(array, mesh.devices[here.rank])
    return Tensor(OPS["buffer"](ShardedBuffer({here.rank: buffer}, sharding, shape, buffer.dtype)))


# ---- tensor parallelism


def _tensor_parallel(model: Module) -> dict[str, P]:
    """Layouts of Megatron: columns, then rows, so that a part of a layer is summed up once."""
    specs: dict[str, P] = {}
    for name, module in model.named_modules():
        if isinstance(module, MultiheadAttention):
            module.unpack()
            specs |= {_joined(name, part): spec for part, spec in _IN_ATTENTION.items()}
        elif isinstance(module, _LAYERS):
            specs |= {_joined(name, part): spec for part, spec in _IN_LAYER.items()}
    return specs


def _expert_parallel(model: Module, mesh: Mesh) -> dict[str, P]:
    """Members have experts of every mixture."""
    mixtures = [(n, m) for n, m in model.named_modules() if isinstance(m, MixtureOfExperts)]
    members = mesh.extent((EXPERT_AXIS,))
    if not mixtures:
        problem = f"{mesh!r} splits experts along {EXPERT_AXIS!r}, and the model has none"
        fix = "nn.MixtureOfExperts is the layer that has them"
        raise ShardingError("E7002", problem, op="shard_model", help=fix)
    for name, mixture in mixtures:
        if mixture.num_experts % members:
            problem = f"{mixture.num_experts} experts of {name} have no {members} equal parts"
            fix = f"take a multiple of {members} experts"
            raise ShardingError("E7004", problem, op="shard_model", help=fix)
    parts = ("weight1", "bias1", "weight2", "bias2")
    return {_joined(name, part): P(EXPERT_AXIS) for name, _ in mixtures for part in parts}


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _split_lengths(model: Module, mesh: Mesh) -> None:
    """Sums of row-parallel products are scattered along the length, and gathered behind norms."""
    batch = tuple(axis for axis in BATCH_AXES if axis in mesh.names) or None
    for _, module in model.named_modules():
        if isinstance(module, _LAYERS):
            if not module.self_attn.batch_first:
                problem = "lengths are split where they are the second axis: batch_first=True"
                raise ArgumentError("E2008", problem, op="shard_model")
            whole, split = Sharding(mesh, P(batch)), Sharding(mesh, P(batch, TENSOR_AXIS))
            norms = [getattr(module, n) for n in ("norm1", "norm2", "norm3") if hasattr(module, n)]
            for norm in norms:
                norm.register_forward_hook(_Constraint(whole, split))
            if not hasattr(module, "linear2"):
                problem = "lengths of a layer with a feed_forward of its own are not split"
                raise ArgumentError("E2008", problem, op="shard_model")
            rows = [module.self_attn.out_proj, module.linear2]
            for part in rows:
                part.register_forward_hook(_Constraint(split, whole))


@dataclass(frozen=True)
class _Constraint:
    """A hook that lays a module's result out, and its cotangent as the result was before: a sum is
    scattered and its cotangent gathered, what is gathered has its cotangents' sum scattered."""

    layout: Sharding
    back: Sharding

    def __call__(self, module: Module, args: Any, result: Tensor) -> Tensor:
        return Tensor(laid_both_ways(result.uop, self.layout, self.back))


# ---- checks


def _check(mesh: Mesh, sequence: bool) -> None:
    if sequence and TENSOR_AXIS not in mesh.names:
        problem = f"lengths are split over the axis {TENSOR_AXIS!r}, and {mesh!r} has none"
        raise ArgumentError("E2008", problem, op="shard_model")


def _check_names(mesh: Mesh, rules: Rules) -> None:
    """An axis that nothing is split along is most likely a name that was mistyped."""
    told = {a for spec in rules.values() for a in Sharding(mesh, spec).used}
    for axis in mesh.names:
        if axis not in (*_AXES, *told):
            known = f"the axes are {', '.join(_AXES)}; rules may name others"
            problem = f"{mesh!r} has an axis {axis!r}, along which no parameter is split"
            fix = did_you_mean(axis, _AXES) or known
            raise ShardingError("E7002", problem, op="shard_model", help=fix)


def _check_axis(mesh: Mesh, axis: str) -> None:
    if axis not in mesh.names:
        fix = did_you_mean(axis, mesh.names)
        raise ArgumentError("E2008", f"{mesh!r} has no axis {axis!r}", op="parallel", help=fix)


def _check_rules(rules: Rules, named: Mapping[str, Tensor]) -> None:
    for pattern in rules:
        if not any(fnmatchcase(name, pattern) for name in named):
            problem = f"no parameter is called {pattern!r}"
            raise ArgumentError(
                "E2001", problem, op="shard_model", help=did_you_mean(pattern, named)
            )
