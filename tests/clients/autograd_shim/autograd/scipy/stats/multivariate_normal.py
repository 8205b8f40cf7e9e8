"""The normal distribution of several variables; of singular ones only in arrays."""

from scipy.stats import multivariate_normal as _normal

import adjoint as _adjoint

from ...dispatch import dispatched as _dispatched
from .densities import mvn_entropy, mvn_logpdf

entropy = _dispatched(_normal.entropy, mvn_entropy)
logpdf = _dispatched(_normal.logpdf, mvn_logpdf)
pdf = _dispatched(_normal.pdf, lambda *args: _adjoint.exp(mvn_logpdf(*args)))
