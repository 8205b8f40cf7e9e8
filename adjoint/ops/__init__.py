"""One record per op, and nothing else.

In: the record types of `ir/`. Out: the registry `OPS`, filled by importing this package. May not:
run anything, hold tensor data, or know of `Tensor`.
"""

from adjoint.ops import (  # noqa: F401 (to import a module is to enter its records)
    arithmetic,
    casts,
    collective,
    composite,
    contract,
    convolve,
    factor,
    finished,
    fourier,
    fused_attention,
    indexing,
    leaves,
    linalg,
    logic,
    loop_ops,
    mathematics,
    movement,
    random,
    reduce,
    roots,
    running_product,
    scan,
    transform,
    window,
    words,
)
