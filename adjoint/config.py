"""Every environment switch of Adjoint, typed, in one table.

What may live here: the table and its reader. `os.environ` is read nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from adjoint.errors import ArgumentError

environment, read_variable = os.environ, os.getenv  # for jit, which guards what functions read


@dataclass(frozen=True, slots=True)
class Option:
    """One switch: `ADJOINT_<name>`, how to read it, what it is when unset, what it does."""

    name: str
    read: Callable[[str], Any]
    default: Any
    doc: str

    @property
    def variable(self) -> str:
        return f"ADJOINT_{self.name}"

    def value(self) -> Any:
        """What the variable says, or the default; E2008 if it says nothing that is allowed."""
        text = os.environ.get(self.variable)
        if text is None:
            return self.default
        try:
            return self.read(text)
        except ValueError as error:
            problem = f"{self.variable}={text!r}: {error}"
            fix = f"{self.variable}: {self.doc}; unset it for the default"
            raise ArgumentError("E2008", problem, help=fix) from None

    def given(self) -> str | None:
        """The text of the variable, if it is set."""
        return os.environ.get(self.variable)

    def set(self, text: str) -> None:
        """Set the variable, for this process and those it starts."""
        os.environ[self.variable] = text


def variables() -> list[str]:
    """The variables that are set and begin like a switch."""
    return sorted(name for name in os.environ if name.startswith("ADJOINT_"))


_WORDS = {"0": False, "1": True, "false": False, "true": True, "off": False, "on": True}


def _flag(text: str, *more: str) -> Any:
    """Whether a word says yes or no, or which other word it is."""
    word = text.lower()
    if word not in _WORDS and word not in more:
        raise ValueError(f"expected one of {', '.join((*_WORDS, *more))}")
    return _WORDS.get(word, word)


def _number(text: str, kind: type, least: float, expected: str) -> Any:
    try:
        number = kind(text)
    except ValueError:
        number = None
    if number is None or not number >= least:
        raise ValueError(f"expected {expected}")
    return number


def _count(text: str) -> int:
    count: int = _number(text, int, 1, "a whole number of at least 1")
    return count


def _size(text: str) -> int:
    """Bytes: a number, or one with K, M or G behind it."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    unit = units.get(text[-1:].upper(), 1)
    digits = text if unit == 1 else text[:-1]
    size: int = _number(digits, int, 0, "a number of bytes, such as 512M") * unit
    return size


def _least_size(text: str) -> int:
    least: int = _number(text, int, -1, "a number of bytes, or -1")
    return least


def _seconds(text: str) -> float:
    seconds: float = _number(text, float, 0, "a number of seconds above 0")
    if not seconds:
        raise ValueError("expected a number of seconds above 0")
    return seconds


def _order(text: str) -> str:
    if text not in ("tree", "any"):
        raise ValueError("expected tree or any")
    return text


def _nans(text: str) -> bool | str:
    asked: bool | str = _flag(text, "inf")
    return asked


def _tuning(text: str) -> str:
    asked = _flag(text, "shapes")
    return asked if isinstance(asked, str) else "all" if asked else ""


def _loader(text: str) -> str:
    if text not in ("auto", "elf", "llvm"):
        raise ValueError("expected auto, elf or llvm")
    return text


_FRONT_PASSES = ("expand", "simplify", "legalise", "fuse", "strategy")
_BACK_PASSES = ("lower", "optimise", "plan", "render", "compile", "bind")
_STAGES = ("graph", *_FRONT_PASSES, *_BACK_PASSES, "schedule", "loops", "source", "all")


def _stages(text: str) -> tuple[str, ...]:
    """Names of passes and stages, with commas or bars between them."""
    names = tuple(part for part in text.replace("|", ",").split(",") if part)
    unknown = [name for name in names if name not in _STAGES]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not one of {', '.join(_STAGES)}")
    return names


def user_cache() -> str:
    """The directory of this user for what can be made again."""
    return os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")


def plain_terminal() -> bool:
    """Whether the terminal says that it can do no more than print lines."""
    return os.environ.get("TERM", "") == "dumb"


def colours_wanted() -> bool:
    """Whether no variable asks for text without colours (https://no-color.org)."""
    return not os.environ.get("NO_COLOR")


def columns_wanted() -> int | None:
    """The width of lines that the environment asks for."""
    text = os.environ.get("COLUMNS", "")
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else None


