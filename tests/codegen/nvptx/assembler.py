"""NVIDIA's assembler, which tests ask whether it takes a kernel; no GPU is needed."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest


def assembler():
    """The path of ptxas, if it is somewhere."""
    spec = importlib.util.find_spec("nvidia")
    places = (spec.submodule_search_locations or []) if spec is not None else []
    inside = [str(p) for place in places for p in Path(place).glob("*/bin/ptxas")]
    return shutil.which("ptxas") or (inside[0] if inside else None)


needs_assembler = pytest.mark.skipif(assembler() is None, reason="ptxas is not installed")


def assembled(ptx, tmp_path, arch="sm_90"):
    file = tmp_path / "kernel.ptx"
    file.write_text(ptx)
    command = [assembler(), f"-arch={arch}", "-v", "-o", "/dev/null", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)
