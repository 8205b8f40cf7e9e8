"""Reading what an optimiser is given: parameters, with names or without, in groups or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from adjoint.errors import ArgumentError, VerificationError
from adjoint.nn.optim.pure import check_parameter
from adjoint.tensor import Tensor

Named = tuple[str, Tensor]


def unowned(value: Any) -> Callable[[], Any]:
    """Something that an object refers to, and that is not part of its state: what is walked for
    tensors when state is saved does not go into functions. Copies of the object copy it."""
    return partial(_same, value)


def _same(value: Any) -> Any:
    return value


def listed_groups(op: str, params: Any) -> list[dict[str, Any]]:
    """Groups as dicts whose "params" are (name, tensor) pairs; one group if none are named."""
    given = [params] if isinstance(params, Mapping) and "params" in params else params
    if not isinstance(given, (Tensor, Mapping)) and isinstance(given, Iterable):
        given = list(given)
        if any(isinstance(g, Mapping) for g in given):
            return [_group(op, number, group) for number, group in enumerate(given)]
    return [{"params": named_parameters(op, given)}]


def _group(op: str, number: int, group: Any) -> dict[str, Any]:
    if not isinstance(group, Mapping) or "params" not in group:
        fix = "each group is a dict: {'params': [...], 'lr': ...}"
        raise ArgumentError("E2007", f"group {number} has no 'params'", op=op, help=fix)
    return {**group, "params": named_parameters(op, group["params"], f" of group {number}")}


def named_parameters(op: str, params: Any, where: str = "") -> list[Named]:
    """The parameters with a name each: the one given, or their number."""
    if isinstance(params, Mapping):
        pairs = [(str(name), p) for name, p in params.items()]
    elif isinstance(params, Iterable) and not isinstance(params, Tensor):
        pairs = [_pair(i, p, where) for i, p in enumerate(params)]
    else:
        problem = f"parameters are a list of tensors, not a {type(params).__name__}"
        raise ArgumentError("E2001", problem, op=op, help="give model.parameters(), or [tensor]")
    if not pairs:
        fix = "give model.parameters(); a generator can be read only once"
        raise ArgumentError("E2007", f"there are no parameters{where}", op=op, help=fix)
    return pairs


def _pair(number: int, value: Any, where: str) -> Named:
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
        return value
    return f"parameter {number}{where}", value


def trainable(op: str, pairs: list[Named]) -> list[Named]:
    """Those that are trained, each of which wants gradients from now on."""
    seen: dict[int, str] = {}
    for name, p in pairs:
        if isinstance(p, Tensor) and p.requires_grad is False:
            continue
        check_parameter(op, name, p)
        if id(p) in seen:
            problem = f"{seen[id(p)]} and {name} are the same tensor"
            raise VerificationError("E4002", problem, op=op, operands=[(name, p)])
        seen[id(p)] = name
    wanted = [(name, p) for name, p in pairs if id(p) in seen]
    if not wanted:
        problem = "all parameters have requires_grad=False, so there is nothing to train"
        raise ArgumentError("E2007", problem, op=op, help="set p.requires_grad = True on some")
    for _, p in wanted:
        p.requires_grad = True
    return wanted
