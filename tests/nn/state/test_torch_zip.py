"""Torch's zip files: read without torch, and without running what is in them."""

import io
import pickle
import struct
import zipfile

import ml_dtypes
import numpy as np
import pytest

from adjoint import FileError, Tensor, dtypes
from adjoint.nn.state import torch_load
from tests.nn.state.torch_writer import (
    STORAGES,
    Call,
    Name,
    Storage,
    parameter,
    tensor,
    torch_bytes,
)


def _load(tmp_path, value=None, **options):
    path = tmp_path / "made.pt"
    path.write_bytes(torch_bytes(value, **options))
    return torch_load(path)


def _error(tmp_path, raw):
    path = tmp_path / "made.pt"
    path.write_bytes(raw)
    with pytest.raises(FileError) as caught:
        _read_all(torch_load(path))
    assert caught.value.code == "E9001"
    assert str(path) in str(caught.value)
    assert "(at byte " in str(caught.value)
    return str(caught.value)


def _read_all(value):
    if isinstance(value, Tensor):
        value.numpy()
    elif isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            _read_all(item)


def _bad(tmp_path, value=None, **options):
    return _error(tmp_path, torch_bytes(value, **options))


# ---- what is read


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("dtype", STORAGES)
def test_storages_of_every_dtype_and_byte_order_are_read(dtype, order, tmp_path):
    values = np.array([[1, 0, 1], [0, 1, 1]]).astype(getattr(ml_dtypes, dtype, dtype))
    found = _load(tmp_path, {"x": tensor(values)}, order=order)["x"]
    assert found.dtype.name == dtype
    assert np.array_equal(found.numpy(), values)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_nested_values_of_every_protocol_come_back(protocol, tmp_path):
    value = {
        "numbers": [1, -2, 300, 70_000, -(1 << 40), 1 << 70, 2.5, float("inf")],
        "texts": ("", "é漢", "x" * 300),
        "others": [None, True, False, b"bytes", 1 + 2j, {1, 2}, (), [[]], {3: "a", (1, 2): 4}],
    }
    assert _load(tmp_path, value, protocol=protocol) == value


def test_what_torch_puts_beside_tensors_is_understood(tmp_path):
    value = {
        "ordered": Call("collections", "OrderedDict", [["a", 1], ["b", 2]]),
        "size": Call("torch", "Size", [2, 3]),
        "device": Call("torch", "device", "cuda", 1),
        "dtype": Name("torch", "float16"),
        "parameter": parameter(tensor(np.ones(2, np.float32))),
        "storage": Storage(np.arange(3, dtype=np.int64)),
    }
    found = _load(tmp_path, value)
    assert found["ordered"] == {"a": 1, "b": 2}
    assert found["size"] == (2, 3)
    assert found["device"] == "cuda:1"
    assert found["dtype"] is dtypes.float16
    assert found["parameter"].numpy().tolist() == [1, 1]
    assert found["storage"].numpy().tolist() == [0, 1, 2]


def test_views_of_one_storage_are_told_apart(tmp_path):
    shared = Storage(np.arange(12, dtype=np.float32))
    some = np.zeros(0, np.float32)
    value = [
        tensor(some, shared, 0, (3, 4), (4, 1)),
        tensor(some, shared, 0, (4, 3), (1, 4)),
        tensor(some, shared, 5, (2, 2), (3, 2)),
        tensor(some, shared, 7, (), ()),
        tensor(some, shared, 2, (2, 3), (1, 0)),
        tensor(some, shared, 0, (4, 3), (1, 1)),
        tensor(some, shared, 12, (0, 3), (3, 1)),
    ]
    whole = np.arange(12, dtype=np.float32)
    found = [t.numpy() for t in _load(tmp_path, value)]
    assert np.array_equal(found[0], whole.reshape(3, 4))
    assert np.array_equal(found[1], whole.reshape(3, 4).T)
    assert found[2].tolist() == [[5, 7], [8, 10]]
    assert found[3] == 7
    assert found[4].tolist() == [[2, 2, 2], [3, 3, 3]]
    assert found[5].tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]]
    assert found[6].shape == (0, 3)


def test_an_expanded_tensor_takes_no_memory_until_it_is_used(tmp_path):
    one = Storage(np.ones(1, np.float32))
    found = _load(tmp_path, tensor(np.zeros(0, np.float32), one, 0, (1 << 40,), (0,)))
    assert found.shape == (1 << 40,)
    assert found[:3].numpy().tolist() == [1, 1, 1]


def test_marks_of_lazy_conjugates_and_negatives_are_applied(tmp_path):
    values = np.array([1 + 2j, 3 - 1j], np.complex64)
    found = _load(
        tmp_path, [tensor(values, marks={"conj": True}), tensor(values, marks={"neg": True})]
    )
    assert np.array_equal(found[0].numpy(), values.conj())
    assert np.array_equal(found[1].numpy(), -values)


