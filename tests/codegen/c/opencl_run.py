"""Runs kernels in OpenCL C. A program of its own: the environment of OpenCL has no Adjoint in it.

`python opencl_run.py JOB RESULT`: the job is a pickled dict with `source`, the text of all kernels,
`options` of the compiler, and `kernels`, a list of (name, runs). A run has `memory` (arrays of
bytes), `pieces` (which of them each buffer parameter is), `scalars` (NumPy scalars, the parameters
behind the buffers), and the sizes of the grid of threads: `threads` in all, `group` of a group,
`offset` of the first. The result is the memory of every run after it. `python opencl_run.py` alone
says which device there is, and whether it has doubles.
"""

from __future__ import annotations

import json
import pickle
import sys
from typing import Any

import numpy as np
import pyopencl as cl

OPTIONS = ["-cl-std=CL1.2", "-cl-fp32-correctly-rounded-divide-sqrt", "-w"]


def device() -> Any:
    """A device, if there is one that computes in double precision, and whose compiler works: one
    that does not know the processor compiles nothing."""
    every = [d for p in cl.get_platforms() for d in p.get_devices()]
    if not every:
        raise SystemExit("there is no OpenCL device")
    found = max(every, key=lambda d: bool(d.double_fp_config))
    try:
        cl.Program(cl.Context([found]), "kernel void none() {}").build(OPTIONS)
    except cl.RuntimeError as error:
        lines = str(error).splitlines()
        said = next((line for line in lines if line.startswith("error")), lines[0])
        raise SystemExit(f"the OpenCL device {found.name} compiles nothing: {said}") from None
    return found


def run(context: Any, queue: Any, kernel: Any, call: dict[str, Any]) -> list[Any]:
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    memory = [np.array(a) if a.size else np.zeros(8, np.uint8) for a in call["memory"]]
    buffers = [cl.Buffer(context, flags, hostbuf=a) for a in memory]
    kernel.set_args(*(buffers[i] for i in call["pieces"]), *call["scalars"])
    if all(call["threads"]):
        sizes = call["threads"], call["group"], call["offset"]
        cl.enqueue_nd_range_kernel(queue, kernel, *sizes)
    for array, buffer in zip(memory, buffers, strict=True):
        cl.enqueue_copy(queue, array, buffer)
    queue.finish()
    return [m[: a.size] for m, a in zip(memory, call["memory"], strict=True)]


def main(job: str, result: str) -> None:
    """Run a job."""
    with open(job, "rb") as file:
        wanted = pickle.load(file)
    context = cl.Context([device()])
    queue = cl.CommandQueue(context)
    program = cl.Program(context, wanted["source"]).build(OPTIONS + wanted["options"])
    found = []
    for name, runs in wanted["kernels"]:
        kernel = cl.Kernel(program, name)
        found.append([run(context, queue, kernel, call) for call in runs])
    with open(result, "wb") as file:
        pickle.dump(found, file)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        main(*sys.argv[1:])
    else:
        found = device()
        print(json.dumps({"name": found.name, "doubles": bool(found.double_fp_config)}))
