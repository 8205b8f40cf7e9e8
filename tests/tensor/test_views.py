"""Views that write through: every view, every write, chains of two, against NumPy doing the same.

Each case runs lazily, with `realize` in between, and inside `jit` with the base as an argument, as
captured state, and with the view itself captured.
"""

import itertools
import sys
import threading
import weakref

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, counters, jit, nn, no_grad
from adjoint.engine.program_cache import PROGRAMS
from adjoint.ir.values import is_known

X = np.arange(24, dtype=np.float32).reshape(4, 6)

# name: (of a NumPy array, of a tensor); every one takes and gives any rank from 1 up
VIEWS = {
    "int": (lambda a: a[1:][0:2], lambda t: t[1:][0:2]),
    "negative": (lambda a: a[-3:-1], lambda t: t[-3:-1]),
    "step": (lambda a: a[::2], lambda t: t[::2]),
    "backwards": (lambda a: a[::-1], lambda t: t[::-1]),
    "backwards by 2": (lambda a: a[..., ::-2], lambda t: t[..., ::-2]),
    "None": (lambda a: a[None, ..., 1:], lambda t: t[None, ..., 1:]),
    "Ellipsis": (lambda a: a[...], lambda t: t[...]),
    "whole": (lambda a: a[:], lambda t: t[:]),
    "reshape": (lambda a: a.reshape(2, -1), lambda t: t.reshape(2, -1)),
    "view": (lambda a: a.reshape(-1, 2), lambda t: t.view(-1, 2)),
    "flatten": (lambda a: a.reshape(-1), lambda t: t.flatten()),
    "unflatten": (
        lambda a: a.reshape(2, -1, *a.shape[1:]),
        lambda t: t.unflatten(0, (2, -1)),
    ),
    "T": (lambda a: a.T if a.ndim == 2 else a, lambda t: t.T if t.ndim == 2 else t[...]),
    "permute": (
        lambda a: a.transpose(tuple(range(a.ndim))[::-1]),
        lambda t: t.permute(*range(t.ndim)[::-1]),
    ),
    "swapaxes": (lambda a: a.swapaxes(0, -1), lambda t: t.swapaxes(0, -1)),
    "transpose": (lambda a: a.swapaxes(-1, 0), lambda t: t.transpose(-1, 0)),
    "movedim": (lambda a: np.moveaxis(a, 0, -1), lambda t: t.movedim(0, -1)),
    "flip": (lambda a: np.flip(a, 0), lambda t: t.flip(0)),
    "flipud": (np.flipud, lambda t: t.flipud()),
    "unsqueeze": (lambda a: np.expand_dims(a, 1), lambda t: t.unsqueeze(1)),
    "squeeze": (lambda a: a[None].squeeze(0), lambda t: t.unsqueeze(0).squeeze(0)),
    "narrow": (lambda a: a[1:2], lambda t: t.narrow(0, 1, 1)),
    "shrink": (
        lambda a: a[(slice(1, 2), *[slice(None)] * (a.ndim - 1))],
        lambda t: t.shrink(((1, 2), *[None] * (t.ndim - 1))),
    ),
    "split": (lambda a: a[2:4], lambda t: t.split(2)[1]),
    "chunk": (lambda a: np.array_split(a, 2)[0], lambda t: t.chunk(2)[0]),
    "tensor_split": (lambda a: np.split(a, [1])[1], lambda t: t.tensor_split([1])[1]),
    "unbind": (lambda a: a[1, None], lambda t: t.unbind(0)[1].unsqueeze(0)),
    "iter": (lambda a: list(a)[1][None], lambda t: list(t)[1].unsqueeze(0)),
    "diagonal": (
        lambda a: np.einsum("ii->i", a[:2, :2]) if a.ndim == 2 and a.shape[1] > 1 else a,
        lambda t: t[:2, :2].diagonal() if t.ndim == 2 and t.shape[1] > 1 else t[...],
    ),
    "rot90": (
        lambda a: np.rot90(a) if a.ndim > 1 else a,
        lambda t: t.rot90() if t.ndim > 1 else t[...],
    ),
    "rearrange": (lambda a: np.moveaxis(a, 0, -1), lambda t: t.rearrange("a ... -> ... a")),
    "detach": (lambda a: a, lambda t: t.detach()),
    "atleast_2d": (np.atleast_2d, lambda t: t.atleast_2d()),
    "adjoint.reshape": (lambda a: a.reshape(-1), lambda t: adjoint.reshape(t, (-1,))),
    "adjoint.flip": (lambda a: np.flip(a, 0), lambda t: adjoint.flip(t, axis=0)),
    "adjoint.moveaxis": (lambda a: np.moveaxis(a, 0, -1), lambda t: adjoint.moveaxis(t, 0, -1)),
    "adjoint.unstack": (lambda a: a[1][None], lambda t: adjoint.unstack(t)[1][None]),
    "adjoint.expand_dims": (lambda a: a[None], lambda t: adjoint.expand_dims(t, axis=0)),
    "adjoint.permute_dims": (
        lambda a: a.transpose(tuple(range(a.ndim))[::-1]),
        lambda t: adjoint.permute_dims(t, tuple(range(t.ndim))[::-1]),
    ),
}


