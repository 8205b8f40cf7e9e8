"""The 8-bit floats: they hold and move values, casts go in and out, and nothing computes."""

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

import adjoint
from adjoint import AdjointError, Tensor, dtypes, grad, jit, jvp, vmap
from adjoint.ir.dtype import ALL, STORAGE, promote
from adjoint.ir.opdef import OPS
from adjoint.ir.text import text

DEVICES = ["CPU", "REF"]
KINDS = ["float8_e4m3fn", "float8_e5m2"]
kinds = pytest.mark.parametrize("kind", KINDS)
devices = pytest.mark.parametrize("device", DEVICES)


def _every(kind):
    return np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, kind))


def _bytes(x):
    return np.array(x.numpy() if isinstance(x, Tensor) else x).view(np.uint8).tolist()


def _cast(array, kind):
    with np.errstate(all="ignore"):
        return array.astype(np.float32).astype(getattr(ml_dtypes, kind))


# ---- casts


@devices
@kinds
@pytest.mark.parametrize("target", ["float16", "bfloat16", "float32", "float64", *KINDS])
def test_every_value_becomes_every_float_as_ml_dtypes_says(target, kind, device):
    found = Tensor(_every(kind), device=device).cast(target).numpy()
    wanted = _every(kind)  # a cast to itself leaves every bit
    with np.errstate(all="ignore"):
        if target != kind:
            wanted = wanted.astype(np.float32).astype(dtypes.fields()[target].np)
    assert found.dtype == wanted.dtype
    width = f"u{found.dtype.itemsize}"
    assert np.array_equal(found.view(width), wanted.view(width))


@kinds
@pytest.mark.parametrize("target", [d.name for d in ALL])
def test_both_devices_give_the_same_bits_of_every_dtype(target, kind):
    on_cpu, on_ref = (Tensor(_every(kind), device=d).cast(target).numpy() for d in DEVICES)
    assert on_cpu.tobytes() == on_ref.tobytes()


@devices
@kinds
def test_a_float_saturates_into_an_integer_and_nan_is_0(kind, device):
    x = Tensor([np.nan, 300.0, -300.0, 2.6, -0.0], dtype=kind, device=device)
    assert x.cast("int8").tolist() == [0, 127, -128, 2, 0]
    assert x.cast("bool").tolist() == [True, True, True, True, False]


@devices
@kinds
def test_every_float16_is_rounded_to_nearest_even(kind, device):
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    assert _bytes(Tensor(halves, device=device).cast(kind)) == _bytes(_cast(halves, kind))


def _corners(kind):
    """Every value, every midpoint, and the float32s beside them; what is beyond; random bits."""
    values = np.unique(_every(kind).astype(np.float32))
    values = values[np.isfinite(values)]
    middles = (values[1:] + values[:-1]) / 2
    beside = [np.nextafter(middles, np.float32(s)) for s in (np.inf, -np.inf)]
    beyond = [448, 464, 480, 496, 500, 512, 57344, 61440, 65536, 1e30, np.inf, np.nan, 0.0, 1e-45]
    beyond += [np.nextafter(np.float32(v), np.float32(np.inf)) for v in (464, 61439, 61440)]
    ends = np.array([*beyond, *(-v for v in beyond)], np.float32)
    rng = np.random.default_rng(0)
    any_bits = rng.integers(0, 1 << 32, 20000, dtype=np.uint32).view(np.float32)
    return np.concatenate([values, middles, *beside, ends, any_bits])


@devices
@kinds
@pytest.mark.parametrize("source", ["float32", "float64", "bfloat16"])
def test_ties_overflow_and_subnormals_are_rounded_as_ml_dtypes_does(source, kind, device):
    with np.errstate(all="ignore"):
        x = _corners(kind).astype(dtypes.fields()[source].np)
    assert _bytes(Tensor(x, device=device).cast(kind)) == _bytes(_cast(x, kind))


@devices
@kinds
@pytest.mark.parametrize("source", ["int8", "uint8", "int64", "uint64", "bool"])
def test_integers_are_rounded_by_way_of_float32(source, kind, device):
    x = np.array([0, 1, 17, 100, 127, *((1 << 62, 12345678901) if "64" in source else ())])
    x = x.astype(source)
    assert _bytes(Tensor(x, device=device).cast(kind)) == _bytes(_cast(x, kind))


