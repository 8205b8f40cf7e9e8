"""The block formats of GGUF, element by element, as their description has them.

Nothing here is fast or vectorised: it is what `adjoint.nn.state.quantised` is compared with.
"""

import struct

import numpy as np

F = np.float32
CODEBOOK = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def half(raw, at):
    return F(struct.unpack_from("<e", raw, at)[0])


def nibble(byte, high):
    return byte >> 4 if high else byte & 15


def in_32(raw, at, i):
    """Element i of 32 in 16 bytes: the first half in the low nibbles."""
    return nibble(raw[at + i % 16], i >= 16)


def fifth(raw, at, i):
    return struct.unpack_from("<I", raw, at)[0] >> i & 1


def q4_0(raw, i):
    return half(raw, 0) * F(in_32(raw, 2, i) - 8)


def q4_1(raw, i):
    return half(raw, 0) * F(in_32(raw, 4, i)) + half(raw, 2)


def q5_0(raw, i):
    return half(raw, 0) * F(in_32(raw, 6, i) + 16 * fifth(raw, 2, i) - 16)


def q5_1(raw, i):
    return half(raw, 0) * F(in_32(raw, 8, i) + 16 * fifth(raw, 4, i)) + half(raw, 2)


def q8_0(raw, i):
    return half(raw, 0) * F(struct.unpack_from("<b", raw, 2 + i)[0])


def q8_1(raw, i):
    return half(raw, 0) * F(struct.unpack_from("<b", raw, 4 + i)[0])


def two_bits(raw, at, i):
    """128 elements in 32 bytes: element l of the run r of 32 in bits 2r and 2r + 1 of byte l."""
    half_, rest = divmod(i, 128)
    run, place = divmod(rest, 32)
    return raw[at + 32 * half_ + place] >> 2 * run & 3


def q2_k(raw, i):
    scale = raw[i // 16]
    large, low = half(raw, 80) * F(scale & 15), half(raw, 82) * F(scale >> 4)
    return large * F(two_bits(raw, 16, i)) - low


def q3_scale(raw, at, j):
    """Scale j of 16: four low bits in the first eight bytes, two high bits in the last four."""
    low = nibble(raw[at + j % 8], j >= 8)
    high = raw[at + 8 + j % 4] >> 2 * (j // 4) & 3
    return low + 16 * high - 32


def q3_k(raw, i):
    high = raw[i % 32] >> i // 32 & 1
    number = two_bits(raw, 32, i) + (0 if high else -4)
    return half(raw, 108) * F(q3_scale(raw, 96, i // 16)) * F(number)


def k4_scale(raw, at, j):
    """Scale and minimum j of 8, six bits each, in 12 bytes."""
    if j < 4:
        return raw[at + j] & 63, raw[at + j + 4] & 63
    scale = raw[at + j + 4] & 15 | raw[at + j - 4] >> 6 << 4
    return scale, raw[at + j + 4] >> 4 | raw[at + j] >> 6 << 4


def in_64(raw, at, i):
    """Element i: runs of 32 share 32 bytes two by two, the even run in the low nibbles."""
    pair, rest = divmod(i, 64)
    return nibble(raw[at + 32 * pair + rest % 32], rest >= 32)


def q4_k(raw, i):
    scale, low = k4_scale(raw, 4, i // 32)
    return half(raw, 0) * F(scale) * F(in_64(raw, 16, i)) - half(raw, 2) * F(low)


def q5_k(raw, i):
    scale, low = k4_scale(raw, 4, i // 32)
    number = in_64(raw, 48, i) + 16 * (raw[16 + i % 32] >> i // 32 & 1)
    return half(raw, 0) * F(scale) * F(number) - half(raw, 2) * F(low)


def q6_k(raw, i):
    half_, rest = divmod(i, 128)
    run, place = divmod(rest, 32)
    low = nibble(raw[64 * half_ + 32 * (run % 2) + place], run >= 2)
    high = raw[128 + 32 * half_ + place] >> 2 * run & 3
    scale = struct.unpack_from("<b", raw, 192 + i // 16)[0]
    return half(raw, 208) * F(scale) * F(low + 16 * high - 32)


def q8_k(raw, i):
    return F(struct.unpack_from("<f", raw, 0)[0]) * F(struct.unpack_from("<b", raw, 4 + i)[0])


def iq4_nl(raw, i):
    return half(raw, 0) * F(CODEBOOK[in_32(raw, 2, i)])


def iq4_xs(raw, i):
    run, place = divmod(i, 32)
    low = nibble(raw[4 + run // 2], run % 2)
    high = struct.unpack_from("<H", raw, 2)[0] >> 2 * run & 3
    number = CODEBOOK[in_32(raw, 8 + 16 * run, place)]
    return half(raw, 0) * F(low + 16 * high - 32) * F(number)


def mxfp4(raw, i):
    number = in_32(raw, 1, i)
    sign = -1.0 if number >= 8 else 1.0
    return F(2.0 ** (raw[0] - 127) * sign * E2M1[number & 7])


# name: (number of the type, elements, bytes, where float16 or float32 numbers are, function)
FORMATS = {
    "Q4_0": (2, 32, 18, [(0, "<e")], q4_0),
    "Q4_1": (3, 32, 20, [(0, "<e"), (2, "<e")], q4_1),
    "Q5_0": (6, 32, 22, [(0, "<e")], q5_0),
    "Q5_1": (7, 32, 24, [(0, "<e"), (2, "<e")], q5_1),
    "Q8_0": (8, 32, 34, [(0, "<e")], q8_0),
    "Q8_1": (9, 32, 36, [(0, "<e"), (2, "<e")], q8_1),
    "Q2_K": (10, 256, 84, [(80, "<e"), (82, "<e")], q2_k),
    "Q3_K": (11, 256, 110, [(108, "<e")], q3_k),
    "Q4_K": (12, 256, 144, [(0, "<e"), (2, "<e")], q4_k),
    "Q5_K": (13, 256, 176, [(0, "<e"), (2, "<e")], q5_k),
    "Q6_K": (14, 256, 210, [(208, "<e")], q6_k),
    "Q8_K": (15, 256, 292, [(0, "<f")], q8_k),
    "IQ4_NL": (20, 32, 18, [(0, "<e")], iq4_nl),
    "IQ4_XS": (23, 256, 136, [(0, "<e")], iq4_xs),
    "MXFP4": (39, 32, 17, [], mxfp4),
}


def blocks(name, count, seed=0):
    """Random blocks of a format, with scales that are ordinary numbers."""
    _, _, stored, floats, _ = FORMATS[name]
    rng = np.random.default_rng(seed)
    made = bytearray()
    for _ in range(count):
        block = bytearray(rng.integers(0, 256, stored, np.uint8).tobytes())
        for at, form in floats:
            struct.pack_into(form, block, at, rng.normal())
        if name == "MXFP4":
            block[0] = int(rng.integers(100, 150))
        made += block
    return bytes(made)


def values(name, raw):
    """Every element of many blocks."""
    _, size, stored, _, function = FORMATS[name]
    rows = [raw[at : at + stored] for at in range(0, len(raw), stored)]
    return np.array([[function(row, i) for i in range(size)] for row in rows], np.float32)