def test_dtypes_that_have_no_storage_class_are_read(tmp_path):
    def rebuilt(values, name):
        raw = Storage(values.view(np.uint8), Name("torch.storage", "UntypedStorage"))
        hooks = Call("collections", "OrderedDict")
        args = (raw, 0, values.shape, (1,), False, hooks, Name("torch", name))
        return Call("torch._utils", "_rebuild_tensor_v3", *args)

    eighth = np.array([1, 2, 3]).astype(ml_dtypes.float8_e4m3fn)
    value = [rebuilt(np.array([1, 65535], np.uint16), "uint16"), rebuilt(eighth, "float8_e4m3fn")]
    found = _load(tmp_path, value)
    assert found[0].numpy().tolist() == [1, 65535]
    assert found[1].numpy().tolist() == [1, 2, 3]
    assert found[1].dtype.name == "float8_e4m3fn"


def test_attributes_of_a_state_dict_are_passed_over(tmp_path):
    raw = (
        b"\x80\x02ccollections\nOrderedDict\n)R(X\x01\x00\x00\x00aK\x01u}X\x01\x00\x00\x00mK\x02sb."
    )
    assert _load(tmp_path, pickled=raw) == {"a": 1}


def test_compressed_archives_are_read(tmp_path):
    values = np.zeros((300, 300), np.float32)
    found = _load(tmp_path, {"x": tensor(values)}, method=zipfile.ZIP_DEFLATED)
    assert np.array_equal(found["x"].numpy(), values)


def test_checksums_that_torch_left_out_are_not_missed(tmp_path):
    raw = torch_bytes({"x": tensor(np.ones(2, np.float32))})
    at = raw.index(b"PK\x01\x02")
    while at >= 0:
        raw = raw[: at + 16] + bytes(4) + raw[at + 20 :]
        at = raw.find(b"PK\x01\x02", at + 1)
    (tmp_path / "x").write_bytes(raw)
    assert torch_load(tmp_path / "x")["x"].numpy().tolist() == [1, 1]


# ---- what is not run


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("torch", "load"),
        ("torch.nn.modules.linear", "Linear"),
        ("torch._utils", "_rebuild_sparse_tensor"),
    ],
)
def test_any_other_global_is_named_and_not_called(module, name, tmp_path):
    marker = tmp_path / "ran"
    text = _bad(tmp_path, {"x": Call(module, name, f"touch {marker}")})
    assert f"the global '{module}.{name}'" in text
    assert not marker.exists()


def test_objects_are_not_made(tmp_path):
    class Thing:
        def __reduce__(self):
            return print, ("ran",)

    assert "'builtins.print'" in _bad(tmp_path, pickled=pickle.dumps(Thing(), 2, fix_imports=False))
    assert "opcode 0x81" in _bad(tmp_path, pickled=b"\x80\x02ctorch\nSize\n)\x81.")


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", "ends in the middle"),
        (b"\x80\x02}", "ends in the middle"),
        (b"\x80\x02.", "missing on the stack"),
        (b"\x80\x02(.", "missing on the stack"),
        (b"\x80\x02u.", "mark is missing"),
        (b"\x80\x02}(K\x01u.", "a key has no value"),
        (b"\x80\x02]K\x01K\x02s.", "a dict is expected, not list"),
        (b"\x80\x02}]K\x02s.", "a list is no key"),
        (b"\x80\x02h\x05.", "was not remembered"),
        (b"\x80\x02X\xff\xff\xff\x7fa.", "ends in the middle"),
        (b"\x80\x02X\x01\x00\x00\x00\xff.", "not UTF-8"),
        (b"\x80\x02\x8b\xff\xff\xff\x7f.", "an integer of"),
        (b"\x80\x02K\x01)R.", "which is no function"),
        (b"\x80\x02K\x01\x85Q.", "a storage"),
        (b"\x80\x02cx", "a name does not end"),
        (b"\x80\x02K\x01}b.", "a dict is expected, not int"),
        (b"\x80\x02K\x01K\x02\x93.", "no text"),
        (b"I1\n.", "opcode 0x49"),
    ],
)
def test_a_damaged_pickle_says_where(raw, problem, tmp_path):
    assert problem in _bad(tmp_path, pickled=raw)


def test_the_offset_is_that_of_the_opcode(tmp_path):
    raw = torch_bytes(None, pickled=b"\x80\x02]cos\nsystem\n.")
    assert f"(at byte {raw.index(b'cos')})" in _error(tmp_path, raw)


def test_keys_that_take_for_ever_to_hash_are_refused(tmp_path):
    doubled = b")" + b"q\x00h\x00\x86" * 60  # each a pair of the one before, twice
    assert "no key" in _bad(tmp_path, pickled=b"\x80\x02}" + doubled + b"K\x01s.")


FLOATS = np.arange(4, dtype=np.float32)


