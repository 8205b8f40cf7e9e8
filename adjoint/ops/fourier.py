"""Fourier transforms, and the parts of complex numbers.

Three nodes do the work: DFT (complex to complex, over axes), RDFT (real to the first half of its
spectrum, over one axis) and its inverse IRDFT. Everything else is resizing, shifting and
conjugation around them. `norm` says which direction is divided by n: "backward" the inverse,
"forward" the transform, "ortho" both, by the root of n.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.errors import ArgumentError, DTypeError, ShapeError
from adjoint.ir.arg import Arg
from adjoint.ir.axes import axes_but
from adjoint.ir.batch import shifted
from adjoint.ir.derivative import Linear
from adjoint.ir.dtype import DType, as_dtype, complex_of, dtypes, real_of, to_float
from adjoint.ir.opdef import Bad, OpDef, define, derived
from adjoint.ir.uop import UOp
from adjoint.ops.complex_parts import part_dtype
from adjoint.ops.indexing import positions
from adjoint.ops.movement import checked_axes, checked_axis
from adjoint.ops.samples import given, real

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
NORMS = ("backward", "ortho", "forward")
_SWAPPED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
_Z = real(2, 3) + 1j * real(2, 3, seed=1)


# ---- the three transforms


def _checked_norm(op: str, norm: str | None) -> str:
    if norm is None:
        return "backward"
    if norm not in NORMS:
        raise ArgumentError("E2008", f"norm {norm!r} is not one of {', '.join(NORMS)}", op=op)
    return norm


class DftArg(Arg):
    axis: Shape
    inverse: bool = False
    norm: str = "backward"


def _dft(x: UOp, axis: Any = -1, inverse: bool = False, norm: str | None = "backward") -> UOp:
    axes = tuple(sorted(checked_axes("dft", axis, x)))
    arg = DftArg(axes, bool(inverse), _checked_norm("dft", norm))
    operand = x.cast(complex_of(x.dtype))
    return UOp(dft, (operand,), arg) if axes else operand


def _dft_type(src: tuple[UOp, ...], arg: DftArg) -> tuple[Shape, DType]:
    (x,) = src
    _check_length("dft", x, min((x.shape[a] for a in arg.axis), default=1))
    return x.shape, x.dtype


def _check_length(op: str, x: UOp, n: Any) -> None:
    if isinstance(n, bool) or not isinstance(n, int):
        raise ArgumentError("E2001", f"a length is an int, got {n!r}", op=op)
    if n < 1:
        raise ShapeError("E3006", f"a transform has a length of 1 or more, not {n}", op=op, x=x)


def _dft_reference(x: Any, axis: Any = -1, inverse: bool = False, norm: Any = "backward") -> Array:
    axes = (axis,) if isinstance(axis, int) else axis
    return (np.fft.ifftn if inverse else np.fft.fftn)(x, axes=axes, norm=norm)


dft = define(
    "dft",
    "The discrete Fourier transform along axes, or its inverse.",
    arg=DftArg,
    call=_dft,
    infer=_dft_type,
    batch=shifted("axis"),
    axes=axes_but("axis"),
    # A symmetric matrix: its own transpose.
    ad=Linear(lambda g, x, axis, inverse, norm: g.dft(axis, inverse, norm)),
    reference=_dft_reference,
    samples=given(
        (_Z,),
        (_Z, (0, 1), True),
        (real(2, 3), 0, False, "ortho"),
        (real(2, 3), (-1,), True, "forward"),
        (real(0, 3), 1),
    ),
    errors=(
        Bad("E3004", (_Z, 2), match="axis 2"),
        Bad("E3006", (real(0, 3), 0), match="length"),
        Bad("E2008", (_Z, 0, False, "unit"), match="norm"),
    ),
    kinds="fc",
)


class RdftArg(Arg):
    axis: int
    norm: str = "backward"


class IrdftArg(Arg):
    n: int
    axis: int
    norm: str = "backward"


def _rdft(x: UOp, axis: int = -1, norm: str | None = "backward") -> UOp:
    if x.dtype.is_complex:
        problem = f"dtype {x.dtype.name} is not allowed; allowed: float"
        raise DTypeError("E2005", problem, op="rdft", x=x, help="use fft for a complex tensor")
    number = _own_axis("rdft", axis, x)
    arg = RdftArg(number, _checked_norm("rdft", norm))
    return UOp(rdft, (x.cast(part_dtype(x.dtype)),), arg)


def _own_axis(op: str, axis: Any, x: UOp) -> int:
    if not x.shape:
        raise ShapeError("E3002", "a scalar has no axis to transform", op=op, x=x)
    return checked_axis(op, axis, len(x.shape), x)


def _rdft_type(src: tuple[UOp, ...], arg: RdftArg) -> tuple[Shape, DType]:
    (x,) = src
    _check_length("rdft", x, x.shape[arg.axis])
    return _resized(x.shape, arg.axis, x.shape[arg.axis] // 2 + 1), complex_of(x.dtype)


def _resized(shape: Shape, axis: int, n: int) -> Shape:
    return (*shape[:axis], n, *shape[axis + 1 :])


def _irdft(x: UOp, n: int, axis: int = -1, norm: str | None = "backward") -> UOp:
    number = _own_axis("irdft", axis, x)
    _check_length("irdft", x, n)
    arg = IrdftArg(n, number, _checked_norm("irdft", norm))
    return UOp(irdft, (x.cast(complex_of(x.dtype)),), arg)


def _irdft_type(src: tuple[UOp, ...], arg: IrdftArg) -> tuple[Shape, DType]:
    (x,) = src
    if x.shape[arg.axis] != arg.n // 2 + 1:
        problem = f"a real signal of length {arg.n} has {arg.n // 2 + 1} frequencies"
        raise ShapeError("E3003", problem, op="irdft", x=x)
    return _resized(x.shape, arg.axis, arg.n), real_of(x.dtype)


def _mirrored(x: UOp, axis: int, n: int, weight: float) -> UOp:
    """Frequencies that stand for two (all but 0 and n/2) times a weight."""
    place = positions(x.shape[axis], axis, len(x.shape), x.device)
    single = place.eq(0) | (place * 2).eq(n)
    return single.where(x, x * weight)


def _rdft_transpose(g: UOp, x: UOp, axis: int, norm: str) -> UOp:
    """Re Σ g[k] exp(-2πi jk/n): the inverse of conj(g), which counts each mirrored k twice."""
    n = x.shape[axis]
    return _mirrored(g.conj(), axis, n, 0.5).irdft(n, axis, _SWAPPED[norm])


def _irdft_transpose(g: UOp, x: UOp, n: int, axis: int, norm: str) -> UOp:
    return _mirrored(g.rdft(axis, _SWAPPED[norm]).conj(), axis, n, 2.0)


rdft = define(
    "rdft",
    "The discrete Fourier transform of a real tensor along one axis: frequencies 0 to n/2.",
    arg=RdftArg,
    call=_rdft,
    infer=_rdft_type,
    batch=shifted("axis"),
    axes=axes_but("axis"),
    ad=Linear(_rdft_transpose),
    reference=lambda x, axis=-1, norm="backward": np.fft.rfft(x, axis=axis, norm=norm),
    samples=given(
        (real(2, 5),),
        (real(4, 2), 0, "ortho"),
        (real(2, 3), -1, "forward"),
        (real(1), 0),
        (real(0, 3), 1),
    ),
    errors=(
        Bad("E2005", (_Z,), match="use fft"),
        Bad("E3004", (real(2, 3), 2), match="axis 2"),
        Bad("E3002", (real(),), match="scalar"),
        Bad("E3006", (real(0, 3), 0), match="length"),
    ),
    kinds="f",
)
irdft = define(
    "irdft",
    "The real tensor of length n whose frequencies 0 to n/2 along one axis are given; the "
    "imaginary parts of the first, and of n/2, are not read.",
    arg=IrdftArg,
    call=_irdft,
    infer=_irdft_type,
    batch=shifted("axis"),
    axes=axes_but("axis"),
    ad=Linear(_irdft_transpose),
    reference=lambda x, n, axis=-1, norm="backward": np.fft.irfft(x, n, axis, norm),
    samples=given(
        (_Z, 5),
        (_Z, 4, -1, "ortho"),
        (_Z, 2, 0, "forward"),
        (_Z[:1], 1, 0),
        (_Z[:0], 4, 1),
    ),
    errors=(
        Bad("E3003", (_Z, 6), match="4 frequencies"),
        Bad("E3006", (_Z, 0), match="length"),
        Bad("E3004", (_Z, 4, 2), match="axis 2"),
    ),
    kinds="c",
)


# ---- the public family


def _sized(op: str, x: UOp, axis: int, n: int | None) -> UOp:
    """The axis cut, or filled with zeros, to length n."""
    if n is None:
        return x
    _check_length(op, x, n)
    now = x.shape[axis]
    if n <= now:
        return x.shrink([(0, n if a == axis else s) for a, s in enumerate(x.shape)])
    after = [n - now if a == axis else 0 for a in range(len(x.shape))]
    return x.pad_constant([0] * len(x.shape), after)


def _axes(op: str, x: UOp, s: Any, dim: Any) -> tuple[Shape, tuple[int | None, ...]]:
    """The axes to transform and their lengths; without `dim`, as many last axes as lengths."""
    rank = len(x.shape)
    sizes = None if s is None else tuple(s) if isinstance(s, (tuple, list)) else (s,)
    if dim is None and sizes is not None and len(sizes) > rank:
        raise ShapeError("E3002", f"{len(sizes)} lengths for {rank} axes", op=op, x=x)
    axes = checked_axes(op, dim, x)
    if dim is None and sizes is not None:
        axes = axes[rank - len(sizes) :]
    if sizes is not None and len(sizes) != len(axes):
        raise ShapeError("E3002", f"{len(sizes)} lengths for {len(axes)} axes", op=op, x=x)
    return axes, tuple(None if n == -1 else n for n in sizes or (None,) * len(axes))


def _transform(op: str, x: UOp, s: Any, dim: Any, norm: Any, inverse: bool) -> UOp:
    axes, sizes = _axes(op, x, s, dim)
    for axis, n in zip(axes, sizes, strict=True):
        x = _sized(op, x, axis, n)
    return x.dft(axes, inverse, norm)


def _half_transform(op: str, x: UOp, s: Any, dim: Any, norm: Any) -> UOp:
    """The last axis as reals, then the others."""
    axes, sizes = _axes(op, x, s, dim)
    if not axes:
        raise ShapeError("E3002", "needs an axis to transform", op=op, x=x)
    for axis, n in zip(axes, sizes, strict=True):
        x = _sized(op, x, axis, n)
    return x.rdft(axes[-1], norm).dft(axes[:-1], False, norm)


def _half_inverse(op: str, x: UOp, s: Any, dim: Any, norm: Any) -> UOp:
    """The other axes, then the last one to reals. A real operand keeps its own precision."""
    axes, sizes = _axes(op, x, s, dim)
    if not axes:
        raise ShapeError("E3002", "needs an axis to transform", op=op, x=x)
    last, n = axes[-1], sizes[-1]
    n = 2 * (x.shape[last] - 1) if n is None else n
    _check_length(op, x, n)
    y = x
    for axis, size in zip(axes, (*sizes[:-1], n // 2 + 1), strict=True):
        y = _sized(op, y, axis, size)
    y = y.dft(axes[:-1], True, norm).irdft(n, last, norm)
    return y.cast(to_float(x.dtype)) if not x.dtype.is_complex else y


_ONE = given(
    (_Z,),
    (real(2, 4),),
    (_Z, 5, 0),
    (_Z, 2),
    (real(2, 4), {"dim": 0, "norm": "ortho"}),
    (_Z, None, 1, "forward"),
    (real(0, 3),),
)
_REAL_ONE = given(
    (real(2, 4),),
    (real(2, 5),),
    (real(4, 2), 5, 0),
    (real(2, 4), 3),
    (real(2, 4), {"dim": 0, "norm": "ortho"}),
    (real(2, 4), None, 1, "forward"),
    (real(0, 3),),
)
_ONE_ERRORS = (
    Bad("E3004", (real(2, 3), None, 2), match="axis 2"),
    Bad("E3006", (real(2, 3), 0), match="length"),
    Bad("E2008", (real(2, 3), None, 0, "unit"), match="norm"),
    Bad("E2001", (real(2, 3), 2.5), match="int"),
)
_REAL_ERRORS = (*_ONE_ERRORS, Bad("E2005", (_Z,), match="use fft"))


def _along(numpy: Any) -> Any:
    """NumPy's function with our name for the axis."""
    return lambda x, n=None, dim=-1, norm=None: numpy(x, n, dim, norm)


