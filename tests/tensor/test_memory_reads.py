"""Reading parts of values that are in memory: nothing is scheduled or compiled, and every part is
what NumPy takes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from adjoint import Tensor, counters, debug_nans, jit
from adjoint.engine.program_cache import PROGRAMS
from adjoint.errors import BoundsError, DeviceError, ScalarError
from adjoint.ir.dtype import dtypes

DEVICES = ("REF", "CPU", "C")


def realized(shape: tuple[int, ...], device: str = "CPU", dtype: Any = "float32") -> Any:
    values = np.arange(int(np.prod(shape))).reshape(shape) - 7
    return Tensor(values, device=device, dtype=dtype).realize()


def bounds(draw: random.Random, n: int) -> Any:
    """An int in range, or a slice of any bounds and steps."""
    if draw.random() < 0.4 and n:
        return draw.randrange(-n, n)
    ends = [draw.choice([None, draw.randrange(-n - 2, n + 3)]) for _ in range(2)]
    return slice(*ends, draw.choice([None, 1, 2, 3, -1, -2, -3]))


def basic_index(draw: random.Random, shape: tuple[int, ...]) -> Any:
    """A tuple of ints, slices, None and at most one Ellipsis."""
    parts = [bounds(draw, n) for n in shape[: draw.randrange(len(shape) + 1)]]
    if draw.random() < 0.3:
        tail = [bounds(draw, n) for n in shape[len(parts) :]] if draw.random() < 0.5 else []
        parts = [*parts, Ellipsis, *tail]
    if draw.random() < 0.3:
        parts.insert(draw.randrange(len(parts) + 1), None)
    return parts[0] if len(parts) == 1 and draw.random() < 0.5 else tuple(parts)


@pytest.mark.parametrize("device", DEVICES)
def test_thousands_of_parts_are_those_of_numpy_and_nothing_is_run(device: str) -> None:
    draw = random.Random(5)
    arrays = [np.arange(int(np.prod(s))).reshape(s) for s in ((7,), (5, 6), (3, 4, 5), (2, 0, 3))]
    tensors = [Tensor(a, device=device).realize() for a in arrays]
    before = len(PROGRAMS)
    with counters() as counted:
        for _ in range(1000):
            array, x = draw.choice(list(zip(arrays, tensors, strict=True)))
            for _ in range(draw.randrange(1, 4)):
                index = basic_index(draw, array.shape)
                array, x = array[index], x[index]
            assert np.array_equal(x.numpy(), array), index
            assert x.shape == np.shape(array)
            assert x.tolist() == np.asarray(array).tolist()
    assert (counted.runs, counted.kernels, counted.compiles) == (0, 0, 0)
    assert len(PROGRAMS) == before


MOVES = {
    "T": (lambda x: x.permute(1, 0), lambda a: a.T),
    "flip": (lambda x: x.flip(0, 1), lambda a: a[::-1, ::-1]),
    "expand": (lambda x: x.reshape(4, 1, 5).expand(4, 3, 5), lambda a: a[:, None].repeat(3, 1)),
    "reshape": (lambda x: x.reshape(5, 4), lambda a: a.reshape(5, 4)),
    "detach": (lambda x: x.detach(), lambda a: a),
    "nothing": (lambda x: x, lambda a: a),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", MOVES)
def test_views_of_views_are_read_from_memory(name: str, device: str) -> None:
    draw, (move, same) = random.Random(name), MOVES[name]
    x = realized((4, 5), device)
    array, seen = same(x.numpy()), move(x)
    with counters() as counted:
        for _ in range(200):
            index = basic_index(draw, array.shape)
            assert np.array_equal(seen[index].numpy(), array[index]), index
            assert seen[1][2:].tolist() == array[1][2:].tolist()
    assert counted.runs == 0


@pytest.mark.parametrize("dtype", dtypes.ALL if hasattr(dtypes, "ALL") else ("float32", "int8"))
def test_numbers_of_every_dtype_are_those_of_the_whole_list(dtype: Any) -> None:
    x = Tensor(np.array([[0, 1, 2], [3, 0, 1]]), dtype=dtype).realize()
    whole = x.tolist()
    for i in range(2):
        for j in range(3):
            found = x[i, j].item()
            assert found == whole[i][j]
            assert type(found) is type(whole[i][j])
            assert x[i][j].item() == found


def test_python_reads_elements_without_a_program() -> None:
    x = realized((3, 4), dtype="int32")
    with counters() as counted:
        assert (int(x[1, 2]), float(x[2, 3]), bool(x[1, 3]), complex(x[0, 0])) == (-1, 4.0, 0, -7)
        assert list(range(9))[x[2, 3]] == 4  # __index__
        assert f"{x[2, 3]:03d}" == "004"
        assert [row.tolist() for row in x] == x.tolist()
        assert [int(e) for e in x[1]] == x.tolist()[1]
    assert counted.runs == 0


def test_bools_are_read_as_bools() -> None:
    x = Tensor([True, False]).realize()
    assert bool(x[0]) is True
    assert x[1].item() is False


@pytest.mark.parametrize("bad", [4, -5])
def test_an_index_out_of_range_says_so_at_once(bad: int) -> None:
    with pytest.raises(BoundsError, match="E6001"):
        realized((4, 2))[bad]


def test_several_elements_are_no_number() -> None:
    with pytest.raises(ScalarError, match="E3007"):
        float(realized((4,))[1:3])
    assert float(realized((4,))[1:2]) == -6.0
    assert realized((4,))[None, 1:2].item() == -6.0


def test_a_donated_tensor_says_so_when_a_part_is_read() -> None:
    x = (realized((4,)) + 1).realize()
    jit(lambda x: x * 2, donate_argnums=(0,))(x).realize()
    with pytest.raises(DeviceError, match="donated"):
        float(x[1])


# ---- aliasing


def test_an_array_that_was_read_keeps_its_values() -> None:
    x = realized((4, 5))
    row = x[1].numpy()
    kept = row.copy()
    x += 1
    x[1] = 99
    x.realize()
    assert np.array_equal(row, kept)
    assert not row.flags.writeable


def test_a_view_shows_what_is_written_to_its_base_whenever_it_was_read() -> None:
    x = realized((6,))
    early, late = x[1:3], x[1:3]
    early.numpy()
    x += 1
    assert early.tolist() == late.tolist() == [-5.0, -4.0]
    x[2] = 50
    assert early.tolist() == late.tolist() == [-5.0, 50.0]
    late.assign(Tensor([1.0, 2.0]))
    assert x.tolist() == [-6.0, 1.0, 2.0, -3.0, -2.0, -1.0]


def test_a_view_written_before_it_was_ever_read_writes_to_its_base() -> None:
    x = realized((3, 4))
    for row in x:
        row += 1
    assert x.tolist() == (np.arange(12.0).reshape(3, 4) - 6).tolist()


def test_a_view_outlives_its_base() -> None:
    x = realized((6,))
    part = x[2:4]
    del x
    assert part.tolist() == [-5.0, -4.0]
    part += 1
    assert part.tolist() == [-4.0, -3.0]


def test_reading_a_part_twice_shows_one_memory() -> None:
    part = realized((6,))[2:4]
    assert np.shares_memory(part.numpy(), part.numpy())
    assert part.uop.op.name == "buffer"


def test_a_part_that_was_read_does_not_hold_the_whole() -> None:
    x = realized((1000,))
    part = x[2:4]
    part.numpy()
    assert part.uop.realized is None
    assert part.uop.arg.buffer.shape == (2,)


# ---- graphs


def test_a_part_knows_the_line_that_made_it() -> None:
    x = realized((6,))
    part = x[2:4]
    made = part + 1
    origin = made.uop.src[0].origin
    assert origin is not None
    assert origin.method == "getitem"
    assert origin.line == made.uop.origin.line - 1


def test_gradients_go_through_parts_of_realized_tensors() -> None:
    x = Tensor([1.0, 2.0, 3.0], requires_grad=True).realize()
    assert float(x[1]) == 2.0
    (x[1] * x[2]).backward()
    assert x.grad.tolist() == [0.0, 3.0, 2.0]


def test_a_part_can_be_marked() -> None:
    part = realized((4,))[1:3].requires_grad_()
    (part * part).sum().backward()
    assert part.grad.tolist() == [-12.0, -10.0]


def test_parts_inside_jit_are_traced() -> None:
    double = jit(lambda x, k: x[1] * 2 + k[0])
    k = realized((3,))
    for start in (0.0, 5.0, 9.0):
        x = Tensor([start, start + 1]).realize()
        assert float(double(x, k)) == 2 * (start + 1) - 7


def test_a_captured_part_that_is_written_is_seen_by_jit() -> None:
    k = realized((3,))
    part = k[1]
    add = jit(lambda x: x + part)
    x = Tensor([1.0]).realize()
    assert add(x).tolist() == [-5.0]
    k[1] = 3.0
    assert add(x).tolist() == [4.0]


def test_nans_of_parts_are_found() -> None:
    x = Tensor([1.0, float("nan")]).realize()
    with debug_nans(), pytest.raises(Exception, match="NaN"):
        float(x[1])


def test_memory_from_elsewhere_is_read_as_it_is_now() -> None:
    array = np.arange(4.0, dtype=np.float32)
    x = Tensor.from_dlpack(array)
    assert float(x[1]) == 1.0
    array[1] = 8
    assert float(x[1]) == 8.0


def test_a_long_part_is_copied_by_a_kernel() -> None:
    x = Tensor(np.arange(1 << 16)).realize()
    with counters() as counted:
        assert np.array_equal(x[::-1].numpy(), np.arange(1 << 16)[::-1])
    assert counted.kernels == 1


def test_a_device_that_is_not_there_computes_no_parts() -> None:
    x = Tensor([1.0, 2.0], device="CUDA")
    parts = (
        lambda: x[1],
        lambda: x.flip(0),
        lambda: x.reshape(1, 2),
        lambda: realized((3,)).to("CUDA")[1],
    )
    for part in parts:
        with pytest.raises(DeviceError, match="E6002"):
            part().realize()
    assert float(x[1]) == 2.0  # which is on the host
