"""no_grad and Tensor.train(): nesting, recursion, threads, tasks, generators."""

import asyncio
import threading

import pytest

from adjoint import AdjointError, Tensor, no_grad
from adjoint.tensor.tracing import grad_enabled
from tests.support.threads import in_threads

MODES = {
    "no_grad": (no_grad, lambda: not grad_enabled.get()),
    "train": (Tensor.train, lambda: Tensor.training),
}


@pytest.fixture(params=MODES)
def mode(request):
    """A mode, and whether it is on."""
    made, is_on = MODES[request.param]
    assert not is_on()
    yield made, is_on
    assert not is_on()


def test_a_decorated_function_may_call_itself(mode):
    made, is_on = mode

    @made()
    def count(n):
        return [is_on()] + (count(n - 1) if n else [])

    assert count(5) == [True] * 6
    assert count(5) == [True] * 6


def test_one_object_may_be_entered_again(mode):
    made, is_on = mode
    same = made()
    with same:
        with same:
            assert is_on()
        assert is_on()
    with pytest.raises(ValueError, match="stop"), same, same:
        raise ValueError("stop")


def test_a_function_that_raises_leaves_the_mode(mode):
    made, _ = mode

    @made()
    def fails(n):
        if n == 0:
            raise ValueError("stop")
        fails(n - 1)

    with pytest.raises(ValueError, match="stop"):
        fails(3)


def _in_thread(fn):
    found = []
    thread = threading.Thread(target=lambda: found.append(fn()))
    thread.start()
    thread.join()
    return found[0]


def test_another_thread_does_not_see_the_mode(mode):
    made, is_on = mode
    with made():
        assert _in_thread(is_on) is False
        assert is_on()


def test_threads_share_a_decorated_function(mode):
    made, is_on = mode
    both, wrong = threading.Barrier(2, timeout=600), []

    @made()
    def meet():
        both.wait()
        on = is_on()
        both.wait()
        return on

    def work():
        for _ in range(20):
            if not meet() or is_on():
                wrong.append(threading.current_thread().name)

    in_threads(2, lambda _: work())
    assert wrong == []


def test_tasks_do_not_see_one_anothers_mode(mode):
    made, is_on = mode

    @made()
    async def inside():
        await asyncio.sleep(0.01)
        return is_on()

    async def outside():
        await asyncio.sleep(0)
        return is_on()

    async def main():
        return await asyncio.gather(inside(), outside(), inside())

    assert asyncio.run(main()) == [True, False, True]


def test_a_generator_is_in_the_mode_only_while_it_runs(mode):
    made, is_on = mode
    seen = []

    @made()
    def steps():
        try:
            got = yield is_on()
            seen.append((got, is_on()))
            try:
                yield is_on()
            except ValueError:
                seen.append(("raised", is_on()))
            yield is_on()
        finally:
            seen.append(("closed", is_on()))
        return 5

    generator = steps()
    assert next(generator)
    assert not is_on()
    assert generator.send("hello")
    assert not is_on()
    assert generator.throw(ValueError)
    assert not is_on()
    generator.close()
    assert seen == [("hello", True), ("raised", True), ("closed", True)]

    def whole():
        seen.append((yield from steps()))

    assert list(whole()) == [True] * 3
    assert seen[-1] == 5


def test_an_asynchronous_generator_is_refused():
    async def numbers():
        yield 1

    with pytest.raises(AdjointError, match="asynchronous generator"):
        no_grad()(numbers)


def test_no_grad_decorates_without_parentheses():
    @no_grad
    def double(x):
        return x * 2

    assert double(Tensor([1.0], requires_grad=True)).requires_grad is False
    assert double.__name__ == "double"


def test_training_can_be_set_and_read_on_class_and_tensor():
    x = Tensor([1.0])
    Tensor.training = True
    try:
        assert Tensor.training is True
        assert x.training is True
        assert _in_thread(lambda: Tensor.training) is False
        with Tensor.train(False):
            assert x.training is False
        assert Tensor.training is True
    finally:
        Tensor.training = False


def test_interleaved_generators_leave_what_was_there_before(mode):
    made, is_on = mode

    def holds():
        with made():
            yield

    first, second = holds(), holds()
    next(first), next(second)
    assert is_on()
    first.close()
    second.close()
    assert not is_on()
