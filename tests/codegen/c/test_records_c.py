"""Every record's kernels as C, compiled by the system's compiler, against LLVM's, bit for bit.

The operations are the same and nothing is contracted, so no tolerance is needed; only the sign and
payload of a NaN are left open, as processors choose them by the order of operands.
"""

import numpy as np
import pytest

from adjoint import Tensor
from tests.codegen.c.choice import PARTS, SMALL_PARTS, every, few
from tests.codegen.c.corpus import Corpus, corpus_of
from tests.codegen.c.native_c import check, compiled, compiler, result


def compare(pairs, folder):
    compiler()
    compare_samples(corpus_of(pairs), folder)


def compare_samples(samples, folder):
    functions = compiled([s.program for s in samples], folder)
    for number, (sample, function) in enumerate(zip(samples, functions, strict=True)):
        for run in sample.runs:
            check(sample, run, result(function, run), number)


@pytest.mark.parametrize("part", range(SMALL_PARTS))
def test_kernels_in_c_give_the_bits_of_llvm(part, tmp_path):
    compare(few(part), tmp_path)


@pytest.mark.targets
@pytest.mark.parametrize("part", range(PARTS))
def test_all_kernels_in_c_give_the_bits_of_llvm(part, tmp_path):
    compare(every(part), tmp_path)


LINES = [(5, 3), (64, 9), (90, 49), (9, 64), (3, 100), (50, 196), (20, 784)]


def test_sums_over_lines_of_memory_in_c_give_the_bits_of_llvm(tmp_path):
    compiler()
    corpus = Corpus()
    with corpus.recording():
        for count, length in LINES:
            corpus.where = f"lines of {length}"
            x = np.linspace(-1, 2, count * 2 * length).reshape(count, 2, length)
            Tensor(x).var((0, 2)).realize()
    compare_samples(list(corpus.found.values()), tmp_path)
