"""Control flow on values: cond, switch, scan, map, fori_loop, while_loop, associative_scan.

Functions are traced once into closed graphs; whatever they use from outside becomes an operand, so
gradients and vmap reach it. A random draw inside a loop gives every step its own numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from adjoint.autodiff.reverse import results
from adjoint.errors import ArgumentError, AutodiffError, DTypeError, ShapeError
from adjoint.ir.dtype import dtypes
from adjoint.ir.function import Function, parameters, symbol_like
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, substitute
from adjoint.ops.movement import checked_axis
from adjoint.tensor import Tensor
from adjoint.tensor.layouts import row_place
from adjoint.tensor.random import split
from adjoint.tensor.tensor import lift
from adjoint.tensor.tracing import DROPPED, KEPT, scope
from adjoint.transforms.call import Fn, as_tensor, name_of, outside, tensor_leaves
from adjoint.transforms.effects import decide, hand_over, joined, latest, no_token, token_symbol
from adjoint.transforms.loops import LoopArg, WhileArg, branch, loop, while_op
from adjoint.transforms.pytree import TreeDef, tree_flatten, tree_leaves, tree_map, tree_unflatten
from adjoint.transforms.vmap import vmap

_SAME_TREE = "return the same nesting, containers and keys"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Traced:
    """A function traced on variables: its result, in terms of them and of nodes outside.

    A function with effects has one output more than its tree has leaves, at the end: a token. Its
    first effect comes after `start`, a variable that stands for `before`, a token outside.
    """

    symbols: list[UOp]
    outputs: list[UOp]
    treedef: TreeDef
    keys: list[UOp]
    start: UOp | None = None
    before: UOp | None = None
    flags: tuple[bool | None, ...] = ()  # requires_grad of what it returns

    @property
    def has_token(self) -> bool:
        return len(self.outputs) > self.treedef.leaves

    def with_token(self) -> Traced:
        """The same with a token in any case."""
        if self.has_token:
            return self
        return replace(self, outputs=[*self.outputs, no_token()])

    def captures(self) -> list[UOp]:
        """Nodes outside that the results need, as far up as they do not depend on a symbol."""
        if self.start is None or self.before is None:
            return outside(self.outputs, set(self.symbols))
        found = outside(self.outputs, {*self.symbols, self.start})
        return list(dict.fromkeys((*found, self.before)))

    def close(self, captures: Sequence[UOp]) -> Function:
        """The closed function of (symbols, captures)."""
        free = [*self.symbols, *captures]
        named = parameters(free)
        mapping = dict(zip(free, named, strict=True))
        if self.start is not None and self.before is not None:
            mapping[self.start] = mapping[self.before]
        return Function(named, tuple(substitute(self.outputs, mapping)))


def traced(op: str, fn: Fn, like: Sequence[UOp], treedef: TreeDef) -> Traced:
    """Trace `fn(*args)`, where the tree of args has leaves of these types."""
    with scope(op) as inner:
        symbols = [symbol_like(f"v{i}", n) for i, n in enumerate(like)]
        inner.variables.update(symbols)
        before = latest()
        if decide()[0] is not DROPPED:
            inner.effects, inner.start = KEPT, token_symbol()
        result = fn(*tree_unflatten(treedef, map(Tensor, symbols)))
        leaves, out_tree = tensor_leaves(op, result)
        outputs, keys = [leaf.uop for leaf in leaves], list(inner.keys)
        flags = tuple(leaf._requires_grad for leaf in leaves)
        if not inner.tokens:
            return Traced(symbols, outputs, out_tree, keys, flags=flags)
        outputs.append(joined(inner.tokens))
        return Traced(symbols, outputs, out_tree, keys, inner.start, before, flags)


def _handed(parts: Sequence[UOp], has_token: bool) -> Sequence[UOp]:
    """The parts of a node without the token, which goes where it belongs."""
    if not has_token:
        return parts
    hand_over([parts[-1]], parts)
    return parts[:-1]


def _tensors(parts: Sequence[UOp], given: Any, *functions: Traced) -> list[Tensor]:
    """The results as tensors, which have a history if something given or captured has one."""
    flags = [leaf._requires_grad for leaf in tree_leaves(given) if isinstance(leaf, Tensor)]
    flags += [flag for function in functions for flag in function.flags]
    found: list[Tensor] = lift.wrap(list(parts), flags)
    return found


def _leaves(op: str, tree: Any) -> tuple[list[UOp], TreeDef]:
    tensors, treedef = tensor_leaves(op, tree)
    return [t.uop for t in tensors], treedef


def cond(pred: Any, true_fn: Fn, false_fn: Fn, *operands: Any) -> Any:
    """`true_fn(*operands)` if the scalar `pred` holds, else `false_fn(*operands)`."""
    op = "cond"
    test = as_tensor(op, pred)
    if test.shape != ():
        problem = f"the condition is a scalar, not {list(test.shape)}"
        fix = "reduce it with .any() or .all(), or use .where() to choose per element"
        raise ShapeError("E3002", problem, op=op, operands=[("pred", test)], help=fix)
    nodes, treedef = _leaves(op, operands)
    sides = [traced(op, fn, nodes, treedef) for fn in (true_fn, false_fn)]
    _same_results(op, sides[0], sides[1], "the branches")
    has_token = any(side.has_token for side in sides)
    sides = [side.with_token() for side in sides] if has_token else sides
    captures = list(dict.fromkeys(c for side in sides for c in side.captures()))
    functions = [side.close(captures) for side in sides]
    condition = test.uop if test.dtype is dtypes.bool_ else test.uop.ne(0)
    parts = _handed(results(branch(condition, [*nodes, *captures], *functions)), has_token)
    return tree_unflatten(sides[0].treedef, _tensors(parts, operands, *sides))


def switch(index: Any, branches: Sequence[Fn], *operands: Any) -> Any:
    """`branches[index](*operands)`, for an integer index that is known when it runs.

    A negative index counts from the end; one that names no branch is an error when it runs.
    """
    functions = list(branches)
    if not functions:
        raise ArgumentError("E2007", "there is no branch to choose", op="switch", help="give one")
    number = as_tensor("switch", index)
    if number.shape != () or not number.dtype.is_int:
        problem = f"the index is one integer, not {number.dtype.name}{list(number.shape)}"
        raise ShapeError("E3002", problem, op="switch", operands=[("index", number)])
    places = Tensor.arange(len(functions), device=number.device)
    return _chosen(places.gather(0, number.reshape(1)).reshape(()), functions, 0, operands)


def _chosen(index: Tensor, branches: list[Fn], first: int, operands: tuple[Any, ...]) -> Any:
    """One of the branches, which are numbered from `first`, by halving."""
    if len(branches) == 1:
        return branches[0](*operands)
    half = len(branches) // 2
    low = lambda *x: _chosen(index, branches[:half], first, x)  # noqa: E731
    high = lambda *x: _chosen(index, branches[half:], first + half, x)  # noqa: E731
    return cond(index < first + half, low, high, *operands)


def map_(fn: Fn, xs: Any, batch_size: int | None = None) -> Any:
    """`fn(x)` for every x along the first axis of `xs`, one after the other, stacked.

    It needs the memory of one step where `vmap` needs that of all; `batch_size` says how many are
    done together.
    """
    if batch_size is None:
        return scan(lambda _, x: (None, fn(x)), None, xs)[1]
    op = f"map of {name_of(fn)}"
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise ArgumentError("E2008", f"batch_size is an int ≥ 1, not {batch_size!r}", op=op)
    count = _length(op, _leaves(op, xs)[0], None)
    whole = count - count % batch_size
    parts = []
    if whole or not count:
        split = lambda t: t[:whole].reshape(-1, batch_size, *t.shape[1:])  # noqa: E731
        batched = map_(vmap(fn), tree_map(lambda t: split(as_tensor(op, t)), xs))
        parts.append(tree_map(lambda t: t.reshape(whole, *t.shape[2:]), batched))
    if whole < count:
        parts.append(vmap(fn)(tree_map(lambda t: as_tensor(op, t)[whole:], xs)))
    return parts[0] if len(parts) == 1 else tree_map(lambda a, b: a.cat(b), *parts)


def _same_results(op: str, a: Any, b: Any, what: str) -> None:
    if a.treedef != b.treedef:
        problem = f"{what} return different pytrees: {a.treedef} and {b.treedef}"
        raise ShapeError("E3010", problem, op=op, help=_SAME_TREE)
    for left, right, _ in zip(a.outputs, b.outputs, range(a.treedef.leaves), strict=False):
        _same_type(op, left, right, f"{what} return different types")


def _same_type(op: str, left: UOp, right: UOp, problem: str) -> None:
    operands = [("first", left), ("second", right)]
    if left.shape != right.shape:
        fix = f"give both the shape {list(left.shape)} (.reshape(), .expand(), or a reduction)"
        raise ShapeError("E3003", problem, op=op, operands=operands, help=fix)
    if left.dtype is not right.dtype:
        fix = f".cast('{left.dtype.name}')"
        raise DTypeError("E2004", problem, op=op, operands=operands, help=fix)


def scan(
    fn: Fn, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False
) -> tuple[Any, Any]:
    """`carry, y = fn(carry, x)` for every x along the first axis of `xs`.

    Returns the last carry and the ys stacked. `length` is needed only if `xs` has no leaves;
    `reverse` goes from the last x to the first.
    """
    op = f"scan of {name_of(fn)}"
    carry, carry_tree = _leaves(op, init)
    rows, rows_tree = _leaves(op, xs)
    count = _length(op, rows, length)
    one = [row.shrink([(0, 1), *((0, n) for n in row.shape[1:])]) if count else row for row in rows]
    like = [*carry, *(_row_type(row) for row in rows)]
    pair = tree_flatten((tree_unflatten(carry_tree, carry), tree_unflatten(rows_tree, one)))[1]
    step = traced(op, fn, like, pair)
    out_carry, out_rows = _split_step(op, step, carry_tree, carry)
    trees = (carry_tree, out_carry, out_rows)
    return _run_scan(step, carry, rows, (count, reverse), trees, (init, xs))


def _row_type(row: UOp) -> UOp:
    return OPS["input"]("row", row.shape[1:], row.dtype, row_place(row))


def _length(op: str, rows: list[UOp], length: int | None) -> int:
    sizes = set() if length is None else {length}
    for row in rows:
        if not row.shape:
            fix = "close over it, or .expand() it along a new first axis"
            problem, operands = "a scalar has no axis to scan", [("xs", row)]
            raise ShapeError("E3002", problem, op=op, operands=operands, help=fix)
        sizes.add(row.shape[0])
    if len(sizes) != 1:
        problem = f"first axes have the sizes {sorted(sizes)}" if sizes else "nothing to scan over"
        raise ShapeError("E3003", problem, op=op, help="give xs of one length, or length=")
    return sizes.pop()


def _split_step(
    op: str, step: Traced, carry_tree: TreeDef, carry: list[UOp]
) -> tuple[int, TreeDef]:
    """The number of carry leaves and the shape of one row's results, both checked."""
    tree = step.treedef
    if tree.kind is not tuple or len(tree.children) != 2:
        problem = f"the function returns (carry, y), not {tree}"
        raise ShapeError("E3010", problem, op=op, help="return None for y if there is none")
    _same_carry(op, "the carry", (carry_tree, carry), (tree.children[0], step.outputs))
    return carry_tree.leaves, tree.children[1]


