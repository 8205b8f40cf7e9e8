"""A switch of the environment with a wrong value: E2008 with its name, its value and its range."""

import pytest

from adjoint import ArgumentError, config

WRONG = {
    "THREADS": ("abc", "expected a whole number of at least 1"),
    "CPU_DEVICES": ("0", "expected a whole number of at least 1"),
    "CACHE": ("yes", "expected one of 0, 1, false, true, off, on"),
    "CACHE_LIMIT": ("12Q", "expected a number of bytes, such as 512M"),
    "MEMORY_CACHE": ("-1", "expected a number of bytes, such as 512M"),
    "SILENCE": ("nan", "expected a number of seconds above 0"),
    "COLLECTIVE_LIMIT": ("0", "expected a number of seconds above 0"),
    "OVERLAP": ("64k", "expected a number of bytes, or -1"),
    "ALL_REDUCE": ("ring", "expected tree or any"),
    "LOADER": ("dl", "expected auto, elf or llvm"),
    "TUNE": ("fast", "expected one of 0, 1, false, true, off, on, shapes"),
    "DEBUG_NANS": ("2", "expected one of 0, 1, false, true, off, on, inf"),
    "SHOW": ("lowering", "'lowering' is not one of graph, expand"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_switch_says_its_name_its_value_and_what_is_allowed(monkeypatch, name):
    text, allowed = WRONG[name]
    option = getattr(config, name)
    monkeypatch.setenv(option.variable, text)
    with pytest.raises(ArgumentError) as caught:
        option.value()
    assert caught.value.code == "E2008"
    assert caught.value.problem.startswith(f"ADJOINT_{name}={text!r}: {allowed}")
    assert caught.value.help.startswith(f"ADJOINT_{name}: {option.doc}")


def test_every_option_is_in_the_table():
    options = [value for value in vars(config).values() if isinstance(value, config.Option)]
    assert set(config.OPTIONS) == set(options)
