"""Fourier transforms as calls of cuFFT. What may live here: the call."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from adjoint.backends.cuda.workspaces import ready, workspace
from adjoint.runtime.cufft import Form, Transformer
from adjoint.stages import FourierTransform

if TYPE_CHECKING:
    from adjoint.backends.cuda.library_calls import Site


@lru_cache(maxsize=1024)
def _transformer(form: Form) -> Transformer:
    return Transformer(form)


def transform_call(call: FourierTransform, site: Site) -> Callable[[], None]:
    """What launches a transform on the slots of a run: its result, then its operand."""
    double = call.dtype.name in ("float64", "complex128")
    form = Form(call.form, double, call.lengths, call.batch, call.inverse)
    gpu, values = site.gpu, site.cells.values
    with ready(gpu):
        transformer = _transformer(form)
    room = workspace(site, transformer.workspace)
    launch = transformer.launcher(room.address if room else 0, gpu.stream)
    out, x = site.slots

    def run(keep: object = room) -> None:
        gpu.enter()
        launch(values[out], values[x])

    return run
