"""Methods under names that no code of a jitted function mentions."""

import operator

from adjoint import Tensor
from tests.transforms.jit.stale_case import case

_factor = 2.0


def _set_factor():
    global _factor
    _factor += 1.0


class _Hidden:
    """Its methods read a global; how they are reached is what the cases differ in."""

    def scaled_once(self, x):
        return x * _factor

    @property
    def scale(self):
        return _factor

    @staticmethod
    def keys():
        return [str(_factor)]

    def __getitem__(self, key):
        return key

    def update(self, x):
        return self.scaled_once(x)


def _begun():
    """An object, and the global as it is at first."""
    global _factor
    _factor = 2.0
    return _Hidden()


@case
def a_method_by_a_name_made_at_run_time():
    hidden = _begun()
    return lambda x: getattr(hidden, "_".join(("scaled", "once")))(x), _set_factor


@case
def a_method_by_a_name_in_another_method():
    hidden = _begun()
    return lambda x: hidden.update(x), _set_factor


@case
def a_method_by_methodcaller():
    hidden = _begun()
    called = operator.methodcaller("".join(("scaled", "_once")), Tensor([3.0, 4.0]))
    return lambda x: x + called(hidden), _set_factor


@case
def a_property_by_a_format_string():
    hidden = _begun()
    text = "{0." + "sc" + "ale}"
    return lambda x: x * float(text.format(hidden)), _set_factor


@case
def a_method_that_a_builtin_calls():
    hidden = _begun()
    return lambda x: x * float(next(iter(dict(hidden)))), _set_factor


@case
def a_method_by_the_dict_of_its_class():
    hidden = _begun()
    return lambda x: type(hidden).__dict__["scaled" + "_once"](hidden, x), _set_factor


@case
def a_method_by_operator_attrgetter():
    hidden = _begun()
    find = operator.attrgetter("scaled" + "_" + "once")
    return lambda x: find(hidden)(x), _set_factor