@devices
def test_overflow_is_infinite_where_there_is_an_infinity(device):
    x = Tensor([1e9, -1e9, np.inf, np.nan], device=device)
    assert str(x.cast("float8_e5m2").tolist()) == "[inf, -inf, inf, nan]"
    assert str(x.cast("float8_e4m3fn").tolist()) == "[nan, nan, nan, nan]"


@kinds
def test_complex_numbers_are_refused(kind):
    with pytest.raises(AdjointError, match="imaginary"):
        Tensor([1j]).cast(kind)


# ---- what only moves


MOVES = {
    "clone": lambda x: x.clone(),
    "transposed": lambda x: x.T.contiguous(),
    "slice": lambda x: x[:, ::-2],
    "rows": lambda x: x[Tensor([1, 0, 1], device=x.device)],
    "mask": lambda x: x[Tensor([[True, False, True], [False, True, True]], device=x.device)],
    "cat": lambda x: x.cat(x.flip(0), dim=1),
    "stack": lambda x: Tensor.stack([x, x]),
    "pad": lambda x: x.pad((1, 2), value=0.3),
    "where": lambda x: Tensor([True, False, True], device=x.device).where(x, -0.3),
    "where beyond": lambda x: Tensor([True, False, True], device=x.device).where(1e9, x),
    "masked_fill": lambda x: x.masked_fill(Tensor([True, False, True], device=x.device), np.nan),
    "gather": lambda x: x.gather(1, Tensor([[0, 2], [1, 1]], device=x.device)),
    "scatter": lambda x: x.scatter(1, Tensor([[2], [0]], device=x.device), x[:, 1:2]),
    "roll": lambda x: x.roll(1, 1),
    "repeat": lambda x: x.repeat(2, 2),
    "tril": lambda x: x.tril(),
    "unfold": lambda x: x.unfold(1, 2, 1),
    "broadcast": lambda x: x.reshape(2, 1, 3).expand(2, 4, 3).contiguous(),
    "jit": lambda x: jit(lambda a: a[1:].cat(a[:1]))(x),
    "vmap": lambda x: vmap(lambda a: a.flip(0))(x),
    "unique": lambda x: x.unique(),
    "empty": lambda x: x[:0].cat(x[:0]),
}


@kinds
@pytest.mark.parametrize("name", MOVES)
def test_moving_keeps_the_bits_on_both_devices(name, kind):
    raw = np.array([[0x3B, 0xC2, 0x2A], [0x7F, 0x80, 0x01]], np.uint8).view(_every(kind).dtype)
    found = [MOVES[name](Tensor(raw, device=device)) for device in DEVICES]
    assert found[0].dtype.name == found[1].dtype.name == kind
    assert _bytes(found[0]) == _bytes(found[1])
    wide = MOVES[name](Tensor(raw).cast("float32")).cast(kind)  # NaN has other bits there
    assert str(found[0].tolist()) == str(wide.tolist())


@devices
@kinds
def test_constants_are_rounded_when_they_are_made(kind, device):
    wanted = _cast(np.array(0.3), kind).item()
    made = (
        Tensor(0.3, dtype=kind, device=device),
        Tensor.full((2,), 0.3, dtype=kind, device=device)[0],
        Tensor([0.3], dtype=kind, device=device)[0],
        Tensor.zeros(2, dtype=kind, device=device).fill_(0.3)[1],
    )
    assert [x.item() for x in made] == [wanted] * 4
    assert [x.float().item() for x in made] == [wanted] * 4
    assert Tensor.arange(5, dtype=kind, device=device).tolist() == [0, 1, 2, 3, 4]


@devices
@kinds
def test_elements_are_set_in_place(kind, device):
    x = Tensor.zeros(2, 3, dtype=kind, device=device)
    x[0, 1] = 0.5
    x[1] = Tensor([1.0, 2.0, 3.0], dtype=kind, device=device)
    assert x.tolist() == [[0, 0.5, 0], [1, 2, 3]]


