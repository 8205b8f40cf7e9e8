"""Every promised name is there, and every record is a method with a docstring."""

import inspect

import pytest

from adjoint import Tensor
from adjoint.ir.opdef import OPS
from tests.meta.tensor_names import ASKED_FOR, ATTRIBUTES, GROUPS, OPERATORS, OTHER_METHODS


def _names(groups):
    return [pytest.param(n, id=f"{g}-{n}") for g, names in groups.items() for n in names.split()]


@pytest.mark.parametrize("name", _names(GROUPS))
def test_the_tensor_has_the_name(name):
    assert hasattr(Tensor, name)


@pytest.mark.parametrize("name", _names(ASKED_FOR))
def test_the_tensor_has_the_name_that_users_ask_for(name):
    assert hasattr(Tensor, name)


@pytest.mark.parametrize("name", ATTRIBUTES.split())
def test_the_tensor_has_the_attribute(name):
    assert hasattr(Tensor([[2.0]]), name)


@pytest.mark.parametrize("name", OPERATORS.split())
def test_the_operator_has_its_reflected_and_in_place_forms(name):
    for form in (f"__{name}__", f"__r{name}__", f"__i{name}__"):
        assert hasattr(Tensor, form), form


@pytest.mark.parametrize("name", OTHER_METHODS.split())
def test_the_tensor_has_the_special_method(name):
    assert getattr(Tensor, name, None) is not None


def _public_records():
    return [r for r in OPS.values() if r.public]


def test_every_public_record_is_a_method():
    missing = [r.name for r in _public_records() if not hasattr(Tensor, r.name)]
    assert missing == []


def test_every_generated_method_shows_its_name_docs_and_signature():
    for record in _public_records():
        method = inspect.getattr_static(Tensor, record.name)
        if inspect.isfunction(method):
            assert method.__name__ == record.name
            assert (method.__doc__ or "").strip(), record.name
            assert inspect.signature(method) is not None


def test_every_record_says_what_it_does_in_a_sentence():
    for record in OPS.values():
        text = record.doc.strip()
        assert text.endswith((".", "…")), record.name
        assert len(text) > 4, record.name
