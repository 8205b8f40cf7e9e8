"""Memory shared with other libraries, over a fake GPU: DLPack, `__cuda_array_interface__`, streams.

The other library is NumPy under another name: its arrays say that they are on a GPU.
"""

import gc
import os
import subprocess
import sys
import time

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, dtypes
from adjoint.errors import AdjointError, DeviceError, DTypeError
from adjoint.ir.values import storage
from adjoint.runtime.device import has_tools
from adjoint.runtime.memory import memory_of
from adjoint.target import TARGETS
from adjoint.tensor.device_capsules import Lent, capsule, row_major, taken
from tests.anew import compiled_anew
from tests.support.fake_gpu import LENT, fake_gpu

pytestmark = pytest.mark.skipif(not has_tools(TARGETS["C"]), reason="no C compiler is installed")


@pytest.fixture(scope="module")
def shared():
    with compiled_anew(), fake_gpu() as found:
        yield found


@pytest.fixture
def gpu(shared):
    gc.collect()
    del shared.calls[:]
    return shared


class Torch:
    """An array of another library that has it on a GPU; `dropped` counts what was given back."""

    def __init__(self, array, device=(2, 0)):
        self.array, self.device, self.dropped, self.stream = array, device, 0, None

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None):
        self.stream = stream
        kind = adjoint.ir.dtype.as_dtype(self.array.dtype)
        return capsule(self.lent(kind), max_version is not None)

    def lent(self, kind):
        return Lent(self.array.ctypes.data, kind, self.array.shape, self.device, self.drop)

    def drop(self):
        self.dropped += 1


class CuPy:
    """An array of another library by `__cuda_array_interface__` alone."""

    def __init__(self, array, **more):
        strides = None if array.flags.c_contiguous else array.strides
        kind, data = array.dtype.str, (array.ctypes.data, False)
        rest = {"strides": strides, "version": 3, "stream": 77} | more
        self.array = array
        self.__cuda_array_interface__ = {"shape": array.shape, "typestr": kind, "data": data} | rest


def aligned(*shape, dtype=np.float32):
    """An array that begins where kernels read."""
    raw = np.zeros(int(np.prod(shape)) * np.dtype(dtype).itemsize + 16, np.uint8)
    begin = -raw.ctypes.data % 16
    array = raw[begin : len(raw) - 16 + begin].view(dtype).reshape(shape)
    array[...] = np.arange(array.size).reshape(shape)
    LENT.add(array.ctypes.data)
    return array


def made(*values, dtype=np.float32):
    return (Tensor(np.array(values, dtype), device="GPU") + 0).realize()


def address(tensor):
    return storage(tensor.uop).address


def waited(condition):
    """A thread gives memory back."""
    for _ in range(200):
        if condition():
            return True
        time.sleep(0.01)
    return False


# ---- in


def test_an_array_on_a_gpu_is_used_where_it_lies_and_given_back_once(gpu):
    other = Torch(aligned(4, 5))
    x = Tensor.from_dlpack(other)
    assert (x.device, x.shape, address(x)) == ("GPU", (4, 5), other.array.ctypes.data)
    assert (x + 1).numpy().tolist() == (other.array + 1).tolist()
    assert other.dropped == 0
    del x
    gc.collect()
    assert other.dropped == 1


def test_the_producer_is_told_the_stream_that_programs_run_on(gpu):
    other = Torch(aligned(3))
    Tensor.from_dlpack(other)
    assert other.stream == gpu.stream.value


def test_what_the_other_library_writes_is_seen_and_changes_no_copy(gpu):
    other = Torch(aligned(3))
    x = Tensor.from_dlpack(other)
    copies = [x.clone(), Tensor(x), +x, adjoint.asarray(x, copy=True), (x * 1).realize()]
    assert x.tolist() == [0, 1, 2]
    other.array[0] = 9
    assert x.tolist() == [9, 1, 2]
    assert [c.tolist() for c in copies] == [[0, 1, 2]] * 5


