"""Random graphs: a program of 5 to 40 Tensor calls from a seed, and CPU checked against REF.

What may live here: programs by seed. How they grow says growing.py, what they are made of
families.py, how results are compared program.py, how failures are made small shrink.py.
"""

from __future__ import annotations

from adjoint import Tensor
from tests.fuzz.families import FAMILIES
from tests.fuzz.growing import Graph
from tests.fuzz.program import Array, Program, differences, results, run


def grown(seed: int) -> tuple[Program, dict[str, Tensor]]:
    """The program of a seed, and its values on REF."""
    from_here = Graph(seed)
    rng = from_here.random
    wanted = 5 + int(33 * rng.random() ** 4)
    from_here.real_input(from_here.shape())
    if rng.random() < 0.5:
        from_here.whole_input(from_here.shape())
    names, weights = list(FAMILIES), [weight for weight, _ in FAMILIES.values()]
    for _ in range(4 * wanted):
        if len(from_here.steps) >= wanted:
            break
        FAMILIES[rng.choices(names, weights)[0]][1](from_here)
    return from_here.program(), {v.name: v.tensor for v in from_here.values}


def case(seed: int) -> list[tuple[str, Array, Array]]:
    """Every output and gradient of a seed's program: its name, REF's value and CPU's."""
    program, values = grown(seed)
    ref = results(program, values)
    cpu = run(program, "CPU")
    return [(name, ref[name], cpu[name]) for name in ref]


def check(seed: int) -> str:
    """What differs for a seed, with the program; empty if nothing does."""
    program, values = grown(seed)
    ref = results(program, values)
    try:
        found = differences(program, ref, run(program, "CPU"))
    except Exception as error:  # whatever the compiler raises is a finding
        found = [f"{type(error).__name__}: {error}"]
    return f"seed {seed}: {'; '.join(found)}\n{program}" if found else ""
