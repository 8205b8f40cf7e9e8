"""Texts that nobody meant: a coded error or a valid module, at once, and nothing else."""

import time

import pytest

from adjoint.errors import CODES, AdjointError
from adjoint.module import canonicalise, differentiate, parse
from tests.module.mutations import mutants, nested


def check_text(text):
    """Read it, and do with what is read whatever can be done without running it."""
    module, error = _tried(parse, text)
    if error is not None:
        assert error.code in CODES
        assert error.span is not None
        assert error.render("x.core").startswith(f"error[{error.code}]")
        return
    assert parse(module.text()).text() == module.text()
    once = canonicalise(module)
    assert canonicalise(once).text() == once.text()
    result, error = _tried(differentiate, module)
    if error is not None:
        assert error.code.startswith("E5")
        return
    made = result.gradient_module.text()
    assert parse(made).text() == made


def _tried(fn, value):
    try:
        return fn(value), None
    except AdjointError as error:
        return None, error


def check_all(count, seed, texts=None):
    for text in mutants(count, seed, texts):
        start = time.process_time()
        try:
            check_text(text)
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}\n{text!r}") from error
        assert time.process_time() - start < 1.0


def test_mutated_modules_are_errors_or_modules():
    check_all(3_000, seed=0)


def test_mutated_functions_in_braces_are_errors_or_modules():
    check_all(2_000, seed=7, texts=nested())


@pytest.mark.fuzz
def test_many_mutated_functions_in_braces_are_errors_or_modules():
    check_all(25_000, seed=8, texts=nested())


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(1, 5))
def test_a_hundred_thousand_mutated_modules_are_errors_or_modules(seed):
    check_all(25_000, seed)


def test_reading_takes_time_in_proportion_to_the_text():
    line = "%{n} = Neg(%{m}) : Tensor<f32, [2]>\n"
    head = '%0 = Input() {name: "x"} : Tensor<f32, [2]>\n'

    def seconds(count):
        rows = "".join(line.format(n=n, m=n - 1) for n in range(1, count))
        text = f"{head}{rows}outputs: %{count - 1}"
        times = []
        for _ in range(3):
            start = time.thread_time()  # of the processor: other processes may want it, too
            parse(text)
            times.append(time.thread_time() - start)
        return min(times)

    assert seconds(8_000) < 8 * 4 * seconds(1_000)  # 64 times, if in proportion to its square


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "%0 = ConstTensor(" + "[" * 100_000,
        "%0 = Softmax() {axis: " + "[" * 100_000,
        "%0 = Loop() {body: " + "{" * 100_000,
        "%0 = CustomVjp() {body: {" * 10_000,
        "Tensor<f32, [" * 50_000,
        "/*" * 50_000,
        '"' + "\\" * 100_000,
        "(" * 100_000,
        "%" * 100_000,
        " \n" * 100_000,
        "%a, " * 100_000,
        "%0 = Neg(" + "%0, " * 100_000,
    ],
    ids=range(13),
)
def test_hostile_texts_are_refused_at_once(text):
    start = time.process_time()
    with pytest.raises(AdjointError):
        parse(text)
    assert time.process_time() - start < 1.0
