"""What verifies also runs: random operands and attributes for every opcode of the library."""

import random
import zlib

import numpy as np
import pytest

from adjoint.errors import AdjointError
from adjoint.ir.dtype import dtypes
from adjoint.module import Instruction, Module, TensorType, verify
from adjoint.module.functions import attributes_of
from adjoint.module.generic import generic_opcodes

SHAPES = ((), (1,), (3,), (0,), (2, 2), (3, 2), (2, 3, 3), (1, 2, 3, 4))
DTYPES = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.bool_, dtypes.complex64)
VALUES = (None, -1, 0, 1, 2, True, 0.5, "a,a->a", "add", "ij,jk->ik", (), (0,), (1, 0), (1, 1, 2))
OPCODES = {name: op for name, op in generic_opcodes().items() if not op.record.takes_functions}
AT_RUN = ("E6001", "E6006")  # what values alone can do: an index out of range, a singular matrix


def _module(opcode, rng):
    """One instruction over inputs, of any number and type, with any attributes."""
    types = [
        TensorType(rng.choice(DTYPES[: rng.randint(1, 5)]), rng.choice(SHAPES))
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3)))
    ]
    rows = [Instruction(i, "Input", (), (f"x{i}",), kind) for i, kind in enumerate(types)]
    kind = attributes_of(opcode.record)
    attrs = None
    if kind is not None and kind.fields:
        attrs = kind(*(_attribute(kind, name, rng) for name in kind.fields))
    found = opcode.infer(attrs, types, types[0])
    rows.append(Instruction(len(types), opcode.name, tuple(range(len(types))), attrs, found))
    outputs = [len(types)]
    if isinstance(found.dtype, tuple):
        part = generic_opcodes()["Part"]
        index = part.record.arg(0)
        rows.append(
            Instruction(
                len(types) + 1, "Part", (len(types),), index, part.infer(index, [found], found)
            )
        )
        outputs = [len(types) + 1]
    return Module(tuple(rows), tuple(outputs))


def _attribute(kind, name, rng):
    if name in kind.defaults and rng.random() < 0.5:
        return kind.defaults[name]
    return rng.choice((*VALUES, *DTYPES))


def _outcome(module, device):
    values = [np.ones(i.type.shape, i.type.dtype.np) for i in module.inputs]
    try:
        (result,) = module.run(values, device=device)
        return result.shape, result.dtype, result.numpy().shape
    except AdjointError as error:
        if error.code not in AT_RUN:
            raise
        return error.code


@pytest.mark.parametrize("name", OPCODES)
def test_what_verifies_runs_on_every_device_alike(name):
    rng = random.Random(zlib.crc32(name.encode()))
    tried = 0
    for _ in range(60):
        try:
            module = _module(OPCODES[name], rng)
            verify(module)
        except AdjointError:
            continue
        tried += 1
        assert _outcome(module, "REF") == _outcome(module, "CPU")
        if tried == 3:
            break
