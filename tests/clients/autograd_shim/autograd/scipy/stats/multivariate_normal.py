"""The distribution of SciPy, which knows no tensors."""

from scipy.stats import multivariate_normal as _normal

entropy, logpdf, pdf = _normal.entropy, _normal.logpdf, _normal.pdf
