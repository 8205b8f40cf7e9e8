"""Whole programs in every mode, and what they are checked with is checked.

`make test` runs the same hundred every time, so that a change fails for what it changed;
`make test-all` runs three hundred, other ones every day: its seed is the date. `ADJOINT_FUZZ_SEED`
names another; it is part of the tests' names. What fails is printed as a program that runs by
itself.
"""

import ctypes
import json
import os

import numpy as np
import pytest

from adjoint import Tensor
from adjoint.engine import passes
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import substitute, toposort
from adjoint.runtime.device import has_tools
from adjoint.target import TARGETS
from tests.fuzz import campaign, modes
from tests.fuzz.chunk import CHUNK, Chunk, from_data, to_data
from tests.fuzz.grown import grown
from tests.fuzz.model import modelled
from tests.fuzz.smaller import shrunk, signature
from tests.fuzz.source import Source, Statement, Whole, script
from tests.support.fake_gpu import FakeGpu

SEED = int(os.environ.get("ADJOINT_FUZZ_SEED", 20261118))
PROGRAMS, FIRST = 300, 100
CHUNKS = [
    pytest.param(n, id=f"seed{SEED}-{n}", marks=[pytest.mark.slow] if n * CHUNK >= FIRST else [])
    for n in range(PROGRAMS // CHUNK)
]


@pytest.fixture(autouse=True)
def _no_cache_on_disk(monkeypatch):
    monkeypatch.setenv("ADJOINT_CACHE", "0")


@pytest.mark.parametrize("chunk", CHUNKS)
def test_programs_give_the_same_in_every_mode(chunk):
    report = Chunk(SEED, chunk).run()
    assert report.programs == CHUNK
    again = f"python -m tests.fuzz --seed {SEED} --first {{}} --programs 1 --jobs 1"
    assert not report.finds, "\n\n".join(
        f"{f.mode}: {f.words}\n{again.format(f.index)}\n{f.program}" for f in report.finds
    )


def test_a_number_names_one_program_whatever_ran_before():
    first = [script(grown(3, i)) for i in range(12)]
    assert first[::-1] == [script(grown(3, i)) for i in reversed(range(12))]


def test_a_program_as_text_runs_by_itself():
    for index in range(20):
        program = grown(4, index)
        names = {"__name__": "a program"}
        if not program.reads:
            exec(
                compile(script(program, "results = program({arguments})"), "<text>", "exec"), names
            )
            assert all(isinstance(t, Tensor) for t in names["results"])


def test_a_program_as_data_is_the_same_program():
    program = grown(5, 7)
    assert script(from_data(json.loads(json.dumps(to_data(program))))) == script(program)


# ---- what is broken on purpose is found, and made small


def hunted(mode, seed, without=(), most=4 * CHUNK):
    """The first program of a seed that fails in a mode, made small: it, and how it fails."""
    for index in range(most):
        program = grown(seed, index, without=without)
        if modes.checked(program, mode)[0]:
            return shrunk(program, lambda p: modes.checked(p, mode)[0], seconds=120.0)
    pytest.fail(f"none of {most} programs fails in {mode}")


def test_a_wrong_rewrite_of_the_compiler_is_found_against_ref(monkeypatch):
    right = passes.prepare

    def wrong(roots, target):
        found = right(roots, target)
        subtractions = [n for n in toposort(found) if n.op.name == "sub"]
        return substitute(found, {n: n.src[0] + n.src[1] for n in subtractions})

    monkeypatch.setattr(passes, "prepare", wrong)
    program, words = hunted("REF", 11)
    assert len(program.statements) <= 2
    assert "sub" in script(program) or "-" in words + script(program)


def test_a_jit_that_repeats_its_first_answer_is_found(monkeypatch):
    def frozen(fn):
        kept = []
        return lambda *args: kept[0] if kept else kept.append(fn(*args)) or kept[0]

    monkeypatch.setattr(modes, "jit", frozen)
    program, words = hunted("jit", 12)
    assert len(program.statements) <= 1
    assert words.startswith("call 1")


def test_a_write_that_goes_astray_on_every_device_is_found_by_the_model(monkeypatch):
    right = Tensor.__setitem__
    monkeypatch.setattr(
        Tensor, "__setitem__", lambda self, key, value: right(self, key, value * 1.5)
    )
    program, _ = hunted("model", 13)
    assert len(program.statements) <= 2
    assert "]" in program.body


def test_a_wrong_derivative_is_found_by_differences(monkeypatch):
    object.__setattr__(OPS["tanh"], "ad", OPS["exp"].ad)
    try:
        program, words = hunted("jvp", 14)
    finally:
        object.__setattr__(OPS["tanh"], "ad", TANH)
    assert "differences" in words
    assert "tanh" in script(program)
    assert len(program.statements) <= 2


TANH = OPS["tanh"].ad


def test_a_wrong_loop_over_rows_is_found_against_vmap(monkeypatch):
    right = modes.vmap
    monkeypatch.setattr(modes, "vmap", lambda fn: lambda *a: right(fn)(*(x.flip(0) for x in a)))
    program, _ = hunted("vmap", 15)
    assert len(program.statements) <= 1


@pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")
def test_programs_on_a_fake_gpu_have_the_bits_of_the_cpu():
    report = Chunk(SEED, 0, place="fake GPU").run(last=4)
    assert report.programs == 4
    assert not report.finds, report.finds


@pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")
def test_a_copy_to_a_gpu_that_goes_astray_is_found(monkeypatch):
    right = FakeGpu.write

    def wrong(self, address, source, nbytes):
        right(self, address, source, nbytes)
        if nbytes:  # not left out: what lay there before may be right by chance
            (last,) = ctypes.string_at(address + nbytes - 1, 1)
            ctypes.memset(address + nbytes - 1, last ^ 0x40, 1)

    monkeypatch.setattr(FakeGpu, "write", wrong)
    program, words = hunted("fake GPU", 16)
    assert len(program.statements) <= 1
    assert "lazy" in words


def ending(text):
    """A program that does something to its process."""
    a0 = Source("Tensor(data('unit', (2,), 'float32', {seed}))")
    return Whole({"a0": a0}, (Statement(f"v0 = a0 * 2\n{text}"),), ("v0",))


def test_a_process_that_dies_is_a_find():
    assert "ends the process" in campaign.alone(ending("__import__('os').abort()"), "REF")
    assert campaign.alone(ending("pass"), "REF") == ""


def test_a_process_that_hangs_is_a_find(monkeypatch):
    monkeypatch.setattr(campaign, "PATIENCE", 12.0)  # of which a process alone has a quarter
    assert campaign.alone(ending("while True:\n    pass"), "REF") == "hangs"


# ---- the parts


def test_the_model_writes_through_views_of_views():
    a0 = Source("Tensor(data('ramp', (2, 3), 'float32', {seed}))")
    lines = ("v0 = a0.permute(1, 0)", "v1 = v0.reshape(-1)", "v1[1] = 9.0", "v0[2] *= 2")
    program = Whole({"a0": a0}, tuple(map(Statement, lines)), ("v1",))
    found = modelled(program)
    wanted = np.array([[0, 1, 4], [9, 4, 10]], np.float32)
    assert np.array_equal(found["call 0: a0 afterwards"], wanted)
    assert np.array_equal(found["call 0: out[0]"], wanted.T.reshape(-1))


def test_failures_of_one_cause_have_one_name():
    one, other = (
        Whole({}, (Statement(f"{v} = a0.cumsum({n})"),), (v,)) for v, n in (("v0", 0), ("v7", 1))
    )
    assert signature(one, "REF", "values") == signature(other, "REF", "values")


def test_the_compiler_is_seen_at_work():
    report = Chunk(1, 0).run(last=6)
    kinds = {word.split()[0] for word in report.words}
    assert {"pair", "kernel", "strategy:"} <= kinds
