"""Records of control flow: BRANCH, LOOP (a scan with a known length), WHILE.

Their attributes hold closed functions, and their derivatives and batching rules differentiate and
batch those functions; that needs both engines, so these records stand above them and not in
`ops/`. Each has several results. What may live here: the three records and their rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from adjoint.autodiff.forward import push_forward
from adjoint.autodiff.reverse import compute_gradient, or_zeros, results, zeros_of
from adjoint.batching import batch
from adjoint.errors import AutodiffError
from adjoint.ir.arg import Arg
from adjoint.ir.batch import Flags, Sources, broadcast_batch, broadcast_batches, same_op
from adjoint.ir.derivative import Vjp
from adjoint.ir.function import Function, function_of, functions_in, input_like
from adjoint.ir.kernel_kind import EXPAND, Control
from adjoint.ir.opdef import OPS, OpDef, internal
from adjoint.ir.uop import UOp, toposort
from adjoint.transforms.effects import without_effects

Nodes = Sequence[UOp]


def _floats(nodes: Nodes) -> list[int]:
    """The positions that carry a derivative."""
    return [i for i, n in enumerate(nodes) if n.dtype.is_inexact]


def _fresh(nodes: Nodes, prefix: str) -> list[UOp]:
    """Variables of these types that no parameter is confused with."""
    return [input_like(f"{prefix}{i}", n) for i, n in enumerate(nodes)]


def pullback_of(function: Function, needs: Flags) -> Function:
    """(inputs, cotangents of the float outputs) → cotangents of the float inputs, zeros for those
    that need none: nothing on their way has to have a derivative."""
    function = without_effects(function)
    outputs = [function.outputs[i] for i in _floats(function.outputs)]
    seeds = _fresh(outputs, "g")
    wanted = [function.inputs[i] for i in _floats(function.inputs)]
    asked = [function.inputs[i] for i in _floats(function.inputs) if needs[i]]
    found = joint_gradient(outputs, seeds, asked)
    return function_of([*function.inputs, *seeds], or_zeros([found.get(x) for x in wanted], wanted))


def tangent_of(function: Function, moving: Flags) -> Function:
    """(inputs, tangents of the float inputs) → (outputs, tangents of the float outputs); those of
    inputs that do not move are not looked at."""
    function = without_effects(function)
    places = _floats(function.inputs)
    tangents = _fresh([function.inputs[i] for i in places], "t")
    roots = [function.outputs[i] for i in _floats(function.outputs)]
    rows = zip(places, tangents, strict=True)
    pushed = push_forward(roots, {function.inputs[i]: t for i, t in rows if moving[i]})
    outputs = [*function.outputs, *or_zeros(pushed, roots)]
    return function_of([*function.inputs, *tangents], outputs)


def batched_function(function: Function, flags: Sequence[bool], size: int) -> Function:
    """The function with one more axis on the flagged inputs and on every output."""
    wide = {
        n: OPS["input"](f"b{i}", (size, *n.shape), n.dtype, n.device)
        for i, (n, flag) in enumerate(zip(function.inputs, flags, strict=True))
        if flag
    }
    outputs = [broadcast_batch(*pair, size) for pair in batch(function.outputs, wide, size)]
    return function_of([wide.get(n, n) for n in function.inputs], outputs)


def _record(name: str, doc: str, **fields: Any) -> OpDef:
    return internal(name, doc, "primitive", kernel=Control(name), takes_functions=True, **fields)


# ---- BRANCH: (condition, operands) → the results of one of two functions


class BranchArg(Arg):
    true: Function
    false: Function


def _branch(condition: UOp, operands: Nodes, true: Function, false: Function) -> UOp:
    return UOp(branch, (condition, *operands), BranchArg(true, false))


def _by_sides(make: Callable[[UOp, Nodes, Function, Function], UOp]) -> Vjp:
    """The derivative of a node with two functions: a similar node, with the derivatives of both.

    Each example has the derivative of its own side; that of the other side is not added. It would
    be zero times something, and NaN if that is infinite.
    """

    def pull(g: Any, y: Any, c: UOp, *x: UOp, true: Function, false: Function, needs: Flags) -> Any:
        places = _floats(true.outputs)
        seeds = or_zeros([g[i] for i in places], [true.outputs[i] for i in places])
        node = make(c, [*x, *seeds], *(pullback_of(f, needs[1:]) for f in (true, false)))
        return [None, *_spread(results(node), x)]

    def push(t: Any, y: Any, c: UOp, *x: UOp, true: Function, false: Function) -> Any:
        places = _floats(x)
        tangents = or_zeros([t[1 + i] for i in places], [x[i] for i in places])
        moving = tuple(d is not None for d in t[1:])
        node = make(c, [*x, *tangents], *(tangent_of(f, moving) for f in (true, false)))
        return _spread(results(node)[len(true.outputs) :], true.outputs)

    return Vjp(pull, tangent=push, selective=True)


def _spread(parts: Nodes, like: Nodes) -> tuple[UOp | None, ...]:
    """The parts in the places of the floats among these, None elsewhere."""
    rest = iter(parts)
    return tuple(next(rest) if n.dtype.is_inexact else None for n in like)


def _branch_batch(node: UOp, src: Sources, batched: Flags, size: int) -> UOp:
    """One condition for all: branch over batched functions. One per example: both, and select."""
    if batched[0]:
        return _choose_batch(node, src, batched, size)
    return _branch(src[0], src[1:], *(batched_function(f, batched[1:], size) for f in node.arg))


def _check_apart(op: str, functions: Iterable[Any], flags: Flags) -> None:
    """Raise for a collective in a branch: examples on different branches cannot take part in it."""
    if any(_meets(f, flags) for f in functions):
        problem = "a collective is inside, where not all examples go"
        fix = "call it outside, or decide by a value that is the same for all (psum, pmax, ...)"
        raise AutodiffError("E5004", problem, op=op, help=fix)


def _meets(function: Function, flags: Flags) -> bool:
    """Whether a function has a collective over the axis that the flagged inputs get."""
    inputs = {n for n, flag in zip(function.inputs, flags, strict=True) if flag}
    for node in toposort(function.outputs):
        if node.op.name == "axis_gather" and node.src[1] in inputs:
            return True
        if any(_meets(f, (True,) * len(f.inputs)) for f in functions_in(node)):
            return True
    return False


def choose(condition: UOp, operands: Nodes, true: Function, false: Function) -> UOp:
    """The results of one of two functions for each example."""
    return UOp(choose_op, (condition, *operands), BranchArg(true, false))


def _chosen(c: UOp, *x: UOp, true: Function, false: Function) -> UOp:
    return bundle([_select(c, a, b) for a, b in zip(true(*x), false(*x), strict=True)])


def _choose_reference(c: Any, *operands: Any, true: Function, false: Function, run: Any) -> Any:
    sides = zip(*(run(f, list(operands)) for f in (true, false)), strict=True)
    return tuple(np.where(_led(c, np.ndim(a)), a, b) for a, b in sides)


def _led(c: Any, rank: int) -> Any:
    return np.reshape(c, (*np.shape(c), *([1] * (rank - np.ndim(c)))))


def _choose_batch(node: UOp, src: Sources, batched: Flags, size: int) -> UOp:
    if batched[0]:
        _check_apart("cond", node.arg, batched[1:])
    every = broadcast_batches(src, batched, size)
    wide = [batched_function(f, [True] * len(f.inputs), size) for f in node.arg]
    return choose(every[0], every[1:], *wide)


def _select(condition: UOp, a: UOp, b: UOp) -> UOp:
    shape = (*condition.shape, *([1] * (len(a.shape) - len(condition.shape))))
    return condition.reshape(shape).where(a, b)


branch = _record(
    "branch",
    "The results of `true` or of `false` on the operands, by a scalar condition.",
    call=_branch,
    arg=BranchArg,
    infer=lambda src, arg: arg.true.types,
    ad=_by_sides(_branch),
    reference=lambda c, *x, true, false, run: tuple(run(true if bool(c) else false, list(x))),
    batch=_branch_batch,
)
choose_op = internal(
    "choose",
    "The results of `true` or of `false` for each example, by a condition per example; every "
    "operand and every result has the condition's axes in front.",
    "composite",
    call=choose,
    arg=BranchArg,
    infer=lambda src, arg: arg.true.types,
    ad=_by_sides(choose),
    body=_chosen,
    reference=_choose_reference,
    batch=_choose_batch,
    takes_functions=True,
    kernel=EXPAND,
)
bundle_op = internal(
    "bundle",
    "Several values as one node with several results.",
    "primitive",
    call=lambda *x: UOp(OPS["bundle"], x),
    infer=lambda src, arg: (tuple(s.shape for s in src), tuple(s.dtype for s in src)),
    ad=Vjp(lambda g, y, *x: tuple(g), tangent=lambda t, y, *x: tuple(t)),
    reference=lambda *x: tuple(x),
    batch=same_op,
    kernel=EXPAND,
)


def bundle(nodes: Nodes) -> UOp:
    """A node whose parts are these."""
    return UOp(bundle_op, tuple(nodes))


def joint_gradient(
    roots: Nodes, cotangents: Sequence[UOp | None], targets: Nodes, leaves: Iterable[UOp] = ()
) -> dict[UOp, UOp]:
    """The gradients of several roots together, in one walk."""
    return compute_gradient(bundle(roots), list(cotangents), targets, set(leaves))  # type: ignore[arg-type]


# ---- LOOP: carries, sequences, constants → final carries, stacked outputs


class LoopArg(Arg):
    body: Function  # (carries, one element of each sequence, constants) → (carries, outputs)
    carries: int
    sequences: int
    length: int
    reverse: bool


def loop(operands: Nodes, arg: LoopArg) -> tuple[UOp, ...]:
    """The parts of a LOOP node."""
    return results(UOp(loop_op, tuple(operands), arg))


def _loop_type(src: tuple[UOp, ...], arg: LoopArg) -> tuple[Any, Any]:
    shapes, kinds = arg.body.types
    n = arg.carries
    return (*shapes[:n], *((arg.length, *s) for s in shapes[n:])), kinds


def _loop_reference(
    *operands: Any, body: Function, carries: int, sequences: int, length: int, reverse: bool,
    run: Any,
) -> tuple[Any, ...]:  # fmt: skip
    state = list(operands[:carries])
    xs, constants = operands[carries : carries + sequences], operands[carries + sequences :]
    rows: list[list[Any]] = []
    for i in reversed(range(length)) if reverse else range(length):
        out = run(body, [*state, *(x[i] for x in xs), *constants])
        state = out[:carries]
        rows.append(out[carries:])
    rows = rows[::-1] if reverse else rows
    stacked = [
        np.stack([row[j] for row in rows]) if rows else np.empty((0, *node.shape), node.dtype.np)
        for j, node in enumerate(body.outputs[carries:])
    ]
    return (*state, *stacked)


def _loop_vjp(g: Any, y: Any, *x: UOp, needs: Flags, **attrs: Any) -> list[UOp | None]:
    """A loop the other way over the carries of every step, kept by running the loop once more."""
    arg = LoopArg(**attrs)
    n, m = arg.carries, arg.sequences
    body = arg.body
    history = _with_history(x, arg)
    back, order = _backward_body(arg, needs)
    float_out = _floats(body.outputs)
    seeds = or_zeros([g[i] for i in float_out], [y[i] for i in float_out])
    carry_seeds = [s for s, i in zip(seeds, float_out, strict=True) if i < n]
    row_seeds = [s for s, i in zip(seeds, float_out, strict=True) if i >= n]
    constants = [x[i] for i in range(n + m, len(x))]
    sums = [zeros_of(c) for c in constants if c.dtype.is_inexact]
    operands = [*carry_seeds, *sums, *history, *x[n : n + m], *row_seeds, *constants]
    rows = len(history) + m + len(row_seeds)
    backwards = LoopArg(back, len(carry_seeds) + len(sums), rows, arg.length, not arg.reverse)
    parts = iter(loop(operands, backwards))
    found = {place: next(parts) for place in order}
    return [found.get(i) for i in range(len(x))]


def _with_history(x: Nodes, arg: LoopArg) -> list[UOp]:
    """The carries that each step began with."""
    n = arg.carries
    body = without_effects(arg.body)
    outputs = [*body.outputs[:n], *body.inputs[:n]]
    kept = LoopArg(Function(body.inputs, tuple(outputs)), n, arg.sequences, arg.length, arg.reverse)
    return list(loop(x, kept)[n:])


def _backward_body(arg: LoopArg, needs: Flags) -> tuple[Function, list[int]]:
    """One backward step, and the operand whose gradient each of its results is.

    (carry cotangents, sums for constants, carries, elements, row cotangents, constants) →
    (carry cotangents, sums, element cotangents).
    """
    n, m, body = arg.carries, arg.sequences, arg.body
    pull = pullback_of(body, (*([True] * (n + m)), *needs[n + m :]))
    outs = _floats(body.outputs)
    ins = _floats(body.inputs)
    constants = list(body.inputs[n + m :])
    float_constants = [c for c in constants if c.dtype.is_inexact]
    cg = _fresh([body.outputs[i] for i in outs if i < n], "cg")
    rg = _fresh([body.outputs[i] for i in outs if i >= n], "rg")
    sums = _fresh(float_constants, "sum")
    grads = dict(zip(ins, pull(*body.inputs, *cg, *rg), strict=True))
    new_carries = [grads[i] for i in ins if i < n]
    new_sums = [s + grads[i] for s, i in zip(sums, [i for i in ins if i >= n + m], strict=True)]
    rows = [grads[i] for i in ins if n <= i < n + m]
    inputs = [*cg, *sums, *body.inputs[: n + m], *rg, *constants]
    order = [i for i in ins if i < n] + [i for i in ins if i >= n + m]
    order += [i for i in ins if n <= i < n + m]
    return function_of(inputs, [*new_carries, *new_sums, *rows]), order


def _loop_jvp(t: Any, y: Any, *x: UOp, **attrs: Any) -> tuple[UOp | None, ...]:
    arg = LoopArg(**attrs)
    n, m = arg.carries, arg.sequences
    places = _floats(x)
    tangents = _tangents_at(t, x, places)
    operands = _grouped(x, tangents, (range(n), range(n, n + m), range(n + m, len(x))))
    body, carries = _tangent_body(arg, t)
    rows = m + sum(1 for i in places if n <= i < n + m)
    parts = loop(operands, LoopArg(body, carries, rows, arg.length, arg.reverse))
    return _interleaved_tangents(parts, arg)


def _tangents_at(t: Any, x: Nodes, places: list[int]) -> dict[int, UOp]:
    """The tangent of every float operand by its position, zeros where it has none."""
    return dict(zip(places, or_zeros([t[i] for i in places], [x[i] for i in places]), strict=True))


def _grouped(x: Nodes, tangents: dict[int, UOp], groups: Sequence[range]) -> list[UOp]:
    """Group by group, the values and then their tangents."""
    return [
        node
        for group in groups
        for node in [*(x[i] for i in group), *(tangents[i] for i in group if i in tangents)]
    ]


def _tangent_body(arg: LoopArg, t: Any) -> tuple[Function, int]:
    """The body on (carries, their tangents, elements, their tangents, constants, theirs)."""
    n, m, body = arg.carries, arg.sequences, arg.body
    push = tangent_of(body, (*([True] * (n + m)), *(d is not None for d in t[n + m :])))
    ins, outs = _floats(body.inputs), _floats(body.outputs)
    tangents = dict(zip(ins, push.inputs[len(body.inputs) :], strict=True))
    primal = push.inputs[: len(body.inputs)]
    inputs = _grouped(primal, tangents, (range(n), range(n, n + m), range(n + m, len(primal))))
    values = push.outputs[: len(body.outputs)]
    moved = dict(zip(outs, push.outputs[len(body.outputs) :], strict=True))
    carries = [*values[:n], *(moved[i] for i in outs if i < n)]
    rows = [*values[n:], *(moved[i] for i in outs if i >= n)]
    return function_of(inputs, [*carries, *rows]), len(carries)


def _interleaved_tangents(parts: Nodes, arg: LoopArg) -> tuple[UOp | None, ...]:
    """Of the parts of a loop over `_tangent_body`: carries, tangents, rows, tangents."""
    n, outputs = arg.carries, arg.body.outputs
    moved = len(_floats(outputs[:n]))
    return _spread([*parts[n : n + moved], *parts[len(outputs) + moved :]], outputs)


def _loop_batch(node: UOp, src: Sources, batched: Flags, size: int) -> UOp:
    """Every carry has the axis, since every result has."""
    arg = node.arg
    n, m = arg.carries, arg.sequences
    body = batched_function(arg.body, [*([True] * n), *batched[n:]], size)
    carries = [broadcast_batch(s, b, size) for s, b in zip(src[:n], batched[:n], strict=True)]
    rows = [s.movedim(0, 1) if b else s for s, b in zip(src[n : n + m], batched[n:], strict=False)]
    parts = loop([*carries, *rows, *src[n + m :]], LoopArg(body, n, m, arg.length, arg.reverse))
    return bundle([*parts[:n], *(p.movedim(0, 1) for p in parts[n:])])


loop_op = _record(
    "loop",
    "A body applied once per element of sequences, with a state carried along.",
    call=loop,
    arg=LoopArg,
    infer=_loop_type,
    ad=Vjp(_loop_vjp, tangent=_loop_jvp, selective=True),
    reference=_loop_reference,
    batch=_loop_batch,
)


# ---- WHILE: carries, constants → final carries


class WhileArg(Arg):
    test: Function
    body: Function
    carries: int


def _while_reference(
    *operands: Any, test: Function, body: Function, carries: int, run: Any
) -> tuple[Any, ...]:
    state, constants = list(operands[:carries]), list(operands[carries:])
    while bool(run(test, [*state, *constants])[0]):
        state = run(body, [*state, *constants])
    return tuple(state)


def _while_jvp(t: Any, y: Any, *x: UOp, test: Function, body: Function, carries: int) -> Any:
    tangents = _tangents_at(t, x, _floats(x))
    operands = _grouped(x, tangents, (range(carries), range(carries, len(x))))
    step, count = _tangent_body(LoopArg(body, carries, 0, 0, False), t)
    extra = list(step.inputs)
    own = [*extra[:carries], *extra[count : count + len(x) - carries]]
    wide = function_of(extra, without_effects(test)(*own))
    parts = results(UOp(while_op, tuple(operands), WhileArg(wide, step, count)))
    return _spread(parts[carries:], x[:carries])


def _while_vjp(g: Any, y: Any, *x: UOp, **attrs: Any) -> Any:
    problem = "has no reverse mode: how many steps to undo is known only when it runs"
    fix = "use scan, or fori_loop with Python ints as bounds; or jvp, jacfwd"
    raise AutodiffError("E5001", problem, op="while_loop", help=fix)


def _while_batch(node: UOp, src: Sources, batched: Flags, size: int) -> UOp:
    """All examples go on until the last is done; those that are done keep their values."""
    test, body, n = node.arg
    flags = [*([True] * n), *batched[n:]]
    _check_apart("while_loop", (test, body), tuple(flags))
    wide_test, wide_body = (batched_function(f, flags, size) for f in (test, body))
    inputs = list(wide_body.inputs)
    going = wide_test(*inputs)[0]
    moved = [
        _select(going, new, old) for new, old in zip(wide_body(*inputs), inputs[:n], strict=True)
    ]
    carries = [broadcast_batch(s, b, size) for s, b in zip(src[:n], batched[:n], strict=True)]
    arg = WhileArg(function_of(inputs, [going.any()]), function_of(inputs, moved), n)
    return UOp(while_op, (*carries, *src[n:]), arg)


while_op = _record(
    "while",
    "A body applied while a test holds; its length is known only when it runs.",
    call=lambda operands, arg: UOp(OPS["while"], tuple(operands), arg),
    arg=WhileArg,
    infer=lambda src, arg: (
        tuple(s.shape for s in src[: arg.carries]),
        tuple(s.dtype for s in src[: arg.carries]),
    ),
    ad=Vjp(_while_vjp, tangent=_while_jvp),
    reference=_while_reference,
    batch=_while_batch,
)
