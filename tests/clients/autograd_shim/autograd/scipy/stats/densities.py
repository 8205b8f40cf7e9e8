"""Densities of distributions, in Adjoint's functions; each is the textbook's formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import adjoint
from adjoint import Tensor

_LOG_TAU = math.log(2 * math.pi)
_lgamma: Callable[..., Tensor] = adjoint.lgamma


def _log_beta(a: Any, b: Any) -> Tensor:
    return _lgamma(a) + _lgamma(b) - _lgamma(a + b)


def norm_logpdf(x: Any, loc: Any, scale: Any) -> Tensor:
    return -0.5 * ((x - loc) / scale) ** 2 - adjoint.log(scale) - 0.5 * _LOG_TAU


def norm_cdf(x: Any, loc: Any, scale: Any) -> Tensor:
    return 0.5 * (1 + adjoint.erf((x - loc) / scale / math.sqrt(2)))


def gamma_logpdf(x: Any, a: Any) -> Tensor:
    return (a - 1) * adjoint.log(x) - x - _lgamma(a)


def chi2_logpdf(x: Any, df: Any) -> Tensor:
    return gamma_logpdf(x / 2, df / 2) - math.log(2)


def beta_logpdf(x: Any, a: Any, b: Any) -> Tensor:
    return (a - 1) * adjoint.log(x) + (b - 1) * adjoint.log1p(-x) - _log_beta(a, b)


def poisson_logpmf(k: Any, mu: Any) -> Tensor:
    return k * adjoint.log(mu) - mu - _lgamma(k + 1)


def t_logpdf(x: Any, df: Any, loc: Any, scale: Any) -> Tensor:
    z = (x - loc) / scale
    whole = _lgamma((df + 1) / 2) - _lgamma(df / 2) - 0.5 * adjoint.log(df * math.pi)
    return whole - adjoint.log(scale) - (df + 1) / 2 * adjoint.log1p(z**2 / df)


def dirichlet_logpdf(x: Any, alpha: Any) -> Tensor:
    whole = _lgamma(adjoint.sum(alpha)) - adjoint.sum(_lgamma(alpha))
    return whole + adjoint.sum((alpha - 1) * adjoint.log(x))


def mvn_logpdf(x: Any, mean: Any, cov: Any) -> Tensor:
    away = x - mean
    square = adjoint.sum(away * (away @ adjoint.linalg.inv(cov)), axis=-1)
    _, log_det = adjoint.linalg.slogdet(cov)
    return -0.5 * (mean.shape[-1] * _LOG_TAU + log_det + square)


def mvn_entropy(mean: Any, cov: Any) -> Tensor:
    _, log_det = adjoint.linalg.slogdet(cov)
    return 0.5 * (mean.shape[-1] * (1 + _LOG_TAU) + log_det)
