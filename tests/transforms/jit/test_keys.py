"""Which trace a call takes: aliases among arguments and captures, odd callables, reasons said."""

import pickle
import warnings

import numpy as np
import pytest

from adjoint import Tensor, jit, register_pytree_node
from adjoint.errors import AdjointError, ArgumentError, AutodiffError, JitWarning


def vector(*values):
    return Tensor(np.array(values, np.float32)).realize()


def both(make, *calls):
    """What calls give, as they are and jitted; `make` gives a function and tensors by name."""
    found = []
    for wrap in (lambda fn: fn, jit):
        fn, tensors = make()
        run = wrap(fn)
        results = [run(*(tensors[name] for name in names)) for names in calls]
        results = [r.tolist() for r in results]
        found.append((results, {name: t.tolist() for name, t in tensors.items()}))
    return found


# ---- aliases


@pytest.mark.parametrize("calls", [("ab", "cc"), ("cc", "ab"), ("ab", "cc", "ba", "aa", "ab")])
def test_two_arguments_may_be_one_tensor(calls):
    def make():
        tensors = {"a": vector(1), "b": vector(2), "c": vector(3)}
        return lambda x, y: (x.assign(x + 1), y * 1)[1], tensors

    plain, jitted = both(make, *calls)
    assert jitted == plain


@pytest.mark.parametrize("calls", [("abc", "aab", "aba", "baa", "aaa", "abc")])
def test_three_arguments_may_be_the_same_in_every_way(calls):
    def make():
        tensors = {"a": vector(1), "b": vector(2), "c": vector(3)}
        return lambda x, y, z: (x.assign(x + y), y.assign(y * 2), z + x)[2], tensors

    plain, jitted = both(make, *calls)
    assert jitted == plain


@pytest.mark.parametrize("calls", [("a", "w"), ("w", "a"), ("a", "w", "a", "v", "w")])
def test_a_captured_tensor_may_be_an_argument(calls):
    def make():
        w, v = vector(10), vector(20)
        tensors = {"a": vector(1), "w": w, "v": v}
        return lambda x: (w.assign(w + 1), v.assign(v + x), x * 1)[2], tensors

    plain, jitted = both(make, *calls)
    assert jitted == plain


def test_an_argument_that_is_assigned_may_be_captured():
    def make():
        w = vector(10)
        return lambda x: (x.assign(x + 1), w * 1)[1], {"a": vector(1), "w": w}

    plain, jitted = both(make, "a", "w", "a", "w")
    assert jitted == plain


def test_identity_is_seen_by_python_too():
    w = vector(1)
    f = jit(lambda x, y: x + (1 if x is y else 2) + (10 if x is w else 20))
    for x, y in [(vector(0), vector(0)), (w, vector(0)), (w, w), (vector(0), w)]:
        expected = x + (1 if x is y else 2) + (10 if x is w else 20)
        assert f(x, y).tolist() == expected.tolist()


def test_an_argument_inside_a_container_may_be_captured():
    def make():
        w = vector(10)
        tensors = {"a": vector(1), "w": w}
        return lambda x: (w.assign(w + 1), {"x": [x]}["x"][0] * 1)[1], tensors

    plain, jitted = both(make, "a", "w", "a")
    assert jitted == plain


def test_a_gradient_may_be_an_argument():
    found = []
    for wrap in (lambda fn: fn, jit):
        w = Tensor([1.0], requires_grad=True)
        f = wrap(lambda x, w=w: ((w * w).sum().backward(), x * 1)[1])
        f(vector(5))
        results = [f(vector(5)).tolist(), f(w.grad).tolist(), w.grad.tolist()]
        found.append(results)
    assert found[0] == found[1]


def chain(**values):
    x = Tensor([1.0])
    for value in values.values():
        x = x * 2 + value
    return x


@pytest.mark.parametrize("nest", [lambda d: ((d,), {}), lambda d: (([d],), {}), lambda d: ((), d)])
def test_the_order_of_a_dict_among_the_arguments_is_that_of_the_call(nest):
    def fn(*args, **names):
        found = args[0] if args else names
        return chain(**(found[0] if type(found) is list else found))

    jitted = jit(fn)
    for names in ("ab", "ba", "ba", "ab", "ab"):
        args, keywords = nest({name: vector(ord(name) - 96) for name in names})
        assert jitted(*args, **keywords).tolist() == fn(*args, **keywords).tolist()
    assert jitted.traces == 2


class Scaled:
    def __init__(self, value, by):
        self.value, self.by = value, by


