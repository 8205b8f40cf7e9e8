"""Whole programs by seed and number; some continue an older program that was worth keeping.

What may live here: how long programs are, and how often each family is drawn.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from random import Random

from tests.fuzz.source import Whole, alive, changed
from tests.fuzz.statements import ALL
from tests.fuzz.writer import Writer

BIG = 1_000_003
CURVED = {"unary", "binary", "total", "scan", "running", "control", "broadcast", "normal", "twice"}
CURVED |= {"chain"}


def grown(
    seed: int, index: int, parents: Sequence[Whole] = (), without: Collection[str] = ()
) -> Whole:
    """The program of that number."""
    draws = Random(seed * BIG + index)
    writer = Writer(seed * BIG + index)
    if parents and draws.random() < 0.4:
        _continued(writer, draws.choice(parents), draws)
    else:
        writer.real_input(writer.shape())
    length = len(writer.statements) + 2 + int(9 * draws.random() ** 1.3)
    names = [name for name in ALL if name not in without]
    weights = [ALL[name][0] * (3 if writer.tiny and name in CURVED else 1) for name in names]
    favourites = {draws.choice(names) for _ in range(2)}  # so that pairs of a kind meet more often
    weights = [8 * w if n in favourites else w for n, w in zip(names, weights, strict=True)]
    for _ in range(4 * length):
        if len(writer.statements) >= length or writer.stopped:
            break
        writer.family = draws.choices(names, weights)[0]
        ALL[writer.family][1](writer)
    return alive(writer.whole())


def _continued(writer: Writer, parent: Whole, draws: Random) -> None:
    """Some of a parent's statements; now and then in another dtype."""
    if draws.random() < 0.2:
        new = draws.choice(("float64", "float16", "bfloat16", "float32"))
        parent = changed(parent, lambda text: text.replace("'float32'", f"'{new}'"))
    count = len(parent.statements)
    skip = draws.randrange(count) if count and draws.random() < 0.3 else None
    writer.replay(parent, skip)
