"""Linear algebra as calls of cuSOLVER, matrix by matrix.

A call waits for the GPU, to raise an error for a singular matrix at once, as on the host. What may
live here: the calls on memory. What may not: the libraries' interfaces (`runtime/cusolver.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from adjoint.backends.cuda.workspaces import ready, workspace
from adjoint.errors import LinAlgError
from adjoint.ops.factor import CHOLESKY, EIGH, QR, SOLVE, SVD, TRIANGULAR
from adjoint.runtime.cusolver import PIVOT_BYTES, Solver
from adjoint.stages import Factorisation

if TYPE_CHECKING:
    from adjoint.backends.cuda.library_calls import Site

_ALIGNED = 256
_WORD = 4  # bytes in which a call says whether it failed
_PROBLEMS = {
    CHOLESKY: "the matrix is not positive definite",
    SOLVE: "the matrix is singular",
}
_NOT_FOUND = "no decomposition was found: is there a NaN or an infinity in the matrix?"


class _Work:
    """A factorisation on the slots of a run; pieces of one block beside them."""

    def __init__(self, call: Factorisation, site: Site):
        self.call, self.site, self.item = call, site, call.dtype.itemsize
        self.rows, self.columns = call.rows, call.columns
        self.solver = Solver(call.dtype.name, site.gpu.stream)
        self.step = self.rows * self.columns * self.item
        self.info = 0

    def pieces(self, *sizes: int) -> Iterator[int]:
        """Addresses of so many bytes each; the first piece says what failed."""
        whole = [-(-size // _ALIGNED) * _ALIGNED for size in (_WORD * self.call.batch, *sizes)]
        self.block = workspace(self.site, sum(whole))
        assert self.block is not None
        starts = np.cumsum([0, *whole[:-1]]) + self.block.address
        self.info = int(starts[0])
        yield from map(int, starts[1:])

    def slot(self, number: int) -> int:
        """The address of a slot in this run."""
        return int(self.site.cells.values[self.site.slots[number]])

    def each(self, run: Callable[[int, int], None]) -> Callable[[], None]:
        """All matrices, one after another; then the host sees whether one of them failed."""
        gpu, batch = self.site.gpu, self.call.batch

        def launch() -> None:
            gpu.enter()
            self.solver.enter()
            gpu.clear(self.info, _WORD * batch)
            for number in range(batch):
                run(number, self.info + _WORD * number)
            failed = self.site.memory.read(self.info, _WORD * batch).view(np.int32)
            if failed.any():
                raise self._failure(int(failed[failed.nonzero()][0]))

        return launch

    def _failure(self, number: int) -> LinAlgError:
        problem, node = _PROBLEMS.get(self.call.what, _NOT_FOUND), self.site.node
        place = f" (built by {node.origin})" if node is not None and node.origin else ""
        about = f"{problem} (cuSOLVER: {number}){place}"
        return LinAlgError("E6006", about, op=self.call.what)


def _cholesky(work: _Work) -> Callable[[], None]:
    solver, n, copy = work.solver, work.rows, work.site.gpu.copy
    room = solver.room(solver.cholesky(n, 0))
    (at,) = work.pieces(room.device)

    def run(number: int, info: int) -> None:
        out, x = (work.slot(i) + number * work.step for i in (0, 1))
        copy(out, x, work.step)
        solver.run(solver.cholesky(n, out), room, at, info)

    return work.each(run)


def _solve(work: _Work) -> Callable[[], None]:
    solver, n, copy = work.solver, work.rows, work.site.gpu.copy
    room, others = solver.lu_room(n), work.call.others
    factors, pivots, unread, at = work.pieces(work.step, PIVOT_BYTES * n, _WORD, room.device)
    side = n * others * work.item

    def run(number: int, info: int) -> None:
        out, a, b = (work.slot(i) for i in (0, 1, 2))
        copy(factors, a + number * work.step, work.step)
        copy(out + number * side, b + number * side, side)
        solver.lu(n, factors, pivots, room, at, info)
        solver.lu_solve(n, others, factors, pivots, out + number * side, unread)

    return work.each(run)


def _triangular(work: _Work) -> Callable[[], None]:
    call, copy = work.call, work.site.gpu.copy
    sizes = (work.rows, call.others) if call.how[1] else (call.others, work.rows)
    side = sizes[0] * sizes[1] * work.item
    list(work.pieces())

    def run(number: int, info: int) -> None:
        out, a, b = (work.slot(i) for i in (0, 1, 2))
        copy(out + number * side, b + number * side, side)
        x = out + number * side
        work.solver.triangular(call.how, sizes, a + number * work.step, x)

    return work.each(run)


def _qr(work: _Work) -> Callable[[], None]:
    """Of the columns of a matrix: `rows` of the call are its columns."""
    solver, n, m, copy = work.solver, work.rows, work.columns, work.site.gpu.copy
    k = min(m, n)
    room, count = solver.room(solver.qr(m, n, 0, 0)), solver.reflectors_room(m, k)
    sizes = (k * work.item, _WORD, room.device, count * work.item)
    factors, unread, at, other = work.pieces(*sizes)
    side = k * m * work.item

    def run(number: int, info: int) -> None:
        q, r, x = (work.slot(i) for i in (0, 1, 2))
        q, r, x = q + number * side, r + number * work.step, x + number * work.step
        copy(r, x, work.step)
        solver.run(solver.qr(m, n, r, factors), room, at, info)
        copy(q, r, side)
        solver.reflectors((m, k), q, factors, (other, count), unread)

    return work.each(run)


def _eigh(work: _Work) -> Callable[[], None]:
    solver, n, copy = work.solver, work.rows, work.site.gpu.copy
    room, real = solver.room(solver.eigh(n, 0, 0)), work.call.real_bytes
    (at,) = work.pieces(room.device)

    def run(number: int, info: int) -> None:
        values, vectors, x = (work.slot(i) for i in (0, 1, 2))
        out = vectors + number * work.step
        copy(out, x + number * work.step, work.step)
        solver.run(solver.eigh(n, out, values + number * n * real), room, at, info)

    return work.each(run)


def _svd(work: _Work) -> Callable[[], None]:
    """Of a wide matrix, which is a high one to a library of columns."""
    solver, n, m, copy = work.solver, work.rows, work.columns, work.site.gpu.copy
    room, real = solver.room(solver.svd(m, n, 0, 0, 0, 0)), work.call.real_bytes
    given, at = work.pieces(work.step, room.device)
    square = n * n * work.item

    def run(number: int, info: int) -> None:
        u, s, vh, x = (work.slot(i) for i in range(4))
        copy(given, x + number * work.step, work.step)
        right, left = vh + number * work.step, u + number * square
        values = s + number * n * real
        solver.run(solver.svd(m, n, given, values, right, left), room, at, info)

    return work.each(run)


_CALLS = {
    CHOLESKY: _cholesky,
    SOLVE: _solve,
    TRIANGULAR: _triangular,
    QR: _qr,
    EIGH: _eigh,
    SVD: _svd,
}


def factorisation_call(call: Factorisation, site: Site) -> Callable[[], None]:
    """What runs a factorisation on the slots of a run: its results, then its operands."""
    with ready(site.gpu):
        return _CALLS[call.what](_Work(call, site))
