"""First and second derivatives of whole programs, against one another and against differences.

What may live here: these modes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import Tensor, grad, hessian, jacfwd, jacrev, jit, jvp
from tests.fuzz.compare import Arrays, bits, near
from tests.fuzz.program import Array, number_type
from tests.fuzz.runs import UNKNOWN, Runs, guarded, values
from tests.fuzz.source import SEED, Whole, function, made, narrowed, narrowest, widened
from tests.fuzz.writer import on

STEP = 1e-5  # of differences
MOST_SECOND = 8  # elements of an input that second derivatives are taken of
# Programs of these alone are smooth; of others a derivative where two branches meet is the one of
# the branch taken, so they are differentiated at points where nothing meets.
CALLS = re.compile(r"\b([a-zA-Z_]\w*)\(|( [<>]=? )")
_WORDS = """add sub mul neg square sin cos tan tanh sigmoid erf atan asinh silu gelu softplus
    logsigmoid mish exp exp2 expm1 sinh cosh log log2 log10 log1p sqrt rsqrt reciprocal pow div
    true_div cumsum cumprod logcumsumexp prod sum mean var softmax log_softmax logsumexp layernorm
    rmsnorm matmul einsum reshape permute expand flip shrink pad cat stack transpose unsqueeze
    squeeze flatten roll repeat triu tril chunk checkpoint scan fori_loop lerp addcmul logaddexp
    full zeros ones arange eye zeros_like ones_like full_like realize conv2d avg_pool2d range
    rand randn uniform"""
SMOOTH = frozenset(_WORDS.split())


def floats(program: Whole) -> list[str]:
    """The arguments that derivatives are taken of, as on REF."""
    with on("REF"):
        given = made(program, program.arguments)
    return [n for n, t in given.items() if isinstance(t, Tensor) and t.dtype.is_float]


def real(results: Any) -> list[Tensor]:
    """The float results, complex ones by their real parts."""
    found = [t.real() if t.dtype.is_complex else t for t in results]
    return [t for t in found if t.dtype.is_float]


def weight(shape: tuple[int, ...], number: int, dtype: str) -> Tensor:
    """Numbers near one that results are weighed with."""
    count = int(np.prod(shape))
    numbers = 1 + ((np.arange(count) * 37 + 11 * number) % 63 - 31) / 64
    return Tensor(numbers.reshape(shape).astype(number_type(dtype)))


def _noise(shape: tuple[int, ...], number: int) -> Array:
    return np.random.default_rng(number + 1).uniform(0.003, 0.01, shape)


class Smooth:
    """A program as a function of some float arguments, the others given."""

    def __init__(self, program: Whole, names: list[str] | None = None):
        self.program = program
        Tensor.manual_seed(SEED)
        self.given = made(program, list(program.inputs))
        self.names = floats(program) if names is None else names
        self.at = [np.asarray(self.given[n].numpy()) for n in self.names]
        self.everywhere = {a or b for a, b in CALLS.findall(program.body)} <= SMOOTH
        if not self.everywhere:
            self.at = [a + _noise(a.shape, i).astype(a.dtype) for i, a in enumerate(self.at)]
        self.fn = function(program, self.given)

    def results(self, *chosen: Tensor) -> list[Tensor]:
        program, given = self.program, self.given
        if program.writes:  # what is written begins as it did before
            own = [n for n in program.inputs if not n.startswith("l")]
            given = given | made(program, own)
        if program.draws:
            Tensor.manual_seed(SEED)
        given = given | dict(zip(self.names, chosen, strict=True))
        fn = function(program, given) if program.writes else self.fn
        return real(fn(*(given[n] for n in program.arguments)))

    def loss(self, *chosen: Tensor) -> Tensor:
        terms = [
            (t * weight(t.shape, i, t.dtype.name)).sum().cast("float64")
            for i, t in enumerate(self.results(*chosen))
        ]
        return sum(terms[1:], terms[0])

    def plain_loss(self) -> Callable[..., Tensor]:
        """The loss of a program that writes and draws nothing, as jit likes it: nothing is made
        inside but what the program makes."""
        fn, given, names, order = self.fn, self.given, self.names, self.program.arguments
        like = self.results(*self.tensors())
        weights = [weight(t.shape, i, t.dtype.name) for i, t in enumerate(like)]

        def loss(*chosen: Tensor) -> Tensor:
            own = {**given, **dict(zip(names, chosen, strict=True))}
            results = real(fn(*[own[n] for n in order]))
            terms = [(t * w).sum().cast("float64") for t, w in zip(results, weights, strict=True)]
            return sum(terms[1:], terms[0])

        return loss

    def tensors(self, by: float = 0.0) -> list[Tensor]:
        """The arguments, moved along the tangents."""
        moved = zip(self.at, self.tangents(), strict=True)
        return [Tensor((a + by * t).astype(a.dtype) if by else a) for a, t in moved]

    def tangents(self) -> list[Array]:
        rng = np.random.default_rng(3)
        return [(rng.integers(-31, 32, a.shape) / 32).astype(a.dtype) for a in self.at]

    def where_known(self, derivative: Array) -> Array:
        """A derivative; NaN is an answer of functions that have points without one: infinity here,
        which is no answer of differences."""
        return derivative if self.everywhere else np.where(np.isnan(derivative), np.inf, derivative)

    @property
    def useful(self) -> bool:
        """Whether there is anything to differentiate."""
        return bool(self.names) and bool(self.results(*self.tensors()))


def gradients_of(program: Whole, device: str, wrap: Any = None) -> Arrays:
    """The gradients by all floats among the inputs."""
    with on(device):
        smooth = Smooth(program)
        if not smooth.useful:
            return {}
        loss = smooth.plain_loss() if wrap else smooth.loss
        derive = grad(loss, tuple(range(len(smooth.names))))
        found = (wrap(derive) if wrap else derive)(*smooth.tensors())
        return values({f"{n}.grad": t for n, t in zip(smooth.names, found, strict=True)})


def gradients(runs: Runs) -> str:
    """Gradients on the CPU are REF's."""
    program = runs.program
    if program.aliased:
        return ""  # derivatives are of separate values
    (lazy, no), (ref, why) = (
        runs.get(f"grad on {d}", lambda d=d: gradients_of(program, d)) for d in ("CPU", "REF")
    )
    if lazy is None or ref is None:
        same = no.split(": ")[1:2] == why.split(": ")[1:2]
        return "" if same else f"CPU {no or 'gives values'}; REF {why or 'gives values'}"
    other = narrowed if narrowest(program) == "float64" else widened
    return near(ref, lazy, narrowest(program), lambda: gradients_of(other(program), "REF"))


