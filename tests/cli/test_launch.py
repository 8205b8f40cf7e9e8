"""What `adjoint launch` tells mpirun, by the MPI that it belongs to."""

import pytest

from adjoint.cli.launch import _own_options

_VERSIONS = {
    "mpirun (Open MPI) 5.0.8": ["--oversubscribe", "--runtime-options"],
    "mpirun (Open MPI) 10.1.0": ["--oversubscribe", "--runtime-options"],
    "mpirun (Open MPI) 4.1.6": ["--oversubscribe"],
    "HYDRA build details:\n    Version: 4.3.0": [],
    "": [],
}


@pytest.mark.parametrize("text", _VERSIONS)
def test_options_are_those_of_the_version(tmp_path, text):
    """Open MPI 4 that goes on though a process was lost ends with 0, as if all were well."""
    mpirun = tmp_path / "mpirun"
    mpirun.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
    mpirun.chmod(0o755)
    given = [word for word in _own_options(str(mpirun)) if word.startswith("--")]
    assert [word for word in given if word != "--bind-to"] == _VERSIONS[text]
