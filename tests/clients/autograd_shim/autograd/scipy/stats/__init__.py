"""`scipy.stats`: the densities of the normal distribution; Adjoint has no others."""

from __future__ import annotations

import math as _math

import scipy.stats as _stats
from scipy.stats import *  # noqa: F403

import adjoint as _adjoint

from ...dispatch import dispatched as _dispatched


class _Normal:
    def logpdf(self, x, loc=0.0, scale=1.0):  # type: ignore[no-untyped-def]
        x, loc, scale = map(_adjoint.asarray, (x, loc, scale))
        return -0.5 * ((x - loc) / scale) ** 2 - _adjoint.log(scale) - 0.5 * _math.log(2 * _math.pi)

    def pdf(self, x, loc=0.0, scale=1.0):  # type: ignore[no-untyped-def]
        return _adjoint.exp(self.logpdf(x, loc, scale))

    def cdf(self, x, loc=0.0, scale=1.0):  # type: ignore[no-untyped-def]
        x, loc, scale = map(_adjoint.asarray, (x, loc, scale))
        return 0.5 * _adjoint.erfc((loc - x) / scale / _math.sqrt(2))

    def sf(self, x, loc=0.0, scale=1.0):  # type: ignore[no-untyped-def]
        x, loc, scale = map(_adjoint.asarray, (x, loc, scale))
        return self.cdf(-x, -loc, scale)

    def logcdf(self, x, loc=0.0, scale=1.0):  # type: ignore[no-untyped-def]
        return _adjoint.log(self.cdf(x, loc, scale))

    def logsf(self, x, loc=0.0, scale=1.0):  # type: ignore[no-untyped-def]
        return _adjoint.log(self.sf(x, loc, scale))


class norm:
    """The normal distribution, of arrays or of tensors."""


for _name in ("cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"):
    setattr(
        norm,
        _name,
        staticmethod(_dispatched(getattr(_stats.norm, _name), getattr(_Normal(), _name))),
    )