def jitted_gradients(runs: Runs) -> str:
    """Jitted gradients have the bits of lazy ones."""
    program = runs.program
    if program.aliased or program.writes or program.draws:
        return ""  # their functions make inputs anew, which jit cannot watch
    lazy, _ = runs.get("grad on CPU", lambda: gradients_of(program, "CPU"))
    if not lazy:
        return ""
    found, why = runs.get("jitted grad", lambda: gradients_of(program, "CPU", jit))
    if found is None:
        return "" if UNKNOWN in why else f"lazy gives gradients; {why}"
    return bits(lazy, found, "lazy")


def forward(runs: Runs) -> str:
    """In float64, forward mode is the transpose of reverse mode, and both are differences."""
    if runs.program.aliased or runs.program.draws:
        return ""  # rows of a batch, and so the columns of a matrix, have draws of their own
    with on("CPU"):
        return guarded(lambda: _forward(Smooth(widened(runs.program))), "jvp")


def _forward(smooth: Smooth) -> str:
    if not smooth.useful:
        return ""
    tangents = smooth.tangents()
    _, moved = jvp(lambda *x: tuple(smooth.results(*x)), smooth.tensors(), [*map(Tensor, tangents)])
    along = list(values({str(i): t for i, t in enumerate(moved)}).values())
    weights = [weight(a.shape, i, "float64").numpy() for i, a in enumerate(along)]
    pulled = grad(smooth.loss, tuple(range(len(smooth.names))))(*smooth.tensors())
    back = list(values(dict(zip(smooth.names, pulled, strict=True))).values())
    ahead = [np.sum(w * a) for w, a in zip(weights, along, strict=True)]
    behind = [np.sum(g * t) for g, t in zip(back, tangents, strict=True)]
    parts = [np.abs(w * a).sum() for w, a in zip(weights, along, strict=True)]
    parts += [np.abs(g * t).sum() for g, t in zip(back, tangents, strict=True)]
    size = 1 + float(sum(parts))
    off = abs(float(sum(ahead)) - float(sum(behind)))
    if np.isfinite(size) and off > 1e-7 * size:
        return f"<w, Jt> = {sum(ahead)}, <Jᵀw, t> = {sum(behind)}"
    rough = smooth.program.cuts or not all(np.isfinite(a).all() for a in smooth.at)
    return "" if rough else _differences(smooth, along)


