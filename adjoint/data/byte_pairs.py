"""Byte pairs: text as numbers of pieces that come often, learned from a text.

Any bytes can be written with them: the first 256 pieces are the bytes. A text is cut into words
first (a blank goes with the word behind it), and no piece goes beyond a word. Learning is the same
wherever and whenever it is done: of pairs that come equally often the one with the lower numbers
is joined. What may live here: learning pieces, and text to numbers and back.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from adjoint.errors import FileError, TrainingError

Pair = tuple[int, int]
_BYTES = 256
_KNOWN_WORDS = 1 << 16  # whose pieces are remembered
# Letters (all bytes beyond ASCII are parts of some), digits, blanks, and the rest.
_WORDS = re.compile(
    rb" ?[A-Za-z\x80-\xff]+| ?[0-9]{1,3}| ?[^\sA-Za-z0-9\x80-\xff]+|\s+(?=\s\S)|\s+"
)


class BytePairs:
    """Pieces of text and their numbers: `BytePairs.learn(text, size)`, or the pairs as they were
    joined one after another. `order` is the bytes in the order of their numbers."""

    def __init__(self, pairs: Sequence[Pair] = (), order: bytes = bytes(range(_BYTES))):
        self.pairs: tuple[Pair, ...] = tuple((int(a), int(b)) for a, b in pairs)
        if sorted(order) != list(range(_BYTES)):
            raise TrainingError("E9003", "order is every byte once", op="BytePairs")
        self._byte = {byte: number for number, byte in enumerate(order)}
        self.pieces = [bytes([byte]) for byte in order]
        for a, b in self.pairs:
            if not (0 <= a < len(self.pieces) and 0 <= b < len(self.pieces)):
                problem = f"{(a, b)} is a pair of pieces that are not there yet"
                raise TrainingError("E9003", problem, op="BytePairs")
            self.pieces.append(self.pieces[a] + self.pieces[b])
        self._numbers = {pair: _BYTES + i for i, pair in enumerate(self.pairs)}
        self._known: dict[bytes, list[int]] = {}

    def __len__(self) -> int:
        return len(self.pieces)

    def __repr__(self) -> str:
        return f"BytePairs({len(self)} pieces)"

    @staticmethod
    def learn(text: str | bytes, size: int) -> BytePairs:
        """At most `size` pieces, fewer if the text has no more pairs that come twice."""
        if size < _BYTES:
            problem = f"{size} pieces are less than the {_BYTES} bytes"
            raise TrainingError("E9003", problem, op="BytePairs.learn")
        return BytePairs(_learned(Counter(_words(text)), size - _BYTES))

    # ---- text and numbers

    def encode(self, text: str | bytes) -> np.ndarray[Any, Any]:
        """The numbers of the pieces, int64."""
        found = [number for word in _words(text) for number in self._of_word(word)]
        return np.array(found, np.int64)

    def decode(self, tokens: Sequence[int] | np.ndarray[Any, Any] | Any) -> str:
        """The text; bytes that are not UTF-8 become U+FFFD."""
        return self.decode_bytes(tokens).decode("utf-8", "replace")

    def decode_bytes(self, tokens: Sequence[int] | np.ndarray[Any, Any] | Any) -> bytes:
        """The bytes, as they were."""
        numbers = [int(t) for t in tokens]
        wrong = [t for t in numbers if not 0 <= t < len(self.pieces)]
        if wrong:
            problem = f"{wrong[0]} is no piece: there are {len(self.pieces)}"
            raise TrainingError("E9003", problem, op="BytePairs")
        return b"".join(self.pieces[t] for t in numbers)

    def _of_word(self, word: bytes) -> list[int]:
        found = self._known.get(word)
        if found is None:
            found = self._joined([self._byte[byte] for byte in word])
            if len(self._known) < _KNOWN_WORDS:
                self._known[word] = found
        return found

    def _joined(self, numbers: list[int]) -> list[int]:
        """Pairs joined in the order in which they were learned."""
        while len(numbers) > 1:
            first = min(self._numbers.get(p, len(self)) for p in pairwise(numbers))
            if first == len(self):
                break
            numbers = _with_pair(numbers, self.pairs[first - _BYTES], first)
        return numbers

    # ---- files

    @staticmethod
    def from_merges(path: str | os.PathLike[str]) -> BytePairs:
        """The pieces of a file in the form of GPT-2's `merges.txt`: a pair a line, in the order in
        which they were joined, each byte as a character that can be seen."""
        characters = {_visible(byte): byte for byte in range(_BYTES)}
        seen = [b for b in range(_BYTES) if ord(_visible(b)) == b]
        order = bytes(seen + [b for b in range(_BYTES) if b not in seen])
        numbers = {bytes([byte]): number for number, byte in enumerate(order)}
        pairs: list[Pair] = []
        try:
            for line in Path(path).read_text(encoding="utf-8").splitlines():
                if line.strip() and not line.startswith("#version"):
                    a, b = (bytes(characters[c] for c in part) for part in line.split(" "))
                    pairs.append((numbers[a], numbers[b]))
                    numbers.setdefault(a + b, _BYTES - 1 + len(pairs))
        except (OSError, ValueError, KeyError) as error:
            problem = f"cannot read byte pairs from {path}: {error!r}"
            raise FileError("E9006", problem, op="BytePairs.from_merges") from None
        if not pairs:
            problem = f"there is no pair of bytes in {path}"
            raise FileError("E9006", problem, op="BytePairs.from_merges")
        return BytePairs(pairs, order)

    def save(self, path: str | os.PathLike[str]) -> None:
        """As JSON."""
        order = [piece[0] for piece in self.pieces[:_BYTES]]
        Path(path).write_text(
            json.dumps({"pairs": self.pairs, "order": order}) + "\n", encoding="utf-8"
        )

    @staticmethod
    def load(path: str | os.PathLike[str]) -> BytePairs:
        """What `save` wrote."""
        try:
            found = json.loads(Path(path).read_text(encoding="utf-8"))
            return BytePairs([(a, b) for a, b in found["pairs"]], bytes(found["order"]))
        except (OSError, ValueError, TypeError, KeyError) as error:
            problem = f"cannot read byte pairs from {path}: {error}"
            raise FileError("E9006", problem, op="BytePairs.load") from None


def _visible(byte: int) -> str:
    """A byte as a character: itself where that is printed and no blank, else one from U+0100 on, in
    the order of those bytes."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    if byte in shown:
        return chr(byte)
    return chr(_BYTES + sum(1 for b in range(byte) if b not in shown))


