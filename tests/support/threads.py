"""The same work in several threads that begin at once."""

from __future__ import annotations

from collections.abc import Callable
from threading import Barrier, Thread

PATIENCE = 600  # seconds: threads that take as long wait for one another; a loaded machine does not


def in_threads(count: int, work: Callable[[int], object]) -> None:
    """Call `work` with 0, 1, …, each number in a thread; an exception of one is raised here."""
    gate, failed = Barrier(count), list[BaseException]()

    def body(number: int) -> None:
        gate.wait()
        try:
            work(number)
        except BaseException as error:
            failed.append(error)

    threads = [Thread(target=body, args=(n,), daemon=True) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads), "the threads wait for one another"
    if failed:
        raise failed[0]
