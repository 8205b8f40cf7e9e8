"""Levels of x86-64 that this machine has."""

from adjoint import DeviceError
from adjoint.runtime.processor import features, machine_kind
from adjoint.target import known_processor


def levels_with_tiles():
    """Those with fused multiply-adds, whose products are tiles."""
    for name in ("x86-64-v3", "x86-64-v4") if machine_kind() == "x86_64" else ():
        try:
            known_processor(name, "x86_64", features())
        except DeviceError:
            continue
        yield name
