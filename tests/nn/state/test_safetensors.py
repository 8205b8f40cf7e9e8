"""The safetensors format: what is written is read, and nothing in a file is believed."""

import json
import os
import stat
import struct

import ml_dtypes
import numpy as np
import pytest

from adjoint import AdjointError, FileError, Tensor
from adjoint.ir.dtype import ALL
from adjoint.nn.state import safe_load, safe_metadata, safe_save

F32 = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


def _file(tmp_path, header, data=b"\0" * 8, length=None):
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    path = tmp_path / "made.safetensors"
    path.write_bytes(struct.pack("<Q", len(raw) if length is None else length) + raw + data)
    return path


def _error(path):
    with pytest.raises(FileError) as caught:
        safe_load(path)
    assert caught.value.code == "E9001"
    assert str(path) in str(caught.value)
    assert "(at byte " in str(caught.value)
    return str(caught.value)


# ---- round trips


@pytest.mark.parametrize("dtype", [d.name for d in ALL if d.name != "complex128"])
def test_every_dtype_comes_back(dtype, tmp_path):
    values = Tensor([[0, 1, 1], [1, 0, 1]]).cast(dtype)
    safe_save({"x": values, "none": values[:0], "scalar": values[0, 1]}, tmp_path / "x")
    found = safe_load(tmp_path / "x")
    assert {t.dtype.name for t in found.values()} == {dtype}
    assert found["x"].numpy().tobytes() == values.numpy().tobytes()
    assert found["none"].shape == (0, 3)
    assert found["scalar"].shape == ()
    assert found["scalar"].item() == 1


@pytest.mark.parametrize("kind", ["float8_e4m3fn", "float8_e5m2"])
def test_every_8_bit_float_is_read_exactly(kind, tmp_path):
    bits = np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, kind))
    safe_save({"x": bits}, tmp_path / "x")
    found = safe_load(tmp_path / "x")["x"]
    assert found.dtype.name == kind
    assert found.numpy().tobytes() == bits.tobytes()
    assert np.array_equal(found.float().numpy(), bits.astype(np.float32), equal_nan=True)
    safe_save({"x": found}, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "x").read_bytes()


def test_the_file_is_what_the_format_says(tmp_path):
    path = tmp_path / "x"
    safe_save({"b": np.array([1, 2], np.uint8), "a": np.array([1.5], np.float32)}, path, {"k": "v"})
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    assert header["__metadata__"] == {"k": "v"}
    assert header["a"] == {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
    assert header["b"] == {"dtype": "U8", "shape": [2], "data_offsets": [4, 6]}
    assert (8 + length) % 64 == 0
    assert raw[8 + length :] == struct.pack("<fBB", 1.5, 1, 2)


def test_the_same_values_give_the_same_bytes(tmp_path):
    x, y = np.arange(3, dtype=np.int16), np.arange(4.0)
    safe_save({"x": x, "y": y}, tmp_path / "1", {"a": "1", "b": "2"})
    safe_save({"y": Tensor(y), "x": Tensor(x)}, tmp_path / "2", {"b": "2", "a": "1"})
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_metadata_and_names_may_be_any_text(tmp_path):
    safe_save({'a "b" \n ü 漢': np.ones(1)}, tmp_path / "x", {"format": "pt", "é": "\t"})
    assert list(safe_load(tmp_path / "x")) == ['a "b" \n ü 漢']
    assert safe_metadata(tmp_path / "x") == {"format": "pt", "é": "\t"}


def test_a_file_without_tensors_is_a_file(tmp_path):
    safe_save({}, tmp_path / "x")
    assert safe_load(tmp_path / "x") == {}


def test_strides_and_byte_orders_are_straightened(tmp_path):
    x = np.arange(6, dtype=">i4").reshape(2, 3).T
    safe_save({"x": x}, tmp_path / "x")
    assert np.array_equal(safe_load(tmp_path / "x")["x"].numpy(), x)


def test_tensors_that_are_not_computed_yet_are_computed_once(tmp_path):
    x = Tensor.rand(3)
    safe_save({"x": x, "y": x + 1}, tmp_path / "x")
    found = safe_load(tmp_path / "x")
    assert np.array_equal(found["x"].numpy(), x.numpy())
    assert np.array_equal(found["y"].numpy(), (x + 1).numpy())


# ---- reading when used


def test_a_tensor_is_read_when_it_is_used(tmp_path):
    path = tmp_path / "x"
    safe_save({"x": np.arange(4, dtype=np.float32)}, path)
    found = safe_load(path)["x"]
    later = found * 2
    with open(path, "r+b") as file:  # the bytes are not in memory yet, so the change is seen
        file.seek(-4, os.SEEK_END)
        file.write(struct.pack("<f", 30))
    assert later.numpy().tolist() == [0, 2, 4, 60]


def test_another_file_under_the_name_does_not_change_what_was_opened(tmp_path):
    path = tmp_path / "x"
    safe_save({"x": np.zeros(3, np.float32)}, path)
    found = safe_load(path)
    safe_save({"x": np.ones((500, 3), np.float32)}, path)
    assert found["x"].numpy().tolist() == [0, 0, 0]
    path.unlink()
    assert (found["x"] + 1).numpy().tolist() == [1, 1, 1]


def test_a_file_that_is_cut_after_it_was_opened_is_an_error_not_a_crash(tmp_path):
    path = tmp_path / "x"
    safe_save({"x": np.zeros(100_000, np.float32)}, path)
    found = safe_load(path)["x"]
    with open(path, "r+b") as file:
        file.truncate(4096)
    with pytest.raises(FileError, match="became shorter") as caught:
        found.numpy()
    assert caught.value.code == "E9001"


def test_offsets_that_no_element_may_have_are_read_too(tmp_path):
    header = {
        "a": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]},
        "b": {"dtype": "F32", "shape": [2], "data_offsets": [3, 11]},
    }
    path = _file(tmp_path, header, b"abc" + struct.pack("<ff", 1.5, 2.5))
    assert (safe_load(path)["b"] * 2).numpy().tolist() == [3, 5]


