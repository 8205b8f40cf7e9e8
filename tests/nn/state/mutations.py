"""Damaged files: every byte of the headers, and random changes.

Run as a program, in a process of its own, so that a crash, a hang or too much memory is seen:
`python -m tests.nn.state.mutations FORMAT COUNT SEED FOLDER` prints what became of them as JSON.
"""

import json
import random
import resource
import signal
import struct
import sys
from pathlib import Path

import numpy as np

from adjoint import AdjointError, Tensor
from adjoint.nn.state import (
    gguf_load,
    load_checkpoint,
    safe_load,
    safe_save,
    save_checkpoint,
    torch_load,
)
from tests.nn.state import gguf_reference
from tests.nn.state.gguf_writer import gguf_bytes
from tests.nn.state.torch_writer import Call, Storage, parameter, tensor, torch_bytes

ROOM = 256 << 20  # bytes that a process may take beyond what it has when all is loaded
PATIENCE = 120  # seconds for one file, on a busy machine
NUMBERS = [
    0,
    1,
    2,
    0x7F,
    0xFF,
    0x7FFF,
    0xFFFF,
    1 << 31,
    0xFFFFFFFF,
    1 << 40,
    (1 << 63) - 1,
    1 << 63,
]
NUMBERS += [(1 << 64) - 1]


class Model:
    def __init__(self):
        self.weight = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
        self.counts = [Tensor(np.arange(3)), Tensor(np.array([True, False]))]


class Clock:
    def __init__(self):
        self.now = (3, [1.5, None], {"a": b"x"})

    def state_dict(self):
        return {"now": self.now, 1: np.arange(2)}

    def load_state_dict(self, state):
        self.now = state["now"]


def made_safetensors(path):
    model = Model()
    tensors = {"weight": model.weight, "é.counts": model.counts[0], "truth": model.counts[1]}
    tensors |= {"half": Tensor([1.0], dtype="bfloat16"), "none": Tensor.zeros(0, 3)}
    safe_save(tensors, path, {"format": "pt", "note": "x" * 20})
    return _length(path.read_bytes())


def made_checkpoint(path):
    Tensor.manual_seed(1)
    save_checkpoint(path, step=7, extra={"loss": [(1, 0.5)]}, model=Model(), clock=Clock())
    return _length(path.read_bytes())


def _length(raw):
    return 8 + struct.unpack_from("<Q", raw)[0]


def made_torch(path):
    shared = Storage(np.arange(12, dtype=np.float32))
    some = np.zeros(0, np.float32)
    value = {
        "model": Call(
            "collections", "OrderedDict", [["w", tensor(some, shared, 2, (3, 2), (1, 3))]]
        ),
        "bias": parameter(tensor(np.arange(3, dtype=np.int64))),
        "view": tensor(some, shared, 0, (2, 3), (6, 1)),
        "truth": tensor(np.array([True, False])),
        "more": [1, -2.5, None, True, "text", (1, 2), {3: 4}, 1 << 70, b"x"],
    }
    path.write_bytes(torch_bytes(value))
    return path.stat().st_size  # the pickle is in front, the directory at the end


def made_gguf(path):
    metadata = {
        "general.architecture": (8, "test"),
        "general.alignment": (4, 32),
        "tokens": (9, (8, ["a", "bc", ""])),
        "scores": (9, (6, [0.5, 1.5])),
        "flag": (7, True),
    }
    tensors = {"w": np.ones((2, 3), np.float32), "h": np.ones(4, np.float16)}
    for name in ("Q4_0", "Q6_K"):
        number, size, _, _, _ = gguf_reference.FORMATS[name]
        tensors[name] = (number, (2, size), gguf_reference.blocks(name, 2))
    raw = gguf_bytes(tensors, metadata)
    path.write_bytes(raw)
    return raw.index(b"Q6_K") + 40


def _checkpoint_loaded(path):
    model, clock = Model(), Clock()
    found = load_checkpoint(path, model=model, clock=clock)
    return [model.weight, model.counts, clock.now, found.extra]


