"""Views: handles that show a part of another handle's value, and write to it.

Handles of one value share a `Storage`, which knows the current node of the base. A view has a
`Tie`: the storage and the steps from the base to the view's elements. A write builds a new base
(the graph stays pure) and invalidates the node of every view; a view without a node builds it when
it is read, from the current base (`Tensor.__getattr__`), so reading costs nothing more than before.
What may live here: ties, reading and writing through them. What may not: any one op beyond the
table of inverses.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from adjoint.engine.realize import realize
from adjoint.errors import VerificationError
from adjoint.ir.dtype import dtypes
from adjoint.ir.function import input_like
from adjoint.ir.opdef import OPS
from adjoint.ir.origin import origin_scope
from adjoint.ir.uop import UOp
from adjoint.ir.values import is_known
from adjoint.ir.weak import Dropping, drop
from adjoint.ops.movement import inverse, padded
from adjoint.runtime.memory import holds_memory
from adjoint.tensor import marked
from adjoint.tensor.layouts import written
from adjoint.tensor.tracing import note_move, open_scopes

writing = threading.RLock()  # held from reading a value to writing what was made of it


class Storage:
    """A value that several handles show: the node of the whole, and the handles, weakly."""

    __slots__ = ("__weakref__", "handles", "limit", "node", "root", "written")

    def __init__(self, root: Any):
        self.node: UOp = root.uop
        self.written = False
        self.root: Dropping[Any] = Dropping(root, drop)
        self.root.drop = partial(_orphans.append, weakref.ref(self))
        self.handles: list[weakref.ref[Any]] = [self.root]
        self.limit = 16

    def prune(self) -> None:
        """Forget handles that are gone."""
        self.handles = [ref for ref in self.handles if ref() is not None]
        self.limit = 2 * len(self.handles) + 16

    def living(self) -> Iterator[Any]:
        """The handles that show this value."""
        for ref in tuple(self.handles):
            handle = ref()
            if handle is not None and handle._tie is not None and handle._tie.storage is self:
                yield handle

    def alone(self, handle: Any) -> bool:
        """Whether no other handle could see a change."""
        return all(other is handle for other in self.living())

    def move(self, node: UOp, flag: Any) -> None:
        """Every handle shows a new base from now on; views are read on demand."""
        self.node = node
        for handle in self.living():
            tie = handle._tie
            marked.moves(handle)
            if tie.call is None:
                handle.uop = node
            elif has_node(handle):
                del handle.uop
            if flag and not tie.cut:
                handle._requires_grad = True


# Values whose own handle is gone. It goes at any moment, at which no Python code may run that an
# interrupt could be lost in (`ir/weak.py`): what follows from that is done a little later.
_orphans: deque[weakref.ref[Storage]] = deque()


@holds_memory
def untie_orphans() -> None:
    """A view that is left alone needs no tie, and must not keep the whole's graph alive."""
    while _orphans:
        try:
            found = _orphans.popleft()()
        except IndexError:  # another thread has taken the last
            return
        with writing:
            left = [] if found is None else list(found.living())
            if len(left) == 1 and has_node(left[0]):
                _untie(left[0])


class Tie:
    """The position of a handle: the storage, and the step to it from another tie.

    The step is a function of nodes, its arguments after the first, and which of its results the
    handle shows; the tie of the base has none.
    """

    __slots__ = (
        *("args", "call", "cut", "kwargs", "number", "place", "prev", "repeats", "storage", "via"),
    )
    storage: Storage
    prev: Tie | None
    call: Callable[..., Any] | None
    args: tuple[Any, ...]
    kwargs: Any
    number: int | None
    cut: bool  # made inside no_grad: what it shows has no history
    repeats: bool  # several elements may be one of the base: they cannot be written
    place: Any  # the line that made a view whose node is built later
    via: Any  # the handle it was made from, weakly, if that has gradients of its own

    def path(self) -> list[Tie]:
        """The steps from the whole to here."""
        found: list[Tie] = []
        tie: Tie | None = self
        while tie is not None and tie.call is not None:
            found.append(tie)
            tie = tie.prev
        return found[::-1]

    def read(self) -> UOp:
        """The elements that it shows now."""
        node = self.storage.node
        for tie in self.path():
            source = None if tie.via is None else tie.via()
            node = tie.forward(node if source is None else source.uop)
            if tie.cut:
                node = OPS["detach"](node)
        return node

    def written(self, new: UOp) -> UOp:
        """The whole once this shows `new`."""
        path = self.path()
        nodes = [self.storage.node]
        for tie in path:
            nodes.append(tie.forward(nodes[-1]))
            if tie.call in _SPREADING:  # whatever the sizes are: a batch of one is no other program
                raise cannot_write(nodes[-1], "elements of an expanded view may be one of its base")
        for tie, node in zip(reversed(path), reversed(nodes[:-1]), strict=True):
            new = tie.back(node, OPS["detach"](new) if tie.cut else new)
        return new

    def forward(self, x: UOp) -> UOp:
        """The step: the part of x that the handle shows."""
        found = self.call(x, *self.args, **(self.kwargs or {}))  # type: ignore[misc]
        return found if self.number is None else found[self.number]

    def back(self, x: UOp, new: UOp) -> UOp:
        """x once the handle shows `new` of it."""
        whole = WRITERS.get(self.call)
        return self._up(x, new) if whole is None else whole(x, *self.args, new)

    def _up(self, x: UOp, new: UOp) -> UOp:
        chain = [self.forward(x)]
        while chain[-1] is not x:
            node = chain[-1]
            if node.op.name not in _INVERSES:
                raise cannot_write(node, f"{node.op.name} has no elements of its own to write to")
            chain.append(node.src[0])
        for node in chain[:-1]:
            new = _INVERSES[node.op.name](node, node.src[0], new)
        return new


