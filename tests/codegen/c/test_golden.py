"""The text of a few kernels in Metal's language and in WGSL, as it was looked at and kept.

Metal has no compiler outside of Apple's systems, so its text is all there is to check here.
"""

import pytest

from tests.codegen.c.golden_kernels import FOLDER, texts


@pytest.fixture(scope="module")
def found():
    return texts()


def test_the_kept_kernels_are_those_that_are_made(found):
    assert sorted(found) == sorted(path.name for path in FOLDER.iterdir())


@pytest.mark.parametrize("path", sorted(FOLDER.iterdir()), ids=lambda path: path.name)
def test_a_kernel_has_the_text_that_was_kept(found, path):
    assert found[path.name] == path.read_text()
