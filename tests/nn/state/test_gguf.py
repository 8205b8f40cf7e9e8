"""GGUF files: metadata, plain tensors, quantised tensors, and files that lie."""

import struct

import ml_dtypes
import numpy as np
import pytest

from adjoint import FileError
from adjoint.nn.state import gguf_load
from tests.nn.state import gguf_reference as reference
from tests.nn.state.gguf_writer import PLAIN, gguf_bytes

ONES = np.ones((2, 3), np.float32)


def _load(tmp_path, *args, **options):
    path = tmp_path / "made.gguf"
    path.write_bytes(gguf_bytes(*args, **options))
    return gguf_load(path)


def _error(tmp_path, raw):
    path = tmp_path / "made.gguf"
    path.write_bytes(raw)
    with pytest.raises(FileError) as caught:
        gguf_load(path)
    assert caught.value.code == "E9001"
    assert str(path) in str(caught.value)
    assert "(at byte " in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("version", [2, 3])
def test_metadata_of_every_type_come_back(version, tmp_path):
    metadata = {
        "u8": (0, 255),
        "i8": (1, -128),
        "u16": (2, 65535),
        "i16": (3, -1),
        "u32": (4, 1 << 31),
        "i32": (5, -5),
        "f32": (6, 1.5),
        "yes": (7, True),
        "text": (8, "é漢"),
        "u64": (10, 1 << 63),
        "i64": (11, -(1 << 62)),
        "f64": (12, 0.1),
        "texts": (9, (8, ["a", "", "b"])),
        "nested": (9, (9, [(4, [1, 2]), (8, ["x"])])),
    }
    found, tensors = _load(tmp_path, {}, metadata, version=version)
    plain = {k: v for k, (_, v) in metadata.items() if k not in ("texts", "nested")}
    assert {k: v for k, v in found.items() if k in plain} == plain
    assert found["texts"] == ["a", "", "b"]
    assert [list(part) for part in found["nested"]] == [[1, 2], ["x"]]
    assert tensors == {}


def test_arrays_of_numbers_are_numpy_arrays(tmp_path):
    found = _load(tmp_path, {}, {"a": (9, (6, [0.5, 1.5])), "b": (9, (7, [True, False]))}).metadata
    assert found["a"].dtype == np.float32
    assert found["b"].tolist() == [True, False]


@pytest.mark.parametrize("dtype", PLAIN)
def test_plain_tensors_are_read(dtype, tmp_path):
    values = np.arange(6).reshape(1, 2, 3).astype(getattr(ml_dtypes, dtype, dtype))
    found = _load(tmp_path, {"x": values, "y": values[:, :0]}).tensors
    assert found["x"].dtype.name == dtype
    assert np.array_equal(found["x"].numpy(), values)
    assert found["y"].shape == (1, 0, 3)


@pytest.mark.parametrize("name", reference.FORMATS)
def test_blocks_have_the_values_of_their_description(name, tmp_path):
    number, size, _, _, _ = reference.FORMATS[name]
    raw = reference.blocks(name, 6)
    found = _load(tmp_path, {"x": (number, (3, 2 * size), raw)}).tensors["x"]
    assert found.shape == (3, 2 * size)
    assert found.dtype.name == "float32"
    expected = reference.values(name, raw).reshape(3, 2 * size)
    assert np.array_equal(found.numpy(), expected)