def _words(text: str | bytes) -> Iterator[bytes]:
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
    return (match.group() for match in _WORDS.finditer(raw))


def _with_pair(numbers: list[int], pair: Pair, number: int) -> list[int]:
    """Every such pair, from the left, as one piece."""
    found, i = list[int](), 0
    while i < len(numbers):
        joins = numbers[i] == pair[0] and i + 1 < len(numbers) and numbers[i + 1] == pair[1]
        found.append(number if joins else numbers[i])
        i += 2 if joins else 1
    return found


# ---- learning


def _learned(words: Counter[bytes], most: int) -> list[Pair]:
    """The pairs that come most often, each counted with those before it joined."""
    spelled = [(list(word), count) for word, count in sorted(words.items())]
    counts, places = Counter[Pair](), dict[Pair, dict[int, None]]()
    for i, (numbers, times) in enumerate(spelled):
        for pair in pairwise(numbers):
            counts[pair] += times
            places.setdefault(pair, {})[i] = None
    queue = [(-count, pair) for pair, count in counts.items()]
    heapify(queue)
    found: list[Pair] = []
    while queue and len(found) < most:
        count, pair = heappop(queue)
        if counts[pair] != -count or counts[pair] < 2:
            continue  # it has changed since; what is right stands further on
        number = _BYTES + len(found)
        found.append(pair)
        for changed in _join(pair, number, spelled, counts, places):
            heappush(queue, (-counts[changed], changed))
    return found


def _join(
    pair: Pair,
    number: int,
    spelled: list[tuple[list[int], int]],
    counts: Counter[Pair],
    places: dict[Pair, dict[int, None]],
) -> dict[Pair, None]:
    """Join a pair in all words; the pairs whose counts have changed."""
    changed: dict[Pair, None] = {}
    for i in places.pop(pair):
        numbers, times = spelled[i]
        new = _with_pair(numbers, pair, number)
        for sign, some in ((-times, numbers), (times, new)):
            for each in pairwise(some):
                counts[each] += sign
                changed[each] = None
        for each in pairwise(new):
            places.setdefault(each, {})[i] = None
        spelled[i] = new, times
    changed.pop(pair, None)
    del counts[pair]
    return changed
