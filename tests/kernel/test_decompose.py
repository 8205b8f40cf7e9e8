"""Every elementwise op in basic ops: exact ones as the reference to the bit, functions in ulps.

math_points.json holds arguments and exact values (a sum of two float64), computed with mpmath by
bench/math_ulp.py.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from adjoint import Tensor
from adjoint.errors import AdjointError
from adjoint.ir.dtype import ALL, dtypes
from adjoint.ir.kernel_kind import pointwise_of
from adjoint.ir.opdef import OPS, attributes
from adjoint.kernel.decompose import decompose, decompose_node
from adjoint.ops.mathematics.nodes import compute_dtype, rounded
from tests.kernel.scalars import count, evaluate, leaf

POINTS = json.loads(Path(__file__).with_name("math_points.json").read_text(encoding="utf-8"))
NAMES = [
    name
    for name, record in OPS.items()
    if record.level == "both" and name not in ("const", "input", "complex")
]
REAL = [d for d in ALL if not d.is_complex]
FUNCTIONS = sorted({key.split()[0] for key in POINTS})
INEXACT = {*FUNCTIONS} - {"rsqrt"}
ULPS = {"acosh": 3, "erfinv": 4, "lgamma": 3}  # all others: 2
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 2.5, -1.5, 3.0, -2.0)
EDGES = (1e-45, -1e-45, 1e-40, 1e-310, 127.5, -128.5, 255.9, 65504.0, 65520.0, 1e38, 2.0**31)
MORE = (-(2.0**31), 2.0**63, 2.0**64, -(2.0**63), 1e300, 1 + 2**-11 + 2**-40, 1 + 2**-8 + 2**-40)


def _values(dtype, n=400, seed=0):
    rng = np.random.default_rng(seed)
    if dtype.is_bool:
        return rng.integers(0, 2, n).astype(bool)
    if dtype.is_int:
        ends = np.array([dtype.min, dtype.max, dtype.max - 1, 0, 1, 2, 7], dtype.np)
        ends = np.append(ends, np.array([-1, -2], dtype.np)) if dtype.kind == "i" else ends
        wide = rng.integers(dtype.min, dtype.max, n, dtype=dtype.np, endpoint=True)
        narrow = rng.integers(0, 70, n).astype(dtype.np)
        return np.choose(rng.integers(0, 3, n), [wide, narrow, rng.choice(ends, n)])
    chosen = rng.choice(np.array([*SPECIAL, *EDGES, *MORE]), n)
    scaled = np.exp(rng.uniform(-40, 40, n)) * rng.choice([-1, 1], n)
    picked = np.choose(rng.integers(0, 3, n), [chosen, scaled, rng.uniform(-4, 4, n)])
    with np.errstate(over="ignore"):
        return picked.astype(dtype.np)


def _node(name, dtype):
    """The op on inputs of the dtype, or None if it does not take them as they are."""
    inputs = [OPS["input"](f"x{i}", (), dtype) for i in range(2)]
    first = (OPS["input"]("c", (), dtypes.bool_),) if name == "where" else ()
    for operands in (inputs[:1], inputs):
        try:
            node = OPS[name](*first, *operands)
        except (AdjointError, TypeError):
            continue
        fits = node.op.name == name and all(s.dtype is dtype for s in node.src[len(first) :])
        return node if fits else None
    return None


def _compute(node, arrays):
    """The node's value by decomposition and by the reference."""
    leaves = tuple(leaf(i, compute_dtype(s.dtype)) for i, s in enumerate(node.src))
    given = [a.astype(k.dtype.np) for a, k in zip(arrays, leaves, strict=True)]
    out = decompose_node(node, leaves)
    assert out.dtype is compute_dtype(node.dtype)
    assert out.shape == ()
    got = evaluate(out, dict(zip(leaves, given, strict=True)))
    with np.errstate(all="ignore"):
        got = np.broadcast_to(got, arrays[0].shape).astype(node.dtype.np)
        operands = given if node.op.computes_in_f32 else arrays
        wanted = np.asarray(node.op.reference(*operands, **attributes(node)))
        return got, wanted.astype(node.dtype.np)