def test_memory_of_others_is_not_donated(gpu):
    other = Torch(aligned(8))
    f = adjoint.jit(lambda x: x * 2, donate_argnums=0)
    assert f(Tensor.from_dlpack(other)).tolist() == (2 * np.arange(8.0)).tolist()
    assert other.array.tolist() == np.arange(8.0).tolist()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "bfloat16"])
def test_dtypes_come_and_go(gpu, dtype):
    x = Tensor([0, 1, 1], dtype=dtype, device="GPU")
    y = Tensor.from_dlpack(x)
    assert (y.dtype, y.tolist(), address(y)) == (x.dtype, x.tolist(), address(x))


def test_a_dtype_that_is_not_known_is_an_error_and_the_memory_goes_back(gpu):
    other = Torch(aligned(4))
    given = other.__dlpack__(max_version=(1, 0))
    kind = adjoint.tensor.device_capsules._find(id(given))[1]
    adjoint.tensor.dlpack.Versioned.from_address(kind).tensor.dtype.code = 77
    with pytest.raises(DTypeError, match="E2001"):
        taken(given)
    del given
    assert other.dropped == 1


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1, 1)])
def test_few_elements_or_none(gpu, shape):
    x = Tensor.from_dlpack(Tensor(np.ones(shape, np.float32), device="GPU"))
    assert (x + 1).numpy().shape == shape


STRIDED = {
    "transposed": lambda a: a.T,
    "every other": lambda a: a[::2, 1:],
    "backwards": lambda a: a[::-1],
    "repeated": lambda a: np.broadcast_to(a[0], (3, a.shape[1])),
    "begun inside of 16 bytes": lambda a: a.reshape(-1)[1:],
}


@pytest.mark.parametrize("name", STRIDED)
def test_what_kernels_cannot_read_is_copied_on_the_gpu(gpu, name):
    array = STRIDED[name](aligned(6, 5))
    x = adjoint.asarray(CuPy(array))
    assert x.device == "GPU"
    assert "write" not in gpu.calls  # nothing goes by the host
    assert x.numpy().tolist() == array.tolist()
    with pytest.raises(AdjointError, match="E4005"):
        adjoint.asarray(CuPy(array), copy=False)


def test_a_tensor_of_an_array_is_a_copy_on_its_gpu(gpu):
    other = CuPy(aligned(4))
    x = Tensor(other)
    other.array[0] = 9
    assert (x.device, x.tolist()) == ("GPU", [0, 1, 2, 3])
    assert Tensor(other, device="CPU").device == "CPU"
    assert Tensor(other, dtype="int32").tolist() == [9, 1, 2, 3]


def test_the_stream_of_an_array_is_waited_for(gpu):
    Tensor(CuPy(aligned(4)))
    assert "behind 77" in gpu.calls
    Tensor(CuPy(aligned(4), stream=None))
    assert gpu.calls.count("behind 77") == 1


def test_a_masked_array_is_an_error(gpu):
    with pytest.raises(AdjointError, match="E2001"):
        Tensor(CuPy(aligned(4), mask=CuPy(aligned(4))))


@pytest.mark.parametrize(("device", "code"), [((10, 0), "E6002"), ((2, 5), "E6002")])
def test_memory_of_a_device_that_is_not_there_is_an_error(gpu, device, code):
    with pytest.raises(DeviceError, match=code):
        Tensor.from_dlpack(Torch(aligned(4), device))


def test_a_capsule_is_used_once(gpu):
    given = made(1, 2).__dlpack__()
    taken(given).release()
    with pytest.raises(BufferError, match="used before"):
        taken(given)


# ---- out


def test_memory_is_lent_without_a_copy_and_lives_as_long_as_its_taker(gpu):
    x = made(1, 2, 3)
    there, before = address(x), memory_of("GPU").counted()["in use"]
    found = taken(x.__dlpack__(stream=1, max_version=(1, 0)))
    assert (found.address, found.shape, found.device) == (there, (3,), (2, 0))
    assert "copy" not in gpu.calls
    assert "ahead 1" in gpu.calls
    del x
    gc.collect()
    assert memory_of("GPU").counted()["in use"] == before
    found.release()
    assert "behind 1" in gpu.calls
    assert memory_of("GPU").counted()["in use"] < before


