"""jit with sizes that vary: another size is traced again and runs the code that is there."""

import warnings

import numpy as np
import pytest

import adjoint
from adjoint import AdjointError, Tensor, Variable, counters, grad, jit, nn, vmap
from adjoint.engine.program_cache import PROGRAMS

B = Variable("batch", 1, 64)
SIZES = (9, 10, 16, 17, 33, 64, 12)


def numbers(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def sources(call, arguments):
    made = []
    for args in arguments:
        with counters() as counted:
            call(*args).realize()
        made.append(counted.sources)
    return made


def normalised(x):
    return (x.softmax(-1) * x.layernorm(-1)).sum(0)


DECLARED = [{"x": {0: B}}, {0: {0: B}}, {"x": {-2: B}}]


@pytest.mark.parametrize("declared", DECLARED)
def test_a_declared_axis_compiles_once(declared):
    call = jit(normalised, dynamic=declared)
    made = sources(call, [(Tensor(numbers(n, 8)),) for n in SIZES])
    assert made[1:] == [0] * (len(SIZES) - 1)
    for n in (1, *SIZES):
        x = numbers(n, 8)
        assert call(Tensor(x)).numpy().tobytes() == normalised(Tensor(x)).numpy().tobytes()


def test_an_argument_of_a_bound_size_compiles_once():
    call, whole = jit(lambda x: normalised(x * 3)), Tensor(numbers(64, 8))
    made = sources(call, [(whole[: B.bind(n)],) for n in SIZES])
    assert made[1:] == [0] * (len(SIZES) - 1)


def test_a_size_bound_inside_compiles_once():
    whole = Tensor(numbers(64, 8))
    call = jit(lambda n: normalised(whole[: B.bind(n)] * 5), static_argnums=0)
    made = sources(call, [(n,) for n in SIZES])
    assert made[1:] == [0] * (len(SIZES) - 1)
    assert call(7).numpy().tobytes() == normalised(whole[:7] * 5).numpy().tobytes()


def test_results_vary_as_what_they_were_made_of():
    double = jit(lambda x: x * 2, dynamic={0: {0: B}})
    made = sources(lambda x: double(x).cumsum(0).exp(), [(Tensor(numbers(n, 8)),) for n in SIZES])
    assert made[1:] == [0] * (len(SIZES) - 1)


def test_a_keyword_argument_and_containers_vary():
    call = jit(lambda *, pair: (pair["a"] * pair["b"]).sum(0) * 11, dynamic={"pair": {0: B}})
    tree = [{"a": Tensor(numbers(n, 8)), "b": Tensor(numbers(n, 8))} for n in SIZES]
    made = sources(lambda pair: call(pair=pair), [(t,) for t in tree])
    assert made[1:] == [0] * (len(SIZES) - 1)


def training(declared, sizes):
    """Losses and parameters of a small network, trained on batches of these sizes."""
    adjoint.manual_seed(0)
    net = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 10))
    optimizer = nn.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    @jit(dynamic=declared)
    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    random = np.random.default_rng(1)
    batches = [(random.standard_normal((n, 32), "f4"), random.integers(0, 10, n)) for n in sizes]
    losses, made = [], []
    for x, y in batches:
        with counters() as counted:
            losses.append(step(Tensor(x), Tensor(y)).item())
        made.append(counted.sources)
    return losses, [p.numpy() for p in net.parameters()], made


def test_a_training_step_compiles_once_and_learns_the_same():
    sizes = (9, 16, 23, 37, 64, 10)
    declared = {"x": {0: B}, "y": {0: B}}
    losses, weights, made = training(declared, sizes)
    assert sum(made[2:]) == 0  # the second step has a momentum, which the first has not
    others, plain, _ = training(None, sizes)
    assert losses == others
    assert [w.tobytes() for w in weights] == [w.tobytes() for w in plain]


def test_short_products_have_a_form_of_their_own():
    """A product that is summed over 8 or fewer is added up by loops, in an order that follows their
    length: a form per width of lanes, each with the bits of the plain size."""
    call = jit(lambda x, w: x.T @ w, dynamic={0: {0: B}, 1: {0: B}})
    pairs = [(Tensor(numbers(n, 5)), Tensor(numbers(n, 6))) for n in (9, 5, 64, 8, 17, 3, 7, 6)]
    made = sources(call, pairs)
    assert made[2] == made[4] == made[6] == made[7] == 0
    for x, w in pairs:
        assert call(x, w).numpy().tobytes() == (x.T @ w).numpy().tobytes()


def test_gradients_and_vmap_of_a_jitted_function_are_right():
    call = jit(normalised, dynamic={0: {0: B}})
    for n in (3, 9):
        x = numbers(2, n, 8)
        got = vmap(grad(lambda t: call(t).sum()))(Tensor(x)).numpy()
        wanted = vmap(grad(lambda t: normalised(t).sum()))(Tensor(x)).numpy()
        assert got.tobytes() == wanted.tobytes()


def test_writes_to_an_argument_reach_it():
    @jit(dynamic={0: {0: B}})
    def scale(x):
        x *= 2
        x[0] = 1.0
        return x.sum()

    for n in (2, 5, 9, 5):
        x = Tensor(np.ones((n, 3), np.float32))
        assert scale(x).item() == 3 + 6 * (n - 1)
        assert x.numpy().tolist() == [[1.0] * 3, *[[2.0] * 3] * (n - 1)]


