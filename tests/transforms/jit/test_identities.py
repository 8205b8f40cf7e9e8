"""Objects are the same only if they are one, however equal they look."""

import pytest

from adjoint.transforms.jit import identities
from adjoint.transforms.jit.identities import Identities

ITEM = [1, 2]
UNLIKE = [(1, 1.0), (1, True), (0.0, -0.0), (ITEM, [1, 2]), ("ab", "".join(["a", "b"]))]


@pytest.fixture(params=[True, False], ids=["in one go", "one by one"])
def _way(request, monkeypatch):
    if not request.param:
        monkeypatch.setattr(identities, "_differ", None)


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize(("one", "other"), UNLIKE)
def test_equal_objects_are_others(one, other):
    assert Identities([None, one, ITEM]).are((None, one, ITEM))
    assert not Identities([None, one, ITEM]).are((None, other, ITEM))


@pytest.mark.usefixtures("_way")
def test_the_number_of_objects_counts():
    assert Identities([]).are(())
    assert not Identities([None]).are(())
    assert not Identities([None]).are((None, None))


@pytest.mark.usefixtures("_way")
def test_objects_that_cannot_be_compared_are_themselves():
    class Odd:
        def __eq__(self, other):
            raise ValueError

        __hash__ = None

    odd = Odd()
    assert Identities([odd, float("nan")][:1]).are((odd,))
    assert not Identities([odd]).are((Odd(),))


def test_this_interpreter_compares_in_one_go():
    assert identities._differ is not None
