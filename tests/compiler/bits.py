"""The bits that the compiled records give, as one hash: the same on every processor.

    python -m tests.compiler.bits                    the hash of a part of the records, as tests compare it
    python -m tests.compiler.bits --update           the same, written to bits.json as the value to have
    python -m tests.compiler.bits --all              of every record; each record's own with --each

The sign and payload of a NaN are left out: processors differ in them, and so does the order in which
LLVM puts operands. So are products that a library computes, and what the host computes with NumPy.
"""

import argparse
import hashlib
import json
import sys
import warnings
from pathlib import Path

import numpy as np

from adjoint import Device, Tensor
from adjoint.engine.native import is_native
from adjoint.engine.pipeline import compiled_schedule
from adjoint.stages import LibraryStep
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
    """The tensors of all samples of a record, not computed yet."""
    for raw in record.samples():
        for result in outputs(call(record, adapted(raw, dtype))):
            if isinstance(result, Tensor) and compiles(result):
                yield result


def digest(record, dtype):
    """The hash of what a record's samples compute to."""
    found, total = list(results(record, dtype)), hashlib.sha256()
    if found:
        found[0].realize(*found[1:])
    for result in found:
        value = np.array(result.numpy())
        total.update(f"{value.dtype} {value.shape}".encode())
        total.update(canonical(value).tobytes())
    return total.hexdigest()


def canonical(value):
    """The array with every NaN as one NaN."""
    if value.dtype.kind in "biu":
        return value
    parts = value.view(value.real.dtype) if value.dtype.kind == "c" and value.size else value
    return np.where(np.isnan(parts.astype(np.float64)), parts.dtype.type(np.nan), parts)
