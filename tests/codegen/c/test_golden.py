"""The text of a few kernels in Metal's language and in WGSL, as it was looked at and kept.

Metal has no compiler outside of Apple's systems, so its text is all there is to check here.
"""

import pytest

from tests.codegen.c.golden_kernels import FILES, FOLDER, texts


@pytest.fixture(scope="module")
def found():
    return texts()


def test_nothing_is_kept_of_kernels_that_are_gone(found, request):
    gone = [path for path in FOLDER.iterdir() if path.name not in found]
    if request.config.getoption("--update-golden"):
        for path in gone:
            path.unlink()
    else:
        assert not gone, "make golden removes them"


@pytest.mark.parametrize("file", FILES)
def test_a_kernel_has_the_text_that_was_kept(found, file, golden):
    golden(FOLDER / file, found[file])
