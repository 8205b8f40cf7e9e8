"""Names and modules that change under a jitted function."""

import builtins
import importlib
import math
import os
import pathlib
import sys
import types

from adjoint import jit
from tests.transforms.jit.stale_case import Box, case, counter, made_module

# ---- names

SCALE = 1.0
ITEMS = [1.0]
TABLE = {"a": {"b": [1.0]}}
HOLDER = Box()


def helper(x):
    return x * SCALE


@case
def a_global():
    globals()["SCALE"] = 1.0
    new = counter()

    def change():
        global SCALE
        SCALE = new()

    return lambda x: x * SCALE, change


@case
def a_global_of_a_called_function():
    globals()["SCALE"] = 1.0
    new = counter()
    return lambda x: helper(x), lambda: globals().update(SCALE=new())


@case
def the_length_of_a_global_list():
    ITEMS[:] = [1.0]
    return lambda x: x * len(ITEMS), lambda: ITEMS.append(1.0)


@case
def a_global_that_appears():
    globals().pop("LATER", None)

    def fn(x):
        try:
            return x * LATER
        except NameError:
            return x

    new = counter()
    return fn, lambda: globals().update(LATER=new())


@case
def a_global_that_hides_a_builtin():
    globals().pop("abs", None)
    new = counter()

    def change():
        by = new()
        globals()["abs"] = lambda x: x * by

    try:
        return lambda x: abs(x), change
    finally:
        globals().pop("abs", None)


@case
def a_builtin_that_is_replaced():
    new = counter()
    if hasattr(builtins, "adjoint_scale"):
        del builtins.adjoint_scale
    builtins.adjoint_scale = 1.0
    return lambda x: x * adjoint_scale, lambda: setattr(builtins, "adjoint_scale", new())  # noqa: F821


@case
def a_cell():
    n, new = 1.0, counter()

    def change():
        nonlocal n
        n = new()

    return lambda x: x * n, change


@case
def a_cell_that_a_neighbour_counts():
    n = 0

    def tick():
        nonlocal n
        n += 1

    return lambda x: x + n, tick


@case
def a_counter_of_its_own():
    n = 0

    def fn(x):
        nonlocal n
        n += 1
        return x + n

    return fn, lambda: None


@case
def a_default_argument():
    def fn(x, n=1.0):
        return x * n

    new = counter()
    return fn, lambda: setattr(fn, "__defaults__", (new(),))


@case
def a_keyword_default():
    def inner(x, *, n=1.0):
        return x * n

    new = counter()
    return lambda x: inner(x), lambda: inner.__kwdefaults__.update(n=new())


@case
def a_function_attribute():
    def inner(x):
        return x * inner.n

    inner.n = 1.0
    new = counter()
    return lambda x: inner(x), lambda: setattr(inner, "n", new())


@case
def a_function_attribute_that_appears():
    def inner(x):
        return x * getattr(inner, "n", 1.0)

    new = counter()
    return lambda x: inner(x), lambda: setattr(inner, "n", new())


@case
def the_code_of_a_function():
    def inner(x):
        return x * 1.0

    codes = iter([(lambda x: x * 2.0).__code__, (lambda x: x * 3.0).__code__])
    return lambda x: inner(x), lambda: setattr(inner, "__code__", next(codes))


@case
def an_attribute_of_a_jitted_function():
    inner = jit(lambda x: x)
    inner.n = 1.0
    new = counter()
    return lambda x: inner(x) * inner.n, lambda: setattr(inner, "n", new())


@case
def an_import_inside():
    module = types.ModuleType("adjoint_test_config")
    module.SCALE = 1.0
    sys.modules["adjoint_test_config"] = module

    def fn(x):
        from adjoint_test_config import SCALE

        return x * SCALE

    new = counter()
    return fn, lambda: setattr(module, "SCALE", new())


# ---- modules


@case
def an_attribute_of_a_module_made_at_run_time():
    module, new = made_module(SCALE=1.0), counter()
    return lambda x: x * module.SCALE, lambda: setattr(module, "SCALE", new())


@case
def an_attribute_of_a_module_inside_a_module():
    module, new = made_module(inner=made_module(SCALE=1.0)), counter()
    return lambda x: x * module.inner.SCALE, lambda: setattr(module.inner, "SCALE", new())


@case
def a_module_in_an_object():
    box, new = Box(made_module(SCALE=1.0)), counter()
    return lambda x: x * box.n.SCALE, lambda: setattr(box.n, "SCALE", new())


@case
def a_library_function_that_is_patched():
    real, new = math.sqrt, counter()
    holder = made_module(sqrt=real)

    def change():
        by = new()
        holder.sqrt = lambda x: by

    return lambda x: x * holder.sqrt(1.0), change


@case
def a_module_that_is_reloaded():
    folder = pathlib.Path(os.environ["ADJOINT_STALE_FOLDER"])
    path = folder / "adjoint_reloaded.py"
    path.write_text("SCALE = 1.0\n")
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        sys.modules.pop("adjoint_reloaded", None)
        module = importlib.import_module("adjoint_reloaded")
    finally:
        sys.path.remove(str(folder))
        sys.dont_write_bytecode = before
    new = counter()

    def change():
        exec(f"SCALE = {new()}", vars(module))

    return lambda x: x * module.SCALE, change


@case
def a_function_made_by_exec():
    names = {"SCALE": 1.0}
    exec("def made(x):\n    return x * SCALE", names)
    new = counter()
    return names["made"], lambda: names.update(SCALE=new())


@case
def a_class_made_by_exec():
    names = {}
    exec("class Made:\n    n = 1.0\n    def call(self, x):\n        return x * self.n", names)
    made, new = names["Made"](), counter()
    return lambda x: made.call(x), lambda: setattr(names["Made"], "n", new())