def _numpy_set(v):
    v[(0,) * v.ndim] = 50


def _tensor_set(v):
    v[(0,) * v.ndim] = 50.0


def _iadd(v):
    v += 100


def _imul(v):
    v *= 3


def _slice_iadd(v):
    v[:1] += 7


def _mask(v):
    v[v > 8] = -1


def _array(v):
    v[[0, -1]] = 5


def _whole(v):
    v[...] = v[...] * 2 + 1


# name: (of a NumPy array, of a tensor), in place
WRITES = {
    "setitem": (_numpy_set, _tensor_set),
    "+=": (_iadd, _iadd),
    "*=": (_imul, _imul),
    "[:1] +=": (_slice_iadd, _slice_iadd),
    "mask": (_mask, _mask),
    "list": (_array, _array),
    "[...] =": (_whole, _whole),
    "assign": (
        lambda v: np.copyto(v, v * -1),
        lambda v: v.assign(v * -1),
    ),
    "assign number": (lambda v: np.copyto(v, 9), lambda v: v.assign(9.0)),
    "replace": (lambda v: np.copyto(v, v + 2), lambda v: v.replace(v + 2)),
}


def test_views_of_numpy_are_views_in_this_file():
    """Else the comparison shows nothing."""
    for name, (numpy_view, _) in VIEWS.items():
        base = X.copy()
        assert np.shares_memory(numpy_view(base), base), name


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", VIEWS)
def test_a_write_through_a_view_is_seen_by_base_view_and_older_siblings(view, write):
    of_array, of_tensor = VIEWS[view]
    write_array, write_tensor = WRITES[write]
    for realized in ("never", "before", "between"):
        array, tensor = X.copy(), Tensor(X)
        sibling_array, sibling = array[1:, ::2], tensor[1:, ::2]
        if realized == "before":
            tensor.realize(), sibling.realize()
        v_array, v = of_array(array), of_tensor(tensor)
        if realized == "between":
            v.realize(), tensor.realize(), sibling.realize()
        write_array(v_array), write_tensor(v)
        np.testing.assert_array_equal(tensor.numpy(), array)
        np.testing.assert_array_equal(v.numpy(), v_array)
        np.testing.assert_array_equal(sibling.numpy(), sibling_array)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", VIEWS)
def test_a_write_to_the_base_is_seen_by_views_made_before(view, write):
    array, tensor = X.copy(), Tensor(X)
    v_array, v = VIEWS[view][0](array), VIEWS[view][1](tensor)
    for _ in range(2):
        WRITES[write][0](array), WRITES[write][1](tensor)
        np.testing.assert_array_equal(v.numpy(), v_array)
    np.testing.assert_array_equal(tensor.numpy(), array)


@pytest.mark.parametrize("outer", VIEWS)
def test_a_write_through_a_view_of_a_view_reaches_the_base(outer):
    for number, inner in enumerate(VIEWS):
        write = list(WRITES)[(number + len(outer)) % len(WRITES)]
        array, tensor = X.copy(), Tensor(X)
        one_array, one = VIEWS[outer][0](array), VIEWS[outer][1](tensor)
        if one_array.ndim > 2 or min(one_array.shape) < 4:  # then not every second view fits
            write = "+="
        try:
            two_array = VIEWS[inner][0](one_array)
        except (IndexError, ValueError):
            continue
        if not np.shares_memory(two_array, array):  # NumPy copies: this reshape has no strides
            continue
        two = VIEWS[inner][1](one)
        if number % 2:
            two.realize()
        try:
            WRITES[write][0](two_array)
        except IndexError:
            continue
        WRITES[write][1](two)
        for got, wanted in ((tensor, array), (one, one_array), (two, two_array)):
            np.testing.assert_array_equal(got.numpy(), wanted, err_msg=f"{inner} {write}")


