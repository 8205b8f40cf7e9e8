"""`UOp`: the immutable, hash-consed node that every level of Adjoint is made of.

Two nodes with the same op, sources and arg are one object, so identity is equality and a `dict`
keyed by nodes is fast. Shape, dtype and device are derived once, when the node is built; that is
also where every shape, dtype and device error is raised. Elsewhere: the meaning of any op (see
`opdef.py` and `ops/`).
"""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from adjoint.display import Displayed
from adjoint.errors import AdjointError, DeviceError, ShardingError
from adjoint.ir import origin as origins
from adjoint.ir.mesh import Sharding, join_devices
from adjoint.ir.operators import Operators
from adjoint.ir.sizes import alike
from adjoint.ir.weak import Dropping, drop, remove_dead

if TYPE_CHECKING:
    from adjoint.ir.opdef import OpDef

Key = tuple[Any, ...]  # the sources, or (sources, arg) if there is an arg: no tuple too many


Table = dict[Key, "weakref.ref[UOp]"]  # the nodes of an op


class _Unfinished(Operators):
    """A node while it is built: its fields can be set. Finished, its class becomes `UOp`."""

    __slots__ = (
        "__weakref__",
        "_origin",
        "arg",
        "device",
        "dtype",
        "op",
        "realized",
        "shape",
        "src",
    )
    op: OpDef
    src: tuple[UOp, ...]
    arg: Any
    shape: tuple[Any, ...]
    dtype: Any
    device: Any  # a string, a Sharding for a value on a mesh, None for a bare constant
    realized: Any
    _origin: origins.Site | None


class UOp(_Unfinished, Displayed):
    """A node: `op` applied to `src` with attributes `arg`.

    A node of an op with several results has a tuple of shapes and a tuple of dtypes; the op `part`
    picks one of them. `realized` holds the node's value once a run has computed it: a cache,
    never part of what the node is.
    """

    __slots__ = ()

    def __new__(cls, op: OpDef, src: tuple[UOp, ...] = (), arg: Any = None) -> UOp:
        key = src if arg is None else (src, arg)
        ref = op.nodes.get(key)
        node = None if ref is None else ref()
        return make_node(op, src, arg, *op.infer(src, arg)) if node is None else node

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "realized":
            raise AttributeError(f"a node is immutable: cannot set {name!r}")
        _set_realized(self, value)

    def __reduce__(self) -> tuple[Any, ...]:
        attributes = None if self.arg is None else tuple(self.arg)
        return _unpickle, (self.op, self.src, attributes)

    def __copy__(self) -> UOp:
        return self

    def __deepcopy__(self, memo: Any) -> UOp:
        return self

    @staticmethod
    def _apply(name: str, *operands: Any) -> UOp:
        return _functions[name].call(*operands)

    @property
    def origin(self) -> origins.Origin | None:
        """The user's method, file and line."""
        return origins.resolve(self._origin)

    @property
    def raw_origin(self) -> origins.Site | None:
        return self._origin

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    def toposort(self, stop: Callable[[UOp], bool] | None = None) -> list[UOp]:
        """Every node this one needs, itself last; where `stop(node)` holds the walk turns back."""
        return toposort([self], stop)

    def substitute(self, mapping: Mapping[UOp, UOp]) -> UOp:
        """The graph with nodes replaced; what does not change keeps its identity."""
        return substitute([self], mapping)[0]

    def __repr__(self) -> str:
        kind = f"{getattr(self.dtype, 'short', self.dtype)}{list(self.shape)}"
        attributes = "" if self.arg is None else f", {self.arg!r}"
        return f"UOp({self.op.name}, {len(self.src)} src{attributes}) : {kind} @{self.device}"

    def __bool__(self) -> bool:
        raise TypeError("a node has no truth value: it is not computed yet")

    if TYPE_CHECKING:  # every record of ops/ is a method; see OpDef.__get__

        def __getattr__(self, name: str) -> Callable[..., Any]: ...


_set_realized = _Unfinished.__dict__["realized"].__set__

# Filled by opdef.define: name → record. Here, because operators on nodes look names up in it.
_functions: dict[str, OpDef] = {}


def make_node(op: OpDef, src: tuple[UOp, ...], arg: Any, shape: Any, dtype: Any) -> UOp:
    """`UOp(op, src, arg)` for a caller that knows that the operands fit, and the result's type.

    Setting fields and then the class costs half of what the descriptors of eight slots cost.
    """
    table = op.nodes
    key = src if arg is None else (src, arg)
    ref = table.get(key)
    if ref is not None:
        present = ref()
        if present is not None:
            return present
    node: Any = _new(_Unfinished)
    node.op = op
    node.src = src
    node.arg = arg
    node.shape = shape
    node.dtype = dtype
    if op.device is None and src and src[0].device is src[-1].device and len(src) < 3:
        node.device = src[0].device
    else:
        node.device = _device_of(op, src, arg)
    place = _scope_place()
    node._origin = _user_place() if place is None or place.raw is None else place.raw
    node.realized = None
    node.__class__ = UOp
    ref = Dropping(node, drop)
    ref.drop = partial(remove_dead, table, key)
    other = table.setdefault(key, ref)  # atomic, so it needs no lock
    return node if other is ref else _settle(table, key, ref, node)


