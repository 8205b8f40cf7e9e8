"""The operator vocabulary shared by nodes and patterns.

`x * 2 + y` builds a graph when `x` is a node and a pattern when it is a pattern: both say what one
application of a named op means (`_apply`), and everything else is written once, here. `==` is
identity on both, so comparisons for equality are spelled `.eq(y)` and `.ne(y)`.
"""

from __future__ import annotations

from typing import Any, Self


class Operators:
    """Python's operators, in terms of `_apply(name, *operands)`."""

    __slots__ = ()

    @staticmethod
    def _apply(name: str, *operands: Any) -> Any:
        raise NotImplementedError

    def __add__(self, other: Any) -> Self:
        return self._apply("add", self, other)

    def __radd__(self, other: Any) -> Self:
        return self._apply("add", other, self)

    def __sub__(self, other: Any) -> Self:
        return self._apply("sub", self, other)

    def __rsub__(self, other: Any) -> Self:
        return self._apply("sub", other, self)

    def __mul__(self, other: Any) -> Self:
        return self._apply("mul", self, other)

    def __rmul__(self, other: Any) -> Self:
        return self._apply("mul", other, self)

    def __truediv__(self, other: Any) -> Self:
        return self._apply("div", self, other)

    def __rtruediv__(self, other: Any) -> Self:
        return self._apply("div", other, self)

    def __floordiv__(self, other: Any) -> Self:
        return self._apply("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Self:
        return self._apply("floordiv", other, self)

    def __mod__(self, other: Any) -> Self:
        return self._apply("mod", self, other)

    def __rmod__(self, other: Any) -> Self:
        return self._apply("mod", other, self)

    def __pow__(self, other: Any) -> Self:
        return self._apply("pow", self, other)

    def __rpow__(self, other: Any) -> Self:
        return self._apply("pow", other, self)

    def __matmul__(self, other: Any) -> Self:
        return self._apply("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Self:
        return self._apply("matmul", other, self)

    def __and__(self, other: Any) -> Self:
        return self._apply("bitwise_and", self, other)

    def __rand__(self, other: Any) -> Self:
        return self._apply("bitwise_and", other, self)

    def __or__(self, other: Any) -> Self:
        return self._apply("bitwise_or", self, other)

    def __ror__(self, other: Any) -> Self:
        return self._apply("bitwise_or", other, self)

    def __xor__(self, other: Any) -> Self:
        return self._apply("bitwise_xor", self, other)

    def __rxor__(self, other: Any) -> Self:
        return self._apply("bitwise_xor", other, self)

    def __lshift__(self, other: Any) -> Self:
        return self._apply("lshift", self, other)

    def __rlshift__(self, other: Any) -> Self:
        return self._apply("lshift", other, self)

    def __rshift__(self, other: Any) -> Self:
        return self._apply("rshift", self, other)

    def __rrshift__(self, other: Any) -> Self:
        return self._apply("rshift", other, self)

    def __lt__(self, other: Any) -> Self:
        return self._apply("lt", self, other)

    def __le__(self, other: Any) -> Self:
        return self._apply("le", self, other)

    def __gt__(self, other: Any) -> Self:
        return self._apply("lt", other, self)

    def __ge__(self, other: Any) -> Self:
        return self._apply("le", other, self)

    def __neg__(self) -> Self:
        return self._apply("neg", self)

    def __pos__(self) -> Self:
        return self

    def __invert__(self) -> Self:
        return self._apply("bitwise_not", self)

    def __abs__(self) -> Self:
        return self._apply("abs", self)
