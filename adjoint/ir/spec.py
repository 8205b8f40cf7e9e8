"""The well-formedness of a graph, level by level, and `verify`.

Nodes check themselves when they are built, so a graph that breaks these rules comes from a pass
that bypassed the records, or mixes levels. Elsewhere: checks of one op's operands (its record's
`infer`).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from functools import lru_cache

from adjoint.errors import AdjointError, InternalError, VerificationError
from adjoint.ir.arg import Varying
from adjoint.ir.bounds import bounds
from adjoint.ir.kernel_kind import ACCUMULATOR, AFTER, LOAD, PHI, RANGE, SINK, STORE, closes, opens
from adjoint.ir.opdef import OPS, OpDef, attributes
from adjoint.ir.uop import UOp, _device_of, toposort

LEVELS = ("tensor", "kernel")


def verify(roots: Iterable[UOp], level: str = "tensor") -> None:
    """Check every node under the roots; the error names the first that breaks a rule.

    At the kernel level also: values are scalars or vectors, and the contents of a sink use no
    counter, condition or accumulator outside the loop or IF it belongs to.
    """
    if level not in LEVELS:
        raise InternalError(f"no level {level!r}; levels: {', '.join(LEVELS)}")
    nodes = toposort(roots)
    for node in nodes:
        _check_node(node, level)
    if level == "kernel":
        for node in nodes:
            _check_kernel_node(node)
        _check_scopes(nodes)


def _fail(code: str, node: UOp, problem: str, help: str = "") -> VerificationError:
    place = f" (built by {node.origin})" if node.origin is not None else ""
    operands = [("node", node), *((f"operand {i}", s) for i, s in enumerate(node.src))]
    return VerificationError(
        code, f"{problem}{place}", op=node.op.name, operands=operands, help=help
    )


def _check_node(node: UOp, level: str) -> None:
    record = node.op
    if OPS.get(record.name) != record or record.kind == "derived":
        raise _fail("E2002", node, "is no op that a node can have")
    if record.level not in (level, "both"):
        raise _fail("E2001", node, f"belongs to the {record.level} level, not the {level} level")
    wanted = record.arg if record.arg is not None and record.arg.fields else type(None)
    given = node.arg.kind() if isinstance(node.arg, Varying) else type(node.arg)
    if given is not wanted:
        problem = f"its attributes are {given.__name__}, not {wanted.__name__}"
        raise _fail("E2001", node, problem)
    _check_arity(node)
    _check_type(node)


def _check_arity(node: UOp) -> None:
    signature = _signature(node.op)
    if signature is None:
        return
    try:
        extra = {"run": None} if node.op.takes_functions else {}
        signature.bind(*node.src, **attributes(node), **extra)
    except TypeError as error:
        raise _fail("E2007", node, f"wrong operands: {error}") from None


@lru_cache(maxsize=4096)
def _signature(record: OpDef) -> inspect.Signature | None:
    """How the reference of a primitive is called: operands, then attributes by name."""
    if record.kind != "primitive":
        return None
    try:
        return inspect.signature(record.reference)
    except (TypeError, ValueError):  # NumPy's own functions: the record's infer counts
        return None


def _check_type(node: UOp) -> None:
    try:
        shape, dtype = node.op.infer(node.src, node.arg)
        device = _device_of(node.op, node.src, node.arg)
    except AdjointError as error:
        raise _fail(error.code, node, error.problem, error.help) from error
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise _fail("E2007", node, f"its operands or attributes do not fit: {error}") from error
    if shape != node.shape:
        raise _fail("E3003", node, f"its shape is {node.shape}, the op gives {shape}")
    if dtype != node.dtype:
        raise _fail("E2001", node, f"its dtype is {node.dtype}, the op gives {dtype}")
    if device != node.device:
        raise _fail("E6008", node, f"its device is {node.device}, the op gives {device}")


def _check_kernel_node(node: UOp) -> None:
    if len(node.shape) > 1:
        raise _fail("E3002", node, "a kernel computes with scalars and vectors")
    if node.op.kernel in (LOAD, STORE):
        _check_index(node)


def _check_index(node: UOp) -> None:
    """An access that is certainly outside is an error; bounds checks handle one that may be."""
    memory = _memory(node.src[0])
    size = getattr(memory.arg, "size", None)
    lo, hi = bounds(node.src[1])
    if size is not None and (hi < 0 or lo >= size):
        problem = f"index {lo} to {hi} is outside a buffer of {size} elements"
        raise _fail("E6001", node, problem)


def _memory(node: UOp) -> UOp:
    while node.op.kernel is AFTER:
        node = node.src[0]
    return node


def _check_scopes(nodes: Sequence[UOp]) -> None:
    """A node is inside every loop and IF it depends on, up to the node that ends it."""
    loops_of = _accumulators(nodes)
    inside: dict[UOp, frozenset[UOp]] = {}
    for node in nodes:
        scope = frozenset[UOp]().union(*(inside[s] for s in node.src))
        if opens(node) or node.op.kernel is ACCUMULATOR:
            scope |= {node}
        inside[node] = scope - _closed(node, scope, loops_of)
        if node.op.kernel is SINK:
            _check_sink(inside, nodes, inside[node])


def _accumulators(nodes: Sequence[UOp]) -> dict[UOp, tuple[UOp, ...]]:
    """The loops of every accumulator: those of the one PHI that updates it."""
    loops: dict[UOp, tuple[UOp, ...]] = {}
    for node in nodes:
        if node.op.kernel is PHI:
            if node.src[0] in loops:
                raise _fail("E4002", node, "the accumulator is updated twice")
            loops[node.src[0]] = node.src[2:]
    for node in nodes:
        if node.op.kernel is ACCUMULATOR and node not in loops:
            raise _fail("E4001", node, "the accumulator is never updated", "add a phi")
    return loops


def _closed(node: UOp, scope: frozenset[UOp], loops_of: dict[UOp, tuple[UOp, ...]]) -> set[UOp]:
    if node.op.kernel is PHI:
        return {node.src[0], *node.src[2:]}
    if closes(node):
        ended = node.src[0]
        return {ended, *(n for n in scope if ended in loops_of.get(n, ()))}
    return set()


def _check_sink(
    inside: dict[UOp, frozenset[UOp]], nodes: Sequence[UOp], still_open: frozenset[UOp]
) -> None:
    for scope in nodes:
        if scope in still_open:
            ends = getattr(scope.op.kernel, "ends", "") or "phi"
            users = [n.op.name for n in inside if scope in inside[n] and n.op.kernel is STORE]
            problem = f"is used by {' and '.join(dict.fromkeys(users))} outside its scope"
            raise _fail("E4001", scope, problem, f"end it with {ends}")


def verify_order(nodes: Sequence[UOp]) -> None:
    """Check a kernel as a list in running order: sources first, loops and IFs nested and ended,
    nothing used after the end of the loop or IF it was computed in."""
    seen: dict[UOp, tuple[UOp, ...]] = {}
    ended: set[UOp] = set()
    stack: list[UOp] = []
    for node in nodes:
        _check_node(node, "kernel")
        _check_use(node, seen, ended)
        if closes(node):
            if not stack or stack[-1] is not node.src[0]:
                raise _fail("E4001", node, "ends what is not the innermost open scope")
            ended.add(stack.pop())
        if opens(node):
            stack.append(node)
        seen[node] = _scope_of(node, seen, stack)
    if stack:
        raise _fail("E4001", stack[-1], "is never ended")


def _scope_of(node: UOp, seen: dict[UOp, tuple[UOp, ...]], stack: list[UOp]) -> tuple[UOp, ...]:
    if node.op.kernel is PHI:  # its register outlives the loop
        return seen[node.src[0]]
    is_leaf = not node.src and node.op.kernel is not RANGE
    return () if is_leaf else tuple(stack)


def _check_use(node: UOp, seen: dict[UOp, tuple[UOp, ...]], ended: set[UOp]) -> None:
    if node in seen:
        raise _fail("E4002", node, "stands in the list twice")
    for i, source in enumerate(node.src):
        if source not in seen:
            raise _fail("E4001", node, f"operand {i} comes later in the list")
        if any(scope in ended for scope in seen[source]) and source.dtype.kind != "v":
            raise _fail("E4001", node, f"operand {i} was computed in a scope that has ended")
