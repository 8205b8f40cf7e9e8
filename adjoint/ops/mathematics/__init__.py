"""Functions of mathematics: each with its record, and with its arithmetic in basic ops.

In: scalar kernel nodes. Out: the same, correct to the bounds of docs/math.md, and the records that
name them. May not: know of loops or targets. `nodes.py` has the words that bodies are written in.
"""

from adjoint.ops.mathematics import arc, error, exp, gamma, log, power, trig

__all__ = ["arc", "error", "exp", "gamma", "log", "power", "trig"]
