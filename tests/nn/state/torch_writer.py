"""Files such as torch writes, made without torch: a pickle of protocol 2 in a zip archive."""

import io
import pickle
import zipfile

import numpy as np

STORAGES = {
    "float64": "DoubleStorage",
    "float32": "FloatStorage",
    "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage",
    "int64": "LongStorage",
    "int32": "IntStorage",
    "int16": "ShortStorage",
    "int8": "CharStorage",
    "uint8": "ByteStorage",
    "bool": "BoolStorage",
    "complex64": "ComplexFloatStorage",
    "complex128": "ComplexDoubleStorage",
}


class Name:
    """A global, pickled by name only."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class Call:
    """A call of a global."""

    def __init__(self, module, name, *args):
        self.what, self.args = Name(module, name), args


class Storage:
    """A storage of an archive; `values` is a flat array."""

    def __init__(self, values, kind=None, count=None):
        self.values = values
        self.kind = kind or Name("torch", STORAGES[values.dtype.name])
        self.count = values.size if count is None else count


def tensor(values, storage=None, offset=0, size=None, stride=None, marks=None):
    """A tensor as torch writes it: a call that rebuilds it from its storage."""
    values = np.asarray(values)
    storage = storage or Storage(np.ascontiguousarray(values).reshape(-1))
    size = values.shape if size is None else size
    steps = np.ascontiguousarray(values).reshape(values.shape).strides
    stride = tuple(s // values.dtype.itemsize for s in steps) if stride is None else stride
    hooks = Call("collections", "OrderedDict")
    args = (storage, offset, tuple(size), tuple(stride), False, hooks)
    return Call("torch._utils", "_rebuild_tensor_v2", *args, *([] if marks is None else [marks]))


def parameter(inner):
    hooks = Call("collections", "OrderedDict")
    return Call("torch._utils", "_rebuild_parameter", inner, True, hooks)


class Writer(pickle._Pickler):
    """Python's own pickler, which can be taught to write any global by its name."""

    def __init__(self, file, protocol):
        super().__init__(file, protocol)
        self.storages = []

    def persistent_id(self, obj):
        if not isinstance(obj, Storage):
            return None
        known = [s for s, _ in self.storages]
        number = next((i for i, s in enumerate(known) if s.values is obj.values), len(known))
        if number == len(known):
            self.storages.append((obj, number))
        return "storage", obj.kind, str(number), "cpu", obj.count

    def save(self, obj, save_persistent_id=True):
        if isinstance(obj, Name):
            self.write(b"c" + obj.module.encode() + b"\n" + obj.name.encode() + b"\n")
        elif isinstance(obj, Call):
            self.save(obj.what)
            self.save(obj.args)
            self.write(b"R")
        else:
            super().save(obj, save_persistent_id)


def torch_bytes(value, protocol=2, order="little", method=zipfile.ZIP_STORED, pickled=None):
    """The bytes of a file; `pickled` replaces the pickle."""
    stream = io.BytesIO()
    writer = Writer(stream, protocol)
    writer.dump(value)
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as archive:

        def write(name, raw):  # with a date that is always the same
            archive.writestr(zipfile.ZipInfo(f"made/{name}"), raw, method)

        write("data.pkl", stream.getvalue() if pickled is None else pickled)
        write("byteorder", order)
        for storage, number in writer.storages:
            raw = storage.values
            write(f"data/{number}", raw.tobytes() if order == "little" else _swapped(raw))
        write("version", "3\n")
    return found.getvalue()


def _swapped(values):
    width = values.dtype.itemsize // (2 if values.dtype.kind == "c" else 1)
    return values.view(np.uint8).reshape(-1, width)[:, ::-1].tobytes()
