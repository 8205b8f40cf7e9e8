"""Symbolic operands of graphs: nothing here has a value."""

from adjoint.ir.opdef import OPS


def symbol(name, *shape, dtype="float32"):
    return OPS["input"](name, shape, dtype, None)


X, Y, G, T = (symbol(name, 2, 3) for name in "xygt")
N = symbol("n", 2, 3, dtype="int32")
SQUARE = symbol("a", 3, 3, dtype="float64")
