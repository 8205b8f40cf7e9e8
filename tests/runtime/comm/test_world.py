"""Which member a thread is."""

import numpy as np

from adjoint import distributed


def test_a_process_that_was_started_alone_is_the_only_member():
    assert (distributed.rank(), distributed.size(), distributed.is_main()) == (0, 1, True)
    target = np.empty(2)
    distributed.member().all_reduce(np.ones(2), target, "sum", label="")
    assert target.tolist() == [1, 1]


def test_threads_are_members_while_they_are_simulated():
    def body():
        target = np.empty((3, 1), np.int64)
        distributed.member().all_gather(np.array([distributed.rank()]), target, label="")
        return distributed.size(), distributed.is_main(), target[:, 0].tolist()

    seen = distributed.simulate(3, body)
    assert seen == [(3, True, [0, 1, 2]), (3, False, [0, 1, 2]), (3, False, [0, 1, 2])]
    assert distributed.size() == 1
