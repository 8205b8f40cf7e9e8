"""Memory, threads, the process and generators that change under a jitted function."""

import array
import contextvars
import ctypes
import datetime
import inspect
import io
import itertools
import math
import os
import pathlib
import random
import sys
import sysconfig
import threading
import time
import types
import uuid

import numpy as np
import pytest

from adjoint import Tensor, dtypes
from tests.transforms.jit.stale_case import Box, case, counter, unwatched

# ---- memory


@case
def an_array():
    values, new = np.ones(2), counter()
    return lambda x: x * Tensor(values.astype(np.float32)), lambda: values.fill(new())


@case
def an_array_through_a_view():
    base, new = np.ones(4), counter()
    view = base[1:3]
    return lambda x: x * float(view[0]), lambda: base.fill(new())


@case
def an_array_whose_zero_is_negative():
    values, signs = np.zeros(1), itertools.cycle([-0.0, 0.0])

    def change():
        values[0] = next(signs)

    return lambda x: x * math.copysign(1.0, values[0]), change


@case
def a_large_array():
    values, new = np.ones(100_000), counter()
    return lambda x: x * float(values[-1]), lambda: values.__setitem__(-1, new())


@case
def an_array_changed_inside():
    values = np.ones(1)

    def fn(x):
        values[0] += 1
        return x * float(values[0])

    return fn, lambda: None


@case
def an_array_of_objects():
    values, new = np.array([Box(), None], object), counter()
    return lambda x: x * values[0].n, lambda: setattr(values[0], "n", new())


@case
def a_masked_array():
    values = np.ma.array([2.0, 3.0], mask=[False, False])
    masks = iter([[True, False], [False, True]])
    return lambda x: x * float(values.sum()), lambda: setattr(values, "mask", next(masks))


@case
def a_structured_array():
    values, new = np.zeros(1, [("a", "f4"), ("b", "f8")]), counter()
    return lambda x: x * float(values["b"][0]), lambda: values["b"].fill(new())


@case
def a_bytearray():
    data, new = bytearray(b"\x01"), counter(2)
    return lambda x: x * data[0], lambda: data.__setitem__(0, new())


@case
def an_array_of_the_library():
    data, new = array.array("d", [1.0]), counter()
    return lambda x: x * data[0], lambda: data.__setitem__(0, new())


@case
def a_memory_view():
    data, new = bytearray(b"\x01\x01"), counter(2)
    view = memoryview(data)[1:]
    return lambda x: x * view[0], lambda: data.__setitem__(1, new())


@case
def a_ctypes_array():
    data, new = (ctypes.c_double * 1)(1.0), counter()
    return lambda x: x * data[0], lambda: data.__setitem__(0, new())


@case
def a_tensor_of_another_library():
    """Its class is an installed library's, and its memory is out of Python's sight."""
    library = types.ModuleType("adjoint_foreign")
    library.__file__ = os.path.join(sysconfig.get_paths()["purelib"], "adjoint_foreign.py")
    sys.modules["adjoint_foreign"] = library
    memory, new = [np.ones(1)], counter()
    body = {"__slots__": (), "__array__": lambda self, dtype=None, copy=None: memory[0]}
    foreign = type("Foreign", (), {**body, "__module__": "adjoint_foreign"})()
    return lambda x: x * float(np.asarray(foreign)[0]), lambda: memory[0].fill(new())


@case
def a_tensor_of_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    data, new = torch.ones(1), counter()
    return lambda x: x * data.item(), lambda: data.fill_(new())


# ---- threads, contexts, the process


@case
def a_context_variable():
    variable, new = contextvars.ContextVar("variable", default=1.0), counter()
    return lambda x: x * variable.get(), lambda: variable.set(new())


@case
def a_tensor_in_a_context_variable():
    variable, new = contextvars.ContextVar("variable"), counter()
    variable.set(Tensor([1.0, 1.0]))
    return lambda x: x * variable.get(), lambda: variable.set(Tensor([new(), 1.0]))


@case
def a_context_variable_set_inside():
    variable = contextvars.ContextVar("variable", default=0.0)

    def fn(x):
        variable.set(variable.get() + 1)
        return x * variable.get()

    return fn, lambda: None


@case
def a_thread_local():
    local, new = threading.local(), counter()
    local.n = 1.0
    return lambda x: x * local.n, lambda: setattr(local, "n", new())


@case
def an_event():
    event = threading.Event()
    return lambda x: x * 2 if event.is_set() else x, event.set