@pytest.mark.parametrize("write", ["setitem", "+=", "[:1] +=", "assign", "mask"])
@pytest.mark.parametrize("view", VIEWS)
def test_jit_writes_through_views_of_arguments_and_captures(view, write):
    of_array, of_tensor = VIEWS[view]
    write_array, write_tensor = WRITES[write]
    held, argument, viewed = Tensor(X), Tensor(X), Tensor(X)
    held_view = of_tensor(viewed)

    @jit
    def step(x):
        write_tensor(of_tensor(held))
        write_tensor(of_tensor(x))
        write_tensor(held_view)
        return (held_view * 1, x.sum())

    array = X.copy()
    for _ in range(3):
        shown, total = step(argument)
        write_array(of_array(array))
        for got in (held, argument, viewed):
            np.testing.assert_array_equal(got.numpy(), array)
        np.testing.assert_array_equal(held_view.numpy(), of_array(array))
        np.testing.assert_array_equal(shown.numpy(), of_array(array))
        np.testing.assert_allclose(total.numpy(), array.sum(), rtol=1e-5)


def test_a_jitted_argument_that_is_a_view_writes_to_its_base():
    base = Tensor(X)
    step = jit(lambda row: row.assign(row + 1))
    for i in (0, 2, 0):
        step(base[i])
    expected = X.copy()
    for i in (0, 2, 0):
        expected[i] += 1
    np.testing.assert_array_equal(base.numpy(), expected)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_overlapping_views_see_one_another(order):
    array, tensor = X.copy(), Tensor(X)
    arrays = [array[:2], array.T[1:4], array.reshape(-1)[3:15]]
    tensors = [tensor[:2], tensor.T[1:4], tensor.reshape(-1)[3:15]]
    for i in order:
        arrays[i] += 10 * (i + 1)
        tensors[i] += 10 * (i + 1)
        for got, wanted in zip([tensor, *tensors], [array, *arrays], strict=True):
            np.testing.assert_array_equal(got.numpy(), wanted)


def test_views_share_their_value_when_the_base_has_no_handle_any_more():
    x = Tensor(X).reshape(6, 4)
    y = x.T
    x[0, 1] = 99.0
    assert y[1, 0].item() == 99.0
    first, second = Tensor.zeros(4).split(2)
    first += 1
    second.assign([7.0, 8.0])
    assert (first.tolist(), second.tolist()) == ([1, 1], [7, 8])


COPIES = {
    "clone": lambda t: t.clone(),
    "contiguous": lambda t: t.contiguous(),
    "times 1": lambda t: t * 1,
    "+": lambda t: +t,
    "cast": lambda t: t.cast("float32"),
    "Tensor()": lambda t: Tensor(t),
    "list index": lambda t: t[[0, 1, 2, 3]],
    "tensor index": lambda t: t[Tensor([0, 1, 2, 3])],
    "mask": lambda t: t[np.ones(4, bool)],
    "copy=True": lambda t: adjoint.asarray(t, copy=True),
    "reshape copy": lambda t: adjoint.reshape(t, (4, 6), copy=True),
    "cat": lambda t: t[:2].cat(t[2:]),
    "to": lambda t: t.to(t.device),
    "roll": lambda t: t.roll(0, 0),
}


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_is_a_tensor_of_its_own(name):
    base = Tensor(X)
    copy = COPIES[name](base)
    before = copy.numpy().copy()
    base += 1
    np.testing.assert_array_equal(copy.numpy(), before)
    copy -= 100
    np.testing.assert_array_equal(base.numpy(), X + 1)


REFUSED = {
    "expand": lambda t: t[:, :1].expand(4, 6),
    "broadcast_to": lambda t: adjoint.broadcast_to(t, (2, 4, 6)),
    "expand_as": lambda t: t[0].expand_as(t),
    "unfold": lambda t: t.unfold(1, 3, 1),
    "reshaped": lambda t: t[0].expand(3, 6).reshape(-1)[1:],
    "expand by nothing": lambda t: t.expand(4, 6),
    "expand by axes of one": lambda t: t.expand(1, 1, 4, 6),
    "expand_as itself": lambda t: t.expand_as(t),
    "unfold without overlap": lambda t: t.unfold(1, 3, 3),
    "imag of a real": lambda t: t.imag(),
}