@derived(reference=_along(np.fft.fft), samples=_ONE, errors=_ONE_ERRORS, kinds="fc")
def fft(x: UOp, n: int | None = None, dim: int = -1, norm: str | None = None) -> UOp:
    """The discrete Fourier transform along `dim`, cut or zero-filled to length n first."""
    return _transform("fft", x, None if n is None else (n,), (dim,), norm, False)


@derived(reference=_along(np.fft.ifft), samples=_ONE, errors=_ONE_ERRORS, kinds="fc")
def ifft(x: UOp, n: int | None = None, dim: int = -1, norm: str | None = None) -> UOp:
    """The inverse of `fft`."""
    return _transform("ifft", x, None if n is None else (n,), (dim,), norm, True)


@derived(reference=_along(np.fft.rfft), samples=_REAL_ONE, errors=_REAL_ERRORS, kinds="f")
def rfft(x: UOp, n: int | None = None, dim: int = -1, norm: str | None = None) -> UOp:
    """The transform of a real tensor along `dim`: frequencies 0 to n/2."""
    return _half_transform("rfft", x, None if n is None else (n,), (dim,), norm)


@derived(reference=_along(np.fft.irfft), samples=_ONE, errors=_ONE_ERRORS, kinds="c")
def irfft(x: UOp, n: int | None = None, dim: int = -1, norm: str | None = None) -> UOp:
    """The inverse of `rfft`; n is the length of the result, even if not given."""
    return _half_inverse("irfft", x, None if n is None else (n,), (dim,), norm)


