"""TensorBoard's event files, read back by a reader of its own, written from the format's words."""

import struct

import numpy as np
import pytest

from adjoint.training.runs.event_files import EventFile, crc32c
from adjoint.training.runs.images import png


def records(data):
    """The records of a file, with both checksums compared."""
    at = 0
    while at < len(data):
        length = struct.unpack_from("<Q", data, at)[0]
        body = data[at + 12 : at + 12 + length]
        assert masked(data[at : at + 8]) == struct.unpack_from("<I", data, at + 8)[0]
        assert masked(body) == struct.unpack_from("<I", data, at + 12 + length)[0]
        yield body
        at += 16 + length


def masked(data):
    found = crc32c(data)
    return ((found >> 15 | found << 17) + 0xA282EAD8) % 2**32


def fields(data):
    """A message as {field: value}; the last of a field that comes again."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            found[key >> 3], at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            found[key >> 3], at = data[at : at + size], at + size
        else:
            form, size = {1: ("<d", 8), 5: ("<f", 4)}[kind]
            found[key >> 3], at = struct.unpack_from(form, data, at)[0], at + size
    return found


def varint(data, at):
    found, shift = 0, 0
    while True:
        found |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return found, at


def read(folder):
    (file,) = folder.glob("events.out.tfevents.*")
    return [fields(record) for record in records(file.read_bytes())]


@pytest.mark.parametrize(
    ("data", "sum_"),
    [(b"123456789", 0xE3069283), (b"", 0), (bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43)],
)
def test_the_checksum_is_that_of_the_standard(data, sum_):
    assert crc32c(data) == sum_  # RFC 3720, B.4


def test_scalars_are_read_back(tmp_path):
    events = EventFile(tmp_path, 5.0)
    for step, value in ((0, 2.5), (300, -1.0), (2**40, float("inf")), (-1, 1e300)):
        events.scalar("loss/été", value, step, 7.0 + step)
    events.close()
    first, *rest = read(tmp_path)
    assert first == {1: 5.0, 3: b"brain.Event:2"}
    values = [fields(fields(event[5])[1]) for event in rest]
    assert [value[2] for value in values] == [2.5, -1.0, float("inf"), float("inf")]
    assert {value[1].decode() for value in values} == {"loss/été"}
    assert [event[2] for event in rest] == [0, 300, 2**40, 2**64 - 1]
    assert [event[1] for event in rest][:2] == [7.0, 307.0]


def test_images_are_read_back(tmp_path):
    data = png(np.zeros((9, 12, 3), np.uint8))
    events = EventFile(tmp_path)
    events.image("digits", data, (9, 12, 3), 4, 1.0)
    events.close()
    image = fields(fields(fields(read(tmp_path)[1][5])[1])[4])
    assert image == {1: 9, 2: 12, 3: 3, 4: data}


def test_a_file_that_is_not_closed_has_all_that_was_written(tmp_path):
    events = EventFile(tmp_path)
    events.scalar("loss", 1.0, 0, 0.0)
    assert len(read(tmp_path)) == 2
    events.close()


def test_a_flipped_bit_is_found(tmp_path):
    events = EventFile(tmp_path)
    events.scalar("loss", 1.0, 0, 0.0)
    events.close()
    (file,) = tmp_path.glob("events*")
    torn = bytearray(file.read_bytes())
    torn[-6] ^= 1
    with pytest.raises(AssertionError):
        list(records(bytes(torn)))