@pytest.mark.parametrize("alive", [True, False])
@pytest.mark.parametrize("name", REFUSED)
def test_a_view_that_repeats_elements_shows_its_base_and_refuses_writes(name, alive):
    base = Tensor(X)
    view = REFUSED[name](base)
    base += 1
    np.testing.assert_array_equal(view.numpy(), REFUSED[name](Tensor(X + 1)).numpy())
    if not alive:
        del base
    for write in (_iadd, _tensor_set, lambda v: v.assign(0.0)):
        with pytest.raises(ValueError, match="E4012"):
            write(view)


def test_the_parts_of_a_complex_tensor_are_views():
    z = Tensor(np.array([1 + 2j, 3 + 4j], np.complex64))
    real, imag = z.real(), z.imag()
    real += 10
    imag[0] = -5.0
    np.testing.assert_array_equal(z.numpy(), np.array([11 - 5j, 13 + 4j]))


def test_bits_are_a_view():
    x = Tensor([1.0, -2.0])
    bits = x.bitcast("int32")
    bits &= 0x7FFFFFFF
    assert x.tolist() == [1, 2]
    x[0] = 0.0
    assert bits.tolist()[0] == 0


def test_empty_and_scalar_views_are_written():
    x = Tensor(X)
    empty = x[2:2]
    empty += 1
    np.testing.assert_array_equal(x.numpy(), X)
    scalar = x[1, 2]
    scalar.assign(5.0)
    scalar += 1
    whole = Tensor(3.0)
    whole[...] = 4.0
    vector = whole.reshape(1)
    vector[0] = 8.0
    assert (x[1, 2].item(), whole.item()) == (6, 8)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "complex64"])
def test_every_kind_of_dtype_is_written_through(dtype):
    x = Tensor.zeros((3, 2), dtype=dtype)
    x.T[1, ::2] = 1
    assert (x != 0).cast("int32").tolist() == [[0, 1], [0, 0], [0, 1]]


def test_a_wrong_write_changes_nothing():
    x = Tensor(X)
    view = x[0]
    for wrong in (
        lambda: view.assign(Tensor([1.0, 2.0])),
        lambda: view.assign(Tensor([1] * 6)),
        lambda: view.__iadd__(Tensor(X)),
        lambda: view.__setitem__(9, 1.0),
    ):
        with pytest.raises(adjoint.AdjointError):
            wrong()
        np.testing.assert_array_equal(x.numpy(), X)
        np.testing.assert_array_equal(view.numpy(), X[0])


def test_nan_and_minus_zero_pass_through_views():
    x = Tensor([np.nan, -0.0, 1.0, 2.0])
    x[2:].flip(0)[0] = -0.0
    assert np.signbit(x.numpy()).tolist() == [False, True, False, True]
    assert np.isnan(x.numpy()[0])


# ---- gradients


def test_gradients_pass_through_a_written_view_as_through_setitem():
    a, b = (Tensor([1.0, 2.0, 3.0], requires_grad=True) for _ in "ab")
    y = a * 2
    y[1:].flip(0)[0] = b.sum() * 5
    (y * Tensor([1.0, 10.0, 100.0])).sum().backward()
    assert a.grad.tolist() == [2, 20, 0]
    assert b.grad.tolist() == [500, 500, 500]


def test_a_base_without_gradients_gets_a_history_from_what_is_written():
    w = Tensor([2.0, 3.0], requires_grad=True)
    cache = Tensor.zeros(2, 2)
    older = cache[1]
    cache[0].__iadd__(w * w)
    cache.T[:, 1] = w * 10
    (cache.sum() + older.sum()).backward()
    assert w.grad.tolist() == [24, 26]


def test_a_write_without_gradients_ends_the_history_of_what_is_written():
    w = Tensor([2.0, 3.0], requires_grad=True)
    y = w * 4
    with no_grad():
        y[:1] *= 100
    y.detach()[1:] = 1000.0
    z = w * 4
    z[:1].assign([1.0])
    assert y.tolist() == [800, 1000]
    (y.sum() + z.sum()).backward()
    assert w.grad.tolist() == [0, 4]


def test_a_parameter_written_through_a_view_stays_a_leaf():
    w = Tensor([1.0, 2.0], requires_grad=True)
    with no_grad():
        w[:1] += 10
        w.reshape(2, 1)[1] = 5.0
    w.detach().mul(1)
    (w * w).sum().backward()
    assert w.tolist() == [11, 5]
    assert w.grad.tolist() == [22, 10]


