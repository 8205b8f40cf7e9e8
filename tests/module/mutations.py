"""Texts that are almost modules: valid ones with bytes or tokens changed."""

import random
import re

from adjoint.module import differentiate, parse
from adjoint.transforms.capture import capture
from tests.module.captured import SCALARS

EXAMPLE = """\
%0 = Input() {name: "x"} : Tensor<f32, [2, 3]>
%1 = Input() {name: "y"} : Tensor<f32, [2, 3]>
%2 = BinOp(Mul, %0, %1) : Tensor<f32, [2, 3]>
%3 = BinOp(Add, %0, %2) : Tensor<f32, [2, 3]>
%4 = Sum(%3, [], false) : Tensor<f32, []>
outputs: %4
"""
HAND_WRITTEN = """\
# every kind of argument
%x = Input() {name: "x"} : Tensor<f32, [2, 3]>
%w = Input() {name: "w"} : Tensor<f32, [3, 4]>
%i = Input() {name: "i"} : Tensor<i64, [2]>
%im = Input() {name: "im"} : Tensor<f64, [1, 4, 4, 2]>
%k = Input() {name: "k"} : Tensor<f64, [3, 3, 2, 5]>
%c = ConstTensor([[1.0, 2.0, 3.0], [-4.5, 1e-3, 0.0]]) : Tensor<f32, [2, 3]>
%s = ConstF32(2.5) : Tensor<f32, []>
%n = ConstI64(-7) : Tensor<i64, []>
%a = BinOp(Add, %x, %c) : Tensor<f32, [2, 3]>
%b = BinOp(Mul, %a, %s) : Tensor<f32, [2, 3]>
%m = MatMul(%b, %w) : Tensor<f32, [2, 4]>
%r = Relu(%m) : Tensor<f32, [2, 4]>
%t = Transpose(%r, [1, 0]) : Tensor<f32, [4, 2]>
%q = Reshape(%t, [2, -1]) : Tensor<f32, [2, 4]>
%e = ExpandDims(%q, [0, 2]) : Tensor<f32, [1, 2, 1, 4]>
%z = Squeeze(%e, [-2, 0]) : Tensor<f32, [2, 4]>
%sl = Slice(%z, [0:2:1, 1:4:2]) : Tensor<f32, [2, 2]>
%g = Gather(%sl, %i) : Tensor<f32, [2, 2]>
%ix = Index(%g, [0, 1]) : Tensor<f32, []>
%cv = Conv2d(%im, %k, [1, 2], Custom([[1, 1], [0, 2]])) : Tensor<f64, [1, 4, 2, 5]>
%cm = Mean(%cv, [-1, 0], true) : Tensor<f64, [1, 4, 2, 1]>
%cs = Sum(%cm, [], false) : Tensor<f64, []>
%o = Softmax(%g) {axis: -1} : Tensor<f32, [2, 2]>
outputs: %ix, %cs, %o,
"""

_PIECE = re.compile(r"\s+|[A-Za-z_0-9.]+|.", re.DOTALL)
_STRANGE = (
    *("", "%", "%0", "(", ")", "[", "]", "{", "}", ":", ",", "=", "<", ">", ";", "-", "#", '"'),
    *("0", "-1", "1", "2", "99999999999", "1e999", "1.5.2", "0x1", "inf", "nan", "true", "null"),
    *("Tensor", "f32", "f64", "i64", "bool", "c64", "q7", "outputs", "Input", "Softmax", "Sum"),
    *("body", "backward", "tangent", "arguments", "outputs:", "{outputs: %0}", "CustomVjp", "Loop"),
    *("Same", "Custom", "\n", "\\", "é", "\u2028", "/*", "*/", '"\\q"', "[[[[[[[[", "]]]]]]"),
)


def originals():
    """Valid texts, small ones first."""
    captured = [capture(fn, *args).text() for fn, args in SCALARS.values()]
    return [HAND_WRITTEN, *sorted(captured, key=len)]


def mutant(text, rng):
    """The text with one to four changes."""
    pieces = _PIECE.findall(text)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(pieces)) if pieces else 0
        way = rng.randrange(9)
        if way == 0 and pieces:
            del pieces[at]
        elif way == 1:
            pieces.insert(at, rng.choice(_STRANGE))
        elif way == 2 and pieces:
            pieces[at] = rng.choice(_STRANGE)
        elif way == 3 and pieces:
            pieces[at] = rng.choice(pieces)
        elif way == 4 and pieces:
            other = rng.randrange(len(pieces))
            pieces[at], pieces[other] = pieces[other], pieces[at]
        elif way == 5:
            return _bytes_changed("".join(pieces), rng)
        else:  # a number for a number, a word for a word: most of what is written so can be read
            _exchange(pieces, rng)
    return "".join(pieces)


def _exchange(pieces, rng):
    digits = rng.random() < 0.5
    places = [i for i, p in enumerate(pieces) if p[:1].isalnum() and p.isdigit() == digits]
    if places:
        numbers = ("0", "1", "2", "3", "7", "64", "100000", "4294967296")
        pool = numbers if digits and rng.random() < 0.5 else [pieces[i] for i in places]
        pieces[rng.choice(places)] = rng.choice(pool)


def _bytes_changed(text, rng):
    data = bytearray(text.encode())
    for _ in range(rng.choice((1, 2, 8))):
        if data:
            data[rng.randrange(len(data))] = rng.choice(
                (rng.randrange(32, 127), rng.randrange(256))
            )
    return bytes(data)


def nested():
    """Valid texts with functions in braces, and functions in those."""
    texts = [text for text in originals() if "{%" in text]
    return texts + [differentiate(parse(text)).gradient_module.text() for text in texts]


def mutants(count, seed, texts=None):
    """Mutants of all the texts in turn, the same ones for the same seed."""
    rng, texts = random.Random(seed), texts or originals()
    return (mutant(texts[n % len(texts)], rng) for n in range(count))