DEVICE = Option("DEVICE", str, "CPU", "the default device")
VERIFY = Option("VERIFY", _flag, False, "check graphs, and what every pass makes (0 or 1)")
ORIGINS = Option("ORIGINS", _flag, True, "record the user's line of every node (0 or 1)")
THREADS = Option("THREADS", _count, None, "threads that compute (default: the cores there are)")
AT_ONCE = Option(
    "AT_ONCE",
    _flag,
    True,
    "compute small graphs at once, and compile them when they have come often (0 or 1)",
)
CACHE = Option("CACHE", _flag, True, "keep compiled programs on disk (0 or 1)")
CACHE_DIR = Option("CACHE_DIR", str, None, "where compiled programs are kept")
CACHE_LIMIT = Option("CACHE_LIMIT", _size, 512 << 20, "bytes of compiled programs kept on disk")
MEMORY_CACHE = Option("MEMORY_CACHE", _size, 4 << 30, "bytes of freed memory kept for new buffers")
SHOW = Option("SHOW", _stages, (), f"print what passes make: {', '.join(_STAGES)}")
DEBUG_NANS = Option(
    "DEBUG_NANS", _nans, False, "check every result for NaN (0, 1, or inf: for infinities too)"
)
CPU = Option(
    "CPU", str, "native", "the processor that code is for: native, x86-64-v1 to v4, or LLVM's name"
)
LOADER = Option("LOADER", _loader, "auto", "what places compiled code: auto, elf (Adjoint) or llvm")
TUNE = Option(
    "TUNE", _tuning, "", "measure how products are soonest done (0, 1, or shapes: of tiles alone)"
)
NATIVE_BFLOAT16 = Option(
    "NATIVE_BFLOAT16", _flag, False, "products of bfloat16 by the processor's own order (0 or 1)"
)
TF32 = Option("TF32", _flag, False, "products of float32 on a GPU in tf32 (0 or 1)")
DETERMINISTIC = Option(
    "DETERMINISTIC",
    _flag,
    True,
    "products and sums by index on a GPU have the same bits from run to run (0 or 1)",
)
CPU_DEVICES = Option("CPU_DEVICES", _count, None, "how many CPU devices there are (default: any)")
SILENCE = Option(
    "SILENCE", _seconds, 20.0, "seconds after which a process that sends no heartbeat is given up"
)
COLLECTIVE_LIMIT = Option(
    "COLLECTIVE_LIMIT", _seconds, 1800.0, "seconds that a process waits for others that are alive"
)
ALL_REDUCE = Option(
    "ALL_REDUCE", _order, "tree", "the order in which members are joined: tree, or any (MPI's own)"
)
OVERLAP = Option(
    "OVERLAP",
    _least_size,
    1 << 16,
    "bytes from which a collective runs beside kernels (-1: none does)",
)

_MPI_RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK")
_MPI_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE")
_MPI_SIZES_HERE = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE")


def started_by_mpi() -> bool:
    """Whether a program of MPI (mpirun, srun) started this process."""
    return any(name in os.environ for name in _MPI_RANKS)


def processes_started() -> int:
    """How many processes what started this one says there are; 1 if it does not say."""
    return max(int(os.environ.get(name, "1")) for name in _MPI_SIZES)


def processes_here() -> int:
    """How many of them it says are on this machine; 0 if it does not say."""
    return max(int(os.environ.get(name, "0")) for name in _MPI_SIZES_HERE)


def mpi_rank_in(variables: Mapping[str, str]) -> int | None:
    """The number that MPI gave to the process with these variables; None if it gave none."""
    found = (variables[name] for name in _MPI_RANKS if name in variables)
    return next((int(text) for text in found if text.isdecimal()), None)


def mpi_rank() -> int:
    """The number of this process among all that MPI started."""
    return mpi_rank_in(os.environ) or 0


def allow_mpi_as_root() -> None:
    """Let Open MPI start processes for root, as in a container."""
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        os.environ[name] = "1"


OPTIONS: tuple[Option, ...] = (
    DEVICE,
    VERIFY,
    ORIGINS,
    THREADS,
    AT_ONCE,
    CACHE,
    CACHE_DIR,
    CACHE_LIMIT,
    MEMORY_CACHE,
    SHOW,
    DEBUG_NANS,
    CPU,
    LOADER,
    CPU_DEVICES,
    TUNE,
    NATIVE_BFLOAT16,
    TF32,
    DETERMINISTIC,
    SILENCE,
    COLLECTIVE_LIMIT,
    ALL_REDUCE,
    OVERLAP,
)
