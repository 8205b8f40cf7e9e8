"""Everything that can go wrong around a program, through tensors: every process here is its own.

Disks that are full, read-only, shared or poisoned; memory that runs out; Ctrl-C; forks; threads;
and ten thousand steps or shapes in one process.
"""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

linux = pytest.mark.skipif(sys.platform != "linux", reason="limits and /proc are Linux's")
ROOT = Path(__file__).parents[2]
AS_ROOT = os.geteuid() == 0

PRELUDE = """
import multiprocessing, os, resource, signal, sys, threading, time
import numpy as np
from adjoint import Tensor, grad, jit, scan, while_loop
from adjoint.errors import DeviceError
from adjoint.runtime import compiler

def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)

def right(seed=0):
    # several kernels and a product, lazily and jitted
    rng = np.random.default_rng(seed)
    x, w = (rng.standard_normal((6 + seed % 3, 8)).astype(np.float32) for _ in range(2))
    def fn(a, b):
        return (a @ b.T).tanh().softmax(1), (a * 2 + 1).sum(0), a.sort(1)[0]
    wanted = softmax(np.tanh(x @ w.T)), (x * 2 + 1).sum(0), np.sort(x, 1)
    for f in (fn, jit(fn)):
        for got, want in zip(f(Tensor(x), Tensor(w)), wanted):
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-5)

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
"""


def settings(**more):
    """The environment of a process: one CPU device, no cache but what is asked for."""
    return os.environ | {"ADJOINT_DEVICE": "CPU", "ADJOINT_CACHE": "0", **more}


def begun(text, before=None, **more):
    """A process that runs the text after the prelude."""
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(text)],
        cwd=ROOT,
        env=settings(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=before,
    )


def alone(text, before=None, timeout=600, **more):
    """What a process prints that runs the text; it must end well."""
    process = begun(text, before, **more)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == 0, err
    return out.strip()


# ---- the cache on disk


COUNTED = "right(); print(compiler.compiled)"


@pytest.fixture
def cache(tmp_path):
    """The settings that keep code in a directory of the test's own."""
    return {"ADJOINT_CACHE": "1", "ADJOINT_CACHE_DIR": str(tmp_path / "cache")}


def folder(cache):
    return Path(cache["ADJOINT_CACHE_DIR"])


def contents(cache):
    return {f.name: f.read_bytes() for f in folder(cache).iterdir()}


def test_the_second_process_compiles_nothing(cache):
    assert int(alone(COUNTED, **cache)) > 3
    assert int(alone(COUNTED, **cache)) == 0


def obey_permissions():
    """Root may write anywhere, unless it gives that up."""
    if AS_ROOT and ctypes.CDLL(None).prctl(24, 1, 0, 0, 0):
        os._exit(77)


@linux
def test_a_read_only_cache_is_read_and_not_written(cache):
    alone(COUNTED, **cache)
    kept = contents(cache)
    folder(cache).chmod(0o500)
    other = "(Tensor([1.0, 2.0]) * 3).exp().tolist(); " + COUNTED
    try:
        process = begun(other, obey_permissions, **cache)
        out, err = process.communicate(timeout=600)
        if process.returncode == 77:
            pytest.skip("root cannot be kept from writing here")
        assert process.returncode == 0, err
        assert int(out) == 1
        assert contents(cache) == kept
    finally:
        folder(cache).chmod(0o700)


def test_a_cache_of_another_user_is_neither_read_nor_written(cache):
    alone(COUNTED, **cache)
    kept = contents(cache)
    patch = ""
    if AS_ROOT:
        os.chown(folder(cache), 65534, -1)
    else:
        patch = "own = os.geteuid(); os.geteuid = lambda: own + 1\n"
    process = begun(patch + COUNTED, **cache)
    out, err = process.communicate(timeout=600)
    assert int(out) > 3
    assert "belongs to another user" in err
    assert contents(cache) == kept


def test_a_poisoned_cache_is_compiled_again(cache):
    count = int(alone(COUNTED, **cache))
    for number, file in enumerate(sorted(folder(cache).iterdir())):
        data = bytearray(file.read_bytes())
        for place in range(number % 7, len(data), 97):
            data[place] ^= 0x5A
        file.write_bytes(data)
    assert int(alone(COUNTED, **cache)) == count
    assert int(alone(COUNTED, **cache)) == 0


