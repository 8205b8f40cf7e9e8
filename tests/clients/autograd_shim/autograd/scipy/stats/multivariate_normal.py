"""The normal distribution of several variables; of singular ones in arrays only."""

from scipy.stats import multivariate_normal as _normal

import adjoint as _adjoint

from ...dispatch import dispatched as _dispatched
from .densities import mvn_entropy, mvn_logpdf


def _logpdf(x, mean, cov, allow_singular=False):  # type: ignore[no-untyped-def]
    if allow_singular:
        raise NotImplementedError("a singular covariance")
    return mvn_logpdf(*map(_adjoint.asarray, (x, mean, cov)))


entropy = _dispatched(_normal.entropy, mvn_entropy)
logpdf = _dispatched(_normal.logpdf, _logpdf)
pdf = _dispatched(_normal.pdf, lambda *args, **named: _adjoint.exp(_logpdf(*args, **named)))
