"""Functions are jitted on both devices: compiled, and by the interpreter."""

import pytest


@pytest.fixture(params=["CPU", "REF"])
def device(request, monkeypatch):
    """Tensors go to the device."""
    monkeypatch.setattr("adjoint.Device.DEFAULT", request.param)
    return request.param
