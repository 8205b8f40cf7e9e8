"""`.npz` files: arrays by name, and damage of every kind."""

import io
import os
import tracemalloc
import zipfile

import numpy as np
import pytest

from adjoint.data import read_npz
from adjoint.errors import AdjointError

X = np.arange(24, dtype=np.float32).reshape(6, 2, 2)
Y = np.arange(6)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, images=X, labels=Y)
    return path


def test_arrays_come_by_their_names(file):
    data = read_npz(file)
    assert np.array_equal(data.images, X)
    assert np.array_equal(data["labels"], Y)


def test_arrays_are_chosen_and_renamed(file):
    data = read_npz(str(file), x="images", y="labels")
    assert list(data.fields) == ["x", "y"]
    assert list(read_npz(file, x="images").fields) == ["x"]


def test_compressed_and_transposed_and_empty_and_odd_arrays(tmp_path):
    arrays = {
        "f": np.asfortranarray(np.arange(6.0).reshape(3, 2)),
        "big": np.arange(3, dtype=">i4"),
        "empty": np.zeros((3, 0)),
        "half": np.ones(3, np.float16),
        "text": np.array(["a", "bc", "d"]),
    }
    np.savez_compressed(tmp_path / "a.npz", **arrays)
    data = read_npz(tmp_path / "a.npz")
    for name, array in arrays.items():
        assert np.array_equal(data[name], array)
        assert data[name].dtype == array.dtype


def test_arrays_are_writable(file):
    read_npz(file).images[0] = 3


def _archive(path, name, content):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, content)
    return path


def _npy(header):
    text = header.encode().ljust(118 - 10) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def _objects(path):
    np.savez(path, x=np.array([{}, None]))


def _lengths(path):
    np.savez(path, x=np.zeros(3), y=np.zeros(4))


def _scalar(path):
    np.savez(path, x=np.float32(3))


def _claims(path):
    header = _npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }")
    _archive(path, "x.npy", header + bytes(64))


def _negative(path):
    header = _npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-8,), }")
    _archive(path, "x.npy", header)


def _swollen(path):
    _archive(
        path, "x.npy", _npy("{'descr': '<f8', 'fortran_order': False, 'shape': (12500000,), }")
    )
    content = bytearray(path.read_bytes())
    central = content.index(b"PK\x01\x02")
    content[central + 24 : central + 28] = (118 + 100_000_000).to_bytes(4, "little")
    path.write_bytes(content)


def _npy_file(path):
    with open(path, "wb") as stream:
        np.save(stream, X)


def _locked(path):
    _archive(path, "x.npy", _npy("{}"))
    content = bytearray(path.read_bytes())
    central = content.index(b"PK\x01\x02")
    content[6] |= 1
    content[central + 8] |= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("make", "code", "match"),
    [
        (_objects, "E9003", "array 'x' of .* holds Python objects"),
        (_lengths, "E9003", "differ in length"),
        (_scalar, "E9003", "one number"),
        (_claims, "E9001", "does not take the 64 bytes"),
        (_negative, "E9001", "array 'x' at byte 0"),
        (_swollen, "E9001", "bytes cannot hold 100000118"),
        (_npy_file, "E9001", "it is a .npy file"),
        (_locked, "E9001", "encrypted"),
        (lambda p: p.write_bytes(b""), "E9001", "is empty"),
        (lambda p: p.write_bytes(b"hello"), "E9001", "no .npz file"),
        (lambda p: _archive(p, "x.npy", b"\x93NUMPY\x09\x00"), "E9001", "version"),
        (lambda p: _archive(p, "x.txt", b"hello"), "E9001", "magic"),
        (lambda p: _archive(p, "x.npy", b""), "E9001", "array 'x'"),
        (lambda p: zipfile.ZipFile(p, "w").close(), "E9003", "no arrays"),
        (lambda p: os.mkdir(p), "E9006", "is a folder"),
        (lambda p: None, "E9006", "there is no file"),
    ],
)
def test_a_bad_file_is_an_error(tmp_path, make, code, match):
    path = tmp_path / "bad.npz"
    make(path)
    with pytest.raises(AdjointError, match=match) as caught:
        read_npz(path)
    assert caught.value.code == code


def test_an_unknown_array_has_a_likely_name(file):
    with pytest.raises(AdjointError, match="did you mean 'labels'") as caught:
        read_npz(file, y="label")
    assert caught.value.code == "E9003"


def test_what_would_take_too_much_memory_is_refused_before_it_does(tmp_path):
    np.savez_compressed(tmp_path / "bomb.npz", x=np.zeros((100, 100_000)))
    tracemalloc.start()
    with pytest.raises(
        AdjointError, match="80,000,128 bytes, and the limit is 1,000,000"
    ) as caught:
        read_npz(tmp_path / "bomb.npz", limit=1_000_000)
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()
    assert caught.value.code == "E9003"


def test_a_file_cut_anywhere_is_an_error(file):
    whole = file.read_bytes()
    for size in range(0, len(whole), 3):
        file.write_bytes(whole[:size])
        with pytest.raises(AdjointError) as caught:
            read_npz(file)
        assert caught.value.code == "E9001"


def test_damage_is_an_error_or_changes_nothing(file):
    whole, rng = file.read_bytes(), np.random.default_rng(0)
    codes = []
    for place in rng.integers(0, len(whole), 600):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << rng.integers(8)
        file.write_bytes(damaged)
        codes.append(_code_or_same(file))
    assert set(codes) == {"", "E9001", "E9003"}
    assert codes.count("") < 300


def _code_or_same(file):
    try:
        data = read_npz(file, x="images", y="labels")
    except AdjointError as error:
        return error.code
    assert np.array_equal(data.x, X)
    assert np.array_equal(data.y, Y)
    return ""


def test_a_stream_of_an_archive_is_checked_against_its_sum(tmp_path):
    buffer = io.BytesIO()
    np.savez(buffer, x=np.zeros(1000))
    content = bytearray(buffer.getvalue())
    content[content.index(b"\x93NUMPY") + 4000] ^= 1
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(AdjointError, match="CRC") as caught:
        read_npz(tmp_path / "a.npz")
    assert caught.value.code == "E9001"
