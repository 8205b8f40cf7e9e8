"""Every record's kernels in CUDA C++, compiled by nvcc, or by NVRTC where there is only that.

No GPU is needed: what is checked is that the compiler takes the text. Contraction is off, as it is
wherever kernels are compiled.
"""

import ctypes
import ctypes.util
import importlib.util
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from adjoint.codegen.c.render import LANGUAGES, render_all
from tests.codegen.c.choice import PARTS, every, few
from tests.codegen.c.constants import KINDS, divisions, graph
from tests.codegen.c.corpus import corpus_of
from tests.codegen.c.names import programs
from tests.codegen.c.random_graph import RandomGraph

OPTIONS = ("-fmad=false", "-prec-div=true", "-prec-sqrt=true", "-ftz=false")
NONE = "no CUDA compiler: nvcc is not on the path and NVRTC is not installed"


def nvrtc():
    """NVRTC of the system or of the package nvidia-cuda-nvrtc; None where there is none."""
    names = [ctypes.util.find_library("nvrtc")]
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations if spec else ():
        names += map(str, sorted(Path(folder).glob("*/lib/libnvrtc.so*")))
    for name in filter(None, names):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def with_nvcc(path, text, folder):
    source = folder / "kernels.cu"
    source.write_text(text)
    command = [path, "-ptx", "-w", *OPTIONS, "-o", str(folder / "kernels.ptx"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr + done.stdout if done.returncode else ""


def with_nvrtc(library, text):
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None)
    options = [o.replace("-", "--", 1).encode() for o in OPTIONS]
    given = (ctypes.c_char_p * len(options))(*options)
    failed = library.nvrtcCompileProgram(program, len(options), given)
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value + 1)
    library.nvrtcGetProgramLog(program, log)
    return log.value.decode() if failed else ""


def check(kernels, folder, renamed=True):
    named = [replace(p, name=f"k{i}") if renamed else p for i, p in enumerate(kernels)]
    text = render_all(named, LANGUAGES["cuda"])[0].text
    nvcc = shutil.which("nvcc")
    library = None if nvcc else nvrtc()
    if nvcc is None and library is None:
        pytest.skip(NONE)
    problem = with_nvcc(nvcc, text, folder) if nvcc else with_nvrtc(library, text)
    assert not problem, problem[:4000]


@pytest.mark.targets
@pytest.mark.parametrize("part", range(PARTS))
def test_kernels_compile_as_cuda(part, tmp_path):
    if shutil.which("nvcc") is None and nvrtc() is None:
        pytest.skip(NONE)
    check([sample.program for sample in corpus_of(every(part))], tmp_path)


@pytest.mark.targets
def test_names_compile_as_cuda(tmp_path):
    check(programs(), tmp_path, renamed=False)


@pytest.mark.targets
def test_constants_compile_as_cuda(tmp_path):
    graphs = [*map(graph, KINDS), *(divisions(k) for k in KINDS if k.is_int)]
    check([g.program() for g in graphs], tmp_path)


@pytest.mark.targets
def test_hand_built_kernels_compile_as_cuda(tmp_path):
    check([RandomGraph(seed).g.program("kernel") for seed in range(200)], tmp_path)


def test_some_kernels_compile_as_cuda(tmp_path):
    if shutil.which("nvcc") is None and nvrtc() is None:
        pytest.skip(NONE)
    check([sample.program for sample in corpus_of(few(3, 12))], tmp_path)
