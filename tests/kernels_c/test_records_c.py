"""Every record's kernels as C, compiled by the system's compiler, against LLVM's, bit for bit.

The operations are the same and nothing is contracted, so no tolerance is needed; only the sign and
payload of a NaN are left open, as processors choose them by the order of operands.
"""

import pytest

from tests.kernels_c.choice import PARTS, SMALL_PARTS, every, few
from tests.kernels_c.corpus import corpus_of
from tests.kernels_c.native_c import check, compiled, compiler, result


def compare(pairs, folder):
    compiler()
    samples = corpus_of(pairs)
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
