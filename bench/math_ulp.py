"""How exact the functions of kernels are, in units in the last place (ulp).

`python bench/math_ulp.py` prints the table of docs/math.md: the largest error on samples that are
dense in all exponents and around the places where a formula changes, and how many nodes a function
takes. References are NumPy's long double (80 bits) for float64 and its float64 for float32; where
NumPy has no such function, mpmath. `python bench/math_ulp.py points` writes the file of reference
points that the tests read; it needs mpmath.
"""

import json
import sys
from pathlib import Path

import mpmath as mp
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from adjoint.ir.dtype import dtypes
from adjoint.ir.opdef import OPS
from adjoint.kernel.decompose import decompose
from tests.kernel.scalars import count, evaluate, leaf

POINTS = Path(__file__).resolve().parents[1] / "tests" / "compiler" / "math_points.json"
mp.mp.prec = 160
EXACT = {
    "exp": mp.exp,
    "exp2": lambda x: mp.mpf(2) ** x,
    "expm1": mp.expm1,
    "log": mp.log,
    "log2": lambda x: mp.log(x) / mp.log(2),
    "log10": lambda x: mp.log(x) / mp.log(10),
    "log1p": mp.log1p,
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "asin": mp.asin,
    "acos": mp.acos,
    "atan": mp.atan,
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "tanh": mp.tanh,
    "asinh": mp.asinh,
    "acosh": mp.acosh,
    "atanh": mp.atanh,
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "erf": mp.erf,
    "erfinv": mp.erfinv,
    "lgamma": lambda x: mp.loggamma(x).real,
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "pow": lambda x, y: mp.power(x, y),
    "atan2": mp.atan2,
    "hypot": mp.hypot,
    "logaddexp": lambda x, y: mp.log(mp.exp(x) + mp.exp(y)),
}
NUMPY = {
    name: getattr(np, {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}.get(name, name))
    for name in (
        *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan"),
        *("asin", "acos", "atan", "sinh", "cosh", "tanh", "hypot", "logaddexp"),
    )
} | {
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "pow": np.power,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: np.exp(np.minimum(x, 0)) / (1 + np.exp(-np.abs(x))),
}
WIDTH = {"float32": 88.0, "float64": 709.0}  # exp of it is nearly the largest number
HUGE = {"float32": 3e38, "float64": 1e308}


def _signed(rng, values):
    return values * rng.choice([-1.0, 1.0], len(values))


def _scales(rng, n, low, high):
    return np.exp(rng.uniform(np.log(low), np.log(high), n))