def _same_carry(
    op: str, what: str, before: tuple[TreeDef, Any], after: tuple[TreeDef, Any]
) -> None:
    """Check that the carry that a step returns is like the one it was given."""
    if before[0] != after[0]:
        problem = f"{what} comes in as {before[0]} and goes out as {after[0]}"
        raise ShapeError("E3010", problem, op=op, help=_SAME_TREE)
    for old, new in zip(before[1], after[1], strict=False):
        _same_type(op, old, new, f"{what} changes its type")


def _run_scan(
    step: Traced,
    carry: list[UOp],
    rows: list[UOp],
    how: tuple[int, bool],
    trees: Any,
    given: Any,
) -> tuple[Any, Any]:
    (count, reverse), (carry_tree, carries, row_tree) = how, trees
    step, rows = _with_own_keys(step, rows, count)
    captures = step.captures()
    arg = LoopArg(step.close(captures), carries, len(rows), count, reverse)
    parts = _handed(loop([*carry, *rows, *captures], arg), step.has_token)
    tensors = _tensors(parts, given, step)
    last = tree_unflatten(carry_tree, tensors[:carries])
    return last, tree_unflatten(row_tree, tensors[carries:])


def _with_own_keys(step: Traced, rows: list[UOp], count: int) -> tuple[Traced, list[UOp]]:
    """Every random key drawn inside becomes a sequence of keys, one per step."""
    if not step.keys:
        return step, rows
    symbols, new_rows, mapping = list(step.symbols), list(rows), {}
    for key in step.keys:
        new_rows.append(split(key, count))
        symbol = symbol_like("key", key)
        symbols.append(symbol)
        mapping[key] = symbol
    outputs = substitute(step.outputs, mapping)
    return replace(step, symbols=symbols, outputs=outputs, keys=[]), new_rows