def _same_bits(got, wanted, signs=True):
    with np.errstate(all="ignore"):
        same = got == wanted
        if got.dtype.kind not in "biu":
            same |= np.isnan(got) & np.isnan(wanted)
            if signs:
                same &= (np.signbit(got) == np.signbit(wanted)) | np.isnan(wanted)
    return same


def test_every_elementwise_op_of_kernels_is_known():
    assert [name for name in NAMES if pointwise_of(OPS[name]) is None] == []


@pytest.mark.parametrize("name", [n for n in NAMES if n not in INEXACT and "cast" not in n])
def test_an_exact_op_gives_the_bits_of_the_reference(name):
    tried = 0
    for dtype in REAL:
        node = _node(name, dtype)
        if node is None:
            continue
        arrays = [_values(s.dtype, seed=i) for i, s in enumerate(node.src)]
        got, wanted = _compute(node, arrays)
        same = _same_bits(got, wanted, signs=name not in ("maximum", "minimum", "relu"))
        assert same.all(), f"{dtype}: {[(a[~same][:3]) for a in arrays]} {got[~same][:3]}"
        tried += 1
    assert tried


@pytest.mark.parametrize("source", REAL, ids=str)
@pytest.mark.parametrize("name", ["cast", "bitcast"])
def test_casts_give_the_bits_of_the_reference(name, source):
    for target in REAL:
        sized = source.itemsize == target.itemsize and not (source.is_bool or target.is_bool)
        if target is source or (name == "bitcast" and not sized):
            continue
        node = OPS[name](OPS["input"]("x", (), source), target)
        got, wanted = _compute(node, [_values(source)])
        assert _same_bits(got, wanted).all(), f"{source} to {target}"