@linux
@pytest.mark.parametrize("room", [0, 700])
def test_a_full_disk_is_no_error(cache, room):
    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    assert int(alone(COUNTED, limited, **cache)) > 3
    assert contents(cache) == {}


def test_eight_processes_share_a_cache(cache):
    processes = [begun("right(); right(1); print(compiler.compiled)", **cache) for _ in range(8)]
    for process in processes:
        _, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
    assert not [name for name in contents(cache) if name.endswith(".new")]
    assert int(alone("right(); right(1); print(compiler.compiled)", **cache)) == 0


@pytest.mark.parametrize("after", [0.0, 0.02])
def test_a_compile_that_is_killed_half_way(cache, after):
    process = begun(
        """
        real, number = compiler.compile_object, []
        def compile_object(source, quick=False):
            number.append(1)
            if len(number) == 4:
                print("compiling", flush=True)
            return real(source, quick)
        compiler.compile_object = compile_object
        right()
        time.sleep(600)
        """,
        **cache,
    )
    assert process.stdout.readline() == "compiling\n"
    time.sleep(after)
    process.kill()
    process.communicate(timeout=600)
    assert process.returncode == -signal.SIGKILL
    alone(COUNTED, **cache)
    assert int(alone(COUNTED, **cache)) == 0


# ---- memory


@linux
@pytest.mark.parametrize("how", ["lazy", "jitted", "between", "flagged"])
def test_out_of_memory_names_what_and_how_much_and_the_next_op_works(how):
    text = f"""
    right()
    x = Tensor(np.ones(30_000, np.float32)) + 0
    held = (Tensor(np.ones(10_000_000, np.float32)) + 0).realize()
    def fn(x):
        return x.reshape(-1, 1) * x
    def between(x):
        big = (x.reshape(-1, 1) * x).sin()
        return big.sort(0)[0].sum(0)
    def flagged(x):
        return x[Tensor(np.arange(x.shape[0]))].reshape(-1, 1) * x
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), resource.RLIM_INFINITY))
    how = dict(lazy=fn, jitted=jit(fn), between=between, flagged=flagged)[{how!r}]
    for _ in range(2):
        try:
            how(x).realize()
            raise SystemExit("there was enough memory")
        except DeviceError as error:
            shown = str(error)
            assert error.code == "E6004", shown
            assert "30000, 30000" in shown, shown
            assert ("sin" if how is between else "mul") in shown, shown
            asked = int(shown.split(" bytes (")[0].split()[-1])
            in_use = int(shown.split(" bytes are in use")[0].split("(")[-1])
            assert asked >= 4 * 30_000**2, shown
            assert 40_000_000 <= in_use < 60_000_000, shown
    right()
    wanted = 100 * np.sin(np.float32(1)) if how is between else 1
    np.testing.assert_allclose(how(x[:100]).numpy(), wanted, rtol=1e-5)
    print("fine")
    """
    assert alone(text) == "fine"


# ---- Ctrl-C


INTERRUPT = """
sent = []
def send():
    sent.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)

def interrupted(work, after=0.7):
    # what is computed from the signal to the exception, in seconds of the processor: there may be
    # others who want it; the work itself sends the signal where no time is given
    try:
        if after is not None:
            threading.Timer(after, send).start()
        work()
    except KeyboardInterrupt:
        taken = time.process_time() - sent[-1]
        assert taken < 6, taken
        return
    raise SystemExit("it was too fast to interrupt, or nothing came")

def idle():
    before = time.process_time()
    time.sleep(0.2)
    return time.process_time() - before < 0.15

def after_all():
    until = time.monotonic() + 30
    while not idle():
        assert time.monotonic() < until, "something goes on"
    right()
    print("fine")
"""

