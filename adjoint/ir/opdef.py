"""`OpDef`: the record that says everything about one op, and the registry of records.

From a record derive the node's shape and dtype rule, the method on nodes and on `Tensor`, the
namespace function, both modes of differentiation, the reference interpreter, the text form, the
documentation page and the op's tests. There is no default reference or sample, and none for the
derivative of a primitive: leaving one out fails at import. Elsewhere: any particular op (see
`ops/`).

Three kinds of record:
- primitive: a node with a rule of its own (`define`, and `elementwise` in `ir/broadcast.py`);
- composite: a node that stays whole in the graph and expands to its body (`composite`);
- derived: a function that builds other nodes when called and is no node itself (`derived`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType, MethodType
from typing import Any

from adjoint.errors import AdjointError, ArgumentError, InternalError, did_you_mean
from adjoint.ir.arg import Arg, arg_type
from adjoint.ir.derivative import Derivative, ThroughBody
from adjoint.ir.dtype import on_new_defaults, promote_scalar
from adjoint.ir.kernel_kind import EXPAND, HOST, KernelKind
from adjoint.ir.origin import origin_scope, renamed
from adjoint.ir.precision import Precision
from adjoint.ir.sizes import cached
from adjoint.ir.spelling import spelling_of
from adjoint.ir.storage import computing
from adjoint.ir.uop import UOp, _functions

Shape = tuple[int, ...]
Type = tuple[Any, Any]  # shape and dtype, or a tuple of each for an op with several results
Infer = Callable[[tuple[UOp, ...], Any], Type]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sample:
    """A call that must work: NumPy arrays and plain values, in the order of the op's arguments."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    smooth: bool = True  # derivatives can be checked by finite differences here

    @staticmethod
    def of(call: tuple[Any, ...] | Sample) -> Sample:
        """A sample written as a tuple of arguments, with a dict last for keywords."""
        if isinstance(call, Sample):
            return call
        return Sample(call[:-1], call[-1]) if call and isinstance(call[-1], dict) else Sample(call)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bad:
    """A call that must fail with this code and these words in its message."""

    code: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    match: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OpDef:
    """One op. Callable on nodes and Python scalars; a method of every node under its name."""

    name: str
    doc: str
    kind: str  # primitive, composite or derived
    call: Callable[..., Any]  # the public signature: normalises, promotes, broadcasts, builds
    ad: Derivative
    reference: Callable[..., Any]  # NumPy, with the arguments of `call`
    samples: Callable[[], list[Sample]]  # given as samples, or as the tuples `Sample.of` reads
    errors: tuple[Bad, ...] = ()
    arg: type[Arg] | None = None
    infer: Infer = None  # type: ignore[assignment]
    body: Callable[..., Any] | None = None
    device: Callable[[tuple[UOp, ...], Any], str | None] | None = None
    bounds: Callable[..., tuple[Any, Any]] | None = None  # integer ranges in, integer range out
    batch: Any = None  # a BatchRule: the op under vmap (see ir/batch.py); composites expand instead
    kernel: KernelKind = HOST  # what the compiler makes of it: see ir/kernel_kind.py
    precision: Precision | None = None  # its operands under autocast: see ir/precision.py
    axes: Any = None  # node → the letters of its axes (ir/axes.py); None: no letters say it
    public: bool = True  # a Tensor method, a function of the namespace, a page of the docs
    opcode: bool = True  # a module has an opcode of its own for it
    level: str = "tensor"  # tensor, kernel, or both
    kinds: str = "biufc"  # kinds of dtype its samples are tried with
    commutative: bool = False
    views: bool = False  # results show their first operand: writes to either reach the other
    takes_functions: bool = False  # the reference takes `run`, which evaluates a Function on arrays
    told_by: Callable[[UOp], Any] | None = None  # what in its constants decides how it is computed
    computes_in_f32: bool = True  # the reference, for float16 and bfloat16; rounded once
    uses_blas: bool = False  # the reference multiplies or factorises matrices: on one thread
    signature: Callable[..., Any] | None = None  # whose parameters the docs and methods show
    nodes: dict[Any, Any] = field(default_factory=dict, init=False)  # those alive; see ir/uop.py

    def __post_init__(self) -> None:
        make = self.samples
        object.__setattr__(self, "samples", lambda: [Sample.of(call) for call in make()])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if kwargs:
                args, kwargs = spelling_of(self.name, self.signature or self.call)(args, kwargs)
            return self.call(*args, **kwargs)
        except TypeError as error:
            raise explained(self, error, args, kwargs) from None

    def bad_calls(self) -> tuple[Bad, ...]:
        """Calls that must fail: those written down, and one that every op refuses alike."""
        good = next(iter(self.samples()))
        unknown = Bad("E2007", good.args, good.kwargs | {"no_such_option": 1}, self.name)
        return (*self.errors, unknown)

    def __get__(self, node: Any, owner: Any = None) -> Any:
        return self if node is None else MethodType(self, node)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return op_named, (self.name,)


