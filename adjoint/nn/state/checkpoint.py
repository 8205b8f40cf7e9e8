"""Checkpoints: model, optimiser, loader, step and random state in one file, whole or not at all.

The file is a safetensors file, so other programs read its tensors; everything else is JSON in its
metadata, with a checksum of all of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adjoint.distributed import size
from adjoint.errors import AdjointError, ArgumentError, FileError
from adjoint.nn.state.checkpoint_file import STATE, SUM, VERSION, Found, checksum, crc
from adjoint.nn.state.loading import assign, match, prepared
from adjoint.nn.state.plain import Encoder
from adjoint.nn.state.safetensors import code_of, read_contents, write_contents
from adjoint.nn.state.sharded_checkpoint import (
    FolderContents,
    is_checkpoint_folder,
    write_folder,
)
from adjoint.nn.state.walk import Walked, get_state_dict, walk
from adjoint.tensor import Tensor
from adjoint.tensor.random import stream

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What `load_checkpoint` found beside the objects; `objects` are the names of all of them."""

    step: int
    extra: Any = None
    objects: tuple[str, ...] = ()


# ---- saving


def save_checkpoint(
    path: str | os.PathLike[str], *, step: int, extra: Any = None, **objects: Any
) -> None:
    """Write objects by name, the step, the random state and `extra` to one file.

    An object is saved by its `state_dict()`, if it has one and `load_state_dict()`, else by its
    tensors, found by walking. Tensors that objects share are saved once. `extra` is any mixture of
    numbers, texts, tensors, lists and dicts. Whenever this is interrupted, the file is the old one
    or the new one.

    Where many processes run the program, all of them call this, and the checkpoint is a folder:
    each writes what it has, and an index says how that fits together. A path that ends with `/`,
    or that is such a folder, makes one process write a folder, too. What loads it may run on any
    mesh.
    """
    _check(step, objects)
    walked = walk({name: thing for name, thing in objects.items() if _is_walked(thing)})
    encoder = Encoder({id(t): name for name, t in walked.tensors.items()}, "save_checkpoint")
    kinds = {name: _encoded(name, thing, walked, encoder) for name, thing in objects.items()}
    seed, drawn = stream.state()
    state = {
        "version": VERSION,
        "step": int(step),
        "random": {"seed": seed, "drawn": drawn},
        "objects": kinds,
        "aliases": walked.aliases,
        "extra": encoder.encode(extra, "extra"),
    }
    tensors = {**walked.tensors, **encoder.tensors}
    if _is_folder(path):
        write_folder(Path(path), state, tensors)
    else:
        write_contents(path, tensors, lambda arrays: _metadata(state, arrays), "save_checkpoint")


def _check(step: Any, objects: Mapping[str, Any]) -> None:
    if isinstance(step, bool) or not isinstance(step, (int, np.integer)) or step < 0:
        problem = f"step is a number of steps, not {step!r}"
        raise ArgumentError("E2001", problem, op="save_checkpoint")
    if any("." in name for name in objects):
        raise ArgumentError("E2001", "names of objects have no dots", op="save_checkpoint")


def _is_folder(path: str | os.PathLike[str]) -> bool:
    return size() > 1 or os.fspath(path).endswith(os.sep) or is_checkpoint_folder(path)


def _has_own_state(thing: Any) -> bool:
    both = (getattr(thing, name, None) for name in ("state_dict", "load_state_dict"))
    return all(map(callable, both))


def _is_walked(thing: Any) -> bool:
    """Whether the tensors found by walking are all there is to save."""
    if not _has_own_state(thing):
        return True
    own, found = thing.state_dict(), get_state_dict(thing)
    same = isinstance(own, Mapping) and own.keys() == found.keys()
    return same and all(own[name] is found[name] for name in found)


def _encoded(name: str, thing: Any, walked: Walked, encoder: Encoder) -> Any:
    if not _is_walked(thing):
        return {"own": encoder.encode(thing.state_dict(), name)}
    inside = (name, f"{name}.")
    names = (*walked.tensors, *walked.aliases)
    if not any(n == inside[0] or n.startswith(inside[1]) for n in names):
        problem = f"{name!r} ({type(thing).__name__}) has nothing to save: no tensor, no state_dict"
        fix = "plain values go into extra=; an object needs state_dict() and load_state_dict()"
        raise FileError("E9002", problem, op="save_checkpoint", help=fix)
    return {}


def _metadata(state: dict[str, Any], arrays: Mapping[str, Array]) -> dict[str, str]:
    sums = {name: crc(array) for name, array in arrays.items()}
    text = json.dumps(state | {"crc32": sums}, separators=(",", ":"), allow_nan=False)
    table = {name: (code_of(a.dtype), a.shape) for name, a in arrays.items()}
    return {STATE: text, SUM: checksum(text, table)}


# ---- loading


def load_checkpoint(
    path: str | os.PathLike[str], *, restore_random: bool = True, **objects: Any
) -> Checkpoint:
    """Give objects the state that a checkpoint has under their names, and go on from its step.

    The random state is restored too, so that a run goes on bit for bit. Objects that are not asked
    for are left out. If anything is damaged (E9001) or does not fit (E9002), nothing is changed.
    """
    opened = FolderContents if os.path.isdir(path) else read_contents
    found = Found(opened(path, "load_checkpoint"), "load_checkpoint")
    found.check_names(objects)
    own = {n: thing for n, thing in objects.items() if found.has_own(n)}
    others = {n: thing for n, thing in objects.items() if n not in own}
    walked = walk(others)
    pairs, report = match(walked, found.state_of(walked, others))
    if not report.ok:
        fix = "build the objects as they were when the checkpoint was saved"
        raise FileError("E9002", f"{path} does not fit: {report}", op="load_checkpoint", help=fix)
    nodes, states = prepared(pairs), {name: found.own_state(name) for name in own}
    result = Checkpoint(found.step, found.extra(), found.objects)
    _load_own(own, states)
    assign(pairs, nodes)
    for name, thing in others.items():
        _tell(name, thing)
    if restore_random:
        stream.restore(*found.random)
    return result


def _tell(name: str, thing: Any) -> None:
    """An object that does more when a state is loaded does it with what it has now."""
    if _has_own_state(thing):
        _load_one(name, thing, thing.state_dict())


def _load_own(things: Mapping[str, Any], states: Mapping[str, Any]) -> None:
    """All of them, or none."""
    before: dict[str, Any] = {}
    try:
        for name, thing in things.items():
            before[name] = _held(thing.state_dict()) if hasattr(thing, "state_dict") else None
            _load_one(name, thing, states[name])
    except BaseException:
        for name, state in before.items():
            with suppress(Exception):
                things[name].load_state_dict(state)
        raise


def _load_one(name: str, thing: Any, state: Any) -> None:
    try:
        thing.load_state_dict(state)
    except AdjointError:
        raise
    except Exception as error:
        problem = f"{name!r} ({type(thing).__name__}) does not take its state: {error!r}"
        raise FileError("E9002", problem, op="load_checkpoint") from error


def _held(state: Any) -> Any:
    """The same state with handles of its own: to load into the others does not change it."""
    if isinstance(state, Tensor):
        return Tensor(state.uop)
    if isinstance(state, dict):
        return {key: _held(value) for key, value in state.items()}
    if type(state) in (list, tuple):
        return type(state)(map(_held, state))
    return state