LONG = {
    "kernel": "x = Tensor.ones(300_000).contiguous().realize()\n"
    "fn = lambda x: (x.reshape(-1, 1) * x).sin().sum()",
    "rows": "x = Tensor.ones(300_000).contiguous().realize()\n"
    "fn = lambda x: (x.reshape(-1, 1) * x).sin().sum(1)",
    "product": "x = Tensor.ones(100, 100).contiguous().realize()\n"
    "fn = lambda x: scan(lambda c, _: (c @ x, None), x, Tensor.ones(3_000_000))[0]",
    "endless": "x = Tensor.ones(100).contiguous().realize()\n"
    "fn = lambda x: while_loop(lambda v: v.sum() > 0, lambda v: v.abs(), x)",
}


@pytest.mark.parametrize("how", ["lazy", "jitted"])
@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_in_a_long_program(name, how):
    text = INTERRUPT + LONG[name] + f"\nfn = jit(fn) if {how!r} == 'jitted' else fn\n"
    text += """
interrupted(lambda: fn(x).realize())
interrupted(lambda: fn(x).realize())
after_all()
"""
    assert alone(text, ADJOINT_THREADS="2") == "fine"


@pytest.mark.parametrize("how", ["lazy", "jitted"])
def test_ctrl_c_in_a_kernel_that_is_one_piece(how):
    text = (
        INTERRUPT
        + f"""
x = Tensor(np.arange(5 << 23, dtype=np.float32)[::-1] * 0.7).contiguous().realize()
fn = lambda x: x.sin().sort(0)[0]
fn = jit(fn) if {how!r} == "jitted" else fn
fn(x).realize()
def again():
    while True:
        fn(x).realize()
interrupted(again)
right()  # the sort goes on in the background, with its own memory
x = None
for size in range(1000, 1100):
    assert Tensor.ones(size).sum().item() == size
print("fine")
"""
    )
    assert alone(text) == "fine"


def test_ctrl_c_in_a_long_compile():
    text = (
        INTERRUPT
        + """
def fn(x):
    for i in range(400):
        x = (x.roll(1 + i % 5, 0) * (i % 7) + x.flip(0).tanh()).softmax(i % 2)
    return x
x = Tensor(np.ones((16, 16), np.float32))
compiled = []
real = compiler.compile_object
def compile_object(source, quick=False):
    compiled.append(1)
    if len(compiled) in (1, 5):
        send()
        time.sleep(0.3)  # so that it comes while this is compiled, however fast that is
    return real(source, quick)
compiler.compile_object = compile_object
jitted = jit(fn)
for _ in range(2):
    interrupted(lambda: jitted(x).realize(), None)
small = np.ones((16, 16), np.float32)
np.testing.assert_allclose(jit(lambda x: x.softmax(1))(x).numpy(), small / 16)
time.sleep(0.5)  # what LLVM was at ends by itself
after_all()
"""
    )
    assert alone(text) == "fine"


# ---- small stacks


PRODUCT = """
a, b = (np.random.default_rng(i).standard_normal((300, 4000)).astype(np.float32) for i in (0, 1))
wanted = (a.astype(np.float64) @ b.T.astype(np.float64))
def product():
    found = (Tensor(a) @ Tensor(b.T.copy())).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-2)
    done.append(1)
done = []
"""


@linux
@pytest.mark.parametrize("threads", [1, 2])
def test_a_thread_with_a_small_stack_computes_products(threads):
    text = """
threading.stack_size(1 << 17)
many = [threading.Thread(target=product) for _ in range(3)]
for thread in many: thread.start()
for thread in many: thread.join()
product()
assert len(done) == 4
print("fine")
"""
    assert alone(PRODUCT + text, ADJOINT_THREADS=str(threads)) == "fine"


@linux
def test_a_process_with_a_small_stack_computes_products():
    def small():
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 19, 1 << 19))

    assert alone(PRODUCT + "product(); print('fine')", small, ADJOINT_THREADS="2") == "fine"


# ---- forks and threads


FORKED = """
def forked():
    child = os.fork()
    if child == 0:
        try:
            right(1)
            right(2)
            os._exit(0)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
    return child

def fine(child):
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize("threads", ["1", "4"])
def test_a_fork_after_import_and_a_fork_after_use(threads):
    text = """
