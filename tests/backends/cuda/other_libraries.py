"""Memory shared with torch, CuPy and JAX on a real GPU: addresses, values, streams, lifetimes.

    python -m tests.backends.cuda.other_libraries

Each function is one fact; it is skipped where its library is not installed.
"""

import gc
import importlib
import sys
import traceback
import warnings

import numpy as np

from adjoint import Tensor, asarray, grad, jit
from adjoint.ir.values import storage
from adjoint.runtime.memory import memory_of

DTYPES = ("bool", "int8", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64")
DTYPES += ("complex64",)


def address(tensor):
    return storage(tensor.realize().uop).address


def made(*shape):
    return (
        Tensor(np.arange(np.prod(shape), dtype=np.float32).reshape(shape), device="GPU") + 0
    ).realize()


def from_torch_without_a_copy(torch):
    a = torch.arange(12.0, device="cuda").reshape(3, 4)
    x = Tensor.from_dlpack(a)
    assert (x.device, x.shape, address(x)) == ("GPU", (3, 4), a.data_ptr())
    assert x.numpy().tolist() == a.cpu().tolist()
    assert (x.softmax(-1) * 2).numpy().shape == (3, 4)


def from_torch_in_every_dtype(torch):
    for name in DTYPES:
        a = torch.tensor([0, 1, 1, 0], device="cuda").to(getattr(torch, name))
        x = Tensor.from_dlpack(a)
        assert (x.dtype.name, address(x)) == (name, a.data_ptr()), name
        assert x.tolist() == a.cpu().tolist(), name


def from_torch_of_any_shape(torch):
    for a in (torch.tensor(3.5), torch.zeros(0, 4), torch.arange(12.0).reshape(3, 4).T):
        x = Tensor.from_dlpack(a.cuda() if a.is_contiguous() else a.cuda().T.contiguous().T)
        assert (x.shape, x.tolist()) == (tuple(a.shape), a.tolist())
    part = torch.arange(32.0, device="cuda")[3:20:2]
    assert Tensor.from_dlpack(part).tolist() == part.cpu().tolist()
    assert Tensor(part).tolist() == part.cpu().tolist()


def from_torch_8_bit_floats(torch):
    for name in ("float8_e4m3fn", "float8_e5m2"):
        a = torch.tensor([1.5, -2.0, 0.25], device="cuda").to(getattr(torch, name))
        x = Tensor.from_dlpack(a)
        assert (x.dtype.name, x.float().tolist()) == (name, [1.5, -2.0, 0.25])


def to_torch_without_a_copy(torch):
    x = made(3, 4)
    a = torch.from_dlpack(x)
    assert (str(a.device), a.data_ptr(), a.dtype) == ("cuda:0", address(x), torch.float32)
    assert a.cpu().tolist() == x.tolist()
    b = torch.as_tensor(x)
    assert b.data_ptr() == address(x)


def to_torch_in_every_dtype(torch):
    for name in DTYPES:
        x = Tensor([0, 1, 1, 0], dtype=name, device="GPU").realize()
        a = torch.from_dlpack(x)
        assert (a.dtype, a.data_ptr()) == (getattr(torch, name), address(x)), name
        assert a.cpu().tolist() == x.tolist(), name


def what_torch_writes_changes_no_other_value(torch):
    x = made(4)
    twice, copy = x * 2, x.clone()
    a = torch.from_dlpack(x)
    a[0] = 9
    torch.cuda.synchronize()
    assert (twice.tolist(), copy.tolist()) == ([0, 2, 4, 6], [0, 1, 2, 3])
    assert x.tolist() == [9, 1, 2, 3]


def memory_lives_as_long_as_torch_has_it(torch):
    gc.collect()
    before = memory_of("GPU").counted()["in use"]
    a = torch.from_dlpack(made(1 << 20))
    gc.collect()
    filler = [made(1 << 20) for _ in range(4)]
    assert a[-1].item() == (1 << 20) - 1
    del a, filler
    gc.collect()
    assert memory_of("GPU").counted()["in use"] <= before


def torchs_memory_lives_as_long_as_a_tensor_has_it(torch):
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    x = Tensor.from_dlpack(torch.arange(1 << 20, device="cuda"))
    gc.collect()
    filler = [torch.zeros(1 << 20, device="cuda", dtype=torch.int64) for _ in range(4)]
    assert x.max().item() == (1 << 20) - 1
    del x, filler
    gc.collect()
    memory_of("GPU").sharing.gpu().synchronise()
    assert torch.cuda.memory_allocated() == before


def torchs_streams_are_waited_for(torch):
    """Long work on a stream of torch's own, then ours, then torch's again, without a wait."""
    size = 1 << 26
    for stream in (torch.cuda.current_stream(), torch.cuda.Stream()):
        with torch.cuda.stream(stream):
            for turn in range(5):
                a = torch.zeros(size, device="cuda")
                for _ in range(20):
                    a += 1
                x = Tensor.from_dlpack(a)
                y = (x * 2 + turn).realize()
                b = torch.from_dlpack(y) + 1
                assert b[::9973].eq(41 + turn).all().item(), turn
                del a, x, y, b


def memory_is_not_used_again_while_torch_reads_it(torch):
    """What torch drops while its kernels run is not written over by ours."""
    stream = torch.cuda.Stream()
    size = 1 << 24
    for turn in range(5):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)
            a = torch.from_dlpack((Tensor.zeros(size, device="GPU") + turn).realize())
            found = a.sum()
        del a
        for _ in range(3):
            (Tensor.zeros(size, device="GPU") + 99).realize()
        stream.synchronize()
        assert found.item() == turn * size


