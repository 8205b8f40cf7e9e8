"""A pytest plugin that gives einops' tests Adjoint's backend beside NumPy's, their reference."""

from __future__ import annotations

import os

import einops.tests
from einops import _backends

import adjoint

os.environ[einops.tests.ENVVAR_NAME] = "numpy"

theirs = einops.tests.collect_test_backends


class Checked(_backends.AbstractBackend):
    """What einops itself finds for a tensor, with the three calls that only its tests make."""

    framework_name = "adjoint-under-test"

    def __init__(self) -> None:
        self.found = _backends.get_backend(adjoint.Tensor([0.0]))

    def is_appropriate_type(self, tensor: object) -> bool:
        return False  # einops shall find the backend of the library, not this one

    def __getattribute__(self, name: str) -> object:
        if name in ("from_numpy", "to_numpy", "arange", "found", "__class__"):
            return object.__getattribute__(self, name)
        return getattr(self.found, name)

    def from_numpy(self, x: object) -> adjoint.Tensor:
        return adjoint.asarray(x)

    def to_numpy(self, x: adjoint.Tensor) -> object:
        return x.numpy()

    def arange(self, start: int, stop: int) -> adjoint.Tensor:
        return adjoint.arange(start, stop)


def collect_test_backends(
    symbolic: bool = False, layers: bool = False
) -> list[_backends.AbstractBackend]:
    ours = [] if symbolic or layers else [Checked()]
    return [*theirs(symbolic=symbolic, layers=layers), *ours]


einops.tests.collect_test_backends = collect_test_backends
