"""Kernels of a Hopper GPU, run by NumPy: the text of one, warpgroup by warpgroup.

Copies and products happen as late as the GPU may do them, when they are waited for; what is not
waited for is not there. Warpgroups take turns where they wait. Enough of LLVM IR and PTX for the
kernels of `adjoint/codegen/nvptx/matrix`; anything else is an error.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from adjoint.codegen.nvptx.geometry import read_geometry
from adjoint.stages import Source

GROUP = 128
_WORDS = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}
_INSTRUCTION = re.compile(r"(?:(%\w+) = )?(.*)")
_ASM = re.compile(r'call (.+?) asm (sideeffect )?"(.*)", "(.*?)"\((.*)\)$')
_WGMMA = re.compile(
    r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k16\.f32\.(\w+)\.\w+ "
    r"\{.*?\}, (\{.*?\}|a), b, p, (.*)"
)


class Later:
    """Registers that a product will have written when it is waited for."""

    def __init__(self, run: Callable[[], list[np.ndarray]]):
        self.run, self.values = run, None

    def finish(self) -> None:
        if self.values is None:
            self.values = self.run()


class Barrier:
    def __init__(self, count: int):
        self.count = self.pending = count
        self.phase = 0

    def arrive(self, many: int) -> None:
        assert many <= self.pending, "more arrive than a barrier waits for"
        self.pending -= many
        if not self.pending:
            self.phase, self.pending = self.phase ^ 1, self.count


class HostMemory:
    """Addresses are those of the host."""

    def bytes_at(self, address: int, size: int) -> np.ndarray:
        assert address % size == 0, "misaligned address"
        return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


class Memory(HostMemory):
    """Arrays, beyond which nothing is read or written."""

    def __init__(self, *arrays: np.ndarray):
        self.spans = [(a.ctypes.data, a.ctypes.data + a.nbytes) for a in arrays]

    def bytes_at(self, address: int, size: int) -> np.ndarray:
        inside = any(low <= address and address + size <= high for low, high in self.spans)
        assert inside, "access beyond memory"
        return super().bytes_at(address, size)


def run(source: Source, blocks: int, values: Sequence[int], memory: HostMemory) -> None:
    """All blocks of a launch, one after another."""
    kernel = _Kernel(source)
    parameters = dict(zip(kernel.parameters, values, strict=True))
    for block in range(blocks):
        _Block(kernel, (block, blocks), parameters, memory).run()


class _Kernel:
    def __init__(self, source: Source):
        geometry = read_geometry(source)
        self.groups, self.shared = geometry.threads // GROUP, geometry.shared
        given = re.search(r"ptx_kernel void @\w+\((.*?)\)", source.text)
        assert given is not None
        self.parameters = [part.split("%")[1] for part in given[1].split(", ")]
        body = source.text.split("entry:\n")[1].split("\n  ret void")[0]
        self.blocks: dict[str, list[tuple[str | None, str]]] = {"entry": []}
        name = "entry"
        for line in body.split("\n"):
            if not line.startswith(" "):
                name = line.rstrip(":")
                self.blocks[name] = []
            else:
                found = _INSTRUCTION.fullmatch(line.strip())
                assert found is not None
                self.blocks[name].append((found[1], found[2]))


class _Block:
    def __init__(
        self, kernel: _Kernel, number: int, parameters: Mapping[str, int], memory: HostMemory
    ):
        self.kernel, self.number, self.parameters, self.memory = kernel, number, parameters, memory
        self.shared = np.full(kernel.shared, 0xFF, np.uint8)  # NaN
        self.barriers: dict[int, Barrier] = {}
        self.waiting = 0
        self.turn = 0
        self.turns: dict[int, int] = {}

    def run(self) -> None:
        threads = [_Group(self, i).run() for i in range(self.kernel.groups)]
        idle = 0
        while threads:
            thread = threads.pop(0)
            state = next(thread, "done")
            idle = idle + 1 if state == "blocked" else 0
            assert idle <= 2 * len(threads) + 2, "all warpgroups wait"
            if state != "done":
                threads.append(thread)


class _Group:
    """128 threads in step."""

    def __init__(self, block: _Block, number: int):
        self.block = block
        self.thread = np.arange(GROUP) + number * GROUP
        self.env: dict[str, Any] = {
            f"%{name}": np.full(GROUP, value, np.int64) for name, value in block.parameters.items()
        }
        self.mask = np.ones(GROUP, bool)
        self.copies: list[list[tuple[int, int, int, int]]] = []
        self.open: list[tuple[int, int, int, int]] = []
        self.products: list[list[Later]] = []

    def run(self) -> Iterator[str]:
        name, before = "entry", ""
        while name:
            yield from self._phis(name, before)
            after = ""
            for target, text in self.block.kernel.blocks[name]:
                if text.startswith("phi"):
                    continue
                if text.startswith("br "):
                    after = yield from self._branch(text)
                else:
                    value = yield from self._value(text)
                    if target is not None:
                        self._set(target, value)
            name, before = after, name
        assert not self.open, "copies were not waited for"
        assert not self.copies, "copies were not waited for"
        yield "done"

    def _set(self, target: str, value: Any) -> None:
        self.env[target] = value

    def _phis(self, name: str, before: str) -> Iterator[str]:
        new = {}
        for target, text in self.block.kernel.blocks[name]:
            if text.startswith("phi"):
                kind = text.split()[1]
                found = {b: a for a, b in re.findall(r"\[(\S+), %(\w+)\]", text)}
                new[target] = self._operand(kind, found[before])
        self.env.update(new)
        yield from ()

    def _branch(self, text: str) -> Iterator[str]:
        parts = re.fullmatch(r"br i1 (\S+), label %(\w+), label %(\w+)", text)
        if parts is None:
            return text.split("%")[1]
        which = self._operand("i1", parts[1])
        if which.all():
            return parts[2]
        if not which.any():
            return parts[3]
        end = ""
        for way, name in ((which, parts[2]), (~which, parts[3])):
            self.mask = way
            for target, line in self.block.kernel.blocks[name]:
                if line.startswith("br "):
                    end = line.split("%")[1]
                    continue
                value = yield from self._value(line)
                if target is not None:
                    self._set(target, value)
        self.mask = np.ones(GROUP, bool)
        return end

    # ---- values

    def _operand(self, kind: str, name: str) -> Any:
        if name.startswith("%"):
            return self.env[name]
        if kind == "float":
            number = np.array(int(name, 16), np.uint64).view(np.float64)
            return np.full(GROUP, number, np.float32)
        if kind == "i1":
            return np.full(GROUP, name == "true")
        return np.full(GROUP, int(name), {"i32": np.int32, "i64": np.int64}[kind])

    def _pair(self, text: str) -> tuple[Any, Any]:
        kind, rest = text.split(" ", 1)
        a, b = rest.split(", ")
        return self._operand(kind, a), self._operand(kind, b)

    def _value(self, text: str) -> Iterator[str]:
        op, rest = text.split(" ", 1)
        if op == "call" and " asm " in text:
            return (yield from self._asm(text))
        yield from ()
        with np.errstate(all="ignore"):
            return self._plain(op, rest)

    def _plain(self, op: str, rest: str) -> Any:
        if op in _BINARY:
            return _BINARY[op](*self._pair(rest))
        if op in ("icmp", "fcmp"):
            how, pair = rest.split(" ", 1)
            return _COMPARE[how](*self._pair(pair))
        if op == "select":
            a, b, c = (self._operand(*part.split(" ")) for part in rest.split(", "))
            return np.where(a, b, c)
        if op in ("zext", "sext", "trunc"):
            kind, name, _, new = rest.split(" ")
            to = {"i32": np.int32, "i64": np.int64}[new]
            value = self._operand(kind, name)
            if op == "zext" and kind == "i32":
                value = value.view(np.uint32)
            return value.astype(to)
        if op == "fneg":
            return -self._operand(*rest.split(" "))
        if op == "ptrtoint":
            return np.zeros(GROUP, np.int32)
        if op == "extractvalue":
            kind, whole, index = re.fullmatch(r"(\{.*\}) (\S+), (\d+)", rest).groups()
            found = self.env[whole]
            return (found, int(index)) if isinstance(found, Later) else found[int(index)]
        assert op == "call", op
        return self._call(rest)

    def _call(self, rest: str) -> Any:
        name, given = re.fullmatch(r"\S+ @(\S+?)\((.*)\)", rest).groups()
        if name.endswith("tid.x") and "ctaid" not in name:
            return self.thread.astype(np.int32)
        if name.endswith("ctaid.x"):
            place = self.block.number[name.endswith("nctaid.x")]
            return np.full(GROUP, place, np.int32)
        values = [self._operand(*part.split(" ")) for part in given.split(", ")]
        if name == "llvm.fma.f32":
            a, b, c = (v.astype(np.float64) for v in values)
            return (a * b + c).astype(np.float32)
        assert name == "llvm.maxnum.f32", name
        return np.fmax(*values)

    # ---- PTX

    def _asm(self, text: str) -> Iterator[str]:
        _, _, code, constraints, given = _ASM.fullmatch(text).groups()
        lines = [line.strip() for line in code.split("\\0A\\09")]
        operands = [self._given(part) for part in re.findall(r"\w+ [^\s,]+", given)]
        for pattern, method in _PTX:
            if pattern in code:
                result = method(self, lines, operands, constraints)
                if isinstance(result, Iterator):
                    return (yield from result)
                return result
        raise AssertionError(f"unknown PTX: {code}")

    def _given(self, part: str) -> Any:
        kind, name = part.split(" ")
        return self._operand(kind, name)

    def _wait_barrier(self, lines: Any, operands: Any, _: Any) -> Iterator[str]:
        barrier = self.block.barriers[int(operands[0][0])]
        while barrier.phase == int(operands[1][0]):
            yield "blocked"
        yield "ran"

    def _make_barrier(self, lines: Any, operands: Any, _: Any) -> None:
        self.block.barriers[int(operands[0][self.mask][0])] = Barrier(int(operands[1][0]))

    def _arrive(self, lines: Any, operands: Any, _: Any) -> None:
        many = int(((operands[1] != 0) & self.mask).sum())
        self.block.barriers[int(operands[0][0])].arrive(many)

    def _together(self, lines: Any, operands: Any, _: Any) -> Iterator[str]:
        block = self.block
        block.waiting += 1
        turn = block.turn
        if block.waiting == block.kernel.groups:
            block.waiting, block.turn = 0, turn + 1
        while block.turn == turn:
            yield "blocked"

    def _take_turn(self, lines: Any, operands: Any, _: Any) -> Iterator[str]:
        turns, number = self.block.turns, int(operands[0][0])
        while not turns.get(number):
            yield "blocked"
        turns[number] -= 1

    def _give_turn(self, lines: Any, operands: Any, _: Any) -> None:
        number = int(operands[0][0])
        self.block.turns[number] = self.block.turns.get(number, 0) + 1
        assert self.block.turns[number] == 1, "a turn is given twice"

    def _copy(self, lines: Any, operands: Any, _: Any) -> None:
        width = 16 if "16, $2" in lines[0] else 4
        for i in np.flatnonzero(self.mask):
            to, source, size = (int(x[i]) for x in operands)
            self.open.append((to, source, size, width))

    def _copies_end(self, *_: Any) -> None:
        self.copies.append(self.open)
        self.open = []

    def _copies_done(self, lines: Any, *_: Any) -> None:
        keep = int(lines[0].split()[1].rstrip(";"))
        while len(self.copies) > keep:
            for to, source, size, width in self.copies.pop(0):
                self.block.shared[to : to + width] = 0
                if size:
                    assert size == width
                    self.block.shared[to : to + width] = self.block.memory.bytes_at(source, width)

    def _product(self, lines: list[str], operands: list[Any], constraints: str) -> Later:
        kinds = [c for c in constraints.split(",") if not c.startswith(("=", "~"))]
        tied = sum(kind.isdigit() for kind in kinds)
        totals, rest = operands[:tied], operands[tied:]
        right, begins = rest[-2], not int(rest[-1][0])
        left, steps = rest[:-2], []
        offset = [0, 0]
        for line in lines:
            if line.startswith("add.s64"):
                which = 0 if line.split()[1] == "a," else 1
                offset[which] = int(line.rstrip(";").split()[-1])
            elif line.startswith("wgmma.mma"):
                n, word, _, flags = _WGMMA.fullmatch(line.rstrip(";")).groups()
                steps.append((*offset, int(n), word, flags.split(", ")))
        assert bool(tied) is not begins

        def compute() -> list[np.ndarray]:
            return self._computed(steps, left, right, totals)

        later = Later(compute)
        self.products.append([later])
        return later

    def _computed(self, steps: Any, left: Any, right: Any, totals: Any) -> list[np.ndarray]:
        n, word = steps[0][2], _WORDS[steps[0][3]]
        out = np.zeros((64, n), np.float32)
        if totals:
            out = _matrix([_settled(t) for t in totals], n)
        for number, (a, b, _, _, flags) in enumerate(steps):
            if len(left) == 1:
                assert flags[2] == "0"
                lhs = self._tile(int(left[0][0]) + a, 64, word, False)
            else:
                lhs = _fragment(left[4 * number : 4 * number + 4], word)
            rhs = self._tile(int(right[0]) + b, n, word, flags[-1] == "1")
            with np.errstate(all="ignore"):
                out = out + (lhs.astype(np.float64) @ rhs.T.astype(np.float64)).astype(np.float32)
        return _registers(out)

    def _tile(self, described: int, rows: int, word: Any, turned: bool) -> np.ndarray:
        """Rows (or columns, if turned) of 16 numbers each that a descriptor shows."""
        assert (described >> 62) & 3 == 1
        start, across, step = (((described >> at) & 0x3FFF) << 4 for at in (0, 16, 32))
        row, k = np.arange(rows)[:, None], np.arange(16)[None]
        if turned:
            at = start + row // 64 * across + row % 64 * 2 + k // 8 * step + k % 8 * 128
        else:
            at = start + row // 8 * step + row % 8 * 128 + k * 2
        at = at ^ ((at >> 7 & 7) << 4)
        low, high = self.block.shared[at], self.block.shared[at + 1]
        return (low | high.astype(np.uint16) << 8).astype(np.uint16).view(word)

    def _products_done(self, lines: list[str], operands: list[Any], _: Any) -> list[Any]:
        keep = int(lines[0].split()[1].rstrip(";"))
        while len(self.products) > keep:
            for later in self.products.pop(0):
                later.finish()
        return [_settled(value) for value in operands]

    def _shuffle(self, lines: Any, operands: Any, _: Any) -> np.ndarray:
        distance = int(lines[0].split(", ")[2])
        return operands[0][np.arange(GROUP) ^ distance]

    def _packed(self, lines: list[str], operands: Any, _: Any) -> np.ndarray:
        word = _WORDS["bf16" if "bf16" in lines[0] else "f16"]
        high, low = (x.astype(word).view(np.uint16).astype(np.uint32) for x in operands)
        return (low | high << 16).view(np.int32)

    def _store(self, lines: list[str], operands: Any, _: Any) -> None:
        address, value, which = operands
        for i in np.flatnonzero((which != 0) & self.mask):
            data = value[i : i + 1].view(np.uint8)
            self.block.memory.bytes_at(int(address[i]), len(data))[:] = data

    def _store_four(self, lines: list[str], operands: Any, _: Any) -> None:
        address, *values, which = operands
        for i in np.flatnonzero((which != 0) & self.mask):
            data = np.array([v[i] for v in values], np.int32).view(np.uint8)
            self.block.memory.bytes_at(int(address[i]), len(data))[:] = data

    def _load(self, lines: list[str], operands: Any, _: Any) -> np.ndarray:
        found = np.zeros(GROUP, np.float32)
        for i in np.flatnonzero(operands[1] != 0):
            found[i] = self.block.memory.bytes_at(int(operands[0][i]), 4).view(np.float32)[0]
        return found

    def _counted(self, lines: list[str], operands: Any, _: Any) -> np.ndarray:
        found = np.zeros(GROUP, np.int32)
        for i in np.flatnonzero((operands[1] != 0) & self.mask):
            number = self.block.memory.bytes_at(int(operands[0][i]), 4).view(np.int32)
            found[i] = number[0]
            number += 1
        return found

    def _put(self, lines: list[str], operands: Any, _: Any) -> None:
        for i in np.flatnonzero(operands[2] != 0):
            at = int(operands[0][i])
            self.block.shared[at : at + 4] = operands[1][i : i + 1].view(np.uint8)

    def _got(self, lines: list[str], operands: Any, _: Any) -> np.ndarray:
        at = operands[0].astype(np.int64)[:, None] + np.arange(4)
        return self.block.shared[at].view(np.int32)[:, 0].copy()

    def _load_byte(self, lines: list[str], operands: Any, _: Any) -> np.ndarray:
        found = np.zeros(GROUP, np.int32)
        for i in np.flatnonzero(operands[1] != 0):
            found[i] = self.block.memory.bytes_at(int(operands[0][i]), 1)[0]
        return found

    def _load_four(self, lines: list[str], operands: Any, _: Any) -> list[np.ndarray]:
        found = np.zeros((GROUP, 4), np.int32)
        for i in np.flatnonzero(operands[1] != 0):
            found[i] = self.block.memory.bytes_at(int(operands[0][i]), 16).view(np.int32)
        return [found[:, i].copy() for i in range(4)]

    def _unpacked(self, lines: list[str], operands: Any, _: Any) -> list[np.ndarray]:
        word = _WORDS["bf16" if "bf16" in lines[-2] else "f16"]
        both = np.ascontiguousarray(operands[0]).view(np.uint16).view(word).astype(np.float32)
        return [both[0::2].copy(), both[1::2].copy()]

    def _load_pair(self, lines: list[str], operands: Any, _: Any) -> list[np.ndarray]:
        at = operands[0].astype(np.int64)[:, None] + np.arange(8)
        numbers = self.block.shared[at].view(np.float32)
        return [numbers[:, 0].copy(), numbers[:, 1].copy()]

    def _nothing(self, *_: Any) -> None:
        pass

    def _function(self, lines: list[str], operands: Any, _: Any) -> np.ndarray:
        with np.errstate(all="ignore"):
            return _FUNCTIONS[lines[0].split(".")[0]](operands[0]).astype(np.float32)


def _settled(value: Any) -> np.ndarray:
    if isinstance(value, tuple):
        later, index = value
        assert later.values is not None, "the totals of a product are read before it is done"
        return later.values[index]
    return value


_LANE = np.arange(GROUP)
_ROW = _LANE // 32 * 16 + _LANE % 32 // 4
_COLUMN = _LANE % 4 * 2


def _registers(matrix: np.ndarray) -> list[np.ndarray]:
    """A product's results as the threads hold them."""
    count = matrix.shape[1] // 2
    return [
        matrix[_ROW + i % 4 // 2 * 8, _COLUMN + i // 4 * 8 + i % 2].copy() for i in range(count)
    ]


def _matrix(registers: list[np.ndarray], columns: int) -> np.ndarray:
    found = np.zeros((64, columns), np.float32)
    for i, values in enumerate(registers):
        found[_ROW + i % 4 // 2 * 8, _COLUMN + i // 4 * 8 + i % 2] = values
    return found


def _fragment(registers: list[np.ndarray], word: Any) -> np.ndarray:
    """Four words of a thread as 64 rows of 16 numbers."""
    found = np.zeros((64, 16), word)
    for i, values in enumerate(registers):
        pair = values.astype(np.int32).view(np.uint32)
        for side in range(2):
            half = (pair >> (16 * side) & 0xFFFF).astype(np.uint16).view(word)
            found[_ROW + i % 2 * 8, _COLUMN + i // 2 * 8 + side] = half
    return found


def _unsigned(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        kind = {np.dtype(np.int32): np.uint32, np.dtype(np.int64): np.uint64}[a.dtype]
        return function(a.view(kind), b.view(kind)).view(a.dtype)

    return apply


def _truncated(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.trunc(a.astype(np.float64) / b).astype(a.dtype)


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "lshr": _unsigned(lambda a, b: a >> b),
    "sdiv": _truncated,
    "srem": lambda a, b: a - _truncated(a, b) * b,
    "fadd": lambda a, b: a + b,
    "fsub": lambda a, b: a - b,
    "fmul": lambda a, b: a * b,
}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b,
    "oeq": lambda a, b: a == b,
}
_FUNCTIONS = {"ex2": np.exp2, "lg2": np.log2, "rcp": lambda x: 1 / x}
_PTX: tuple[tuple[str, Any], ...] = (
    ("mbarrier.try_wait", _Group._wait_barrier),
    ("mbarrier.init", _Group._make_barrier),
    ("mbarrier.arrive", _Group._arrive),
    ("mbarrier_init", _Group._nothing),
    ("setmaxnreg", _Group._nothing),
    ("bar.sync 0", _Group._together),
    ("bar.sync 4", _Group._nothing),  # a warpgroup is always together
    ("atom.global.add", _Group._counted),
    ("st.shared", _Group._put),
    ("ld.shared.b32", _Group._got),
    ("bar.sync $0", _Group._take_turn),
    ("bar.arrive $0", _Group._give_turn),
    ("cp.async.cg", _Group._copy),
    ("cp.async.ca", _Group._copy),
    ("cp.async.commit", _Group._copies_end),
    ("cp.async.wait", _Group._copies_done),
    ("wgmma.mma_async", _Group._product),
    ("wgmma.wait", _Group._products_done),
    ("shfl", _Group._shuffle),
    ("cvt.rn", _Group._packed),
    ("st.global.v4", _Group._store_four),
    ("st.global", _Group._store),
    ("ld.global.v4", _Group._load_four),
    ("ld.global.u8", _Group._load_byte),
    ("ld.global", _Group._load),
    ("mov.b32 {", _Group._unpacked),
    ("ld.shared", _Group._load_pair),
    ("ex2", _Group._function),
    ("lg2", _Group._function),
    ("rcp", _Group._function),
)
