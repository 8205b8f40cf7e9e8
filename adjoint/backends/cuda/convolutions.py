"""Convolutions as calls of cuDNN, which supports pictures with two or three spatial axes.

What may live here: the call. What may not: the library's interface (`runtime/cudnn.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from adjoint.backends.cuda.workspaces import ready, workspace
from adjoint.runtime.cudnn import Convolver, Form
from adjoint.stages import Convolution

if TYPE_CHECKING:
    from adjoint.backends.cuda.library_calls import Site

Shape = tuple[int, ...]
# What the slots of a call are: the result, then the operands.
_SLOTS = {
    "forward": ("out", "picture", "weights"),
    "picture": ("picture", "out", "weights"),
    "weights": ("weights", "picture", "out"),
}


@lru_cache(maxsize=4096)
def _convolver(form: Form) -> Convolver:
    return Convolver(form)


def _form(call: Convolution) -> Form:
    shapes = [_shape(s) for s in (call.picture, call.weights, call.out)]
    rows = zip((1, 0, 1), (call.stride, call.padding, call.dilation), strict=True)
    stride, padding, dilation = (_row(values, none) for none, values in rows)
    how = (call.channels_last, call.tf32, call.ordered)
    rest = (stride, padding, dilation, call.groups, *how)
    return Form(call.dtype.name, call.kind, shapes[0], shapes[1], shapes[2], *rest)


def _shape(shape: Shape) -> Shape:
    """With a further axis of one place, if there is one axis of places only."""
    return shape if len(shape) > 3 else (*shape[:2], 1, *shape[2:])


def _row(values: Shape, none: int) -> Shape:
    return values if len(values) > 1 else (none, *values)


def convolution_call(call: Convolution, site: Site) -> Callable[[], None]:
    """What launches a convolution on the slots of a run: its result, then its operands."""
    gpu, values = site.gpu, site.cells.values
    with ready(gpu):
        convolver = _convolver(_form(call))
    room = workspace(site, convolver.workspace)
    places = dict(zip(_SLOTS[call.kind], site.slots, strict=True))
    picture, weights, out = (places[name] for name in ("picture", "weights", "out"))
    launch = convolver.launcher(room.address if room else 0, gpu.stream)

    def run(keep: object = room) -> None:
        gpu.enter()
        launch(values[picture], values[weights], values[out])

    return run