def fori_loop(lower: Any, upper: Any, body: Fn, init: Any) -> Any:
    """`value = body(i, value)` for i from `lower` to `upper` - 1.

    With Python ints the loop is a scan and can be differentiated in reverse; with tensors as bounds
    it is a `while_loop`.
    """
    if isinstance(lower, int) and isinstance(upper, int):
        place = next((v.device for v in tree_leaves(init) if isinstance(v, Tensor)), None)
        index = Tensor.arange(lower, max(lower, upper), device=place)
        return scan(lambda value, i: (body(i, value), None), init, index)[0]
    start, stop = as_tensor("fori_loop", lower), as_tensor("fori_loop", upper)
    kind = dtypes.int64 if dtypes.int64 in (start.dtype, stop.dtype) else dtypes.int32
    state = (start.cast(kind), init)
    last = stop.cast(kind)
    return while_loop(lambda s: s[0] < last, lambda s: (s[0] + 1, body(s[0], s[1])), state)[1]


def while_loop(cond_fn: Fn, body_fn: Fn, init: Any, max_iterations: int | None = None) -> Any:
    """`value = body_fn(value)` while `cond_fn(value)` holds.

    With `max_iterations` it stops after so many steps at the latest, and can be differentiated in
    reverse, at the cost of that many steps; without, in forward mode only.
    """
    op = f"while_loop of {name_of(body_fn)}"
    if max_iterations is not None:
        return _bounded(op, cond_fn, body_fn, init, max_iterations)
    carry, treedef = _leaves(op, init)
    args = TreeDef(tuple, None, (treedef,))
    test = traced(op, cond_fn, carry, args)
    if test.treedef.leaves != 1 or test.outputs[0].shape != ():
        problem = "the condition returns one scalar"
        raise ShapeError("E3002", problem, op=op, help="reduce it with .any() or .all()")
    body = traced(op, body_fn, carry, args)
    _same_carry(op, "the value", (treedef, carry), (body.treedef, body.outputs))
    if test.keys or body.keys:
        problem = "random numbers are drawn inside; every step would draw the same"
        raise AutodiffError("E5004", problem, op=op, help="use fori_loop or scan")
    has_token = test.has_token or body.has_token
    if has_token:
        carry = [*carry, no_token()]
        test, body = _carrying_a_token(test, body)
    captures = list(dict.fromkeys([*test.captures(), *body.captures()]))
    arg = WhileArg(test.close(captures), body.close(captures), len(carry))
    parts = _handed(results(while_op([*carry, *captures], arg)), has_token)
    return tree_unflatten(treedef, _tensors(parts, init, body))