def test_a_device_may_be_named(tmp_path):
    safe_save({"x": np.ones(2, np.float32)}, tmp_path / "x")
    found = safe_load(tmp_path / "x", device="REF")["x"]
    assert found.device == "REF"
    assert (found + 1).numpy().tolist() == [2, 2]


# ---- damaged files


def _tensor(**changed):
    return {"x": {**F32, **changed}}


BAD_HEADERS = {
    "not UTF-8": b'{"\xff": 1}',
    "does not begin": b" {}",
    "is not JSON": b'{"x": ',
    "there twice": b'{"x": 1, "x": 2}',
    "is no number": b'{"x": NaN}',
    "texts by name": {"__metadata__": {"a": 1}, "x": F32},
    "nothing else": {"x": {**F32, "more": 1}},
    "a tensor has dtype": {"x": 3},
    "unknown dtype 'F31'": _tensor(dtype="F31"),
    "unknown dtype '3'": _tensor(dtype=3),
    "shape is not a list of natural": _tensor(shape=[-2]),
    "shape is not a list": _tensor(shape=[2.0]),
    "shape is not": _tensor(shape=[True, 2]),
    "shape is": _tensor(shape="2"),
    "data_offsets is not": _tensor(data_offsets=[0, "8"]),
    "no range": _tensor(data_offsets=[0, 16]),
    "are no range": _tensor(data_offsets=[8, 0]),
    "data_offsets [0, 4, 8]": _tensor(data_offsets=[0, 4, 8]),
    "is 12 bytes, its offsets span 8": _tensor(shape=[3]),
    "more bytes than there can be": _tensor(shape=[1 << 62, 1 << 62, 0]),
    "[1, 1, 1, 1, 1, 1, 1, 1, ...]": _tensor(shape=[1] * 40),
    "leaves a hole": _tensor(shape=[1], data_offsets=[4, 8]),
    "4 bytes belong to no tensor": _tensor(shape=[1], data_offsets=[0, 4]),
    "overlaps": {
        "x": F32,
        "y": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]},
    },
}


@pytest.mark.parametrize("problem", BAD_HEADERS)
def test_a_header_that_lies_is_found_out(problem, tmp_path):
    assert problem in _error(_file(tmp_path, BAD_HEADERS[problem]))


def test_the_error_points_at_the_key(tmp_path):
    path = _file(tmp_path, {"fine": {**F32, "shape": [2]}, "second": 3})
    text = _error(path)
    assert "'second'" in text
    assert f"(at byte {path.read_bytes().index(b'second') - 1})" in text


@pytest.mark.parametrize("length", [9, 1 << 40, (1 << 64) - 1, 100_000_001])
def test_the_length_of_the_header_is_not_believed(length, tmp_path):
    assert "header" in _error(_file(tmp_path, b"{}", b"", length))