def make_known(
    op: OpDef, src: tuple[UOp, ...], arg: Any, shape: Any, dtype: Any, device: Any, origin: Any
) -> UOp:
    """The same where device and origin are known too, of a leaf or of a node like another.

    Written out again: a call more for each node is a tenth of what building a graph costs.
    """
    table = op.nodes
    key = src if arg is None else (src, arg)
    ref = table.get(key)
    if ref is not None:
        present = ref()
        if present is not None:
            return present
    node: Any = _new(_Unfinished)
    node.op = op
    node.src = src
    node.arg = arg
    node.shape = shape
    node.dtype = dtype
    node.device = device
    node._origin = origin
    node.realized = None
    node.__class__ = UOp
    ref = Dropping(node, drop)
    ref.drop = partial(remove_dead, table, key)
    other = table.setdefault(key, ref)
    return node if other is ref else _settle(table, key, ref, node)


def is_there(op: OpDef, src: tuple[UOp, ...], arg: Any) -> bool:
    """Whether an equal node is alive."""
    ref = op.nodes.get(src if arg is None else (src, arg))
    return ref is not None and ref() is not None


_new = object.__new__
_scope_place = origins.scope_place
_user_place = origins.user_place


def _settle(table: Table, key: Key, ref: weakref.ref[UOp], node: UOp) -> UOp:
    """The key is taken: by an equal node of another thread, or by one that is dead and listed."""
    while (other := table.setdefault(key, ref)) is not ref:
        present = other()
        if present is not None:
            return present
        remove_dead(table, key)
    return node


def _device_of(op: OpDef, src: tuple[UOp, ...], arg: Any) -> Any:
    if op.device is not None:
        return op.device(src, arg)
    device = None
    for node in src:
        other = node.device
        if other is device or other is None:
            continue
        if device is not None and other != device:
            other = join_devices(device, other)
            if other is None:
                raise _device_mismatch(op, src)
        device = other
    return device


def _device_mismatch(op: OpDef, src: tuple[UOp, ...]) -> AdjointError:
    devices = ", ".join(dict.fromkeys(str(s.device) for s in src))
    operands = [(f"operand {i}", s) for i, s in enumerate(src)]
    meshes = list(dict.fromkeys(s.device.mesh for s in src if isinstance(s.device, Sharding)))
    if len(meshes) > 1:
        problem = f"operands are on different meshes: {meshes[0]} and {meshes[1]}"
        fix = "bring one to the other's mesh: x.reshard(mesh, P(...))"
        return ShardingError("E7003", problem, op=op.name, operands=operands, help=fix)
    target = next(s.device for s in src if s.device is not None)
    fix = f"move them together first: .to({target!r})"
    problem = f"operands are on different devices: {devices}"
    return DeviceError("E6008", problem, op=op.name, operands=operands, help=fix)


def _unpickle(op: OpDef, src: tuple[UOp, ...], attributes: tuple[Any, ...] | None) -> UOp:
    if attributes is None or op.arg is None:
        return UOp(op, src, attributes)
    return UOp(op, src, op.arg(*attributes))


def toposort(roots: Iterable[UOp], stop: Callable[[UOp], bool] | None = None) -> list[UOp]:
    """Sources before users, in one fixed order. No recursion: graphs may be very deep."""
    done: dict[UOp, None] = {}
    stack = list(roots)[::-1]
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
            continue
        for source in node.src if stop is None or not stop(node) else ():
            if source not in done:
                stack.extend(node.src[::-1])
                break
        else:
            done[node] = None
            stack.pop()
    return list(done)


def substitute(roots: Iterable[UOp], mapping: Mapping[UOp, UOp]) -> list[UOp]:
    """Every root with nodes replaced by what `mapping` says; replacements are not walked."""
    roots = list(roots)
    new: dict[UOp, UOp] = dict(mapping)
    for node in toposort(roots, stop=mapping.__contains__):
        if node not in new:
            src = tuple(new[s] for s in node.src)
            new[node] = node if src == node.src else rebuild(node, src)
    return [new[root] for root in roots]


def rebuild(node: UOp, src: tuple[UOp, ...]) -> UOp:
    """The same op and attributes on other sources, with the same origin.

    On sources of the same types it has the node's own type, under whatever defaults it was made.
    """
    op, arg, origin = node.op, node.arg, node._origin
    same = len(src) == len(node.src) and all(map(_has_type_of, src, node.src))
    if same and origin is not None:
        device = _device_of(op, src, arg)
        return make_known(op, src, arg, node.shape, node.dtype, device, origin)
    with origins.origin_scope(origin):
        return make_node(op, src, arg, node.shape, node.dtype) if same else UOp(op, src, arg)


def _has_type_of(new: UOp, old: UOp) -> bool:
    """Whether users of a node have the same type if they use another."""
    return new is old or (new.dtype is old.dtype and alike(new.shape, old.shape))


def live_nodes() -> int:
    """How many nodes exist now (for tests of memory)."""
    return sum(len(record.nodes) for record in set(_functions.values()))


@atexit.register
def _forget_nodes() -> None:
    """Empty the tables before modules are torn down: a node that dies later would be looked up
    there, by comparisons whose modules are gone.
    """
    for record in set(_functions.values()):
        record.nodes.clear()
