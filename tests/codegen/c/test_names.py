"""Kernels and buffers may have any name: a word of a language is changed a little."""

import pytest

from adjoint.codegen.c.names import free
from adjoint.codegen.c.render import LANGUAGES, CLanguage, render_all
from adjoint.handbuilt.uops import UOpGraph, uops_to_cstyle
from tests.codegen.c.names import WORDS, programs
from tests.codegen.c.native_c import built


def test_c_takes_every_name(tmp_path):
    sources = render_all(programs(), CLanguage())
    assert len({s.name for s in sources}) == len(WORDS)
    library = built(sources, tmp_path, "-O0")
    assert all(hasattr(library, s.name) for s in sources)


@pytest.mark.parametrize("name", ["tester", "data0", "matmul", "out", "x", "saxpy_2", "result"])
def test_a_good_name_stays(name):
    assert free(name, {}) == name


@pytest.mark.parametrize("name", ["int", "kernel", "gid", "sqrtf", "uint3", "f32_to_f16", "_x"])
def test_a_word_of_a_language_does_not(name):
    assert free(name, {}) != name


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
def test_a_kernel_may_be_called_int(language):
    assert " int_(" in uops_to_cstyle(language, "int", UOpGraph())
