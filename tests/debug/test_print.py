"""debug.print and debug.callback happen when the program runs: once, in order, with its values."""

import gc
import threading
import weakref

import numpy as np
import pytest

from adjoint import (
    ArgumentError,
    BoundsError,
    Tensor,
    capture,
    checkpoint,
    cond,
    custom_vjp,
    debug,
    eval_shape,
    fori_loop,
    grad,
    jit,
    jvp,
    lower,
    scan,
    value_and_grad,
    vmap,
    while_loop,
)
from adjoint.errors import AutodiffError
from tests.support.tensors import vector
from tests.support.threads import in_threads


@pytest.fixture
def printed(capsys):
    """The lines that a call prints."""

    def lines(call, *args):
        capsys.readouterr()
        call(*args)
        return capsys.readouterr().out.splitlines()

    return lines


def twice(x):
    y = x * 2
    debug.print("y = {y}", y=y)
    return y.sum()


STEPS = ["before", "c=0.0 x=1.0", "c=1.0 x=2.0", "after 3.0"]


def running_sum(x):
    def body(carry, x):
        debug.print("c={c} x={x}", c=carry, x=x)
        return carry + x, carry * x

    debug.print("before")
    total, products = scan(body, x[0] * 0, x)
    debug.print("after {t}", t=total)
    return total * products.sum()


# ---- where


def test_in_plain_code_it_prints_at_once(printed):
    assert printed(twice, vector(1, 2)) == ["y = [2. 4.]"]


def test_inside_jit_it_prints_at_every_call_the_values_of_that_call(printed):
    f = jit(twice)
    assert printed(f, vector(1, 2)) == ["y = [2. 4.]"]
    assert printed(f, vector(3, 4)) == ["y = [6. 8.]"]
    assert printed(f, vector(3, 4)) == ["y = [6. 8.]"]


def test_inside_grad_it_prints_once_and_changes_no_gradient(printed):
    found = []
    assert printed(lambda: found.append(grad(twice)(vector(1, 2)))) == ["y = [2. 4.]"]
    assert printed(lambda: found.append(found[0].numpy())) == []
    assert found[1].tolist() == [2, 2]
    f = jit(value_and_grad(twice))
    assert printed(f, vector(1, 2)) == ["y = [2. 4.]"]
    assert printed(f, vector(0, 2)) == ["y = [0. 4.]"]


def test_a_gradient_alone_inside_jit_prints_too(printed):
    f = jit(grad(twice))
    assert printed(f, vector(1, 2)) == ["y = [2. 4.]"]


def test_backward_inside_jit_prints_once(printed):
    def step(x):
        loss = twice(x)
        loss.backward()
        return x.grad

    x = vector(1, 2).requires_grad_()
    assert printed(jit(step), x) == ["y = [2. 4.]"]


def test_inside_vmap_there_is_one_line_with_the_whole_batch(printed):
    expected = ["y = [[2. 4.]", " [6. 8.]]"]
    assert printed(vmap(twice), vector([1, 2], [3, 4])) == expected
    assert printed(jit(vmap(grad(twice))), vector([1, 2], [3, 4])) == expected


def test_inside_vmap_what_does_not_depend_on_the_example_is_printed_as_it_is(printed):
    def one(row):
        debug.print("one = {}", Tensor(1.0))
        return row

    assert printed(vmap(one), vector([1, 2], [3, 4])) == ["one = 1.0"]


def test_inside_a_scan_it_prints_every_step_in_order(printed):
    assert printed(running_sum, vector(1, 2)) == STEPS
    f = jit(running_sum)
    assert printed(f, vector(1, 2)) == STEPS
    assert printed(f, vector(1, 2)) == STEPS


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: grad(f),
        lambda f: value_and_grad(f),
        lambda f: grad(checkpoint(f)),
        lambda f: lambda x: jvp(f, (x,), (x,)),
        lambda f: jit(grad(f)),
        lambda f: jit(value_and_grad(f)),
        lambda f: jit(grad(checkpoint(f))),
        lambda f: jit(lambda x: jvp(f, (x,), (x,))),
        lambda f: jit(grad(lambda x: grad(f)(x).sum())),
    ],
)
def test_derivatives_of_a_scan_print_every_step_once(printed, transform):
    assert printed(transform(running_sum), vector(1, 2)) == STEPS


@pytest.mark.parametrize("transform", [vmap, lambda f: jit(vmap(f)), lambda f: jit(vmap(grad(f)))])
def test_a_batch_of_scans_prints_every_step_once(printed, transform):
    steps = ["before", "c=[0.] x=[1.]", "c=[1.] x=[2.]", "after [3.]"]
    assert printed(transform(running_sum), vector([1, 2])) == steps


def test_derivatives_of_a_scan_are_those_without_prints(printed):
    def quiet(x):
        total, products = scan(lambda c, x: (c + x, c * x), Tensor(0.0), x)
        return total * products.sum()

    x = vector(1, 2, 3)
    for noisy in (grad(running_sum), jit(grad(running_sum)), grad(checkpoint(running_sum))):
        assert noisy(x).tolist() == grad(quiet)(x).tolist()


