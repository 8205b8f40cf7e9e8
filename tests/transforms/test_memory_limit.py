"""`jit(memory_limit=)`: the same bits in less memory, or an error that says how little would do."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import adjoint
from adjoint import ArgumentError, DeviceError, Mesh, P, Tensor, debug, jit, lower, nn
from adjoint.debug.memory_report import memory
from adjoint.ir.memory_limit import bytes_of
from adjoint.runtime.device import has_tools
from adjoint.schedule.footprint import footprint
from adjoint.stages import ControlStep
from adjoint.target import TARGETS
from adjoint.transforms.control import scan
from adjoint.transforms.reverse import grad, value_and_grad
from adjoint.transforms.vmap import vmap
from tests.anew import compiled_anew
from tests.support.fake_gpu import fake_gpu

WIDTH, ROWS, LAYERS = 32, 256, 12
KEPT = 128 * 1024  # more than any arena here: nothing is rounded away


def numbers(*shape, seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) / 4).astype(np.float32)


def weights(device=None):
    return [Tensor(numbers(WIDTH, WIDTH, seed=i), device=device) for i in range(LAYERS)]


def network(ws, x):
    for w in ws:
        x = (x @ w).tanh()
    return x.square().mean()


def bits(tree):
    return [leaf.numpy().tobytes() for leaf in adjoint.tree_leaves(tree)]


def share_of(fn, share, *args, **options):
    """A limit that leaves a share of what values on the way take without one."""
    free = jit(fn, memory_limit="1TB", **options)
    found = lower(free)(*args).footprint
    return found.total - found.arena - found.inside + int(share * (found.arena + found.inside))


def within(fn, share, *args, **options):
    """The function with and without such a limit."""
    limit = share_of(fn, share, *args, **options)
    return jit(fn, memory_limit=limit, **options), jit(fn, **options), limit


# ---- the same in less


@pytest.mark.parametrize("share", [0.8, 0.5, 0.3])
def test_gradients_have_the_same_bits_within_a_limit(share):
    args = weights(), Tensor(numbers(ROWS, WIDTH))
    limited, plain, limit = within(value_and_grad(network), share, *args)
    wanted = bits(plain(*args))
    assert bits(limited(*args)) == wanted
    assert bits(limited(*args)) == wanted  # the second call
    lowered = lower(limited)(*args)
    assert lowered.footprint.total <= limit
    assert lowered.recomputed()


def test_a_lower_limit_computes_more_again():
    args = weights(), Tensor(numbers(ROWS, WIDTH))
    fn = value_and_grad(network)
    counts = [len(lower(within(fn, s, *args)[0])(*args).plan.steps) for s in (1.0, 0.6, 0.35)]
    assert counts[0] < counts[1] < counts[2]


def test_what_is_measured_is_what_was_planned():
    args = [w.realize() for w in weights()], Tensor(numbers(ROWS, WIDTH)).realize()
    limited, _, limit = within(value_and_grad(network), 0.4, *args)
    lowered = lower(limited)(*args)
    limited(*args)
    held = memory().allocated
    memory.reset_peak()
    limited(*args)
    grown = memory().peak - held  # results; the arena is there already
    assert held > 0
    assert grown <= lowered.footprint.results
    assert lowered.footprint.arena + lowered.footprint.results < limit


def test_a_limit_that_nothing_exceeds_changes_nothing():
    args = weights(), Tensor(numbers(ROWS, WIDTH))
    fn = value_and_grad(network)
    limited, plain = jit(fn, memory_limit="1GB"), jit(fn)
    assert not lower(limited)(*args).recomputed()
    kinds = [[str(s) for s in lower(f)(*args).plan.steps] for f in (limited, plain)]
    assert kinds[0] == kinds[1]
    assert bits(limited(*args)) == bits(plain(*args))


class Layer(nn.Module):
    """Attention and a wide part, with dropout."""

    def __init__(self):
        options = {"batch_first": True, "norm_first": True}
        self.embedding = nn.Embedding(17, 16)
        self.layers = [
            nn.TransformerEncoderLayer(16, 2, 64, 0.25, "gelu", **options) for _ in range(3)
        ]
        self.out = nn.Linear(16, 17)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, is_causal=True)
        return self.out(x)


def trained(limit):
    """Losses and parameters of a small GPT after three steps of AdamW; dropout draws on the way."""
    adjoint.manual_seed(3)
    model = Layer().train()
    optimizer = nn.optim.AdamW(model.parameters(), lr=1e-2)
    tokens = Tensor(np.arange(8 * 32).reshape(8, 32) * 7 % 17)

    def step(tokens):
        optimizer.zero_grad()
        loss = nn.loss.cross_entropy(model(tokens).transpose(1, 2), tokens)
        loss.backward()
        optimizer.step()
        return loss

    jitted = jit(step, memory_limit=limit)
    losses = [jitted(tokens).numpy().tobytes() for _ in range(3)]
    return [*losses, *bits(list(model.parameters()))], lower(jitted)(tokens)


def test_dropout_draws_the_same_masks_when_it_is_computed_again():
    wanted, plain = trained("1TB")
    found = plain.footprint
    limit = found.total - found.arena * 6 // 10
    got, limited = trained(limit)
    assert got == wanted
    assert limited.recomputed()
    assert limited.footprint.total <= limit


def test_batch_norms_and_convolutions_have_the_same_bits():
    parts = []
    for i in range(4):
        parts += [nn.Conv2d(3 if i == 0 else 8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()]
    model = nn.Sequential(*parts).train()
    params = list(model.parameters())

    def loss(params, x):
        for p, value in zip(model.parameters(), params, strict=True):
            p.uop = value.uop
        return model(x).square().mean()

    x = Tensor(numbers(8, 3, 16, 16))
    fn = value_and_grad(lambda *ps: loss(ps[:-1], ps[-1]), tuple(range(len(params))))
    args = (*[Tensor(p.numpy()) for p in params], x)
    limited, plain, limit = within(fn, 0.6, *args)
    assert bits(limited(*args)) == bits(plain(*args))
    assert lower(limited)(*args).footprint.total <= limit


# ---- beside other transforms


def test_a_scan_that_adds_gradients_up_computes_again_inside():
    ws, batches = weights(), Tensor(numbers(3, ROWS, WIDTH))

    def total(ws, batches):
        zeros = [w * 0 for w in ws]

        def turn(sums, x):
            moved = [w - s for w, s in zip(ws, sums, strict=True)]
            return [s + g for s, g in zip(sums, grad(network)(moved, x), strict=True)], x.sum()

        return scan(turn, zeros, batches)

    limited, plain, limit = within(total, 0.5, ws, batches)
    assert bits(limited(ws, batches)) == bits(plain(ws, batches))
    lowered = lower(limited)(ws, batches)
    assert lowered.footprint.total <= limit
    (loop,) = [s for s in lowered.plan.steps if isinstance(s, ControlStep)]
    assert loop.parts[0].again
    assert lowered.recomputed()


def test_a_gradient_through_a_scan_has_the_same_bits():
    stacked, x = Tensor(numbers(LAYERS, WIDTH, WIDTH)), Tensor(numbers(64, WIDTH))

    def loss(ws, x):
        h, _ = scan(lambda h, w: ((h @ w).tanh(), None), x, ws)
        y = (h * 2).exp()
        return (y * h.sin()).mean() + (y.cos() * h).sum()

    fn = value_and_grad(loss)
    free = lower(jit(fn, memory_limit="1TB"))(stacked, x).footprint.total
    plain = bits(jit(fn)(stacked, x))
    least = least_of(fn, stacked, x)
    assert least <= free
    assert bits(jit(fn, memory_limit=least)(stacked, x)) == plain


def test_vmap_inside_and_outside_of_a_limit():
    ws, xs = weights(), Tensor(numbers(4, 64, WIDTH))
    fn = vmap(value_and_grad(network), (None, 0))
    limited, plain, limit = within(fn, 0.5, ws, xs)
    wanted = bits(plain(ws, xs))
    assert bits(limited(ws, xs)) == wanted
    assert lower(limited)(ws, xs).footprint.total <= limit
    inner = vmap(jit(value_and_grad(network), memory_limit="1KB"), (None, 0))
    assert bits(inner(ws, xs)) == bits(fn(ws, xs))  # inside a transform it is simply called


def test_gradients_of_gradients():
    w, x = Tensor(numbers(WIDTH, WIDTH)), Tensor(numbers(64, WIDTH))
    slope = lambda w: grad(lambda w: network([w] * 6, x))(w).square().sum()  # noqa: E731
    fn = value_and_grad(slope)
    limited, plain, limit = within(fn, 0.6, w)
    assert bits(limited(w)) == bits(plain(w))
    assert lower(limited)(w).footprint.total <= limit


def test_results_in_donated_memory_do_not_count():
    def step(ws, x):
        return [w - 0.1 * g for w, g in zip(ws, grad(network)(ws, x), strict=True)]

    x = Tensor(numbers(ROWS, WIDTH))
    limit = share_of(step, 0.5, weights(), x, donate_argnums=0)
    wanted = bits(jit(step)(weights(), x))
    limited = jit(step, donate_argnums=0, memory_limit=limit)
    ws = [w.realize() for w in weights()]
    # one that is made while its weight is still to be read has memory of its own
    assert lower(limited)(ws, x).footprint.results <= 4 * WIDTH * WIDTH
    got = limited(ws, x)
    assert bits(got) == wanted
    assert bits(limited(got, x)) == bits(jit(step)(jit(step)(weights(), x), x))
    assert share_of(step, 0.5, weights(), x) > limit


def test_a_sharded_program_keeps_to_the_limit_on_every_member():
    mesh = Mesh((2,), ("dp",))
    x = Tensor(numbers(2 * ROWS, WIDTH)).shard(mesh, P("dp", None))
    ws = [w.shard(mesh, P(None, None)) for w in weights()]
    limited, plain, limit = within(value_and_grad(network), 0.5, ws, x)
    assert bits(limited(ws, x)) == bits(plain(ws, x))
    lowered = lower(limited)(ws, x)
    assert lowered.footprint.total <= limit
    assert lowered.recomputed()
    roomy = jit(value_and_grad(network), memory_limit="1TB")  # in both, none waits for others
    assert lowered.collectives() == lower(roomy)(ws, x).collectives()


def test_what_is_printed_is_printed_once(capsys):
    def loud(ws, x):
        for i, w in enumerate(ws):
            x = (x @ w).tanh()
            if i == 4:
                debug.print("{}", x[0, 0])
        return x.square().mean()

    args = weights(), Tensor(numbers(ROWS, WIDTH))
    limited, plain, _ = within(value_and_grad(loud), 0.5, *args)
    wanted = bits(plain(*args))
    assert capsys.readouterr().out.count("\n") == 1
    assert bits(limited(*args)) == wanted
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.parametrize("policy", ["nothing", "products"])
def test_checkpoint_and_a_limit_compose(policy):
    def loss(ws, x):
        for i in range(0, LAYERS, 4):
            part = adjoint.checkpoint(lambda x, *ws: _layers(ws, x), policy=policy)
            x = part(x, *ws[i : i + 4])
        return x.square().mean()

    args = weights(), Tensor(numbers(ROWS, WIDTH))
    limited, plain, limit = within(value_and_grad(loss), 0.8, *args)
    assert bits(limited(*args)) == bits(plain(*args))
    assert lower(limited)(*args).footprint.total <= limit


def _layers(ws, x):
    for w in ws:
        x = (x @ w).tanh()
    return x


# ---- limits that cannot be


def least_of(fn, *args, **options):
    """What the error about a hopeless limit says."""
    with pytest.raises(DeviceError, match="E6009") as caught:
        jit(fn, memory_limit=1, **options)(*args)
    return int(re.search(r"the least that is possible is (\d+)", str(caught.value)).group(1))


def test_the_least_that_an_error_names_is_enough_and_one_byte_less_is_not():
    args = weights(), Tensor(numbers(ROWS, WIDTH))
    fn = value_and_grad(network)
    least = least_of(fn, *args)
    assert bits(jit(fn, memory_limit=least)(*args)) == bits(jit(fn)(*args))
    with pytest.raises(DeviceError, match="E6009"):
        jit(fn, memory_limit=least - 1)(*args)


def test_the_error_says_what_holds_the_memory_and_where_it_was_made():
    args = weights(), Tensor(numbers(ROWS, WIDTH))
    with pytest.raises(DeviceError) as caught:
        jit(value_and_grad(network), memory_limit="100kB")(*args)
    text = str(caught.value)
    assert "jit of network: memory_limit=100000 (97.7 KiB) is too small" in text
    assert re.search(r"32.0 KiB  f32\[.*256, 32\]", text)
    assert re.search(r"(matmul|tanh) at test_memory_limit.py", text)
    assert "help: allow" in text


def test_nothing_has_changed_after_such_an_error():
    w = Tensor(numbers(4, 4), requires_grad=True)
    optimizer = nn.optim.SGD([w], lr=0.1)
    before = w.numpy().tobytes()

    def step(x):
        optimizer.zero_grad()
        loss = (x @ w).square().sum()
        loss.backward()
        optimizer.step()
        return loss

    jitted = jit(step, memory_limit=10)
    for _ in range(2):
        with pytest.raises(DeviceError, match="E6009"):
            jitted(Tensor(numbers(4, 4)))
    assert w.numpy().tobytes() == before
    assert w.grad is None


def test_such_an_error_draws_no_random_numbers():
    Tensor.manual_seed(5)
    wanted = Tensor.rand(3).numpy()
    Tensor.manual_seed(5)
    with pytest.raises(DeviceError, match="E6009"):
        jit(lambda: Tensor.rand(3).exp(), memory_limit=1)()
    np.testing.assert_array_equal(Tensor.rand(3).numpy(), wanted)


@pytest.mark.parametrize(
    "wrong", [0, -1, True, 1.5, "much", "2 apples", "", "-1GB", "0", [1], b"1"]
)
def test_a_limit_is_a_number_of_bytes(wrong):
    with pytest.raises(ArgumentError, match=r"E2008: jit of network: memory_limit"):
        jit(network, memory_limit=wrong)


def test_how_limits_are_written():
    written = {
        "2GB": 2 * 10**9,
        "2 GiB": 2 << 30,
        "512M": 512 << 20,
        "1.5kb": 1500,
        "7B": 7,
        "9": 9,
    }
    assert {text: bytes_of(text, "jit") for text in written} == written
    assert bytes_of(12, "jit") == 12


def test_a_limit_needs_a_device_that_is_compiled_for():
    x = Tensor(numbers(4, 4), device="REF")
    with pytest.raises(DeviceError, match=r"E6003: jit of .*memory_limit"):
        jit(lambda x: x.exp(), memory_limit="1GB")(x)


def test_other_shapes_are_held_to_the_same_limit():
    limited = jit(value_and_grad(network), memory_limit="600kB")
    small, large = Tensor(numbers(16, WIDTH)), Tensor(numbers(4096, WIDTH))
    assert bits(limited(weights(), small)) == bits(jit(value_and_grad(network))(weights(), small))
    with pytest.raises(DeviceError, match="E6009"):
        limited(weights(), large)


def test_what_has_no_elements_needs_no_memory():
    limited = jit(value_and_grad(lambda x: x.exp().sum()), memory_limit="1kB")
    assert bits(limited(Tensor(numbers(0, 4)))) == bits(
        jit(value_and_grad(lambda x: x.exp().sum()))(Tensor(numbers(0, 4)))
    )


def test_programs_with_other_limits_are_kept_apart():
    args = weights(), Tensor(numbers(ROWS, WIDTH))
    fn = value_and_grad(network)
    limited, plain, limit = within(fn, 0.4, *args)
    plain(*args)
    limited(*args)
    steps = [f.report().kept[0].steps for f in (plain, limited)]
    assert steps[0] < steps[1]
    del limit


# ---- what is said


def test_explain_says_what_is_computed_again_and_how_much_that_is():
    args = weights(), Tensor(numbers(ROWS, WIDTH))
    limited, plain, _ = within(value_and_grad(network), 0.5, *args)
    text = str(adjoint.explain(limited, *args, measure=False))
    assert re.search(r"memory: .* of the .* allowed; \d+ steps come again .* \d+ % of the op", text)
    assert "once more, not kept from step" in text
    assert "test_memory_limit.py" in text.partition("memory:")[2]
    assert "once more" not in str(adjoint.explain(plain, *args, measure=False))
    assert "again: step" in lower(limited)(*args).explain(measure=False)


def test_times_are_those_of_the_program_within_the_limit():
    args = weights(), Tensor(numbers(ROWS, WIDTH))
    lowered = lower(within(value_and_grad(network), 0.5, *args)[0])(*args)
    assert len(lowered.seconds(budget=0.0)) == len(lowered.plan.steps)


# ---- a GPU, by the host


@pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")
def test_a_gpu_computes_the_same_within_a_limit():
    with compiled_anew(), fake_gpu():
        args = weights("GPU"), Tensor(numbers(ROWS, WIDTH), device="GPU")
        limited, plain, limit = within(value_and_grad(network), 0.5, *args)
        assert bits(limited(*args)) == bits(plain(*args))
        lowered = lower(limited)(*args)
        assert lowered.footprint.total <= limit
        assert lowered.recomputed()


def test_a_later_process_finds_the_program_of_its_own_limit(tmp_path):
    script = (
        "import sys, numpy as np\n"
        "from adjoint import Tensor, jit, value_and_grad\n"
        "from tests.transforms.test_memory_limit import network, numbers, weights, bits\n"
        "args = weights(), Tensor(numbers(256, 32))\n"
        "f = jit(value_and_grad(network), memory_limit=eval(sys.argv[1]))\n"
        "found = bits(f(*args))\n"
        "from adjoint.engine.pipeline import statistics\n"
        "plans = statistics['plan'].runs\n"
        "print(f.report().kept[0].steps, hash(b''.join(found)), plans)\n"
    )
    environment = {**os.environ, "ADJOINT_CACHE_DIR": str(tmp_path), "PYTHONHASHSEED": "0"}
    run = lambda limit: subprocess.run(  # noqa: E731
        [sys.executable, "-c", script, limit],
        env=environment, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    cold, other, warm = run("'450kB'"), run("None"), run("'450kB'")
    assert cold[1] == other[1] == warm[1]
    assert int(cold[0]) == int(warm[0]) > int(other[0])
    assert (int(cold[2]) > 0, int(warm[2])) == (True, 0)


def test_the_footprint_counts_what_blocks_take():
    lowered = lower(jit(lambda x: (x.exp(), x.sum()), memory_limit="1MB"))(Tensor(numbers(100)))
    found = footprint(lowered.plan, lowered.limit, lambda nbytes: nbytes + 1000)
    assert found.given == 1400
    assert found.results == 1400 + 1004
