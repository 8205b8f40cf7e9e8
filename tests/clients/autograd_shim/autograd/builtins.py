"""Containers are pytrees in Adjoint: Python's own need no boxes."""

from builtins import dict, isinstance, list, tuple, type  # noqa: UP029

__all__ = ["dict", "isinstance", "list", "tuple", "type"]
