"""Byte pairs: any bytes come back, learning is the same everywhere, frequent pairs are joined."""

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

from adjoint import data
from adjoint.data import BytePairs
from adjoint.errors import FileError, TrainingError

TEXT = data.docstrings(20_000)
PIECES = BytePairs.learn(TEXT, 400)


@pytest.mark.parametrize("seed", range(20))
def test_any_bytes_come_back(seed):
    rng = np.random.default_rng(seed)
    raw = rng.integers(0, 256 if seed % 2 else 40, rng.integers(0, 300)).astype(np.uint8).tobytes()
    assert PIECES.decode_bytes(PIECES.encode(raw)) == raw


@pytest.mark.parametrize(
    "text", ["", " ", "  \n\t x", "naïve café — ½ 東京 🦊", "\x00\x1c\x7f", "a  b   c ", "\ud800"]
)
def test_any_text_comes_back(text):
    tokens = PIECES.encode(text)
    assert tokens.dtype == np.int64
    raw = text.encode("utf-8", "surrogatepass")
    assert PIECES.decode_bytes(tokens) == raw
    if text != "\ud800":
        assert PIECES.decode(tokens) == text


def test_a_text_is_shorter_in_pieces_than_in_bytes():
    assert len(PIECES) == 400
    assert len(PIECES.encode(TEXT)) < 0.6 * len(TEXT)


def test_pairs_are_joined_by_how_often_they_come_then_by_their_numbers():
    learned = BytePairs.learn("ab ab ab cd cd", 259)
    blank = ord(" ")
    assert learned.pairs == ((ord("a"), ord("b")), (blank, ord("c")), (blank, 256))


def test_learning_ends_where_no_pair_comes_twice():
    assert BytePairs.learn("abc", 1000).pairs == ()
    assert len(BytePairs.learn("", 300)) == 256


def test_a_run_of_one_letter_is_counted_as_it_is_joined():
    learned = BytePairs.learn("aaaa aaaa aaaa", 260)
    tokens = learned.encode("aaaaaaaa")
    assert learned.decode(tokens) == "aaaaaaaa"
    assert len(tokens) < 8


def counted_again(words, pairs):
    """The same pairs, each found by counting everything anew."""
    numbers = [list(word) for word in words]
    found = []
    for _ in range(pairs):
        counts = {}
        for word in numbers:
            for pair in pairwise(word):
                counts[pair] = counts.get(pair, 0) + 1
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        found.append(best)
        for i, word in enumerate(numbers):
            numbers[i] = BytePairs.learn.__globals__["_with_pair"](word, best, 255 + len(found))
    return tuple(found)


def test_counts_that_are_kept_up_are_those_of_counting_anew():
    words = [match.encode() for match in TEXT[:2000].split()]
    text = b"".join(b" " + word for word in words if word.isalpha())
    learned = BytePairs.learn(text, 256 + 30)
    plain = [b" " + word for word in words if word.isalpha()]
    assert learned.pairs == counted_again(plain, 30)


def test_learning_is_the_same_in_another_process():
    code = (
        "from adjoint.data import BytePairs, docstrings;"
        "print(BytePairs.learn(docstrings(20_000), 400).pairs)"
    )
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(PIECES.pairs)


def test_pieces_are_saved_and_loaded(tmp_path):
    PIECES.save(tmp_path / "pieces.json")
    assert BytePairs.load(tmp_path / "pieces.json").pairs == PIECES.pairs


def test_pieces_are_read_from_a_file_of_merges(tmp_path):
    # the characters of GPT-2's alphabet: a blank is U+0120, a newline U+010A
    lines = ["#version: 0.2", "t h", "\u0120 th", "\u0120th e", "\u010a \u010a"]
    (tmp_path / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    pieces = BytePairs.from_merges(tmp_path / "merges.txt")
    assert pieces.encode("!").tolist() == [0]  # the first byte that is printed
    assert pieces.encode("the the").tolist() == [256, pieces.encode("e")[0], 258]
    assert pieces.pieces[256:] == [b"th", b" th", b" the", b"\n\n"]
    raw = bytes(range(256))
    assert pieces.decode_bytes(pieces.encode(raw)) == raw
    pieces.save(tmp_path / "again.json")
    assert BytePairs.load(tmp_path / "again.json").pieces == pieces.pieces


def test_a_file_of_merges_with_something_else_is_an_error(tmp_path):
    for number, text in enumerate(["a", "a b c", "x\u4e00 y", "th e", "", "#version: 0.2\n"]):
        path = tmp_path / f"{number}.txt"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(FileError, match="E9006"):
            BytePairs.from_merges(path)


def test_a_file_that_holds_none_is_an_error(tmp_path):
    (tmp_path / "pieces.json").write_text('{"pairs": [[1]]}')
    with pytest.raises(FileError, match="E9006"):
        BytePairs.load(tmp_path / "pieces.json")
    with pytest.raises(FileError, match="E9006"):
        BytePairs.load(tmp_path / "missing.json")


def test_wrong_numbers_are_errors():
    with pytest.raises(TrainingError, match="400 is no piece"):
        PIECES.decode([400])
    with pytest.raises(TrainingError, match="less than the 256 bytes"):
        BytePairs.learn("a", 255)
    with pytest.raises(TrainingError, match="every byte once"):
        BytePairs([], b"ab")
    with pytest.raises(TrainingError, match="not there yet"):
        BytePairs([(256, 0)])
