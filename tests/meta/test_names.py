"""Every promised name is there, and every record is a method with a docstring."""

import inspect

from adjoint import Tensor
from adjoint.ir.opdef import OPS
from tests.meta.tensor_names import ASKED_FOR, ATTRIBUTES, GROUPS, OPERATORS, OTHER_METHODS


def _missing(groups):
    names = [(group, name) for group, names in groups.items() for name in names.split()]
    return [f"{group}: {name}" for group, name in names if not hasattr(Tensor, name)]


def test_the_tensor_has_every_name():
    assert _missing(GROUPS) == []


def test_the_tensor_has_every_name_that_users_ask_for():
    assert _missing(ASKED_FOR) == []


def test_the_tensor_has_every_attribute():
    assert [n for n in ATTRIBUTES.split() if not hasattr(Tensor([[2.0]]), n)] == []


def test_every_operator_has_its_reflected_and_in_place_forms():
    forms = [f"__{i}{name}__" for name in OPERATORS.split() for i in ("", "r", "i")]
    assert [form for form in forms if not hasattr(Tensor, form)] == []


def test_the_tensor_has_every_special_method():
    assert [n for n in OTHER_METHODS.split() if getattr(Tensor, n, None) is None] == []


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