@derived(reference=_along(np.fft.hfft), samples=_ONE, errors=_ONE_ERRORS, kinds="c")
def hfft(x: UOp, n: int | None = None, dim: int = -1, norm: str | None = None) -> UOp:
    """The real transform of a signal of which one half is given, the other its conjugate."""
    way = _SWAPPED[_checked_norm("hfft", norm)]
    return _half_inverse("hfft", x.conj(), None if n is None else (n,), (dim,), way)


@derived(reference=_along(np.fft.ihfft), samples=_REAL_ONE, errors=_REAL_ERRORS, kinds="f")
def ihfft(x: UOp, n: int | None = None, dim: int = -1, norm: str | None = None) -> UOp:
    """The inverse of `hfft`."""
    way = _SWAPPED[_checked_norm("ihfft", norm)]
    return _half_transform("ihfft", x, None if n is None else (n,), (dim,), way).conj()


def _several(
    name: str,
    doc: str,
    build: Callable[..., UOp],
    dims: Any = None,
    samples: Any = None,
    kinds: str = "fc",
) -> OpDef:
    """A transform over several axes; `dims` are those it takes when none are named."""

    def call(x: UOp, s: Any = None, dim: Any = dims, norm: str | None = None) -> UOp:
        return build(name, x, s, dim, norm)

    def reference(x: Any, s: Any = None, dim: Any = dims, norm: Any = None) -> Any:
        axes = range(np.ndim(x) - len(s), np.ndim(x)) if dim is None and s is not None else dim
        return numpy(x, s, axes, norm)

    numpy = getattr(np.fft, name)
    call.__doc__ = doc
    errors = (
        Bad("E3004", (real(2, 3), None, (0, 2)), match="axis 2"),
        Bad("E3005", (real(2, 3), None, (0, 0)), match="duplicate"),
        Bad("E3002", (real(2, 3), (2, 2), (0,)), match="2 lengths for 1"),
        Bad("E3006", (real(2, 3), (2, 0)), match="length"),
    )
    maker = derived(name=name, reference=reference, samples=samples, errors=errors, kinds=kinds)
    return maker(call)


