"""The options of a training run: of a script by `training.run`, of `adjoint train`, of examples."""

import sys

import pytest

from adjoint import Device, training
from adjoint.runtime.cuda import problem
from adjoint.training.cli_options import RunOptions, current, use
from tests.support.devices import on

NO_GPU = pytest.mark.skipif(not problem(), reason="there is a GPU")


@pytest.fixture
def script(monkeypatch):
    """A script with these arguments, whose main function says what it was told."""

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["script.py", *words])
        return training.run(lambda: (Device.DEFAULT, current().steps, current().command))

    with on("CPU"):
        yield call


def test_a_script_has_the_options_of_adjoint_train(script):
    device, steps, command = script("--device", "ref", "--steps", "7")
    assert (device, steps) == ("REF", 7)
    assert command[-4:] == ("--device", "REF", "--steps", "7")  # a resumed run needs them again


def test_options_that_a_command_line_has_given_are_left_alone(script):
    with use(RunOptions(name="x", steps=3)):
        assert script("--steps", "7")[1] == 3


@pytest.mark.parametrize(
    ("words", "about"),
    [
        (["--device", "TPU"], "E6002"),
        (["--steps", "many"], "a number of steps"),
        pytest.param(["--device", "GPU"], "E6002", marks=NO_GPU),
    ],
)
def test_what_cannot_be_done_is_wrong_usage(script, capsys, words, about):
    with pytest.raises(SystemExit) as left:
        script(*words)
    assert left.value.code == 2
    assert about in capsys.readouterr().err
