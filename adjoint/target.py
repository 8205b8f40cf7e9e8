"""The names of devices and their capabilities. Data only: nothing here touches a device.

A processor is named as LLVM names it; its features decide which instructions kernels may use.

A device string is `BACKEND` or `BACKEND:INDEX`; index 0 is written without it, so that `"GPU:0"`
and `"GPU"` are one device. A file is a device too: `DISK:<path>`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from adjoint import config
from adjoint.errors import DeviceError, did_you_mean


@dataclass(frozen=True, slots=True)
class Limits:
    """How large the kernels of a target may become, and what they hold on to."""

    kernel_nodes: int = 120  # compiling takes more than linear time, and walks go deep
    kernel_cost: int = 400  # of one element, in scalar operations
    joined_pieces: int = 16  # places that an element may come from, where joins are of joins
    long_row: int = 1 << 16  # elements; a longer row is held on to only where there are
    many_rows: int = 64  # at least so many rows
    loop_products: int = 8  # that loops add up sooner than tiles or a library do
    batched_elements: int = 1 << 12  # of a product that is worth a call of its own in a batch
    tiled_products: int = 1 << 20  # of numbers, from which on another layout or dtype pays,
    tiled_columns: int = 32  # of windows, if there are so many
    narrow_columns: int = 0  # of a product, below which its rows are columns if there are more
    turned_channels: int = 32  # a multiple of which pictures have that lie with channels last,
    turned_products: int = 400  # if so many are added up for each byte that changes its order
    windowed_rows: int = 8  # that meet windows of a picture; loops read the windows for fewer
    recomputed_bytes: int = 512 << 20  # of products that are computed again rather than kept
    kept_bytes: int = 64 << 20  # of what turns of a loop hand to those of another, or are given
    panel_bytes: int = 384 << 10  # of rows between two products that a kernel holds on to,
    panel_row: int = 1 << 14  # which have at most so many elements,
    panel_rows: int = 48  # if so many fit, or all rows are larger than what is packed for each
    cheap: int = 8  # cost up to which an expression is computed again rather than stored
    cheap_large: int = 8  # the same of values that come from memory,
    large_bytes: int = 1 << 20  # which have so many
    ranked_row: int = 32  # elements per round of digits, up to which a row is sorted by its ranks
    longest_ranked: int = 128  # such row
    local_bytes: int = 32 << 10  # of scratch inside a kernel that sorts; beyond it, a buffer
    at_once_nodes: int = 256  # of a graph that is computed at once, op by op, until it has come
    at_once_elements: int = 1 << 14  # with no more in a value
    at_once_runs: int = 32  # so often: compiling it costs as much as that
    scratch_groups: int = 64  # pieces of its grid that share such buffers, row by row
    joint_bytes: int = 0  # of a value of kernels that are launched together; 0: none are


@dataclass(frozen=True, slots=True)
class MatrixLibrary:
    """A library of matrix products that a target has: the dtypes it takes.

    `finishes` says of a dtype of operands and one of results what it may do to elements before it
    writes them (`stages.Finish`), `longest` of a step up to how many products for each element that
    is sooner than a kernel; `starts`: an operand may begin inside of its memory, at a multiple of
    so many bytes; 0: it may not.
    """

    name: str
    dtypes: tuple[str, ...]
    finishes: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    longest: tuple[tuple[str, int], ...] = ()
    starts: int = 0


@dataclass(frozen=True, slots=True)
class Routines:
    """What a library computes whole: the names of the ops, and the dtypes."""

    name: str
    ops: tuple[str, ...]
    dtypes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tile:
    """The part of a product whose sums a kernel holds in registers: rows, and bytes of each."""

    rows: int
    row_bytes: int
    dtypes: tuple[str, ...] = ("float32", "float64")
    narrow_rows: int = 0  # of one that is half as wide, for places of pictures; 0: there is none
    fused: bool = True  # a product and a sum are rounded once, with the bits of all such processors
    sharers: int = 0  # threads for which grids are even; 0: a few, for which all are
    long_rows: bool = False  # half as many rows, twice as long, are sooner wherever that fits
    lines_ahead: int = 0  # of a far operand, that are asked for before they are packed

    def lanes(self, itemsize: int) -> int:
        """Columns side by side."""
        return self.row_bytes // itemsize

    def narrow(self) -> Tile:
        """One that is half as wide: fewer places are made up at the end, and a panel has fewer
        lines of a picture."""
        return replace(self, rows=self.narrow_rows, row_bytes=self.row_bytes // 2)

    def turned(self) -> Tile:
        """One of half as many rows, twice as long: the same registers."""
        return replace(self, rows=self.rows // 2, row_bytes=2 * self.row_bytes)


@dataclass(frozen=True, slots=True)
class MatrixUnit:
    """Instructions that multiply small matrices of a dtype and add the products up in another."""

    dtype: str
    sums: str
    packed: int = 1  # numbers along the summed axis that lie in one word of an operand
    tile: Tile | None = None  # that its own registers hold; None: it uses those of vectors


@dataclass(frozen=True, slots=True)
class Team:
    """Threads that share a piece of a kernel's grid, over which lanes are spread."""

    most: int  # threads
    fewest_elements: int  # of a row that is worth a team
    lanes: int  # of a thread, side by side in one access, of four bytes each
    longest: int = 1 << 20  # elements of a row that a team does
    scratch_bytes: int = 0  # that a team can have
    near_bytes: int = 0  # of a row, at most, of which the cache has those of all teams

    def threads_for(self, count: int) -> int:
        """So many that each has one of these elements, if there are not too many."""
        return min(1 << (count - 1).bit_length(), self.most)


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of device: its name, what runs there, and what its kernels are written for.

    What a kernel computes depends on these numbers and on sizes alone, never on one machine: all
    processors of a target give the same bits.
    """

    name: str
    doc: str
    host_memory: bool
    runs: bool  # whether this version can compute there
    backend: str | None = None  # the folder of `backends/` that compiles for it; else interpreted
    tools: tuple[str, ...] = ()  # programs of the system, one of which the backend needs
    gpu: bool = False  # whether it needs an NVIDIA GPU and its driver
    probe_side: int = 1024  # of matrices whose product shows how fast arithmetic is
    probe_numbers: int = 1 << 24  # that no cache holds, to see how fast memory is
    dlpack: int | None = None  # what DLPack calls its memory; None: no other library uses it
    register_bytes: int = 32  # of a vector register
    registers: int = 16  # vectors that a kernel keeps at hand
    serial_bytes: int = 256  # side by side in a step of a serial loop: an add's latency is hidden
    most_lanes: int = 32  # that run side by side
    fewest_lanes: int = 4  # below which they are not worth it
    cores: int | None = None  # that share one kernel; None: as many as the machine has
    caches: tuple[int, ...] = (1 << 16,)  # bytes that stay near a core, the nearest first
    cache_line: int = 64  # bytes; every value begins on one
    far_bytes: int = 32 << 20  # of a value that no cache holds until it is read again
    far_squares: tuple[int, int] = (32, 2)  # of a piece of a transposition: of the result's lines
    index_bits: int = 64  # of the indices of a kernel, where all of them fit
    matrix_units: tuple[MatrixUnit, ...] = ()
    tile: Tile | None = None  # of a product; None: kernels write none in tiles
    near_bytes: int = 8 << 20  # of an operand that is still near a core when it is read again
    total_bytes: int = 256 << 10  # of totals that stay near a core, where sums go line by line
    strip_bytes: int = 512  # of a line of memory, where sums go from line to line
    thread_bytes: int = 0  # of one access of a thread, where every element can have a thread
    team: Team | None = None  # for rows; None: a thread does all of one
    little_work: int = 1 << 17  # elements times ops, below which compiling takes the time
    libraries: tuple[MatrixLibrary, ...] = ()
    whole: tuple[str, ...] = ()  # composites for which it may have kernels of their own
    routines: tuple[Routines, ...] = ()
    limits: Limits = Limits()
    carries: bool = False  # a library moves rows between devices; kernels join them
    ahead_bytes: int | None = None  # of collectives that run beside kernels; None: none does

    def computes(self, op: str, dtype: object) -> bool:
        """Whether a library of the target computes the whole of such an op, of that dtype."""
        return any(op in r.ops and str(dtype) in r.dtypes for r in self.routines)


_COMPILERS = ("cc", "gcc", "clang")
_C = Target(
    "C",
    "kernels in C, by the compiler of the system",
    host_memory=False,
    runs=True,
    backend="c",
    tools=_COMPILERS,
    probe_side=256,  # by one thread, in loops: 1024 takes seconds
    cores=1,
    index_bits=32,
)
_GPU = Target(
    "GPU",
    "an NVIDIA GPU",
    host_memory=False,
    runs=True,
    backend="cuda",
    gpu=True,
    dlpack=2,
    probe_side=4096,
    probe_numbers=1 << 28,
    serial_bytes=16,
    thread_bytes=16,
    team=Team(512, 32, 4, scratch_bytes=227 << 10, near_bytes=128 << 10),
    caches=(1 << 11,),  # of a thread
    far_bytes=1 << 62,
    index_bits=32,
    whole=("attention",),
    limits=Limits(
        batched_elements=1,
        cheap=16,
        local_bytes=0,
        scratch_groups=1 << 14,
        joint_bytes=1 << 20,
        ranked_row=512,
        longest_ranked=512,
    ),
)
TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target("REF", "NumPy interpreter of the graph, the semantics of record", True, True),
        Target(
            "CPU",
            "the processor of this machine",
            True,
            True,
            "cpu",
            limits=Limits(cheap_large=12, narrow_columns=5),
        ),
        _C,
        _GPU,
        Target("DISK", "a memory-mapped file", True, True),
    )
}
DEFAULT_BACKEND = "cpu"  # of graphs that are on no device
ALIASES = {"CUDA": "GPU", "NV": "GPU", "NUMPY": "REF", "PYTHON": "REF"}


def canonical_device(name: str) -> str:
    """`"gpu:0"` → `"GPU"`, `"cuda:1"` → `"GPU:1"`; an unknown backend is an error."""
    if not isinstance(name, str):
        raise DeviceError("E6008", f"a device is named by a string, not {name!r}", op="device")
    backend, _, index = name.partition(":")
    backend = ALIASES.get(backend.upper(), backend.upper())
    if backend not in TARGETS:
        near = did_you_mean(backend, [*TARGETS, *ALIASES])
        known = f"known devices: {', '.join(TARGETS)}"
        raise DeviceError("E6002", f"unknown device {name!r}", op="device", help=near or known)
    if backend == "DISK" or not index:
        return f"{backend}:{index}" if index else backend
    if not index.isdigit():
        raise DeviceError("E6002", f"device index {index!r} is not a number", op="device")
    number = int(index)
    limit = config.CPU_DEVICES.value() if backend == "CPU" and number else None
    if limit is not None and number >= limit:
        fix = f"set {config.CPU_DEVICES.variable} to {number + 1} or more"
        raise DeviceError("E6002", f"there are {limit} CPU devices", op="device", help=fix)
    return backend if number == 0 else f"{backend}:{number}"


def device_names(device: str | tuple[str, ...]) -> tuple[str, ...]:
    """One device, or several, as a tuple."""
    return (device,) if isinstance(device, str) else device


def targets_of(device: str | tuple[str, ...]) -> tuple[Target, ...]:
    """The targets of a canonical device string, or of several."""
    names = device_names(device)
    return tuple(TARGETS[name.partition(":")[0]] for name in names)


# ---- processors


@dataclass(frozen=True, slots=True)
class Processor:
    """What code is compiled for.

    `needs` are the features, as Linux spells them, that a machine must have to run the code.
    """

    name: str  # as LLVM knows it
    width: int  # of vector registers, in bits
    half: bool  # converts between float16 and float32
    fused: bool  # multiplies and adds with one rounding
    rounding: bool  # rounds a float to a whole number
    needs: tuple[str, ...] = ()
    features: str = ""  # beyond those that the name stands for, as LLVM writes them
    dots: tuple[str, ...] = ()  # dtypes of which it multiplies the numbers of words, and adds
    matrices: tuple[str, ...] = ()  # those of which it does so for matrices of words
    bfloat: bool = False  # rounds float32 to bfloat16, two at a time; a NaN is any NaN then
    fence: str = "llvm.x86.sse.sfence"  # behind stores past the caches; "": it has no such stores
    intel: bool = False


def far_squares_of(processor: Processor) -> tuple[int, int]:
    """How many squares of a transposition of far memory are a piece of the grid: along lines of the
    result, and along those of the operand. Two lines of a cache come together. Intel's follow 32
    lines of the operand by themselves as long as these go on; for others 2 KB of a line of the
    result are written at once."""
    return (2, 16) if processor.intel else (32, 2)


_LINES_AHEAD = 16  # that memory has under way at once


def tile_of(processor: Processor) -> Tile:
    """What the registers of a processor hold, beside a row of the panel: by how many there are and
    how wide they are. Intel's read fewer numbers of rows for a product in long tiles, and find
    lines that lie apart only if they are asked for them."""
    few = processor.width == 256 or not processor.fused
    rows = 6 if few else 12  # of 16 registers, or of 32
    narrow = 16 if processor.width == 512 else 0  # a load for each product, which 16 would wait for
    tile = Tile(rows, 2 * processor.width // 8, narrow_rows=narrow, fused=processor.fused)
    if few or not processor.intel:
        return tile
    return replace(tile, long_rows=True, lines_ahead=_LINES_AHEAD)


_MATRICES = Tile(32, 128)  # two by two registers of 16 lines of 16 words, and two for each operand


def units_of(processor: Processor, sharers: int = 0) -> tuple[MatrixUnit, ...]:
    """Its instructions on words, in grids for so many threads. Sums of integers are those of all
    processors; those of bfloat16 are not, and are used where that is allowed
    (`ir/exactness.py`)."""
    known = (MatrixUnit("int8", "int32", packed=4), MatrixUnit("bfloat16", "float32", packed=2))
    units = (unit for unit in known if unit.dtype in processor.dots)
    tile = replace(_MATRICES, sharers=sharers)
    return tuple(replace(u, tile=tile if u.dtype in processor.matrices else None) for u in units)


def _dots(has: Collection[str], width: int) -> tuple[str, ...]:
    """By the features of a processor and the width of its registers."""
    wide = width == 512
    found = {"int8": "avx_vnni" in has or (wide and "avx512_vnni" in has)}
    found["bfloat16"] = wide and "avx512_bf16" in has
    return tuple(dtype for dtype, there in found.items() if there)


def _matrices(has: Collection[str]) -> tuple[str, ...]:
    known = {"int8": "amx_int8", "bfloat16": "amx_bf16"}
    return tuple(dtype for dtype, name in known.items() if {"amx_tile", name} <= set(has))


_V2 = ("cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3")
_V3 = (*_V2, "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave")
_V4 = (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
_LEVELS = {
    "x86-64-v1": Processor("x86-64", 128, False, False, False),
    "x86-64-v2": Processor("x86-64-v2", 128, False, False, True, _V2),
    "x86-64-v3": Processor("x86-64-v3", 256, True, True, True, _V3),
    "x86-64-v4": Processor("x86-64-v4", 512, True, True, True, _V4),
}
# LLVM's name → the level whose instructions it has, and what else a machine needs to be one.
_NAMED = {
    "x86-64": ("x86-64-v1", ""),
    "core2": ("x86-64-v1", "ssse3"),
    "nehalem": ("x86-64-v2", ""),
    "westmere": ("x86-64-v2", "pclmulqdq"),
    "sandybridge": ("x86-64-v2", "avx pclmulqdq xsave xsaveopt"),
    "ivybridge": ("x86-64-v2", "avx pclmulqdq xsave xsaveopt f16c fsgsbase rdrand"),
    "btver2": ("x86-64-v2", "avx aes bmi1 f16c movbe pclmulqdq sse4a xsave xsaveopt"),
    "haswell": ("x86-64-v3", "fsgsbase invpcid pclmulqdq rdrand xsaveopt"),
    "broadwell": ("x86-64-v3", "adx fsgsbase invpcid pclmulqdq rdrand rdseed xsaveopt"),
    "skylake": ("x86-64-v3", "adx aes clflushopt fsgsbase invpcid rdrand rdseed xsavec xsaves"),
    "znver1": ("x86-64-v3", "adx aes clflushopt clzero rdrand rdseed sha_ni sse4a xsavec xsaves"),
    "znver2": ("x86-64-v3", "adx aes clwb clzero rdrand rdseed rdpid sha_ni sse4a xsavec xsaves"),
    "znver3": ("x86-64-v3", "adx aes clwb clzero rdpid sha_ni sse4a vaes vpclmulqdq xsaves"),
    "skylake-avx512": ("x86-64-v4", "adx aes clflushopt clwb pku rdseed xsavec xsaves"),
    "cascadelake": ("x86-64-v4", "adx aes clflushopt clwb pku avx512_vnni xsavec xsaves"),
    "icelake-server": (
        "x86-64-v4",
        "avx512_bitalg avx512_vbmi2 avx512_vnni avx512_vpopcntdq avx512ifma avx512vbmi gfni sha_ni",
    ),
    "sapphirerapids": (
        "x86-64-v4",
        "amx_bf16 amx_int8 amx_tile avx512_bf16 avx512_fp16 avx512_vnni avx_vnni gfni",
    ),
    "znver4": ("x86-64-v4", "avx512_bf16 avx512_vbmi2 avx512_vnni avx512ifma gfni sha_ni sse4a"),
    "znver5": ("x86-64-v4", "avx512_bf16 avx512_vp2intersect avx_vnni gfni movdiri sha_ni sse4a"),
}
ARM64 = Processor("generic", 128, False, True, True, fence="")
_INTEL = ("skylake-avx512", "cascadelake", "icelake-server", "sapphirerapids")
_ARM = ("generic", "apple-m1", "apple-m2", "apple-m3", "cortex-a72", "cortex-a76", "neoverse-n1")


def _named(name: str, level: str, more: str) -> Processor:
    like = _LEVELS[level]
    needs = (*like.needs, *more.split())
    dots, matrices = _dots(needs, like.width), _matrices(needs)
    intel = name in _INTEL
    return replace(like, name=name, needs=needs, dots=dots, matrices=matrices, intel=intel)


PROCESSORS: dict[str, dict[str, Processor]] = {
    "x86_64": _LEVELS | {name: _named(name, *row) for name, row in _NAMED.items()},
    "aarch64": {name: replace(ARM64, name=name) for name in _ARM},
}


def known_processor(name: str, machine: str, has: Collection[str]) -> Processor:
    """A processor by its name, for code of a machine that has these features."""
    known = PROCESSORS.get(machine, {})
    if name not in known:
        choices = ", ".join(["native", *known])
        hint = did_you_mean(name, ["native", *known]) or f"known processors: {choices}"
        about = f"unknown processor {name!r} for {machine}"
        raise DeviceError("E6002", about, op=config.CPU.variable, help=hint)
    missing = [feature for feature in known[name].needs if feature not in has]
    if missing:
        about = f"this machine cannot run code for {name}: it lacks {', '.join(missing)}"
        hint = f"set {config.CPU.variable} to native, or to an older processor"
        raise DeviceError("E6002", about, op=config.CPU.variable, help=hint)
    return known[name]


def native_processor(machine: str, has: Collection[str], intel: bool = False) -> Processor:
    """The processor that the kernel of the system describes; LLVM adds its name and features."""
    if machine == "aarch64":
        return replace(ARM64, name="native")
    if machine != "x86_64" or not has:
        return replace(_LEVELS["x86-64-v1"], name="native")
    width = 512 if set(_V4) <= set(has) else 256 if "avx2" in has else 128
    half, fused, rounding = "f16c" in has and width > 128, "fma" in has, "sse4_1" in has
    dots, matrices = _dots(has, width), _matrices(has)
    return Processor(
        "native", width, half, fused, rounding, dots=dots, matrices=matrices, intel=intel
    )
