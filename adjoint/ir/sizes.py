"""Dynamic sizes: `Variable("n", 1, 64)`, and the numbers computed from a variable.

`n.bind(5)` is a `Size`: the int 5, which remembers that it is a value of n. Its arithmetic returns
sizes again, so a shape says which of its numbers vary, and in what range. Code that reads a size as
a plain int gets a plain int: the lost variable costs a compile, never a value. A query such as "is
this less than that for all n?" returns true only if it is true of the actual numbers as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, wraps
from typing import Any, NoReturn, TypeVar

from adjoint.errors import ArgumentError, BoundsError
from adjoint.ir.polynomial import Atom, Form, SizeQuotient, SizeRest, bounds, constant, quotient

living = False  # whether there has been a size in this process


class Variable(Atom):
    """A size that has another value from run to run, between `lo` and `hi`, both included.

    ```python
    n = Variable("n", 1, 64)
    x[: n.bind(5)].sum()  # compiled once for every n
    ```
    """

    __slots__ = ("hi", "lo", "name")

    def __init__(self, name: str, lo: int, hi: int):
        if not isinstance(name, str) or not name.isidentifier():
            problem = f"the name of a variable is an identifier, got {name!r}"
            raise ArgumentError("E2008", problem, op="Variable", help='such as "batch"')
        bounds = tuple(_whole(name, "bound", value) for value in (lo, hi))
        if not 0 <= bounds[0] <= bounds[1]:
            problem = f"{name!r} is to be between {bounds[0]} and {bounds[1]}"
            fix = "give the least value, which is 0 or more, and then the largest"
            raise ArgumentError("E2006", problem, op="Variable", help=fix)
        self.name, (self.lo, self.hi) = name, bounds

    @property
    def key(self) -> tuple[Any, ...]:
        return ("", self.name, self.lo, self.hi)

    def bounds(self) -> tuple[int, int]:
        return self.lo, self.hi

    def bind(self, value: int) -> Size:
        """The value as a size that remembers the variable: an int in every other respect."""
        global living
        number = _whole(self.name, "value", value)
        if not self.lo <= number <= self.hi:
            problem = f"{number} is not between {self.lo} and {self.hi}"
            wider = f"{self.name!r}, {min(number, self.lo)}, {max(number, self.hi)}"
            fix = (
                f"declare a wider range: Variable({wider})"
                if number >= 0
                else "a size is 0 or more"
            )
            raise BoundsError("E2006", f"{self.name}: {problem}", op="bind", help=fix)
        living = True
        return Size(number, Form.of(self), ((self, number),))

    def __repr__(self) -> str:
        return f"Variable({self.name!r}, {self.lo}, {self.hi})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Variable, (self.name, self.lo, self.hi)


def _whole(name: str, what: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        problem = f"a {what} of {name!r} is an int, got {value!r}"
        raise ArgumentError("E2001", problem, op="Variable", help="give a whole number")
    return int(value)


Bindings = tuple[tuple[Variable, int], ...]


class Size(int):
    """An int that remembers its formula in variables."""

    form: Form
    bindings: Bindings

    def __new__(cls, value: int, form: Form, bindings: Bindings) -> Size:
        self = int.__new__(cls, value)
        self.form, self.bindings = form, bindings
        return self

    def unbind(self) -> tuple[Variable, int]:
        """The variable and its value, of a size that is a single variable."""
        if len(self.bindings) != 1 or self.form != Form.of(self.bindings[0][0]):
            problem = f"{self.form} is not a variable but made of variables"
            raise ArgumentError("E2008", problem, op="unbind", help="unbind what bind() gave")
        return self.bindings[0]

    def __add__(self, other: Any) -> Any:
        return _made(int.__add__(self, other), self, other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Any:
        return _made(int.__sub__(self, other), self, other, lambda a, b: a + b * constant(-1))

    def __rsub__(self, other: Any) -> Any:
        return _made(int.__rsub__(self, other), self, other, lambda a, b: b + a * constant(-1))

    def __mul__(self, other: Any) -> Any:
        return _made(int.__mul__(self, other), self, other, lambda a, b: a * b)

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> Any:
        return self

    def __floordiv__(self, other: Any) -> Any:
        return _made(int.__floordiv__(self, other), self, other, _over)

    def __rfloordiv__(self, other: Any) -> Any:
        return _made(int.__rfloordiv__(self, other), self, other, lambda a, b: _over(b, a))

    def __mod__(self, other: Any) -> Any:
        return _made(int.__mod__(self, other), self, other, _rest)

    def __rmod__(self, other: Any) -> Any:
        return _made(int.__rmod__(self, other), self, other, lambda a, b: _rest(b, a))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __index__(self) -> int:
        return self

    __radd__, __rmul__ = __add__, __mul__

    def __copy__(self) -> Size:
        return self

    def __deepcopy__(self, memo: Any) -> Size:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return int, (int(self),)


def _made(value: Any, a: Size, b: Any, combine: Callable[[Form, Form], Form | None]) -> Any:
    """A number with the form that the operands give it; a plain one if there is none."""
    if value is NotImplemented or not isinstance(b, int):
        return value
    form, bindings = combine(a.form, form_of(b)), a.bindings
    if type(b) is Size and b.bindings != bindings:
        bindings = tuple(sorted({*bindings, *b.bindings}, key=lambda pair: pair[0].name))
    if form is None or form.is_constant or len({v.name for v, _ in bindings}) < len(bindings):
        return value  # also of two values, or of two variables, of one name
    return Size(value, form, bindings)


def _over(a: Form, b: Form) -> Form | None:
    exact = quotient(a, b)
    if exact is not None:
        return exact
    if bounds(a)[0] >= 0 and bounds(b + a * constant(-1))[0] > 0:
        return constant(0)
    return Form.of(SizeQuotient(a, b)) if bounds(b)[0] > 0 else None


def _rest(a: Form, b: Form) -> Form | None:
    if quotient(a, b) is not None:
        return constant(0)
    if bounds(a)[0] >= 0 and bounds(b + a * constant(-1))[0] > 0:
        return a
    return Form.of(SizeRest(a, b)) if bounds(b)[0] > 0 else None


# ---- bindings


def merged(several: Iterable[Size]) -> dict[str, int]:
    """The values of all variables by name, sorted; each has one value and one range."""
    found: dict[str, tuple[Variable, int]] = {}
    for variable, value in (pair for size in several for pair in size.bindings):
        other = found.setdefault(variable.name, (variable, value))
        if other[0] != variable:
            _two_ranges(other[0], variable)
        if other[1] != value:
            _two_values(variable, other[1], value)
    return {name: found[name][1] for name in sorted(found)}


def settled(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a computed value: its sizes vary as before, but no longer bind their
    variables.
    """
    return tuple([Size(n, n.form, ()) if type(n) is Size else n for n in shape])