def test_many_sizes_are_no_reason_to_warn():
    call = jit(lambda x: (x + 1).sum(), dynamic={0: {0: B}})
    bound = jit(lambda x: (x + 1).sum())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(1, 20):
            assert call(Tensor.ones(n)).item() == 2 * n
            assert bound(Tensor.ones(n).reshape(B.bind(n))).item() == 2 * n
        assert call.traces == bound.traces == 19


def test_an_undeclared_axis_is_still_a_reason_to_warn():
    call = jit(lambda x: (x + 1).sum(), dynamic={0: {0: B}})
    for n in range(1, 10):
        call(Tensor.ones(3, n))
    with pytest.warns(adjoint.JitWarning, match="W8002") as seen:
        call(Tensor.ones(3, 10))
    assert "dynamic=" in str(seen[0].message)


def test_python_that_looks_at_a_size_is_traced_for_it():
    @jit(dynamic={0: {0: B}})
    def parts(x):
        return x.sum() if x.shape[0] % 2 else x.max() * len(x)

    for n in (2, 3, 4, 5, 2):
        x = numbers(n, 2)
        assert parts(Tensor(x)).item() == parts.__wrapped__(Tensor(x)).item()


WRONG = {
    "too large": (lambda: jit(normalised, dynamic={0: {0: B}})(Tensor.ones(65, 2)), "E2006"),
    "no such axis": (lambda: jit(normalised, dynamic={0: {3: B}})(Tensor.ones(5, 2)), "E3004"),
    "two sizes": (
        lambda: jit(lambda x, y: x.sum() + y.sum(), dynamic={0: {0: B}, 1: {0: B}})(
            Tensor.ones(5), Tensor.ones(6)
        ),
        "E3003",
    ),
    "no axes": (lambda: jit(normalised, dynamic={0: {}}), "E2008"),
    "no mapping": (lambda: jit(normalised, dynamic={0: B}), "E2008"),
    "no variable": (lambda: jit(normalised, dynamic={0: {0: 64}}), "E2008"),
    "no axis": (lambda: jit(normalised, dynamic={0: {"0": B}}), "E2008"),
    "no argument": (lambda: jit(normalised, dynamic={0.5: {0: B}}), "E2008"),
    "unknown argument": (
        lambda: jit(normalised, dynamic={"z": {0: B}})(Tensor.ones(5, 2)),
        "E2002",
    ),
    "no dict": (lambda: jit(normalised, dynamic=True), "E2008"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_declaration_or_size_is_an_error(case):
    call, code = WRONG[case]
    with pytest.raises(AdjointError) as caught:
        call()
    assert caught.value.code == code


PRODUCTS = {
    "few inputs": lambda x, w: (x @ w).relu(),
    "fused with a row": lambda x, w: (x @ w).tanh().softmax(-1).sum(0),
    "two of them": lambda x, w: ((x @ w).relu() @ w.T).sum(0),
    "and its gradient": lambda x, w: grad(lambda v: (x @ v).exp().mean())(w),
    "narrow floats": lambda x, w: (x.half() @ w.half()).float(),
}


@pytest.mark.parametrize("case", PRODUCTS)
@pytest.mark.parametrize("inner", [1, 2, 5, 8])
def test_short_products_have_the_bits_of_the_plain_size(case, inner):
    """On programs of their own: those of the sizes that vary are forgotten before."""
    function, w = PRODUCTS[case], numbers(inner, 16)
    call = jit(function, dynamic={0: {0: B}})
    sizes = (1, 2, 3, 4, 7, 8, 9, 16, 33)
    found = [call(Tensor(numbers(n, inner)), Tensor(w)).numpy().tobytes() for n in sizes]
    PROGRAMS.clear()
    plain = [function(Tensor(numbers(n, inner)), Tensor(w)).numpy().tobytes() for n in sizes]
    assert found == plain


def layer(weights, x):
    """The loss of a layer with attention."""
    batch, length, width = x.shape
    parts = (x @ weights[0]).reshape(batch, length, 3, 4, width // 4).permute(2, 0, 3, 1, 4)
    mixed = parts[0].scaled_dot_product_attention(parts[1], parts[2], is_causal=True)
    mixed = mixed.transpose(1, 2).reshape(batch, length, width)
    return ((x + mixed @ weights[1]).layernorm() ** 2).mean()


def test_gradients_of_attention_are_compiled_once_for_all_lengths():
    random = np.random.default_rng(1)
    weights = [Tensor(random.standard_normal((64, n)).astype(np.float32) / 8) for n in (192, 64)]
    whole = random.standard_normal((4, 512, 64)).astype(np.float32)
    varying = jit(grad(layer), dynamic={"x": {1: Variable("length", 1, 512)}})
    new = []
    for length in (512, 300, 257):
        x = Tensor(np.ascontiguousarray(whole[:, :length]))
        with counters() as counted:
            found = varying(weights, x)
        new.append(counted.sources)
        wanted = grad(layer)(weights, x)
        for got, plain in zip(found, wanted, strict=True):
            assert got.numpy().tobytes() == plain.numpy().tobytes(), length
    assert new[1:] == [0, 0], new