@pytest.mark.parametrize(
    ("offset", "size", "stride", "problem"),
    [
        (0, (5,), (1,), "element 4 of a storage of 4"),
        (3, (2,), (1,), "element 4"),
        (0, (2, 2), (3, 1), "element 4"),
        (5, (), (), "element 5"),
        (0, (2,), (1, 1), "1 sizes and 2 strides"),
        (-1, (2,), (1,), "natural numbers"),
        (0, (-2,), (1,), "natural numbers"),
        (0, (2,), (-1,), "natural numbers"),
        (0, ("2",), (1,), "natural numbers"),
        (0, (1 << 62, 1 << 62), (0, 0), "so large"),
        (0, (1,) * 40, (1,) * 40, "so large"),
        (0, (2,) * 30, (0,) * 27 + (1,) * 3, ""),
    ],
)
def test_a_view_outside_its_storage_is_found_out(offset, size, stride, problem, tmp_path):
    value = tensor(FLOATS, Storage(FLOATS), offset, size, stride)
    if problem:
        assert problem in _bad(tmp_path, value)
    else:
        assert _load(tmp_path, value).shape == size


def test_overlapping_strides_cannot_make_much_of_little(tmp_path):
    storage = Storage(np.zeros(2000, np.float32))
    value = tensor(FLOATS, storage, 0, (200,) * 4, (1,) * 4)
    assert "elements in a storage of 2000" in _bad(tmp_path, value)


def test_a_storage_of_another_size_is_found_out(tmp_path):
    for count in (3, 5, 1 << 62):
        value = tensor(FLOATS, Storage(FLOATS, count=count), 0, (2,), (1,))
        assert "data/0 has 16 bytes" in _bad(tmp_path, value)


def test_a_truth_value_is_0_or_1(tmp_path):
    values = np.array([0, 1, 2], np.uint8)
    value = tensor(values, Storage(values, Name("torch", "BoolStorage")))
    assert "neither 0 nor 1" in _bad(tmp_path, value)


# ---- the archive


def test_a_legacy_file_says_what_to_do(tmp_path):
    raw = pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2)
    text = _error(tmp_path, raw)
    assert "before 1.6" in text
    assert "save it again" in text


def test_other_archives_are_no_torch_files(tmp_path):
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "no data.pkl" in _error(tmp_path, found.getvalue())
    with zipfile.ZipFile(found, "a") as archive:
        archive.writestr("m/data.pkl", b"\x80\x02N.")
        archive.writestr("m/constants.pkl", b"\x80\x02N.")
    assert "TorchScript" in _error(tmp_path, found.getvalue())
    assert "no directory" in _error(tmp_path, b"hello")


def test_a_bomb_is_not_unpacked(tmp_path):
    big = b"\x80\x02" + b"]" * 20_000_000 + b"."
    text = _bad(tmp_path, pickled=big, method=zipfile.ZIP_DEFLATED)
    assert "16000000 is the limit" in text


def _patched(raw, signature, at, form, number):
    place = raw.index(signature) + at
    return raw[:place] + struct.pack(form, number) + raw[place + struct.calcsize(form) :]


@pytest.mark.parametrize(
    ("signature", "at", "form", "number", "problem"),
    [
        (b"PK\x01\x02", 24, "<I", 1 << 31, "cannot become"),
        (b"PK\x01\x02", 10, "<H", 12, "unknown compression method 12"),
        (b"PK\x01\x02", 8, "<H", 1, "encrypted"),
        (b"PK\x01\x02", 42, "<I", 5, "no such entry"),
        (b"PK\x01\x02", 42, "<I", 1 << 31, "not before the directory"),
        (b"PK\x01\x02", 28, "<H", 60_000, "too long"),
        (b"PK\x01\x02", 20, "<I", 0xFFFFFFFF, "size of an entry is missing"),
        (b"PK\x01\x02", 16, "<I", 77, "checksum"),
        (b"PK\x05\x06", 10, "<H", 3, "several parts"),
        (b"PK\x05\x06", 16, "<I", 1 << 31, "cannot be"),
        (b"PK\x03\x04", 30, "<H", 0x4141, "differ in the name"),
    ],
)
def test_a_directory_that_lies_is_found_out(signature, at, form, number, problem, tmp_path):
    raw = torch_bytes({"x": tensor(FLOATS)})
    assert problem in _error(tmp_path, _patched(raw, signature, at, form, number))


def test_entries_that_overlap_are_refused(tmp_path):
    name = b"made/inner"
    inner = struct.pack("<4s5H3I2H", b"PK\x03\x04", 20, 0, 0, 0, 0, 0, 2, 2, len(name), 0) + name
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as archive:
        archive.writestr("made/data.pkl", b"\x80\x02N.")
        archive.writestr("made/outer", inner + b"ab")
        archive.writestr("made/inner", b"ab")
    raw = found.getvalue()
    listed = raw.rindex(b"PK\x01\x02")
    place = struct.pack("<I", raw.index(inner))
    assert "overlaps" in _error(tmp_path, raw[: listed + 42] + place + raw[listed + 46 :])


@pytest.mark.parametrize("size", range(0, 600, 41))
def test_every_truncation_is_found_out(size, tmp_path):
    raw = torch_bytes({"x": tensor(FLOATS)})
    assert size < len(raw)
    _error(tmp_path, raw[:size])
