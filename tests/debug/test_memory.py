"""memory() says what is alive, how much of it, and which line made it."""

import gc
import threading

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, jit, memory
from adjoint.debug.memory_report import size
from tests.debug.places import places_in
from tests.support.processes import python

place = places_in(__file__)
MANY = 1 << 22  # bytes: more than anything that other tests leave behind is likely to be


def held(report, shape):
    return [h for h in report.largest if h.shape == shape]


@pytest.fixture(autouse=True)
def tidy():
    gc.collect()
    yield
    gc.collect()


def test_a_value_is_listed_with_its_type_and_the_line_that_made_it():
    x = Tensor.ones(1024, 1031)
    y = (x * 2).exp().realize()  # made here
    (found,) = held(memory(), y.shape)
    assert (found.bytes, found.dtype, found.device) == (4 * 1024 * 1031, "f32", "CPU")
    assert found.line == f"{place('made here')} (exp)"
    assert found.tensors == 1


def test_a_gradient_is_listed_with_its_forward_line():
    w = Tensor.ones(1024, 1033).requires_grad_()
    (w * w).sum().backward()  # the loss
    w.grad.realize()
    (found,) = [h for h in held(memory(), w.shape) if "backward" in h.line]
    assert found.line.startswith(place("the loss"))


def test_data_that_came_from_numpy_counts():
    before = memory().devices.get("CPU", 0)
    x = Tensor(np.zeros((1024, 1039), np.float32))  # from numpy
    report = memory()
    assert report.devices["CPU"] - before >= x.nbytes() // 2  # what other tests left may go
    assert held(report, x.shape)[0].line.startswith(place("from numpy"))


COUNTED = """
from adjoint import Tensor, memory
many = 1 << 22
before = memory()
x = Tensor.ones(many // 4).exp().realize()
lazy = x * 2
during = memory()
assert during.devices["CPU"] - before.devices.get("CPU", 0) == many
assert during.allocated - before.allocated >= many
assert during.tensors - before.tensors == 2
assert during.lazy - before.lazy == 1
del x, lazy
after = memory()
assert after.devices.get("CPU", 0) == before.devices.get("CPU", 0)
assert after.tensors == before.tensors
assert after.cached >= many
"""


def test_live_bytes_go_up_and_down_and_tensors_are_counted():
    """In a process of its own: here, what other tests left may go at any time."""
    done = python("-c", COUNTED)
    assert (done.returncode, done.stderr) == (0, "")


def test_one_value_that_two_tensors_show_counts_once():
    x = Tensor.ones(1024, 1049).exp().realize()
    y = +x
    (found,) = held(memory(), y.shape)
    assert found.tensors == 2


def test_a_history_holds_what_it_needs():
    w = Tensor.ones(1024, 1051).requires_grad_()
    y = (w * 3).realize()
    z = y.sin().sum()
    del y
    found = held(memory(), (1024, 1051))
    assert [h.tensors for h in found] == [0]
    assert "in a history" in repr(memory())
    del z


def test_the_peak_is_the_most_that_was_allocated_and_can_start_anew():
    memory.reset_peak()
    before = memory().peak
    Tensor.ones(MANY // 4).exp().realize()
    assert memory().peak - before >= MANY // 2  # what other tests left may go meanwhile
    report = memory()
    report.reset_peak()
    assert memory().peak - memory().allocated < MANY


def test_devices_are_told_apart():
    x = Tensor.ones(1000, device="REF").exp().realize()
    y = Tensor.ones(1000, device="CPU:1").exp().realize()
    report = memory()
    assert report.devices["REF"] >= x.nbytes()
    assert report.devices["CPU:1"] >= y.nbytes()


def test_results_of_jitted_functions_have_a_line():
    f = jit(lambda x: (x @ x.T).exp())  # jitted
    y = f(Tensor.ones(1061, 2))
    assert held(memory(), y.shape)[0].line == f"{place('jitted')} (exp)"


def test_the_report_is_readable_and_plain_data():
    x = Tensor.ones(1024, 1063).exp().realize()
    small = [Tensor([float(i)]) for i in range(3)]
    report = memory(largest=3)
    assert len(report.largest) == 3
    text = repr(report)
    assert text.splitlines()[0].startswith(f"{report.tensors} tensors ({report.lazy} not computed)")
    assert "peak" in text.splitlines()[1]
    assert "4.2 MiB  f32[1024, 1063]" in text
    data = report.as_dict()
    assert data["peak"] == report.peak
    assert data["largest"][0]["bytes"] >= x.nbytes()
    assert str(memory(0)).count("\n") == 1
    del small


def test_looking_makes_nothing_live_longer():
    x = Tensor.ones(1024, 1069).exp().realize()
    report = memory()
    del x
    assert held(report, (1024, 1069))
    assert not held(memory(), (1024, 1069))


def test_looking_while_other_threads_make_tensors():
    stop = threading.Event()

    def work():
        while not stop.is_set():
            (Tensor.ones(100) * 2).realize()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            assert memory().tensors >= 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_it_is_reached_from_the_package():
    assert adjoint.memory is memory
    assert adjoint.debug.memory is memory


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (3 << 19, "1.5 MiB"), (5 << 40, "5.0 TiB")],
)
def test_sizes_are_written_for_people(count, text):
    assert size(count) == text
