"""A pytest plugin that gives einops' tests the backend that einops finds for a tensor.

NumPy's backend stays beside it: the tests compare with it.
"""

from __future__ import annotations

import os

import einops.tests
from einops import _backends

import adjoint

os.environ[einops.tests.ENVVAR_NAME] = "numpy"

theirs = einops.tests.collect_test_backends


def collect_test_backends(
    symbolic: bool = False, layers: bool = False
) -> list[_backends.AbstractBackend]:
    ours = [] if symbolic or layers else [_backends.get_backend(adjoint.Tensor([0.0]))]
    return [*theirs(symbolic=symbolic, layers=layers), *ours]


einops.tests.collect_test_backends = collect_test_backends