def _two_values(variable: Variable, one: int, two: int) -> NoReturn:
    problem = f"{variable.name!r} is bound to {one} and to {two} in one graph"
    fix = "give the second size a variable of its own, or compute the first tensor before"
    raise BoundsError("E3003", problem, op="bind", help=fix)


def _two_ranges(one: Variable, two: Variable) -> NoReturn:
    problem = f"two variables are called {one.name!r}: {one} and {two}"
    raise ArgumentError("E4002", problem, op="bind", help="give one of them another name")


def sizes_in(value: Any) -> Iterator[Size]:
    """The sizes inside nested tuples, from left to right."""
    if type(value) is Size:
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from sizes_in(part)


# ---- what is so whatever the variables are


def form_of(x: int) -> Form:
    """The formula of a number in variables."""
    return x.form if type(x) is Size else constant(x)


def highest(x: int) -> int:
    """The largest number that it can be."""
    return max(int(x), bounds(x.form)[1]) if type(x) is Size else x


def lowest(x: int) -> int:
    """The least number that it can be."""
    return min(int(x), bounds(x.form)[0]) if type(x) is Size else x


def same(a: int, b: int) -> bool:
    """Whether they are always equal."""
    if not living or (type(a) is not Size and type(b) is not Size):
        return a == b
    return int(a) == int(b) and form_of(a) == form_of(b)


def less(a: int, b: int) -> bool:
    """Whether one is always less than the other."""
    if not living or (type(a) is not Size and type(b) is not Size):
        return a < b
    return int(a) < int(b) and bounds(form_of(b) + form_of(a) * constant(-1))[0] > 0


def alike(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether two shapes are always equal."""
    return a == b and (not living or all(map(same, a, b)))


def shape_key(shape: tuple[int, ...]) -> tuple[Any, ...]:
    """A shape as a key that distinguishes dynamic sizes from numbers."""
    if not varies(*shape):
        return shape
    return tuple([(n, n.form) if type(n) is Size else n for n in shape])


def divides(by: int, x: int) -> bool:
    """Whether one number is always a multiple of another."""
    if not living or (type(by) is not Size and type(x) is not Size):
        return x % by == 0 if by else x == 0
    whole = int(by) != 0 and int(x) % int(by) == 0
    return whole and quotient(form_of(x), form_of(by)) is not None


def is_one(x: int) -> bool:
    """Whether it is 1, and always."""
    return x == 1 and type(x) is not Size


def varies(*numbers: int) -> bool:
    """Whether one of them depends on variables."""
    return living and Size in map(type, numbers)


F = TypeVar("F", bound=Callable[..., Any])


def cached(most: int) -> Callable[[F], F]:
    """`lru_cache` for functions of shapes: shapes that vary are not kept, for 5 equals n."""

    def wrap(function: F) -> F:
        known = lru_cache(maxsize=most)(function)

        @wraps(function)
        def call(*args: Any) -> Any:
            if living and any(True for _ in sizes_in(args)):
                return function(*args)
            return known(*args)

        call.cache_clear = known.cache_clear  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return wrap