fine(forked())
right()
x = Tensor(np.ones((512, 512), np.float32))
assert (x @ x).sum().item() == 512**3  # with all threads
fine(forked())
right(1)
children = [forked() for _ in range(4)]
right(2)
for child in children:
    fine(child)
print("fine")
"""
    assert alone(FORKED + text, ADJOINT_THREADS=threads) == "fine"


def test_processes_of_multiprocessing():
    text = """
def work(seed):
    right(seed)
    x = Tensor(np.full((4, 5), seed, np.float32))
    return (x * 2 + 1).sum().item()
step = jit(lambda x: x * 3)
assert step(Tensor([1.0])).item() == 3
with multiprocessing.get_context("fork").Pool(3) as pool:
    assert pool.map(work, range(6)) == [20 * (2 * i + 1) for i in range(6)]
    right()
assert step(Tensor([2.0])).item() == 6
print("fine")
"""
    assert alone(text) == "fine"


def test_eight_threads_at_once():
    text = """
shared = jit(lambda x, w: ((x @ w).tanh().sum(), (x + 1).softmax(1)))
update = jit(lambda x: x * 0.5 + x.sort(1)[0])
wrong = []
def work(number):
    try:
        rng = np.random.default_rng(number)
        own = jit(lambda x: (x * (number + 1)).cumsum(0))
        for turn in range(25):
            x, w = (rng.standard_normal((8, 8)).astype(np.float32) for _ in range(2))
            same = dict(rtol=1e-4, atol=1e-4)
            total, rows = shared(Tensor(x), Tensor(w))
            np.testing.assert_allclose(total.numpy(), np.tanh(x @ w).sum(), **same)
            np.testing.assert_allclose(rows.numpy(), softmax(x + 1), **same)
            np.testing.assert_allclose(update(Tensor(x)).numpy(), x * 0.5 + np.sort(x, 1), **same)
            np.testing.assert_allclose(own(Tensor(x)).numpy(), (x * (number + 1)).cumsum(0), **same)
            y = (Tensor(x[: 1 + turn % 8]) * number + turn).exp().log().sum(1)
            want = (x[: 1 + turn % 8] * number + turn).astype(np.float64).sum(1)
            np.testing.assert_allclose(y.numpy(), want, rtol=1e-3, atol=1e-3)
            g = grad(lambda a: (a * a * number).sum())(Tensor(x))
            np.testing.assert_allclose(g.numpy(), 2 * number * x, **same)
    except BaseException as error:
        wrong.append(error)
        raise
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(100)
assert not any(thread.is_alive() for thread in threads), "they wait for each other"
assert not wrong
right()
print("fine")
"""
    assert alone(text, ADJOINT_THREADS="4") == "fine"


# ---- for a long time


@linux
def test_ten_thousand_jitted_steps_leave_memory_flat():
    text = """
rng = np.random.default_rng(0)
batches = [Tensor(rng.standard_normal((8, 32)).astype(np.float32)) for _ in range(4)]
def loss(p, x):
    return ((x @ p).tanh() ** 2).mean()
@jit
def step(p, m, v, x):
    g = grad(loss)(p, x)
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return p - 0.001 * m / (v.sqrt() + 1e-8), m, v, Tensor.rand(3)
p = Tensor(rng.standard_normal((32, 32)).astype(np.float32))
m, v, first = p * 0, p * 0, None
for i in range(11_000):
    p, m, v, noise = step(p, m, v, batches[i % 4])
    if i == 1000:
        first, kernels = resident(), compiler.compiled
grown = resident() - first
assert grown < 2 << 20, grown
assert compiler.compiled == kernels
assert np.isfinite(p.numpy()).all()
print("fine")
"""
    assert alone(text) == "fine"


@linux
@pytest.mark.slow
def test_ten_thousand_different_shapes_leave_memory_flat_and_need_few_compiles():
    text = """
for rows in range(1, 101):
    for columns in range(1, 101):
        y = (Tensor(np.full((rows, columns), 2, np.float32)) * 2 + 1).realize()
    assert y.sum().item() == 500 * rows
    if rows == 20:
        first = resident()
grown = resident() - first
assert grown < 8 << 20, grown
assert compiler.compiled < 20, compiler.compiled
print("fine")
"""
    assert alone(text) == "fine"
