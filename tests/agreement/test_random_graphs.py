"""5,000 random graphs with fixed seeds, forward and gradient: CPU agrees with REF."""

import pytest

from tests.fuzz.graphs import case, check, grown
from tests.fuzz.program import Input, Program, Ref, Step, differences, run, text
from tests.fuzz.shrink import failure, shrunk

COUNT, CHUNK = 5000, 100


FIRST = 200  # the others are slow; tests/fuzz has whole programs
CHUNKS = [
    pytest.param(n, marks=[pytest.mark.slow] if n >= FIRST else []) for n in range(0, COUNT, CHUNK)
]


@pytest.mark.parametrize("first", CHUNKS)
def test_graphs_agree_with_the_reference(first):
    failed = [report for seed in range(first, first + CHUNK) if (report := check(seed))]
    assert not failed, f"{len(failed)} of {CHUNK} graphs; the first: {failed[0]}"


def test_a_seed_is_one_program():
    assert str(grown(7)[0]) == str(grown(7)[0])
    assert str(grown(7)[0]) != str(grown(8)[0])


def test_programs_have_5_to_40_steps_and_every_kind_of_number():
    programs = [grown(seed)[0] for seed in range(300)]
    assert all(5 <= len(p.steps) <= 40 for p in programs)
    kinds = {i.dtype for p in programs for i in p.inputs.values()}
    assert kinds >= {"bool", "int8", "uint64", "float16", "bfloat16", "float32", "float64"}
    assert any(s.op == "complex" for p in programs for s in p.steps)


def test_the_printed_program_runs(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["program", "REF"])
    program = next(p for p, _ in map(grown, range(100)) if p.grads)
    exec(compile(text(program), "program", "exec"), {"__name__": "program"})
    assert capsys.readouterr().out


def test_a_case_lists_both_values_by_name():
    listed = case(3)
    assert listed
    assert all(ref.shape == cpu.shape for _, ref, cpu in listed)


def _wrong_program():
    inputs = {
        "a0": Input("unit", (3, 5), "float32", 1),
        "a1": Input("unit", (3, 5), "float32", 2),
    }
    steps = (
        Step("v0", "add", (Ref("a0"), Ref("a1"))),
        Step("v1", "exp", (Ref("v0"),)),
        Step("v2", "sum", (Ref("v1"), 0)),
        Step("v3", "mul", (Ref("v1"), Ref("v2"))),
    )
    return Program(inputs, steps, ("v2", "v3"), ("a0", "a1"), "float32")


def test_a_wrong_value_is_seen_and_a_rounded_one_is_not():
    program = _wrong_program()
    ref = run(program, "REF")
    near = {name: value * (1 + 1e-6) for name, value in ref.items()}
    assert not differences(program, ref, {n: v.astype("float32") for n, v in near.items()})
    far = {name: value + (name == "v3") for name, value in ref.items()}
    (found,) = differences(program, ref, {n: v.astype("float32") for n, v in far.items()})
    assert found.startswith("v3[0, 0]")


def test_the_shrinker_finds_the_step_that_fails():
    def fails(program):
        return "wrong: exp" if any(s.op == "exp" for s in program.steps) else ""

    program, found = shrunk(_wrong_program(), fails)
    assert found
    assert [s.op for s in program.steps] == ["exp"]
    assert len(program.inputs) == 1
    assert next(iter(program.inputs.values())).shape in ((1,), (1, 1), ())
    assert program.grads == ()


def test_what_agrees_is_no_failure():
    assert failure(_wrong_program()) == ""
