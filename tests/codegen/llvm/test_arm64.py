"""Kernels of the records as aarch64 objects, run by qemu: the bits of this machine's.

Needs an emulator and a cross compiler (Debian: qemu-user, gcc-aarch64-linux-gnu and
libc6-dev-arm64-cross); where they are missing the tests are skipped, and say so.
"""

import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

from adjoint.codegen.llvm.render import render
from adjoint.target import ARM64
from tests.codegen.c.choice import PARTS, SMALL_PARTS, every, few
from tests.codegen.c.corpus import corpus_of
from tests.codegen.c.native_c import check

TRIPLE = "aarch64-unknown-linux-gnu"
EMULATOR, LINKER, NAMES = "qemu-aarch64", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-nm"
DRIVER = Path(__file__).with_name("arm64_driver.c")


@pytest.fixture(scope="module")
def machine():
    missing = [tool for tool in (EMULATOR, LINKER, NAMES) if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(TRIPLE)
    return target.create_target_machine(cpu=ARM64.name, opt=2, reloc="pic", codemodel="default")


def linked(machine, programs, folder):
    """One program of all kernels and the driver; the kernels ask for no symbol."""
    objects = []
    for number, program in enumerate(programs):
        text = (
            f'target triple = "{TRIPLE}"\n'
            + render(replace(program, name=f"k{number}"), ARM64).text
        )
        objects.append(folder / f"k{number}.o")
        objects[-1].write_bytes(machine.emit_object(llvm.parse_assembly(text)))
    wanted = subprocess.run([NAMES, "-u", *objects], capture_output=True, text=True, check=True)
    assert [line for line in wanted.stdout.splitlines() if line.strip().startswith("U ")] == []
    names = [f"k{number}" for number in range(len(programs))]
    table = folder / "table.c"
    table.write_text(
        "".join(f"void {name}(long *, long, long);\n" for name in names)
        + f"void (*const kernels[])(long *, long, long) = {{{', '.join(names)}}};\n"
    )
    command = [LINKER, "-O1", "-static", "-w", "-o", folder / "run", DRIVER, table, *objects]
    subprocess.run(command, check=True)
    return folder / "run"


def call(number, run):
    """A call as the driver reads it."""
    head = (number, run.begin, run.end, len(run.before), len(run.pieces), len(run.cells))
    parts = [struct.pack("<6q", *head)]
    for memory in run.before:
        parts += [struct.pack("<q", memory.nbytes), memory.tobytes()]
    return b"".join([*parts, struct.pack(f"<{len(run.pieces)}q", *run.pieces), _cells(run.cells)])


def _cells(cells):
    return struct.pack(f"<{len(cells)}q", *cells)


def compare(machine, pairs, folder):
    samples = corpus_of(pairs)
    program = linked(machine, [s.program for s in samples], folder)
    calls = [(i, sample, run) for i, sample in enumerate(samples) for run in sample.runs]
    data = struct.pack("<q", len(calls)) + b"".join(call(i, run) for i, _, run in calls)
    (folder / "in").write_bytes(data)
    command = [EMULATOR, program, folder / "in", folder / "out"]
    subprocess.run(command, check=True)
    left, at = (folder / "out").read_bytes(), 0
    for number, sample, run in calls:
        found = []
        for memory in run.after:
            found.append(np.frombuffer(left[at : at + memory.nbytes], np.uint8))
            at += memory.nbytes
        check(sample, run, found, number)
    assert at == len(left)


def test_a_few_kernels_for_arm64_give_the_bits_of_this_machine(machine, tmp_path):
    compare(machine, few(0)[::2], tmp_path)


@pytest.mark.arm64
@pytest.mark.parametrize("part", range(SMALL_PARTS))
def test_kernels_for_arm64_give_the_bits_of_this_machine(machine, part, tmp_path):
    compare(machine, few(part), tmp_path)


@pytest.mark.arm64
@pytest.mark.parametrize("part", range(PARTS))
def test_all_kernels_for_arm64_give_the_bits_of_this_machine(machine, part, tmp_path):
    compare(machine, every(part), tmp_path)
