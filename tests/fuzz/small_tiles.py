"""Tiles and panels for products of any size, so that small programs reach them.

Asked for by `--small-tiles`; workers learn of it by their environment.
"""

from __future__ import annotations

import os
from dataclasses import replace

from adjoint.backends.cpu import BACKEND

VARIABLE = "FUZZ_SMALL_TILES"


def force() -> None:
    """Lower the limits below which products are a library's, if that was asked for."""
    if VARIABLE not in os.environ:
        return
    one = dict.fromkeys(("tiled_products", "windowed_rows", "panel_rows"), 1)
    columns = 2  # a product of one column lies on no loop of its own, and is never one of tiles
    limits = replace(BACKEND.target.limits, **one, tiled_columns=columns, panel_bytes=40_000)
    limits = replace(limits, loop_products=0, turned_channels=1, turned_products=0, large_bytes=256)
    BACKEND.target = replace(BACKEND.target, limits=limits)