@case
def the_environment():
    os.environ["ADJOINT_STALE"], new = "1.0", counter()
    return (
        lambda x: x * float(os.environ["ADJOINT_STALE"]),
        lambda: os.environ.update(ADJOINT_STALE=str(new())),
    )


@case
def the_environment_by_getenv():
    os.environ["ADJOINT_STALE"], new = "1.0", counter()
    return (
        lambda x: x * float(os.getenv("ADJOINT_STALE")),
        lambda: os.environ.update(ADJOINT_STALE=str(new())),
    )


@case
def the_arguments_of_the_process():
    new = counter()
    sys.argv[:] = sys.argv[:1]
    return lambda x: x * len(sys.argv), lambda: sys.argv.append(str(new()))


@case
def training_mode():
    def change():
        Tensor.training = not Tensor.training

    Tensor.training = False
    return lambda x: x * 2 if Tensor.training else x, change


@case
def the_default_dtype():
    wide = itertools.cycle([dtypes.float64, dtypes.float32])

    def fn(x):
        return Tensor([1.0]) * (2 if dtypes.default_float is dtypes.float64 else 3)

    return fn, lambda: setattr(dtypes, "default_float", next(wide))


@case
def requires_grad_of_a_captured_tensor():
    w, flags = Tensor([1.0]), itertools.cycle([True, None])
    return lambda x: x * (2 if w.requires_grad else 3), lambda: w.requires_grad_(next(flags))


@case
def a_gradient_of_a_captured_tensor():
    w = Tensor([1.0], requires_grad=True)
    return lambda x: x if w.grad is None else x * 2, lambda: (w * w).sum().backward()


@case
def requires_grad_set_inside():
    w = Tensor([1.0])

    def fn(x):
        found = x * (2 if w.requires_grad else 3)
        w.requires_grad_(True)
        return found

    return fn, lambda: w.requires_grad_(None)


# ---- state that advances


@case
def an_iterator():
    numbers = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    return lambda x: x * next(numbers), lambda: None


@case
def a_generator():
    numbers = (float(n) for n in range(1, 9))
    return lambda x: x * next(numbers), lambda: None


@case
def a_cycle_in_an_object():
    box = Box(itertools.cycle([1.0, 2.0]))
    return lambda x: x * next(box.n), lambda: None


@case
def a_zip():
    pairs = zip([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "abcdef", strict=True)
    return lambda x: x * next(pairs)[0], lambda: None


@case
def a_numpy_generator():
    rng = np.random.default_rng(0)
    return lambda x: x * rng.random(), lambda: None


@case
def a_generator_of_python():
    rng = random.Random(0)
    return lambda x: x * rng.random(), lambda: None


@case
def a_text_in_memory():
    file = io.StringIO("1\n2\n3\n4\n5\n6\n")
    return lambda x: x * float(file.readline()), lambda: None


@case
def a_file():
    path = pathlib.Path(os.environ["ADJOINT_STALE_FOLDER"]) / "number"
    path.write_text("1.0")
    new = counter()
    return lambda x: x * float(path.read_text()), lambda: path.write_text(str(new()))


@case
def globals_by_name():
    globals()["SCALE"] = 1.0
    new, name = counter(), "SCA" + "LE"
    return lambda x: x * globals()[name], lambda: globals().update(SCALE=new())


@case
def an_expression_in_text():
    globals()["SCALE"] = 1.0
    new = counter()
    return lambda x: x * eval("SCALE"), lambda: globals().update(SCALE=new())


@unwatched
def the_clock():
    return lambda x: x * time.time()


@unwatched
def the_clock_by_another_name():
    clock = time.perf_counter
    return lambda x: x * clock()


@unwatched
def the_clock_imported_inside():
    def fn(x):
        import time as clock

        return x * clock.monotonic()

    return fn


@unwatched
def the_date():
    return lambda x: x * datetime.datetime.now().microsecond


@unwatched
def random_numbers():
    return lambda x: x * random.random()


@unwatched
def random_integers():
    return lambda x: x * random.randint(0, 9)


@unwatched
def numpys_random_numbers():
    return lambda x: x * np.random.rand()


@unwatched
def a_generator_made_inside():
    return lambda x: x * np.random.default_rng().random()


@unwatched
def an_identifier():
    return lambda x: x * (uuid.uuid4().int % 10)


@unwatched
def an_address():
    return lambda x: x * (id(x) % 10)


@unwatched
def the_thread():
    return lambda x: x * len(threading.current_thread().name)


@unwatched
def the_directory():
    return lambda x: x * len(os.getcwd())


@unwatched
def the_caller():
    return lambda x: x * inspect.currentframe().f_lineno