def test_a_view_that_wants_its_own_gradient_keeps_it_when_the_base_is_written():
    base = Tensor([1.0, 2.0, 3.0])
    v = base[1:].requires_grad_()
    part = v[:1]
    base[1] = 7.0
    (part * 2 + v.sum()).sum().backward()
    assert v.tolist() == [7, 3]
    assert v.grad.tolist() == [3, 1]


def test_writes_to_a_parameter_in_a_loop_do_not_keep_its_history():
    w = Tensor.zeros(4, requires_grad=True)
    part = w[:2]
    with no_grad():
        for _ in range(50):
            part += 1
            w.realize()
    assert len(w.uop.toposort()) < 10
    assert part.tolist() == [50, 50]


# ---- transforms


def test_a_write_inside_grad_is_differentiated():
    def f(x):
        y = x * 1
        y[0] *= 3
        y.flip(0)[:1] += x[0]
        return (y * y).sum()

    g = adjoint.grad(f)(Tensor([2.0, 5.0]))
    assert g.tolist() == [2 * 6 * 3 + 2 * 7, 14]


def test_vmap_of_writes_to_its_own_tensors():
    def f(x):
        out = Tensor.zeros(3)
        out[1:].assign(x)
        out.flip(0)[0] += 1
        return out

    got = adjoint.vmap(f)(Tensor(X[:, :2]))
    expected = np.pad(X[:, :2], ((0, 0), (1, 0)))
    expected[:, 2] += 1
    np.testing.assert_array_equal(got.numpy(), expected)


@pytest.mark.parametrize(
    "write",
    [
        lambda t, x: t.assign(x),
        lambda t, x: t[0].assign(x[0]),
        lambda t, x: t.__setitem__(0, x[0]),
        lambda t, x: t.__iadd__(x),
        lambda t, x: t.reshape(2, 1)[1].__iadd__(x[1]),
    ],
)
def test_vmap_refuses_to_write_its_examples_to_a_tensor_from_outside(write):
    held = Tensor([1.0, 2.0])
    view = held[1:]

    def f(x):
        write(held, x)
        return x

    with pytest.raises(adjoint.AutodiffError, match="from outside"):
        adjoint.vmap(f)(Tensor([[3.0, 4.0], [5.0, 6.0]]))
    assert (held.tolist(), view.tolist()) == ([1, 2], [2])


def test_a_loop_refuses_to_write_what_it_computes_to_a_tensor_from_outside():
    held = Tensor([1.0, 2.0])

    def body(i, x):
        held[0] = x[0]
        return x + 1

    with pytest.raises(adjoint.AutodiffError, match="from outside"):
        adjoint.fori_loop(0, 3, body, Tensor([3.0, 4.0]))
    assert held.tolist() == [1, 2]


def test_a_counter_may_be_advanced_inside_vmap():
    calls = Tensor([0.0])
    part = calls[:]

    def f(x):
        calls.assign(calls + 1)
        return x * 2

    adjoint.vmap(f)(Tensor([1.0, 2.0]))
    assert part.tolist() == [1]


# ---- memory


def test_a_view_that_is_left_alone_does_not_keep_the_graph_of_its_base():
    loss = (Tensor(X) * 2).sum()
    kept = loss.detach().realize()
    whole = weakref.ref(kept._tie.storage)
    del loss
    Tensor(X).exp().realize()  # the next value that is computed
    assert kept._tie is None
    assert whole() is None
    assert kept.uop.src == ()


def test_no_python_code_runs_when_the_handle_of_a_base_goes():
    """An interrupt that comes then would be lost: Python ignores what is raised there."""
    base = Tensor(X)
    view = base[1:]
    seen = []
    sys.setprofile(lambda frame, event, arg: seen.append(event))
    del base
    sys.setprofile(None)
    assert "call" not in seen
    assert view.tolist() == X[1:].tolist()


def test_many_views_of_one_base_are_forgotten():
    base = Tensor(X)
    for i in range(1000):
        base[i % 4].sum()
    assert len(base._tie.storage.handles) < 100


# ---- jit: which arguments and captures are views of one another