register_pytree_node(Scaled, lambda s: ((s.value,), s.by), lambda by, parts: Scaled(parts[0], by))
ALIKE = (1, 1.0, True, 0.0, -0.0, 0, False, 1)


@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: (v, "a")])
def test_what_a_container_holds_beside_its_leaves_is_told_apart_by_its_type(wrap):
    def fn(s):
        return s.value * (s.by[0] if type(s.by) is tuple else s.by)

    jitted = jit(fn)
    for by in ALIKE:
        plain, found = (f(Scaled(Tensor([-1]), wrap(by))) for f in (fn, jitted))
        assert (found.dtype, str(found.tolist())) == (plain.dtype, str(plain.tolist()))


@pytest.mark.parametrize("static", [False, True])
def test_keys_of_a_dict_are_told_apart_by_their_type(static):
    def fn(x, d):
        return x * next(iter(d))

    jitted = jit(fn, static_argnums=1 if static else ())
    for key in ALIKE:
        plain, found = (
            f(Tensor([-1]), {key: Tensor([2.0]) if not static else 2}) for f in (fn, jitted)
        )
        assert (found.dtype, str(found.tolist())) == (plain.dtype, str(plain.tolist()))


def test_the_type_of_a_captured_tensor_that_is_not_computed_with_is_seen():
    w = Tensor([1.0, 2.0])
    f = jit(lambda x: x * len(w.device))
    assert f(vector(1)).item() == len("CPU")
    w.to_("CPU:1")
    assert f(vector(1)).item() == len("CPU:1")


# ---- reasons


def warned(call):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        call()
    return [w.message for w in said if isinstance(w.message, JitWarning)]


def shapes():
    f = jit(lambda x: x * 2)
    for n in range(1, 30):
        f(vector(*range(n)))


def attributes():
    class Counter:
        n = 0

    counter = Counter()
    f = jit(lambda x: x + counter.n)
    for n in range(20):
        counter.n = n
        f(vector(1))


def named():
    f = jit(lambda x, scale: x * scale)
    for n in range(20):
        f(vector(1), scale=float(n))


def kept():
    hidden = []
    f = jit(lambda x: (hidden.append(x + 1), x)[1])
    for _ in range(20):
        f(vector(1))


def values():
    f = jit(lambda x, n: x * n)
    for n in range(20):
        f(vector(1), n)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (shapes, "the shape of argument 0"),
        (attributes, "'n' of an object of Counter"),
        (named, "the value of argument 'scale'"),
        (kept, "the keys or the length of a list"),
        (values, "the value of argument 1"),
    ],
)
def test_more_than_eight_traces_for_one_reason_are_said_once(call, reason):
    (warning,) = warned(call)
    assert warning.code == "W8002"
    assert reason in warning.problem
    assert warning.help


def test_eight_traces_need_no_word():
    f = jit(lambda x: x * 2)
    assert warned(lambda: [f(vector(*range(n))) for n in range(1, 10)]) == []
    assert f.traces == 9


def test_a_warning_can_be_pickled_and_has_a_known_code():
    warning = JitWarning("W8001", "problem", "help")
    assert str(pickle.loads(pickle.dumps(warning))) == str(warning)
    with pytest.raises(RuntimeError):
        JitWarning("W0000", "problem", "help")


# ---- odd callables and arguments


class Odd:
    """Its `__getattr__` raises what no one expects."""

    def __init__(self, error):
        self.__dict__["error"] = error

    def __getattr__(self, name):
        raise self.__dict__["error"](name)

    def __call__(self, x):
        return x + 1


@pytest.mark.parametrize("error", [KeyError, ValueError, RuntimeError, TypeError, AttributeError])
def test_an_object_whose_getattr_raises_anything_can_be_jitted_and_captured(error):
    odd = Odd(error)
    f, g = jit(odd), jit(lambda x: odd(x) * 2)
    assert [f(vector(n)).item() for n in range(3)] == [1, 2, 3]
    assert [g(vector(n)).item() for n in range(3)] == [2, 4, 6]
    assert f.traces == g.traces == 1


def test_a_function_that_calls_itself_without_end_is_an_error_with_a_fix():
    @jit
    def forever(x):
        return forever(x)

    with pytest.raises(AutodiffError, match="calls itself"):
        forever(vector(1))


def test_two_functions_that_call_one_another_without_end_are_an_error_with_a_fix():
    @jit
    def one(x):
        return other(x)

    @jit
    def other(x):
        return one(x)

    with pytest.raises(AutodiffError, match="calls itself"):
        one(vector(1))