def test_while_loops_print_in_their_test_and_in_their_body(printed):
    def run(x):
        def test(v):
            debug.print("test {}", v)
            return v < 3

        def body(v):
            debug.print("body {}", v)
            return v + 1

        return while_loop(test, body, x)

    expected = ["test 1.0", "body 1.0", "test 2.0", "body 2.0", "test 3.0"]
    assert printed(run, Tensor(1.0)) == expected
    assert printed(jit(run), Tensor(1.0)) == expected
    assert run(Tensor(1.0)).item() == jit(run)(Tensor(1.0)).item() == 3
    forward = jit(lambda x: jvp(run, (x,), (x,)))
    assert printed(forward, Tensor(1.0)) == expected


def test_fori_loops_print_every_turn(printed):
    def run(x):
        return fori_loop(0, 3, lambda i, v: (debug.print("i={i}", i=i), v + 1)[1], x)

    assert printed(jit(run), Tensor(0.0)) == ["i=0", "i=1", "i=2"]


def test_only_the_branch_that_is_taken_prints(printed):
    def run(x):
        def yes(x):
            debug.print("yes")
            return x

        def no(x):
            debug.print("no")
            debug.print("really")
            return -x

        return cond(x > 0, yes, no, x)

    for f in (run, jit(run), jit(grad(run))):
        assert printed(f, Tensor(1.0)) == ["yes"]
        assert printed(f, Tensor(-1.0)) == ["no", "really"]
    assert (
        printed(jit(lambda x: cond(x > 0, lambda v: v, lambda v: twice(v), x)), Tensor(1.0)) == []
    )


def test_a_print_in_a_body_that_reads_nothing_of_it_is_not_moved_out(printed):
    def body(carry, _):
        debug.print("turn", ordered=False)
        return carry, None

    assert printed(jit(lambda x: scan(body, x, length=3)[0]), Tensor(1.0)) == ["turn"] * 3


def test_loops_inside_loops_keep_the_order(printed):
    def inner(c, y):
        debug.print("  y={}", y)
        return c + y, None

    def outer(c, x):
        debug.print("x={}", x)
        c = scan(inner, c, vector(7, 8))[0] * x
        debug.print("end")
        return c, c

    def run(x):
        return scan(outer, Tensor(0.0), x)[1].sum()

    expected = ["x=1.0", "  y=7.0", "  y=8.0", "end", "x=2.0", "  y=7.0", "  y=8.0", "end"]
    for f in (run, jit(run), grad(run), jit(grad(run)), jit(grad(checkpoint(run)))):
        assert printed(f, vector(1, 2)) == expected


def test_a_rule_of_a_function_prints_where_it_is_used(printed):
    @custom_vjp
    def double(x):
        return x * 2

    def forward(x):
        return double(x), None

    def backward(kept, g):
        debug.print("g = {g}", g=g)
        return (g * 2,)

    double.defvjp(forward, backward)
    assert printed(grad(lambda x: double(x) * x), Tensor(3.0)) == ["g = 3.0"]
    assert printed(jit(grad(lambda x: double(x) * x)), Tensor(3.0)) == ["g = 3.0"]
    assert printed(vmap(grad(lambda x: double(x) * x)), vector(1, 2)) == ["g = [1. 2.]"]
    in_a_loop = jit(grad(lambda x: scan(lambda c, _: (double(c), None), x, length=2)[0]))
    with pytest.raises(AutodiffError, match=r"debug\.print"):
        in_a_loop(Tensor(1.0))


def test_what_is_not_run_prints_nothing(printed):
    assert printed(lambda: eval_shape(running_sum, vector(1, 2))) == []
    assert printed(lambda: capture(running_sum, vector(1, 2))) == []
    assert printed(lambda: str(lower(twice)(vector(1, 2)))) == []
    assert "host tap" in lower(twice)(vector(1, 2)).schedule()


@pytest.mark.parametrize("device", ["CPU", "CPU:1", "REF"])
def test_it_prints_on_every_device(printed, device):
    x = Tensor([1.0, 2.0], device=device)
    assert printed(jit(twice), x) == ["y = [2. 4.]"]
    assert printed(jit(running_sum), x) == STEPS


# ---- never dropped, never twice


def test_two_equal_prints_are_two(printed):
    @jit
    def f(x):
        debug.print("here {x}", x=x)
        debug.print("here {x}", x=x)
        debug.print("there")
        debug.print("there")
        return x

    assert printed(f, Tensor(1.0)) == ["here 1.0"] * 2 + ["there"] * 2


def test_a_value_that_nobody_else_needs_is_printed(printed):
    def f(x):
        debug.print("norm {n:.1f}", n=(x * x).sum())
        return None

    assert printed(jit(f), vector(3, 4)) == ["norm 25.0"]


def test_a_program_is_found_again_whatever_was_printed_before(printed):
    def run(x, text):
        def body(c, x):
            debug.print(text + " {}", x)
            return c + x, None

        return scan(body, Tensor(0.0), x)[0]

    assert printed(run, vector(1), "a") == ["a 1.0"]
    assert printed(run, vector(1), "a") == ["a 1.0"]
    assert printed(run, vector(1), "b") == ["b 1.0"]