def _full(inverse: bool) -> Callable[..., UOp]:
    return lambda op, x, s, dim, norm: _transform(op, x, s, dim, norm, inverse)


_SEVERAL = given(
    (real(2, 3),),
    (real(2, 2, 4),),
    (real(2, 3), (3, 2)),
    (real(2, 3), (4, -1), (1, 0), "ortho"),
    (real(2, 3, 2), {"dim": (0, 1), "norm": "forward"}),
    (real(0, 2, 3), None, (1, 2)),
)
_SEVERAL_COMPLEX = given(*_SEVERAL(), (_Z,), (_Z, (3, 3), (1, 0)))
_HALF = "The inverse of `{}`; the last length is even if not given."
fft2 = _several("fft2", "The transform over two axes.", _full(False), (-2, -1), _SEVERAL_COMPLEX)
ifft2 = _several("ifft2", "The inverse of `fft2`.", _full(True), (-2, -1), _SEVERAL_COMPLEX)
fftn = _several(
    "fftn", "The transform over several axes, or all.", _full(False), None, _SEVERAL_COMPLEX
)
ifftn = _several("ifftn", "The inverse of `fftn`.", _full(True), None, _SEVERAL_COMPLEX)
rfft2 = _several(
    "rfft2",
    "The transform of a real tensor over two axes; the last has frequencies 0 to n/2.",
    _half_transform,
    (-2, -1),
    _SEVERAL,
    "f",
)
rfftn = _several(
    "rfftn",
    "The transform of a real tensor over several axes, or all; the last has frequencies 0 to n/2.",
    _half_transform,
    None,
    _SEVERAL,
    "f",
)
irfft2 = _several("irfft2", _HALF.format("rfft2"), _half_inverse, (-2, -1), _SEVERAL)
irfftn = _several("irfftn", _HALF.format("rfftn"), _half_inverse, None, _SEVERAL)