@pytest.mark.parametrize("dtype", [d for d in REAL if d.is_int], ids=str)
def test_powers_of_integers_wrap_around(dtype):
    base, exponent = _values(dtype), _values(dtype, seed=1)
    exponent = np.where(exponent == dtype.min, 1, exponent).astype(dtype.np)  # NumPy refuses it
    got, wanted = _compute(_node("pow", dtype), [base, exponent])
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("value", [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_small_power_of_a_float_is_the_nearest_and_takes_no_logarithm(value, sign):
    x, exponent = leaf(0, dtypes.float32), sign * float(value)
    root = decompose(OPS["pow"], (x, OPS["const"](exponent, dtypes.float32)), None, x.dtype)
    assert not any(node.op.name in ("bitcast", "fma") for node in root.toposort())
    ends = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38, 1e-30]
    array = np.float32([*_values(dtypes.float32), *ends])
    with np.errstate(all="ignore"):
        wanted = np.power(array.astype(np.float64), np.full(array.shape, exponent))
        assert _same_bits(evaluate(root, {x: array}), wanted.astype(np.float32)).all()


@pytest.mark.parametrize("value", [0, 1, 2, 3, 5, -1, -2])
@pytest.mark.parametrize("dtype", [dtypes.int32, dtypes.float32, dtypes.float64], ids=str)
def test_a_power_with_a_known_exponent(dtype, value):
    x = leaf(0, dtype)
    known = OPS["const"](float(value) if dtype.is_float else value, dtype)
    array = _values(dtype)
    got = evaluate(decompose(OPS["pow"], (x, known), None, dtype), {x: array})
    got = np.broadcast_to(got, array.shape)
    with np.errstate(all="ignore"):
        wanted = OPS["pow"].reference(array, np.full_like(array, value))
    if not dtype.is_float:
        np.testing.assert_array_equal(got, wanted)
    else:
        np.testing.assert_allclose(got, wanted, rtol=4 * np.finfo(dtype.np).eps)
        assert _same_bits(np.sign(got), np.sign(wanted)).all()


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_within_ulps_of_the_exact_value(name, kind):
    rows = [[float.fromhex(v) for v in line.split()] for line in POINTS[f"{name} {kind}"]]
    *arrays, high, low = np.array(rows).T
    dtype = getattr(dtypes, kind)
    arrays = [a.astype(kind) for a in arrays]
    got, _ = _compute(_node(name, dtype), arrays)
    with np.errstate(all="ignore"):
        wanted = high.astype(kind)
        unit = np.spacing(np.minimum(np.abs(wanted), np.finfo(kind).max)).astype(np.float64)
        error = np.abs((got.astype(np.float64) - high) - low) / unit
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(got[~finite], wanted[~finite])
    assert error[finite].max() <= ULPS.get(name, 2), arrays[0][finite][error[finite].argmax()]


@pytest.mark.parametrize("dtype", [d for d in REAL if d.is_float], ids=str)
@pytest.mark.parametrize("name", sorted(INEXACT))
def test_a_function_of_special_values_is_what_the_reference_gives(name, dtype):
    with np.errstate(over="ignore"):
        points = np.array([*SPECIAL, *EDGES, *MORE]).astype(dtype.np)
    node = _node(name, dtype)
    arrays = [points] if len(node.src) == 1 else [g.ravel() for g in np.meshgrid(points, points)]
    got, wanted = _compute(node, arrays)
    unit = np.finfo(dtype.np).eps if dtype is not dtypes.bfloat16 else 2.0**-7
    with np.errstate(all="ignore"):
        got, wanted = got.astype(np.longdouble), wanted.astype(np.longdouble)
        least = 4 * unit if name == "lgamma" else 1e-44  # math.lgamma is rough near its zeros
        near = np.abs(got - wanted) <= 4 * unit * np.abs(wanted) + least
    right = _same_bits(got, wanted) | (near & (np.signbit(got) == np.signbit(wanted)))
    assert right.all(), [(a[~right][:4]) for a in (*arrays, got, wanted)]


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64], ids=str)
@pytest.mark.parametrize("name", ["fmod", "mod", "floordiv"])
def test_remainders_are_exact_however_far_apart_the_numbers_are(name, dtype):
    rng = np.random.default_rng(3)
    kind = np.uint32 if dtype is dtypes.float32 else np.uint64
    most = np.iinfo(kind).max
    arrays = [rng.integers(0, most, 3000, dtype=kind).view(dtype.np) for _ in range(2)]
    got, wanted = _compute(_node(name, dtype), arrays)
    assert _same_bits(got, wanted).all()


def test_narrow_floats_are_held_as_float32_and_rounded():
    assert compute_dtype(dtypes.float16) is compute_dtype(dtypes.bfloat16) is dtypes.float32
    assert compute_dtype(dtypes.float64) is dtypes.float64
    x = leaf(0, dtypes.float32)
    assert rounded(x, dtypes.float32) is x
    value = evaluate(rounded(x, dtypes.float16), {x: np.array([1 / 3], np.float32)})
    assert value == np.float32(np.float16(1 / 3))


LARGEST = {"exp": 25, "tanh": 40, "sigmoid": 30, "log": 40, "erf": 45, "sin": 60, "cos": 60}


@pytest.mark.parametrize("name", LARGEST)
def test_the_fast_functions_stay_small(name):
    x = leaf(0, dtypes.float32)
    assert count(decompose(OPS[name], (x,), None, dtypes.float32), (x,)) <= LARGEST[name]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exp_of_what_is_known_to_be_below_zero_has_the_bits_of_exp(dtype):
    rng = np.random.default_rng(0)
    array = rng.standard_normal((64, 300)) * np.exp2(rng.integers(-20, 8, (64, 300)))
    array[0, 0], array[1, 1], array[2, 2], array[3] = np.inf, -np.inf, np.nan, 0
    x = Tensor(array.astype(dtype))
    less = (x - x.max(-1, keepdim=True)).realize()
    logs = (less - less.exp().sum(-1, keepdim=True).log()).realize()
    for wanted, found in (
        (less.exp(), (x - x.max(-1, keepdim=True)).exp()),
        (logs.exp(), x.log_softmax(-1).exp()),
    ):
        assert np.array_equal(wanted.numpy(), found.numpy(), equal_nan=True)