WRITERS: dict[Any, Callable[..., UOp]] = {}  # call of a step -> x once the step's result is `new`


# ---- ties between handles


def tie(
    parent: Any, child: Any, call: Any, args: Any, kwargs: Any = None, number: Any = None
) -> Any:
    """The child shows the result of the call on the parent.

    Every view passes through here: it must take no longer than a weak reference and an object.
    """
    above = parent._tie
    if above is None:
        above = parent._tie = _tie_of_whole(parent)
    made: Tie = _new(Tie)
    made.storage = storage = above.storage
    made.prev, made.call, made.args, made.kwargs, made.number = above, call, args, kwargs, number
    made.repeats = above.repeats or call in _REPEATING
    made.cut = child._requires_grad is False and parent._requires_grad is not False
    if call is _BITCAST:
        made.cut = True
    made.via = made.place = None
    if above.call is not None and marked.is_marked(parent):
        made.via = weakref.ref(parent)
    child._tie = made
    if len(storage.handles) > storage.limit:
        storage.prune()
    storage.handles.append(weakref.ref(child))
    return child


def _tie_of_whole(root: Any) -> Tie:
    untie_orphans()
    made = Tie()
    made.storage, made.prev, made.call = Storage(root), None, None
    made.cut = made.repeats = False
    return made