def torchs_memory_is_not_used_again_while_we_read_it(torch):
    size = 1 << 24
    for turn in range(5):
        x = Tensor.from_dlpack(torch.full((size,), float(turn), device="cuda"))
        for _ in range(10):
            total = (x * 1).sum().realize()
        del x
        filler = [torch.full((size,), 99.0, device="cuda") for _ in range(3)]
        assert total.item() == turn * size
        del filler


def a_jitted_step_takes_torchs_batches(torch):
    w = Tensor(np.full((8, 1), 0.5, np.float32), device="GPU")
    step = jit(lambda w, x: w - 0.1 * grad(lambda v: ((x @ v) ** 2).mean())(w))
    for _ in range(3):
        w = step(w, Tensor.from_dlpack(torch.ones(4, 8, device="cuda")))
    assert abs(w.numpy()).max() < 3


def from_cupy(cupy):
    a = cupy.arange(12, dtype=cupy.float32).reshape(3, 4)
    x = Tensor.from_dlpack(a)
    assert address(x) == a.data.ptr
    assert asarray(a, copy=False).tolist() == a.get().tolist()
    y = Tensor(a)
    a[0, 0] = 9
    cupy.cuda.Device().synchronize()
    assert (y.numpy()[0, 0], x.numpy()[0, 0]) == (0, 9)
    assert Tensor(a.T[::-1]).tolist() == a.T[::-1].get().tolist()


def to_cupy(cupy):
    x = made(3, 4)
    a = cupy.asarray(x)
    assert a.data.ptr == address(x)
    assert a.get().tolist() == x.tolist()
    b = cupy.from_dlpack(x)
    assert b.data.ptr == address(x)
    c = cupy.asarray(Tensor([True, False], device="GPU"))
    assert c.get().tolist() == [True, False]


def cupys_streams_are_waited_for(cupy):
    with cupy.cuda.Stream(non_blocking=True):
        a = cupy.zeros(1 << 26, cupy.float32)
        for _ in range(20):
            a += 1
        for x in (Tensor.from_dlpack(a), Tensor(a)):
            b = cupy.asarray((x * 2).realize()) + 1
            assert bool((b[::9973] == 41).all())
    del a, x, b
    gc.collect()


def from_and_to_jax(jax):
    a = jax.numpy.arange(12.0).reshape(3, 4)
    x = Tensor.from_dlpack(a)
    assert address(x) == a.unsafe_buffer_pointer()
    assert (x + 1).tolist() == (a + 1).tolist()
    b = jax.dlpack.from_dlpack(made(3, 4))
    assert b.tolist() == made(3, 4).tolist()
    c = Tensor.from_dlpack(jax.numpy.ones(5, jax.numpy.bfloat16))
    assert (c.dtype.name, c.tolist()) == ("bfloat16", [1.0] * 5)


FACTS = {
    name: fn for name, fn in list(globals().items()) if getattr(fn, "__module__", "") == __name__
}
FACTS = {n: f for n, f in FACTS.items() if callable(f) and n not in ("address", "made")}


def library_of(fn):
    """The library that a fact is about, or None where it is not installed."""
    try:
        return importlib.import_module(fn.__code__.co_varnames[0])
    except ImportError:
        return None


def main():
    wrong = 0
    for name, fn in FACTS.items():
        library = library_of(fn)
        try:
            found = "skipped" if library is None else fn(library) or "ok"
        except Exception as error:
            wrong += 1
            lines = [
                f"{f.name}:{f.lineno} {f.line}" for f in traceback.extract_tb(error.__traceback__)
            ]
            found = f"WRONG {type(error).__name__} {str(error)[:300]}\n    " + "\n    ".join(
                lines[-3:]
            )
        print(f"{name.replace('_', ' ')}: {found}", flush=True)
    return wrong


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