def test_a_taker_with_a_stream_of_its_own_is_waited_for_elsewhere(gpu):
    x = made(1, 2, 3)
    found = taken(x.__dlpack__(stream=0xABC, max_version=(1, 0)))
    assert f"ahead {0xABC}" in gpu.calls
    before = memory_of("GPU").counted()["in use"]
    del x
    found.release()
    assert waited(lambda: memory_of("GPU").counted()["in use"] < before)
    assert "wait for all" in gpu.calls


def test_a_capsule_that_nobody_takes_gives_its_memory_back(gpu):
    before = memory_of("GPU").counted()["in use"]
    for version in (None, (1, 0)):
        given = made(1, 2, 3).__dlpack__(max_version=version)
        del given
    gc.collect()
    assert memory_of("GPU").counted()["in use"] == before


def test_no_other_value_is_in_memory_that_is_lent(gpu):
    x = made(1, 2, 3)
    others = [x.clone(), x * 2, +x]
    view = x[:2]
    found = taken(x.__dlpack__(max_version=(1, 0)))
    memory = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_float * 3).from_address(found.address))
    memory[0] = 9
    assert [o.tolist() for o in others] == [[1, 2, 3], [2, 4, 6], [1, 2, 3]]
    assert (x.tolist(), view.tolist()) == ([9, 2, 3], [9, 2])
    found.release()


def test_a_view_is_lent_as_a_copy_unless_that_is_forbidden(gpu):
    x = made(1, 2, 3)
    view = x[1:]
    assert Tensor.from_dlpack(view).tolist() == [2, 3]
    with pytest.raises(BufferError, match="view"):
        view.__dlpack__(copy=False)
    assert address(Tensor.from_dlpack(x)) == address(x)


def test_a_lent_leaf_keeps_its_gradient(gpu):
    w = Tensor([1.0, 2.0], device="GPU", requires_grad=True)
    held = Tensor.from_dlpack(w)
    (w * 3).sum().backward()
    assert w.grad.tolist() == [3, 3]
    assert held.tolist() == [1, 2]


def test_the_interface_has_version_3_and_keeps_the_memory_of_an_old_value(gpu):
    x = made(1, 2, 3)
    said = x.__cuda_array_interface__
    assert (said["shape"], said["typestr"], said["version"]) == ((3,), "<f4", 3)
    assert (said["data"], said["stream"]) == ((address(x), False), gpu.stream.value)
    before = memory_of("GPU").counted()["in use"]
    x += 1
    x.realize()
    others = [made(1, 2, 3) for _ in range(8)]
    assert said["data"][0] not in map(address, [x, *others])  # a consumer may still read there
    del x, others
    gc.collect()
    assert memory_of("GPU").counted()["in use"] < before


def test_tensors_that_are_not_on_a_gpu_have_no_such_interface(gpu):
    assert not hasattr(Tensor([1.0], device="CPU"), "__cuda_array_interface__")
    with pytest.raises(DTypeError, match="DLPack"):
        made(1, dtype=dtypes.bfloat16.np).__cuda_array_interface__  # noqa: B018


def test_a_gpus_tensor_for_the_host_is_a_copy(gpu):
    x = made(1, 2, 3)
    assert x.__dlpack_device__() == (2, 0)
    assert "dltensor" in repr(x.__dlpack__(dl_device=(1, 0)))
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 1))
    with pytest.raises(BufferError, match="stream"):
        x.__dlpack__(stream=0)


def test_rows_of_any_shape_lie_one_after_another():
    assert row_major((2, 3, 4)) == (12, 4, 1)
    assert row_major(()) == ()


def test_python_ends_while_memory_is_shared():
    code = """
import numpy as np
from tests.support.fake_gpu import fake_gpu
from adjoint import Tensor
entered = fake_gpu()
entered.__enter__()
x = (Tensor(np.arange(8.0), device="GPU") + 1).realize()
y, given = Tensor.from_dlpack(x), x.__dlpack__(stream=99)
"""
    alone = os.environ | {"ADJOINT_CACHE": "0"}
    done = subprocess.run([sys.executable, "-c", code], timeout=60, check=False, env=alone)
    assert done.returncode == 0
