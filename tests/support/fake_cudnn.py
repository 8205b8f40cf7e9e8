"""cuDNN without a GPU: the same C functions in Python, on memory of the host.

Descriptors are what they were set to; a convolution is computed from the sizes, strides and padding
that they say, by NumPy, tap by tap in float64. Nothing of Adjoint's own convolutions is used. The
engines that are offered are of all kinds, those that may not be taken first.
"""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from itertools import count

import ml_dtypes
import numpy as np

from adjoint.backends.cuda import convolutions
from adjoint.runtime import cudnn
from tests.support.fake_gpu import launched

_TYPES = {0: np.dtype("f4"), 1: np.dtype("f8"), 2: np.dtype("f2"), 9: np.dtype(ml_dtypes.bfloat16)}
_VALUES = {
    **dict.fromkeys((0, 6, 15), ctypes.c_void_p),
    **dict.fromkeys((1, 7, 8, 11), ctypes.c_int),
    3: ctypes.c_int64,
    4: ctypes.c_float,
    5: ctypes.c_double,
}
# By name: their notes, and whether they can be made ready.
_ENGINES = {
    "varying": ({4, 9}, True),
    "unready": (set(), False),
    "winograd": ({5}, True),
    "tensor cores": ({0}, True),
    "plain": ({9}, True),
}
_DTYPE, _SIZES, _STRIDES, _NUMBER, _CONFIGURATIONS = 901, 902, 903, 906, 202


class FakeCudnn:
    """`calls` are the convolutions that were run, `engines` by which, `made` all descriptors that
    live."""

    def __init__(self, workspace=64):
        self.calls, self.made, self._numbers, self.workspace = [], {}, count(1), workspace
        self.plans, self.stream, self.engines = 0, None, set()

    def cudnnCreate(self, place):
        place._obj.value = next(self._numbers)
        return 0

    def cudnnSetStream(self, handle, stream):
        self.stream = stream.value
        return 0

    def cudnnBackendCreateDescriptor(self, kind, place):
        place._obj.value = next(self._numbers)
        self.made[place._obj.value] = {"kind": kind}
        return 0

    def cudnnBackendDestroyDescriptor(self, thing):
        self.made.pop(thing.value, None)
        return 0

    def cudnnBackendSetAttribute(self, thing, name, kind, length, place):
        array = (_VALUES[kind] * length).from_address(place.value)
        assert "finished" not in self.made[thing.value]
        self.made[thing.value][name] = list(array)
        return 0

    def cudnnBackendFinalize(self, thing):
        about = self.made[thing.value]
        about["finished"] = True
        if about["kind"] == 5:
            self.plans += 1
            return 0 if _ENGINES[self.made[about[401][0]]["engine"]][1] else 3000
        return 0

    def cudnnBackendGetAttribute(self, thing, name, kind, most, length, place):
        about = self.made[thing.value]
        if name == _CONFIGURATIONS:
            return self._configurations(about, most, length, place)
        if name == 300:
            engine = ctypes.c_void_p.from_address(place.value).value
            self.made[engine]["engine"] = about["engine"]
            values = [engine]
        elif name == 1303:
            values = sorted(_ENGINES[about["engine"]][0])
        elif name == 402:
            values = [self.workspace]
        (_VALUES[kind] * len(values)).from_address(place.value)[:] = values
        length._obj.value = len(values)
        return 0

    def _configurations(self, about, most, length, place):
        length._obj.value = len(_ENGINES)
        for i, engine in enumerate(_ENGINES if most else ()):
            way = ctypes.c_void_p.from_address(place.value + 8 * i).value
            self.made[way] |= {"engine": engine, "graph": about[201][0]}
        return 0

    def cudnnBackendExecute(self, handle, plan, pack):
        way, pack = self.made[self.made[plan.value][401][0]], self.made[pack.value]
        self.engines.add(way["engine"])
        assert self.stream
        assert bool(pack[1003][0]) is bool(self.workspace)
        operation = self.made[self.made[way["graph"]][801][0]]
        places = dict(zip(pack[1000], pack[1001], strict=True))
        name, first = {10: ("forward", 700), 12: ("picture", 706), 11: ("weights", 712)}[
            operation["kind"]
        ]
        assert (operation[first], operation[first + 1]) == ([1.0], [0.0])
        fields = {
            "forward": (704, 703, 705),
            "picture": (710, 709, 711),
            "weights": (716, 715, 717),
        }
        arrays = [self._array(operation[f][0], places) for f in fields[name]]
        how = self.made[operation[first + 2][0]]
        values = (*arrays, how[104], how[103], how[102])
        launched("convolution", self._compute, name, *values)
        return 0

    def _compute(self, name, *values):
        self.calls.append(name)
        _COMPUTE[name](*values)

    def _array(self, number, places):
        """The memory of a tensor, as its descriptor says."""
        about = self.made[number]
        (kind,), shape, strides, (name,) = (about[k] for k in (_DTYPE, _SIZES, _STRIDES, _NUMBER))
        dtype, at = _TYPES[kind], places[name]
        size = (1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))) * dtype.itemsize
        flat = np.frombuffer((ctypes.c_char * size).from_address(at), dtype)
        return np.lib.stride_tricks.as_strided(flat, shape, [s * dtype.itemsize for s in strides])


