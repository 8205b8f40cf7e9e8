"""The command line, `adjoint`.

What may live here: commands and what they print. What may not: work that a program would want to do
without a command line.
"""

from adjoint.cli.dispatch import main, run

__all__ = ["main", "run"]
