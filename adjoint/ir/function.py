"""`Function`: a closed graph with parameters, as an attribute of a node (a loop's body, a branch).

Parameters are INPUT nodes named by their position, so that two functions that compute the same are
equal.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from adjoint.ir.arg import Arg
from adjoint.ir.opdef import OPS
from adjoint.ir.uop import UOp, substitute


class UniqueName(str):
    """A name that is equal to no other: nodes above it are in one graph only, so their origins are
    their own.
    """

    __slots__ = ()
    everywhere: ClassVar[bool] = False  # whether every function's parameters have such names
    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__


class Function(NamedTuple):
    """Parameters and results, without other free variables."""

    inputs: tuple[UOp, ...]
    outputs: tuple[UOp, ...]

    def __call__(self, *operands: UOp) -> list[UOp]:
        """The results with operands in place of the parameters."""
        return substitute(self.outputs, dict(zip(self.inputs, operands, strict=True)))

    @property
    def types(self) -> tuple[Any, Any]:
        """The shapes and the dtypes of the results."""
        return tuple(n.shape for n in self.outputs), tuple(n.dtype for n in self.outputs)


def parameters(like: list[UOp] | tuple[UOp, ...]) -> tuple[UOp, ...]:
    """Parameters of these types, named by position."""
    make, kind = OPS["input"], UniqueName if UniqueName.everywhere else str
    return tuple(make(kind(f"a{i}"), n.shape, n.dtype, n.device) for i, n in enumerate(like))


def input_like(name: str, like: Any) -> UOp:
    """A variable of the type that a node or a tensor has."""
    return OPS["input"](name, like.shape, like.dtype, like.device)


def symbol_like(name: str, like: Any) -> UOp:
    """Such a variable that is equal to no other."""
    return OPS["unique_identity"](input_like(name, like))


def functions_in(node: UOp) -> list[Function]:
    """The functions among a node's attributes."""
    return [v for v in node.arg if type(v) is Function] if isinstance(node.arg, Arg) else []


def function_of(inputs: list[UOp], outputs: list[UOp]) -> Function:
    """A closed function from nodes that stand for its parameters."""
    named = parameters(inputs)
    return Function(named, tuple(substitute(outputs, dict(zip(inputs, named, strict=True)))))
