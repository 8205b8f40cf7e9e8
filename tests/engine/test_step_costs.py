"""What steps cost: operations and bytes by hand, times that are there, and the kept roofline."""

import re

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, lower
from adjoint.engine import roofline as roof
from adjoint.engine.roofline import Roofline
from adjoint.engine.step_costs import number_text
from tests.support.devices import probe_little

pytestmark = pytest.mark.usefixtures("cpu")


def real(*shape, dtype=np.float32):
    return Tensor(np.random.default_rng(shape).random(shape).astype(dtype)).realize()


@pytest.fixture(autouse=True)
def small_machine(monkeypatch):
    """Measured in no time, and not kept for other tests."""
    probe_little(monkeypatch)
    monkeypatch.setattr(roof, "_SECONDS", 0.0)
    monkeypatch.setattr(roof, "_found", {})
    monkeypatch.setattr(roof.cache, "read", lambda name: None)
    monkeypatch.setattr(roof.cache, "write", lambda name, payload: None)


CASES = {
    "a sum of two": (lambda x: x + x, 1000, 8000),
    "fused, one pass": (lambda x: (x * 2 + 1) * x, 3000, 8000),
    "a part is read": (lambda x: x[:10] * 2.0, 10, 80),
    "a view computes nothing": (lambda x: x[::-1].contiguous(), 0, 8000),
    "a row is read again and again": (lambda x: x[:1].expand(500) + 1.0, 1, 2004),
}


@pytest.mark.parametrize("name", CASES)
def test_operations_and_bytes_are_those_of_the_kernel(name):
    fn, flops, nbytes = CASES[name]
    (row,) = lower(fn)(real(1000)).costs()
    assert (row.flops, row.bytes) == (flops, nbytes)


@pytest.mark.parametrize("shape", [(3, 4, 5), (60, 70, 80), (128, 512, 256)])
def test_a_product_has_two_operations_for_each_pair(shape):
    m, k, n = shape
    rows = lower(lambda a, b: a @ b)(real(m, k), real(k, n)).costs()
    flops = sum(row.flops for row in rows)
    assert 2 * m * k * n <= flops <= 2.2 * m * k * n + 200  # tiles may be larger than what is left
    assert rows[-1].bytes == 4 * (m * k + k * n + m * n)


def test_a_loop_counts_all_its_turns():
    x = real(7, 100)
    rows = lower(lambda x: adjoint.scan(lambda c, v: (c + v, c), x[0], x)[0])(x).costs()
    assert sum(row.flops for row in rows) == 700


def test_explain_says_how_why_how_much_and_how_long():
    x, w = real(64, 64), real(64, 64)
    lines = lower(lambda x, w: (x @ w).softmax(-1))(x, w).explain().splitlines()
    costs = [line for line in lines if "FLOP, " in line and line.startswith("  ")]
    assert costs
    pattern = r"  [\d.]+ [kMG]?FLOP, [\d.]+ [kMG]?B; [\d.]+ [mµn]?s: .* % of the roofline \(\w+\)"
    assert all(re.fullmatch(pattern, line) for line in costs), costs
    assert re.match(r"\d+ steps: ", lines[-1])


def test_nothing_runs_if_it_is_not_to_be_measured():
    with adjoint.counters() as counted:
        report = lower(lambda x: x + 1.0)(real(5)).explain(measure=False)
    assert counted.kernels == 0
    assert "roofline" not in report
    assert "FLOP, " in report


def test_effects_are_not_performed_for_a_measurement(capsys):
    def fn(x):
        adjoint.debug.print("seen {}", x)
        return x + 1.0

    report = lower(fn)(real(5)).explain()
    assert "roofline" in report
    assert "seen" not in capsys.readouterr().out
    adjoint.jit(fn)(real(5))
    assert "seen" in capsys.readouterr().out


def test_arguments_are_not_donated_to_a_measurement():
    x = real(100)
    step = adjoint.jit(lambda x: x + 1.0, donate_argnums=0)
    lower(step)(x).explain()
    assert x.numpy().shape == (100,)


def test_keywords_and_static_arguments_are_those_of_the_call():
    report = lower(lambda x, *, power: x**power)(real(50), power=3).explain()
    assert "1 steps: " in report


# ---- the roofline


def test_the_longer_of_two_times_is_the_bound():
    machine = Roofline(float16=400.0, float32=100.0, float64=50.0, bytes=10.0)
    assert machine.seconds(200, 10, 4) == 2.0
    assert machine.bound(200, 10, 4) == "arithmetic"
    assert machine.seconds(200, 10, 8) == 4.0
    assert machine.seconds(800, 10, 2) == 2.0
    assert machine.seconds(0, 50, 4) == 5.0
    assert machine.bound(0, 50, 4) == "memory"


def test_it_is_measured_once_and_read_from_the_disk_afterwards(monkeypatch):
    kept, measured = {}, []
    monkeypatch.setattr(roof.cache, "read", kept.get)
    monkeypatch.setattr(roof.cache, "write", kept.__setitem__)
    machine = Roofline(4.0, 2.0, 1.0, 3.0)
    monkeypatch.setattr(roof, "_measured", lambda backend: measured.append(1) or machine)
    backend = lower(lambda x: x)(real(1)).backend
    assert roof.roofline(backend) == machine
    monkeypatch.setattr(roof, "_found", {})  # another process
    assert roof.roofline(backend) == machine
    assert measured == [1]
    assert roof.raised(backend, [(10, 2.0, 4), (10, 20.0, 8)]) == Roofline(4.0, 5.0, 1.0, 3.0)
    monkeypatch.setattr(roof, "_found", {})
    assert roof.roofline(backend) == Roofline(4.0, 5.0, 1.0, 3.0)
    assert roof.measured_again(backend) == machine


def test_a_measured_machine_has_positive_numbers():
    found = roof._measured(lower(lambda x: x)(real(1)).backend)
    assert min(found.float32, found.float64, found.bytes) > 0


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 "), (1, "1 "), (999.6, "1 k"), (12345, "12.3 k"), (2.5e-7, "250 n"), (3e15, "3000 T")],
)
def test_numbers_have_three_digits_and_a_prefix(value, text):
    assert number_text(value) == text


def test_measuring_a_step_of_training_trains_nothing():
    layer = adjoint.nn.Linear(3, 3)
    optimizer = adjoint.nn.optim.SGD(layer.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        layer(x).sum().backward()
        optimizer.step()

    before = layer.weight.numpy().copy()
    assert "roofline" in lower(step)(real(2, 3)).explain()
    assert (layer.weight.numpy() == before).all()
    assert layer.weight.grad is None
