"""Remainders and rounded quotients of floats, exact for every pair of numbers.

|a| = A·2ⁱ and |b| = B·2ʲ with whole A and B; where d = i - j is not negative, the remainder is
A·2ᵈ mod B, times 2ʲ. 2ᵈ mod B comes from a few squarings mod B: no loop, however large d is.
"""

from __future__ import annotations

import math

from adjoint.ir.dtype import dtypes
from adjoint.ir.uop import UOp
from adjoint.kernel.math_nodes import (
    absolute,
    apply,
    bits,
    both,
    cast,
    either,
    fma,
    format_of,
    like,
    masked,
    minus,
    over,
    plus,
    power_of_two,
    shifted_right,
    test,
    times,
    where,
    with_sign,
)
