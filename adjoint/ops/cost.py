"""What the elements of a kernel cost: which results are worth keeping.

What may live here: this table. What may not: how kernels are formed.
"""

DEAR = frozenset(
    {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow", "logaddexp", "hypot"}
    | {"sin", "cos", "tan", "asin", "acos", "atan", "atan2"}
    | {"sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid"}
    | {"erf", "erfinv", "lgamma", "threefry", "mod", "fmod", "floordiv"}
)
