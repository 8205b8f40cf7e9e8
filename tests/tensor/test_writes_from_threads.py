"""Threads that write to different parts of one tensor: no write is lost."""

import sys
import threading

import numpy as np
import pytest

from adjoint import Tensor

THREADS, ROUNDS, WIDTH = 4, 25, 3


def slices(x, n, value):
    x[:, n * WIDTH : (n + 1) * WIDTH] = value


def views(x, n, value):
    x[:, n * WIDTH : (n + 1) * WIDTH].assign(value)


def one_view(x, n, value):
    part = x[:, n * WIDTH : (n + 1) * WIDTH]
    part *= 0
    part += value


def twins(x, n, value):
    x[:, n * WIDTH : (n + 1) * WIDTH].fill_(float(value[0, 0].item()))


def lists(x, n, value):
    x[:, list(range(n * WIDTH, (n + 1) * WIDTH))] = value


def masks(x, n, value):
    mask = np.zeros(THREADS * WIDTH, bool)
    mask[n * WIDTH : (n + 1) * WIDTH] = True
    x[:, mask] = value


def scattered(x, n, value):
    x.index_copy_(1, Tensor(np.arange(n * WIDTH, (n + 1) * WIDTH)), value)


WRITES = [slices, views, one_view, twins, lists, masks, scattered]


@pytest.fixture
def switching():
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.parametrize("look", [False, True], ids=["", "while others read"])
@pytest.mark.parametrize("write", WRITES)
def test_no_write_to_another_part_is_lost(write, look, switching):
    for turn in range(ROUNDS):
        x = Tensor(np.zeros((2, THREADS * WIDTH), np.float32))
        parts = [Tensor(np.full((2, WIDTH), n + turn, np.float32)) for n in range(THREADS)]
        gate, errors = threading.Barrier(THREADS), []

        def work(n, x=x, parts=parts, gate=gate, errors=errors):
            gate.wait()
            try:
                write(x, n, parts[n])
                if look:
                    x.realize()
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        wanted = np.repeat(np.arange(THREADS) + turn, WIDTH).astype(np.float32)
        np.testing.assert_array_equal(x.numpy(), [wanted, wanted])


def test_what_is_read_while_others_write_is_a_value_that_was_there(switching):
    for _ in range(ROUNDS):
        x, seen, errors = Tensor(np.zeros(6, np.float32)), [], []

        def look(x=x, seen=seen, errors=errors):
            try:
                view = x[2:4]
                values = [view.tolist() for _ in range(3)]
                assert set(map(tuple, values)) <= {(0.0, 0.0), (5.0, 5.0)}
                seen.append(view)
            except BaseException as error:
                errors.append(error)

        def put(x=x):
            x[2:4] = 5.0

        threads = [threading.Thread(target=work) for work in (look, put, look)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert [view.tolist() for view in seen] == [[5.0, 5.0]] * 2
