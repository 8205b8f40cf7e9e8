"""What `adjoint doctor` finds: one line for each thing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """`status` is ok, warn or fail; `fix` says what to do about it."""

    name: str
    status: str
    text: str
    fix: str = ""
