"""Models in stages: which parameters each stage of a mesh has, and where one begins.

    mesh = Mesh({"pp": 2}, microbatches=4, schedule="1f1b")
    nn.parallel.shard_model(model, mesh)            # layers in equal shares
    nn.parallel.shard_model(model, mesh, stages=["layers.3"])  # the second begins there

What may live here: names to stages, and marks at the modules that stages begin with. What may not:
how a graph is cut there (`sharding/`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adjoint.errors import ShardingError, did_you_mean
from adjoint.ir.mesh import Mesh
from adjoint.ir.opdef import OPS
from adjoint.nn.module import Module
from adjoint.nn.state.walk import walk
from adjoint.tensor import Tensor

_TO_STAGE = OPS["to_stage"]
_HELP = 'name the modules that stages begin with: shard_model(model, mesh, stages=["layers.4"])'


@dataclass(frozen=True)
class Entering:
    """A hook at the first module of a stage: what it is called with goes there."""

    stage: int

    def __call__(self, module: Module, args: Any) -> Any:
        return tuple(self._marked(value) for value in args)

    def _marked(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        return Tensor(_TO_STAGE(value.uop, self.stage), requires_grad=value.requires_grad)


def stages_of(model: Module, mesh: Mesh, cuts: Sequence[str] | None) -> dict[str, int | None]:
    """The stage of every tensor of a model by name; modules that a stage begins with are marked."""
    for module in model.modules():
        kept = tuple(h for h in module._forward_pre_hooks if not isinstance(h, Entering))
        if kept != module._forward_pre_hooks:
            module._forward_pre_hooks = kept
    if not mesh.stages:
        if cuts is not None:
            problem = f"{mesh!r} has no axis 'pp' for stages"
            raise ShardingError("E7002", problem, op="shard_model", help='Mesh({"pp": 2})')
        return {}
    begins = _checked(model, mesh, cuts) if cuts is not None else _equal_shares(model, mesh)
    known = dict(model.named_modules())
    for stage, name in enumerate(begins, 1):
        known[name].register_forward_pre_hook(Entering(stage))
    return _by_name(model, begins, mesh)


def _by_name(model: Module, begins: Sequence[str], mesh: Mesh) -> dict[str, int | None]:
    """Tensors in the order of attributes: a stage begins with those of its first module."""
    walked, trained = walk(model), {id(p) for p in model.parameters()}
    found: dict[str, int | None] = {}
    stage = 0
    for name, tensor in walked.tensors.items():
        while stage < len(begins) and name.startswith(f"{begins[stage]}."):
            stage += 1
        shared = any(name == a or name.startswith(f"{a}.") for a in walked.aliases.values())
        found[name] = None if shared and id(tensor) not in trained else stage
    empty = [s for s in range(mesh.stages) if s not in found.values()]
    if empty:
        problem = f"stage {empty[0]} of {mesh.stages} has no parameters"
        raise ShardingError("E7007", problem, op="shard_model", help=_HELP)
    return found


def _equal_shares(model: Module, mesh: Mesh) -> list[str]:
    """The first layer of every stage but the first: the longest list of layers in equal shares,
    earlier ones longer by one where there are some left."""
    lists: dict[str, list[str]] = {}
    for name, module in model.named_modules():
        head, _, tail = name.rpartition(".")
        if tail.isdigit() and module.parameters():
            lists.setdefault(head, []).append(name)
    layers = max(lists.values(), key=len, default=[])
    if len(layers) < mesh.stages:
        kind = type(model).__name__
        problem = (
            f"{kind} has no list of {mesh.stages} layers or more; its longest has {len(layers)}"
        )
        raise ShardingError("E7007", problem, op="shard_model", help=_HELP)
    share, more = divmod(len(layers), mesh.stages)
    return [layers[s * share + min(s, more)] for s in range(1, mesh.stages)]


def _checked(model: Module, mesh: Mesh, cuts: Sequence[str]) -> list[str]:
    known = [name for name, _ in model.named_modules() if name]
    for name in cuts:
        if name not in known:
            fix = did_you_mean(str(name), known) or _HELP
            problem = f"no module is called {name!r}"
            raise ShardingError("E7007", problem, op="shard_model", help=fix)
    places = [known.index(name) for name in cuts]
    if len(cuts) != mesh.stages - 1 or sorted(set(places)) != places:
        problem = f"{mesh.stages} stages begin with {mesh.stages - 1} modules behind the first, "
        problem += f"in their order, not with {list(cuts)}"
        raise ShardingError("E7007", problem, op="shard_model", help=_HELP)
    return list(cuts)