def _at(smooth: Smooth, by: float) -> list[Array]:
    found = smooth.results(*smooth.tensors(by))
    return list(values({str(i): t for i, t in enumerate(found)}).values())


def _differences(smooth: Smooth, along: list[Array]) -> str:
    """Where the function is smooth between all points looked at, differences are derivatives."""
    below, middle, above, near_by = (_at(smooth, by) for by in (-STEP, 0.0, STEP, STEP / 2))
    for number, derivative in enumerate(along):
        derivative = smooth.where_known(derivative)
        word = slope_differs(derivative, *(p[number] for p in (below, middle, above, near_by)))
        if word:
            return f"out[{number}] along t: {word}"
    return ""


def slope_differs(slope: Array, below: Array, middle: Array, above: Array, half: Array) -> str:
    """What differs between a derivative and differences, where those agree among themselves."""
    with np.errstate(all="ignore"):
        left, right = (middle - below) / STEP, (above - middle) / STEP
        closer = (half - middle) * 2 / STEP
        size = 1 + np.abs(left) + np.abs(middle)
        trusted = (np.abs(left - right) < 1e-3 * size) & (np.abs(closer - right) < 1e-3 * size)
        bad = trusted & ~np.isinf(slope) & ~(np.abs((left + right) / 2 - slope) < 1e-2 * size)
    if not bad.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    return f"{slope[at]!r} at {list(at)}, differences give {((left + right) / 2)[at]!r}"


def second(runs: Runs) -> str:
    """In float64, second derivatives are symmetric, the same in all orders, and differences."""
    program = widened(runs.program)
    if program.aliased or program.draws:
        return ""
    with on("CPU"):
        found = (guarded(lambda n=n: _second(program, n), "hessian") for n in _few(program))
        return next(filter(None, found), "")


def _few(program: Whole) -> list[str]:
    """Two float arguments at most, of few elements."""
    names = floats(program)
    with on("REF"):
        sizes = {n: t.numel() for n, t in made(program, names).items()}
    return [n for n in names if 0 < sizes[n] <= MOST_SECOND][:2]


def _second(program: Whole, name: str) -> str:
    smooth = Smooth(program, [name])
    if not smooth.useful:
        return ""
    x = smooth.tensors()[0]
    found = {
        "hessian": hessian(smooth.loss)(x),
        "reverse over forward": jacrev(jacfwd(smooth.loss))(x),
        "reverse over reverse": jacrev(jacrev(smooth.loss))(x),
    }
    n = x.numel()
    matrices = {name: a.reshape(n, n) for name, a in values(found).items()}
    rough = program.cuts or not all(np.isfinite(a).all() for a in smooth.at)
    return _symmetric(matrices) or ("" if rough else _curved(smooth, matrices["hessian"]))


def _symmetric(matrices: dict[str, Array]) -> str:
    first = matrices["hessian"]
    size = 1 + float(np.abs(first).max(initial=0.0))
    if not np.isfinite(size):
        return ""
    for name, matrix in matrices.items():
        for other, what in ((matrix.T, "is not symmetric"), (first, "is not the hessian")):
            bad = ~(np.abs(matrix - other) <= 1e-7 * size)
            if bad.any():
                at = tuple(int(i) for i in np.argwhere(bad)[0])
                return f"{name} {what}: {matrix[at]!r} and {other[at]!r} at {list(at)}"
    return ""


def _curved(smooth: Smooth, matrix: Array) -> str:
    slope = grad(smooth.loss)
    points = [
        values({"g": slope(*smooth.tensors(by))})["g"].reshape(-1)
        for by in (-STEP, 0.0, STEP, STEP / 2)
    ]
    slopes = smooth.where_known(matrix @ smooth.tangents()[0].reshape(-1))
    word = slope_differs(slopes, *points)
    return f"H t: {word}" if word else ""
