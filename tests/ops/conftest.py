"""The rules of the records are tested on the interpreter, which defines what is right.

`tests/agreement/test_records.py` compares every op and its derivatives on the CPU with it. With
`ADJOINT_TEST_DEVICE=CPU` (as `make test-all` sets it) everything here runs compiled as well.
"""

import os

import pytest

from adjoint import Device


@pytest.fixture(autouse=True)
def _device(monkeypatch):
    monkeypatch.setattr(Device, "DEFAULT", os.environ.get("ADJOINT_TEST_DEVICE", "REF"))