def test_many_blocks_are_decoded_in_parts(tmp_path):
    count = 40_000
    raw = reference.blocks("Q4_0", 8) * (count // 8)
    found = _load(tmp_path, {"x": (2, (count * 32,), raw)}).tensors["x"]
    once = reference.values("Q4_0", raw[: 8 * 18]).reshape(-1)
    assert np.array_equal(found.numpy(), np.tile(once, count // 8))


def test_scales_that_are_not_finite_are_no_reason_to_warn(tmp_path):
    raw = struct.pack("<e", np.inf) + bytes(16)
    assert _load(tmp_path, {"x": (2, (32,), raw)}).tensors["x"].numpy()[0] == -np.inf


def test_the_alignment_is_what_the_metadata_say(tmp_path):
    metadata = {"general.alignment": (4, 128)}
    found = _load(tmp_path, {"a": ONES, "b": ONES + 1}, metadata, alignment=128)
    assert np.array_equal(found.tensors["b"].numpy(), ONES + 1)


@pytest.mark.parametrize(("number", "name"), [(16, "IQ2_XXS"), (34, "TQ1_0"), (4, "number 4")])
def test_a_type_that_is_not_known_is_named_with_its_tensor(number, name, tmp_path):
    text = _error(tmp_path, gguf_bytes({"blk.0.w": (number, (256,), bytes(66))}))
    assert f"'blk.0.w': tensors of type {name} cannot be read" in text


TWICE = gguf_bytes({"a": ONES, "b": ONES})
ENTRY = gguf_bytes({}, {"k": (4, 77)})


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", "the start"),
        (b"GGML" + bytes(20), "does not begin with GGUF"),
        (gguf_bytes(version=1), "version 1"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(16), "big-endian"),
        (gguf_bytes(counts=(1 << 60, 0)), "do not fit"),
        (gguf_bytes(counts=(0, 1 << 60)), "do not fit"),
        (ENTRY.replace(struct.pack("<I", 4), struct.pack("<I", 13)), "unknown type 13 of metadata"),
        (ENTRY.replace(struct.pack("<II", 4, 77), struct.pack("<II", 7, 2)), "neither 0 nor 1"),
        (ENTRY.replace(b"k", b"\xff"), "not UTF-8"),
        (TWICE.replace(b"b", b"a"), "'a': the name is there twice"),
        (gguf_bytes({}, {"k": (4, 1), "j": (4, 2)}).replace(b"j", b"k"), "the key is there twice"),
        (gguf_bytes({}, {"general.alignment": (4, 24)}), "power of two"),
        (gguf_bytes({}, {"general.alignment": (8, "x")}), "power of two"),
        (gguf_bytes({"x": (2, (31,), bytes(18))}), "no multiple of 32"),
        (gguf_bytes({"x": (2, (), bytes(18))}), "no multiple of 32"),
        (gguf_bytes({"x": (0, (1 << 62, 1 << 62), b"")}), "so large"),
        (gguf_bytes({"x": (0, (1 << 40,), b"")}), "ends at byte"),
        (gguf_bytes({"x": (0, (1,) * 9, bytes(4))}), "9 axes"),
        (gguf_bytes({"x": (0, (16,), bytes(32)), "y": (0, (8,), bytes(32))}), "overlaps"),
        (gguf_bytes({"x": ONES, "y": ONES}, alignment=8), "no multiple of 32"),
        (gguf_bytes({"x": ONES})[:-16], "ends at byte"),
    ],
)
def test_a_file_that_lies_is_found_out(raw, problem, tmp_path):
    assert problem in _error(tmp_path, raw)


def test_a_long_text_or_array_is_not_made_room_for(tmp_path):
    raw = gguf_bytes({}, {"key": (8, "text")})
    at = raw.index(b"text") - 8
    assert "'key': a text ends at byte" in _error(tmp_path, raw[:at] + b"\xff" * 7 + b"\0text")
    raw = gguf_bytes({}, {"key": (9, (8, ["text"]))})
    at = raw.index(b"text") - 16
    assert "does not fit" in _error(tmp_path, raw[:at] + b"\xff" * 7 + raw[at + 7 :])


def test_arrays_are_not_nested_without_end(tmp_path):
    raw = gguf_bytes({}, {"deep": (4, 0)})
    raw = raw[: raw.index(b"deep") + 4] + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 5000
    assert "'deep': an array of 1 does not fit" in _error(tmp_path, raw)


def test_a_tensor_is_read_when_it_is_used(tmp_path):
    path = tmp_path / "x.gguf"
    path.write_bytes(gguf_bytes({"x": np.zeros(1 << 20, np.float32)}))
    found = gguf_load(path).tensors["x"]
    with open(path, "r+b") as file:
        file.truncate(1 << 16)
    with pytest.raises(FileError, match="'x': the file became shorter"):
        found.numpy()
