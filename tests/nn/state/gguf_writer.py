"""GGUF files, made by hand."""

import struct

import numpy as np

NUMBERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q"}
NUMBERS |= {11: "<q", 12: "<d"}
PLAIN = {"float32": 0, "float16": 1, "int8": 24, "int16": 25, "int32": 26, "int64": 27}
PLAIN |= {"float64": 28, "bfloat16": 30}


def text(value):
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def value(kind, given):
    """A typed value of the metadata; an array is (type of the items, items)."""
    if kind == 8:
        return text(given)
    if kind == 9:
        inner, items = given
        return struct.pack("<IQ", inner, len(items)) + b"".join(value(inner, i) for i in items)
    return struct.pack(NUMBERS[kind], given)


def gguf_bytes(tensors=(), metadata=(), version=3, alignment=32, counts=None):
    """`tensors`: name → array, or (type, shape, bytes); `metadata`: name → (type, value)."""
    tensors, metadata = dict(tensors), dict(metadata)
    head = b"GGUF" + struct.pack("<I", version)
    head += struct.pack("<QQ", *(counts or (len(tensors), len(metadata))))
    for key, (kind, given) in metadata.items():
        head += text(key) + struct.pack("<I", kind) + value(kind, given)
    data = b""
    for name, given in tensors.items():
        kind, shape, raw = given if isinstance(given, tuple) else plain(given)
        head += text(name) + struct.pack("<I", len(shape))
        head += b"".join(struct.pack("<Q", extent) for extent in reversed(shape))
        head += struct.pack("<IQ", kind, len(data))
        data += raw + bytes(-len(raw) % alignment)
    return head + bytes(-len(head) % alignment) + data


def plain(array):
    return PLAIN[array.dtype.name], array.shape, np.ascontiguousarray(array).tobytes()