def test_recursion_that_ends_by_a_python_value_works():
    @jit
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    assert [power(vector(2), n).item() for n in (1, 2, 3, 4)] == [2, 4, 8, 16]


@pytest.mark.parametrize("kind", [list, dict])
def test_an_argument_that_contains_itself_is_an_error(kind):
    tree = kind()
    if kind is list:
        tree.append(tree)
    else:
        tree["self"] = tree
    with pytest.raises(AdjointError):
        jit(lambda t: vector(1))(tree)


def test_a_captured_container_may_contain_itself():
    ring = [2.0]
    ring.append(ring)
    f = jit(lambda x: x * ring[1][1][0])
    assert f(vector(1)).item() == 2
    ring[0] = 3.0
    assert f(vector(1)).item() == 3


def test_an_object_that_refers_to_itself_may_be_an_argument():
    class Node:
        def __init__(self):
            self.me, self.n = self, 2.0

    node = Node()
    f = jit(lambda o, x: x * o.me.n)
    assert f(node, vector(1)).item() == 2
    node.n = 3.0
    assert f(node, vector(1)).item() == 3


def test_a_static_argument_is_compared_deep_inside():
    class Config:
        def __init__(self):
            self.layers = [1.0]

    config = Config()
    f = jit(lambda x, c: x * c.layers[0], static_argnums=1)
    assert f(vector(1), config).item() == 1
    config.layers[0] = 2.0
    assert f(vector(1), config).item() == 2


def test_a_tensor_that_contains_no_tensor_is_told_what_is_wrong():
    with pytest.raises(ArgumentError):
        jit(lambda x: x, static_argnums=0)(vector(1))


# ---- what a call leaves behind


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.zeros(2),
        lambda x: {1, 2},
        lambda x: bytearray(b"ab"),
        lambda x: Odd(KeyError),
        lambda x: (n for n in range(3)),
        lambda x: lambda: 1,
    ],
)
def test_an_object_that_a_call_makes_is_another_one_at_every_call(make):
    f = jit(lambda x: (make(x), x + 1))
    found = [f(vector(1))[0] for _ in range(3)]
    assert len({id(value) for value in found}) == 3


def test_an_object_that_was_there_is_the_same_at_every_call():
    kept = {"array": np.zeros(2), "object": Odd(KeyError)}
    f = jit(lambda x: (kept["array"], kept["object"], "text", 1.5, np.float32, x + 1))
    for _ in range(3):
        array, thing, *rest = f(vector(1))
        assert array is kept["array"]
        assert thing is kept["object"]
        assert rest[:3] == ["text", 1.5, np.float32]
    assert f.traces == 1


def test_a_list_put_into_an_object_is_another_one_at_every_call():
    class Kept:
        items = None

    kept = Kept()

    def fn(x):
        kept.items = []
        return x + 1

    f = jit(fn)
    for _ in range(3):
        f(vector(1))
        assert kept.items == []
        kept.items.append(1)


def test_training_mode_that_is_set_inside_is_set_at_every_call():
    def fn(x):
        Tensor.training = True
        return x + 1

    f, before = jit(fn), Tensor.training
    try:
        for _ in range(3):
            Tensor.training = False
            f(vector(1))
            assert Tensor.training
    finally:
        Tensor.training = before


@pytest.mark.parametrize(
    ("change", "tree"),
    [
        (lambda t: t.append(1), lambda: [vector(1)]),
        (lambda t: t.pop("a"), lambda: {"a": vector(1)}),
        (lambda t: t[0].update(b=2), lambda: ({"a": vector(1)},)),
        (lambda t: t["a"].clear(), lambda: {"a": [vector(1)]}),
    ],
)
def test_a_container_among_the_arguments_that_is_changed_is_said(change, tree):
    f = jit(lambda t: (change(t), vector(1))[1])
    (warning,) = warned(lambda: f(tree()))
    assert warning.code == "W8003"


def test_a_container_among_the_arguments_that_is_only_read_needs_no_word():
    f = jit(lambda t: t["a"][0] + len(t))
    assert warned(lambda: f({"a": [vector(1)]})) == []


class _Slotted:
    __slots__ = ("array", "scale")


def test_arrays_among_slots_are_compared_as_what_they_are():
    held = _Slotted()
    held.array, held.scale = np.ones(3), 2
    f = jit(lambda x: x * held.scale * float(held.array.sum()))
    assert f(Tensor([1.0])).tolist() == [6]
    held.array[0] = 5
    assert f(Tensor([1.0])).tolist() == [14]
    held.scale = 3
    assert f(Tensor([1.0])).tolist() == [21]
