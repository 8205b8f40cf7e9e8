"""The threads of a block, by the PTX of a kernel: one instruction, all threads at once.

Of the threads those go on that are furthest behind, so that they meet again behind a branch; what
whole warps do together waits for all of one, a barrier for all of the block. Only what the tests'
kernels use is known. It says nothing of time, nor of what warps do to one another between two
barriers: here they are all equally fast.
"""

from __future__ import annotations

import re

import numpy as np

WARP = 32
_BITS = {"8": np.uint8, "16": np.uint16, "32": np.uint32, "64": np.uint64}
_SIGNED = {"s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64}
_TYPES = {f"{k}{n}": t for k in "bu" for n, t in _BITS.items()} | _SIGNED | {"f32": np.float32}
_KINDS = {"%rs": np.uint16, "%rd": np.uint64, "%r": np.uint32, "%p": np.bool_}
_BUFFER = 40  # bits of an address inside of a buffer
_WORDS = {"add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum}
_WORDS |= {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
_TESTS = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
_TESTS |= {"eq": np.equal, "ne": np.not_equal}


def run(ptx, block, buffers, end, shared=227 << 10):
    """Run one block of a kernel on arrays, which are changed in place."""
    _Block(ptx, block, buffers, end, shared).run()


class _Block:
    def __init__(self, ptx, number, buffers, end, shared):
        self.threads = int(re.search(r"\.reqntid (\d+)", ptx)[1])
        self.number, self.shared = number, np.zeros(shared, np.uint8)
        self.buffers = [b.reshape(-1).view(np.uint8) for b in buffers]
        self.parameters = [(i + 1) << _BUFFER for i in range(len(buffers))] + [end]
        self.registers, self.at = {}, np.zeros(self.threads, np.int64)
        self.code, self.labels = _parsed(ptx)

    def run(self):
        while (self.at < len(self.code)).any():
            at = next((at for at in np.unique(self.at).tolist() if self.may_go(at)), None)
            assert at is not None, "threads wait for others that never come"
            gate, name, operands = self.code[at]
            self.at[self.on] += 1
            if gate:
                held = self.read(gate.lstrip("!"), np.bool_)
                self.on &= ~held if gate[0] == "!" else held
            self.step(at, name.split("."), operands)

    def may_go(self, at):
        """Which threads do what stands here: all of a warp or of the block, where that is asked."""
        if at == len(self.code):
            return False
        name = self.code[at][1]
        self.on = self.at == at
        if name == "bar.sync":
            return self.on.all()
        if name.startswith(("bar.warp", "vote", "shfl")):
            self.on = np.repeat(self.on.reshape(-1, WARP).all(1), WARP)
        return self.on.any()

    def step(self, at, name, operands):
        word = getattr(self, f"do_{name[0]}", None)
        if word is not None:
            word(name, operands)
        elif name[0] == "bra":
            self.at[self.on] = self.labels[operands[0]]
        elif name[0] == "ret":
            self.at[self.on] = len(self.code)
        elif name[0] in _WORDS:
            kind = np.bool_ if name[-1] == "pred" else _TYPES[name[-1]]
            a, b = (self.read(o, kind) for o in operands[1:])
            self.write(operands[0], _WORDS[name[0]](a, b))
        else:
            raise AssertionError(f"{'.'.join(name)} is not known")

    # ---- registers

    def read(self, text, kind):
        """The value that each thread has, as numbers of a kind."""
        if text in ("%tid.x", "%ctaid.x", "%lanemask_lt", "%lanemask_gt"):
            return self.special(text).astype(kind)
        if text == "shared_memory":
            return np.zeros(self.threads, kind)
        if text[0] == "%" or text in "pwmn":
            found = self.registers[text]
            return found if found.dtype == kind else _seen(found, kind)
        if text.startswith("0f"):
            return np.full(self.threads, int(text[2:], 16), np.uint32).view(kind)
        value = int(text, 0)
        if kind == np.bool_:
            return np.full(self.threads, value != 0)
        return np.full(self.threads, value % (1 << 64), np.uint64).astype(kind)

    def special(self, text):
        lane = np.arange(self.threads, dtype=np.uint64)
        if text == "%ctaid.x":
            return np.full(self.threads, self.number)
        if text == "%tid.x":
            return lane
        below = (np.uint64(1) << lane % np.uint64(WARP)) - np.uint64(1)
        return below if text == "%lanemask_lt" else 0xFFFFFFFF - 2 * below - np.uint64(1)

    def write(self, name, value):
        start = next((p for p in _KINDS if re.fullmatch(p + r"\d+", name)), None)
        kind = np.bool_ if name == "p" else np.uint32 if start is None else _KINDS[start]
        old = self.registers.setdefault(name, np.zeros(self.threads, kind))
        self.registers[name] = np.where(self.on, _seen(np.asarray(value), kind), old)

    # ---- arithmetic

    def do_mov(self, name, operands):
        self.write(operands[0], self.read(operands[1], _TYPES[name[-1]]))

    def do_not(self, name, operands):
        kind = np.bool_ if name[-1] == "pred" else _TYPES[name[-1]]
        self.write(operands[0], ~self.read(operands[1], kind))

    def do_cvt(self, name, operands):
        value = self.read(operands[1], _TYPES[name[-1]])
        self.write(operands[0], value.astype(_TYPES[name[-2]]))

    def do_mul(self, name, operands):
        kind = _TYPES[name[-1]]
        a, b = (self.read(o, kind) for o in operands[1:])
        wide = a.astype(np.int64) * b.astype(np.int64)
        self.write(operands[0], wide >> 32 if name[1] == "hi" else wide)

    def do_mad(self, name, operands):
        a, b, c = (self.read(o, _TYPES[name[-1]]) for o in operands[1:])
        self.write(operands[0], a * b + c)

    def do_shl(self, name, operands):
        value, by = self.read(operands[1], _TYPES[name[-1]]), self.read(operands[2], np.uint32)
        self.write(operands[0], value << by.astype(value.dtype))

    def do_shr(self, name, operands):
        value, by = self.read(operands[1], _TYPES[name[-1]]), self.read(operands[2], np.uint32)
        self.write(operands[0], value >> by.astype(value.dtype))

    def do_bfe(self, name, operands):
        value, start, bits = (self.read(o, _TYPES[name[-1]]) for o in operands[1:])
        up = 32 - bits - start
        self.write(operands[0], (value << up) >> (32 - bits))

    def do_setp(self, name, operands):
        a, b = (self.read(o, _TYPES[name[-1]]) for o in operands[1:])
        self.write(operands[0], _TESTS[name[1]](a, b))

    def do_selp(self, name, operands):
        a, b = (self.read(o, _TYPES[name[-1]]) for o in operands[1:3])
        self.write(operands[0], np.where(self.read(operands[3], np.bool_), a, b))

    def do_lop3(self, name, operands):
        assert operands[4] == "0x80"
        a, b, c = (self.read(o, np.uint32) for o in operands[1:4])
        self.write(operands[0], a & b & c)

    def do_popc(self, name, operands):
        self.write(operands[0], np.bitwise_count(self.read(operands[1], np.uint32)))

    def do_brev(self, name, operands):
        bits = np.unpackbits(self.read(operands[1], np.uint32).view(np.uint8), bitorder="little")
        turned = bits.reshape(-1, WARP)[:, ::-1].reshape(-1)
        self.write(operands[0], np.packbits(turned, bitorder="little").view(np.uint32))

    def do_clz(self, name, operands):
        value = self.read(operands[1], np.uint32).astype(np.uint64)
        self.write(operands[0], [WARP - int(v).bit_length() for v in value])

    # ---- threads together

    def do_bar(self, name, operands):
        """All that it waits for are here."""

    def do_vote(self, name, operands):
        held = self.read(operands[1], np.bool_) & self.on
        words = np.packbits(held, bitorder="little").view(np.uint32)
        self.write(operands[0], np.repeat(words, WARP))

    def do_shfl(self, name, operands):
        value, by = (self.read(o, np.uint32) for o in operands[1:3])
        me = np.arange(self.threads)
        lane = me % WARP ^ by if name[2] == "bfly" else by % WARP
        self.write(operands[0], value[me - me % WARP + lane.astype(np.int64)])

    # ---- memory

    def places(self, text, size):
        """The bytes of an address that each thread has."""
        name, _, offset = text.strip("[]").partition("+")
        if name.startswith("k_"):
            return None
        address = self.read(name, np.uint64).astype(np.int64) + int(offset or 0)
        assert not (address[self.on] % size).any(), "misaligned address"
        return address

    def memory(self, space, address):
        """The memory, and where in it the threads that go on access it."""
        address = address[self.on]
        if space == "shared":
            return self.shared, address
        numbers = set((address >> _BUFFER).tolist())
        assert len(numbers) <= 1, "one instruction, several buffers"
        number = numbers.pop() - 1 if numbers else 0
        return self.buffers[number], address & ((1 << _BUFFER) - 1)

    def do_ld(self, name, operands):
        targets, text = operands[0].strip("{}").split("|"), operands[-1]
        kind = np.dtype(_TYPES[name[-1]])
        if name[1] == "param":
            number = int(re.search(r"_param_(\d+)", text)[1])
            self.write(targets[0], np.full(self.threads, self.parameters[number]).astype(kind))
            return
        address = self.places(text, kind.itemsize * len(targets))
        for i, target in enumerate(targets):
            memory, at = self.memory(name[1], address + i * kind.itemsize)
            found = np.zeros(self.threads, kind)
            found[self.on] = _cells(memory, kind)[at // kind.itemsize]
            self.write(target, found)

    def do_st(self, name, operands):
        kind = np.dtype(_TYPES[name[-1]])
        sources = operands[1].strip("{}").split("|")
        address = self.places(operands[0], kind.itemsize * len(sources))
        for i, source in enumerate(sources):
            memory, at = self.memory(name[1], address + i * kind.itemsize)
            value, cells = self.read(source, kind)[self.on], _cells(memory, kind)
            cells[at // kind.itemsize] = value
            assert (cells[at // kind.itemsize] == value).all(), "two threads write one place"

    def do_atom(self, name, operands):
        """A count of shared memory, whose value nothing reads."""
        memory, at = self.memory("shared", self.places(operands[1], 4))
        np.add.at(_cells(memory, np.uint32), at // 4, self.read(operands[2], np.uint32)[self.on])

    def do_red(self, name, operands):
        """Of shared memory counts; of global memory any kind of numbers, joined in any order."""
        kind = np.dtype(_TYPES[name[-1]])
        join = {"add": np.add, "max": np.maximum, "min": np.minimum}[name[-2]]
        memory, at = self.memory(name[1], self.places(operands[0], kind.itemsize))
        if self.on.any():
            value = self.read(operands[1], kind)[self.on]
            join.at(_cells(memory, kind), at // kind.itemsize, value)


def _seen(value, kind):
    """Numbers as registers of a kind hold them: the same bits, or the low ones."""
    if value.dtype == np.float32 or kind == np.float32:
        return value.view(kind)
    return value.astype(kind)


def _cells(memory, kind):
    size = np.dtype(kind).itemsize
    return memory[: len(memory) // size * size].view(kind)


def _parsed(ptx):
    """Instructions with their gates and operands, and where labels are."""
    body = ptx[ptx.index("\n{") + 2 : ptx.rindex("}")]
    body = re.sub(r"//.*", "", body)
    body = re.sub(r"\{ \.reg.*?;(?: \.reg.*?;)?(.*?) \}", r"\1", body)  # texts of their own
    body = re.sub(r"\{([^{}]*)\}", lambda m: "{" + re.sub(r",\s*", "|", m[1]) + "}", body)
    code, labels = [], {}
    for line in re.split(r"[;\n]", re.sub(r"(\$\w+):", r"\1:\n", body)):
        line = line.strip()
        if line.endswith(":"):
            labels[line[:-1]] = len(code)
        elif line and line[0] != ".":
            gate, rest = line.split(None, 1) if line[0] == "@" else ("", line)
            name, _, operands = rest.partition(" " if "\t" not in rest else "\t")
            found = [o.strip() for o in operands.split(",")] if operands else []
            code.append((gate[1:], name.strip(), found))
    return code, labels