@pytest.mark.parametrize("size", range(0, 40, 3))
def test_every_truncation_is_found_out(size, tmp_path):
    path = _file(tmp_path, {"x": F32})
    path.write_bytes(path.read_bytes()[:size])
    _error(path)


def test_deep_nesting_and_long_numbers_are_errors(tmp_path):
    assert "not JSON" in _error(_file(tmp_path, b'{"x":' + b"[" * 200_000))
    assert "not JSON" in _error(_file(tmp_path, b'{"x":' + b"9" * 20_000 + b"}"))


def test_a_truth_value_is_0_or_1(tmp_path):
    header = {"x": {"dtype": "BOOL", "shape": [3], "data_offsets": [0, 3]}}
    path = _file(tmp_path, header, b"\0\1\2")
    with pytest.raises(FileError, match=f"neither 0 nor 1.*at byte {path.stat().st_size - 1}"):
        safe_load(path)["x"].numpy()


# ---- files that cannot be opened or written


def test_a_missing_file_is_e7006_and_says_what_there_is(tmp_path):
    safe_save({}, tmp_path / "model.safetensors")
    with pytest.raises(FileError, match="no such file") as caught:
        safe_load(tmp_path / "modle.safetensors")
    assert caught.value.code == "E9006"
    assert "model.safetensors" in caught.value.help


def test_directories_pipes_and_devices_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", "/dev/zero", "a\0b"):
        with pytest.raises(FileError) as caught:
            safe_load(path)
        assert caught.value.code == "E9006"
    for path in (tmp_path, "a\0b"):
        with pytest.raises(FileError) as caught:
            safe_save({}, path)
        assert caught.value.code == "E9006"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_e7006(tmp_path):
    safe_save({}, tmp_path / "x")
    (tmp_path / "x").chmod(0)
    with pytest.raises(FileError, match="permission denied"):
        safe_load(tmp_path / "x")


def test_saving_into_a_missing_directory_is_e7006(tmp_path):
    with pytest.raises(FileError, match="there is no directory") as caught:
        safe_save({}, tmp_path / "no" / "x")
    assert caught.value.code == "E9006"


@pytest.mark.parametrize(
    ("tensors", "metadata", "problem"),
    [
        ({"x": np.ones(1, complex)}, None, "complex128"),
        ({"x": np.array(["a"])}, None, "cannot hold"),
        ({1: np.ones(1)}, None, "1 is not a name"),
        ({"__metadata__": np.ones(1)}, None, "is not a name"),
        ({"\ud800": np.ones(1)}, None, "is not a name"),
        ([np.ones(1)], None, "dict by name, not in list"),
        ({}, {"a": 1}, "metadata are texts"),
    ],
)
def test_what_cannot_be_saved_leaves_the_old_file(tensors, metadata, problem, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"old")
    with pytest.raises(TypeError, match=problem) as caught:
        safe_save(tensors, path, metadata)
    assert isinstance(caught.value, AdjointError)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x"]


def test_a_file_keeps_its_mode_and_a_link_its_target(tmp_path):
    safe_save({}, tmp_path / "x")
    (tmp_path / "x").chmod(0o640)
    (tmp_path / "link").symlink_to("x")
    safe_save({"a": np.ones(1)}, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert list(safe_load(tmp_path / "x")) == ["a"]
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o640


def test_what_a_killed_writer_left_is_removed_and_a_live_one_is_not(tmp_path):
    import fcntl

    path = tmp_path / "x[1]*"
    dead, live = (tmp_path / f".{path.name}.{n}.tmp" for n in ("dead", "live"))
    other = tmp_path / ".y.dead.tmp"
    for file in (dead, live, other):
        file.write_bytes(b"half")
    with open(live) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        safe_save({}, path)
        assert sorted(os.listdir(tmp_path)) == sorted([path.name, live.name, other.name])


def test_what_is_wrong_with_a_header_is_said_once(tmp_path):
    message = _error(_file(tmp_path, BAD_HEADERS["there twice"]))
    assert "not JSON" not in message
    assert message.count("E9001") == 1


@pytest.mark.parametrize("name", ["x" * 255, "ж" * 127, "y" * 241, "z" * 242], ids=len)
def test_a_name_may_be_as_long_as_the_file_system_allows(name, tmp_path):
    for value in (1.0, 2.0):
        safe_save({"x": Tensor([value])}, tmp_path / name)
    assert safe_load(tmp_path / name)["x"].tolist() == [2.0]
    assert os.listdir(tmp_path) == [name]
