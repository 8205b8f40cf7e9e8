"""`explain`: kernels, fusion and why, copies, traces and why, the slowest and what would help."""

import numpy as np
import pytest

import adjoint
from adjoint import ArgumentError, Mesh, P, Tensor, counters, explain, jit, nn
from adjoint.debug.advice import TABLE, advice
from adjoint.engine.step_costs import StepCost
from adjoint.notebook import html

X = Tensor.rand(64, 64).realize()


def test_a_chain_is_one_kernel_and_nothing_is_written_but_the_result():
    found = explain(lambda x: (x.exp() * 2 + 1).sqrt(), X)
    assert len(found.steps) == 1
    assert [d.why for d in found.written] == ["it is a result"]
    assert found.inside == 3
    assert "1 kernel;" in str(found)
    assert "copies: none" in str(found)


def test_what_is_written_is_told_with_its_line_and_why():
    def f(x):
        y = (x @ x).tanh()
        return y.softmax(-1) + y.T.sum(0)

    found = explain(f, X)
    shown = [d for d in found.written if d.why != "it is a result"]
    assert shown
    assert all(d.line.startswith("test_explaining.py:") for d in found.written)
    assert all(f"{d.op} {d.type} ({d.line}): {d.became}: {d.why}" in str(found) for d in shown)


def test_the_slowest_come_with_their_lines_and_a_word():
    def f(x):
        return (x @ x).tanh().sum(), x.svd()[1]

    found = explain(f, X)
    assert len(found.slowest) == 3
    seconds = [row.seconds for row in found.slowest]
    assert seconds == sorted(seconds, reverse=True)
    text = str(found)
    assert text.count("help: ") == 3
    assert "host svd_reduced  svd at test_explaining.py:" in text
    assert "NumPy computes it on the host" in text
    assert found.seconds == pytest.approx(sum(row.seconds for row in found.steps))


def test_copies_are_named():
    found = explain(lambda x: x.T.contiguous(), X)
    assert len(found.copies) == 1
    assert "copies: 1 step only to move values, 32.8 kB" in str(found)


def test_a_jitted_function_is_explained_with_its_traces():
    @jit
    def f(x, by=2):
        return x * by

    f(X)
    f(X, by=3)
    found = explain(f, X)
    assert f.traces == 2  # explaining adds none
    assert found.report.reasons == {"the structure of its arguments": 1}
    assert "traced again 1 times because of the structure of its arguments" in str(found)


def test_nothing_is_run_unless_it_is_measured():
    with counters() as counted:
        found = explain(lambda x: (x + 1).sum(), X, measure=False)
    assert counted.runs == 0
    assert (found.seconds, found.slowest) == (None, ())
    assert "times: none" in str(found)


def test_effects_of_a_function_are_not_had():
    weight = Tensor([1.0]).realize()

    @jit
    def step(x):
        weight.assign(weight + x.sum() + Tensor.rand(1))
        return weight * 2

    adjoint.manual_seed(5)
    explain(step, X)
    assert weight.item() == 1.0
    drawn = Tensor.rand(1).item()
    adjoint.manual_seed(5)
    assert drawn == Tensor.rand(1).item()


def test_explaining_a_step_trains_nothing():
    model = nn.Linear(64, 8)
    optimizer = nn.optim.Adam(model.parameters(), lr=0.1)

    @jit
    def step(x):
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    step(X)
    state = {k: v.numpy().copy() for k, v in nn.state.get_state_dict(optimizer).items()}
    weight, grad = model.weight.numpy().copy(), model.weight.grad.numpy().copy()
    assert explain(step, X).slowest
    assert np.array_equal(model.weight.numpy(), weight)
    assert np.array_equal(model.weight.grad.numpy(), grad)
    after = nn.state.get_state_dict(optimizer)
    assert all(np.array_equal(after[k].numpy(), v) for k, v in state.items())


def test_functions_that_do_nothing_or_take_nothing_are_explained():
    assert "no steps" in str(explain(lambda x: x, X))
    assert "no steps" in str(explain(lambda: Tensor([1.0])))
    assert "kernel" in str(explain(lambda: Tensor.rand(3)))


def test_gradients_loops_and_empty_tensors_are_explained():
    loss = adjoint.value_and_grad(lambda x: (x * x).sum())
    assert explain(loss, X).steps
    looped = explain(lambda x: adjoint.fori_loop(0, 5, lambda i, c: c * 2, x), X)
    assert "control step" in str(looped)
    assert "1 kernel;" in str(explain(lambda x: x.sum(), Tensor.zeros(0, 3)))


def test_a_notebook_has_a_table():
    found = explain(lambda x: x.exp().sum(), X)
    text = html(found)
    assert text.count("<tr") == 1 + len(found.steps)
    assert "what was fused" in text


def test_every_row_of_the_table_can_be_the_first():
    """Advice that no step could get would be a sentence without a reader."""
    found = explain(lambda x: ((x @ x).exp().sum(), x.svd()[1], x.T.contiguous()), X)
    kernel = next(r.step for r in found.steps if type(r.step).__name__ == "KernelStep")
    host = next(r.step for r in found.steps if type(r.step).__name__ == "HostStep")
    library = explain(lambda x: x @ x, Tensor.rand(128, 128), measure=False).steps
    loop = explain(lambda x: adjoint.fori_loop(0, 5, lambda i, c: c * 2, x), X).steps[0].step

    def row(step, flops, seconds, least, bound):
        return StepCost(step, flops, 100, 4, seconds, least, 1, bound)

    rows = [
        row(host, 0, 1.0, 0.1, "memory"),
        row(loop, 0, 1.0, 0.1, "memory"),
        row(kernel, 9, 1e-6, 1e-7, "memory"),
        row(kernel, 0, 1.0, 0.1, "memory"),
        row(kernel, 9, 1.0, 0.9, "memory"),
        row(kernel, 9, 1.0, 0.1, "memory"),
        row(kernel, 9, 1.0, 0.9, "arithmetic"),
    ]
    said = {advice(one) for one in rows} | {advice(one) for one in library}
    assert len(said) >= 7
    assert said <= {one.words for one in TABLE}


def test_what_members_of_a_mesh_send_is_said():
    mesh = Mesh((2,), ("rows",))
    x = Tensor.ones(8, 4).shard(mesh, P("rows"))
    found = str(explain(lambda x: (x * 2).sum(), x))
    assert "collectives: 1\n  all_reduce of f32[]: sum over rows, 2 members, 4 bytes" in found
    assert "collectives" not in str(explain(lambda x: (x * 2).sum(), Tensor.ones(8, 4)))


def test_what_is_no_function_is_refused():
    with pytest.raises(ArgumentError, match="E2001: explain: cannot explain int"):
        explain(3)