def test_what_is_printed_keeps_no_tensor_alive():
    @jit
    def f(x):
        debug.print("{x} {y}", x=x, y=[1, "text"])
        return x

    x = Tensor(np.ones(1000, np.float32)).realize()
    buffer = weakref.ref(x.uop.arg.buffer)
    f(x)
    del x
    gc.collect()
    assert buffer() is None


def test_unordered_prints_are_all_there(printed):
    @jit
    def f(x):
        for i in range(5):
            debug.print("{i} {x}", i=i, x=x + i, ordered=False)
        return x

    assert sorted(printed(f, Tensor(1.0))) == [f"{i} {i + 1.0}" for i in range(5)]


def test_threads_print_their_own_values():
    seen = []
    record = seen.append  # the list itself would be part of what f depends on

    @jit
    def f(x, number):
        debug.callback(record, (x, number))
        return x

    f(Tensor(0.0), Tensor(0.0))
    seen.clear()

    def work(number):
        for i in range(20):
            f(Tensor(float(i)), Tensor(float(number)))

    in_threads(4, work)
    for n in range(4):
        assert [float(x) for x, number in seen if number == n] == list(range(20))
    assert f.cache_size() == 1


def test_an_index_out_of_range_does_not_print_again(printed):
    @jit
    def f(x, i):
        debug.print("i = {i}", i=i)
        return x.gather(0, i).sum()

    def wrong():
        for _ in range(2):
            with pytest.raises(BoundsError):
                f(vector(1, 2), Tensor([5]))

    f(vector(1, 2), Tensor([1]))
    f(vector(1, 2), Tensor([1]))
    assert printed(wrong) == ["i = [5]", "i = [5]"]


# ---- what


def test_formats_names_positions_trees_and_plain_values(printed):
    def show():
        debug.print("{0} {1} {name!r} {{}}", Tensor(1), 2.5, name="n")
        debug.print("{x:.2f} {v:.1f}", x=Tensor(1.234), v=vector(1.26, 2))
        debug.print("{t[0]} {t[1][k]}", t=(Tensor(1), {"k": Tensor([2, 3])}))
        debug.print("{v.shape} {v.dtype} {b}", v=vector([1, 2]), b=Tensor([1.5], dtype="bfloat16"))

    lines = ["1 2.5 'n' {}", "1.23 [1.3 2.0]", "1 [2 3]", "(1, 2) float32 [1.5]"]
    assert printed(show) == lines
    assert printed(jit(show)) == lines


@pytest.mark.parametrize(
    ("text", "args", "named", "code", "words"),
    [
        ("{x}", (), {}, "E2007", "asks for 'x'"),
        ("{x} {y}", (), {"x": 1}, "E2007", "asks for 'y'"),
        ("{} {}", (1,), {}, "E2007", "more values than the 1"),
        ("{3}", (1,), {}, "E2007", "more values than the 1"),
        ("{", (), {}, "E2001", "no format"),
        ("{x:.2q}", (), {"x": 1.0}, "E2001", "does not fit"),
        ("{x:.2q}", (), {"x": Tensor([1.0])}, "E2001", "does not fit"),
        ("{x.nothing}", (), {"x": Tensor([1.0])}, "E2001", "does not fit"),
        (3, (), {}, "E2001", "no format"),
    ],
)
def test_a_text_that_does_not_fit_is_refused_where_it_is_written(text, args, named, code, words):
    with pytest.raises(ArgumentError, match=words) as caught:
        jit(lambda: debug.print(text, *args, **named))()
    assert caught.value.code == code


def test_a_callback_gets_arrays_that_it_may_keep():
    kept = []

    @jit
    def f(x):
        debug.callback(lambda a, *, tag: kept.append((tag, a)), x + 1, tag="t")
        y = (x * 3 + 1).exp()
        return y * y

    f(vector(1, 2))
    f(vector(3, 4))
    assert [(tag, a.tolist()) for tag, a in kept] == [("t", [2, 3]), ("t", [4, 5])]
    kept[0][1][0] = 7  # writable


def test_what_a_callback_raises_ends_the_run_and_the_next_run_is_fine():
    bad = [True]

    def check(value):
        if bad[0]:
            raise LookupError("no")

    @jit
    def f(x):
        debug.callback(check, x)
        return x + 1

    with pytest.raises(LookupError, match="no"):
        f(Tensor(1.0))
    bad[0] = False
    assert f(Tensor(1.0)).item() == 2


def test_a_callback_is_a_function():
    with pytest.raises(ArgumentError, match="takes a function"):
        debug.callback("text", Tensor(1.0))


def test_a_large_value_is_shown_by_the_thread_that_asked_for_it():
    threads = []

    @jit
    def f(x):
        debug.callback(lambda a: threads.append(threading.current_thread()), x)
        return x * 2

    f(Tensor(np.ones(1 << 19, np.float32)))
    assert threads == [threading.current_thread()]