@kinds
def test_bits_are_read_as_other_dtypes_of_that_width(kind):
    x = Tensor(_every(kind))
    assert x.bitcast("uint8").tolist() == list(range(256))
    assert _bytes(x.bitcast("uint8").bitcast(kind)) == list(range(256))
    assert x.bitcast("uint16").shape == (128,)


# ---- what computes


@kinds
def test_every_op_computes_elsewhere_or_refuses_with_a_fix(kind):
    x = Tensor(np.ones((2, 3)), dtype=kind)
    for call in (
        lambda: x + x,
        lambda: x * 2,
        lambda: 1 - x,
        lambda: -x,
        lambda: x == x,
        lambda: x < 1,
        lambda: x @ x.T,
        lambda: x.sum(),
        lambda: x.max(1),
        lambda: x.cumsum(0),
        lambda: x.sort(),
        lambda: x.argmax(),
        lambda: x.exp(),
        lambda: x.isnan(),
        lambda: x.scatter_add(1, Tensor([[0], [1]]), x[:, :1]),
        lambda: Tensor.rand(2, dtype=kind),
        lambda: x.clone().add_(1),
        lambda: adjoint.check_grads(lambda a: a.float(), (x,)),
        lambda: jit(lambda a: a * 2)(x),
        lambda: vmap(lambda a: a.sum())(x),
    ):
        with pytest.raises(AdjointError, match=f"{kind} holds values") as found:
            call()
        assert found.value.code == "E2005"
        assert "float32" in found.value.help


def _narrowed(value, dtype):
    if isinstance(value, np.ndarray):
        return (
            Tensor(value.astype(np.float32), dtype=dtype).uop
            if value.dtype.kind == "f"
            else (Tensor(value).uop)
        )
    if isinstance(value, (list, tuple)):
        return type(value)(_narrowed(v, dtype) for v in value)
    return value


@pytest.mark.parametrize("name", sorted(n for n, r in OPS.items() if r.level != "kernel"))
def test_no_record_fails_without_a_code(name):
    record = OPS[name]
    for dtype in STORAGE:
        for sample in list(record.samples())[:2]:
            args = [_narrowed(a, dtype) for a in sample.args]
            kwargs = {k: _narrowed(v, dtype) for k, v in sample.kwargs.items()}
            try:
                record(*args, **kwargs)
            except AdjointError as error:
                assert error.code == "E2005", (name, error)  # noqa: PT017


@devices
@kinds
def test_beside_another_float_it_is_that_float(kind, device):
    x = Tensor([0.3, -2.2], dtype=kind, device=device)
    for other in ("float16", "bfloat16", "float32", "float64"):
        y = x + Tensor([1.0, 1.0], dtype=other, device=device)
        assert y.dtype.name == other
        assert y.tolist() == (x.cast(other) + 1).tolist()


def test_promotion_of_storage_dtypes():
    a, b = STORAGE
    assert promote(a, b) is promote(b, a) is dtypes.float32
    assert [promote(a, a), promote(b, b)] == [a, b]
    assert promote(a, dtypes.int64) is promote(dtypes.bool_, a) is a
    assert promote(a, dtypes.complex64) is promote(dtypes.complex64, b) is dtypes.complex64
    x, y = (Tensor([1.0], dtype=d) for d in STORAGE)
    assert x.cat(y).dtype is dtypes.float32


# ---- transforms


@kinds
def test_gradients_pass_through_casts_in_the_dtype_of_the_value(kind):
    weights = Tensor([3.0, 2.0, 1.1])
    found = grad(lambda a: (a.cast(kind).float() * weights).sum())(Tensor([1.0, 2.0, 3.0]))
    assert found.dtype is dtypes.float32
    assert found.tolist() == _cast(weights.numpy(), kind).astype(float).tolist()


@kinds
def test_two_uses_add_their_gradients_with_one_rounding(kind):
    def twice(a):
        b = a.cast(kind)
        return (b.float() * 2.0 + b.float() * 0.25).sum()

    assert grad(twice)(Tensor([1.0, 2.0])).tolist() == _cast(np.full(2, 2.25), kind).tolist()


