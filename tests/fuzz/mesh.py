"""Whole programs on a mesh, their inputs laid out at random, against the same without one.

Meshes are of devices that the interpreter runs, so thousands of programs take minutes; one mode
compiles. What may live here: these modes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from adjoint import Mesh, P, Tensor, grad, jit
from tests.fuzz.compare import Arrays, near
from tests.fuzz.derivatives import Smooth
from tests.fuzz.program import Array
from tests.fuzz.runs import SHIFTS, UNKNOWN, RefusedError, Runs, _arrays, values
from tests.fuzz.source import SEED, Whole, function, made, narrowed, narrowest, widened
from tests.fuzz.writer import on

SHAPES = (((2,), ("d",)), ((3,), ("d",)), ((2, 2), ("a", "b")))


def chosen(program: Whole, kind: str) -> tuple[Mesh, Random]:
    """The mesh of a program, and what its layouts are drawn from: the same at every run."""
    random = Random(zlib.crc32(program.body.encode()))
    shape, names = random.choice(SHAPES)
    count = shape[0] * (shape[1] if len(shape) > 1 else 1)
    return Mesh(shape, names, [f"{kind}:{i}" for i in range(count)]), random


def spec_of(tensor: Tensor, mesh: Mesh, random: Random) -> P:
    """A layout: each axis of the mesh along one of the dimensions, or along none."""
    dims: list[list[str]] = [[] for _ in tensor.shape]
    for axis in random.sample(mesh.names, len(mesh.names)):
        place = random.randrange(-1, len(dims))
        if place >= 0:
            dims[place].append(axis)
    return P(*map(tuple, dims))


def spread(given: dict[str, Any], mesh: Mesh, random: Random) -> dict[str, Any]:
    """Inputs on the mesh; one in four stays on its device, and so do layers."""
    found = {}
    for name, value in given.items():
        plain = not isinstance(value, Tensor) or random.random() < 0.25
        found[name] = value if plain else value.shard(mesh, spec_of(value, mesh, random))
    return found


def session(program: Whole, kind: str, wrap: Any = None) -> Arrays:
    """Calls of a program on the mesh that is its own."""
    found: dict[str, Array] = {}
    mesh, random = chosen(program, kind)
    with on(kind):
        Tensor.manual_seed(SEED)
        captured = spread(made(program, program.captured), mesh, random)
        fn = function(program, captured)
        called = wrap(fn) if wrap else fn
        for number, shift in enumerate(SHIFTS):
            given = spread(made(program, program.arguments, shift, captured), mesh, random)
            results = called(*given.values())
            kept = captured | given if program.writes else {}
            found |= _arrays(results, kept, number)
    return found


def called(runs: Runs, kind: str, wrap: Any = None) -> str:
    """Calls on a mesh give what calls without one give, refusals included."""
    if runs.program.aliased:
        return ""  # a view is where its base is
    wanted, no = runs.ref() if kind == "REF" else runs.lazy()
    name = f"{kind} mesh{' jit' if wrap else ''}"
    found, why = runs.get(name, partial(session, runs.program, kind, wrap))
    if wanted is None or found is None:
        if no.split(": ")[1:2] == why.split(": ")[1:2]:
            raise RefusedError(why)
        return "" if UNKNOWN in why else f"mesh: {why or 'values'}; without: {no or 'values'}"
    return near(wanted, found, narrowest(runs.program), runs.wider)


def differentiated(runs: Runs) -> str:
    """Gradients on a mesh are those without one, and lie as their inputs do."""
    program = runs.program
    if program.aliased:
        return ""
    wanted, no = runs.get("grad on REF", partial(_gradients, program, None))
    mesh, random = chosen(program, "REF")
    found, why = runs.get("grad on a mesh", partial(_gradients, program, (mesh, random)))
    if wanted is None or found is None:
        if no.split(": ")[1:2] == why.split(": ")[1:2]:
            raise RefusedError(why)
        return f"mesh: {why or 'values'}; without: {no or 'values'}"
    other = (narrowed if narrowest(program) == "float64" else widened)(program)
    return near(wanted, found, narrowest(program), partial(_gradients, other, None))


def _gradients(program: Whole, place: tuple[Mesh, Random] | None) -> Arrays:
    with on("REF"):
        smooth = Smooth(program)
        if not smooth.names or not smooth.results(*map(Tensor, smooth.at)):
            return {}
        at = [Tensor(a) for a in smooth.at]
        if place is not None:
            at = [t.shard(place[0], spec_of(t, *place)) for t in at]
        found = grad(smooth.loss, tuple(range(len(at))))(*at)
        for gradient, tensor in zip(found, at, strict=True):
            assert gradient.sharding == tensor.sharding, (
                f"{gradient.sharding} for {tensor.sharding}"
            )
        return values({f"d {n}": g for n, g in zip(smooth.names, found, strict=True)})


MODES: dict[str, Callable[[Runs], str]] = {
    "mesh": partial(called, kind="REF"),
    "mesh jit": partial(called, kind="REF", wrap=jit),
    "mesh grad": differentiated,
    "CPU mesh": partial(called, kind="CPU"),
}