def explained(
    record: OpDef, error: TypeError, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> TypeError:
    """An error for a call that does not fit the op's parameters, in the op's own words."""
    parameters = inspect.signature(record.signature or record.call)
    try:
        parameters.bind(*args, **kwargs)
    except TypeError as mismatch:
        if not isinstance(error, AdjointError):
            names = list(parameters.parameters)
            near = next((did_you_mean(k, names) for k in kwargs if k not in names), "")
            takes = ", ".join(names)
            return ArgumentError(
                "E2007", str(mismatch), op=record.name, help=near or f"it takes ({takes})"
            )
    return error


OPS: dict[str, OpDef] = {}


def op_named(name: str) -> OpDef:
    """The record of that name."""
    return OPS[name]


_shipped: set[OpDef] = set()


def seal_records() -> None:
    """All records of the package are registered: further ones are a user's."""
    _shipped.update(OPS.values())


def is_shipped(record: OpDef) -> bool:
    """Whether the record means the same in every process."""
    return record in _shipped


def register(record: OpDef, method: bool = True) -> OpDef:
    """Enter a record; from here on it is a function, and a method of nodes."""
    if record.name in OPS:
        raise InternalError(f"op {record.name!r} is defined twice")
    OPS[record.name] = record
    _functions[record.name] = record
    if method:
        if record.name in UOp.__dict__:
            raise InternalError(f"op {record.name!r} would hide an attribute of nodes")
        setattr(UOp, record.name, _as_method(record))
        _set_operators(record)
    return record


# Operators that need not be looked up by name, as `Operators` does: the ones gradients are made of.
_OPERATORS = {
    "add": "__add__",
    "sub": "__sub__",
    "mul": "__mul__",
    "neg": "__neg__",
    "matmul": "__matmul__",
}
_REFLECTED = {"add": "__radd__", "sub": "__rsub__", "mul": "__rmul__"}


def _set_operators(record: OpDef) -> None:
    call = record.call
    if record.name in _OPERATORS:
        setattr(UOp, _OPERATORS[record.name], _as_method(record))
    if record.name in _REFLECTED:
        name = _REFLECTED[record.name]
        setattr(UOp, name, renamed(lambda node, other: call(other, node), name))


def _as_method(record: OpDef) -> Any:
    """What nodes have under the record's name: its function where Python binds that by itself."""
    return record.call if type(record.call) is FunctionType else record


def define(name: str, doc: str, *, call: Callable[..., Any], infer: Infer, **rest: Any) -> OpDef:
    """A primitive."""
    checked = computing(name, infer)
    return register(OpDef(name, doc, "primitive", call=call, infer=checked, **rest))


def internal(name: str, doc: str, kind: str, **rest: Any) -> OpDef:
    """A record whose nodes only the library creates: it is no method, and has no samples."""
    record = OpDef(name, doc, kind, samples=list, computes_in_f32=False, public=False, **rest)
    return register(record, method=False)


def alias(record: OpDef, *names: str) -> None:
    """Further method names for a record (`clip` for `clamp`)."""
    for name in names:
        _functions[name] = record
        setattr(UOp, name, _as_method(record))


def derived(
    *,
    reference: Callable[..., Any],
    samples: Any,
    name: str = "",
    method: bool = True,
    **rest: Any,
) -> Callable[[Callable[..., Any]], OpDef]:
    """Decorator: a function of nodes that builds other nodes at once."""

    def decorate(fn: Callable[..., Any]) -> OpDef:
        doc = fn.__doc__ or ""
        rest.setdefault("ad", ThroughBody())
        fields = {"call": fn, "reference": reference, "samples": samples, "signature": fn}
        fields["kernel"] = EXPAND
        return register(OpDef(name or _public(fn), doc, "derived", **fields, **rest), method)

    return decorate


def composite(
    *,
    reference: Callable[..., Any],
    samples: Any,
    ad: Derivative | None = None,
    name: str = "",
    **rest: Any,
) -> Callable[[Callable[..., Any]], OpDef]:
    """Decorator: a node whose meaning is the decorated function, its body.

    Parameters annotated `UOp` (or `UOp | None`) are operands, in front; all others are attributes.
    Without `ad` the derivative is that of the body.
    """

    def decorate(fn: Callable[..., Any]) -> OpDef:
        layout = _CompositeLayout.of(name or _public(fn), fn)
        record = OpDef(
            layout.name,
            fn.__doc__ or "",
            "composite",
            call=layout.call,
            ad=ad or ThroughBody(),
            reference=reference,
            samples=samples,
            arg=layout.arg,
            infer=layout.infer,
            body=fn,
            signature=fn,
            kernel=EXPAND,
            **rest,
        )
        layout.record.append(record)
        return register(record)

    return decorate


def _public(fn: Callable[..., Any]) -> str:
    return fn.__name__.strip("_")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _CompositeLayout:
    """How a composite's parameters divide into operands and attributes."""

    name: str
    operands: tuple[str, ...]
    attributes: tuple[str, ...]
    optional: bool  # some operand may be absent; the arg then ends with which are present
    defaults: dict[str, Any]
    arg: type[Arg]
    record: list[OpDef]

    @staticmethod
    def of(name: str, fn: Callable[..., Any]) -> _CompositeLayout:
        code, notes = fn.__code__, fn.__annotations__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        operands = tuple(n for n in names if str(notes.get(n, "")).startswith("UOp"))
        attributes = tuple(n for n in names if n not in operands)
        filled = names[: code.co_argcount][code.co_argcount - len(fn.__defaults__ or ()) :]
        defaults = dict(zip(filled, fn.__defaults__ or (), strict=True))
        defaults |= fn.__kwdefaults__ or {}
        optional = any(n in defaults for n in operands)
        fields = dict.fromkeys((*attributes, *(("present",) if optional else ())), Any)
        given = {n: defaults[n] for n in attributes if n in defaults}
        kind = arg_type(f"{name.title().replace('_', '')}Arg", fields, given)
        return _CompositeLayout(name, operands, attributes, optional, defaults, kind, [])

    def call(self, *args: Any, **kwargs: Any) -> UOp:
        order = (*self.operands, *self.attributes)
        if len(args) > len(order) or not kwargs.keys() <= set(order[len(args) :]):
            raise self._wrong(args, kwargs)
        values = dict(zip(order, args, strict=False)) | kwargs
        for name in order:
            if name not in values:
                if name not in self.defaults:
                    raise self._wrong(args, kwargs)
                values[name] = self.defaults[name]
        src = self._operands([values[n] for n in self.operands])
        fields = [self._attribute(n, values[n]) for n in self.attributes]
        if self.optional:
            fields.append(tuple(values[n] is not None for n in self.operands))
        return UOp(self.record[0], src, self.arg(*fields) if fields else None)

    def _operands(self, values: list[Any]) -> tuple[UOp, ...]:
        first = next((v for v in values if isinstance(v, UOp)), None)
        if first is None:
            problem = "needs at least one tensor among its operands"
            raise ArgumentError("E2007", problem, op=self.name)
        return tuple(
            v if isinstance(v, UOp) else scalar_like(self.name, v, first)
            for v in values
            if v is not None
        )

    def _attribute(self, name: str, value: Any) -> Any:
        if isinstance(value, UOp):
            problem = f"{name} is a plain Python value, not a tensor"
            raise ArgumentError("E2001", problem, op=self.name, operands=[(name, value)])
        return value

    def _wrong(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ArgumentError:
        takes = ", ".join(
            f"{n}={self.defaults[n]!r}" if n in self.defaults else n
            for n in (*self.operands, *self.attributes)
        )
        unknown = [n for n in kwargs if n not in (*self.operands, *self.attributes)]
        if unknown:
            problem = f"takes ({takes}); there is no option {unknown[0]!r}"
        else:
            problem = f"takes ({takes}); got {len(args)} positional"
            problem += f" and {', '.join(kwargs)}" if kwargs else ""
        return ArgumentError("E2007", problem, op=self.name)

    def infer(self, src: tuple[UOp, ...], arg: Any) -> Type:
        record = self.record[0]
        types = tuple((s.shape, s.dtype, s.device) for s in src)
        try:
            return _body_type(record, types, arg)
        except AdjointError:
            root = apply_body(record, src, arg)  # again on the real operands: their lines are right
            return root.shape, root.dtype


@cached(8192)
def _body_type(record: OpDef, types: tuple[Any, ...], arg: Any) -> Type:
    make = OPS["input"]
    src = tuple(make(f"{i}", *kind) for i, kind in enumerate(types))
    root = apply_body(record, src, arg)
    return root.shape, root.dtype


def _forget_types() -> None:
    """Functions of integers now return another dtype: nodes built before are not reused."""
    _body_type.cache_clear()  # type: ignore[attr-defined]
    for record in OPS.values():
        if record.body is not None:
            record.nodes.clear()


on_new_defaults.append(_forget_types)


def apply_body(record: OpDef, src: tuple[UOp, ...], arg: Any) -> UOp:
    """The body of a composite on these operands."""
    attrs = {} if arg is None else arg.asdict()
    present = attrs.pop("present", None)
    operands: list[UOp | None] = list(src)
    if present is not None:
        rest = iter(src)
        operands = [next(rest) if there else None for there in present]
    assert record.body is not None
    return record.body(*operands, **attrs)


def expand_composite(node: UOp) -> UOp:
    """One level of a composite's body, with the composite's origin.

    A node that was made under other default dtypes keeps the type it was given.
    """
    with origin_scope(node.raw_origin):
        root = apply_body(node.op, node.src, node.arg)
        return root if root.dtype == node.dtype else root.cast(node.dtype)


def check_scalar(op: str, value: Any) -> Any:
    """The value, if it is a Python number."""
    if isinstance(value, (bool, int, float, complex)):
        return value
    problem = f"expected a tensor or a number, got {type(value).__name__}"
    raise ArgumentError("E2001", problem, op=op, operands=[("operand", value)])


def scalar_like(op: str, value: Any, like: UOp) -> UOp:
    """A Python scalar as a constant beside a node, weakly typed."""
    dtype = promote_scalar(like.dtype, check_scalar(op, value))
    return OPS["const"](value, dtype, (), like.device)


def attributes(node: UOp) -> dict[str, Any]:
    """The node's attributes by name."""
    return {} if node.arg is None else node.arg.asdict()