def tie_results(parent: Any, made: Any, call: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    """Every result of a call is a view of the parent."""
    if any(hasattr(a, "uop") for a in args):
        args = tuple(map(_like, args))
    if type(made) is type(parent):
        return tie(parent, made, call, args, kwargs)
    for number, part in enumerate(made):
        tie(parent, part, call, args, kwargs, number)
    return made


def _like(value: Any) -> Any:
    """An operand of which only the shape matters, without its graph."""
    return input_like("like", value) if hasattr(value, "uop") else value


def same_place(tensor: Any, call: Any, args: tuple[Any, ...], value: Any) -> bool:
    """Whether the value is a view of the tensor by this very step, so that the write is a no-op."""
    own, other = tensor._tie, getattr(value, "_tie", None)
    if own is None or other is None:
        return False
    return other.prev is own and other.call is call and bool(other.args == args)


def is_view(tensor: Any) -> bool:
    """Whether a write to the tensor changes another handle that is still there."""
    tie = tensor._tie
    return tie is not None and tie.call is not None and tie.storage.root() is not None


def share(tensors: Iterable[Any], others: Iterable[Any] = ()) -> bool:
    """Whether one of the tensors shows a value that another one of them, or of the others, shows:
    a write to the one would be seen in the other."""
    tied = [t for t in tensors if t._tie is not None]
    shown = {t._tie.storage: t for t in others if t._tie is not None} if tied else {}
    return any(shown.setdefault(t._tie.storage, t) is not t for t in tied)


def base_of(tensor: Any) -> Any:
    """The handle of the whole that a view shows a part of; any other tensor itself."""
    return tensor._tie.storage.root() if is_view(tensor) else tensor


# ---- reading and writing


def reread(tensor: Any) -> UOp:
    """The node of a view that has none: its current elements."""
    with writing, origin_scope(tensor._tie.place):
        node: UOp = tensor._tie.read()
        tensor.uop = node = OPS["unique_identity"](node) if marked.is_marked(tensor) else node
    return node


def compute_written(tensors: Iterable[Any]) -> None:
    """Compute the wholes of views that were written to: once, not by each of their views."""
    for tensor in () if open_scopes.get() else tensors:
        storage = None if tensor._tie is None or tensor._tie.call is None else tensor._tie.storage
        if storage is None or not storage.written or is_known(storage.node):
            continue
        root = storage.root()
        if root is not None:
            root.realize()
        else:
            realize(storage.node)


def become(tensor: Any, node: UOp, flag: Any = None) -> None:
    """A new value for the tensor and for all that shares it; `flag`: it has a history."""
    flag = flag and node.dtype.is_inexact
    with writing:  # other threads may write to other parts of the whole
        tie = tensor._tie
        if tie is not None and tie.call is not None and tie.storage.alone(tensor):
            tie = _untie(tensor)
        if tie is None:
            receive(tensor, marked.own(tensor, node))
            tensor._requires_grad = flag or tensor._requires_grad
            return
        whole = node if tie.call is None else written(tie.written(node), tie.storage.node)
        _become_whole(tie.storage, whole, flag and not tie.cut)


def receive(tensor: Any, node: UOp) -> None:
    """A new value in a node that no other tensor has."""
    with writing:
        tie = tensor._tie
        if tie is not None and tie.storage.alone(tensor):
            tie = _untie(tensor)
        if tie is not None and tie.call is not None:
            become(tensor, node)
        elif tie is not None:
            _note(tensor, tie.storage.node)
            tie.storage.move(node, None)
        else:
            _note(tensor, tensor.uop)
            marked.moves(tensor)
            tensor.uop = node


def _become_whole(storage: Storage, node: UOp, flag: Any) -> None:
    root = storage.root()
    storage.written = True
    _note(storage if root is None else root, storage.node)
    storage.move(node if root is None else marked.own(root, node), flag)


class Moved:
    """A value that was changed inside a scope, and its previous value."""

    __slots__ = ("flag", "holder", "old")

    def __init__(self, holder: Any, old: UOp):
        self.holder = weakref.ref(holder)  # a tensor, or a storage without a handle for the whole
        self.old, self.flag = old, getattr(holder, "_requires_grad", None)

    def node(self) -> UOp | None:
        """The value now; None if no handle shows it any more."""
        holder = self.holder()
        if holder is None:
            return None
        return holder.node if isinstance(holder, Storage) else holder.uop

    def is_outside(self, made: set[int]) -> bool:
        """Whether a handle shows it that is not among those made in the scope."""
        holder = self.holder()
        shown = holder.living() if isinstance(holder, Storage) else (holder,)
        return any(id(handle) not in made for handle in shown)

    def undo(self) -> None:
        """Restore the previous state."""
        holder = self.holder()
        if isinstance(holder, Storage):
            holder.move(self.old, None)
        elif holder is not None:
            holder._requires_grad = self.flag
            if holder._tie is None:
                holder.uop = self.old
            else:
                holder._tie.storage.move(self.old, None)


def _note(holder: Any, old: UOp) -> None:
    if open_scopes.get():
        note_move(holder, Moved(holder, old))


def put_back(tensor: Any, node: UOp) -> None:
    """Another node of the value that the tensor has, or had when nothing else was different."""
    tie = tensor._tie
    if tie is not None and tie.call is None:
        tie.storage.node = node
    tensor.uop = node


def same_value(tensor: Any, node: UOp) -> None:
    """Another node of the same value, from which views are read from now on."""
    marked.moves(tensor)
    if tensor._tie is not None and tensor._tie.call is None:
        tensor._tie.storage.move(node, None)
    tensor.uop = node


def settled(tensor: Any, node: UOp) -> None:
    """The tensor was computed: the node is its value without a history."""
    untie_orphans()
    marked.moves(tensor)
    put_back(tensor, node)
    tie = tensor._tie
    if tie is not None and tie.storage.alone(tensor):
        _untie(tensor)


def _untie(tensor: Any) -> Tie | None:
    """A tensor that shares its value with no other handle becomes independent."""
    if not tensor._tie.repeats:
        tensor._tie = None
    return tensor._tie


def has_node(tensor: Any) -> bool:
    """Whether the tensor has a node; a view builds one on demand."""
    try:
        object.__getattribute__(tensor, "uop")
    except AttributeError:
        return False
    return True


# ---- inverses


def cannot_write(node: UOp, why: str) -> VerificationError:
    """An error for a write that would not reach the base."""
    fix = "write to the tensor itself, or to a copy: .clone()"
    return VerificationError(
        "E4012", why, op="write to a view", operands=[("view", node)], help=fix
    )


def _unexpand(node: UOp, x: UOp, new: UOp) -> UOp:
    if node.size != x.size:
        raise cannot_write(node, "several elements of an expanded view are one of its base")
    return new.reshape(x.shape)


def _into_slice(node: UOp, x: UOp, new: UOp) -> UOp:
    """x with the elements that SHRINK takes replaced."""
    start, _, step = node.arg
    counts = zip(x.shape, start, new.shape, step, strict=True)
    after = [n - a - ((m - 1) * s + 1 if m else 0) for n, a, m, s in counts]
    if 0 in new.shape:
        return x
    edges = start, after, [s - 1 for s in step]
    inside = padded(OPS["const"](True, dtypes.bool_, new.shape, x.device), *edges)
    return inside.where(padded(new, *edges), x)


_INVERSES: dict[str, Callable[[UOp, UOp, UOp], UOp]] = {
    "reshape": lambda node, x, new: new.reshape(x.shape),
    "permute": lambda node, x, new: new.permute(inverse(node.arg.order)),
    "flip": lambda node, x, new: new.flip(node.arg.axis),
    "shrink": _into_slice,
    "expand": _unexpand,
    "detach": lambda node, x, new: OPS["detach"](new),
    "bitcast": lambda node, x, new: new.bitcast(x.dtype),
    "real": lambda node, x, new: new.complex(x.imag()),
    "imag": lambda node, x, new: x.real().complex(new),
}
_new = object.__new__
_BITCAST = OPS["bitcast"].call
_SPREADING = {OPS[name].call for name in ("expand", "expand_as", "unfold")}
_REPEATING = _SPREADING | {OPS["imag"].call}