def _bounded(op: str, cond_fn: Fn, body_fn: Fn, init: Any, most: int) -> Any:
    """A scan whose steps do nothing once the condition has failed."""
    if isinstance(most, bool) or not isinstance(most, int) or most < 0:
        problem = f"max_iterations is an int ≥ 0, not {most!r}"
        raise ArgumentError("E2008", problem, op=op, help="leave it out for a loop without a limit")

    def step(value: Any, _: Any) -> tuple[Any, None]:
        return cond(cond_fn(value), body_fn, lambda same: same, value), None

    return scan(step, init, length=most)[0]


def _carrying_a_token(test: Traced, body: Traced) -> tuple[Traced, Traced]:
    """The functions of a loop with a token as its last carry; a test needs all of its tokens."""
    going = joined(test.outputs) if test.has_token else test.outputs[0]
    sides = (test, [going]), (body, body.with_token().outputs)
    first, second = (
        replace(side, symbols=[*side.symbols, token_symbol()], outputs=outputs)
        for side, outputs in sides
    )
    return first, second


def associative_scan(fn: Fn, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Running results of an associative `fn(a, b)` along an axis, in a logarithm of its length.

    `fn` takes and returns trees like `elems`, and works on many elements at once.
    """
    op = f"associative_scan of {name_of(fn)}"
    tensors, treedef = tensor_leaves(op, elems)
    axes = [checked_axis(op, axis, t.ndim, t.uop) for t in tensors]
    fronts = [t.movedim(a, 0) for t, a in zip(tensors, axes, strict=True)]
    count = _length(op, [t.uop for t in fronts], None)
    ordered = [t.flip(0) for t in fronts] if reverse else fronts
    result = _prefixes(op, fn, tree_unflatten(treedef, ordered), treedef, count)
    final = [t.flip(0) if reverse else t for t in tree_flatten(result)[0]]
    return tree_unflatten(treedef, [t.movedim(0, a) for t, a in zip(final, axes, strict=True)])


def _prefixes(op: str, fn: Fn, elems: Any, treedef: TreeDef, count: int) -> Any:
    """Pairs combined, prefixes of the pairs, then the elements between them."""
    if count < 2:
        return elems
    even = tree_map(lambda t: t[: count - 1 : 2], elems)
    odd = tree_map(lambda t: t[1::2], elems)
    pairs = _combined(op, fn, even, odd, treedef)
    inner = _prefixes(op, fn, pairs, treedef, count // 2)
    head = inner if count % 2 else tree_map(lambda t: t[:-1], inner)
    if count > 2:
        between = _combined(op, fn, head, tree_map(lambda t: t[2::2], elems), treedef)
        first = tree_map(lambda t, b: t[:1].cat(b), elems, between)
    else:
        first = tree_map(lambda t: t[:1], elems)
    return tree_map(lambda a, b: _interleaved(a, b, count), first, inner)


def _combined(op: str, fn: Fn, a: Any, b: Any, treedef: TreeDef) -> Any:
    result = fn(a, b)
    if tree_flatten(result)[1] != treedef:
        problem = f"the function takes {treedef} and returns {tree_flatten(result)[1]}"
        raise ShapeError("E3010", problem, op=op, help=_SAME_TREE)
    return result


def _interleaved(a: Tensor, b: Tensor, count: int) -> Tensor:
    """a0 b0 a1 b1 …, `count` in all."""
    if len(a) > len(b):
        b = b.cat(b[:1] if len(b) else a[:1])
    both = a.stack(b, dim=1)
    return both.reshape(-1, *a.shape[1:])[:count]