def test_jit_with_arguments_that_are_views_of_one_another():
    def f(x, row):
        x.assign(x + 1)
        row += 10
        return x.sum() + row.sum() * 1000

    compiled = jit(f)
    apart = Tensor(X), Tensor(X[0])
    for _ in range(2):
        compiled(*apart)
    np.testing.assert_array_equal(apart[0].numpy(), X + 2)
    lazy, jitted = Tensor(X), Tensor(X)
    for _ in range(2):
        expected, got = f(lazy, lazy[1]), compiled(jitted, jitted[1])
        assert got.item() == expected.item()
        np.testing.assert_array_equal(jitted.numpy(), lazy.numpy())


def test_jit_with_an_argument_that_is_a_view_of_what_the_function_writes():
    held = Tensor(X)

    @jit
    def f(row):
        held.assign(held * 2)
        return row * 1

    np.testing.assert_array_equal(f(Tensor(X[1])).numpy(), X[1])
    for i in (1, 2):
        before = held[i].numpy().copy()
        np.testing.assert_array_equal(f(held[i]).numpy(), before * 2)


def test_jit_reads_parts_of_one_tensor_without_tracing_anew():
    f = jit(lambda a, b: (a * b).sum())
    x = Tensor(X)
    for i in range(3):
        assert f(x[i], x[i + 1]).item() == (X[i] * X[i + 1]).sum()
    assert f.cache_size() == 1


def test_a_captured_view_may_be_replaced_by_a_view_of_another_base():
    class Box:
        pass

    box, first, second = Box(), Tensor(X), Tensor(X)
    box.view = first[0]

    @jit
    def f():
        box.view += 1
        return box.view * 1

    f(), f()
    box.view = second[3]
    f()
    expected = X.copy()
    expected[3] += 1
    np.testing.assert_array_equal(second.numpy(), expected)
    np.testing.assert_array_equal(first.numpy()[0], X[0] + 2)


def test_views_keep_their_tie_across_jit_and_realize():
    x = Tensor(X)
    row = x[0]
    step = jit(lambda t: t.assign(t + 1))
    for _ in range(3):
        step(x)
    assert row.tolist() == (X[0] + 3).tolist()
    row.realize()
    row[0] = 100.0
    assert x[0, 0].item() == 100


def test_threads_may_write_to_different_rows():
    base = Tensor.zeros(4, 3)
    rows, start = list(base), threading.Barrier(4, timeout=600)

    def work(row):
        start.wait()
        for _ in range(50):
            row += 1

    threads = [threading.Thread(target=work, args=(row,)) for row in rows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert base.tolist() == [[50] * 3] * 4


def test_a_parameter_that_is_the_transpose_of_another_follows_it():
    w = Tensor([[1.0, 2.0]], requires_grad=True)
    tied = w.T
    opt = nn.optim.SGD([w], lr=0.5)
    for _ in range(3):
        opt.zero_grad()
        (w @ tied).sum().backward()
        opt.step()
        np.testing.assert_array_equal(tied.numpy(), w.numpy().T)
    assert len(w.uop.toposort()) == 1


def test_a_parameter_made_as_a_view_is_trained_without_keeping_its_history():
    w = Tensor.ones(6).reshape(2, 3).requires_grad_()
    opt = nn.optim.Adam([w], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        (w * w).sum().backward()
        opt.step()
    assert w._tie is None
    assert len(w.uop.toposort()) == 1


@pytest.mark.parametrize("alive", [True, False])
def test_a_whole_that_was_written_is_computed_once_by_all_that_is_read_of_it(alive):
    x = Tensor(np.zeros((12, 3000), np.float32)).realize()
    parts = [x[i] for i in range(12)]
    for i, part in enumerate(parts):
        part += i
    whole = x if alive else None
    del x
    PROGRAMS.clear()
    with counters() as counted:
        read = [part.numpy() for part in parts]
    assert counted.runs == 1
    assert all((row == i).all() for i, row in enumerate(read))
    assert whole is None or (whole.numpy() == np.arange(12)[:, None]).all()


def test_reading_a_part_of_a_whole_that_was_not_written_computes_that_part():
    x = Tensor(np.ones((12, 3000), np.float32)).realize() * 2
    part = x[3]
    assert (part.numpy() == 2).all()
    assert not is_known(x.uop)


def test_gradients_pass_through_a_written_whole_of_which_a_part_was_read():
    w = Tensor([1.0, 2.0], requires_grad=True)
    x = Tensor.zeros(3, 2)
    part = x[1]
    part += w * w
    assert part.tolist() == [1.0, 4.0]
    (x * 3).sum().backward()
    assert w.grad.tolist() == [6.0, 12.0]
