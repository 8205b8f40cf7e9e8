"""Constants keep their bits; a language has a text for them or says that it has none."""

import ctypes

import pytest

from adjoint.codegen.c.render import LANGUAGES
from adjoint.errors import AdjointError
from adjoint.handbuilt.uops import MetalLanguage, WGSLLanguage, uops_to_cstyle
from adjoint.ir.dtype import dtypes
from tests.codegen.c import lockstep
from tests.codegen.c.constants import KINDS, divisions, expected, graph, memory, values
from tests.codegen.c.native_c import library, same_bits

INTEGERS = [k for k in KINDS if k.is_int]


def test_constants_keep_their_bits_in_c(tmp_path):
    functions = library([graph(kind) for kind in KINDS], tmp_path, "-O1")
    for kind, function in zip(KINDS, functions, strict=True):
        wanted = expected(kind)
        found = wanted[::-1].copy()
        function(ctypes.c_void_p(found.ctypes.data))
        assert same_bits(found, wanted).all(), kind


@pytest.mark.parametrize("device", ["CPU", "REF"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_constants_keep_their_bits(device, kind):
    wanted = expected(kind)
    assert same_bits(graph(kind).compile(device)(wanted[::-1].copy()), wanted).all()


def test_division_by_zero_and_wide_shifts_in_c(tmp_path):
    functions = library([divisions(kind) for kind in INTEGERS], tmp_path, "-O1")
    for kind, function in zip(INTEGERS, functions, strict=True):
        wanted, found = memory(kind), memory(kind)
        lockstep.run(divisions(kind), wanted)
        function(*(ctypes.c_void_p(a.ctypes.data) for a in found))
        assert found[0].tolist() == wanted[0].tolist(), kind
        assert divisions(kind).compile("CPU")(*memory(kind)).tolist() == wanted[0].tolist(), kind


LACKING = {
    "metal": {"float64"},
    "wgsl": {"float64", "bfloat16", "int8", "int16", "int64", "uint8", "uint16", "uint64"},
}


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_language_has_a_text_or_says_that_it_has_none(language, kind):
    if kind.name in LACKING.get(language.name, ()):
        with pytest.raises(AdjointError, match=f"E6003: source: {language.name} has no "):
            uops_to_cstyle(language, "tester", graph(kind))
        return
    text = uops_to_cstyle(language, "tester", graph(kind))
    assert text.count(" = ") >= len(values(kind))


def test_long_integers_in_metal_and_none_in_wgsl():
    text = uops_to_cstyle(MetalLanguage(), "tester", graph(dtypes.int64))
    assert "= (-9223372036854775807L-1);" in text
    assert "= 9223372036854775807L;" in text
    with pytest.raises(AdjointError, match=r"E6003.*wgsl has no integers of 64 bits"):
        uops_to_cstyle(WGSLLanguage(), "tester", graph(dtypes.int64))