def _cut(x, axis, groups):
    wide = x.astype(np.float64)
    return wide.reshape(*x.shape[:axis], groups, -1, *x.shape[axis + 1 :])


def _margin(x, padding):
    return np.pad(x, [(0, 0)] * (x.ndim - len(padding)) + [(p, p) for p in padding])


def _met(taps, places, stride, dilation):
    """Each tap, and the places of the picture in its margin that it is multiplied with."""
    for tap in np.ndindex(*taps):
        starts = [t * d for t, d in zip(tap, dilation, strict=True)]
        rows = zip(starts, places, stride, strict=True)
        yield (..., *tap), (..., *(slice(a, a + n * s - s + 1, s) for a, n, s in rows))


def _forward(x, w, y, padding, stride, dilation):
    groups = x.shape[1] // w.shape[1]
    picture, weights = _margin(_cut(x, 1, groups), padding), _cut(w, 0, groups)
    out = np.zeros((y.shape[0], groups, y.shape[1] // groups, *y.shape[2:]))
    for tap, places in _met(w.shape[2:], y.shape[2:], stride, dilation):
        out += np.einsum("goc,bgc...->bgo...", weights[tap], picture[places])
    y[...] = out.reshape(y.shape)


def _picture(x, w, y, padding, stride, dilation):
    groups = x.shape[1] // w.shape[1]
    given, weights = _cut(y, 1, groups), _cut(w, 0, groups)
    out = _margin(np.zeros((x.shape[0], groups, w.shape[1], *x.shape[2:])), padding)
    for tap, places in _met(w.shape[2:], y.shape[2:], stride, dilation):
        out[places] += np.einsum("goc,bgo...->bgc...", weights[tap], given)
    inside = [slice(p, p + n) for p, n in zip(padding, x.shape[2:], strict=True)]
    x[...] = out[(..., *inside)].reshape(x.shape)


def _weights(x, w, y, padding, stride, dilation):
    groups = x.shape[1] // w.shape[1]
    picture, given = _margin(_cut(x, 1, groups), padding), _cut(y, 1, groups)
    out = np.zeros((groups, w.shape[0] // groups, *w.shape[1:]))
    for tap, places in _met(w.shape[2:], y.shape[2:], stride, dilation):
        flat = [v.reshape(*v.shape[:3], -1) for v in (given, picture[places])]
        out[tap] = np.einsum("bgon,bgcn->goc", *flat)
    w[...] = out.reshape(w.shape)


_COMPUTE = {"forward": _forward, "picture": _picture, "weights": _weights}


@contextmanager
def fake_cudnn(**options):
    """cuDNN is installed, as a fake one."""
    with installed(cudnn.CUDNN, FakeCudnn(**options)) as fake:
        _forget()
        try:
            yield fake
        finally:
            _forget()


@contextmanager
def installed(library, fake):
    """A library that is this object."""
    known, before = "loaded" in library.__dict__, library.__dict__.get("loaded")
    library.loaded = fake
    try:
        yield fake
    finally:
        del library.loaded
        if known:
            library.loaded = before


def _forget():
    cudnn._handle.cache_clear()
    convolutions._convolver.cache_clear()