def arguments(name, kind, n, seed=0):
    """Vectors of arguments, one per operand, in float64 and still to be rounded."""
    rng, width, huge = np.random.default_rng(seed), WIDTH[kind], HUGE[kind]
    third = n // 3
    small = _signed(rng, _scales(rng, third, 1 / huge, 1.0))

    def mixed(*parts):
        return np.concatenate(parts)

    if name in ("exp", "expm1", "sinh", "cosh", "sigmoid"):
        reach = width * (1.17 if kind == "float32" else 1.05)
        wide = rng.uniform(-reach if name in ("exp", "sigmoid") else -width, width, third)
        return [mixed(small, rng.uniform(-3, 3, third), wide)]
    if name == "exp2":
        return [mixed(small, rng.uniform(-1, 1, third), rng.uniform(-1.68, 1.44, third) * width)]
    if name in ("tanh", "erf"):
        return [mixed(small, rng.uniform(-1.2, 1.2, third), rng.uniform(-20, 20, third))]
    if name in ("log", "log2", "log10", "rsqrt"):
        wide = _scales(rng, third, 1 / huge / 100, huge)
        return [mixed(wide, rng.uniform(0.5, 2, third), rng.uniform(0, 10, third))]
    if name == "log1p":
        return [mixed(small, rng.uniform(-1, 2, third), _scales(rng, third, 1, huge))]
    if name in ("sin", "cos", "tan"):
        turns = np.rint(rng.uniform(0, 1e5, third)) * (np.pi / 2)
        return [mixed(small, rng.uniform(-7, 7, third), turns, _scales(rng, third // 20, 1, huge))]
    if name in ("asin", "acos", "atanh", "erfinv"):
        edge = 1 - _scales(rng, third, 1e-7 if kind == "float32" else 1e-16, 1)
        return [mixed(small, rng.uniform(-1, 1, third), _signed(rng, edge))]
    if name in ("atan", "asinh"):
        return [mixed(small, rng.uniform(-4, 4, third), _scales(rng, third, 1, huge))]
    if name == "acosh":
        wide = _scales(rng, third, 1, huge)
        return [mixed(1 + _scales(rng, third, 1e-7, 1), rng.uniform(1, 4, third), wide)]
    if name == "lgamma":
        wide = _scales(rng, third, 1e-30, 1e30)
        return [mixed(rng.uniform(0.5, 2.5, third), rng.uniform(0, 12, third), wide)]
    if name == "pow":
        base = mixed(_scales(rng, n, 1 / huge, huge), rng.uniform(0.5, 2, n))
        limit = rng.uniform(-0.99, 0.99, 2 * n) * width
        return [base, limit / np.where(base == 1, 1, np.log(base))]
    if name == "logaddexp":
        return [rng.uniform(0, 20, n), rng.uniform(0, 20, n)]  # below 0 the sum may cancel
    first, second = _scales(rng, n, 1e-15, 1e15), _scales(rng, n, 1e-15, 1e15)
    return [_signed(rng, first), _signed(rng, second * (first / second) ** rng.uniform(0, 1, n))]


def rounded(vectors, kind):
    with np.errstate(all="ignore"):
        return [v.astype(kind) for v in vectors]


def built(name, kind):
    """The decomposed function and its leaves."""
    dtype = getattr(dtypes, kind)
    leaves = tuple(leaf(i, dtype) for i in range(2 if name in TWO else 1))
    return decompose(OPS[name], leaves, None, dtype), leaves


TWO = ("pow", "atan2", "hypot", "logaddexp")


def exact_pair(name, values):
    """The exact value as a sum of two float64."""
    mp.mp.prec = 1300 if name in ("sin", "cos", "tan") and abs(values[0]) > 1e6 else 160
    value = EXACT[name](*[mp.mpf(float(v)) for v in values])
    high = float(value)
    return high, float(value - mp.mpf(high)) if np.isfinite(high) else 0.0


def reference(name, vectors, kind):
    if name in NUMPY and not (name in ("sin", "cos", "tan") and kind == "float64"):
        wide = np.longdouble if kind == "float64" else np.float64
        with np.errstate(all="ignore"):
            return NUMPY[name](*[v.astype(wide) for v in vectors]).astype(np.longdouble)
    pairs = [exact_pair(name, values) for values in zip(*vectors, strict=True)]
    high, low = np.array(pairs, np.float64).T
    return high.astype(np.longdouble) + low.astype(np.longdouble)


def errors(got, wanted):
    """|got - wanted| in units of the last place of the rounded exact value."""
    with np.errstate(all="ignore"):
        near = np.abs(wanted).astype(got.dtype)
        unit = np.spacing(np.minimum(near, np.finfo(got.dtype).max)).astype(np.longdouble)
        same = (got == wanted.astype(got.dtype)) | (np.isnan(got) & np.isnan(wanted))
        error = np.abs(got.astype(np.longdouble) - wanted) / unit
    return np.where(same & ~np.isfinite(wanted.astype(got.dtype)), 0, error)


def measure(name, kind):
    """The largest error, where it is, and the number of nodes."""
    slow = name not in NUMPY or (name in ("sin", "cos", "tan") and kind == "float64")
    vectors = rounded(arguments(name, kind, 15_000 if slow else 1_000_000), kind)
    node, leaves = built(name, kind)
    got = evaluate(node, dict(zip(leaves, vectors, strict=True)))
    error = errors(got, reference(name, vectors, kind))
    worst = int(np.nanargmax(error))
    return float(error[worst]), [float(v[worst]) for v in vectors], count(node, leaves)


def table():
    print("| function | float32 ulp | nodes | float64 ulp | nodes |")
    print("|---|---|---|---|---|")
    for name in EXACT:
        cells = [name]
        for kind in ("float32", "float64"):
            error, _, nodes = measure(name, kind)
            cells += [f"{error:.2f}", str(nodes)]
        print("| " + " | ".join(cells) + " |", flush=True)


def write_points(n=45):
    """A few arguments for each function, and the exact values as sums of two float64, in hex."""
    found = {}
    for name in EXACT:
        for kind in ("float32", "float64"):
            vectors = rounded(arguments(name, kind, n, seed=7), kind)
            lines = []
            for values in zip(*vectors, strict=True):
                plain = [float(v) for v in values]
                if np.all(np.isfinite(plain)):
                    pair = exact_pair(name, plain)
                    lines.append(" ".join(v.hex() for v in (*plain, *pair)))
            found[f"{name} {kind}"] = lines
    POINTS.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_points() if sys.argv[1:] == ["points"] else table()