@kinds
def test_gradients_of_values_that_are_held_have_their_dtype(kind):
    x = Tensor([1.0, -2.0], dtype=kind)
    y = grad(lambda a: (a.float() ** 2).sum())(x)
    assert (y.dtype.name, y.tolist()) == (kind, [2.0, -4.0])
    _, tangent = jvp(lambda a: a.cast(kind).float(), (Tensor([1.0]),), (Tensor([0.3]),))
    assert tangent.item() == _cast(np.array(0.3), kind).item()


@devices
@kinds
def test_compiled_functions_take_and_give_them(kind, device):
    double = jit(lambda a: (a.float() * 2).cast(kind))
    for values in ([1.0, 0.3], [2.0, -0.3]):
        x = Tensor(values, dtype=kind, device=device)
        assert double(x).tolist() == [2 * v for v in x.tolist()]
    each = vmap(lambda a: a.cast(kind).float())(Tensor([[0.3, 1.0]], device=device))
    assert each.tolist() == [_cast(np.array([0.3, 1.0]), kind).astype(float).tolist()]


@devices
@kinds
def test_loops_carry_them(kind, device):
    x = Tensor([1.0, 2.0, 3.0], dtype=kind, device=device)
    last, seen = adjoint.scan(lambda c, e: (e, c.float()), x[0], x)
    assert (last.dtype.name, last.item(), seen.tolist()) == (kind, 3.0, [1.0, 1.0, 2.0])


@kinds
def test_a_module_has_no_such_dtype_and_says_so(kind):
    x = Tensor([1.0], dtype=kind)
    for call in (lambda a: a.float(), lambda a: (a.float() * 2).cast(kind)):
        with pytest.raises(AdjointError, match=f"Core has no {kind}"):
            adjoint.capture(call, x)


@kinds
def test_the_text_of_a_graph_names_the_dtype(kind):
    node = OPS["input"]("x", (2,), kind)
    assert f": Tensor<{node.dtype.short}, [2]>" in text(node.cast("float32") * 2)


# ---- out and in


@devices
@kinds
def test_copies_pickles_and_capsules_hold_the_same_bits(kind, device):
    x = Tensor(_every(kind), device=device)
    for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), Tensor.from_dlpack(x), x.to("CPU")):
        assert y.dtype.name == kind
        assert _bytes(y) == list(range(256))
    assert bytes(x.data()) == bytes(range(256))


@kinds
def test_values_come_out_as_python_and_numpy_numbers(kind):
    x = Tensor([0.5, -2.0], dtype=kind)
    assert x.tolist() == [0.5, -2.0]
    assert x.numpy().dtype == np.asarray(x).dtype == getattr(ml_dtypes, kind)
    assert (x[0].item(), float(x[1]), int(x[1]), bool(x[0])) == (0.5, -2.0, -2, True)
    assert f"dtype={kind}" in repr(x)
    assert f"{x[0]:.2f}" == "0.50"


@kinds
def test_they_are_found_by_every_name(kind):
    dtype = dtypes.fields()[kind]
    short = {"float8_e4m3fn": "fp8e4m3", "float8_e5m2": "fp8e5m2"}[kind]
    assert getattr(dtypes, short) is getattr(dtypes, kind) is getattr(adjoint, kind) is dtype
    assert Tensor([1.0], dtype=short).dtype is Tensor([1.0], dtype=dtype.short).dtype is dtype
    assert Tensor(_every(kind)).dtype is dtype
    assert dtype in dtypes.floats
    assert dtype in dtypes.all
    assert dtype not in ALL
    assert dtypes.finfo(dtype) == {"fp8e4m3": (4, 3), "fp8e5m2": (5, 2)}[short]
    assert adjoint.finfo(dtype).max == {"fp8e4m3": 448.0, "fp8e5m2": 57344.0}[short]
    assert dtypes.max(dtype) == -dtypes.min(dtype) == {"fp8e4m3": 448, "fp8e5m2": np.inf}[short]
    assert pickle.loads(pickle.dumps(dtype)) is dtype


def test_they_are_no_default():
    for kind in KINDS:
        with pytest.raises(AdjointError, match="default_float is one of"):
            dtypes.default_float = kind