FORMATS = {
    "safetensors": (made_safetensors, safe_load, {"E9001"}),
    "gguf": (made_gguf, gguf_load, {"E9001"}),
    "torch": (made_torch, torch_load, {"E9001", "E6004"}),  # a view may be expanded to any size
    "checkpoint": (made_checkpoint, _checkpoint_loaded, {"E9001"}),
}


def read_all(value, depth=0):
    """Use every tensor; a pickle may hold itself."""
    if isinstance(value, Tensor):
        value.numpy()
    elif isinstance(value, (dict, list, tuple)) and depth < 20:
        for item in value.values() if isinstance(value, dict) else value:
            read_all(item, depth + 1)


def mutated(raw, header, rng, number):
    """First every byte of the header in turn, then anything anywhere."""
    if number < header:
        changed = bytearray(raw)
        changed[number] ^= 1 << rng.randrange(8)
        return bytes(changed)
    at = rng.randrange(header) if rng.random() < 0.8 else rng.randrange(len(raw))
    return rng.choice(CHANGES)(raw, at, rng)


def _some(rng):
    return bytes(rng.choices(range(256), k=rng.randrange(1, 9)))


CHANGES = [
    lambda raw, at, rng: raw[:at],
    lambda raw, at, rng: raw[:at] + bytes([rng.randrange(256)]) + raw[at + 1 :],
    lambda raw, at, rng: raw[:at] + bytes([raw[at] ^ 1 << rng.randrange(8)]) + raw[at + 1 :],
    lambda raw, at, rng: raw[:at] + _some(rng) + raw[at:],
    lambda raw, at, rng: raw[:at] + raw[at + rng.randrange(1, 9) :],
    lambda raw, at, rng: raw[:at] + raw[rng.randrange(at + 1) :],
    lambda raw, at, rng: raw[:at] + _number(rng, "<Q") + raw[at + 8 :],
    lambda raw, at, rng: raw[:at] + _number(rng, "<I") + raw[at + 4 :],
    lambda raw, at, rng: (
        raw[:at] + bytes([rng.choice(b'0123456789-"[]{},:.enKJMX')]) + raw[at + 1 :]
    ),
    lambda raw, at, rng: raw[:at] + str(rng.choice(NUMBERS)).encode() + raw[at:],
    lambda raw, at, rng: raw[:at] + bytes(rng.randrange(1, 64)) + raw[at:],
]


def _number(rng, form):
    return struct.pack(form, rng.choice(NUMBERS) & (1 << 8 * struct.calcsize(form)) - 1)


def run(name, count, seed, folder):
    """What became of so many damaged files."""
    make, load, codes = FORMATS[name]
    path = Path(folder) / f"{name}.bin"
    header = make(path)
    raw = path.read_bytes()
    read_all(load(path))
    _limit_memory()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rng = random.Random(seed)
    found = {"header": header, "loaded": 0, "refused": 0, "wrong": []}
    for number in range(count):
        path.write_bytes(mutated(raw, header, rng, number))
        problem = _outcome(load, path, codes)
        if problem in ("loaded", "refused"):
            found[problem] += 1
        else:
            found["wrong"].append(f"{number}: {problem}")
            (Path(folder) / f"{name}.{number}").write_bytes(path.read_bytes())
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return found | {"grown_mb": grown >> 10}


def _limit_memory():
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, size + ROOM))
    signal.signal(signal.SIGALRM, _too_long)


def _too_long(*_):
    raise TimeoutError(f"more than {PATIENCE} s")


def _outcome(load, path, codes):
    signal.alarm(PATIENCE)
    try:
        read_all(load(path))
    except AdjointError as error:
        places = error.code != "E9001" or "(at byte " in str(error)
        return "refused" if error.code in codes and places else f"{type(error)}: {error}"
    except BaseException as error:  # whatever it is, it has no code
        return f"{type(error)}: {error}"
    finally:
        signal.alarm(0)
    return "loaded"


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])))