# ---- frequencies


def _frequencies(
    op: str, n: Any, d: float, dtype: Any, device: str | tuple[str, ...] | None, half: bool
) -> UOp:
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ShapeError("E3006", f"the length is an int of 1 or more, not {n!r}", op=op)
    place = positions(n // 2 + 1 if half else n, 0, 1, device)
    signed = place if half else (place < (n + 1) // 2).where(place, place - n)
    kind = dtypes.default_float if dtype is None else as_dtype(dtype)
    return (signed.cast(dtypes.float64) * (1.0 / (n * d))).cast(kind)


def _made(name: str, of: str, half: bool) -> OpDef:
    """A record without operands; its samples hold no array, so one dtype is enough to try."""

    def call(
        n: int, d: float = 1.0, dtype: Any = None, device: str | tuple[str, ...] | None = None
    ) -> UOp:
        return _frequencies(name, n, d, dtype, device, half)

    call.__doc__ = f"The frequencies of `{of}` of n samples at distance d."
    return derived(
        name=name,
        reference=getattr(np.fft, name),
        samples=given((5,), (6, 0.25), (1,)),
        errors=(Bad("E3006", (0,), match="length"), Bad("E3006", (2.5,), match="int")),
        kinds="b",
        method=False,
    )(call)


fftfreq, rfftfreq = _made("fftfreq", "fft", False), _made("rfftfreq", "rfft", True)


_SHIFTS = given((real(2, 5),), (real(2, 5), 1), (real(4, 3), (0, -1)), (_Z, -1), (real(0, 3),))
_SHIFT_ERRORS = (
    Bad("E3004", (real(2, 3), 2), match="axis 2"),
    Bad("E3005", (real(2, 3), (0, 0)), match="duplicate"),
)


def _shift(name: str, doc: str, forward: bool) -> OpDef:
    def call(x: UOp, dim: Any = None) -> UOp:
        axes = checked_axes(name, dim, x)
        halves = [x.shape[a] // 2 if forward else -(x.shape[a] // 2) for a in axes]
        return x.roll(halves, list(axes)) if axes else x

    call.__doc__ = doc
    numpy = getattr(np.fft, name)
    reference = lambda x, dim=None: numpy(x, dim)  # noqa: E731
    return derived(name=name, reference=reference, samples=_SHIFTS, errors=_SHIFT_ERRORS)(call)


fftshift = _shift("fftshift", "Frequency 0 moved to the middle of the axes, or of all.", True)
ifftshift = _shift("ifftshift", "The inverse of `fftshift`.", False)
