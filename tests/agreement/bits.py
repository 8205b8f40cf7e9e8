"""The bits that the compiled records give, as hashes: the same on every processor.

    python -m tests.agreement.bits            a hash for each record and dtype of a part, as JSON
    python -m tests.agreement.bits --all      of every one
    make bits                                the part's, written to bits.json as what must be had

The sign and payload of a NaN are left out: processors differ in them, and so does the order in
which LLVM puts operands. So is what NumPy computes; and, on processors without fused multiply-adds,
so are records with products of matrices.
"""

import argparse
import hashlib
import json
import sys
import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np

from adjoint import Device, Tensor
from adjoint.backends.cpu import BACKEND
from adjoint.engine.pipeline import compile_graph
from adjoint.ir.uop import toposort
from adjoint.ir.values import is_known
from adjoint.schedule.strategy import PANELS, TILES
from adjoint.stages import ControlStep, KernelStep
from tests.ops.cases import RECORDS, adapted, call, dtypes_of, outputs

STORED = Path(__file__).with_name("bits.json")
PART = 16  # one record and dtype of so many is in the part


def chosen(every):
    """Records with their dtypes: all, or a part by the hash of their names."""
    for record in RECORDS:
        for dtype in dtypes_of(record):
            name = f"{record.name}-{dtype.short}"
            if every or hashlib.sha256(name.encode()).digest()[0] % PART == 0:
                yield name, record, dtype


def results(record, dtype):
    """The tensors of all samples of a record that are kernels alone, not computed yet."""
    samples = (adapted(raw, dtype) for raw in record.samples())
    found = [r for s in samples for r in outputs(call(record, s)) if isinstance(r, Tensor)]
    return found if compiles(*found) else [r for r in found if compiles(r)]


def digest(found):
    """The hash of what tensors compute to."""
    total = hashlib.sha256()
    if found:
        found[0].realize(*found[1:])
    for result in found:
        value = np.atleast_1d(np.ascontiguousarray(result.numpy()))
        total.update(f"{result.dtype} {result.shape}".encode())
        total.update(canonical(value).tobytes())
    return total.hexdigest()[:24]


def canonical(value):
    """The array with every NaN as one NaN."""
    if value.dtype.kind in "biu":
        return value
    parts = value.view(value.real.dtype) if value.dtype.kind == "c" and value.size else value
    return np.where(np.isnan(parts.astype(np.float64)), parts.dtype.type(np.nan), parts)


def compiles(*tensors):
    """Whether every step of the program of tensors is a kernel of ours."""
    return all(isinstance(step, KernelStep) for step in steps_of(tensors))


def rounds_twice(tensors):
    """Whether a product of matrices has the bits of processors without fused multiply-adds."""
    if BACKEND.target.tile.fused:
        return False
    return any(step.strategy.use in (TILES, PANELS) for step in steps_of(tensors))


def steps_of(tensors):
    """The steps of a program of tensors, those inside of control flow instead of that."""
    return _steps_of(tuple(tensor.uop for tensor in tensors))


@lru_cache(maxsize=1)  # two questions are asked of them
def _steps_of(roots):
    leaves = [n for n in toposort(roots) if is_known(n)]
    return list(inside(compile_graph(roots, leaves, BACKEND).steps))


def inside(steps):
    for step in steps:
        if isinstance(step, ControlStep):
            yield from (inner for part in step.parts for inner in inside(part.steps))
        else:
            yield step


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="of every record")
    parser.add_argument("--update", action="store_true", help="write bits.json")
    options = parser.parse_args(arguments)
    Device.DEFAULT = "CPU"
    found = {}
    for name, record, dtype in chosen(options.all):
        tensors = results(record, dtype)
        if not rounds_twice(tensors):
            found[name] = digest(tensors)
    text = json.dumps(found, indent=0, sort_keys=True)
    if options.update:
        STORED.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1:])
